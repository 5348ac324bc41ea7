/** Makes any system call: `syscall NUMBER ARGUMENT…` prints the result or the error number, negative. */
export const SYSCALL = `
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv) {
  long a[7] = {0};
  for (int i = 1; i < argc && i < 8; i++) a[i - 1] = strtol(argv[i], NULL, 0);
  long r = syscall(a[0], a[1], a[2], a[3], a[4], a[5], a[6]);
  printf("%ld\\n", r == -1 ? -(long)errno : r);
  return 0;
}
`;

/**
 * Takes as much as it gets of something, at most MAX, prints how much, and keeps it in a child until that is killed:
 * `take timers|queues|events|tcp|udp MAX` (the last two in MiB).
 */
export const TAKE = `
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <mqueue.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static char piece[60000];
static struct sockaddr_in address;
static socklen_t length = sizeof address;

static int bound(int type) {
  int fd = socket(AF_INET, type | SOCK_NONBLOCK, 0), size = 1 << 26;
  address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
  if (bind(fd, (struct sockaddr *)&address, sizeof address)) return -1;
  getsockname(fd, (struct sockaddr *)&address, &length);
  return fd;
}

static int timer(int n) {
  timer_t id;
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
  return timer_create(CLOCK_MONOTONIC, &event, &id) ? -1 : 1;
}

static int queue(int n) {
  char name[32];
  struct mq_attr attributes = {.mq_maxmsg = 10, .mq_msgsize = 8192};
  sprintf(name, "/take%d", n);
  return mq_open(name, O_CREAT | O_RDWR, 0600, &attributes) < 0 ? -1 : 1;
}

static int event(int n) {
  unsigned long context = 0;
  return syscall(SYS_io_setup, 1000, &context) ? -1 : 1000;
}

static int tcp(int n) {
  int listener = bound(SOCK_STREAM), client = socket(AF_INET, SOCK_STREAM, 0), bytes = 0, got;
  if (listener < 0 || client < 0 || listen(listener, 1)) return -1;
  if (connect(client, (struct sockaddr *)&address, length) || accept(listener, NULL, NULL) < 0) return -1;
  fcntl(client, F_SETFL, O_NONBLOCK);
  while ((got = write(client, piece, sizeof piece)) > 0) bytes += got;
  return bytes;
}

static int udp(int n) {
  int fd = bound(SOCK_DGRAM), bytes = 0;
  if (fd < 0) return -1;
  for (int i = 0; i < 8; i++)
    if (sendto(fd, piece, sizeof piece, 0, (struct sockaddr *)&address, length) > 0) bytes += sizeof piece;
  return bytes;
}

int main(int argc, char **argv) {
  int (*take)(int) = NULL;
  long scale = 1, max = atol(argv[2]), taken = 0;
  if (!strcmp(argv[1], "timers")) take = timer;
  if (!strcmp(argv[1], "queues")) take = queue;
  if (!strcmp(argv[1], "events")) take = event;
  if (!strcmp(argv[1], "tcp")) take = tcp, scale = 1 << 20;
  if (!strcmp(argv[1], "udp")) take = udp, scale = 1 << 20;
  int ready[2];
  if (!take || pipe(ready)) return 2;
  if (fork()) {
    close(ready[1]);
    if (read(ready[0], &taken, sizeof taken) != sizeof taken) return 3;
    printf("%ld\\n", taken);
    return 0;
  }
  for (int n = 0, got; n < 200000 && taken / scale < max && (got = take(n)) >= 0; n++) taken += got;
  taken /= scale;
  if (write(ready[1], &taken, sizeof taken) < 0) return 4;
  close(ready[1]);
  for (int fd = 0; fd < 3; fd++) close(fd);
  for (;;) pause();
}
`;
