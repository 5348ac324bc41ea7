/* This is the child of pid 1 that becomes a command. It runs between fork and execve, as root of the sandbox until it
 * has become the user. Until START it does nothing but wait, so that the host can place it (in a cgroup) first; only
 * then does it touch files of the sandbox, which may be hostile. It has nothing of pid 1's but its descriptors 0-2, the
 * status pipe and the start pipe. What goes wrong is written to the status pipe as {errno, stage}; execve closes it. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config.h"
#include "environment.h"
#include "frame.h"
#include "le.h"
#include "role.h"
#include "spawn.h"
#include "user.h"

#define STATUS_FD 3
#define START_FD 4
#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

static _Noreturn void fail(int error, enum fail_stage stage) {
  uint8_t report[8];
  put32(report, (uint32_t)error);
  put32(report + 4, stage);
  if (write(STATUS_FD, report, sizeof report) < 0) _exit(126);
  _exit(127);
}

static _Noreturn void fail_early(int fd, int error, enum fail_stage stage) {
  dup2(fd, STATUS_FD);
  fail(error, stage);
}

/* 0-2 become the command's, 3 the status pipe, 4 the start pipe, and nothing else stays open. */
static void take_descriptors(const struct spawn *spawn) {
  int in = spawn->in, out = spawn->out, err = spawn->err;
  if (spawn->pty >= 0) {
    /* TIOCGPTPEER (Linux 4.13) opens the slave of this very master, whatever is mounted on /dev/pts. */
    int slave = ioctl(spawn->pty, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (slave < 0) fail_early(spawn->status, errno, STAGE_PTY);
    if (ioctl(slave, TIOCSCTTY, 0) < 0) fail_early(spawn->status, errno, STAGE_PTY);
    in = out = err = slave;
  }
  int status = fcntl(spawn->status, F_DUPFD_CLOEXEC, 16);
  int start = spawn->start < 0 ? -1 : fcntl(spawn->start, F_DUPFD_CLOEXEC, 16);
  if (status < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0) _exit(127);
  if (dup3(status, STATUS_FD, O_CLOEXEC) < 0) _exit(127);
  if (start >= 0 && dup3(start, START_FD, O_CLOEXEC) < 0) _exit(127);
  role_close_from(start < 0 ? START_FD : START_FD + 1);
}

static void await_start(void) {
  char go;
  ssize_t got;
  while ((got = read(START_FD, &go, 1)) < 0 && errno == EINTR);
  /* End of file: pid 1 is gone or gave the stream up. */
  if (got != 1) _exit(127);
  close(START_FD);
}

/* Sets the limits in a TLV list under `tag`, never above what the hard limit allows. */
static void set_rlimits(struct bytes list, uint16_t tag) {
  struct tlv_reader reader = {.rest = list};
  struct bytes value;
  uint16_t found;
  while (tlv_next(&reader, &found, &value)) {
    if (found != tag) continue;
    int resource = (int)le32(value.data);
    struct rlimit now, next = {le64(value.data + 4), le64(value.data + 12)};
    if (getrlimit(resource, &now) < 0) fail(errno, STAGE_RLIMIT);
    if (next.rlim_max > now.rlim_max) next.rlim_max = now.rlim_max;
    if (next.rlim_cur > next.rlim_max) next.rlim_cur = next.rlim_max;
    if (setrlimit(resource, &next) < 0) fail(errno, STAGE_RLIMIT);
  }
}

static char *text_of(struct bytes bytes) {
  char *text = malloc(bytes.len + 1);
  if (!text) fail(ENOMEM, STAGE_EXEC);
  if (bytes.len) memcpy(text, bytes.data, bytes.len);
  text[bytes.len] = 0;
  return text;
}

static char **arguments(const struct spawn *spawn) {
  /* A spare place in front: a script without #! is run as `/bin/sh script …`. */
  char **argv = calloc(spawn->argc + 2, sizeof *argv);
  if (!argv) fail(ENOMEM, STAGE_EXEC);
  struct tlv_reader reader = {.rest = spawn->list};
  struct bytes value;
  uint16_t tag;
  char **at = argv + 1;
  while (tlv_next(&reader, &tag, &value))
    if (tag == SPAWN_ARGV) *at++ = text_of(value);
  return argv + 1;
}

/* Commands begin at home, as after a login; so do directories that don't begin with /. */
static void enter_directory(const struct spawn *spawn, const struct user *user) {
  const char *cwd = spawn->cwd.len ? text_of(spawn->cwd) : NULL;
  if ((!cwd || *cwd != '/') && chdir(user->home) < 0 && chdir("/") < 0) fail(errno, STAGE_CWD);
  if (cwd && chdir(cwd) < 0) fail(errno, STAGE_CWD);
}

static void try_exec(const char *path, char **argv, char **env) {
  execve(path, argv, env);
  if (errno != ENOEXEC) return;
  char *name = argv[0];
  argv[-1] = "/bin/sh";
  argv[0] = (char *)path;
  execve("/bin/sh", argv - 1, env);
  argv[0] = name;
}

/* As execvp(3): each directory of PATH in turn; EACCES is remembered, a missing file is not an error yet. */
static int search(char **argv, char **env) {
  const char *name = argv[0], *path = environment_get(env, "PATH");
  if (!*name) return ENOENT;
  if (strchr(name, '/')) {
    try_exec(name, argv, env);
    return errno;
  }
  bool denied = false;
  char candidate[4096 + 256];
  for (const char *at = path ? path : DEFAULT_PATH; at;) {
    const char *end = strchrnul(at, ':');
    int len = (int)(end - at);
    int need = snprintf(candidate, sizeof candidate, "%.*s%s%s", len, at, len ? "/" : "", name);
    at = *end ? end + 1 : NULL;
    if (need < 0 || need >= (int)sizeof candidate) continue;
    try_exec(candidate, argv, env);
    if (errno == EACCES) denied = true;
    else if (errno != ENOENT && errno != ENOTDIR) return errno;
  }
  return denied ? EACCES : ENOENT;
}

_Noreturn void spawn_child(const struct spawn *spawn) {
  setsid();
  role_default_signals();
  take_descriptors(spawn);
  if (spawn->start >= 0) await_start();
  role_restore_limits(spawn->serial);
  set_rlimits(config_defaults(), CONFIG_RLIMIT);
  set_rlimits(spawn->list, SPAWN_RLIMIT);
  static struct user user;
  int error = user_lookup(spawn->user, &user);
  if (error) fail(-error, STAGE_USER);
  /* The terminal belongs to whoever works on it. A kernel that refuses leaves the open descriptors usable. */
  if (spawn->pty >= 0 && !fchown(0, user.uid, (gid_t)-1)) fchmod(0, 0620);
  if ((error = user_become(&user))) fail(-error, STAGE_USER);
  umask((mode_t)spawn->umask);
  enter_directory(spawn, &user);
  char **env = environment_make(spawn->list, &user, DEFAULT_PATH);
  if (!env) fail(ENOMEM, STAGE_EXEC);
  fail(search(arguments(spawn), env), STAGE_EXEC);
}
