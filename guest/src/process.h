/* Processes that the host started: from SPAWN to RELEASE. */
#ifndef VIV_PROCESS_H
#define VIV_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "sink.h"
#include "source.h"
#include "stream.h"
#include "tlv.h"

#define PROCESS_MAX 1024
#define PROCESS_TAG_MAX 64
#define EXIT_BLOCK 32

enum process_phase { PHASE_WAITING = 1, PHASE_RUNNING = 2, PHASE_EXITED = 3 };

struct process {
  struct stream stream;
  struct source out, err;
  struct sink in;
  struct watch status; /* end of file: execve succeeded; eight bytes: {errno, stage} */
  struct process *nextByPid;
  uint64_t serial; /* also the mark that descendants inherit, see tree.c */
  pid_t pid;
  int startFd; /* a byte written here lets the waiting child go; -1 when it has gone */
  int ptyFd;   /* the terminal's master, owned by `out`; -1 without one */
  uint8_t phase;
  bool hasErr, hasIn, started;
  uint8_t tagLen;
  uint8_t tag[PROCESS_TAG_MAX];
  uint8_t exit[EXIT_BLOCK];
  uint32_t failErrno, failStage; /* a FAIL that no host has been there to take */
};

/* SPAWN on the free stream `id`: answers SPAWNED or FAIL. */
void process_spawn(uint32_t id, struct bytes payload);
void process_start(struct process *process);
void process_signal(struct process *process, uint32_t signal, uint32_t scope);
void process_resize(struct process *process, uint16_t rows, uint16_t cols);
/* RELEASE. Returns -1 if the process has not exited. */
int process_release(struct process *process);
/* A child of pid 1 has ended and was reaped. */
void process_reaped(pid_t pid, int status, const struct rusage *usage);
/* The live process with that pid, if the host started it. */
struct process *process_of_pid(pid_t pid);
/* Sends STATE; later, what is due after READY. */
void process_state(struct process *process);
void process_resume(struct process *process);
/* The connection is gone. */
void process_disconnected(struct process *process);

#endif
