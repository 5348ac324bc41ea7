#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "entry.h"
#include "file.h"
#include "path.h"
#include "work.h"

#define PIECE (1u << 20)
#define COPY_PIECE 65536u

/* Moves at most `len` bytes to the data pipe, as page references where the file system can. Returns as read(2). */
static ssize_t give(int fd, size_t len, bool *copying) {
  static uint8_t *piece;
  if (!*copying) {
    ssize_t moved = splice(fd, NULL, WORK_DATA_FD, NULL, len, 0);
    if (moved >= 0 || errno != EINVAL) return moved;
    *copying = true;
  }
  if (!piece && !(piece = malloc(COPY_PIECE))) work_fail(ENOMEM, STAGE_LIMIT);
  ssize_t got = read(fd, piece, len < COPY_PIECE ? len : COPY_PIECE);
  if (got > 0) work_write(piece, (size_t)got);
  return got;
}

void file_read(const struct file *file) {
  path_begin(file);
  const char *path = path_text(file->path);
  struct stat stat;
  /* O_NONBLOCK: a FIFO opens at once, and is then refused. */
  int fd = path_open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
  if (fd < 0) work_fail(-fd, STAGE_PATH);
  if (fstat(fd, &stat) < 0) work_fail(errno, STAGE_OPERATION);
  if (S_ISDIR(stat.st_mode)) work_fail(EISDIR, STAGE_OPERATION);
  if (!S_ISREG(stat.st_mode)) work_fail(ENXIO, STAGE_OPERATION);
  if (file->offset && lseek(fd, (off_t)file->offset, SEEK_SET) < 0) work_fail(errno, STAGE_OPERATION);
  entry_ok_fd(fd, path_last(path));
  uint64_t left = file_has(file, FILE_LENGTH) ? file->length : UINT64_MAX;
  bool copying = false;
  while (left) {
    ssize_t moved = give(fd, left < PIECE ? (size_t)left : PIECE, &copying);
    if (moved < 0 && errno == EINTR) continue;
    if (moved < 0) work_fail(errno, STAGE_OPERATION);
    if (moved == 0) break;
    left -= (uint64_t)moved;
  }
}
