/* Paths of the sandbox, resolved in a worker. With a base, nothing outside it is ever reached: every resolution is
 * openat2(2) with RESOLVE_BENEATH from the base's own descriptor. */
#ifndef VIV_PATH_H
#define VIV_PATH_H

#include <stdbool.h>
#include <sys/types.h>

#include "file.h"

/* A directory entry: `name` in the open directory `dir`. `name` is "." where the path names a directory by itself. */
struct place {
  int dir;
  char *name;
};

/* Sets the base of all that follows and what `~` stands for. Fails the work if the base can't be opened. */
void path_begin(const struct file *file);
/* Lets go of the base. */
void path_end(void);
/* The text of a path: `~` expanded, trailing slashes gone, relative to the base where there is one. */
char *path_text(struct bytes path);
/* open(2) of a path text. Returns the descriptor or -errno. */
int path_open(const char *path, int flags, mode_t mode);
/* The parent opened (O_PATH) and the last component; the last component is not looked at. Fails the work. */
struct place path_place(const char *path);
/* Creates what is missing of the directories above the last component, mode 0755. Fails the work. */
void path_make_parents(const char *path);
/* The last component of a path text. */
const char *path_last(const char *path);
/* "self/fd/N" for the *at calls on WORK_PROC_FD: the very file that is open, not its name. Valid until the next call. */
const char *path_of_fd(int fd);

#endif
