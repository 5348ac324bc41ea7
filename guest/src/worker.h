/* Workers, seen from pid 1: forked children that do what may block or must be done as a user (files, process lists,
 * unix socket paths). Each serves one stream and reports over a control socket; its data goes through a pipe. */
#ifndef VIV_WORKER_H
#define VIV_WORKER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "tlv.h"

struct worker_spec {
  uint32_t id;     /* the free stream it works for */
  uint32_t window; /* first credit of channel 1 */
  bool up;         /* gives data on channel 1 */
  bool down;       /* takes data on channel 0 */
  bool okFirst;    /* OK comes before the data, not after it */
  const char *what; /* for messages */
  /* The child's work, in work.h's terms. Never returns. */
  void (*run)(const void *request);
  const void *request;
  /* For work that ends with a descriptor: takes it over, with the stream, which the worker has left. */
  void (*adopt)(uint32_t id, int fd, const void *request);
  uint32_t requestSize; /* copied for adopt */
};

/* Starts the work; answers FAIL itself if it can't. */
void worker_start(const struct worker_spec *spec);
/* A child of pid 1 was reaped. */
void worker_reaped(pid_t pid);

#endif
