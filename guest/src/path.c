#define _GNU_SOURCE
#include "path.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "work.h"

static int baseFd = -1;
static char *baseText;

static char *copy_text(const char *text, size_t len) {
  char *copy = malloc(len + 1);
  if (!copy) work_fail(ENOMEM, STAGE_LIMIT);
  memcpy(copy, text, len);
  copy[len] = 0;
  return copy;
}

/* `~` and `~/…` begin at the working directory, which is the user's home. */
static char *expand(struct bytes path) {
  char *text = copy_text((const char *)path.data, path.len), *from = text;
  if (text[0] == '~' && (text[1] == '/' || !text[1])) {
    from++;
    while (*from == '/') from++;
    if (!*from) from = ".";
    if (baseFd >= 0 || baseText) {
      /* Beneath a base a home path is judged by where it lies. */
      char home[4096], *whole;
      if (!getcwd(home, sizeof home) || asprintf(&whole, "%s/%s", home, from) < 0) work_fail(errno, STAGE_PATH);
      from = whole;
    }
  }
  size_t len = strlen(from);
  while (len > 1 && from[len - 1] == '/') len--;
  return copy_text(from, len);
}

void path_begin(const struct file *file) {
  if (!file_has(file, FILE_BASE)) return;
  char *text = expand(file->base);
  baseFd = open(text, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (baseFd < 0) work_fail(errno, STAGE_PATH);
  baseText = text;
}

void path_end(void) {
  if (baseFd >= 0) close(baseFd);
  baseFd = -1;
}

char *path_text(struct bytes path) {
  char *text = expand(path);
  if (!baseText || text[0] != '/') return text;
  size_t len = strlen(baseText);
  if (len == 1) len = 0; /* the base is the root */
  if (strncmp(text, baseText, len) || (text[len] != '/' && text[len])) work_fail(EXDEV, STAGE_PATH);
  char *rest = text + len;
  while (*rest == '/') rest++;
  return *rest ? rest : ".";
}

int path_open(const char *path, int flags, mode_t mode) {
  flags |= O_CLOEXEC;
  if (baseFd < 0) {
    int fd = open(path, flags, mode);
    return fd < 0 ? -errno : fd;
  }
  struct open_how how = {.flags = (uint64_t)(unsigned)flags,
                         .mode = flags & O_CREAT ? mode : 0,
                         .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
  for (int tries = 0;; tries++) {
    long fd = syscall(SYS_openat2, baseFd, path, &how, sizeof how);
    if (fd >= 0) return (int)fd;
    /* EAGAIN: a rename elsewhere raced with `..`; a bounded number of new tries (openat2(2)). */
    if (errno != EAGAIN || tries == 64) return -errno;
  }
}

const char *path_last(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash && slash[1] ? slash + 1 : slash ? "." : path;
}

static char *parent_of(const char *path) {
  const char *slash = strrchr(path, '/');
  if (!slash) return copy_text(".", 1);
  while (slash > path && slash[-1] == '/') slash--;
  return copy_text(path, slash == path ? 1 : (size_t)(slash - path));
}

struct place path_place(const char *path) {
  const char *last = path_last(path);
  /* `..` and `.` name a directory, not an entry: what is there is opened whole. */
  bool whole = !strcmp(last, ".") || !strcmp(last, "..");
  const char *parent = whole ? path : parent_of(path);
  int dir = path_open(parent, O_PATH | O_DIRECTORY, 0);
  if (dir < 0) work_fail(-dir, STAGE_PATH);
  return (struct place){dir, copy_text(whole ? "." : last, whole ? 1 : strlen(last))};
}

static void make_directory(const char *path) {
  int fd = path_open(path, O_PATH | O_DIRECTORY, 0);
  if (fd >= 0) {
    close(fd);
    return;
  }
  if (fd != -ENOENT) work_fail(-fd, STAGE_PATH);
  char *parent = parent_of(path);
  int dir = path_open(parent, O_PATH | O_DIRECTORY, 0);
  if (dir < 0) work_fail(-dir, STAGE_PATH);
  if (mkdirat(dir, path_last(path), 0755) < 0 && errno != EEXIST) work_fail(errno, STAGE_PATH);
  free(parent);
  close(dir);
}

void path_make_parents(const char *path) {
  char *parents = parent_of(path);
  for (char *at = parents + 1; *at; at++) {
    if (*at != '/') continue;
    *at = 0;
    make_directory(parents);
    *at = '/';
  }
  make_directory(parents);
  free(parents);
}

const char *path_of_fd(int fd) {
  static char text[32];
  snprintf(text, sizeof text, "self/fd/%d", fd);
  return text;
}
