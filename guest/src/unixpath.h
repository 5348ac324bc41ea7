/* Unix sockets by path, in a worker: looking a path up may block, which pid 1 must not. */
#ifndef VIV_UNIXPATH_H
#define VIV_UNIXPATH_H

#include <stdint.h>

#include "address.h"

struct unixpath {
  uint32_t window; /* first, so that it is found without knowing the rest */
  uint32_t mode, backlog, max;
  uint8_t len, tagLen;
  char path[ADDRESS_UNIX_MAX];
  uint8_t tag[ADDRESS_TAG_MAX];
};

/* The worker's parts; each ends with work_ok_with the socket. Never return. */
void unixpath_connect(const void *request);
void unixpath_listen(const void *request);

#endif
