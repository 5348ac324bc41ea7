#define _GNU_SOURCE
#include "listener.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "address.h"
#include "cleanup.h"
#include "conn.h"
#include "le.h"
#include "loop.h"
#include "socket.h"
#include "sys.h"
#include "unixpath.h"
#include "worker.h"

#define ACCEPTS_PER_ROUND 32
/* Without streams, descriptors or memory nothing can be accepted: wait for some to come free. */
#define RETRY_MS 100
#define RESULT_PORT 1

struct listener {
  struct stream stream;
  struct watch watch;
  struct task more;
  struct timer retry;
  uint32_t window, max, open;
  bool readable;
  uint8_t tagLen;
  uint8_t tag[ADDRESS_TAG_MAX];
};

static unsigned count;

static void cancel(struct stream *stream) {
  struct listener *listener = OWNER(stream, struct listener, stream);
  stream_remove(stream);
  count--;
  loop_forget(&listener->more);
  loop_untimer(&listener->retry);
  loop_close(&listener->watch);
  socket_disown(listener);
  loop_free(listener);
}

/* A listener has no channels of its own. */
static void up_ended(struct stream *stream, struct source *source, int error) {
  (void)stream, (void)source, (void)error;
}
static void down_ended(struct stream *stream) { (void)stream; }

static const struct stream_ops ops = {cancel, up_ended, down_ended};

static void accept_some(struct listener *listener);

static void accept_more(struct task *task) { accept_some(OWNER(task, struct listener, more)); }

static void accept_again(struct timer *timer) { accept_some(OWNER(timer, struct listener, retry)); }

static void one_ended(void *owner) {
  struct listener *listener = owner;
  listener->open--;
  if (listener->readable) loop_defer(&listener->more, accept_more);
}

static void announce(struct listener *listener, int fd) {
  uint32_t id = stream_even_id();
  uint8_t payload[4];
  put32(payload, listener->stream.id);
  listener->open++;
  if (socket_accepted(id, fd, listener->window, one_ended, listener)) {
    listener->open--;
    return;
  }
  conn_send(FRAME_OPENED, 0, id, payload, sizeof payload);
}

static void accept_some(struct listener *listener) {
  for (int turn = 0; listener->readable && conn_greeted(); turn++) {
    if (listener->open >= listener->max) return; /* one_ended goes on */
    if (stream_count() >= STREAM_MAX) return loop_timer(&listener->retry, RETRY_MS, accept_again);
    if (turn == ACCEPTS_PER_ROUND) return loop_defer(&listener->more, accept_more);
    int fd = accept4(listener->watch.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) announce(listener, fd);
    else if (errno == EAGAIN) listener->readable = false;
    else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
      return loop_timer(&listener->retry, RETRY_MS, accept_again);
  }
}

static void on_ready(struct watch *watch, uint32_t events) {
  (void)events;
  struct listener *listener = OWNER(watch, struct listener, watch);
  listener->readable = true;
  accept_some(listener);
}

/* Makes the stream of a listening socket, which is taken over. */
static void adopt_socket(uint32_t id, int socket, uint32_t window, uint32_t max, struct bytes tag) {
  AUTO_CLOSE int fd = socket;
  struct listener *listener = calloc(1, sizeof *listener);
  if (!listener) return conn_fail(id, ENOMEM, STAGE_LIMIT, "listen");
  fcntl(fd, F_SETFL, O_NONBLOCK);
  int error = loop_watch(&listener->watch, fd, on_ready);
  if (error) {
    free(listener);
    return conn_fail(id, -error, STAGE_LIMIT, "listen");
  }
  struct sockaddr_storage bound = {0};
  socklen_t len = sizeof bound;
  uint8_t result[TLV_HEADER + 4];
  getsockname(steal(&fd), (struct sockaddr *)&bound, &len);
  uint16_t port = bound.ss_family == AF_INET    ? ((struct sockaddr_in *)&bound)->sin_port
                  : bound.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&bound)->sin6_port
                                                : 0;
  listener->window = window;
  listener->max = max;
  listener->tagLen = (uint8_t)tag.len;
  if (tag.len) memcpy(listener->tag, tag.data, tag.len);
  stream_add(&listener->stream, id, STREAM_LISTENER, &ops);
  count++;
  tlv_put32(result, RESULT_PORT, ntohs(port));
  conn_ok(id, result, sizeof result);
}

static void adopt_unix(uint32_t id, int fd, const void *request) {
  const struct unixpath *path = request;
  if (path) return adopt_socket(id, fd, path->window, path->max, (struct bytes){path->tag, path->tagLen});
  close(fd);
  conn_fail(id, ENOMEM, STAGE_LIMIT, "listen");
}

static void listen_unix(uint32_t id, const struct address *address) {
  struct unixpath path = {.window = address->window,
                          .mode = address->mode,
                          .backlog = address->backlog,
                          .max = address->max,
                          .len = (uint8_t)address->path.len,
                          .tagLen = (uint8_t)address->tag.len};
  memcpy(path.path, address->path.data, address->path.len);
  if (address->tag.len) memcpy(path.tag, address->tag.data, address->tag.len);
  worker_start(&(struct worker_spec){.id = id,
                                     .what = "listen",
                                     .run = unixpath_listen,
                                     .request = &path,
                                     .requestSize = sizeof path,
                                     .adopt = adopt_unix});
}

static int open_tcp(const struct address *address) {
  struct sockaddr_storage at;
  socklen_t len = address_tcp(address, false, &at);
  if (!len) return -EINVAL;
  AUTO_CLOSE int fd = sys_socket(at.ss_family);
  int on = 1;
  if (fd < 0) return -errno;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (sys_bind(fd, (struct sockaddr *)&at, len) < 0 || listen(fd, (int)address->backlog) < 0) return -errno;
  return steal(&fd);
}

void listener_open(uint32_t id, struct bytes payload) {
  struct address address;
  if (address_parse(payload, true, &address)) return conn_fail(id, EINVAL, STAGE_REQUEST, "listen");
  if (count >= LISTENER_MAX) return conn_fail(id, ENOSPC, STAGE_LIMIT, "listeners");
  if (address.family == ADDRESS_UNIX) return listen_unix(id, &address);
  int fd = open_tcp(&address);
  if (fd < 0) return conn_fail(id, -fd, STAGE_LISTEN, "listen");
  adopt_socket(id, fd, address.window, address.max, address.tag);
}

void listener_state(struct stream *stream) {
  struct listener *listener = OWNER(stream, struct listener, stream);
  uint8_t state[160], *at = state;
  at = tlv_put32(at, 1, 2);
  at = tlv_put(at, 8, listener->tag, listener->tagLen);
  conn_send(FRAME_STATE, 0, stream->id, state, (uint32_t)(at - state));
}

void listener_resume(struct stream *stream) { accept_some(OWNER(stream, struct listener, stream)); }

void listener_disconnected(struct stream *stream) { loop_forget(&OWNER(stream, struct listener, stream)->more); }
