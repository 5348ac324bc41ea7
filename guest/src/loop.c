#define _GNU_SOURCE
#include "loop.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#define BATCH 64
#define IDLE_MS 1000


static int epollFd = -1;
static struct task *tasks, **tasksEnd = &tasks;
static struct timer *timers;
static void **graves;
static size_t graveCount, graveCap;
static bool fat;
static void (*afterRoundHook)(void);
static void (*idleHook)(void);

int loop_open(void) {
  if (epollFd < 0) epollFd = epoll_create1(EPOLL_CLOEXEC);
  return epollFd < 0 ? -errno : 0;
}

int loop_watch(struct watch *watch, int fd, void (*ready)(struct watch *, uint32_t)) {
  struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.ptr = watch};
  if (epoll_ctl(epollFd, EPOLL_CTL_ADD, fd, &event) < 0) return -errno;
  watch->fd = fd;
  watch->ready = ready;
  return 0;
}

int loop_unwatch(struct watch *watch) {
  int fd = watch->fd;
  /* Deleted by hand: a forked child may hold the same open file for a moment, and close alone would leave it in. */
  if (fd >= 0) epoll_ctl(epollFd, EPOLL_CTL_DEL, fd, NULL);
  watch->fd = -1;
  return fd;
}

void loop_close(struct watch *watch) {
  int fd = loop_unwatch(watch);
  if (fd >= 0) close(fd);
}

void loop_defer(struct task *task, void (*run)(struct task *)) {
  if (task->queued) return;
  task->run = run;
  task->queued = true;
  task->next = NULL;
  *tasksEnd = task;
  tasksEnd = &task->next;
}

void loop_forget(struct task *task) {
  if (!task->queued) return;
  for (struct task **at = &tasks; *at; at = &(*at)->next) {
    if (*at != task) continue;
    *at = task->next;
    if (tasksEnd == &task->next) tasksEnd = at;
    break;
  }
  task->queued = false;
}

void loop_timer(struct timer *timer, uint64_t delayMs, void (*fire)(struct timer *)) {
  loop_untimer(timer);
  timer->fire = fire;
  timer->atMs = loop_nowMs() + delayMs;
  timer->armed = true;
  timer->next = timers;
  timers = timer;
}

void loop_untimer(struct timer *timer) {
  for (struct timer **at = &timers; *at; at = &(*at)->next) {
    if (*at != timer) continue;
    *at = timer->next;
    break;
  }
  timer->armed = false;
}

void loop_free(void *object) {
  if (!object) return;
  if (graveCount == graveCap) {
    size_t cap = graveCap ? graveCap * 2 : 16;
    void **grown = realloc(graves, cap * sizeof *graves);
    /* Out of memory: a leak of one object is the harmless choice. */
    if (!grown) return;
    graves = grown;
    graveCap = cap;
  }
  graves[graveCount++] = object;
}

void loop_fat(void) { fat = true; }

void loop_hooks(void (*afterRound)(void), void (*idle)(void)) {
  afterRoundHook = afterRound;
  idleHook = idle;
}

uint64_t loop_nowMs(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static int wait_time(int maxWaitMs) {
  if (tasks) return 0;
  int64_t wait = maxWaitMs < 0 ? INT64_MAX : maxWaitMs;
  if (fat && wait > IDLE_MS) wait = IDLE_MS;
  if (timers) {
    uint64_t now = loop_nowMs();
    for (struct timer *timer = timers; timer; timer = timer->next) {
      int64_t left = timer->atMs > now ? (int64_t)(timer->atMs - now) : 0;
      if (left < wait) wait = left;
    }
  }
  return wait == INT64_MAX ? -1 : (int)wait;
}

static void run_timers(void) {
  if (!timers) return;
  uint64_t now = loop_nowMs();
  for (;;) {
    struct timer *due = timers;
    while (due && due->atMs > now) due = due->next;
    if (!due) return;
    loop_untimer(due);
    due->fire(due);
  }
}

/* Only as many as were queued before: a task that queues itself again must wait for the descriptors. */
static void run_tasks(void) {
  size_t count = 0;
  for (struct task *task = tasks; task; task = task->next) count++;
  while (tasks && count--) {
    struct task *task = tasks;
    tasks = task->next;
    if (!tasks) tasksEnd = &tasks;
    task->queued = false;
    task->run(task);
  }
}

void loop_round(int maxWaitMs) {
  struct epoll_event events[BATCH];
  int wait = wait_time(maxWaitMs);
  int count = epoll_wait(epollFd, events, BATCH, wait);
  for (int i = 0; i < count; i++) {
    struct watch *watch = events[i].data.ptr;
    if (watch->fd >= 0) watch->ready(watch, events[i].events);
  }
  run_timers();
  run_tasks();
  if (afterRoundHook) afterRoundHook();
  for (size_t i = 0; i < graveCount; i++) free(graves[i]);
  graveCount = 0;
  if (count == 0 && wait >= IDLE_MS && fat) {
    fat = false;
    free(graves);
    graves = NULL;
    graveCap = 0;
    if (idleHook) idleHook();
  }
}
