#define _GNU_SOURCE
#include "source.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "conn.h"
#include "le.h"
#include "leftover.h"
#include "stream.h"

/* A terminal holds at most this much output that its reader has not seen (tty buffer 64 KiB, line discipline 4 KiB). */
#define PTY_HOLDS (72u << 10)
#define READS_PER_ROUND 16
/* A command that writes this much within a millisecond … */
#define BUSY_BYTES (128u << 10)
/* … is read once in this time only: its small writes then travel in large frames. A pipe of a megabyte holds what a
 * gigabyte per second brings meanwhile. */
#define PACE_MS 1
/* Hosts that grant less are not in a hurry. */
#define WIDE_WINDOW (256u << 10)

static void pump(struct source *source);

static void on_ready(struct watch *watch, uint32_t events) {
  struct source *source = OWNER(watch, struct source, watch);
  if (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) source_arrived(source);
}

void source_init(struct source *source, struct stream *stream, uint8_t chan, bool retained, uint32_t window) {
  *source = (struct source){.watch = {.fd = -1},
                            .stream = stream,
                            .chan = chan,
                            .retained = retained,
                            .limit = window,
                            .window = window};
}

int source_open(struct source *source, enum source_kind kind, int fd) {
  source->kind = (uint8_t)kind;
  return loop_watch(&source->watch, fd, on_ready);
}

static bool sendable(const struct source *source) {
  if (source->muted || source->eofSent) return false;
  if (!source->retained) return source->readable && !source->ended && source->sent < source->limit;
  if (source->sent < source->ring.end) return source->sent < source->limit;
  return source->ended;
}

static void offer(struct source *source) {
  if (sendable(source)) conn_want(source);
}

void source_arrived(struct source *source) {
  source->readable = true;
  if (source->retained) pump(source);
  offer(source);
}

static void pump_more(struct task *task) { source_arrived(OWNER(task, struct source, more)); }

static void end(struct source *source) {
  source->ended = true;
  source->readable = false;
}

static void hang_up(struct source *source) {
  end(source);
  loop_close(&source->watch);
}

static void pace_over(struct timer *timer) { source_arrived(OWNER(timer, struct source, pace)); }

/* Lets the kernel hold a megabyte, the first time that a command turns out to write much. It may refuse
 * (pipe-user-pages-soft); then the pipe stays as it is. */
static void widen(struct source *source) {
  if (source->wide || source->kind != SOURCE_PIPE || source->window < WIDE_WINDOW) return;
  source->wide = fcntl(source->watch.fd, F_SETPIPE_SZ, RING_LARGE) >= (int)RING_LARGE;
}

/* Counts what was read. Puts a busy source to rest for a moment if its pipe can hold what comes meanwhile. */
static void count(struct source *source, uint32_t bytes) {
  uint64_t now = loop_nowMs();
  if (source->busyMs != now) source->busyBytes = 0;
  source->busyMs = now;
  source->busyBytes += bytes;
  if (source->busyBytes < BUSY_BYTES) return;
  widen(source);
  if (source->wide) loop_timer(&source->pace, PACE_MS, pace_over);
}

/* Makes room when the ring is full: as much as the host's largest window, a megabyte at most. */
static void grow(struct source *source) {
  struct ring *ring = &source->ring;
  if (ring->cap >= RING_LARGE || (ring->cap && ring->cap >= source->window)) return;
  uint32_t cap = RING_SMALL;
  while (ring->cap && cap < RING_LARGE && cap < source->window) cap *= 2;
  if (cap > RING_SMALL && ring_total() + cap > RING_BUDGET) return;
  if (!ring_reserve(ring, cap) && cap > RING_SMALL) widen(source);
}

/* Reads into the free part of the ring. Returns false when there is nothing more to do for now. */
static bool fill(struct source *source) {
  struct iovec iov[2];
  if (!ring_room(&source->ring)) grow(source);
  int slices = ring_free(&source->ring, iov);
  if (!slices) return false;
  if (source->draining && source->kind == SOURCE_PIPE) {
    if (iov[0].iov_len > source->drainLeft) iov[0].iov_len = source->drainLeft;
    slices = 1;
  }
  ssize_t got = readv(source->watch.fd, iov, slices);
  if (got < 0 && errno == EINTR) return true;
  if (got > 0) {
    source->ring.end += (uint64_t)got;
    if (!source->draining) {
      count(source, (uint32_t)got);
      return true;
    }
    source->drainLeft = (uint32_t)got < source->drainLeft ? source->drainLeft - (uint32_t)got : 0;
    if (!source->drainLeft) end(source);
    return source->drainLeft > 0;
  }
  if (got < 0 && errno == EAGAIN) {
    source->readable = false;
    /* poll() makes the kernel push output under way from the terminal's slave side; read() alone does not. */
    struct pollfd again = {.fd = source->watch.fd, .events = POLLIN};
    if (source->draining && source->kind == SOURCE_PTY && poll(&again, 1, 0) > 0 && again.revents & POLLIN) {
      source->readable = true;
      return true;
    }
    if (source->draining) end(source);
    return false;
  }
  /* A terminal says EIO while no process has it open; while the command lives it may still open it again. */
  if (source->kind == SOURCE_PTY && !source->draining) source->readable = false;
  else hang_up(source);
  return false;
}

