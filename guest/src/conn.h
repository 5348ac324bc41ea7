/* The connection to the host: reads frames and hands them to `dispatch`, queues answers, lets channels send data. */
#ifndef VIV_CONN_H
#define VIV_CONN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "frame.h"
#include "tlv.h"

struct source;
struct sink;

/* Takes over `fd` (non-blocking) as the only connection; one that exists is closed. Returns 0 or -errno. */
int conn_open(int fd);
void conn_close(void);
bool conn_up(void);
/* True from the host's HELLO on. */
bool conn_greeted(void);
void conn_set_greeted(void);

/* Queues one frame that is not subject to credit. Without a connection it is dropped. */
void conn_send(uint8_t type, uint8_t chan, uint32_t stream, const void *payload, uint32_t len);
void conn_ok(uint32_t stream, const void *tlv, uint32_t len);
/* FAIL with `error` (errno); the message is "<what>: <strerror>", `what` may be NULL. */
void conn_fail(uint32_t stream, int error, enum fail_stage stage, const char *what);
void conn_window(uint32_t stream, uint8_t chan, uint64_t acked, uint64_t limit);

/* Sends one DATA frame now; call only from source_send. The memory may change as soon as it returns. */
void conn_data(uint32_t stream, uint8_t chan, uint64_t offset, const struct iovec *iov, int count);
/* Asks for a call of source_send when the connection can take data. */
void conn_want(struct source *source);
void conn_unwant(struct source *source);
/* Asks for a WINDOW for the sink at the end of the round. */
void conn_credit(struct sink *sink);
void conn_uncredit(struct sink *sink);

/* End of a round: writes what is queued, then lets channels send until the socket is full. */
void conn_flush(void);
/* Gives memory back. */
void conn_trim(void);
/* 64 KiB of scratch memory that keeps nothing between calls; NULL when there is no memory. */
uint8_t *conn_scratch(void);

#endif
