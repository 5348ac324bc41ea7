#define _GNU_SOURCE
#include "entry.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "le.h"
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

uint32_t entry_put(uint8_t *out, const char *name, size_t nameLen, const struct stat *stat, int dir, const char *entry) {
  ssize_t linkLen = 0;
  uint8_t *link = out + ENTRY_HEADER + nameLen;
  if (S_ISLNK(stat->st_mode)) linkLen = readlinkat(dir, entry, (char *)link, ENTRY_LINK_MAX);
  if (linkLen < 0) linkLen = 0;
  uint32_t len = ENTRY_HEADER + (uint32_t)nameLen + (uint32_t)linkLen;
  memset(out, 0, ENTRY_HEADER);
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

static void report(const struct stat *stat, const char *name, int dir, const char *entry) {
  uint8_t result[TLV_HEADER + ENTRY_RESULT_MAX];
  size_t nameLen = strnlen(name, 255);
  uint32_t len = entry_put(result + TLV_HEADER, name, nameLen, stat, dir, entry);
  put16(result, RESULT_ENTRY);
  put16(result + 2, 0);
  put32(result + 4, len);
  work_ok(result, TLV_HEADER + len);
}

void entry_ok(int dir, const char *entry) {
  struct stat stat;
  if (fstatat(dir, entry, &stat, AT_SYMLINK_NOFOLLOW) < 0) work_fail(errno, STAGE_OPERATION);
  report(&stat, entry, dir, entry);
}

void entry_ok_fd(int fd, const char *name) {
  struct stat stat;
  if (fstat(fd, &stat) < 0) work_fail(errno, STAGE_OPERATION);
  report(&stat, name, fd, "");
}
