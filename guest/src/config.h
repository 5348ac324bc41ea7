/* CONFIG: what the host lets this sandbox be. Taken once per boot. */
#ifndef VIV_CONFIG_H
#define VIV_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "tlv.h"

enum config_tag {
  CONFIG_SECCOMP = 1,
  CONFIG_CAP_KEEP = 2,
  CONFIG_FLAGS = 3,
  CONFIG_HOSTNAME = 4,
  CONFIG_SYSCTL = 5,
  CONFIG_ENV = 6,
  CONFIG_RLIMIT = 7,
};

/* `resource u32, soft u64, hard u64` */
#define RLIMIT_BLOCK 20

struct config {
  struct bytes seccomp;
  struct bytes hostname;
  uint64_t capKeep;
  uint32_t flags;
  uint32_t sysctls, envs, rlimits; /* how many */
  uint64_t seen;
  struct bytes list; /* the whole payload, for the repeatable tags */
};

/* Checks a CONFIG payload. Returns 0 or -1. */
int config_parse(struct bytes payload, struct config *config);
/* Applies it to this process. Returns 0 or -errno and says in `what` which step failed. */
int config_apply(const struct config *config, const char **what);
/* Keeps what concerns every spawn. Returns 0 or -ENOMEM. */
int config_keep(const struct config *config);
bool config_done(void);
/* The TLV items CONFIG_ENV and CONFIG_RLIMIT to apply to every spawn. */
struct bytes config_defaults(void);
/* Back to the state before CONFIG, for tests. */
void config_reset(void);

#endif
