/* sys.c for the fuzzer: nothing leaves the process. A fork "succeeds" with a child that does not exist. */
#define _GNU_SOURCE
#include <errno.h>
#include <unistd.h>

#include "../src/config.h"
#include "../src/sys.h"
#include "../src/tree.h"
#include "stubs.h"

pid_t stub_first = 1 << 28, stub_last = (1 << 28) - 1;

pid_t sys_fork(void) {
  /* Now and then it fails, as under a pid limit. */
  if (++stub_last % 7 == 0) {
    errno = EAGAIN;
    return -1;
  }
  return stub_last;
}

void tree_kill(uint64_t serial, pid_t pid) { (void)serial, (void)pid; }

int sys_kill(pid_t pid, int signal) { return pid < 0 && signal ? -ESRCH : 0; }

void sys_kill_all(int signal) { (void)signal; }

/* One end of a pair whose other end is gone after a while: reads see end of file, writes fail. */
int sys_socket(int family) {
  int pair[2];
  (void)family;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0) return -1;
  if (write(pair[1], "greetings", 9) < 0) errno = 0;
  close(pair[1]);
  return pair[0];
}

int sys_connect(int fd, const struct sockaddr *address, socklen_t len) {
  (void)fd, (void)address, (void)len;
  return 0;
}

int sys_bind(int fd, const struct sockaddr *address, socklen_t len) {
  (void)fd, (void)address, (void)len;
  return 0;
}

int sys_clock(uint64_t unixNs) {
  (void)unixNs;
  return 0;
}

int sys_entropy(const uint8_t *bytes, uint32_t len) { return bytes[len - 1] == 0xff ? -EPERM : 0; }

int config_apply(const struct config *config, const char **what) {
  (void)config;
  *what = "stub";
  return 0;
}
