#define _GNU_SOURCE
#include "sys.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/random.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

pid_t sys_fork(void) { return fork(); }

int sys_kill(pid_t pid, int signal) {
  if (pid == 0 || pid == -1) return -EINVAL;
  return kill(pid, signal) < 0 ? -errno : 0;
}

void sys_kill_all(int signal) {
  if (getpid() == 1) kill(-1, signal);
}

int sys_socket(int family) { return socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); }

int sys_connect(int fd, const struct sockaddr *address, socklen_t len) { return connect(fd, address, len); }

int sys_bind(int fd, const struct sockaddr *address, socklen_t len) { return bind(fd, address, len); }

int sys_clock(uint64_t unixNs) {
  struct timespec time = {.tv_sec = (time_t)(unixNs / 1000000000), .tv_nsec = (long)(unixNs % 1000000000)};
  return clock_settime(CLOCK_REALTIME, &time) < 0 ? -errno : 0;
}

int sys_entropy(const uint8_t *bytes, uint32_t len) {
  int fd = open("/dev/urandom", O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return -errno;
  struct stat stat;
  int pool[2 + 256 / sizeof(int)] = {(int)len * 8, (int)len}; /* a struct rand_pool_info with its buffer */
  int error = 0;
  memcpy(pool + 2, bytes, len);
  /* Whoever is root in the sandbox may have put something else there: only the kernel's device will do. */
  if (fstat(fd, &stat) < 0 || !S_ISCHR(stat.st_mode) || stat.st_rdev != makedev(1, 9)) error = -ENODEV;
  else if (ioctl(fd, RNDADDENTROPY, pool) < 0) error = -errno;
  else ioctl(fd, RNDRESEEDCRNG); /* since Linux 4.14; without it the kernel reseeds within five minutes */
  close(fd);
  return error;
}
