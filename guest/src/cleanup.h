/* Descriptors and memory that are released when their variable goes out of scope. */
#ifndef VIV_CLEANUP_H
#define VIV_CLEANUP_H

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define AUTO_CLOSE __attribute__((cleanup(cleanup_close)))
#define AUTO_FREE __attribute__((cleanup(cleanup_free)))

static inline void cleanup_close(const int *fd) {
  int saved = errno;
  if (*fd >= 0) close(*fd);
  errno = saved;
}

static inline void cleanup_free(void *pointer) { free(*(void **)pointer); }

/* Hands the descriptor on: the variable no longer closes it. */
static inline int steal(int *fd) {
  int taken = *fd;
  *fd = -1;
  return taken;
}

#endif
