#define _GNU_SOURCE
#include "pty.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <termios.h>
#include <unistd.h>

#include "cleanup.h"
#include "role.h"

int pty_resize(int master, uint16_t rows, uint16_t cols) {
  struct winsize size = {.ws_row = rows, .ws_col = cols};
  return ioctl(master, TIOCSWINSZ, &size) < 0 ? -errno : 0;
}

int pty_open(uint16_t rows, uint16_t cols) {
  const int flags = O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC;
  AUTO_CLOSE int master = role_pts_fd() < 0 ? -1 : openat(role_pts_fd(), "ptmx", flags | O_NOFOLLOW);
  if (master < 0 && errno == ENOSPC) return -ENOSPC; /* the mount's max= is reached */
  if (master < 0) master = open("/dev/ptmx", flags);
  if (master < 0) return -errno;
  struct stat stat;
  /* Root inside may have put anything at that name: only the terminal multiplexer itself will do. */
  if (fstat(master, &stat) < 0) return -errno;
  if (!S_ISCHR(stat.st_mode) || stat.st_rdev != makedev(5, 2)) return -ENODEV;
  int unlock = 0;
  if (ioctl(master, TIOCSPTLCK, &unlock) < 0) return -errno;
  if (rows || cols) pty_resize(master, rows, cols);
  return steal(&master);
}
