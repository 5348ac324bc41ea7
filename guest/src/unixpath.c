#define _GNU_SOURCE
#include "unixpath.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "work.h"

static struct sockaddr_un address_of(const struct unixpath *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  memcpy(address.sun_path, path->path, path->len);
  return address;
}

static int open_socket(void) {
  work_as((struct bytes){0});
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) work_fail(errno, STAGE_LIMIT);
  return fd;
}

void unixpath_connect(const void *request) {
  struct sockaddr_un address = address_of(request);
  int fd = open_socket();
  if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0) work_fail(errno, STAGE_CONNECT);
  work_ok_with(fd);
  work_done();
}

void unixpath_listen(const void *request) {
  const struct unixpath *path = request;
  struct sockaddr_un address = address_of(path);
  int fd = open_socket();
  struct stat stat;
  /* A socket file that nobody listens on any more is in the way; anything else that is there stays. The probe is of
   * another type: a living listener answers EPROTOTYPE and gets no connection from it. */
  if (!lstat(address.sun_path, &stat) && S_ISSOCK(stat.st_mode)) {
    int probe = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (connect(probe, (struct sockaddr *)&address, sizeof address) < 0 && errno == ECONNREFUSED)
      unlink(address.sun_path);
    close(probe);
  }
  umask(0777 & ~path->mode);
  if (bind(fd, (struct sockaddr *)&address, sizeof address) < 0) work_fail(errno, STAGE_LISTEN);
  if (listen(fd, (int)path->backlog) < 0) work_fail(errno, STAGE_LISTEN);
  work_ok_with(fd);
  work_done();
}
