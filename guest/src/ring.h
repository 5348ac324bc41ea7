/* A ring of bytes addressed by their absolute position in a stream: [base, end) is what it holds. The memory comes
 * from mmap on demand, is not given to forked children, and goes back as soon as the ring is empty. */
#ifndef VIV_RING_H
#define VIV_RING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#define RING_SMALL 65536u
#define RING_LARGE 1048576u
/* No output ring grows beyond RING_SMALL while all rings together have this much. */
#define RING_BUDGET (16u << 20)

struct ring {
  uint8_t *mem;
  uint32_t cap; /* zero or a power of two */
  uint64_t base;
  uint64_t end;
};

/* Makes the capacity at least `cap` (a power of two). Returns 0 or -ENOMEM. */
int ring_reserve(struct ring *ring, uint32_t cap);
/* Gives the memory back if nothing is in it. */
void ring_trim(struct ring *ring);
/* Drops content and memory; positions stay. */
void ring_drop(struct ring *ring);
/* The free part as one or two slices. Returns their number (0: full or no memory). */
int ring_free(const struct ring *ring, struct iovec iov[2]);
/* `len` bytes from position `from` as one or two slices. */
int ring_slice(const struct ring *ring, uint64_t from, uint32_t len, struct iovec iov[2]);
/* Copies `len` bytes in; the caller has checked that there is room. */
void ring_put(struct ring *ring, const uint8_t *data, uint32_t len);

static inline uint32_t ring_used(const struct ring *ring) { return (uint32_t)(ring->end - ring->base); }
static inline uint32_t ring_room(const struct ring *ring) { return ring->cap - ring_used(ring); }

/* Memory in use by all rings, in bytes. */
uint64_t ring_total(void);

#endif
