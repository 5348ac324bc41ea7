#define _GNU_SOURCE
#include "role.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Ends of the range in which marks lie: no one sets such a limit on purpose. */
#define MARK_BASE UINT64_C(0x7669760000000000)
#define MARK_MASK UINT64_C(0x000000ffffffffff)

static struct rlimit nofile;
static int procFd = -1, ptsFd = -1, nullFd = -1;
static bool pid1;

bool role_is_pid1(void) { return pid1; }
int role_proc_fd(void) { return procFd; }
int role_pts_fd(void) { return ptsFd; }
int role_null_fd(void) { return nullFd; }

/* Blocked, not ignored: a child has them pending then from its first moment, and none gets lost on its way to execve. An
 * ordinary process (tests) stays killable. */
static int block_signals(void) {
  /* The kernel's own call: libc hides the signals that it uses itself, and one may have come ignored. */
  static const uint64_t defaults[4];
  for (int sig = 1; sig <= 64; sig++) syscall(SYS_rt_sigaction, sig, defaults, NULL, 8);
  sigset_t mask;
  if (pid1) {
    sigfillset(&mask);
  } else {
    sigemptyset(&mask);
    sigaddset(&mask, SIGCHLD);
    sigaddset(&mask, SIGPIPE);
  }
  sigprocmask(SIG_SETMASK, &mask, NULL);
  sigemptyset(&mask);
  sigaddset(&mask, SIGCHLD);
  int fd = signalfd(-1, &mask, SFD_NONBLOCK | SFD_CLOEXEC);
  return fd < 0 ? -errno : fd;
}

int role_become_init(int keepFd) {
  pid1 = getpid() == 1;
  /* Whatever else the runtime left open has no business in here. */
  if (keepFd > 3) syscall(SYS_close_range, 3u, (unsigned)keepFd - 1, 0);
  role_close_from(keepFd < 3 ? 3 : keepFd + 1);
  /* 0-2 must be taken, or a pipe could land there. */
  do nullFd = open("/dev/null", O_RDWR | O_NOFOLLOW);
  while (nullFd >= 0 && nullFd <= 2);
  if (nullFd < 0) return -errno;
  fcntl(nullFd, F_SETFD, FD_CLOEXEC);
  prctl(PR_SET_DUMPABLE, 0);
  /* A session keyring of its own, so that nothing in here possesses the host's (keyctl(2)). A kernel may have none. */
  if (pid1) syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL);
  if (!pid1) prctl(PR_SET_CHILD_SUBREAPER, 1);
  umask(022);
  procFd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
  ptsFd = open("/dev/pts", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (!getrlimit(RLIMIT_NOFILE, &nofile)) setrlimit(RLIMIT_NOFILE, &(struct rlimit){nofile.rlim_max, nofile.rlim_max});
  return block_signals();
}

void role_default_signals(void) {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
}

void role_restore_limits(uint64_t serial) {
  if (nofile.rlim_max) setrlimit(RLIMIT_NOFILE, &nofile);
  if (!serial) return;
  /* RLIMIT_LOCKS means nothing to Linux since 2.4.25 (setrlimit(2)), but is inherited by every descendant and shown in
   * /proc/PID/limits to anyone: so a child that left its parent, group and session is still found. Raising it again
   * takes CAP_SYS_RESOURCE. */
  rlim_t mark = MARK_BASE | (serial & MARK_MASK);
  setrlimit(RLIMIT_LOCKS, &(struct rlimit){mark, mark});
}

uint64_t role_mark_of(int proc, const char *pid) {
  char path[64], text[4096];
  snprintf(path, sizeof path, "%s/limits", pid);
  int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  ssize_t len = read(fd, text, sizeof text - 1);
  close(fd);
  if (len <= 0) return 0;
  text[len] = 0;
  const char *line = strstr(text, "Max file locks");
  if (!line) return 0;
  uint64_t value = strtoull(line + strlen("Max file locks"), NULL, 10);
  return (value & ~MARK_MASK) == MARK_BASE ? value & MARK_MASK : 0;
}

void role_close_from(int first) {
  if (!syscall(SYS_close_range, (unsigned)first, ~0u, 0)) return;
  /* Before Linux 5.9, or a filter that does not know the call. */
  struct rlimit limit;
  int last = getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur > 1 << 20 ? 1 << 20 : (int)limit.rlim_cur;
  for (int fd = first; fd < last; fd++) close(fd);
}
