/* What pid 1 changes about itself at start and every child undoes. */
#ifndef VIV_ROLE_H
#define VIV_ROLE_H

#include <stdbool.h>
#include <stdint.h>

/* Becomes the init of the sandbox (or, as an ordinary process, its sub-reaper); of the inherited descriptors only 0-2
 * and `keepFd` stay open. Returns the signalfd for SIGCHLD, or -errno. */
int role_become_init(int keepFd);
bool role_is_pid1(void);

/* In a child: every signal unblocked; all are default already. */
void role_default_signals(void);
/* In a child: the limits pid 1 was given, and the mark `serial` by which the tree is found (0: none). */
void role_restore_limits(uint64_t serial);
/* In a child: closes every descriptor from `first` on. */
void role_close_from(int first);

/* The mark of a process, read through pid 1's own handle on /proc. Returns 0 if it has none or is gone. */
uint64_t role_mark_of(int procFd, const char *pid);

/* Handles on the sandbox's /proc, /dev/pts and /dev/null from before anything hostile ran; -1 if there was none. */
int role_proc_fd(void);
int role_pts_fd(void);
int role_null_fd(void);

#endif
