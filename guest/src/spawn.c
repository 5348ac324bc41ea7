#include "spawn.h"

#include "config.h"
#include "process.h"
#include "source.h"

#define FLAGS_KNOWN (SPAWN_PTY | SPAWN_STDIN | SPAWN_MERGE | SPAWN_WAIT)

static const struct tlv_rule rules[] = {
    {SPAWN_ARGV, TLV_STRINGS, offsetof(struct spawn, argc), 0},
    {SPAWN_ENV, TLV_STRINGS, offsetof(struct spawn, envc), 0},
    {SPAWN_CWD, TLV_STRING, offsetof(struct spawn, cwd), 4095},
    {SPAWN_USER, TLV_STRING, offsetof(struct spawn, user), 511},
    {SPAWN_FLAGS, TLV_U32, offsetof(struct spawn, flags), 0},
    {SPAWN_RLIMIT, TLV_BLOCKS, offsetof(struct spawn, rlimits), RLIMIT_BLOCK},
    {SPAWN_WINSIZE, TLV_BYTES, offsetof(struct spawn, winsize), 4},
    {SPAWN_TAG, TLV_BYTES, offsetof(struct spawn, tag), PROCESS_TAG_MAX},
    {SPAWN_WINDOW, TLV_U32, offsetof(struct spawn, window), 0},
    {SPAWN_UMASK, TLV_U32, offsetof(struct spawn, umask), 0},
};

int spawn_parse(struct bytes payload, struct spawn *spawn) {
  *spawn = (struct spawn){.list = payload, .window = WINDOW_DEFAULT, .umask = 022};
  spawn->in = spawn->out = spawn->err = spawn->pty = spawn->start = spawn->status = -1;
  if (tlv_parse(payload, rules, sizeof rules / sizeof *rules, spawn, &spawn->seen)) return -1;
  if (!spawn->argc || spawn->flags & ~FLAGS_KNOWN) return -1;
  if (spawn->seen >> SPAWN_WINSIZE & 1 && spawn->winsize.len != 4) return -1;
  if (spawn->window > WINDOW_MAX || spawn->umask > 0777) return -1;
  return 0;
}
