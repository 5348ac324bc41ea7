#define _GNU_SOURCE
#include "conn.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "buffer.h"
#include "dispatch.h"
#include "le.h"
#include "loop.h"
#include "passage.h"
#include "sink.h"
#include "source.h"

#define SCRATCH 65536u
#define READ_SMALL 4096u
#define READ_LARGE (256u << 10)
#define READS_PER_ROUND 8
/* Answers that wait for a host which does not read: from here on no more requests are taken in … */
#define OUT_PAUSE (256u << 10)
/* … and here, where only unasked frames can have led, the host is given up. */
#define OUT_MAX (8u << 20)
#define SENDS_PER_ROUND 64

static struct {
  struct watch watch;
  struct task readTask, sendTask;
  struct buffer in, out;
  struct source *wants, **wantsEnd;
  struct sink *credits;
  bool up, greeted, readable, writable, broken, hungry;
  bool direct; /* the last DATA went through a passage */
} conn = {.watch.fd = -1, .wantsEnd = &conn.wants};

static uint8_t *scratch;

static void read_input(struct task *task);

static void on_ready(struct watch *watch, uint32_t events) {
  (void)watch;
  if (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) {
    conn.readable = true;
    read_input(NULL);
  }
  if (events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) conn.writable = true;
}

int conn_open(int fd) {
  conn_close();
  int size = 1 << 20;
  setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
  int error = loop_watch(&conn.watch, fd, on_ready);
  if (error) return error;
  conn.up = true;
  return 0;
}

void conn_close(void) {
  if (!conn.up) return;
  loop_close(&conn.watch);
  loop_forget(&conn.readTask);
  loop_forget(&conn.sendTask);
  conn.up = conn.greeted = conn.readable = conn.writable = conn.broken = false;
  buffer_clear(&conn.in);
  buffer_clear(&conn.out);
  passage_drop();
  while (conn.wants) conn_unwant(conn.wants);
  while (conn.credits) conn_uncredit(conn.credits);
  dispatch_disconnected();
}

bool conn_up(void) { return conn.up; }
bool conn_greeted(void) { return conn.greeted; }
void conn_set_greeted(void) { conn.greeted = true; }

/* Hands every complete frame in the buffer to dispatch. `missing` is what the last one lacks. Returns false on a
 * protocol error. */
static bool consume(size_t *missing) {
  *missing = 0;
  while (conn.up && buffer_len(&conn.out) < OUT_PAUSE) {
    size_t have = buffer_len(&conn.in);
    *missing = passage_left();
    if (have < (*missing ? 1 : FRAME_HEADER)) return true;
    const uint8_t *at = conn.in.mem + conn.in.start;
    if (*missing) {
      ssize_t took = passage_put(at, have);
      if (took < 0) return false;
      buffer_take(&conn.in, (size_t)took);
      continue;
    }
    struct frame frame;
    if (frame_decode(&frame, at)) return false;
    size_t whole = FRAME_HEADER + (size_t)frame.length;
    if (have < whole) {
      *missing = whole - have;
      if (!passage_open(&frame, at + FRAME_HEADER, have - FRAME_HEADER)) return true;
      conn.direct = true;
      buffer_take(&conn.in, FRAME_HEADER + 8);
      continue;
    }
    conn.direct = false;
    if (dispatch_frame(&frame, (struct bytes){at + FRAME_HEADER, frame.length})) return false;
    if (conn.up) buffer_take(&conn.in, whole);
  }
  return true;
}

/* How much to read at once. */
static size_t appetite(size_t missing) {
  /* Behind a passage comes mostly another one: only to its end, or only the next one's head, the rest by splice. */
  if (conn.direct && !buffer_len(&conn.in)) return missing ? missing : FRAME_HEADER + 8;
  /* A full small read or a frame under way that is larger: more will come, take it in large pieces. */
  size_t want = conn.hungry || missing > READ_SMALL ? READ_LARGE : READ_SMALL;
  return want < missing ? missing : want;
}

static void read_input(struct task *task) {
  (void)task;
  for (int turn = 0; conn.up; turn++) {
    size_t missing;
    if (!consume(&missing)) return conn_close();
    if (!conn.up || !conn.readable) return;
    if (buffer_len(&conn.out) >= OUT_PAUSE) return; /* conn_flush resumes */
    if (turn == READS_PER_ROUND) return loop_defer(&conn.readTask, read_input);
    if (passage_left() && passage_splice(conn.watch.fd)) continue;
    size_t want = appetite(missing);
    if (buffer_room(&conn.in, want)) return conn_close();
    size_t room = conn.direct ? want : conn.in.cap - conn.in.end;
    ssize_t got = read(conn.watch.fd, conn.in.mem + conn.in.end, room);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) {
      conn.readable = conn.hungry = false;
      return;
    }
    if (got <= 0) return conn_close();
    conn.hungry = (size_t)got == room && !conn.direct;
    if (conn.in.cap > READ_SMALL) loop_fat();
    conn.in.end += (size_t)got;
  }
}

void conn_send(uint8_t type, uint8_t chan, uint32_t stream, const void *payload, uint32_t len) {
  /* Nothing goes out before the answer to HELLO; what happened until then is in STATE. */
  if (!conn.up || !conn.greeted || conn.broken) return;
  uint8_t header[FRAME_HEADER];
  frame_encode(header, &(struct frame){.length = len, .type = type, .chan = chan, .stream = stream});
  if (buffer_len(&conn.out) + FRAME_HEADER + len > OUT_MAX || buffer_room(&conn.out, FRAME_HEADER + len)) {
    conn.broken = true;
    return;
  }
  buffer_put(&conn.out, header, FRAME_HEADER);
  buffer_put(&conn.out, payload, len);
}

