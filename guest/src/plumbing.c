#define _GNU_SOURCE
#include "plumbing.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "le.h"
#include "pty.h"

/* A pipe of which the parent's end does not block. */
static int make_pipe(int *read, int *write, int *own) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) < 0) return -errno;
  *read = ends[0];
  *write = ends[1];
  if (own) fcntl(*own, F_SETFL, O_NONBLOCK);
  return 0;
}

void plumbing_close(struct plumbing *p) {
  int *fds = (int *)p;
  for (size_t i = 0; i < sizeof *p / sizeof *fds; i++) cleanup_close(&fds[i]);
}

int plumbing_lay(struct plumbing *p, const struct spawn *spawn, enum fail_stage *stage) {
  memset(p, 0xff, sizeof *p); /* every descriptor -1 */
  int error = make_pipe(&p->statusRead, &p->statusWrite, &p->statusRead);
  *stage = STAGE_LIMIT;
  if (!error && spawn->flags & SPAWN_WAIT) error = make_pipe(&p->startRead, &p->startWrite, NULL);
  if (spawn->flags & SPAWN_PTY && !error) {
    *stage = STAGE_PTY;
    bool sized = spawn->winsize.len == 4;
    p->master = pty_open(sized ? le16(spawn->winsize.data) : 0, sized ? le16(spawn->winsize.data + 2) : 0);
    return p->master < 0 ? p->master : 0;
  }
  if (!error && spawn->flags & SPAWN_STDIN) error = make_pipe(&p->inRead, &p->inWrite, &p->inWrite);
  if (!error) error = make_pipe(&p->outRead, &p->outWrite, &p->outRead);
  if (!error && !(spawn->flags & SPAWN_MERGE)) error = make_pipe(&p->errRead, &p->errWrite, &p->errRead);
  return error;
}
