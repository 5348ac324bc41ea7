/* A source: one channel from the sandbox up to the host.
 *
 * Retained sources (a process's output) keep every byte in a ring until the host acknowledges it, across connections.
 * Direct sources (files, sockets, process lists) read straight into frames and forget. */
#ifndef VIV_SOURCE_H
#define VIV_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "loop.h"
#include "ring.h"

#define WINDOW_DEFAULT 65536u
#define WINDOW_MAX (4u << 20)

struct stream;

enum source_kind { SOURCE_PIPE, SOURCE_PTY, SOURCE_SOCKET };

struct source {
  struct watch watch;
  struct task more;
  struct timer pace;
  struct stream *stream;
  struct source *nextWanted;
  struct ring ring;   /* retained: base is what the host has acknowledged, end what was read */
  uint64_t sent;      /* next byte to send on this connection */
  uint64_t sentMax;   /* the most that any connection was sent */
  uint64_t limit;     /* credit: bytes from here on may not be sent */
  uint32_t window;    /* the largest window the host has granted */
  uint64_t busyMs;    /* the millisecond that `busyBytes` counts */
  uint32_t busyBytes; /* read in that millisecond */
  uint32_t drainLeft; /* while draining: how much was in the pipe at exit and is not read yet */
  uint8_t chan;
  uint8_t kind;
  bool retained, readable, wanted, wide;
  bool muted;    /* nothing may be sent: after a reconnect until WINDOW; a file until its OK */
  bool draining; /* the process has exited */
  bool ended;    /* no byte will come behind ring.end */
  bool eofSent;
};

/* Prepares a source without a descriptor. `window` is the first credit. */
void source_init(struct source *source, struct stream *stream, uint8_t chan, bool retained, uint32_t window);
/* Takes `fd` (non-blocking) into the loop. Returns 0 or -errno; then the descriptor stays the caller's. */
int source_open(struct source *source, enum source_kind kind, int fd);
/* The descriptor may have something to read. */
void source_arrived(struct source *source);
/* WINDOW from the host. Returns -1 if the numbers break the protocol. */
int source_window(struct source *source, uint64_t acked, uint64_t limit);
/* Lets a muted source go. */
void source_unmute(struct source *source);
/* The process has exited: deliver what is in the pipe now, then end; read and discard what comes later. */
void source_drain(struct source *source);
/* The connection is gone: start again from what the host will say that it has. */
void source_disconnected(struct source *source);
/* Sends at most one frame; called by conn when there is room. */
void source_send(struct source *source);
/* Closes and frees. A retained source whose pipe others still hold hands it on to leftover_adopt. */
void source_close(struct source *source);

#endif
