#ifndef VIV_WORKER_H
#define VIV_WORKER_H
#include <sys/types.h>
void worker_reaped(pid_t pid);
#endif
