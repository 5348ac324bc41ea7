#include <unistd.h>

#include "../src/loop.h"
#include "unit.h"

static int runs;
static struct task first, second;
static struct timer timer;

static void again(struct task *task) {
  runs++;
  loop_defer(task, again);
}

static void forgets_other(struct task *task) {
  (void)task;
  runs += 100;
  loop_forget(&second);
}

static void tasks_take_turns(void) {
  CHECK(!loop_open());
  runs = 0;
  loop_defer(&first, again);
  loop_round(0);
  CHECK(runs == 1);
  loop_round(0);
  CHECK(runs == 2);
  loop_forget(&first);
  loop_round(0);
  CHECK(runs == 2);
}

static void forgotten_tasks(void) {
  runs = 0;
  loop_defer(&first, forgets_other);
  loop_defer(&second, again);
  loop_round(0);
  CHECK(runs == 100 && !second.queued);
  loop_defer(&second, again);
  loop_round(0);
  CHECK(runs == 101);
  loop_forget(&second);
}

static void fire(struct timer *which) { which->armed ? abort() : (void)runs++; }

static void timers_fire(void) {
  runs = 0;
  loop_timer(&timer, 0, fire);
  loop_timer(&timer, 0, fire);
  loop_round(0);
  loop_round(0);
  CHECK(runs == 1);
  loop_timer(&timer, 0, fire);
  loop_untimer(&timer);
  loop_round(0);
  CHECK(runs == 1);
}

static struct watch watches[2];

static void closes_other(struct watch *watch, uint32_t events) {
  (void)events;
  runs++;
  loop_close(watch == &watches[0] ? &watches[1] : &watches[0]);
}

static void closed_in_the_same_round(void) {
  int a[2], b[2];
  CHECK(!pipe(a) && !pipe(b));
  CHECK(write(a[1], "x", 1) == 1 && write(b[1], "x", 1) == 1);
  CHECK(!loop_watch(&watches[0], a[0], closes_other) && !loop_watch(&watches[1], b[0], closes_other));
  runs = 0;
  loop_round(0);
  CHECK(runs == 1);
  loop_close(&watches[0]);
  loop_close(&watches[1]);
  close(a[1]);
  close(b[1]);
}

const struct unit loop_units[] = {
    {"a task that queues itself again waits for the next round", tasks_take_turns},
    {"a task forgotten by another does not run", forgotten_tasks},
    {"a timer fires once, however often it is set", timers_fire},
    {"a descriptor closed in a round gets no event of that round", closed_in_the_same_round},
    {0},
};
