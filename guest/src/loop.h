/* The event loop: edge-triggered epoll, deferred tasks, timers. One thread, nothing blocks but epoll_wait. */
#ifndef VIV_LOOP_H
#define VIV_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The object of type `type` whose `member` is at `ptr`. */
#define OWNER(ptr, type, member) ((type *)((char *)(ptr) - offsetof(type, member)))

/* A descriptor in the loop. Edges are reported once: `ready` notes them, and the owner works until EAGAIN. */
struct watch {
  int fd; /* -1 when not in use */
  void (*ready)(struct watch *watch, uint32_t events);
};

/* Work to go on with in the next round, after other descriptors had their turn. */
struct task {
  void (*run)(struct task *task);
  struct task *next;
  bool queued;
};

struct timer {
  void (*fire)(struct timer *timer);
  struct timer *next;
  uint64_t atMs; /* on the monotonic clock */
  bool armed;
};

int loop_open(void);
/* Adds `fd` for both directions, edge-triggered. Returns 0 or -errno; on failure the descriptor stays the caller's. */
int loop_watch(struct watch *watch, int fd, void (*ready)(struct watch *, uint32_t));
/* Takes the descriptor out of the loop and returns it (-1 if there was none). */
int loop_unwatch(struct watch *watch);
/* Takes it out and closes it. */
void loop_close(struct watch *watch);
void loop_defer(struct task *task, void (*run)(struct task *));
void loop_forget(struct task *task);
void loop_timer(struct timer *timer, uint64_t delayMs, void (*fire)(struct timer *));
void loop_untimer(struct timer *timer);
/* Frees after the round, when no event of the round can refer to the object any more. */
void loop_free(void *object);
/* `fat` asks for a call of `idle` when nothing has happened for a second. */
void loop_fat(void);
void loop_hooks(void (*afterRound)(void), void (*idle)(void));
/* One round: wait at most `maxWaitMs` (-1: until something happens), run everything that is due. */
void loop_round(int maxWaitMs);
uint64_t loop_nowMs(void);

#endif
