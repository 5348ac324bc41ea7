#define _GNU_SOURCE
#include "worker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cleanup.h"
#include "conn.h"
#include "le.h"
#include "loop.h"
#include "sink.h"
#include "source.h"
#include "stream.h"
#include "sys.h"
#include "work.h"

/* How long a worker may go on after its stream has ended: time to remove its temporary file. */
#define LINGER_MS 1000
#define WIDE_PIPE (1 << 20)

struct worker {
  struct stream stream; /* id 0 once it has ended */
  struct source up;
  struct sink down;
  struct watch control;
  struct timer linger;
  struct worker *next;
  pid_t pid; /* 0 when reaped */
  int passed; /* its result, a descriptor, until it says that it has none of it any more; -1: none */
  bool hasUp, okFirst, okSent, done, upEnded;
  const char *what;
  uint8_t *result; /* OK that waits for the data before it */
  uint32_t resultLen;
  void (*adopt)(uint32_t, int, const void *);
  void *request;
};

static struct worker *workers;

static void cancel(struct stream *stream);
static void up_ended(struct stream *stream, struct source *source, int error);

/* The host's data is all there, or the worker stopped reading: its report follows in either case. */
static void down_ended(struct stream *stream) { (void)stream; }

static const struct stream_ops ops = {cancel, up_ended, down_ended};

static void bury(struct worker *worker) {
  for (struct worker **at = &workers; *at; at = &(*at)->next) {
    if (*at != worker) continue;
    *at = worker->next;
    break;
  }
  loop_untimer(&worker->linger);
  free(worker->result);
  free(worker->request);
  loop_free(worker);
}

static void give_up(struct timer *timer) { sys_kill(OWNER(timer, struct worker, linger)->pid, SIGKILL); }

/* Ends the stream; the worker itself stays known until it is reaped. `signal` is sent before anything is closed, so
 * that it never takes a closed pipe for the end of the data. */
static void leave(struct worker *worker, int signal) {
  if (!worker->stream.id) return;
  if (signal && worker->pid) sys_kill(worker->pid, signal);
  stream_remove(&worker->stream);
  worker->stream.id = 0;
  source_close(&worker->up);
  sink_close(&worker->down);
  loop_close(&worker->control);
  if (worker->passed >= 0) close(worker->passed);
  worker->passed = -1;
  if (worker->pid) loop_timer(&worker->linger, LINGER_MS, give_up);
  else bury(worker);
}

static void cancel(struct stream *stream) { leave(OWNER(stream, struct worker, stream), SIGTERM); }

static void fail(struct worker *worker, int error, enum fail_stage stage) {
  conn_fail(worker->stream.id, error, stage, worker->what);
  leave(worker, SIGTERM);
}

static void send_eof(struct worker *worker) {
  uint8_t final[8];
  put64(final, worker->up.sent);
  conn_send(FRAME_EOF, 1, worker->stream.id, final, sizeof final);
}

/* Sends what can be sent now: OK before or after the data, EOF once both the data and the report are complete. */
static void progress(struct worker *worker) {
  if (worker->okFirst) {
    if (!worker->upEnded || !worker->done) return;
    send_eof(worker);
    return leave(worker, 0);
  }
  if (!worker->result || (worker->hasUp && !worker->upEnded)) return;
  if (worker->hasUp) send_eof(worker);
  conn_ok(worker->stream.id, worker->result, worker->resultLen);
  leave(worker, 0);
}

static void up_ended(struct stream *stream, struct source *source, int error) {
  (void)source, (void)error;
  struct worker *worker = OWNER(stream, struct worker, stream);
  worker->upEnded = true;
  progress(worker);
}

/* Only now: while the worker has a copy too, a listener that is closed again would still be there for its next owner. */
static void hand_over(struct worker *worker) {
  uint32_t id = worker->stream.id;
  int fd = worker->passed;
  worker->passed = -1;
  AUTO_FREE void *request = worker->request;
  worker->request = NULL;
  leave(worker, 0);
  worker->adopt(id, fd, request);
}

static void take_ok(struct worker *worker, const uint8_t *body, uint32_t len) {
  if (worker->okSent || worker->result) return fail(worker, EPROTO, STAGE_WORKER);
  if (worker->okFirst) {
    worker->okSent = true;
    conn_ok(worker->stream.id, body, len);
    return source_unmute(&worker->up);
  }
  worker->result = malloc(len + 1);
  if (!worker->result) return fail(worker, ENOMEM, STAGE_LIMIT);
  if (len) memcpy(worker->result, body, len);
  worker->resultLen = len;
  progress(worker);
}

