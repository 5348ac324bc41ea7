/* SHUTDOWN and the reaping of children. */
#ifndef VIV_SHUTDOWN_H
#define VIV_SHUTDOWN_H

#include <stdbool.h>
#include <stdint.h>

/* SIGTERM to all, SIGKILL after `graceMs`; shutdown_done() when nothing is left. */
void shutdown_begin(uint32_t graceMs);
bool shutdown_done(void);
/* Takes up ended children, those of others included. `fd` is the signalfd. Returns 0 or -errno. */
int reaper_open(int fd);

#endif
