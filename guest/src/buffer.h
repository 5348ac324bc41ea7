/* A growing byte queue for the connection's input and output. Memory comes from mmap and goes back when idle. */
#ifndef VIV_BUFFER_H
#define VIV_BUFFER_H

#include <stddef.h>
#include <stdint.h>

struct buffer {
  uint8_t *mem;
  size_t cap, start, end;
};

/* Makes room for `len` more bytes behind `end`. Returns 0 or -ENOMEM. */
int buffer_room(struct buffer *buffer, size_t len);
/* Appends a copy. Returns 0 or -ENOMEM. */
int buffer_put(struct buffer *buffer, const void *data, size_t len);
void buffer_take(struct buffer *buffer, size_t len);
void buffer_clear(struct buffer *buffer);
/* Gives memory back if nothing is queued and there is more than a page of it. */
void buffer_trim(struct buffer *buffer);

static inline size_t buffer_len(const struct buffer *buffer) { return buffer->end - buffer->start; }

#endif
