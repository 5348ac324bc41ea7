/* Frame headers of the guest protocol (docs/guest-protocol.md, "Frame" and "Types"). */
#ifndef VIV_FRAME_H
#define VIV_FRAME_H

#include <stdint.h>

#define FRAME_VERSION 1
#define FRAME_HEADER 12
#define FRAME_DATA_MAX 65536u
#define FRAME_REQUEST_MAX 1048576u
#define FRAME_OTHER_MAX 16384u

enum frame_type {
  FRAME_HELLO = 0x01,
  FRAME_CONFIG = 0x02,
  FRAME_SPAWN = 0x10,
  FRAME_START = 0x11,
  FRAME_SIGNAL = 0x12,
  FRAME_RESIZE = 0x13,
  FRAME_RELEASE = 0x14,
  FRAME_CANCEL = 0x15,
  FRAME_KILLTREE = 0x16,
  FRAME_FILE = 0x20,
  FRAME_CONNECT = 0x21,
  FRAME_LISTEN = 0x22,
  FRAME_PROCS = 0x24,
  FRAME_DATA = 0x30,
  FRAME_EOF = 0x31,
  FRAME_WINDOW = 0x32,
  FRAME_PING = 0x40,
  FRAME_PONG = 0x41,
  FRAME_CLOCK = 0x50,
  FRAME_RESEED = 0x51,
  FRAME_SHUTDOWN = 0x52,
  FRAME_HELLO_UP = 0x81,
  FRAME_STATE = 0x82,
  FRAME_READY = 0x83,
  FRAME_SPAWNED = 0x90,
  FRAME_EXITED = 0x91,
  FRAME_FAIL = 0x92,
  FRAME_OPENED = 0x93,
  FRAME_OK = 0x94,
};

/* Where a request failed; travels in FAIL. */
enum fail_stage {
  STAGE_REQUEST = 1,
  STAGE_LIMIT = 2,
  STAGE_FORK = 3,
  STAGE_USER = 4,
  STAGE_CWD = 5,
  STAGE_EXEC = 6,
  STAGE_PTY = 7,
  STAGE_RLIMIT = 8,
  STAGE_PATH = 9,
  STAGE_OPERATION = 10,
  STAGE_CONNECT = 11,
  STAGE_LISTEN = 12,
  STAGE_WORKER = 13,
  STAGE_CONFIG = 14,
};

struct frame {
  uint32_t length;
  uint8_t type;
  uint8_t chan;
  uint16_t flags;
  uint32_t stream;
};

void frame_encode(uint8_t out[FRAME_HEADER], const struct frame *frame);

/* Decodes a header that came from the host. Returns 0, or -1 for anything the protocol does not allow: an unknown or
 * upward type, a length outside the type's range, a reserved bit, a channel or stream id that the type cannot have. */
int frame_decode(struct frame *out, const uint8_t in[FRAME_HEADER]);

#endif
