#ifndef VIV_LISTENER_H
#define VIV_LISTENER_H
#include "stream.h"
#include "tlv.h"
void listener_open(uint32_t id, struct bytes payload);
void listener_state(struct stream *stream);
void listener_resume(struct stream *stream);
void listener_disconnected(struct stream *stream);
#endif
