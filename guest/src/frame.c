#include "frame.h"

#include <stddef.h>

#include "le.h"

enum target { TO_CONNECTION, TO_STREAM, TO_EITHER };

struct shape {
  uint8_t type;
  uint8_t maxChan;
  uint8_t target;
  uint32_t min;
  uint32_t max;
};

/* Every frame that the host may send. */
static const struct shape shapes[] = {
    {FRAME_HELLO, 0, TO_CONNECTION, 20, 20},
    {FRAME_CONFIG, 0, TO_EITHER, 0, FRAME_REQUEST_MAX},
    {FRAME_SPAWN, 0, TO_STREAM, 0, FRAME_REQUEST_MAX},
    {FRAME_START, 0, TO_STREAM, 0, 0},
    {FRAME_SIGNAL, 0, TO_STREAM, 8, 8},
    {FRAME_RESIZE, 0, TO_STREAM, 4, 4},
    {FRAME_RELEASE, 0, TO_STREAM, 0, 0},
    {FRAME_CANCEL, 0, TO_STREAM, 0, 0},
    {FRAME_KILLTREE, 0, TO_STREAM, 0, 0},
    {FRAME_FILE, 0, TO_STREAM, 0, FRAME_OTHER_MAX},
    {FRAME_CONNECT, 0, TO_STREAM, 0, FRAME_OTHER_MAX},
    {FRAME_LISTEN, 0, TO_STREAM, 0, FRAME_OTHER_MAX},
    {FRAME_PROCS, 0, TO_STREAM, 0, 0},
    {FRAME_DATA, 0, TO_STREAM, 9, FRAME_DATA_MAX + 8},
    {FRAME_EOF, 0, TO_STREAM, 8, 8},
    {FRAME_WINDOW, 2, TO_STREAM, 16, 16},
    {FRAME_PING, 0, TO_EITHER, 8, 8},
    {FRAME_PONG, 0, TO_EITHER, 8, 8},
    {FRAME_CLOCK, 0, TO_EITHER, 8, 8},
    {FRAME_RESEED, 0, TO_EITHER, 32, 256},
    {FRAME_SHUTDOWN, 0, TO_EITHER, 4, 4},
};

static const struct shape *shape_of(uint8_t type) {
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
    if (shapes[i].type == type) return &shapes[i];
  return NULL;
}

void frame_encode(uint8_t out[FRAME_HEADER], const struct frame *frame) {
  put32(out, frame->length);
  out[4] = frame->type;
  out[5] = frame->chan;
  put16(out + 6, frame->flags);
  put32(out + 8, frame->stream);
}

int frame_decode(struct frame *out, const uint8_t in[FRAME_HEADER]) {
  out->length = le32(in);
  out->type = in[4];
  out->chan = in[5];
  out->flags = le16(in + 6);
  out->stream = le32(in + 8);
  const struct shape *shape = shape_of(out->type);
  if (!shape) return -1;
  if (out->length < shape->min || out->length > shape->max) return -1;
  if (out->flags || out->chan > shape->maxChan) return -1;
  if (shape->target == TO_CONNECTION && out->stream) return -1;
  if (shape->target == TO_STREAM && !out->stream) return -1;
  return 0;
}