void conn_ok(uint32_t stream, const void *tlv, uint32_t len) { conn_send(FRAME_OK, 0, stream, tlv, len); }

void conn_fail(uint32_t stream, int error, enum fail_stage stage, const char *what) {
  char payload[8 + 256];
  put32((uint8_t *)payload, (uint32_t)error);
  put32((uint8_t *)payload + 4, stage);
  int len = snprintf(payload + 8, 256, "%s%s%s", what ? what : "", what ? ": " : "", strerror(error));
  if (len > 255) len = 255;
  conn_send(FRAME_FAIL, 0, stream, payload, 8 + (uint32_t)len);
}

void conn_window(uint32_t stream, uint8_t chan, uint64_t acked, uint64_t limit) {
  uint8_t payload[16];
  put64(payload, acked);
  put64(payload + 8, limit);
  conn_send(FRAME_WINDOW, chan, stream, payload, sizeof payload);
}

/* Keeps for later what the socket did not take of a frame: `skip` bytes of it are written. */
static void spill(const struct iovec *iov, int count, size_t skip) {
  for (int i = 0; i < count; i++) {
    size_t gone = skip < iov[i].iov_len ? skip : iov[i].iov_len;
    skip -= gone;
    if (buffer_put(&conn.out, (uint8_t *)iov[i].iov_base + gone, iov[i].iov_len - gone)) conn.broken = true;
  }
  loop_fat();
}

void conn_data(uint32_t stream, uint8_t chan, uint64_t offset, const struct iovec *iov, int count) {
  uint8_t header[FRAME_HEADER + 8];
  struct iovec all[3] = {{header, sizeof header}};
  uint32_t len = 0;
  for (int i = 0; i < count; i++) {
    all[i + 1] = iov[i];
    len += (uint32_t)iov[i].iov_len;
  }
  frame_encode(header, &(struct frame){.length = len + 8, .type = FRAME_DATA, .chan = chan, .stream = stream});
  put64(header + FRAME_HEADER, offset);
  ssize_t put = writev(conn.watch.fd, all, count + 1);
  if (put < 0 && errno != EAGAIN && errno != EINTR) conn.broken = true;
  size_t done = put < 0 ? 0 : (size_t)put;
  /* A short write leaves `writable` alone: only EAGAIN promises a new edge. */
  if (put < 0 && errno == EAGAIN) conn.writable = false;
  if (done < sizeof header + len) spill(all, count + 1, done);
}

void conn_want(struct source *source) {
  if (source->wanted || !conn.up) return;
  source->wanted = true;
  source->nextWanted = NULL;
  *conn.wantsEnd = source;
  conn.wantsEnd = &source->nextWanted;
}

void conn_unwant(struct source *source) {
  if (!source->wanted) return;
  for (struct source **at = &conn.wants; *at; at = &(*at)->nextWanted) {
    if (*at != source) continue;
    *at = source->nextWanted;
    if (conn.wantsEnd == &source->nextWanted) conn.wantsEnd = at;
    break;
  }
  source->wanted = false;
}

void conn_credit(struct sink *sink) {
  if (sink->creditDue || !conn.up) return;
  sink->creditDue = true;
  sink->nextDue = conn.credits;
  conn.credits = sink;
}

void conn_uncredit(struct sink *sink) {
  if (!sink->creditDue) return;
  struct sink **at = &conn.credits;
  while (*at && *at != sink) at = &(*at)->nextDue;
  if (*at) *at = sink->nextDue;
  sink->creditDue = false;
}

static void send_queue(void) {
  while (buffer_len(&conn.out) && conn.writable) {
    ssize_t put = write(conn.watch.fd, conn.out.mem + conn.out.start, buffer_len(&conn.out));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && errno == EAGAIN) {
      conn.writable = false;
      return;
    }
    if (put < 0) {
      conn.broken = true;
      return;
    }
    buffer_take(&conn.out, (size_t)put);
  }
  if (conn.out.cap > READ_SMALL) loop_fat();
}

static void resume(struct task *task) { (void)task; }

void conn_flush(void) {
  if (!conn.up) return;
  while (conn.credits) {
    struct sink *sink = conn.credits;
    conn_uncredit(sink);
    sink_grant(sink);
  }
  bool paused = buffer_len(&conn.out) >= OUT_PAUSE;
  send_queue();
  /* The frames of one round of every channel in turn: a busy one delays the others by 64 KiB each. */
  for (int sends = 0; conn.wants && !conn.broken; sends++) {
    send_queue();
    if (buffer_len(&conn.out) || !conn.writable) break;
    if (sends == SENDS_PER_ROUND) {
      loop_defer(&conn.sendTask, resume);
      break;
    }
    struct source *source = conn.wants;
    conn_unwant(source);
    source_send(source);
  }
  send_queue();
  if (conn.broken) return conn_close();
  if (paused && buffer_len(&conn.out) < OUT_PAUSE) loop_defer(&conn.readTask, read_input);
}

void conn_trim(void) {
  buffer_trim(&conn.in);
  buffer_trim(&conn.out);
  if (scratch) munmap(scratch, SCRATCH);
  scratch = NULL;
}

uint8_t *conn_scratch(void) {
  if (!scratch) {
    void *mem = mmap(NULL, SCRATCH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mem == MAP_FAILED) return NULL;
    scratch = mem;
  }
  loop_fat();
  return scratch;
}
