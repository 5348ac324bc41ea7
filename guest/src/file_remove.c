/* REMOVE. The tree may be deeper than descriptors allow and may be changed by others meanwhile: one directory is open
 * at a time, the way back up is `..`, checked against the identity noted on the way down. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file.h"
#include "path.h"
#include "work.h"

#define RESULT_COUNT 2
#define DEPTH_MAX 100000

struct level {
  dev_t dev;
  ino_t ino;
  char *name; /* of this directory in its parent */
};

static struct level *levels;
static size_t depth, cap;
static uint64_t removed;

static void push(int dir, const char *name) {
  struct stat stat;
  if (fstat(dir, &stat) < 0) work_fail(errno, STAGE_OPERATION);
  if (depth == DEPTH_MAX) work_fail(ELOOP, STAGE_OPERATION);
  if (depth == cap) {
    cap = cap ? cap * 2 : 64;
    levels = realloc(levels, cap * sizeof *levels);
  }
  char *copy = strdup(name);
  if (!levels || !copy) work_fail(ENOMEM, STAGE_LIMIT);
  levels[depth++] = (struct level){stat.st_dev, stat.st_ino, copy};
}

/* Opens the directory `name` for emptying. Returns -1 if it is not a directory (any more). */
static int open_directory(int dir, const char *name) {
  int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0 && errno != ENOTDIR && errno != ENOENT && errno != ELOOP) work_fail(errno, STAGE_OPERATION);
  return fd;
}

/* Removes one entry. Returns false if it is a directory with something in it. */
static bool remove_entry(int dir, const char *name) {
  if (!unlinkat(dir, name, 0)) {
    removed++;
    return true;
  }
  int error = errno;
  if (error == ENOENT) return true;
  if (error != EISDIR && error != EPERM) work_fail(error, STAGE_OPERATION);
  if (!unlinkat(dir, name, AT_REMOVEDIR)) {
    removed++;
    return true;
  }
  if (errno == ENOENT) return true;
  if (errno == ENOTDIR) work_fail(error, STAGE_OPERATION);
  if (errno != ENOTEMPTY && errno != EEXIST) work_fail(errno, STAGE_OPERATION);
  return false;
}

/* Removes what it can of `fd`. Returns the name of a sub-directory to empty first (until the next call), NULL when
 * nothing is left. */
static const char *empty(int fd) {
  static char name[256];
  int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *dir = copy < 0 ? NULL : fdopendir(copy);
  if (!dir) work_fail(errno, STAGE_OPERATION);
  const char *full = NULL;
  bool any = true;
  /* Deleting while reading may skip entries on some file systems: read until a pass finds nothing. */
  while (any && !full) {
    struct dirent *item;
    any = false;
    rewinddir(dir);
    while (!full && (item = readdir(dir))) {
      if (!strcmp(item->d_name, ".") || !strcmp(item->d_name, "..")) continue;
      any = true;
      if (remove_entry(fd, item->d_name)) continue;
      memcpy(name, item->d_name, strlen(item->d_name) + 1);
      full = name;
    }
  }
  closedir(dir);
  return full;
}

static int climb(int fd) {
  int parent = openat(fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  struct stat stat;
  if (parent < 0 || fstat(parent, &stat) < 0) work_fail(errno, STAGE_OPERATION);
  close(fd);
  /* Moved elsewhere meanwhile: `..` leads out of the tree, and nothing there is ours to remove. */
  const struct level *above = &levels[depth - 2];
  if (stat.st_dev != above->dev || stat.st_ino != above->ino) work_fail(ESTALE, STAGE_OPERATION);
  return parent;
}

static void remove_tree(struct place place) {
  int fd = open_directory(place.dir, place.name);
  if (fd < 0) {
    if (!remove_entry(place.dir, place.name)) work_fail(ENOTEMPTY, STAGE_OPERATION);
    return;
  }
  push(fd, place.name);
  for (;;) {
    const char *name = empty(fd);
    if (name) {
      int child = open_directory(fd, name);
      if (child < 0) continue;
      push(child, name);
      close(fd);
      fd = child;
      continue;
    }
    if (depth == 1) break;
    fd = climb(fd);
    depth--;
    remove_entry(fd, levels[depth].name);
    free(levels[depth].name);
  }
  close(fd);
  if (!remove_entry(place.dir, place.name)) work_fail(ENOTEMPTY, STAGE_OPERATION);
}

void file_remove(const struct file *file) {
  path_begin(file);
  const char *path = path_text(file->path);
  struct stat stat;
  if (file->flags & FILE_MISSING_OK) {
    /* A missing parent is as good as a missing entry. */
    int fd = path_open(path, O_PATH | O_NOFOLLOW, 0);
    if (fd == -ENOENT) {
      uint8_t none[TLV_HEADER + 8];
      tlv_put64(none, RESULT_COUNT, 0);
      return work_ok(none, sizeof none);
    }
    if (fd >= 0) close(fd);
  }
  struct place place = path_place(path);
  if (!strcmp(place.name, ".")) work_fail(EINVAL, STAGE_OPERATION);
  if (fstatat(place.dir, place.name, &stat, AT_SYMLINK_NOFOLLOW) < 0) work_fail(errno, STAGE_OPERATION);
  if (file->flags & FILE_RECURSIVE && S_ISDIR(stat.st_mode)) remove_tree(place);
  else if (!remove_entry(place.dir, place.name)) work_fail(ENOTEMPTY, STAGE_OPERATION);
  uint8_t result[TLV_HEADER + 8];
  tlv_put64(result, RESULT_COUNT, removed);
  work_ok(result, sizeof result);
}
