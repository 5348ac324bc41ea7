#include "stream.h"

#include <stddef.h>

#define BUCKETS 256

static struct stream *buckets[BUCKETS];
static unsigned count;
static uint32_t lastEven;

static struct stream **bucket_of(uint32_t id) { return &buckets[(id >> 1) % BUCKETS]; }

struct stream *stream_find(uint32_t id) {
  for (struct stream *stream = *bucket_of(id); stream; stream = stream->next)
    if (stream->id == id) return stream;
  return NULL;
}

void stream_add(struct stream *stream, uint32_t id, enum stream_kind kind, const struct stream_ops *ops) {
  struct stream **bucket = bucket_of(id);
  stream->id = id;
  stream->kind = kind;
  stream->ops = ops;
  stream->next = *bucket;
  *bucket = stream;
  count++;
}

void stream_remove(struct stream *stream) {
  for (struct stream **at = bucket_of(stream->id); *at; at = &(*at)->next) {
    if (*at != stream) continue;
    *at = stream->next;
    count--;
    return;
  }
}

unsigned stream_count(void) { return count; }

uint32_t stream_even_id(void) {
  do lastEven += 2;
  while (!lastEven || stream_find(lastEven));
  return lastEven;
}

void stream_each(void (*visit)(struct stream *stream)) {
  for (int i = 0; i < BUCKETS; i++) {
    struct stream *next;
    for (struct stream *stream = buckets[i]; stream; stream = next) {
      next = stream->next;
      visit(stream);
    }
  }
}
