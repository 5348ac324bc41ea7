#include <string.h>

#include "../src/frame.h"
#include "../src/le.h"
#include "unit.h"

static struct frame decoded(uint32_t length, uint8_t type, uint8_t chan, uint16_t flags, uint32_t stream, int *verdict) {
  uint8_t header[FRAME_HEADER];
  struct frame out;
  frame_encode(header, &(struct frame){length, type, chan, flags, stream});
  *verdict = frame_decode(&out, header);
  return out;
}

static void round_trip(void) {
  int verdict;
  struct frame frame = decoded(65544, FRAME_DATA, 0, 0, 7, &verdict);
  CHECK(!verdict && frame.length == 65544 && frame.type == FRAME_DATA && frame.stream == 7);
}

static void refuses(void) {
  static const struct frame bad[] = {
      {65545, FRAME_DATA, 0, 0, 1},     /* longer than its type may be */
      {8, FRAME_DATA, 0, 0, 1},         /* data without a byte */
      {16385, FRAME_FILE, 0, 0, 1},     /* longer than a request may be */
      {1048577, FRAME_SPAWN, 0, 0, 1},  /* longer than a large request may be */
      {0, FRAME_START, 1, 0, 1},        /* a channel where there is none */
      {16, FRAME_WINDOW, 3, 0, 1},      /* a channel that does not exist */
      {0, FRAME_START, 0, 1, 1},        /* a reserved bit */
      {0, FRAME_START, 0, 0, 0},        /* a stream frame on the connection */
      {20, FRAME_HELLO, 0, 0, 1},       /* a connection frame on a stream */
      {19, FRAME_HELLO, 0, 0, 0},       /* a fixed payload of another length */
      {28, FRAME_HELLO_UP, 0, 0, 0},    /* an upward type */
      {0, 0, 0, 0, 1},                  /* no type at all */
      {UINT32_MAX, FRAME_SPAWN, 0, 0, 1},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    int verdict;
    decoded(bad[i].length, bad[i].type, bad[i].chan, bad[i].flags, bad[i].stream, &verdict);
    CHECK(verdict == -1);
  }
}

const struct unit frame_units[] = {
    {"a header survives encoding and decoding", round_trip},
    {"a header that the protocol does not allow is refused", refuses},
    {0},
};
