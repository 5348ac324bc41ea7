#define _GNU_SOURCE
#include "dispatch.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "config.h"
#include "conn.h"
#include "file.h"
#include "le.h"
#include "listener.h"
#include "process.h"
#include "shutdown.h"
#include "sink.h"
#include "socket.h"
#include "source.h"
#include "stream.h"
#include "sys.h"
#include "tree.h"

static uint8_t bootNonce[16];

int dispatch_open(void) {
  return getrandom(bootNonce, sizeof bootNonce, GRND_NONBLOCK) == sizeof bootNonce ? 0 : -(errno ? errno : EIO);
}

static void say_state(struct stream *stream) {
  if (stream->kind == STREAM_PROCESS) process_state(OWNER(stream, struct process, stream));
  if (stream->kind == STREAM_LISTENER) listener_state(stream);
}

static void go_on(struct stream *stream) {
  if (stream->kind == STREAM_PROCESS) process_resume(OWNER(stream, struct process, stream));
  if (stream->kind == STREAM_LISTENER) listener_resume(stream);
}

static int hello(struct bytes payload) {
  if (conn_greeted() || le16(payload.data) != FRAME_VERSION || le16(payload.data + 2) != 0) return -1;
  conn_set_greeted();
  uint8_t answer[28] = {0};
  put16(answer, FRAME_VERSION);
  answer[2] = config_done();
  memcpy(answer + 4, bootNonce, sizeof bootNonce);
  put32(answer + 20, STREAM_MAX);
  put32(answer + 24, FRAME_DATA_MAX);
  conn_send(FRAME_HELLO_UP, 0, 0, answer, sizeof answer);
  stream_each(say_state);
  conn_send(FRAME_READY, 0, 0, NULL, 0);
  stream_each(go_on);
  return 0;
}

static void configure(uint32_t id, struct bytes payload) {
  struct config config;
  const char *what = "config";
  if (config_done()) return conn_fail(id, EALREADY, STAGE_CONFIG, what);
  if (config_parse(payload, &config)) return conn_fail(id, EINVAL, STAGE_REQUEST, what);
  int error = config_apply(&config, &what);
  if (!error) error = config_keep(&config);
  if (error) return conn_fail(id, -error, STAGE_OPERATION, what);
  conn_ok(id, NULL, 0);
}

static void answer(uint32_t id, int error, const char *what) {
  if (error) conn_fail(id, -error, STAGE_OPERATION, what);
  else conn_ok(id, NULL, 0);
}

/* Requests that open a stream. */
static int open_stream(const struct frame *frame, struct bytes payload) {
  /* The host's ids are odd; one in use means that the two sides disagree about what lives. */
  if (!(frame->stream & 1) || stream_find(frame->stream)) return -1;
  if (!config_done()) conn_fail(frame->stream, EPERM, STAGE_CONFIG, "no CONFIG yet");
  else if (stream_count() >= STREAM_MAX) conn_fail(frame->stream, ENOSPC, STAGE_LIMIT, "streams");
  else if (frame->type == FRAME_SPAWN) process_spawn(frame->stream, payload);
  else if (frame->type == FRAME_FILE) file_request(frame->stream, payload);
  else if (frame->type == FRAME_PROCS) file_procs(frame->stream);
  else if (frame->type == FRAME_CONNECT) socket_connect(frame->stream, payload);
  else listener_open(frame->stream, payload);
  return 0;
}

/* Frames about a process; on any other stream they have no meaning. */
static int to_process(const struct frame *frame, const uint8_t *at, struct stream *stream) {
  if (stream->kind != STREAM_PROCESS) return -1;
  struct process *process = OWNER(stream, struct process, stream);
  switch (frame->type) {
    case FRAME_START: process_start(process); return 0;
    case FRAME_SIGNAL: process_signal(process, le32(at), le32(at + 4)); return 0;
    case FRAME_RESIZE: process_resize(process, le16(at), le16(at + 2)); return 0;
    default: break;
  }
  tree_kill(process->serial, process->phase == PHASE_EXITED ? 0 : process->pid);
  return 0;
}

/* Frames on an open stream. The stream may have ended a moment ago: then they are late, not wrong. */
static int to_stream(const struct frame *frame, struct bytes payload) {
  struct stream *stream = stream_find(frame->stream);
  if (!stream) return 0;
  const uint8_t *at = payload.data;
  switch (frame->type) {
    case FRAME_DATA:
      if (!stream->down) return -1;
      return sink_data(stream->down, le64(at), (struct bytes){at + 8, payload.len - 8});
    case FRAME_EOF:
      if (!stream->down) return -1;
      return sink_eof(stream->down, le64(at));
    case FRAME_WINDOW:
      if (!frame->chan || !stream->up[frame->chan]) return -1;
      return source_window(stream->up[frame->chan], le64(at), le64(at + 8));
    case FRAME_CANCEL:
      stream->ops->cancel(stream);
      return 0;
    case FRAME_RELEASE:
      if (stream->kind == STREAM_PROCESS) return process_release(OWNER(stream, struct process, stream));
      if (stream->kind != STREAM_LISTENER) return -1;
      stream->ops->cancel(stream);
      return 0;
    default:
      return to_process(frame, at, stream);
  }
}

int dispatch_frame(const struct frame *frame, struct bytes payload) {
  if (frame->type == FRAME_HELLO) return hello(payload);
  if (!conn_greeted()) return -1;
  switch (frame->type) {
    case FRAME_PING: conn_send(FRAME_PONG, 0, frame->stream, payload.data, payload.len); return 0;
    case FRAME_PONG: return 0;
    case FRAME_CONFIG: configure(frame->stream, payload); return 0;
    case FRAME_SPAWN:
    case FRAME_FILE:
    case FRAME_PROCS:
    case FRAME_CONNECT:
    case FRAME_LISTEN: return open_stream(frame, payload);
    default: break;
  }
  bool aboutGuest = frame->type == FRAME_CLOCK || frame->type == FRAME_RESEED || frame->type == FRAME_SHUTDOWN;
  if (aboutGuest && !config_done()) {
    conn_fail(frame->stream, EPERM, STAGE_CONFIG, "no CONFIG yet");
    return 0;
  }
  switch (frame->type) {
    case FRAME_CLOCK: answer(frame->stream, sys_clock(le64(payload.data)), "clock"); return 0;
    case FRAME_RESEED: answer(frame->stream, sys_entropy(payload.data, payload.len), "reseed"); return 0;
    case FRAME_SHUTDOWN: shutdown_begin(le32(payload.data)); return 0;
    default: return to_stream(frame, payload);
  }
}

static void disconnected(struct stream *stream) {
  if (stream->kind == STREAM_PROCESS) process_disconnected(OWNER(stream, struct process, stream));
  else if (stream->kind == STREAM_LISTENER) listener_disconnected(stream);
  else stream->ops->cancel(stream);
}

void dispatch_disconnected(void) { stream_each(disconnected); }
