/* TLV lists: `tag u16, zero u16, len u32, value`. Requests are described by a table of rules, so that every tag is
 * checked in one place: known, not repeated unless allowed, of the right length, strings without NUL. */
#ifndef VIV_TLV_H
#define VIV_TLV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TLV_HEADER 8

struct bytes {
  const uint8_t *data;
  uint32_t len;
};

struct tlv_reader {
  struct bytes rest;
  bool bad;
};

enum tlv_type {
  TLV_U32,    /* stored as uint32_t at `offset` */
  TLV_U64,    /* stored as uint64_t */
  TLV_STRING, /* stored as struct bytes; no NUL inside, not empty */
  TLV_BYTES,  /* stored as struct bytes */
  TLV_STRINGS, /* repeatable; counted as uint32_t, read again with tlv_next */
  TLV_BLOCKS, /* repeatable blocks of exactly `max` bytes; counted as uint32_t */
};

struct tlv_rule {
  uint16_t tag; /* 1..63 */
  uint8_t type;
  uint16_t offset; /* of the member in the request structure */
  uint32_t max;    /* longest value of STRING, STRINGS and BYTES; 0: no limit but the frame's */
};

/* Next tag and value. Returns false at the end and, with `bad` set, at the first malformed item. */
bool tlv_next(struct tlv_reader *reader, uint16_t *tag, struct bytes *value);

/* Fills `request` after `rules`. `seen` gets one bit per tag. Returns 0, or -1 for a malformed or unknown item. */
int tlv_parse(struct bytes list, const struct tlv_rule *rules, size_t count, void *request, uint64_t *seen);

/* Appends one item at `at` (the caller has made room) and returns the position behind it. */
uint8_t *tlv_put(uint8_t *at, uint16_t tag, const void *value, uint32_t len);
uint8_t *tlv_put32(uint8_t *at, uint16_t tag, uint32_t value);
uint8_t *tlv_put64(uint8_t *at, uint16_t tag, uint64_t value);

#endif
