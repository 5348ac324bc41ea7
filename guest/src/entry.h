/* Entry records: how a directory entry travels (docs/guest-protocol.md, "FILE"). */
#ifndef VIV_ENTRY_H
#define VIV_ENTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "metadata.h"

#define ENTRY_HEADER 60
#define ENTRY_LINK_MAX 4096
/* A record without its name. */
#define ENTRY_REST_MAX (ENTRY_HEADER + ENTRY_LINK_MAX + METADATA_BLOCK_MAX)
/* A record with a name of one component, as a result. */
#define ENTRY_RESULT_MAX (ENTRY_REST_MAX + 256)

struct entry_detail {
  bool resolve;  /* of a symbolic link: where it leads in the end */
  bool metadata; /* costs as much as the rest */
};

/* Writes the record of `name` (nameLen ≤ 65,535) and returns its length. Link target and metadata are read as `entry` in
 * `dir`, or of what `dir` has open where entry is "". `out` has room for the name and ENTRY_REST_MAX. */
uint32_t entry_put(uint8_t *out, const char *name, size_t nameLen, const struct stat *stat, int dir, const char *entry,
                   struct entry_detail detail);

/* Reports OK with the record of `entry` in `dir` as it is now; a failure fails the work. */
void entry_ok(int dir, const char *entry);
/* The same with `resolve`. */
void entry_ok_resolved(int dir, const char *entry);
/* The same for an open file. */
void entry_ok_fd(int fd, const char *name);

#endif
