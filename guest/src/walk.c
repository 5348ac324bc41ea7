#define _GNU_SOURCE
#include "walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "work.h"

struct level {
  DIR *dir;
  size_t pathLen; /* of the path to this directory, its slash included */
};

static struct level levels[WALK_DEPTH_MAX];
static char *path;
static size_t pathCap;

static void extend(size_t at, const char *name, size_t len) {
  if (at + len + 2 > pathCap) {
    pathCap = (at + len + 2) * 2;
    path = realloc(path, pathCap);
    if (!path) work_fail(ENOMEM, STAGE_LIMIT);
  }
  memcpy(path + at, name, len + 1);
}

static bool enter(struct walk *walk, unsigned depth, int fd, size_t pathLen) {
  DIR *dir = fd < 0 ? NULL : fdopendir(fd);
  if (!dir) {
    int error = errno;
    if (fd >= 0) close(fd);
    if (walk->strict && error != ENOENT) work_fail(error, STAGE_OPERATION);
    return false;
  }
  levels[depth] = (struct level){dir, pathLen};
  return true;
}

void walk_tree(struct walk *walk, int root) {
  unsigned depth = 0;
  if (!enter(walk, 0, root, 0)) return;
  for (;;) {
    struct level *level = &levels[depth];
    struct dirent *item = readdir(level->dir);
    if (!item) {
      closedir(level->dir);
      if (!depth--) return;
      continue;
    }
    if (!strcmp(item->d_name, ".") || !strcmp(item->d_name, "..")) continue;
    struct walk_entry entry = {.dir = dirfd(level->dir), .name = item->d_name};
    if (fstatat(entry.dir, item->d_name, &entry.stat, AT_SYMLINK_NOFOLLOW) < 0) continue; /* gone meanwhile */
    size_t nameLen = strlen(item->d_name);
    extend(level->pathLen, item->d_name, nameLen);
    entry.path = path;
    entry.pathLen = level->pathLen + nameLen;
    walk->visit(&entry, walk->context);
    if (!S_ISDIR(entry.stat.st_mode) || depth + 1 >= walk->depth) continue;
    if (depth + 1 == WALK_DEPTH_MAX) {
      walk->tooDeep = true;
      continue;
    }
    int fd = openat(entry.dir, item->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    path[entry.pathLen] = '/';
    if (enter(walk, depth + 1, fd, entry.pathLen + 1)) depth++;
  }
}
