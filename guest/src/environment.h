/* The environment of a command: CONFIG's defaults, over them SPAWN's, and what every program expects. */
#ifndef VIV_ENVIRONMENT_H
#define VIV_ENVIRONMENT_H

#include "tlv.h"
#include "user.h"

/* Returns a NULL-terminated array in fresh memory, or NULL without memory. */
char **environment_make(struct bytes spawnList, const struct user *user, const char *path);
const char *environment_get(char **env, const char *name);

#endif
