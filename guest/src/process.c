#define _GNU_SOURCE
#include "process.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cleanup.h"
#include "conn.h"
#include "le.h"
#include "loop.h"
#include "plumbing.h"
#include "pty.h"
#include "role.h"
#include "spawn.h"
#include "sys.h"
#include "tree.h"

#define BUCKETS 64
#define SCOPE_GROUP 1u

static struct process *byPid[BUCKETS];
static unsigned count;
static uint64_t lastSerial;

/* Marks are found by a look through /proc: where several viv-init share one (tests, a host without pid namespaces), none may take
 * the other's processes for its own. So the serials of each begin somewhere else. */
static uint64_t next_serial(void) {
  uint16_t salt = 0;
  if (!lastSerial && getrandom(&salt, sizeof salt, GRND_NONBLOCK) == sizeof salt) lastSerial = (uint64_t)salt << 24;
  return ++lastSerial;
}

static void cancel(struct stream *stream);
static void up_ended(struct stream *stream, struct source *source, int error);
static void down_ended(struct stream *stream);

static const struct stream_ops ops = {cancel, up_ended, down_ended};

static struct process *of(struct stream *stream) { return OWNER(stream, struct process, stream); }

struct process *process_of_pid(pid_t pid) {
  struct process *process = byPid[(unsigned)pid % BUCKETS];
  while (process && process->pid != pid) process = process->nextByPid;
  return process;
}

static void forget_pid(struct process *process) {
  for (struct process **at = &byPid[(unsigned)process->pid % BUCKETS]; *at; at = &(*at)->nextByPid) {
    if (*at != process) continue;
    *at = process->nextByPid;
    return;
  }
}

/* Closes and frees everything. A child that still runs becomes an orphan, reaped as such. */
static void dispose(struct process *process) {
  forget_pid(process);
  sink_close(&process->in);
  source_close(&process->out);
  source_close(&process->err);
  loop_close(&process->status);
  if (process->startFd >= 0) close(process->startFd);
  if (process->stream.id) {
    stream_remove(&process->stream);
    count--;
  }
  loop_free(process);
}

static void on_status(struct watch *watch, uint32_t events);

/* Puts the parent's ends into the loop. */
static int connect_ends(struct process *process, struct plumbing *p, const struct spawn *spawn) {
  int error = loop_watch(&process->status, p->statusRead, on_status);
  if (error) return error;
  steal(&p->statusRead);
  bool pty = p->master >= 0;
  int *out = pty ? &p->master : &p->outRead;
  if ((error = source_open(&process->out, pty ? SOURCE_PTY : SOURCE_PIPE, *out))) return error;
  process->ptyFd = pty ? p->master : -1;
  steal(out);
  if (p->errRead >= 0) {
    if ((error = source_open(&process->err, SOURCE_PIPE, p->errRead))) return error;
    steal(&p->errRead);
    process->hasErr = true;
  }
  if (pty || spawn->flags & SPAWN_STDIN) {
    if ((error = sink_open(&process->in, pty ? process->ptyFd : p->inWrite))) return error;
    if (!pty) steal(&p->inWrite);
    process->hasIn = true;
  }
  process->startFd = steal(&p->startWrite);
  return 0;
}

static void on_pty(struct watch *watch, uint32_t events) {
  struct source *source = OWNER(watch, struct source, watch);
  struct process *process = OWNER(source, struct process, out);
  if (events & EPOLLOUT) sink_writable(&process->in);
  if (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) source_arrived(source);
}

static struct process *prepare(const struct spawn *spawn) {
  struct process *process = calloc(1, sizeof *process);
  if (!process) return NULL;
  bool pty = spawn->flags & SPAWN_PTY;
  process->status.fd = process->startFd = process->ptyFd = -1;
  source_init(&process->out, &process->stream, 1, true, spawn->window);
  source_init(&process->err, &process->stream, 2, true, spawn->window);
  sink_init(&process->in, &process->stream, pty ? SINK_PTY : SINK_PIPE);
  process->tagLen = (uint8_t)spawn->tag.len;
  if (spawn->tag.len) memcpy(process->tag, spawn->tag.data, spawn->tag.len);
  process->serial = next_serial();
  return process;
}

