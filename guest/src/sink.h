/* A sink: channel 0, from the host down to a process's input, a file worker or a socket. What the descriptor does not
 * take at once waits in a ring; the credit given to the host is what fits there. */
#ifndef VIV_SINK_H
#define VIV_SINK_H

#include <stdbool.h>
#include <stdint.h>

#include "loop.h"
#include "ring.h"
#include "tlv.h"

struct stream;

enum sink_kind { SINK_PIPE, SINK_PTY, SINK_SOCKET };

struct sink {
  struct watch watch; /* unused for PTY and SOCKET: they share the source's */
  struct stream *stream;
  struct sink *nextDue;
  struct ring ring; /* base: handed on; end: received */
  uint64_t limit;
  uint32_t window;
  int fd;
  uint8_t kind;
  uint8_t lastByte;
  bool writable, creditDue;
  bool direct;   /* a file worker's pipe: filled by splice, and credit is for what the worker has taken out of it */
  bool finished; /* the host's EOF has come */
  bool closed;   /* nothing can be handed on any more: discard */
};

void sink_init(struct sink *sink, struct stream *stream, enum sink_kind kind);
/* For SINK_PIPE takes `fd` into the loop and owns it; for the others only uses it. Returns 0 or -errno. */
int sink_open(struct sink *sink, int fd);
/* DATA and EOF from the host. Return -1 if the numbers break the protocol. */
int sink_data(struct sink *sink, uint64_t offset, struct bytes data);
int sink_eof(struct sink *sink, uint64_t final);
/* May bytes go into the descriptor now, past the ring? */
bool sink_splices(const struct sink *sink);
/* Would `len` bytes at `offset` be in order and within the credit? */
bool sink_allows(const struct sink *sink, uint64_t offset, uint32_t len);
/* That many went there. */
void sink_moved(struct sink *sink, size_t len);
/* The descriptor may take more. */
void sink_writable(struct sink *sink);
/* Nobody reads any more: discard what waits and all that comes. */
void sink_break(struct sink *sink);
/* Sends the WINDOW that is due. */
void sink_grant(struct sink *sink);
void sink_close(struct sink *sink);

#endif
