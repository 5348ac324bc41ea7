#define _GNU_SOURCE
#include "shutdown.h"

#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loop.h"
#include "process.h"
#include "stream.h"
#include "sys.h"
#include "worker.h"

/* A fork bomb ends children faster than they can be looked at: the host gets its turn in between. */
#define REAPS_PER_ROUND 128
/* How long SIGKILL may take to have its effect before pid 1 leaves anyway; the kernel kills the rest then. */
#define KILL_WAIT_MS 2000

static struct watch signals = {.fd = -1};
static struct task again;
static struct timer grace;
static bool stopping, done;

bool shutdown_done(void) { return done; }

static void reap(struct task *task) {
  (void)task;
  for (int i = 0; i < REAPS_PER_ROUND; i++) {
    int status;
    struct rusage usage;
    pid_t pid = wait4(-1, &status, WNOHANG, &usage);
    if (pid < 0 && errno == EINTR) continue;
    if (pid < 0 && errno == ECHILD && stopping) done = true;
    if (pid <= 0) return;
    process_reaped(pid, status, &usage);
    worker_reaped(pid);
  }
  loop_defer(&again, reap);
}

static void on_signal(struct watch *watch, uint32_t events) {
  (void)events;
  struct signalfd_siginfo info;
  while (read(watch->fd, &info, sizeof info) == sizeof info);
  loop_defer(&again, reap);
}

int reaper_open(int fd) { return loop_watch(&signals, fd, on_signal); }

static void give_up(struct timer *timer) {
  (void)timer;
  done = true;
}

static void kill_stream(struct stream *stream) {
  if (stream->kind == STREAM_PROCESS) process_signal(OWNER(stream, struct process, stream), SIGKILL, 1);
}

static void term_stream(struct stream *stream) {
  if (stream->kind == STREAM_PROCESS) process_signal(OWNER(stream, struct process, stream), SIGTERM, 1);
}

static void kill_all(struct timer *timer) {
  sys_kill_all(SIGKILL);
  stream_each(kill_stream);
  loop_timer(timer, KILL_WAIT_MS, give_up);
}

void shutdown_begin(uint32_t graceMs) {
  if (stopping) return;
  stopping = true;
  sys_kill_all(SIGTERM);
  stream_each(term_stream);
  loop_timer(&grace, graceMs, kill_all);
  loop_defer(&again, reap);
}
