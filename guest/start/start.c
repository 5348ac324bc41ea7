/* This is viv-start, a host program: it makes the namespaces of one container and becomes its viv-init there. The edge's
 * spawner runs it, inside the container's control groups, where it would otherwise run an OCI runtime, which costs several
 * times as much. What it makes is the same (packages/edge/src/drivers/container/oci-config.ts; a test compares the two).
 *
 * Descriptors: 3 the listening control socket, which pid 1 keeps; 4 the user namespace; 5 a file that gets the answer: the
 * pid of pid 1 and a newline, and what failed, if something did. Arguments: see `main`. Everything that could be refused is refused before the
 * first command of anybody's runs inside. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/mount.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LISTENER = 3, USER_NAMESPACE = 4, ANSWER = 5 };

#define INIT_INSIDE "/dev/viv-init"
#define WORDS_MAX 63
#define RECURSIVE_AT 0x8000 /* AT_RECURSIVE */
#define COMMON (MS_NOSUID | MS_NOEXEC)

struct cell {
  const char *root, *hostname, *init, *bootId, *empty;
  const char *shmOptions, *ptsOptions, *oomScore;
  unsigned long long capabilities;
  /* What is masked by an empty directory, by /dev/null, and what is read-only. */
  char **directories, **files, **readOnly;
};

/* Both processes: ends it, with the reason in the answer. */
__attribute__((noreturn, format(printf, 1, 2))) static void fail(const char *format, ...) {
  int error = errno;
  char text[512];
  va_list args;
  va_start(args, format);
  int len = vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (len < 0 || len > (int)sizeof text - 1) len = sizeof text - 1;
  dprintf(ANSWER, "%.*s: %s\n", len, text, strerror(error));
  _exit(1);
}

/* The image may have a link in this place, and by way of /proc one can lead out of the root: to the working directory, the host's tree. */
static void mount_new(const char *type, const char *at, unsigned long flags, const char *options) {
  struct stat found;
  if (mkdir(at, 0755) < 0 && errno != EEXIST) fail("mkdir %s", at);
  if (lstat(at, &found) < 0) fail("lstat %s", at);
  if (!S_ISDIR(found.st_mode)) {
    errno = ENOTDIR;
    fail("%s of the image", at);
  }
  if (mount(type, at, type, flags, options) < 0) fail("mount %s", at);
}

/* Adds to the flags that the mount has: a user namespace may take none away. */
static void restrict_mount(const char *at, unsigned long long flags) {
  struct mount_attr attr = {.attr_set = flags};
  if (syscall(SYS_mount_setattr, AT_FDCWD, at, 0u, &attr, sizeof attr) < 0) fail("mount_setattr %s", at);
}

/* The working directory is the host's root while this is used: `source` is absolute there. False when there is no target. */
static int bind_from_host(const char *source, const char *at, unsigned long long flags) {
  if (mount(source + 1, at, NULL, MS_BIND, NULL) < 0) {
    if (errno == ENOENT || errno == ENOTDIR) return 0;
    fail("bind %s", at);
  }
  if (flags) restrict_mount(at, flags);
  return 1;
}

static void bind_new_file(const char *source, const char *at, unsigned long long flags) {
  int fd = open(at, O_CREAT | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (fd < 0) fail("create %s", at);
  close(fd);
  if (!bind_from_host(source, at, flags)) fail("bind %s", at);
}

static void make_devices(const struct cell *cell) {
  static const char *const NODES[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/random", "/dev/urandom"};
  static const char *const LINKS[][2] = {{"/proc/self/fd", "/dev/fd"},       {"/proc/self/fd/0", "/dev/stdin"},
                                         {"/proc/self/fd/1", "/dev/stdout"}, {"/proc/self/fd/2", "/dev/stderr"},
                                         {"/proc/kcore", "/dev/core"},       {"pts/ptmx", "/dev/ptmx"}};
  mount_new("tmpfs", "/dev", COMMON | MS_STRICTATIME, "mode=755,size=1024k,nr_inodes=1024");
  mount_new("devpts", "/dev/pts", COMMON, cell->ptsOptions);
  mount_new("tmpfs", "/dev/shm", COMMON | MS_NODEV, cell->shmOptions);
  mount_new("mqueue", "/dev/mqueue", COMMON | MS_NODEV, NULL);
  bind_new_file(cell->init, INIT_INSIDE, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
  for (size_t i = 0; i < sizeof NODES / sizeof *NODES; i++)
    bind_new_file(NODES[i], NODES[i], MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
  for (size_t i = 0; i < sizeof LINKS / sizeof *LINKS; i++)
    if (symlink(LINKS[i][0], LINKS[i][1]) < 0) fail("symlink %s", LINKS[i][1]);
}

static void mask(const struct cell *cell) {
  const unsigned long long flags = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;
  if (!bind_from_host(cell->bootId, "/proc/sys/kernel/random/boot_id", flags)) fail("no boot_id");
  for (char **at = cell->directories; *at; at++) bind_from_host(cell->empty, *at, flags);
  for (char **at = cell->files; *at; at++) bind_from_host("/dev/null", *at, MOUNT_ATTR_RDONLY);
  for (char **at = cell->readOnly; *at; at++) {
    if (mount(*at, *at, NULL, MS_BIND | MS_REC, NULL) == 0) restrict_mount(*at, MOUNT_ATTR_RDONLY);
    else if (errno != ENOENT) fail("bind %s", *at);
  }
}

static void loopback_up(void) {
  struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_LOOPBACK | IFF_RUNNING};
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &request) < 0) fail("loopback");
  close(fd);
}

/* Nothing beyond these is ever had again: at execve(2) root gets what the bounding set allows. */
static void bound_capabilities(unsigned long long keep) {
  for (int cap = 0; cap < 64; cap++) {
    int in = prctl(PR_CAPBSET_READ, cap, 0, 0, 0);
    if (in < 0) break;
    if (in && !(keep >> cap & 1) && prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0) fail("capability %d", cap);
  }
  if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0) fail("ambient capabilities");
}

