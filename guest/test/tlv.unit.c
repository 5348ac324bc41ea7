#include <string.h>

#include "../src/le.h"
#include "../src/tlv.h"
#include "unit.h"

struct request {
  uint32_t number, strings, blocks;
  uint64_t large;
  struct bytes text, raw;
};

static const struct tlv_rule rules[] = {
    {1, TLV_U32, offsetof(struct request, number), 0},  {2, TLV_U64, offsetof(struct request, large), 0},
    {3, TLV_STRING, offsetof(struct request, text), 5}, {4, TLV_BYTES, offsetof(struct request, raw), 4},
    {5, TLV_STRINGS, offsetof(struct request, strings), 0}, {6, TLV_BLOCKS, offsetof(struct request, blocks), 3},
};

static int parse(const uint8_t *list, size_t len, struct request *request, uint64_t *seen) {
  memset(request, 0, sizeof *request);
  return tlv_parse((struct bytes){list, (uint32_t)len}, rules, 6, request, seen);
}

static int parse_one(uint16_t tag, const void *value, uint32_t len) {
  uint8_t list[64];
  struct request request;
  uint64_t seen;
  return parse(list, (size_t)(tlv_put(list, tag, value, len) - list), &request, &seen);
}

static void fills(void) {
  uint8_t list[256], *at = list;
  struct request request;
  uint64_t seen;
  at = tlv_put32(at, 1, 42);
  at = tlv_put64(at, 2, UINT64_MAX);
  at = tlv_put(at, 3, "hello", 5);
  at = tlv_put(at, 4, "\0\1", 2);
  at = tlv_put(at, 5, "one", 3);
  at = tlv_put(at, 5, "", 0);
  at = tlv_put(at, 6, "abc", 3);
  CHECK(!parse(list, (size_t)(at - list), &request, &seen));
  CHECK(request.number == 42 && request.large == UINT64_MAX && request.strings == 2 && request.blocks == 1);
  CHECK(request.text.len == 5 && !memcmp(request.text.data, "hello", 5) && request.raw.len == 2 && seen == 0x7e);
}

static void refuses(void) {
  CHECK(parse_one(9, "", 0));        /* unknown */
  CHECK(parse_one(1, "abc", 3));     /* a number of another size */
  CHECK(parse_one(2, "abcd", 4));
  CHECK(parse_one(3, "", 0));        /* an empty string */
  CHECK(parse_one(3, "a\0b", 3));    /* NUL inside */
  CHECK(parse_one(3, "123456", 6));  /* too long */
  CHECK(parse_one(5, "a\0", 2));
  CHECK(parse_one(6, "ab", 2));      /* a block of another size */
}

static void refuses_repetition(void) {
  uint8_t list[64];
  struct request request;
  uint64_t seen;
  uint8_t *at = tlv_put32(tlv_put32(list, 1, 1), 1, 2);
  CHECK(parse(list, (size_t)(at - list), &request, &seen));
}

static void refuses_every_cut(void) {
  uint8_t list[64];
  struct request request;
  uint64_t seen;
  size_t len = (size_t)(tlv_put(list, 3, "abc", 3) - list);
  for (size_t cut = 1; cut < len; cut++) CHECK(parse(list, cut, &request, &seen));
  put32(list + 4, UINT32_MAX); /* a length that would wrap around */
  CHECK(parse(list, len, &request, &seen));
  put32(list + 4, 3);
  put16(list + 2, 1); /* the reserved field */
  CHECK(parse(list, len, &request, &seen));
}

const struct unit tlv_units[] = {
    {"a request is filled from its tags", fills},
    {"a tag that is unknown or has a wrong value is refused", refuses},
    {"a tag that may not repeat is refused the second time", refuses_repetition},
    {"a list cut anywhere, or with lying lengths, is refused", refuses_every_cut},
    {0},
};
