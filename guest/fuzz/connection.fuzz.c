/* A whole connection's bytes, in pieces, into a guest whose system calls are stubs. What must hold whatever comes: no
 * crash, no sanitizer report, every upward frame well-formed, and nothing left once everything is dropped. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../src/config.h"
#include "../src/conn.h"
#include "../src/dispatch.h"
#include "../src/le.h"
#include "../src/loop.h"
#include "../src/process.h"
#include "../src/ring.h"
#include "../src/stream.h"
#include "../src/worker.h"
#include "stubs.h"

#define CHECK(condition) \
  do { \
    if (!(condition)) { \
      fprintf(stderr, "does not hold: %s\n", #condition); \
      abort(); \
    } \
  } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void set_up(void) {
  static int done;
  if (done) return;
  done = 1;
  /* Not role_become_init: libFuzzer needs its own signal handlers. */
  signal(SIGPIPE, SIG_IGN);
  CHECK(!loop_open());
  CHECK(!dispatch_open());
  loop_hooks(conn_flush, conn_trim);
}

/* Checks the frames that came up; keeps half of one for the next call. */
static void check_up(int fd) {
  static uint8_t bytes[2 << 20];
  static size_t have;
  ssize_t got;
  while ((got = read(fd, bytes + have, sizeof bytes - have)) > 0) {
    have += (size_t)got;
    size_t at = 0;
    while (have - at >= FRAME_HEADER && have - at >= FRAME_HEADER + le32(bytes + at)) {
      CHECK(le32(bytes + at) <= FRAME_DATA_MAX + 8);
      CHECK((bytes[at + 4] & 0x80) || bytes[at + 4] == FRAME_DATA || bytes[at + 4] == FRAME_EOF ||
            bytes[at + 4] == FRAME_WINDOW || bytes[at + 4] == FRAME_PONG);
      at += FRAME_HEADER + le32(bytes + at);
    }
    memmove(bytes, bytes + at, have - at);
    have -= at;
  }
  if (got == 0) have = 0;
}

static void exit_one(struct stream *stream) {
  if (stream->kind != STREAM_PROCESS) return;
  struct rusage usage = {0};
  process_reaped(OWNER(stream, struct process, stream)->pid, 0, &usage);
}

static void drop_one(struct stream *stream) { stream->ops->cancel(stream); }

/* One connection. Bytes travel in pieces whose lengths the input chooses. */
static void session(const uint8_t *data, size_t size) {
  int pair[2];
  CHECK(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair));
  CHECK(!conn_open(pair[0]));
  for (size_t at = 0; at < size;) {
    size_t piece = (size_t)(data[at] % 64) * 16 + 1;
    if (piece > size - at) piece = size - at;
    ssize_t put = write(pair[1], data + at, piece);
    if (put < 0) break;
    at += (size_t)put;
    loop_round(0);
    check_up(pair[1]);
  }
  for (int i = 0; i < 3; i++) loop_round(0);
  check_up(pair[1]);
  close(pair[1]);
  for (int i = 0; i < 3; i++) loop_round(0);
  CHECK(!conn_up());
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  set_up();
  /* The first byte says where the connection breaks and a second one begins, and whether commands exit in between. */
  if (!size) return 0;
  uint8_t choice = *data++;
  size_t cut = --size * (choice + 1u) / 256;
  session(data, cut);
  if (choice & 2) stream_each(exit_one);
  session(data + cut, size - cut);
  stream_each(drop_one);
  for (pid_t pid = stub_first; pid <= stub_last; pid++) worker_reaped(pid);
  stub_first = stub_last + 1;
  for (int i = 0; i < 4; i++) loop_round(0);
  CHECK(stream_count() == 0);
  CHECK(ring_total() == 0);
  config_reset();
#ifdef VIV_CANARY
  /* Proves that this fuzzer can fail: a "bug" two frames deep, behind the handshake. */
  for (size_t i = 0; i + 5 <= size; i++) CHECK(memcmp(data + i, "CNARY", 5) != 0);
#endif
  return 0;
}
