/* What the fuzzer's stand-ins for system calls tell about themselves. */
#ifndef VIV_STUBS_H
#define VIV_STUBS_H

#include <sys/types.h>

/* The pids handed out since the fuzzer last looked. */
extern pid_t stub_first, stub_last;

#endif
