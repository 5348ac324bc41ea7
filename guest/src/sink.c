#define _GNU_SOURCE
#include "sink.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include "conn.h"
#include "stream.h"

#define WINDOW_SMALL RING_SMALL
/* Credit grows to this once a stream has shown that it carries much … */
#define WINDOW_LARGE (512u << 10)
/* … while the sum of such extra credit stays below this. */
#define EXTRA_MAX (8u << 20)

static uint64_t extra;

static void on_ready(struct watch *watch, uint32_t events) {
  struct sink *sink = OWNER(watch, struct sink, watch);
  /* On the writing end of a pipe EPOLLERR means that the last reader is gone. */
  if (events & (EPOLLERR | EPOLLHUP)) return sink_break(sink);
  if (events & EPOLLOUT) sink_writable(sink);
}

void sink_init(struct sink *sink, struct stream *stream, enum sink_kind kind) {
  *sink = (struct sink){.watch = {.fd = -1},
                        .stream = stream,
                        .kind = (uint8_t)kind,
                        .fd = -1,
                        .limit = WINDOW_SMALL,
                        .window = WINDOW_SMALL};
}

int sink_open(struct sink *sink, int fd) {
  int error = sink->kind == SINK_PIPE ? loop_watch(&sink->watch, fd, on_ready) : 0;
  if (error) return error;
  sink->fd = fd;
  sink->writable = true;
  return 0;
}

/* Ends the descriptor's writing side, once. */
static void shut(struct sink *sink) {
  if (sink->fd < 0) return;
  if (sink->kind == SINK_PIPE) loop_close(&sink->watch);
  if (sink->kind == SINK_SOCKET) shutdown(sink->fd, SHUT_WR);
  sink->fd = -1;
}

/* End of input on a terminal is a character: once after a line end, twice after half a line (termios(3), VEOF). */
static void type_eof(struct sink *sink) {
  struct termios mode;
  if (tcgetattr(sink->fd, &mode) < 0 || !(mode.c_lflag & ICANON)) return;
  char keys[2] = {(char)mode.c_cc[VEOF], (char)mode.c_cc[VEOF]};
  bool lineEnded = sink->ring.end == 0 || sink->lastByte == '\n' || sink->lastByte == '\r';
  if (write(sink->fd, keys, lineEnded ? 1 : 2) < 0) return;
}

static void finish(struct sink *sink) {
  if (sink->fd < 0 || !sink->finished || sink->ring.base != sink->ring.end) return;
  if (sink->kind == SINK_PTY) type_eof(sink);
  shut(sink);
  sink->closed = true;
  sink->stream->ops->down_ended(sink->stream);
}

void sink_break(struct sink *sink) {
  if (sink->closed) return;
  sink->closed = true;
  sink->ring.base = sink->ring.end;
  ring_drop(&sink->ring);
  shut(sink);
  sink->limit = UINT64_MAX;
  if (!sink->finished) conn_credit(sink);
  sink->stream->ops->down_ended(sink->stream);
}

/* Writes slices until done or full. Returns the bytes taken, or -1 when the reader is gone. */
static ssize_t hand_on(struct sink *sink, struct iovec *iov, int count) {
  for (;;) {
    ssize_t put = writev(sink->fd, iov, count);
    if (put >= 0) return put;
    if (errno == EINTR) continue;
    if (errno == EAGAIN) {
      sink->writable = false;
      return 0;
    }
    return -1;
  }
}

void sink_writable(struct sink *sink) {
  sink->writable = true;
  if (sink->closed) return;
  while (sink->writable && ring_used(&sink->ring)) {
    struct iovec iov[2];
    int slices = ring_slice(&sink->ring, sink->ring.base, ring_used(&sink->ring), iov);
    ssize_t put = hand_on(sink, iov, slices);
    if (put < 0) return sink_break(sink);
    sink->ring.base += (uint64_t)put;
    if (put) conn_credit(sink);
  }
  if (sink->direct) conn_credit(sink);
  ring_trim(&sink->ring);
  finish(sink);
}

int sink_data(struct sink *sink, uint64_t offset, struct bytes data) {
  if (sink->finished || !sink_allows(sink, offset, data.len)) return -1;
  conn_credit(sink);
  sink->lastByte = data.data[data.len - 1];
  if (sink->closed) {
    sink->ring.base = sink->ring.end = offset + data.len;
    return 0;
  }
  while (sink->writable && data.len && !ring_used(&sink->ring)) {
    struct iovec iov = {(void *)data.data, data.len};
    ssize_t put = hand_on(sink, &iov, 1);
    if (put < 0) {
      sink->ring.end += data.len;
      sink_break(sink);
      return 0;
    }
    sink->ring.base += (uint64_t)put;
    sink->ring.end += (uint64_t)put;
    data.data += put;
    data.len -= (uint32_t)put;
  }
  if (!data.len) return 0;
  uint32_t cap = RING_SMALL;
  while (cap < ring_used(&sink->ring) + data.len) cap *= 2;
  if (ring_reserve(&sink->ring, cap)) {
    /* No memory although credit was given: the only honest end is to break the stream. */
    sink->ring.end += data.len;
    sink_break(sink);
    return 0;
  }
  ring_put(&sink->ring, data.data, data.len);
  return 0;
}

bool sink_splices(const struct sink *sink) {
  return sink->direct && sink->writable && !sink->closed && !sink->finished && !ring_used(&sink->ring);
}

bool sink_allows(const struct sink *sink, uint64_t offset, uint32_t len) {
  return offset == sink->ring.end && len <= sink->limit - offset;
}

void sink_moved(struct sink *sink, size_t len) {
  sink->ring.base += len;
  sink->ring.end += len;
  conn_credit(sink);
}

int sink_eof(struct sink *sink, uint64_t final) {
  if (final != sink->ring.end) return -1;
  if (sink->finished) return 0; /* said again after a reconnect */
  sink->finished = true;
  if (sink->closed) sink->stream->ops->down_ended(sink->stream);
  else finish(sink);
  return 0;
}

/* Up to where the receiver has the bytes. What waits in a worker's pipe doesn't count: credit for it would let the pipe
 * run full, and then the ring, with two more copies of everything. The worker empties the pipe by splice, which wakes
 * this side each time. */
static uint64_t handed_on(const struct sink *sink) {
  int waiting = 0;
  if (sink->direct && sink->fd >= 0 && ioctl(sink->fd, FIONREAD, &waiting) < 0) waiting = 0;
  return sink->ring.base - (uint64_t)waiting;
}

void sink_grant(struct sink *sink) {
  if (!sink->closed) {
    if (sink->window == WINDOW_SMALL && sink->ring.end >= WINDOW_SMALL && extra < EXTRA_MAX) {
      sink->window = sink->direct ? 2 * WINDOW_LARGE : WINDOW_LARGE;
      extra += sink->window - WINDOW_SMALL;
    }
    uint64_t limit = handed_on(sink) + sink->window;
    if (sink->direct && !sink->finished && limit < sink->limit + sink->window / 4) return;
    if (limit > sink->limit) sink->limit = limit;
  }
  conn_window(sink->stream->id, 0, sink->ring.end, sink->limit);
}

void sink_close(struct sink *sink) {
  conn_uncredit(sink);
  shut(sink);
  ring_drop(&sink->ring);
  if (sink->window > WINDOW_SMALL) extra -= sink->window - WINDOW_SMALL;
  sink->window = 0;
}
