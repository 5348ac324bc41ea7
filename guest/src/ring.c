#define _GNU_SOURCE
#include "ring.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

static uint64_t total;

uint64_t ring_total(void) { return total; }

static int split(const struct ring *ring, uint64_t from, uint32_t len, struct iovec iov[2]) {
  if (!len) return 0;
  uint32_t start = (uint32_t)from & (ring->cap - 1);
  uint32_t first = ring->cap - start < len ? ring->cap - start : len;
  iov[0].iov_base = ring->mem + start;
  iov[0].iov_len = first;
  if (first == len) return 1;
  iov[1].iov_base = ring->mem;
  iov[1].iov_len = len - first;
  return 2;
}

int ring_reserve(struct ring *ring, uint32_t cap) {
  if (cap <= ring->cap) return 0;
  uint8_t *mem = mmap(NULL, cap, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mem == MAP_FAILED) return -ENOMEM;
  /* Output of one command is no business of the children forked for another. */
  madvise(mem, cap, MADV_DONTFORK);
  struct ring grown = {.mem = mem, .cap = cap, .base = ring->base, .end = ring->base};
  struct iovec iov[2];
  int slices = ring_slice(ring, ring->base, ring_used(ring), iov);
  for (int i = 0; i < slices; i++) ring_put(&grown, iov[i].iov_base, (uint32_t)iov[i].iov_len);
  ring_drop(ring);
  total += cap;
  *ring = grown;
  return 0;
}

void ring_trim(struct ring *ring) {
  if (ring->cap && ring->base == ring->end) ring_drop(ring);
}

void ring_drop(struct ring *ring) {
  if (!ring->cap) return;
  munmap(ring->mem, ring->cap);
  total -= ring->cap;
  ring->mem = NULL;
  ring->cap = 0;
}

int ring_free(const struct ring *ring, struct iovec iov[2]) { return split(ring, ring->end, ring_room(ring), iov); }

int ring_slice(const struct ring *ring, uint64_t from, uint32_t len, struct iovec iov[2]) {
  return split(ring, from, len, iov);
}

void ring_put(struct ring *ring, const uint8_t *data, uint32_t len) {
  struct iovec iov[2];
  int slices = split(ring, ring->end, len, iov);
  for (int i = 0; i < slices; i++) {
    memcpy(iov[i].iov_base, data, iov[i].iov_len);
    data += iov[i].iov_len;
  }
  ring->end += len;
}
