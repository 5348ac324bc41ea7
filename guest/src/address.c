#define _GNU_SOURCE
#include "address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "source.h"

#define BIT(tag) (UINT64_C(1) << (tag))
#define LISTEN_ONLY (BIT(ADDRESS_MODE) | BIT(ADDRESS_BACKLOG) | BIT(ADDRESS_TAG) | BIT(ADDRESS_MAX))

static const struct tlv_rule rules[] = {
    {ADDRESS_FAMILY, TLV_U32, offsetof(struct address, family), 0},
    {ADDRESS_HOST, TLV_STRING, offsetof(struct address, host), 64},
    {ADDRESS_PORT, TLV_U32, offsetof(struct address, port), 0},
    {ADDRESS_PATH, TLV_STRING, offsetof(struct address, path), ADDRESS_UNIX_MAX},
    {ADDRESS_MODE, TLV_U32, offsetof(struct address, mode), 0},
    {ADDRESS_BACKLOG, TLV_U32, offsetof(struct address, backlog), 0},
    {ADDRESS_WINDOW, TLV_U32, offsetof(struct address, window), 0},
    {ADDRESS_TAG, TLV_BYTES, offsetof(struct address, tag), ADDRESS_TAG_MAX},
    {ADDRESS_MAX, TLV_U32, offsetof(struct address, max), 0},
};

int address_parse(struct bytes payload, bool listening, struct address *address) {
  *address = (struct address){.mode = 0666, .backlog = 128, .window = WINDOW_DEFAULT, .max = 256};
  if (tlv_parse(payload, rules, sizeof rules / sizeof *rules, address, &address->seen)) return -1;
  bool tcp = address->family == ADDRESS_TCP, local = address->family == ADDRESS_UNIX;
  if (!tcp && !local) return -1;
  if (tcp && (address->path.len || !(address->seen & BIT(ADDRESS_PORT)) || address->port > 65535)) return -1;
  if (local && (!address->path.len || address->host.len || address->seen & BIT(ADDRESS_PORT))) return -1;
  if (!listening && address->seen & LISTEN_ONLY) return -1;
  if (tcp && !listening && !address->port) return -1;
  if (address->window > WINDOW_MAX || address->mode > 0777 || address->backlog > 4096 || !address->max) return -1;
  return 0;
}

bool address_is_localhost(const struct address *address) {
  return address->host.len == 9 && !memcmp(address->host.data, "localhost", 9);
}

socklen_t address_tcp(const struct address *address, bool six, struct sockaddr_storage *out) {
  char host[65] = "127.0.0.1";
  if (address_is_localhost(address)) {
    strcpy(host, six ? "::1" : "127.0.0.1");
  } else if (address->host.len) {
    memcpy(host, address->host.data, address->host.len);
    host[address->host.len] = 0;
  }
  struct sockaddr_in *four = (struct sockaddr_in *)out;
  struct sockaddr_in6 *long6 = (struct sockaddr_in6 *)out;
  memset(out, 0, sizeof *out);
  if (inet_pton(AF_INET, host, &four->sin_addr) == 1) {
    four->sin_family = AF_INET;
    four->sin_port = htons((uint16_t)address->port);
    return sizeof *four;
  }
  if (inet_pton(AF_INET6, host, &long6->sin6_addr) == 1) {
    long6->sin6_family = AF_INET6;
    long6->sin6_port = htons((uint16_t)address->port);
    return sizeof *long6;
  }
  return 0;
}
