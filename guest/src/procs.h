/* PROCS: the process list of the sandbox. */
#ifndef VIV_PROCS_H
#define VIV_PROCS_H

/* The worker's part. Never returns. */
void procs_run(const void *request);

#endif
