/* Streams: what a request opened and lives on (a process, a listener, a file worker, a connection), found by id. */
#ifndef VIV_STREAM_H
#define VIV_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#define STREAM_MAX 4096

struct source;
struct sink;

enum stream_kind { STREAM_PROCESS, STREAM_LISTENER, STREAM_WORKER, STREAM_SOCKET };

struct stream;

struct stream_ops {
  /* The host ended the stream, or its connection is gone: free everything, answer nothing. */
  void (*cancel)(struct stream *stream);
  /* The descriptor behind a direct (not retained) source ended: error 0 at end of file, else errno. */
  void (*up_ended)(struct stream *stream, struct source *source, int error);
  /* Everything the host sent down, its EOF included, has been handed on, or can no longer be. */
  void (*down_ended)(struct stream *stream);
};

struct stream {
  uint32_t id;
  enum stream_kind kind;
  const struct stream_ops *ops;
  struct stream *next;
  struct source *up[3]; /* by channel; 0 is unused */
  struct sink *down;
};

struct stream *stream_find(uint32_t id);
/* Enters the stream under `id`. The caller has made sure that the id is free and that there is room. */
void stream_add(struct stream *stream, uint32_t id, enum stream_kind kind, const struct stream_ops *ops);
void stream_remove(struct stream *stream);
unsigned stream_count(void);
/* A free even id for a stream that the guest opens. */
uint32_t stream_even_id(void);
/* Calls `visit` for every stream; it may remove the one it is given, no other. */
void stream_each(void (*visit)(struct stream *stream));

#endif
