/* Little-endian integers at unaligned addresses: the only number format of the wire. */
#ifndef VIV_LE_H
#define VIV_LE_H

#include <stdint.h>
#include <string.h>

/* x86-64 and arm64 are little-endian; anything else must not compile silently wrong. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the wire format is copied as it lies in memory");

static inline uint16_t le16(const uint8_t *p) { uint16_t v; memcpy(&v, p, sizeof v); return v; }
static inline uint32_t le32(const uint8_t *p) { uint32_t v; memcpy(&v, p, sizeof v); return v; }
static inline uint64_t le64(const uint8_t *p) { uint64_t v; memcpy(&v, p, sizeof v); return v; }
static inline void put16(uint8_t *p, uint16_t v) { memcpy(p, &v, sizeof v); }
static inline void put32(uint8_t *p, uint32_t v) { memcpy(p, &v, sizeof v); }
static inline void put64(uint8_t *p, uint64_t v) { memcpy(p, &v, sizeof v); }

#endif
