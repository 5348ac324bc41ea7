/* This is viv-init, pid 1 in the sandbox, started as root by the container runtime (or by the kernel of a VM) with
 * nothing but its descriptors. The host talks to it over one stream (docs/guest-protocol.md); the sandbox can't reach
 * it: it is not dumpable, it opens nothing that the sandbox could connect to, and signals from inside do not end it (all are blocked).
 * It starts commands, keeps their output until the host has it, and reaps every orphan. It never exits on its own: it
 * leaves after SHUTDOWN, and the kernel then kills what is left. As an ordinary process, for tests, it does the same
 * for its descendants only. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conn.h"
#include "dispatch.h"
#include "frame.h"
#include "loop.h"
#include "role.h"
#include "server.h"
#include "shutdown.h"

#ifndef VIV_RELEASE
#define VIV_RELEASE "0.1.0"
#endif

static int usage(void) {
  static const char text[] = "usage: viv-init [--listen-fd N | --stream-fd N | --version]\n";
  return write(2, text, sizeof text - 1) < 0 ? 2 : 2;
}

static int fatal(const char *what, int error) {
  dprintf(2, "viv-init: %s: %s\n", what, strerror(-error));
  return 1;
}

static bool descriptor(const char *text, int *fd) {
  char *end;
  long value = strtol(text, &end, 10);
  if (*end || end == text || value < 0 || value > 1 << 20) return false;
  *fd = (int)value;
  return true;
}

int main(int argc, char **argv) {
  int fd = 3;
  bool stream = false;
  if (argc == 2 && !strcmp(argv[1], "--version")) {
    printf("viv-init %s protocol %d\n", VIV_RELEASE, FRAME_VERSION);
    return 0;
  }
  if (argc == 3) {
    stream = !strcmp(argv[1], "--stream-fd");
    if ((!stream && strcmp(argv[1], "--listen-fd")) || !descriptor(argv[2], &fd)) return usage();
  } else if (argc != 1) {
    return usage();
  }

  int signals = role_become_init(fd);
  if (signals < 0) return fatal("start", signals);
  int error = loop_open();
  if (!error) error = dispatch_open();
  if (!error) error = reaper_open(signals);
  if (!error) error = stream ? server_stream(fd) : server_listen(fd);
  if (error) return fatal(stream ? "--stream-fd" : "--listen-fd", error);
  loop_hooks(conn_flush, conn_trim);
  while (!shutdown_done()) {
    loop_round(-1);
    /* An ordinary process on one stream has nothing to wait for when that is gone. */
    if (stream && !conn_up() && !role_is_pid1()) break;
  }
  return 0;
}