/* Pid 1 of the new namespaces. The host's tree is in reach, below the working directory, until it is detached: /proc can
 * only be mounted in sight of another whole one (mount_too_revealing in fs/namespace.c). Every target is looked up inside
 * the new root; what is mounted over must be a directory there, for links through /proc lead out. */
__attribute__((noreturn)) static void become_init(const struct cell *cell) {
  setsid();
  umask(0);
  int host = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (host < 0) fail("open /");
  if (mount(cell->root, cell->root, NULL, MS_BIND, NULL) < 0) fail("bind the root");
  if (chdir(cell->root) < 0) fail("chdir to the root");
  if (syscall(SYS_pivot_root, ".", ".") < 0) fail("pivot_root");
  if (fchdir(host) < 0) fail("back to the host's root");
  mount_new("proc", "/proc", COMMON | MS_NODEV, NULL);
  make_devices(cell);
  mask(cell);
  if (umount2(".", MNT_DETACH) < 0) fail("detach the host's root");
  if (chdir("/") < 0) fail("chdir /");
  close(host);
  umask(022);
  loopback_up();
  if (sethostname(cell->hostname, strlen(cell->hostname)) < 0) fail("hostname");
  bound_capabilities(cell->capabilities);
  char *const argv[] = {INIT_INSIDE, "--listen-fd", "3", NULL}, *const env[] = {NULL};
  if (syscall(SYS_close_range, LISTENER + 1u, ~0u, 1u << 2 /* CLOSE_RANGE_CLOEXEC */) < 0) fail("close_range");
  execve(INIT_INSIDE, argv, env);
  fail("execve");
}

/* What only a process of the host's may do to itself. */
static void prepare(const struct cell *cell) {
  /* Exactly 1: no crash handler of the host is started, and no file is written (do_coredump in fs/coredump.c). */
  if (setrlimit(RLIMIT_CORE, &(struct rlimit){1, 1}) < 0) fail("core limit");
  int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (fd < 0 || write(fd, cell->oomScore, strlen(cell->oomScore)) < 0) fail("oom_score_adj");
  close(fd);
}

/* Root of the user namespace first, so that the others belong to it, and count against its user. */
static void enter_namespaces(void) {
  if (setns(USER_NAMESPACE, CLONE_NEWUSER) < 0) fail("the user namespace");
  if (setgroups(0, NULL) < 0 || setresgid(0, 0, 0) < 0 || setresuid(0, 0, 0) < 0) fail("root of the user namespace");
  if (unshare(CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET) < 0) fail("unshare");
}

static char **words(char *list) {
  char **all = calloc(WORDS_MAX + 1, sizeof *all);
  size_t count = 0;
  if (!all) fail("memory");
  for (char *word = strtok(list, ","); word; word = strtok(NULL, ",")) {
    if (count == WORDS_MAX) {
      errno = E2BIG;
      fail("a list of paths");
    }
    all[count++] = word;
  }
  return all;
}

int main(int argc, char **argv) {
  if (argc != 13) {
    errno = EINVAL;
    fail("%d arguments", argc);
  }
  struct cell cell = {
      .root = argv[1],
      .hostname = argv[2],
      .init = argv[3],
      .bootId = argv[4],
      .empty = argv[5],
      .shmOptions = argv[6],
      .ptsOptions = argv[7],
      .oomScore = argv[8],
      .capabilities = strtoull(argv[9], NULL, 16),
      .directories = words(argv[10]),
      .files = words(argv[11]),
      .readOnly = words(argv[12]),
  };
  int started[2];
  if (pipe2(started, O_CLOEXEC) < 0) fail("pipe");
  prepare(&cell);
  enter_namespaces();
  /* Pid 1 is a child of the spawner, which waits for it: the init of a host may take its time. */
  pid_t pid = (pid_t)syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
  if (pid < 0) fail("clone");
  if (pid == 0) become_init(&cell);
  int said = dprintf(ANSWER, "%d\n", (int)pid);
  close(started[1]);
  /* It ends when execve(2) or a failure closes the other side. */
  char none;
  while (read(started[0], &none, 1) < 0 && errno == EINTR)
    ;
  struct stat answer;
  return fstat(ANSWER, &answer) < 0 || answer.st_size != said;
}
