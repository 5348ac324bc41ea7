#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "entry.h"
#include "file.h"
#include "metadata.h"
#include "path.h"
#include "work.h"

#define PIECE (256u << 10)
#define BATCH (1u << 20)
#define LINKS_MAX 40
#define NAME_TRIES 16
/* The names of temporary files; file_watch.c knows them. */
#define TEMP_NAME ".viv-%016llx.tmp"

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#endif

/* The temporary file that has a name, for the handler and for failures. */
static int tempDir = -1;
static char tempName[40];

static void remove_temp(void) {
  if (tempDir >= 0) unlinkat(tempDir, tempName, 0);
  tempDir = -1;
}

static _Noreturn void fail(int error, enum fail_stage stage) {
  remove_temp();
  work_fail(error, stage);
}

/* CANCEL. */
static void on_term(int sig) {
  (void)sig;
  remove_temp();
  _exit(1);
}

static void choose_name(void) {
  uint64_t random = 0;
  if (getrandom(&random, sizeof random, 0) < 0) fail(errno, STAGE_OPERATION);
  snprintf(tempName, sizeof tempName, TEMP_NAME, (unsigned long long)random);
}

/* A file without a name where the file system has that (a kill leaves nothing at all), else one with a random name. */
static int open_temp(int dir) {
  int fd = openat(dir, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);
  if (fd >= 0) return fd;
  for (int tries = 0; tries < NAME_TRIES; tries++) {
    choose_name();
    fd = openat(dir, tempName, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0) {
      tempDir = dir;
      return fd;
    }
    if (errno != EEXIST) break;
  }
  fail(errno, STAGE_OPERATION);
}

/* Gives the nameless file a name: the one it is to have if nothing is there, or a random one to be renamed from. */
static int name_temp(int fd, int dir, const char *name) {
  return linkat(WORK_PROC_FD, path_of_fd(fd), dir, name, AT_SYMLINK_FOLLOW);
}

static void publish(int fd, struct place place, bool fresh, bool exclusive) {
  if (tempDir < 0 && fresh) {
    if (!name_temp(fd, place.dir, place.name)) return;
    if (exclusive || errno != EEXIST) fail(errno, STAGE_OPERATION);
  }
  if (tempDir < 0) {
    choose_name();
    if (name_temp(fd, place.dir, tempName) < 0) fail(errno, STAGE_OPERATION);
    tempDir = place.dir;
  }
  unsigned flags = exclusive ? RENAME_NOREPLACE : 0;
  if (syscall(SYS_renameat2, tempDir, tempName, place.dir, place.name, flags) < 0) fail(errno, STAGE_OPERATION);
  tempDir = -1;
}

/* The content came before the name, so nobody who watches the directory was told of it: tells them that it was modified,
 * as inotify(7) does when the time changes. A failure is one of telling only. */
static void tell_watchers(const struct file *file, struct place place) {
  struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_nsec = UTIME_NOW}};
  if (file_has(file, FILE_MTIME)) times[1] = file_mtime(file);
  utimensat(place.dir, place.name, times, AT_SYMLINK_NOFOLLOW);
}

/* Where the path leads when its last component is a symbolic link: the file is replaced, not the link. */
static char *follow(char *path) {
  for (int links = 0; links < LINKS_MAX; links++) {
    char target[4096];
    struct place place = path_place(path);
    ssize_t len = readlinkat(place.dir, place.name, target, sizeof target - 1);
    close(place.dir);
    if (len < 0) return path;
    target[len] = 0;
    char *next;
    size_t above = (size_t)(path_last(path) - path);
    struct bytes absolute = {(uint8_t *)target, (uint32_t)len};
    if (target[0] == '/') next = path_text(absolute);
    else if (asprintf(&next, "%.*s%s", (int)above, path, target) < 0) fail(ENOMEM, STAGE_LIMIT);
    path = next;
  }
  fail(ELOOP, STAGE_PATH);
}

/* Copies what waits in the pipe: for a file that can't be spliced to (file systems without it, O_APPEND). */
static void copy_out(int pipe, int fd, size_t len) {
  static uint8_t *piece;
  if (!piece && !(piece = malloc(PIECE))) fail(ENOMEM, STAGE_LIMIT);
  while (len) {
    ssize_t got = read(pipe, piece, len < PIECE ? len : PIECE);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) fail(got ? errno : EIO, STAGE_OPERATION);
    len -= (size_t)got;
    for (ssize_t done = 0; done < got;) {
      ssize_t put = write(fd, piece + done, (size_t)(got - done));
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) fail(errno, STAGE_OPERATION);
      done += put;
    }
  }
}

/* Everything the host sends, until the end. A splice to a file holds the lock of its pipe all the while, and pid 1 would
 * have to wait for it to fill the pipe: so the data first moves, without a copy, to a pipe that is only this process's. */
