/* Test helper: binds a unix socket, gives it to viv-init as descriptor 3 and becomes it.
 *
 *   launch SOCKET PROGRAM [ARG…]          as an ordinary process
 *   launch --pid1 SOCKET PROGRAM [ARG…]   as pid 1 of new pid, mount, uts, net and ipc namespaces with its own /proc and
 *                                         /dev/pts (needs root)
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static int die(const char *what) {
  fprintf(stderr, "launch: %s: %s\n", what, strerror(errno));
  return 1;
}

static int enter_namespaces(void) {
  if (unshare(CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWNET | CLONE_NEWIPC) < 0) return die("unshare");
  pid_t child = fork();
  if (child < 0) return die("fork");
  if (child) {
    int status;
    close(3);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) return die("private mounts");
  if (mount("proc", "/proc", "proc", 0, NULL) < 0) return die("/proc");
  if (mount("devpts", "/dev/pts", "devpts", 0, "newinstance,ptmxmode=0666,mode=0620") < 0) return die("/dev/pts");
  return 0;
}

int main(int argc, char **argv) {
  int pid1 = argc > 1 && !strcmp(argv[1], "--pid1");
  char **at = argv + 1 + pid1;
  if (argc < 3 + pid1) return 2;
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(at[0]) + 1 >= sizeof address.sun_path) return 2;
  snprintf(address.sun_path, sizeof address.sun_path, "%s~", at[0]);
  int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) < 0 || listen(fd, 16) < 0) return die("socket");
  /* Under its own name only now: whoever sees the name can connect. */
  if (rename(address.sun_path, at[0]) < 0) return die("rename");
  if (fd != 3 && dup2(fd, 3) < 0) return die("dup2");
  if (fd != 3) close(fd);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (pid1 && enter_namespaces()) return 1;
  execv(at[1], at + 1);
  return die(at[1]);
}
