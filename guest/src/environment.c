#define _GNU_SOURCE
#include "environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "spawn.h"

const char *environment_get(char **env, const char *name) {
  size_t len = strlen(name);
  for (; *env; env++)
    if (!strncmp(*env, name, len) && (*env)[len] == '=') return *env + len + 1;
  return NULL;
}

static size_t count_items(struct bytes list, uint16_t tag) {
  struct tlv_reader reader = {.rest = list};
  struct bytes value;
  uint16_t found;
  size_t count = 0;
  while (tlv_next(&reader, &found, &value)) count += found == tag;
  return count;
}

/* Where the variable of `setting` stands among the first `count`, or `count`. Settings without = are kept as they are. */
static size_t place(char **env, size_t count, const char *setting) {
  size_t len = strcspn(setting, "=");
  for (size_t i = 0; i < count; i++)
    if (!strncmp(env[i], setting, len) && env[i][len] == setting[len]) return i;
  return count;
}

/* Adds the items under `tag`. Only the first `defaults` entries can be replaced: that keeps a long list linear. */
static int add(char **env, size_t *count, size_t defaults, struct bytes list, uint16_t tag) {
  struct tlv_reader reader = {.rest = list};
  struct bytes value;
  uint16_t found;
  while (tlv_next(&reader, &found, &value)) {
    if (found != tag) continue;
    char *setting = malloc(value.len + 1);
    if (!setting) return -1;
    if (value.len) memcpy(setting, value.data, value.len);
    setting[value.len] = 0;
    size_t at = place(env, defaults, setting);
    if (at == defaults) at = (*count)++;
    env[at] = setting;
  }
  return 0;
}

static int add_missing(char **env, size_t *count, const char *name, const char *value) {
  if (environment_get(env, name)) return 0;
  return asprintf(&env[(*count)++], "%s=%s", name, value) < 0 ? -1 : 0;
}

char **environment_make(struct bytes spawnList, const struct user *user, const char *path) {
  size_t defaults = count_items(config_defaults(), CONFIG_ENV), count = 0;
  char **env = calloc(defaults + count_items(spawnList, SPAWN_ENV) + 6, sizeof *env);
  if (!env) return NULL;
  int bad = add(env, &count, 0, config_defaults(), CONFIG_ENV);
  bad |= add(env, &count, defaults, spawnList, SPAWN_ENV);
  bad |= add_missing(env, &count, "HOME", *user->home ? user->home : "/");
  bad |= add_missing(env, &count, "USER", user->name);
  bad |= add_missing(env, &count, "LOGNAME", user->name);
  bad |= add_missing(env, &count, "SHELL", user->shell);
  bad |= add_missing(env, &count, "PATH", path);
  return bad ? NULL : env;
}
