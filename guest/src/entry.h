/* Entry records: how a directory entry travels (docs/guest-protocol.md, "FILE"). */
#ifndef VIV_ENTRY_H
#define VIV_ENTRY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#define ENTRY_HEADER 60
#define ENTRY_LINK_MAX 4096
/* A record with a name of one component, as a result. */
#define ENTRY_RESULT_MAX (ENTRY_HEADER + 256 + ENTRY_LINK_MAX)

/* Writes the record of `name` (nameLen ≤ 65,535) and returns its length. For a symbolic link the target is read as
 * `entry` in `dir`. `out` has room for the header, the name and ENTRY_LINK_MAX. */
uint32_t entry_put(uint8_t *out, const char *name, size_t nameLen, const struct stat *stat, int dir, const char *entry);

/* Reports OK with the record of `entry` in `dir` as it is now; a failure fails the work. */
void entry_ok(int dir, const char *entry);
/* The same for an open file. */
void entry_ok_fd(int fd, const char *name);

#endif
