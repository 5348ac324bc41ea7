/* The descriptors between pid 1 and one command: pipes or a terminal, the status pipe, the start pipe. */
#ifndef VIV_PLUMBING_H
#define VIV_PLUMBING_H

#include "frame.h"
#include "spawn.h"

/* What ends up with the process is stolen from here, the rest closes itself. The parent's ends do not block. */
struct plumbing {
  int inRead, inWrite, outRead, outWrite, errRead, errWrite, statusRead, statusWrite, startRead, startWrite, master;
};

#define AUTO_PLUMBING __attribute__((cleanup(plumbing_close)))

/* Makes what the request needs; everything else is -1. Returns 0 or -errno with the stage at which it failed. */
int plumbing_lay(struct plumbing *plumbing, const struct spawn *spawn, enum fail_stage *stage);
void plumbing_close(struct plumbing *plumbing);

#endif
