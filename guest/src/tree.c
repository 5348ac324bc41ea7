#define _GNU_SOURCE
#include "tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "loop.h"
#include "role.h"
#include "sys.h"

/* One job kills for at most this long: RETRIES rounds, RETRY_MS apart. */
#define RETRY_MS 5
#define RETRIES 400
/* Searches of one round that look for processes not stopped yet. */
#define STOP_PASSES 8
#define MEMBERS_MAX 32768

struct job {
  struct timer timer;
  struct job *next;
  uint64_t serial;
  pid_t pid;
  int tries;
};

struct entry {
  pid_t pid, parent, group, session;
  bool member, stopped, dead;
};

static struct job *jobs;

/* Fields 1-6 of /proc/PID/stat; the name in field 2 may contain anything, so they are counted from the last `)`. */
static bool read_entry(int proc, const char *name, struct entry *entry) {
  char path[32], text[512];
  snprintf(path, sizeof path, "%.16s/stat", name);
  AUTO_CLOSE int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  ssize_t len = read(fd, text, sizeof text - 1);
  if (len <= 0) return false;
  text[len] = 0;
  char *at = strrchr(text, ')');
  *entry = (struct entry){.pid = atoi(name)};
  if (!at || at + 3 >= text + len) return false;
  char state = at[2], *next = at + 3;
  entry->parent = (pid_t)strtol(next, &next, 10);
  entry->group = (pid_t)strtol(next, &next, 10);
  entry->session = (pid_t)strtol(next, &next, 10);
  entry->stopped = state == 'T' || state == 't';
  entry->dead = state == 'Z' || state == 'X';
  return true;
}

static struct entry *list_all(uint64_t serial, pid_t root, size_t *count) {
  int proc = openat(role_proc_fd(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *dir = proc < 0 ? NULL : fdopendir(proc);
  if (!dir && proc >= 0) close(proc);
  struct entry *entries = NULL;
  size_t cap = 0;
  *count = 0;
  for (struct dirent *item; dir && *count < MEMBERS_MAX && (item = readdir(dir));) {
    if (item->d_name[0] < '1' || item->d_name[0] > '9') continue;
    if (*count == cap) {
      struct entry *grown = realloc(entries, (cap = cap ? cap * 2 : 64) * sizeof *entries);
      if (!grown) break;
      entries = grown;
    }
    struct entry *entry = &entries[*count];
    if (!read_entry(proc, item->d_name, entry) || entry->pid == 1 || entry->pid == getpid()) continue;
    bool bound = root && (entry->pid == root || entry->group == root || entry->session == root);
    entry->member = bound || role_mark_of(proc, item->d_name) == serial;
    (*count)++;
  }
  if (dir) closedir(dir);
  return entries;
}

/* Children of members are members. */
static void add_descendants(struct entry *entries, size_t count) {
  for (bool grown = true; grown;) {
    grown = false;
    for (size_t i = 0; i < count; i++) {
      if (entries[i].member) continue;
      for (size_t k = 0; k < count && !entries[i].member; k++)
        if (entries[k].member && entries[k].pid == entries[i].parent) entries[i].member = grown = true;
    }
  }
}

/* Sends `signal` to every living member. Returns how many there were that had not been stopped. */
static size_t strike(const struct job *job, int signal, size_t *alive) {
  size_t count, fresh = 0;
  AUTO_FREE struct entry *entries = list_all(job->serial, job->pid, &count);
  add_descendants(entries, count);
  *alive = 0;
  for (size_t i = 0; i < count; i++) {
    if (!entries[i].member || entries[i].dead) continue;
    (*alive)++;
    fresh += !entries[i].stopped;
    sys_kill(entries[i].pid, signal);
  }
  return fresh;
}

static void finish(struct job *job) {
  for (struct job **at = &jobs; *at; at = &(*at)->next) {
    if (*at != job) continue;
    *at = job->next;
    break;
  }
  loop_free(job);
}

static void round_of(struct timer *timer) {
  struct job *job = OWNER(timer, struct job, timer);
  size_t alive;
  for (int pass = 0; pass < STOP_PASSES; pass++)
    if (!strike(job, SIGSTOP, &alive)) break;
  strike(job, SIGKILL, &alive);
  if (!alive || ++job->tries >= RETRIES) return finish(job);
  /* The command itself is reaped soon and its number free for others; the mark is enough from now on. */
  job->pid = 0;
  loop_timer(&job->timer, RETRY_MS, round_of);
}

void tree_kill(uint64_t serial, pid_t pid) {
  for (struct job *job = jobs; job; job = job->next)
    if (job->serial == serial) return;
  struct job *job = calloc(1, sizeof *job);
  if (!job) {
    if (pid) sys_kill(-pid, SIGKILL);
    return;
  }
  *job = (struct job){.serial = serial, .pid = pid, .next = jobs};
  jobs = job;
  round_of(&job->timer);
}