static int passed_fd(struct msghdr *message) {
  int fd = -1;
  struct cmsghdr *header = CMSG_FIRSTHDR(message);
  if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS)
    memcpy(&fd, CMSG_DATA(header), sizeof fd);
  return fd;
}

static void on_control(struct watch *watch, uint32_t events) {
  (void)events;
  struct worker *worker = OWNER(watch, struct worker, control);
  while (worker->stream.id) {
    uint8_t text[WORK_MESSAGE_MAX];
    char control[CMSG_SPACE(sizeof(int))] __attribute__((aligned(16)));
    struct iovec iov = {text, sizeof text};
    struct msghdr message = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    ssize_t len = recvmsg(watch->fd, &message, MSG_CMSG_CLOEXEC);
    if (len < 0 && errno == EINTR) continue;
    if (len < 0 && errno == EAGAIN) return;
    if (len <= 0) {
      /* Ended. That is right only where the report came before and data still follows. */
      bool complete = worker->okFirst ? worker->done : worker->result != NULL;
      if (!complete) fail(worker, ECHILD, STAGE_WORKER);
      return;
    }
    AUTO_CLOSE int fd = passed_fd(&message);
    uint32_t bodyLen = (uint32_t)len - 1;
    if (text[0] == WORK_FAIL && bodyLen == 8) return fail(worker, (int)le32(text + 1), le32(text + 5));
    if (text[0] == WORK_OK && fd >= 0 && worker->adopt && worker->passed < 0) {
      worker->passed = steal(&fd);
      continue;
    }
    if (text[0] == WORK_OK) take_ok(worker, text + 1, bodyLen);
    if (text[0] == WORK_DONE) {
      if (worker->passed >= 0) return hand_over(worker);
      worker->done = true;
      progress(worker);
    }
  }
}

static int open_ends(struct worker *worker, const struct worker_spec *spec, int control, int *data) {
  int error = loop_watch(&worker->control, control, on_control);
  if (error) {
    close(control);
    return error;
  }
  if (!spec->up && !spec->down) return 0;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) < 0) return -errno;
  int own = ends[spec->up ? 0 : 1];
  *data = ends[spec->up ? 1 : 0];
  fcntl(own, F_SETFL, O_NONBLOCK);
  if (spec->down || spec->window > WINDOW_DEFAULT) fcntl(own, F_SETPIPE_SZ, WIDE_PIPE);
  error = spec->up ? source_open(&worker->up, SOURCE_PIPE, own) : sink_open(&worker->down, own);
  if (error) close(own);
  return error;
}

void worker_start(const struct worker_spec *spec) {
  struct worker *worker = calloc(1, sizeof *worker);
  if (!worker) return conn_fail(spec->id, ENOMEM, STAGE_LIMIT, spec->what);
  worker->control.fd = -1;
  worker->passed = -1;
  worker->hasUp = spec->up;
  worker->okFirst = spec->okFirst;
  worker->what = spec->what;
  worker->adopt = spec->adopt;
  source_init(&worker->up, &worker->stream, 1, false, spec->window);
  sink_init(&worker->down, &worker->stream, SINK_PIPE);
  worker->down.direct = spec->down;
  worker->up.muted = spec->okFirst;
  worker->next = workers;
  workers = worker;
  stream_add(&worker->stream, spec->id, STREAM_WORKER, &ops);
  if (spec->up) worker->stream.up[1] = &worker->up;
  if (spec->down) worker->stream.down = &worker->down;
  if (spec->adopt && spec->requestSize && (worker->request = malloc(spec->requestSize)))
    memcpy(worker->request, spec->request, spec->requestSize);

  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) return fail(worker, errno, STAGE_LIMIT);
  AUTO_CLOSE int control = pair[1];
  AUTO_CLOSE int data = -1;
  fcntl(pair[0], F_SETFL, O_NONBLOCK);
  int error = open_ends(worker, spec, pair[0], &data);
  if (error) return fail(worker, -error, STAGE_LIMIT);
  pid_t pid = sys_fork();
  if (pid == 0) {
    work_enter(control, data);
    spec->run(spec->request);
    _exit(1);
  }
  if (pid < 0) return fail(worker, errno, STAGE_FORK);
  worker->pid = pid;
}

void worker_reaped(pid_t pid) {
  for (struct worker *worker = workers; worker; worker = worker->next) {
    if (worker->pid != pid) continue;
    worker->pid = 0;
    loop_untimer(&worker->linger);
    if (!worker->stream.id) bury(worker);
    return;
  }
}
