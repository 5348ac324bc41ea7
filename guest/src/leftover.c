#define _GNU_SOURCE
#include "leftover.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#define READS_PER_ROUND 4
#define PIECE 16384

struct leftover {
  struct watch watch;
  struct task more;
  struct leftover *prev, *next;
};

static struct leftover *oldest, *newest;
static unsigned count;

static void drop(struct leftover *leftover) {
  loop_close(&leftover->watch);
  loop_forget(&leftover->more);
  if (leftover->prev) leftover->prev->next = leftover->next;
  else oldest = leftover->next;
  if (leftover->next) leftover->next->prev = leftover->prev;
  else newest = leftover->prev;
  count--;
  loop_free(leftover);
}

static void discard(struct task *task) {
  struct leftover *leftover = OWNER(task, struct leftover, more);
  char piece[PIECE];
  for (int turn = 0; turn < READS_PER_ROUND; turn++) {
    ssize_t got = read(leftover->watch.fd, piece, sizeof piece);
    if (got > 0 || (got < 0 && errno == EINTR)) continue;
    if (got < 0 && errno == EAGAIN) return;
    return drop(leftover);
  }
  loop_defer(&leftover->more, discard);
}

static void on_ready(struct watch *watch, uint32_t events) {
  struct leftover *leftover = OWNER(watch, struct leftover, watch);
  if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) loop_defer(&leftover->more, discard);
}

void leftover_adopt(struct watch *watch) {
  int fd = loop_unwatch(watch);
  if (fd < 0) return;
  /* The usual case: nobody holds the other end. */
  char piece[PIECE];
  ssize_t got = read(fd, piece, sizeof piece);
  if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
    close(fd);
    return;
  }
  struct leftover *leftover = calloc(1, sizeof *leftover);
  if (!leftover || loop_watch(&leftover->watch, fd, on_ready)) {
    free(leftover);
    close(fd);
    return;
  }
  leftover->prev = newest;
  if (newest) newest->next = leftover;
  else oldest = leftover;
  newest = leftover;
  count++;
  loop_defer(&leftover->more, discard);
  if (count > LEFTOVER_MAX) drop(oldest);
}
