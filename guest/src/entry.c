#define _GNU_SOURCE
#include "entry.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "le.h"
#include "path.h"
#include "tlv.h"
#include "work.h"

#define RESULT_ENTRY 1

static uint8_t type_of(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFREG: return 1;
    case S_IFDIR: return 2;
    case S_IFLNK: return 3;
    case S_IFIFO: return 4;
    case S_IFSOCK: return 5;
    case S_IFCHR: return 6;
    case S_IFBLK: return 7;
    default: return 0;
  }
}

/* Where the link leads in the end: its real path, and what is there. Returns the path's length, -1 if it leads nowhere. */
static ssize_t follow(int dir, const char *entry, char *link, struct stat *target) {
  int fd = openat(dir, entry, O_PATH | O_CLOEXEC);
  if (fd < 0) return -1;
  ssize_t len = fstat(fd, target) < 0 ? -1 : readlinkat(WORK_PROC_FD, path_of_fd(fd), link, ENTRY_LINK_MAX);
  close(fd);
  return len;
}

uint32_t entry_put(uint8_t *out, const char *name, size_t nameLen, const struct stat *stat, int dir, const char *entry,
                   struct entry_detail detail) {
  uint8_t *link = out + ENTRY_HEADER + nameLen;
  ssize_t linkLen = 0;
  memset(out, 0, ENTRY_HEADER);
  if (S_ISLNK(stat->st_mode)) {
    struct stat target;
    linkLen = detail.resolve ? follow(dir, entry, (char *)link, &target) : -1;
    if (linkLen >= 0) {
      out[5] = type_of(target.st_mode);
      put16(out + 10, (uint16_t)(target.st_mode & 07777));
    } else {
      linkLen = readlinkat(dir, entry, (char *)link, ENTRY_LINK_MAX);
    }
    if (linkLen < 0) linkLen = 0;
  }
  uint32_t len = ENTRY_HEADER + (uint32_t)nameLen + (uint32_t)linkLen;
  /* Nothing else can have attributes of users (xattr(7)). */
  if (detail.metadata && (S_ISREG(stat->st_mode) || S_ISDIR(stat->st_mode))) len += metadata_get(out + len, dir, entry);
  put32(out, len);
  out[4] = type_of(stat->st_mode);
  put16(out + 6, (uint16_t)nameLen);
  put16(out + 8, (uint16_t)linkLen);
  put32(out + 12, stat->st_mode & 07777);
  put32(out + 16, stat->st_uid);
  put32(out + 20, stat->st_gid);
  put32(out + 24, (uint32_t)stat->st_nlink);
  put64(out + 28, stat->st_ino);
  put64(out + 36, (uint64_t)stat->st_size);
  put64(out + 44, (uint64_t)(stat->st_mtim.tv_sec * INT64_C(1000000000) + stat->st_mtim.tv_nsec));
  put64(out + 52, stat->st_rdev);
  memcpy(out + ENTRY_HEADER, name, nameLen);
  return len;
}

static void report(const struct stat *stat, const char *name, int dir, const char *entry, bool resolve) {
  uint8_t result[TLV_HEADER + ENTRY_RESULT_MAX];
  size_t nameLen = strnlen(name, 255);
  uint32_t len = entry_put(result + TLV_HEADER, name, nameLen, stat, dir, entry,
                           (struct entry_detail){.resolve = resolve, .metadata = true});
  put16(result, RESULT_ENTRY);
  put16(result + 2, 0);
  put32(result + 4, len);
  work_ok(result, TLV_HEADER + len);
}

static void report_entry(int dir, const char *entry, bool resolve) {
  struct stat stat;
  if (fstatat(dir, entry, &stat, AT_SYMLINK_NOFOLLOW) < 0) work_fail(errno, STAGE_OPERATION);
  report(&stat, entry, dir, entry, resolve);
}

void entry_ok(int dir, const char *entry) { report_entry(dir, entry, false); }

void entry_ok_resolved(int dir, const char *entry) { report_entry(dir, entry, true); }

void entry_ok_fd(int fd, const char *name) {
  struct stat stat;
  if (fstat(fd, &stat) < 0) work_fail(errno, STAGE_OPERATION);
  report(&stat, name, fd, "", false);
}
