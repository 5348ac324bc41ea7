/* What clients note about a file or directory, `key=value`: the extended attributes whose names begin with
 * METADATA_PREFIX (xattr(7)). Programs of the sandbox may set them too. In workers only. */
#ifndef VIV_METADATA_H
#define VIV_METADATA_H

#include <stdint.h>

#include "tlv.h"

#define METADATA_PREFIX "user.e2b."
/* Of all names, prefixes included, and values of one file: what ext4 can hold. */
#define METADATA_MAX 4096u
#define METADATA_KEY_MAX 246u /* an attribute's name has at most 255 bytes */
/* The longest block of METADATA_MAX bytes of names and values: a pair's own lengths take less than its prefix. */
#define METADATA_BLOCK_MAX METADATA_MAX

/* Are the items of the list with this tag each `key=value`, and within the bounds? */
bool metadata_valid(struct bytes list, uint16_t tag);

/* Sets what the list says on the open file; where the file system knows no such attributes, nothing. Returns 0 or -errno. */
int metadata_set(int fd, struct bytes list, uint16_t tag);

/* Writes pairs, each `keyLen u8, valueLen u16, key, value`, at `out` (room for METADATA_BLOCK_MAX) and returns their
 * length: of `entry` in the open directory `dir`, or of what `dir` has open itself where entry is "". What does not fit
 * is left out. Changes the working directory. */
uint32_t metadata_get(uint8_t *out, int dir, const char *entry);

#endif
