/* FILE and PROCS requests. */
#ifndef VIV_FILE_H
#define VIV_FILE_H

#include <stdint.h>

#include "tlv.h"

enum file_flag {
  FILE_FOLLOW = 1,
  FILE_SELF = 2,
  FILE_ATOMIC = 4,
  FILE_APPEND = 8,
  FILE_PARENTS = 16,
  FILE_EXCLUSIVE = 32,
  FILE_FSYNC = 64,
  FILE_AT_OFFSET = 128,
  FILE_RECURSIVE = 256,
  FILE_MISSING_OK = 512,
  FILE_RESOLVE = 1024,
  FILE_PRIVILEGED = 2048,
  FILE_WITH_METADATA = 4096,
};

enum file_tag {
  FILE_OP = 1,
  FILE_PATH = 2,
  FILE_PATH2 = 3,
  FILE_MODE = 4,
  FILE_FLAGS = 5,
  FILE_OFFSET = 6,
  FILE_LENGTH = 7,
  FILE_USER = 8,
  FILE_DEPTH = 9,
  FILE_BASE = 10,
  FILE_UID = 11,
  FILE_GID = 12,
  FILE_MTIME = 13,
  FILE_WINDOW = 14,
  FILE_OWNER = 15,
  FILE_METADATA = 16,
};

struct file {
  uint32_t op, mode, flags, depth, uid, gid, window, metadataCount;
  uint64_t offset, length, mtimeNs;
  struct bytes path, path2, user, base, owner;
  struct bytes list; /* the whole request, for FILE_METADATA */
  uint64_t seen;
};

static inline int file_has(const struct file *file, enum file_tag tag) { return (int)(file->seen >> tag & 1); }

/* Act on a request for the free stream `id`. */
void file_request(uint32_t id, struct bytes payload);
void file_procs(uint32_t id);
/* Checks a FILE payload. Returns 0 or -1. For the fuzzer too. */
int file_parse(struct bytes payload, struct file *file);

/* The time that a request names. */
struct timespec file_mtime(const struct file *file);

/* The operations, in the worker: each reports and returns or ends the worker. */
void file_stat(const struct file *file);
void file_list(const struct file *file);
void file_read(const struct file *file);
void file_write(const struct file *file);
void file_mkdir(const struct file *file);
void file_rename(const struct file *file);
void file_remove(const struct file *file);
void file_chmod(const struct file *file);
void file_chown(const struct file *file);
void file_symlink(const struct file *file);
void file_link(const struct file *file);
void file_utimes(const struct file *file);
void file_watch(const struct file *file);
void file_truncate(const struct file *file);
void file_statfs(const struct file *file);

#endif
