/* Leftovers: output pipes of commands that have ended while a background child still holds the other end. They are
 * read and discarded, so that the child neither blocks nor dies of SIGPIPE. */
#ifndef VIV_LEFTOVER_H
#define VIV_LEFTOVER_H

#include "loop.h"

#define LEFTOVER_MAX 1024

/* Takes the descriptor out of `watch`. Beyond LEFTOVER_MAX the oldest leftover is closed. */
void leftover_adopt(struct watch *watch);

#endif
