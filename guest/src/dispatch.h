/* What each frame of the host means. */
#ifndef VIV_DISPATCH_H
#define VIV_DISPATCH_H

#include "frame.h"
#include "tlv.h"

/* Makes the boot nonce. Returns 0 or -errno. */
int dispatch_open(void);
/* Acts on one frame; the payload is valid during the call only. Returns -1 on a protocol error. */
int dispatch_frame(const struct frame *frame, struct bytes payload);
/* The connection is gone: processes and listeners stay, everything else ends. */
void dispatch_disconnected(void);

#endif