void process_spawn(uint32_t id, struct bytes payload) {
  struct spawn spawn;
  if (spawn_parse(payload, &spawn)) return conn_fail(id, EINVAL, STAGE_REQUEST, "spawn");
  if (count >= PROCESS_MAX) return conn_fail(id, ENOSPC, STAGE_LIMIT, "processes");
  struct process *process = prepare(&spawn);
  if (!process) return conn_fail(id, ENOMEM, STAGE_LIMIT, "memory");

  struct plumbing p AUTO_PLUMBING;
  enum fail_stage stage;
  int error = plumbing_lay(&p, &spawn, &stage);
  if (!error) error = connect_ends(process, &p, &spawn);
  if (error) {
    dispose(process);
    return conn_fail(id, -error, stage, "descriptors");
  }
  if (process->ptyFd >= 0) process->out.watch.ready = on_pty;
  spawn.in = p.inRead >= 0 ? p.inRead : role_null_fd();
  spawn.out = p.outWrite;
  spawn.err = p.errWrite >= 0 ? p.errWrite : p.outWrite;
  spawn.pty = process->ptyFd;
  spawn.start = p.startRead;
  spawn.status = p.statusWrite;
  spawn.serial = process->serial;
  pid_t pid = sys_fork();
  if (pid == 0) spawn_child(&spawn);
  if (pid < 0) {
    error = errno;
    dispose(process);
    return conn_fail(id, error, STAGE_FORK, "fork");
  }

  process->pid = pid;
  process->phase = spawn.flags & SPAWN_WAIT ? PHASE_WAITING : PHASE_RUNNING;
  process->nextByPid = byPid[(unsigned)pid % BUCKETS];
  byPid[(unsigned)pid % BUCKETS] = process;
  stream_add(&process->stream, id, STREAM_PROCESS, &ops);
  process->stream.up[1] = &process->out;
  if (process->hasErr) process->stream.up[2] = &process->err;
  if (process->hasIn) process->stream.down = &process->in;
  count++;
  uint8_t answer[4];
  put32(answer, (uint32_t)pid);
  conn_send(FRAME_SPAWNED, 0, id, answer, sizeof answer);
}

void process_start(struct process *process) {
  if (process->startFd < 0) return;
  if (write(process->startFd, "", 1) < 0) { /* it is dead already: its exit says so */
  }
  close(process->startFd);
  process->startFd = -1;
  if (process->phase == PHASE_WAITING) process->phase = PHASE_RUNNING;
}

void process_signal(struct process *process, uint32_t signal, uint32_t scope) {
  if (signal == 0 || signal > 64) return;
  bool exited = process->phase == PHASE_EXITED;
  int error = -ESRCH;
  /* After the exit the number may belong to another process of ours: never hit that one's group. */
  if (scope == SCOPE_GROUP && !(exited && process_of_pid(process->pid))) error = sys_kill(-process->pid, (int)signal);
  /* A child fresh from fork has no group of its own yet. */
  if (error == -ESRCH && !exited) sys_kill(process->pid, (int)signal);
}

void process_resize(struct process *process, uint16_t rows, uint16_t cols) {
  if (process->ptyFd >= 0 && process->phase != PHASE_EXITED) pty_resize(process->ptyFd, rows, cols);
}

int process_release(struct process *process) {
  if (process->phase != PHASE_EXITED) return -1;
  dispose(process);
  return 0;
}

static void cancel(struct stream *stream) {
  struct process *process = of(stream);
  if (process->phase == PHASE_WAITING) sys_kill(process->pid, SIGKILL);
  else if (process->phase == PHASE_RUNNING && !process->failStage) tree_kill(process->serial, process->pid);
  dispose(process);
}

/* Only direct sources report here, and a process has none. */
static void up_ended(struct stream *stream, struct source *source, int error) {
  (void)stream, (void)source, (void)error;
}