static void pump(struct source *source) {
  int turns = 0;
  while (source->readable && !source->ended && source->watch.fd >= 0) {
    if (source->pace.armed && !source->draining) break;
    if (turns++ == READS_PER_ROUND) {
      loop_defer(&source->more, pump_more);
      break;
    }
    if (!fill(source)) break;
  }
  if (source->ended && source->watch.fd >= 0) leftover_adopt(&source->watch);
  if (!source->readable || source->ended) ring_trim(&source->ring);
}

int source_window(struct source *source, uint64_t acked, uint64_t limit) {
  if (acked > source->sentMax || (source->retained && acked < source->ring.base)) return -1;
  if (!source->retained) {
    if (limit < source->limit) return -1;
    source->limit = limit;
    offer(source);
    return 0;
  }
  if (source->muted) {
    source->sent = acked;
    source->muted = false;
  } else if (acked > source->sent || limit < source->limit) {
    return -1;
  }
  source->limit = limit;
  uint64_t window = limit > acked ? limit - acked : 0;
  if (window > source->window) source->window = window > WINDOW_MAX ? WINDOW_MAX : (uint32_t)window;
  source->ring.base = acked;
  if (source->readable) pump(source);
  else ring_trim(&source->ring);
  offer(source);
  return 0;
}

void source_unmute(struct source *source) {
  source->muted = false;
  offer(source);
}

void source_drain(struct source *source) {
  if (source->draining || source->ended) return;
  source->draining = true;
  source->readable = true;
  int waiting = 0;
  if (source->kind == SOURCE_PTY) waiting = PTY_HOLDS;
  else if (ioctl(source->watch.fd, FIONREAD, &waiting) < 0) waiting = 0;
  source->drainLeft = (uint32_t)waiting;
  if (!waiting) end(source);
  pump(source);
  offer(source);
}

void source_disconnected(struct source *source) {
  conn_unwant(source);
  source->muted = true;
  source->limit = 0;
  source->eofSent = false;
}

static void send_eof(struct source *source) {
  uint8_t final[8];
  put64(final, source->sent);
  source->eofSent = true;
  conn_send(FRAME_EOF, source->chan, source->stream->id, final, sizeof final);
}

static void send_retained(struct source *source) {
  uint64_t last = source->ring.end < source->limit ? source->ring.end : source->limit;
  uint64_t ready = last > source->sent ? last - source->sent : 0;
  uint32_t len = ready < FRAME_DATA_MAX ? (uint32_t)ready : FRAME_DATA_MAX;
  struct iovec iov[2];
  if (len) {
    conn_data(source->stream->id, source->chan, source->sent, iov, ring_slice(&source->ring, source->sent, len, iov));
    source->sent += len;
    if (source->sent > source->sentMax) source->sentMax = source->sent;
  } else if (source->ended) {
    send_eof(source);
  }
  offer(source);
}

static void send_direct(struct source *source) {
  uint8_t *scratch = conn_scratch();
  uint64_t credit = source->limit - source->sent;
  size_t want = credit < FRAME_DATA_MAX ? (size_t)credit : FRAME_DATA_MAX;
  ssize_t got = scratch ? read(source->watch.fd, scratch, want) : -1;
  if (!scratch) errno = ENOMEM;
  if (got > 0) {
    struct iovec iov = {scratch, (size_t)got};
    conn_data(source->stream->id, source->chan, source->sent, &iov, 1);
    source->sent = source->sentMax = source->sent + (uint64_t)got;
    return offer(source);
  }
  if (got < 0 && errno == EINTR) return offer(source);
  source->readable = false;
  if (got < 0 && errno == EAGAIN) return;
  source->ended = true;
  source->stream->ops->up_ended(source->stream, source, got < 0 ? errno : 0);
}

void source_send(struct source *source) {
  if (!sendable(source)) return;
  if (source->retained) send_retained(source);
  else send_direct(source);
}

void source_close(struct source *source) {
  conn_unwant(source);
  loop_forget(&source->more);
  loop_untimer(&source->pace);
  ring_drop(&source->ring);
  if (source->retained && source->watch.fd >= 0) leftover_adopt(&source->watch);
  loop_close(&source->watch);
}
