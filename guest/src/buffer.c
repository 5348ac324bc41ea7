#define _GNU_SOURCE
#include "buffer.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE 4096u

int buffer_room(struct buffer *buffer, size_t len) {
  if (buffer->cap - buffer->end >= len) return 0;
  size_t used = buffer_len(buffer);
  if (used + len <= buffer->cap) {
    memmove(buffer->mem, buffer->mem + buffer->start, used);
  } else {
    size_t cap = buffer->cap ? buffer->cap : PAGE;
    while (cap < used + len) cap *= 2;
    uint8_t *mem = mmap(NULL, cap, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mem == MAP_FAILED) return -ENOMEM;
    if (used) memcpy(mem, buffer->mem + buffer->start, used);
    if (buffer->cap) munmap(buffer->mem, buffer->cap);
    buffer->mem = mem;
    buffer->cap = cap;
  }
  buffer->start = 0;
  buffer->end = used;
  return 0;
}

int buffer_put(struct buffer *buffer, const void *data, size_t len) {
  if (buffer_room(buffer, len)) return -ENOMEM;
  if (len) memcpy(buffer->mem + buffer->end, data, len);
  buffer->end += len;
  return 0;
}

void buffer_take(struct buffer *buffer, size_t len) {
  buffer->start += len;
  if (buffer->start == buffer->end) buffer->start = buffer->end = 0;
}

void buffer_clear(struct buffer *buffer) {
  if (buffer->cap) munmap(buffer->mem, buffer->cap);
  *buffer = (struct buffer){0};
}

void buffer_trim(struct buffer *buffer) {
  if (!buffer_len(buffer) && buffer->cap > PAGE) buffer_clear(buffer);
}
