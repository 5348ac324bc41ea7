/* WATCH: inotify on a directory, or on every directory of a tree. A new directory is added when its creation is seen,
 * and what is already in it then is reported as created; a directory moved away is forgotten with all beneath it. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file.h"
#include "le.h"
#include "path.h"
#include "walk.h"
#include "work.h"

#define MASK (IN_CREATE | IN_MODIFY | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF)
#define WATCHES_MAX 65536
#define RECORD_HEADER 16
#define PATH_LEN_MAX 32768

enum event_kind {
  EVENT_CREATE = 1,
  EVENT_MODIFY,
  EVENT_REMOVE,
  EVENT_RENAME_FROM,
  EVENT_RENAME_TO,
  EVENT_ATTRIBUTES,
  EVENT_OVERFLOW,
  EVENT_GONE,
};

struct watched {
  int wd;
  char *path; /* relative to the root, "" for the root itself */
};

static int notify;
static char rootPath[4096];
static struct stat rootStat;
static bool recursive;
static struct watched *watched; /* sorted by wd: the kernel hands them out in growing order */
static size_t count, cap;

static void send_event(enum event_kind kind, uint32_t cookie, bool isDir, const char *dir, const char *name) {
  static uint8_t record[RECORD_HEADER + PATH_LEN_MAX + 256];
  size_t dirLen = strlen(dir), nameLen = strlen(name), at = RECORD_HEADER;
  if (dirLen > PATH_LEN_MAX - 1 || nameLen > 255) return;
  memcpy(record + at, dir, dirLen);
  at += dirLen;
  if (dirLen && nameLen) record[at++] = '/';
  memcpy(record + at, name, nameLen);
  at += nameLen;
  put32(record, (uint32_t)at);
  put32(record + 4, kind);
  put32(record + 8, cookie);
  record[12] = isDir;
  record[13] = 0;
  put16(record + 14, (uint16_t)(at - RECORD_HEADER));
  work_write(record, at);
}

static size_t position(int wd) {
  size_t low = 0, high = count;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (watched[middle].wd < wd) low = middle + 1;
    else high = middle;
  }
  return low;
}

static struct watched *find(int wd) {
  size_t at = position(wd);
  return at < count && watched[at].wd == wd ? &watched[at] : NULL;
}

static void drop(struct watched *entry) {
  free(entry->path);
  memmove(entry, entry + 1, (size_t)(watched + count - entry - 1) * sizeof *entry);
  count--;
}

/* Watches the open directory. Returns 0 or -errno. */
static int add(int fd, const char *path) {
  /* inotify_add_watch has no *at form, and a path could be raced: so from inside the directory. */
  if (fchdir(fd) < 0) return -errno;
  int wd = inotify_add_watch(notify, ".", MASK | IN_ONLYDIR);
  int error = wd < 0 ? -errno : 0;
  /* A directory that somebody is in, or has open, never tells its end (IN_DELETE_SELF). */
  if (chdir("/") < 0 || error) return error ? error : -errno;
  struct watched *known = find(wd);
  char *copy = strdup(path);
  if (!copy) work_fail(ENOMEM, STAGE_LIMIT);
  if (known) {
    free(known->path);
    known->path = copy;
    return 0;
  }
  if (count == WATCHES_MAX) work_fail(ENOSPC, STAGE_LIMIT);
  if (count == cap) {
    cap = cap ? cap * 2 : 64;
    watched = realloc(watched, cap * sizeof *watched);
    if (!watched) work_fail(ENOMEM, STAGE_LIMIT);
  }
  size_t at = position(wd);
  memmove(watched + at + 1, watched + at, (count - at) * sizeof *watched);
  watched[at] = (struct watched){wd, copy};
  count++;
  return 0;
}

struct scan {
  const char *prefix;
  bool report;
};

static char *join(const char *dir, const char *name) {
  char *path = malloc(strlen(dir) + strlen(name) + 2);
  if (!path) work_fail(ENOMEM, STAGE_LIMIT);
  strcpy(path, dir);
  if (*dir && *name) strcat(path, "/");
  strcat(path, name);
  return path;
}

