#define _GNU_SOURCE
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FLAGS_KNOWN 7u

static const struct tlv_rule rules[] = {
    {CONFIG_SECCOMP, TLV_BYTES, offsetof(struct config, seccomp), 8 * 4096},
    {CONFIG_CAP_KEEP, TLV_U64, offsetof(struct config, capKeep), 0},
    {CONFIG_FLAGS, TLV_U32, offsetof(struct config, flags), 0},
    {CONFIG_HOSTNAME, TLV_STRING, offsetof(struct config, hostname), 64},
    {CONFIG_SYSCTL, TLV_STRINGS, offsetof(struct config, sysctls), 512},
    {CONFIG_ENV, TLV_STRINGS, offsetof(struct config, envs), 131072},
    {CONFIG_RLIMIT, TLV_BLOCKS, offsetof(struct config, rlimits), RLIMIT_BLOCK},
};

static struct bytes defaults;
static bool done;

int config_parse(struct bytes payload, struct config *config) {
  *config = (struct config){.list = payload};
  if (tlv_parse(payload, rules, sizeof rules / sizeof *rules, config, &config->seen)) return -1;
  if (config->flags & ~FLAGS_KNOWN || config->seccomp.len % 8) return -1;
  return 0;
}

int config_keep(const struct config *config) {
  uint8_t *kept = malloc(config->list.len + 1), *at = kept;
  if (!kept) return -ENOMEM;
  struct tlv_reader reader = {.rest = config->list};
  struct bytes value;
  uint16_t tag;
  while (tlv_next(&reader, &tag, &value))
    if (tag == CONFIG_ENV || tag == CONFIG_RLIMIT) at = tlv_put(at, tag, value.data, value.len);
  uint32_t len = (uint32_t)(at - kept);
  uint8_t *fitted = realloc(kept, len + 1);
  config_reset();
  defaults = (struct bytes){fitted ? fitted : kept, len};
  done = true;
  return 0;
}

bool config_done(void) { return done; }

struct bytes config_defaults(void) { return defaults; }

void config_reset(void) {
  free((void *)defaults.data);
  defaults = (struct bytes){0};
  done = false;
}
