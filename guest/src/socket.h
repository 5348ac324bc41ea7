/* Connections: made inside for CONNECT, or accepted by a listener. Data both ways, each direction ends by itself. */
#ifndef VIV_SOCKET_H
#define VIV_SOCKET_H

#include <stdint.h>

#include "stream.h"
#include "tlv.h"

/* CONNECT on the free stream `id`. */
void socket_connect(uint32_t id, struct bytes payload);
/* Makes a stream of an accepted connection (taken over in any case). Returns 0 or -errno. `ended` is called with
 * `owner` when the stream has ended. */
int socket_accepted(uint32_t id, int fd, uint32_t window, void (*ended)(void *owner), void *owner);
/* The listener that would be told is gone. */
void socket_disown(void *owner);

#endif