static void scan_visit(const struct walk_entry *entry, void *context) {
  const struct scan *scan = context;
  char *path = join(scan->prefix, entry->path);
  bool isDir = S_ISDIR(entry->stat.st_mode);
  if (scan->report) send_event(EVENT_CREATE, 0, isDir, path, "");
  if (isDir) {
    int fd = openat(entry->dir, entry->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    int error = fd < 0 ? 0 : add(fd, path);
    if (fd >= 0) close(fd);
    if (error == -ENOSPC) work_fail(ENOSPC, STAGE_LIMIT); /* fs.inotify.max_user_watches */
  }
  free(path);
}

/* Watches everything beneath `fd` (taken over), the directory itself first: nothing made meanwhile is missed, some
 * things may be reported twice. */
static void add_tree(int fd, const char *path, bool report) {
  int error = add(fd, path);
  if (error == -ENOSPC || (error && !*path)) work_fail(-error, STAGE_OPERATION);
  struct scan scan = {path, report};
  if (recursive && !error)
    walk_tree(&(struct walk){.depth = WALK_DEPTH_MAX, .visit = scan_visit, .context = &scan}, fd);
  else close(fd);
}

/* Opens a directory of the tree by its path, one component after the other, following no link, from the very directory
 * that is watched: -1 if that is not at its place any more. */
static int open_beneath(const char *path) {
  struct stat now;
  int fd = open(rootPath, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);
  if (fd >= 0 && (fstat(fd, &now) < 0 || now.st_dev != rootStat.st_dev || now.st_ino != rootStat.st_ino)) {
    close(fd);
    return -1;
  }
  char *copy = strdup(path), *save;
  for (char *name = copy ? strtok_r(copy, "/", &save) : NULL; name && fd >= 0; name = strtok_r(NULL, "/", &save)) {
    int next = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    close(fd);
    fd = next;
  }
  free(copy);
  return fd;
}

static void forget_tree(const char *path) {
  size_t len = strlen(path);
  for (size_t i = count; i-- > 0;) {
    const char *at = watched[i].path;
    if (strncmp(at, path, len) || (at[len] && at[len] != '/')) continue;
    inotify_rm_watch(notify, watched[i].wd);
    drop(&watched[i]);
  }
}

static enum event_kind kind_of(uint32_t mask) {
  if (mask & IN_CREATE) return EVENT_CREATE;
  if (mask & IN_MODIFY) return EVENT_MODIFY;
  if (mask & IN_DELETE) return EVENT_REMOVE;
  if (mask & IN_MOVED_FROM) return EVENT_RENAME_FROM;
  if (mask & IN_MOVED_TO) return EVENT_RENAME_TO;
  return EVENT_ATTRIBUTES;
}

/* Of an atomic write (file_write.c): nobody's business but ours. */
static bool is_temporary(const char *name) {
  if (strncmp(name, ".viv-", 5) || strspn(name + 5, "0123456789abcdef") != 16) return false;
  return !strcmp(name + 21, ".tmp");
}

/* Is this the temporary file of an atomic write, or how it gets its name? What the name then means is told as modified. */
static bool is_ours(const struct inotify_event *event, const char *name) {
  static uint32_t renaming;
  if (is_temporary(name)) {
    if (event->mask & IN_MOVED_FROM) renaming = event->cookie;
    return true;
  }
  return event->mask & IN_MOVED_TO && event->cookie && event->cookie == renaming;
}

/* A file without a name (O_TMPFILE) is told of as `#` and its inode's number, though nothing of that name is there. */
static bool is_nameless(const struct watched *entry, const struct inotify_event *event, const char *name) {
  struct stat stat;
  if (!(event->mask & (IN_MODIFY | IN_ATTRIB)) || *name != '#' || !name[1]) return false;
  if (name[1 + strspn(name + 1, "0123456789")]) return false;
  int dir = open_beneath(entry->path);
  bool there = dir >= 0 && !fstatat(dir, name, &stat, AT_SYMLINK_NOFOLLOW);
  if (dir >= 0) close(dir);
  return !there;
}

static void handle(const struct inotify_event *event) {
  if (event->mask & IN_Q_OVERFLOW) return send_event(EVENT_OVERFLOW, 0, false, "", "");
  struct watched *entry = find(event->wd);
  if (!entry) return;
  bool isRoot = !*entry->path;
  if (event->mask & IN_IGNORED) return drop(entry);
  if (event->mask & (IN_DELETE_SELF | IN_MOVE_SELF)) {
    if (isRoot) send_event(EVENT_GONE, 0, true, "", "");
    return; /* a sub-directory: its parent reports it */
  }
  const char *name = event->len ? event->name : "";
  /* A sub-directory's own attributes come from its parent too. */
  if (!*name && !isRoot) return;
  bool isDir = event->mask & IN_ISDIR || !*name;
  if (!isDir && (is_ours(event, name) || is_nameless(entry, event, name))) return;
  send_event(kind_of(event->mask), event->cookie, isDir, entry->path, name);
  if (!recursive || !(event->mask & IN_ISDIR)) return;
  char *path = join(entry->path, name);
  if (event->mask & IN_MOVED_FROM) forget_tree(path);
  if (event->mask & (IN_CREATE | IN_MOVED_TO)) {
    int fd = open_beneath(path);
    if (fd >= 0) add_tree(fd, path, true);
  }
  free(path);
}

void file_watch(const struct file *file) {
  static char buffer[65536] __attribute__((aligned(8)));
  path_begin(file);
  recursive = file->flags & FILE_RECURSIVE;
  int root = path_open(path_text(file->path), O_RDONLY | O_DIRECTORY | O_NONBLOCK, 0);
  if (root < 0) work_fail(-root, STAGE_PATH);
  ssize_t pathLen = readlinkat(WORK_PROC_FD, path_of_fd(root), rootPath, sizeof rootPath - 1);
  if (pathLen < 0 || fstat(root, &rootStat) < 0) work_fail(errno, STAGE_OPERATION);
  path_end();
  if ((notify = inotify_init1(IN_CLOEXEC)) < 0) work_fail(errno, STAGE_OPERATION);
  add_tree(root, "", false);
  work_ok(NULL, 0);
  for (;;) {
    ssize_t len = read(notify, buffer, sizeof buffer);
    if (len < 0 && errno == EINTR) continue;
    if (len <= 0) work_fail(errno, STAGE_OPERATION);
    for (ssize_t at = 0; at < len;) {
      const struct inotify_event *event = (const void *)(buffer + at);
      at += (ssize_t)sizeof *event + event->len;
      handle(event);
    }
  }
}
