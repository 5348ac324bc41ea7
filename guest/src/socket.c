#define _GNU_SOURCE
#include "socket.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/un.h>
#include <unistd.h>

#include "address.h"
#include "conn.h"
#include "loop.h"
#include "sink.h"
#include "source.h"
#include "sys.h"
#include "unixpath.h"
#include "worker.h"

struct connection {
  struct stream stream;
  struct source up;
  struct sink down;
  struct connection *next;
  bool connecting, trySix, upDone, downDone;
  uint32_t port; /* for the second try of `localhost` */
  void (*ended)(void *owner);
  void *owner;
};

static struct connection *connections;

static void cancel(struct stream *stream);
static void up_ended(struct stream *stream, struct source *source, int error);
static void down_ended(struct stream *stream);

static const struct stream_ops ops = {cancel, up_ended, down_ended};

static void cancel(struct stream *stream) {
  struct connection *connection = OWNER(stream, struct connection, stream);
  for (struct connection **at = &connections; *at; at = &(*at)->next) {
    if (*at != connection) continue;
    *at = connection->next;
    break;
  }
  stream_remove(stream);
  sink_close(&connection->down);
  source_close(&connection->up);
  if (connection->owner) connection->ended(connection->owner);
  loop_free(connection);
}

static void end_if_done(struct connection *connection) {
  if (!connection->upDone) return;
  if (connection->downDone) return cancel(&connection->stream);
  /* The peer takes nothing more and has sent its end: nothing can happen any more. The host is told that what it may
   * still send is discarded, so that no writer of its waits for credit. */
  if (!connection->down.closed) return;
  sink_grant(&connection->down);
  cancel(&connection->stream);
}

static void up_ended(struct stream *stream, struct source *source, int error) {
  struct connection *connection = OWNER(stream, struct connection, stream);
  if (error) {
    conn_fail(stream->id, error, STAGE_OPERATION, "connection");
    return cancel(stream);
  }
  uint8_t final[8];
  memcpy(final, &source->sent, sizeof final);
  conn_send(FRAME_EOF, 1, stream->id, final, sizeof final);
  connection->upDone = true;
  end_if_done(connection);
}

static void down_ended(struct stream *stream) {
  struct connection *connection = OWNER(stream, struct connection, stream);
  /* Without the host's EOF this direction is only broken, and discards. */
  connection->downDone = connection->down.finished;
  end_if_done(connection);
}

static void connected(struct connection *connection);

static void on_ready(struct watch *watch, uint32_t events) {
  struct source *source = OWNER(watch, struct source, watch);
  struct connection *connection = OWNER(source, struct connection, up);
  if (connection->connecting) {
    if (events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) connected(connection);
    return;
  }
  if (events & EPOLLOUT) sink_writable(&connection->down);
  if (watch->fd >= 0 && events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) source_arrived(source);
}

static struct connection *make(uint32_t id, uint32_t window) {
  struct connection *connection = calloc(1, sizeof *connection);
  if (!connection) return NULL;
  source_init(&connection->up, &connection->stream, 1, false, window);
  sink_init(&connection->down, &connection->stream, SINK_SOCKET);
  stream_add(&connection->stream, id, STREAM_SOCKET, &ops);
  connection->stream.up[1] = &connection->up;
  connection->stream.down = &connection->down;
  connection->next = connections;
  connections = connection;
  return connection;
}

/* Takes over an open socket. */
static int attach(struct connection *connection, int fd) {
  int on = 1;
  /* Refused by unix sockets, which do not wait for more data anyway. */
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  int error = source_open(&connection->up, SOURCE_SOCKET, fd);
  if (error) {
    close(fd);
    return error;
  }
  connection->up.watch.ready = on_ready;
  return sink_open(&connection->down, fd);
}

static int begin_tcp(struct connection *connection, const struct address *address, bool six) {
  struct sockaddr_storage to;
  socklen_t len = address_tcp(address, six, &to);
  if (!len) return -EINVAL;
  int fd = sys_socket(to.ss_family);
  if (fd < 0) return -errno;
  if (sys_connect(fd, (struct sockaddr *)&to, len) < 0 && errno != EINPROGRESS) {
    int error = -errno;
    close(fd);
    return error;
  }
  connection->connecting = true;
  int error = attach(connection, fd);
  connection->down.writable = false;
  return error;
}

static int try_six(struct connection *connection) {
  struct address address = {.host = {(const uint8_t *)"localhost", 9}, .port = connection->port};
  connection->trySix = false;
  return begin_tcp(connection, &address, true);
}

static void give_up(struct connection *connection, int error) {
  conn_fail(connection->stream.id, error, STAGE_CONNECT, "connect");
  cancel(&connection->stream);
}

/* The outcome of a connect under way. */
static void connected(struct connection *connection) {
  int fd = connection->up.watch.fd, error = 0;
  socklen_t len = sizeof error;
  if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0) error = errno;
  if (error && connection->trySix) {
    loop_close(&connection->up.watch);
    connection->down.fd = -1;
    error = -try_six(connection);
    if (!error) return;
  }
  if (error) return give_up(connection, error);
  connection->connecting = false;
  conn_ok(connection->stream.id, NULL, 0);
  sink_writable(&connection->down);
  source_arrived(&connection->up);
}

/* A worker has connected a unix socket: the stream is a connection from now on. */
static void adopt(uint32_t id, int fd, const void *request) {
  uint32_t window = request ? *(const uint32_t *)request : WINDOW_DEFAULT;
  fcntl(fd, F_SETFL, O_NONBLOCK);
  struct connection *connection = make(id, window);
  if (!connection) {
    close(fd);
    return conn_fail(id, ENOMEM, STAGE_LIMIT, "connect");
  }
  int error = attach(connection, fd);
  if (error) return give_up(connection, -error);
  conn_ok(id, NULL, 0);
}

void socket_connect(uint32_t id, struct bytes payload) {
  struct address address;
  if (address_parse(payload, false, &address)) return conn_fail(id, EINVAL, STAGE_REQUEST, "connect");
  if (address.family == ADDRESS_UNIX) {
    struct unixpath path = {.window = address.window, .len = (uint8_t)address.path.len};
    memcpy(path.path, address.path.data, address.path.len);
    return worker_start(&(struct worker_spec){.id = id,
                                              .window = address.window,
                                              .what = "connect",
                                              .run = unixpath_connect,
                                              .request = &path,
                                              .requestSize = sizeof path,
                                              .adopt = adopt});
  }
  struct connection *connection = make(id, address.window);
  if (!connection) return conn_fail(id, ENOMEM, STAGE_LIMIT, "connect");
  connection->trySix = address_is_localhost(&address);
  connection->port = address.port;
  int error = begin_tcp(connection, &address, false);
  if (error && connection->trySix) error = try_six(connection);
  if (error) give_up(connection, -error);
}

int socket_accepted(uint32_t id, int fd, uint32_t window, void (*ended)(void *owner), void *owner) {
  struct connection *connection = make(id, window);
  if (!connection) {
    close(fd);
    return -ENOMEM;
  }
  int error = attach(connection, fd);
  if (error) {
    cancel(&connection->stream);
    return error;
  }
  connection->ended = ended;
  connection->owner = owner;
  return 0;
}

void socket_disown(void *owner) {
  for (struct connection *connection = connections; connection; connection = connection->next)
    if (connection->owner == owner) connection->owner = NULL;
}
