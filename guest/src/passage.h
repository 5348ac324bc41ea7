/* A passage: one DATA frame for a file worker under way. Its payload goes from the connection to the worker's pipe
 * piece by piece as it comes, by splice(2) where the pipe takes it, so that most of a file never enters this process. */
#ifndef VIV_PASSAGE_H
#define VIV_PASSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "frame.h"

/* What is already in memory, or is less than this, is cheaper to write. */
#define PASSAGE_MIN 8192u

/* Opens one for a frame of which `have` bytes of payload have come. False: the frame is to be taken whole. */
bool passage_open(const struct frame *frame, const uint8_t *payload, size_t have);
/* Payload that was read into memory; takes at most what is left of the frame and returns how much, or -1 if its numbers
 * break the protocol. */
ssize_t passage_put(const uint8_t *data, size_t len);
/* Moves what it can from `fd` without reading it. 0: the bytes must be read (or none are there). */
size_t passage_splice(int fd);
/* Bytes of the frame that are still to come; zero when none is open. */
uint32_t passage_left(void);
/* The connection is gone. */
void passage_drop(void);

#endif
