#include <stdlib.h>
#include <string.h>

#include "../src/ring.h"
#include "unit.h"

static uint8_t pattern(uint64_t position) { return (uint8_t)(position * 31 + (position >> 8)); }

static void put(struct ring *ring, uint32_t len) {
  for (uint32_t i = 0; i < len; i++) {
    uint8_t byte = pattern(ring->end);
    ring_put(ring, &byte, 1);
  }
}

static void check(const struct ring *ring, uint64_t from, uint32_t len) {
  struct iovec iov[2];
  int slices = ring_slice(ring, from, len, iov);
  for (int i = 0; i < slices; i++)
    for (size_t k = 0; k < iov[i].iov_len; k++) CHECK(((uint8_t *)iov[i].iov_base)[k] == pattern(from++));
}

static void wraps_and_grows(void) {
  struct ring ring = {.base = 1000, .end = 1000};
  struct iovec iov[2];
  CHECK(ring_free(&ring, iov) == 0);
  CHECK(!ring_reserve(&ring, RING_SMALL));
  put(&ring, RING_SMALL - 10);
  ring.base += 40000;
  put(&ring, 30000);
  CHECK(ring_free(&ring, iov) == 1 || ring_free(&ring, iov) == 2);
  check(&ring, ring.base, ring_used(&ring));
  CHECK(!ring_reserve(&ring, RING_LARGE));
  check(&ring, ring.base, ring_used(&ring));
  put(&ring, ring_room(&ring));
  CHECK(ring_room(&ring) == 0 && ring_free(&ring, iov) == 0);
  check(&ring, ring.base, ring_used(&ring));
  ring_drop(&ring);
}

static void gives_back(void) {
  struct ring ring = {0};
  uint64_t before = ring_total();
  CHECK(!ring_reserve(&ring, RING_SMALL));
  put(&ring, 5);
  ring_trim(&ring);
  CHECK(ring.cap == RING_SMALL);
  ring.base = ring.end;
  ring_trim(&ring);
  CHECK(ring.cap == 0 && ring.end == 5 && ring_total() == before);
}

const struct unit ring_units[] = {
    {"a ring keeps its bytes when it wraps and when it grows", wraps_and_grows},
    {"a ring gives its memory back when it is empty", gives_back},
    {0},
};
