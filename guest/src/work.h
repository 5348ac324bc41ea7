/* Workers, seen from inside: this is a child of pid 1 that has become the user and does one piece of work. */
#ifndef VIV_WORK_H
#define VIV_WORK_H

#include <stddef.h>
#include <stdint.h>

#include "frame.h"
#include "tlv.h"
#include "user.h"

#define WORK_CONTROL_FD 3
#define WORK_DATA_FD 4
#define WORK_PROC_FD 5
#define WORK_MESSAGE_MAX 12288

enum work_message { WORK_OK = 'O', WORK_FAIL = 'F', WORK_DONE = 'D' };

/* Leaves pid 1's descriptors behind; called first in the child. `data` is -1 where there is none. */
void work_enter(int control, int data);
/* Becomes `user` (a SPAWN user spec) and goes to the home directory. Fails with STAGE_USER. */
const struct user *work_as(struct bytes user);
/* The same, but keeps the rights of pid 1: only what it makes is the user's. */
const struct user *work_for(struct bytes user);

/* Reports the result. */
void work_ok(const void *tlv, uint32_t len);
/* The same, and hands over a descriptor. */
void work_ok_with(int fd);
_Noreturn void work_fail(int error, enum fail_stage stage);
_Noreturn void work_done(void);
/* Writes all of it to the data pipe. If nobody wants it any more, the worker ends here. */
void work_write(const void *data, size_t len);

#endif
