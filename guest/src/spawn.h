/* A SPAWN request, and the child that carries it out. */
#ifndef VIV_SPAWN_H
#define VIV_SPAWN_H

#include <stdint.h>

#include "tlv.h"

enum spawn_tag {
  SPAWN_ARGV = 1,
  SPAWN_ENV = 2,
  SPAWN_CWD = 3,
  SPAWN_USER = 4,
  SPAWN_FLAGS = 5,
  SPAWN_RLIMIT = 6,
  SPAWN_WINSIZE = 7,
  SPAWN_TAG = 8,
  SPAWN_WINDOW = 9,
  SPAWN_UMASK = 10,
};

enum spawn_flag { SPAWN_PTY = 1, SPAWN_STDIN = 2, SPAWN_MERGE = 4, SPAWN_WAIT = 8 };

struct spawn {
  uint32_t argc, envc, rlimits; /* how many of each are in `list` */
  struct bytes cwd, user, winsize, tag;
  uint32_t flags, window, umask;
  uint64_t seen;
  struct bytes list; /* the whole payload */

  /* Set by process.c before the fork; the child takes these descriptors, -1 where there is none. */
  int in, out, err, pty, start, status;
  uint64_t serial;
};

/* Checks a SPAWN payload. Returns 0 or -1. */
int spawn_parse(struct bytes payload, struct spawn *spawn);

/* The child's life until execve. Never returns. */
_Noreturn void spawn_child(const struct spawn *spawn);

#endif
