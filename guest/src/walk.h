/* Walks a directory tree without ever following a link: each directory is opened relative to its parent's descriptor. */
#ifndef VIV_WALK_H
#define VIV_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/* Directories nested deeper are not entered; `too_deep` of the walk says that there were some. */
#define WALK_DEPTH_MAX 1024

struct walk_entry {
  int dir;          /* the open directory it is in */
  const char *name; /* in that directory */
  const char *path; /* from the root of the walk */
  size_t pathLen;
  struct stat stat;
};

struct walk {
  unsigned depth; /* levels to visit: 1 = the children of the root */
  bool strict;    /* a directory that can't be read fails the work; else it is passed over */
  void (*visit)(const struct walk_entry *entry, void *context);
  void *context;
  bool tooDeep;
};

/* Visits everything beneath `root` (a readable directory descriptor, which is taken over), parents before children. */
void walk_tree(struct walk *walk, int root);

#endif
