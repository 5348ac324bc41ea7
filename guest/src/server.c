#define _GNU_SOURCE
#include "server.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "conn.h"
#include "loop.h"

/* What may be on its way to the host: the default holds two or three frames, and each then costs a change of process.
 * The kernel cuts it to net.core.wmem_max (socket(7)). */
#define SEND_BUFFER (1 << 20)

static struct watch listening = {.fd = -1};

static void on_ready(struct watch *watch, uint32_t events) {
  (void)events;
  for (;;) {
    int fd = accept4(watch->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0 && (errno == EINTR || errno == ECONNABORTED)) continue;
    if (fd < 0) return;
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &(int){SEND_BUFFER}, sizeof(int));
    if (conn_open(fd)) close(fd);
  }
}

static int prepare(int fd) {
  int flags = fcntl(fd, F_GETFL);
  if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) < 0) return -errno;
  return 0;
}

int server_listen(int fd) {
  int error = prepare(fd);
  return error ? error : loop_watch(&listening, fd, on_ready);
}

int server_stream(int fd) {
  int error = prepare(fd);
  return error ? error : conn_open(fd);
}
