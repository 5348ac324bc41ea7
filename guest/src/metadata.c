#define _GNU_SOURCE
#include "metadata.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "le.h"
#include "path.h"
#include "work.h"

#define PREFIX_LEN (sizeof METADATA_PREFIX - 1)
#define PAIR_HEADER 3
/* The kernel makes room for as much as it is asked for, and hardly any file has more. */
#define NAMES_FEW 1024
#define NAMES_MAX 65536 /* XATTR_LIST_MAX */

static uint32_t key_of(struct bytes pair) {
  const uint8_t *equals = pair.len ? memchr(pair.data, '=', pair.len) : NULL;
  return equals ? (uint32_t)(equals - pair.data) : 0;
}

bool metadata_valid(struct bytes list, uint16_t tag) {
  struct tlv_reader reader = {.rest = list};
  struct bytes pair;
  uint16_t found;
  uint32_t sum = 0;
  while (tlv_next(&reader, &found, &pair)) {
    if (found != tag) continue;
    uint32_t key = key_of(pair);
    if (!key || key > METADATA_KEY_MAX) return false;
    /* The length of `=` is not one of the file's. */
    sum += (uint32_t)PREFIX_LEN + pair.len - 1;
    if (sum > METADATA_MAX) return false;
  }
  return true;
}

int metadata_set(int fd, struct bytes list, uint16_t tag) {
  struct tlv_reader reader = {.rest = list};
  struct bytes pair;
  uint16_t found;
  while (tlv_next(&reader, &found, &pair)) {
    if (found != tag) continue;
    char name[PREFIX_LEN + METADATA_KEY_MAX + 1] = METADATA_PREFIX;
    uint32_t key = key_of(pair);
    memcpy(name + PREFIX_LEN, pair.data, key);
    name[PREFIX_LEN + key] = 0;
    if (!fsetxattr(fd, name, pair.data + key + 1, pair.len - key - 1, 0)) continue;
    return errno == ENOTSUP ? 0 : -errno;
  }
  return 0;
}

/* The names of all attributes, NUL-terminated one after the other, in a buffer that is used again. */
static const char *names_of(const char *path, bool follow, ssize_t *len) {
  static char few[NAMES_FEW], *many;
  *len = follow ? listxattr(path, few, sizeof few) : llistxattr(path, few, sizeof few);
  if (*len >= 0 || errno != ERANGE) return few;
  if (!many && !(many = malloc(NAMES_MAX))) work_fail(ENOMEM, STAGE_LIMIT);
  *len = follow ? listxattr(path, many, NAMES_MAX) : llistxattr(path, many, NAMES_MAX);
  return many;
}

uint32_t metadata_get(uint8_t *out, int dir, const char *entry) {
  /* Attributes have no *at calls and none for O_PATH descriptors: by name from inside the directory, or by the magic
   * link of the descriptor. */
  bool open = !*entry;
  if (fchdir(open ? WORK_PROC_FD : dir) < 0) return 0;
  const char *path = open ? path_of_fd(dir) : entry;
  uint32_t used = 0;
  ssize_t len;
  const char *names = names_of(path, open, &len), *end = names + (len > 0 ? len : 0);
  for (const char *name = names; name < end; name += strlen(name) + 1) {
    if (strncmp(name, METADATA_PREFIX, PREFIX_LEN)) continue;
    const char *key = name + PREFIX_LEN;
    size_t keyLen = strlen(key);
    if (!keyLen || keyLen > METADATA_KEY_MAX || used + PAIR_HEADER + keyLen >= METADATA_BLOCK_MAX) continue;
    uint8_t *value = out + used + PAIR_HEADER + keyLen;
    size_t room = METADATA_BLOCK_MAX - used - PAIR_HEADER - keyLen;
    ssize_t valueLen = open ? getxattr(path, name, value, room) : lgetxattr(path, name, value, room);
    if (valueLen < 0) continue; /* gone, too long, or not this user's to read */
    out[used] = (uint8_t)keyLen;
    put16(out + used + 1, (uint16_t)valueLen);
    memcpy(out + used + PAIR_HEADER, key, keyLen);
    used += PAIR_HEADER + (uint32_t)keyLen + (uint32_t)valueLen;
  }
  return used;
}