static void take_data(int fd) {
  int own[2];
  if (pipe2(own, O_CLOEXEC) < 0) fail(errno, STAGE_LIMIT);
  fcntl(own[1], F_SETPIPE_SZ, BATCH);
  bool copies = false;
  for (;;) {
    ssize_t got = splice(WORK_DATA_FD, NULL, own[1], NULL, BATCH, SPLICE_F_MOVE);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(errno, STAGE_OPERATION);
    if (got == 0) break;
    while (got && !copies) {
      ssize_t put = splice(own[0], NULL, fd, NULL, (size_t)got, SPLICE_F_MOVE);
      if (put > 0) got -= put;
      else if (put < 0 && errno == EINVAL) copies = true;
      else if (put == 0 || errno != EINTR) fail(put ? errno : EIO, STAGE_OPERATION);
    }
    if (got) copy_out(own[0], fd, (size_t)got);
  }
  close(own[0]);
  close(own[1]);
}

/* Owner before mode: chown takes the set-id bits off. */
static void dress(int fd, const struct file *file, const struct stat *old, mode_t newMode) {
  uid_t uid = file_has(file, FILE_UID) ? file->uid : (uid_t)-1;
  gid_t gid = file_has(file, FILE_GID) ? file->gid : (gid_t)-1;
  bool asked = file_has(file, FILE_UID) || file_has(file, FILE_GID) || file_has(file, FILE_OWNER);
  if (file_has(file, FILE_OWNER)) {
    static struct user owner;
    int error = user_lookup(file->owner, &owner);
    if (error) fail(-error, STAGE_USER);
    uid = owner.uid;
    gid = owner.gid;
  }
  if (asked && fchown(fd, uid, gid) < 0) fail(errno, STAGE_OPERATION);
  /* A user who may replace the file but not give it away keeps what it can: the file then is its own. */
  if (!asked && old && fchown(fd, old->st_uid, old->st_gid) < 0 && errno != EPERM) fail(errno, STAGE_OPERATION);
  if (newMode != (mode_t)-1 && fchmod(fd, newMode) < 0) fail(errno, STAGE_OPERATION);
  int error = metadata_set(fd, file->list, FILE_METADATA);
  if (error) fail(-error, STAGE_OPERATION);
  if (!file_has(file, FILE_MTIME)) return;
  struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, file_mtime(file)};
  if (futimens(fd, times) < 0) fail(errno, STAGE_OPERATION);
}

static void settle(int fd, const struct file *file, int dir) {
  if (!(file->flags & FILE_FSYNC)) return;
  if (fsync(fd) < 0) fail(errno, STAGE_OPERATION);
  if (dir < 0) return;
  int parent = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (parent >= 0) fsync(parent);
}

static void write_atomic(const struct file *file, char *path) {
  bool exclusive = file->flags & FILE_EXCLUSIVE;
  if (!exclusive) path = follow(path);
  struct place place = path_place(path);
  struct stat old;
  bool exists = !fstatat(place.dir, place.name, &old, AT_SYMLINK_NOFOLLOW);
  if (exists && exclusive) fail(EEXIST, STAGE_OPERATION);
  if (exists && S_ISDIR(old.st_mode)) fail(EISDIR, STAGE_OPERATION);
  if (exists && !S_ISREG(old.st_mode)) fail(ENXIO, STAGE_OPERATION);
  signal(SIGTERM, on_term);
  int fd = open_temp(place.dir);
  take_data(fd);
  mode_t mode = file_has(file, FILE_MODE) ? file->mode : exists ? old.st_mode & 07777 : 0644;
  dress(fd, file, exists ? &old : NULL, mode);
  settle(fd, file, -1);
  publish(fd, place, !exists, exclusive);
  /* A new file that stays empty just appears. */
  if (exists || lseek(fd, 0, SEEK_CUR)) tell_watchers(file, place);
  settle(fd, file, place.dir);
  entry_ok_fd(fd, path_last(path));
}

static void write_in_place(const struct file *file, const char *path) {
  bool keep = file->flags & (FILE_APPEND | FILE_AT_OFFSET);
  int flags = O_WRONLY | O_CREAT | O_NONBLOCK | O_NOCTTY;
  if (file->flags & FILE_APPEND) flags |= O_APPEND;
  if (file->flags & FILE_EXCLUSIVE) flags |= O_EXCL;
  struct stat stat;
  int fd = path_open(path, flags, 0644);
  if (fd < 0) work_fail(-fd, STAGE_PATH);
  if (fstat(fd, &stat) < 0) work_fail(errno, STAGE_OPERATION);
  if (!S_ISREG(stat.st_mode)) work_fail(ENXIO, STAGE_OPERATION);
  if (!keep && stat.st_size && ftruncate(fd, 0) < 0) work_fail(errno, STAGE_OPERATION);
  if (file->flags & FILE_AT_OFFSET && lseek(fd, (off_t)file->offset, SEEK_SET) < 0) work_fail(errno, STAGE_OPERATION);
  take_data(fd);
  dress(fd, file, NULL, file_has(file, FILE_MODE) ? file->mode : (mode_t)-1);
  settle(fd, file, -1);
  entry_ok_fd(fd, path_last(path));
}

void file_write(const struct file *file) {
  bool atomic = file->flags & FILE_ATOMIC;
  if (atomic && file->flags & (FILE_APPEND | FILE_AT_OFFSET)) work_fail(EINVAL, STAGE_REQUEST);
  path_begin(file);
  char *path = path_text(file->path);
  if (file->flags & FILE_PARENTS) path_make_parents(path);
  if (atomic) write_atomic(file, path);
  else write_in_place(file, path);
}