static void down_ended(struct stream *stream) { (void)stream; }

/* Reads the verdict about execve. Returns true when the process is gone with a FAIL. */
static bool read_status(struct process *process) {
  if (process->status.fd < 0) return false;
  uint8_t report[8];
  ssize_t got = read(process->status.fd, report, sizeof report);
  if (got < 0) return false;
  loop_close(&process->status);
  if (got == 0) {
    /* Closed by execve, or by death before it; the exit tells then. */
    if (process->phase == PHASE_RUNNING) conn_ok(process->stream.id, NULL, 0);
    return false;
  }
  process->failErrno = got == sizeof report ? le32(report) : EIO;
  process->failStage = got == sizeof report ? le32(report + 4) : STAGE_EXEC;
  process_resume(process);
  return true;
}

static void on_status(struct watch *watch, uint32_t events) {
  (void)events;
  read_status(OWNER(watch, struct process, status));
}

void process_reaped(pid_t pid, int status, const struct rusage *usage) {
  struct process *process = process_of_pid(pid);
  if (!process) return;
  if (process->failStage || read_status(process)) {
    /* Its FAIL is the outcome, sent now or to the next host. */
    if (process->phase != PHASE_EXITED && process->pid == pid) forget_pid(process);
    return;
  }
  process->phase = PHASE_EXITED;
  forget_pid(process);
  bool signaled = WIFSIGNALED(status);
  put32(process->exit, signaled);
  put32(process->exit + 4, (uint32_t)(signaled ? WTERMSIG(status) : WEXITSTATUS(status)));
  put64(process->exit + 8, (uint64_t)usage->ru_utime.tv_sec * 1000000 + (uint64_t)usage->ru_utime.tv_usec);
  put64(process->exit + 16, (uint64_t)usage->ru_stime.tv_sec * 1000000 + (uint64_t)usage->ru_stime.tv_usec);
  put64(process->exit + 24, (uint64_t)usage->ru_maxrss);
  conn_send(FRAME_EXITED, 0, process->stream.id, process->exit, EXIT_BLOCK);
  loop_close(&process->status);
  if (process->hasIn) sink_break(&process->in);
  source_drain(&process->out);
  if (process->hasErr) source_drain(&process->err);
}

enum state_tag { STATE_KIND = 1, STATE_PID, STATE_PHASE, STATE_EXIT, STATE_OUT1, STATE_OUT2, STATE_IN, STATE_TAG };

static uint8_t *put_output(uint8_t *at, uint16_t tag, const struct source *source) {
  uint8_t block[17];
  put64(block, source->ring.base);
  put64(block + 8, source->ring.end);
  block[16] = source->ended;
  return tlv_put(at, tag, block, sizeof block);
}

void process_state(struct process *process) {
  uint8_t state[320], *at = state;
  at = tlv_put32(at, STATE_KIND, 1);
  at = tlv_put32(at, STATE_PID, (uint32_t)process->pid);
  at = tlv_put32(at, STATE_PHASE, process->phase);
  if (process->phase == PHASE_EXITED) at = tlv_put(at, STATE_EXIT, process->exit, EXIT_BLOCK);
  at = put_output(at, STATE_OUT1, &process->out);
  if (process->hasErr) at = put_output(at, STATE_OUT2, &process->err);
  if (process->hasIn) at = tlv_put64(at, STATE_IN, process->in.ring.end);
  at = tlv_put(at, STATE_TAG, process->tag, process->tagLen);
  conn_send(FRAME_STATE, 0, process->stream.id, state, (uint32_t)(at - state));
}

void process_resume(struct process *process) {
  if (!conn_greeted()) return;
  if (process->failStage) {
    conn_fail(process->stream.id, (int)process->failErrno, process->failStage, "spawn");
    return dispose(process);
  }
  if (process->hasIn) conn_credit(&process->in);
}

void process_disconnected(struct process *process) {
  source_disconnected(&process->out);
  source_disconnected(&process->err);
  conn_uncredit(&process->in);
}
