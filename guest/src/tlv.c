#include "tlv.h"

#include <string.h>

#include "le.h"

bool tlv_next(struct tlv_reader *reader, uint16_t *tag, struct bytes *value) {
  struct bytes *rest = &reader->rest;
  if (reader->bad || rest->len == 0) return false;
  if (rest->len < TLV_HEADER || le16(rest->data + 2) != 0 || le32(rest->data + 4) > rest->len - TLV_HEADER) {
    reader->bad = true;
    return false;
  }
  *tag = le16(rest->data);
  value->data = rest->data + TLV_HEADER;
  value->len = le32(rest->data + 4);
  rest->data += TLV_HEADER + value->len;
  rest->len -= TLV_HEADER + value->len;
  return true;
}

static int store(const struct tlv_rule *rule, struct bytes value, uint8_t *field) {
  bool tooLong = rule->max && value.len > rule->max;
  switch (rule->type) {
    case TLV_U32:
      if (value.len != 4) return -1;
      memcpy(field, value.data, 4);
      return 0;
    case TLV_U64:
      if (value.len != 8) return -1;
      memcpy(field, value.data, 8);
      return 0;
    case TLV_STRING:
      if (!value.len || tooLong || memchr(value.data, 0, value.len)) return -1;
      memcpy(field, &value, sizeof value);
      return 0;
    case TLV_BYTES:
      if (tooLong) return -1;
      memcpy(field, &value, sizeof value);
      return 0;
    case TLV_STRINGS:
      if (tooLong || (value.len && memchr(value.data, 0, value.len))) return -1;
      break;
    case TLV_BLOCKS:
      if (value.len != rule->max) return -1;
      break;
  }
  uint32_t count;
  memcpy(&count, field, sizeof count);
  count++;
  memcpy(field, &count, sizeof count);
  return 0;
}

int tlv_parse(struct bytes list, const struct tlv_rule *rules, size_t count, void *request, uint64_t *seen) {
  struct tlv_reader reader = {.rest = list};
  uint16_t tag;
  struct bytes value;
  *seen = 0;
  while (tlv_next(&reader, &tag, &value)) {
    const struct tlv_rule *rule = NULL;
    for (size_t i = 0; i < count; i++)
      if (rules[i].tag == tag) rule = &rules[i];
    if (!rule) return -1;
    bool repeatable = rule->type == TLV_STRINGS || rule->type == TLV_BLOCKS;
    if (!repeatable && (*seen >> tag & 1)) return -1;
    if (store(rule, value, (uint8_t *)request + rule->offset)) return -1;
    *seen |= UINT64_C(1) << tag;
  }
  return reader.bad ? -1 : 0;
}

uint8_t *tlv_put(uint8_t *at, uint16_t tag, const void *value, uint32_t len) {
  put16(at, tag);
  put16(at + 2, 0);
  put32(at + 4, len);
  if (len) memcpy(at + TLV_HEADER, value, len);
  return at + TLV_HEADER + len;
}

uint8_t *tlv_put32(uint8_t *at, uint16_t tag, uint32_t value) { return tlv_put(at, tag, &value, sizeof value); }

uint8_t *tlv_put64(uint8_t *at, uint16_t tag, uint64_t value) { return tlv_put(at, tag, &value, sizeof value); }
