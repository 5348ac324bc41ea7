/* CONNECT and LISTEN requests: checking them, and the addresses they name. */
#ifndef VIV_ADDRESS_H
#define VIV_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "tlv.h"

enum address_tag {
  ADDRESS_FAMILY = 1,
  ADDRESS_HOST = 2,
  ADDRESS_PORT = 3,
  ADDRESS_PATH = 4,
  ADDRESS_MODE = 5,
  ADDRESS_BACKLOG = 6,
  ADDRESS_WINDOW = 7,
  ADDRESS_TAG = 8,
  ADDRESS_MAX = 9,
};

enum address_family { ADDRESS_TCP = 1, ADDRESS_UNIX = 2 };

#define ADDRESS_UNIX_MAX 107
#define ADDRESS_TAG_MAX 64

struct address {
  uint32_t family, port, mode, backlog, window, max;
  struct bytes host, path, tag;
  uint64_t seen;
};

/* Checks a CONNECT (`listen` false) or LISTEN payload. Returns 0 or -1. */
int address_parse(struct bytes payload, bool listen, struct address *address);
/* The socket address of a textual TCP host; `localhost` is 127.0.0.1, or ::1 with `six`. Returns its length, 0 if the
 * text is no address: names are not looked up. */
socklen_t address_tcp(const struct address *address, bool six, struct sockaddr_storage *out);
bool address_is_localhost(const struct address *address);

#endif
