#define _GNU_SOURCE
#include "work.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "le.h"
#include "role.h"

static int move_high(int fd) { return fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 16); }

void work_enter(int control, int data) {
  role_default_signals();
  signal(SIGPIPE, SIG_IGN);
  prctl(PR_SET_DUMPABLE, 0);
  /* Moved out of the way first: one of them may have the number that another is to get. */
  int from[3] = {move_high(control), move_high(data), move_high(role_proc_fd())};
  static const int to[3] = {WORK_CONTROL_FD, WORK_DATA_FD, WORK_PROC_FD};
  for (int i = 0; i < 3; i++) {
    if (from[i] >= 0) dup3(from[i], to[i], O_CLOEXEC);
    else close(to[i]);
  }
  dup2(role_null_fd(), 0);
  role_close_from(WORK_PROC_FD + 1);
}

static const struct user *enter(struct bytes spec, int (*become)(const struct user *)) {
  static struct user user;
  int error = user_lookup(spec, &user);
  if (!error) error = become(&user);
  if (error) work_fail(-error, STAGE_USER);
  /* Changing ids resets this; the user must not be able to look into what was pid 1. */
  prctl(PR_SET_DUMPABLE, 0);
  if (!*user.home || chdir(user.home) < 0)
    if (chdir("/") < 0) work_fail(errno, STAGE_PATH);
  return &user;
}

const struct user *work_as(struct bytes user) { return enter(user, user_become); }

const struct user *work_for(struct bytes user) { return enter(user, user_lend); }

static void report(uint8_t kind, const void *body, uint32_t len, int fd) {
  struct iovec iov[2] = {{&kind, 1}, {(void *)body, len}};
  struct msghdr message = {.msg_iov = iov, .msg_iovlen = len ? 2 : 1};
  char control[CMSG_SPACE(sizeof fd)] __attribute__((aligned(16))) = {0};
  if (fd >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(header), &fd, sizeof fd);
  }
  while (sendmsg(WORK_CONTROL_FD, &message, 0) < 0)
    if (errno != EINTR) _exit(1);
}

void work_ok(const void *tlv, uint32_t len) { report(WORK_OK, tlv, len, -1); }

void work_ok_with(int fd) {
  report(WORK_OK, NULL, 0, fd);
  close(fd);
}

_Noreturn void work_fail(int error, enum fail_stage stage) {
  uint8_t body[8];
  put32(body, (uint32_t)error);
  put32(body + 4, stage);
  report(WORK_FAIL, body, sizeof body, -1);
  _exit(0);
}

_Noreturn void work_done(void) {
  report(WORK_DONE, NULL, 0, -1);
  _exit(0);
}

void work_write(const void *data, size_t len) {
  const uint8_t *at = data;
  while (len) {
    ssize_t put = write(WORK_DATA_FD, at, len);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) _exit(1);
    at += put;
    len -= (size_t)put;
  }
}
