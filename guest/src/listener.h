/* Listeners inside the sandbox whose connections come out as streams. */
#ifndef VIV_LISTENER_H
#define VIV_LISTENER_H

#include <stdint.h>

#include "stream.h"
#include "tlv.h"

#define LISTENER_MAX 64

/* LISTEN on the free stream `id`. */
void listener_open(uint32_t id, struct bytes payload);
void listener_state(struct stream *stream);
/* A host is there again: accept what has been waiting. */
void listener_resume(struct stream *stream);
void listener_disconnected(struct stream *stream);

#endif
