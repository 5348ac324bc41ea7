/* KILLTREE: everything that came from one command, found by the mark that descendants inherit (role.h), by parent,
 * process group and session. Everything found is stopped before anything is killed, and the search is repeated until
 * it finds nothing alive, so that a process that forks meanwhile does not escape. */
#ifndef VIV_TREE_H
#define VIV_TREE_H

#include <stdint.h>
#include <sys/types.h>

/* Starts killing; goes on in the background, for two seconds at most. `pid` is the command, 0 if it has been reaped. */
void tree_kill(uint64_t serial, pid_t pid);

#endif
