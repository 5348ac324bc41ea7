/* File operations on one directory entry. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "entry.h"
#include "file.h"
#include "path.h"
#include "work.h"

#define RESULT_STATFS 3

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#endif

static char *begin(const struct file *file) {
  path_begin(file);
  return path_text(file->path);
}

static char *begin_with_parents(const struct file *file, struct bytes path) {
  path_begin(file);
  char *text = path_text(path);
  if (file->flags & FILE_PARENTS) path_make_parents(text);
  return text;
}

static void report(const struct file *file, struct place place) {
  if (file->flags & FILE_RESOLVE) entry_ok_resolved(place.dir, place.name);
  else entry_ok(place.dir, place.name);
}

void file_stat(const struct file *file) {
  const char *path = begin(file);
  if (!(file->flags & FILE_FOLLOW)) {
    struct place place = path_place(path);
    return report(file, place);
  }
  int fd = path_open(path, O_PATH, 0);
  if (fd < 0) work_fail(-fd, STAGE_PATH);
  entry_ok_fd(fd, path_last(path));
}

void file_mkdir(const struct file *file) {
  struct place place = path_place(begin_with_parents(file, file->path));
  mode_t mode = file_has(file, FILE_MODE) ? file->mode : 0755;
  bool made = !mkdirat(place.dir, place.name, mode);
  if (!made) {
    struct stat stat;
    bool fine = errno == EEXIST && file->flags & FILE_PARENTS && !(file->flags & FILE_EXCLUSIVE);
    if (!fine) work_fail(errno, STAGE_OPERATION);
    /* Something is there: a directory, or a link to one. */
    if (fstatat(place.dir, place.name, &stat, 0) < 0) work_fail(errno, STAGE_OPERATION);
    if (!S_ISDIR(stat.st_mode)) work_fail(EEXIST, STAGE_OPERATION);
  }
  /* mkdir takes the umask off and ignores the set-id bits: say exactly what was asked. */
  if (made && file_has(file, FILE_MODE)) {
    int fd = openat(place.dir, place.name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && fchmod(fd, mode) < 0) work_fail(errno, STAGE_OPERATION);
  }
  entry_ok(place.dir, place.name);
}

void file_rename(const struct file *file) {
  struct place to = path_place(begin_with_parents(file, file->path2));
  struct place from = path_place(path_text(file->path));
  unsigned flags = file->flags & FILE_EXCLUSIVE ? RENAME_NOREPLACE : 0;
  if (syscall(SYS_renameat2, from.dir, from.name, to.dir, to.name, flags) < 0) work_fail(errno, STAGE_OPERATION);
  report(file, to);
}

void file_symlink(const struct file *file) {
  char target[4096];
  struct place place = path_place(begin_with_parents(file, file->path));
  memcpy(target, file->path2.data, file->path2.len);
  target[file->path2.len] = 0;
  if (symlinkat(target, place.dir, place.name) < 0) work_fail(errno, STAGE_OPERATION);
  entry_ok(place.dir, place.name);
}

void file_link(const struct file *file) {
  struct place place = path_place(begin(file));
  struct place existing = path_place(path_text(file->path2));
  if (linkat(existing.dir, existing.name, place.dir, place.name, 0) < 0) work_fail(errno, STAGE_OPERATION);
  entry_ok(place.dir, place.name);
}

struct timespec file_mtime(const struct file *file) {
  int64_t ns = (int64_t)file->mtimeNs, second = 1000000000;
  int64_t rest = ns % second < 0 ? ns % second + second : ns % second;
  return (struct timespec){.tv_sec = (ns - rest) / second, .tv_nsec = rest};
}

void file_utimes(const struct file *file) {
  const char *path = begin(file);
  int fd = path_open(path, O_PATH, 0);
  if (fd < 0) work_fail(-fd, STAGE_PATH);
  struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, file_mtime(file)};
  if (utimensat(WORK_PROC_FD, path_of_fd(fd), times, 0) < 0) work_fail(errno, STAGE_OPERATION);
  entry_ok_fd(fd, path_last(path));
}

void file_truncate(const struct file *file) {
  const char *path = begin(file);
  struct stat stat;
  int fd = path_open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY, 0);
  if (fd < 0) work_fail(-fd, STAGE_PATH);
  if (fstat(fd, &stat) < 0) work_fail(errno, STAGE_OPERATION);
  if (!S_ISREG(stat.st_mode)) work_fail(EINVAL, STAGE_OPERATION);
  if (ftruncate(fd, (off_t)file->length) < 0) work_fail(errno, STAGE_OPERATION);
  entry_ok_fd(fd, path_last(path));
}

void file_statfs(const struct file *file) {
  struct statfs fs;
  int fd = path_open(begin(file), O_PATH, 0);
  if (fd < 0) work_fail(-fd, STAGE_PATH);
  if (fstatfs(fd, &fs) < 0) work_fail(errno, STAGE_OPERATION);
  uint64_t block[5] = {(uint64_t)fs.f_bsize, fs.f_blocks, fs.f_bavail, fs.f_files, fs.f_ffree};
  uint8_t result[TLV_HEADER + sizeof block];
  tlv_put(result, RESULT_STATFS, block, sizeof block);
  work_ok(result, sizeof result);
}
