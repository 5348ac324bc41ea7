#define _GNU_SOURCE
#include "passage.h"

#include <errno.h>
#include <fcntl.h>

#include "le.h"
#include "sink.h"
#include "stream.h"

static struct {
  uint32_t stream, left;
  uint64_t offset;
} passage;

/* The sink, as long as its stream lives: the worker may end in the middle of a frame. */
static struct sink *target(void) {
  struct stream *stream = stream_find(passage.stream);
  return stream ? stream->down : NULL;
}

uint32_t passage_left(void) { return passage.left; }
void passage_drop(void) { passage.left = 0; }

bool passage_open(const struct frame *frame, const uint8_t *payload, size_t have) {
  if (frame->type != FRAME_DATA || have < 8 || frame->length - have < PASSAGE_MIN) return false;
  struct stream *stream = stream_find(frame->stream);
  if (!stream || !stream->down || !sink_splices(stream->down)) return false;
  passage.stream = frame->stream;
  passage.offset = le64(payload);
  passage.left = frame->length - 8;
  return true;
}

ssize_t passage_put(const uint8_t *data, size_t len) {
  uint32_t piece = len < passage.left ? (uint32_t)len : passage.left;
  if (!piece) return 0;
  struct sink *sink = target();
  if (sink && sink_data(sink, passage.offset, (struct bytes){data, piece})) return -1;
  passage.offset += piece;
  passage.left -= piece;
  return piece;
}

size_t passage_splice(int fd) {
  struct sink *sink = target();
  if (!sink || !sink_splices(sink) || !sink_allows(sink, passage.offset, passage.left)) return 0;
  for (;;) {
    ssize_t moved = splice(fd, NULL, sink->fd, NULL, passage.left, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
    if (moved < 0 && errno == EINTR) continue;
    /* Also at a full pipe, a worker that is gone, the connection's end: reading, and writing what was read, tell them apart. */
    if (moved <= 0) return 0;
    sink_moved(sink, (size_t)moved);
    passage.offset += (uint64_t)moved;
    passage.left -= (uint32_t)moved;
    return (size_t)moved;
  }
}
