/* Who a child becomes: `name`, `uid`, `name:group` or `uid:gid`, looked up in /etc/passwd and /etc/group of the
 * sandbox. Used in forked children only: these files are the sandbox's, reading them may hang or be large. */
#ifndef VIV_USER_H
#define VIV_USER_H

#include <stdbool.h>
#include <sys/types.h>

#include "tlv.h"

#define USER_GROUPS 256

struct user {
  uid_t uid;
  gid_t gid;
  char name[256];
  char home[4096];
  char shell[4096];
  bool known; /* has an entry in /etc/passwd */
  int groupCount;
  gid_t groups[USER_GROUPS];
};

/* Fills `user` from `spec` (empty: root). Returns 0 or -errno: EINVAL for a malformed spec, ENOENT for a name that is
 * in neither file. */
int user_lookup(struct bytes spec, struct user *user);
/* Becomes the user, for good: groups, gid, uid. Returns 0 or -errno. */
int user_become(const struct user *user);
/* Makes files in the user's name from now on, with the rights that the process has. Returns 0 or -errno. */
int user_lend(const struct user *user);

#endif
