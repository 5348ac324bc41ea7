/* The steps of CONFIG, in the order in which each still has the right that it needs. They act on pid 1, so that every
 * process of the sandbox, file workers included, inherits them and pid 1 itself is confined. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "config.h"

#define FLAG_CGROUP_NAMESPACE 1u
#define FLAG_LOOPBACK 2u
#define FLAG_READONLY_SYSCTLS 4u
#define HAS(config, tag) ((config)->seen >> (tag) & 1)

static int loopback_up(void) {
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -errno;
  struct ifreq request = {.ifr_name = "lo"};
  int error = ioctl(fd, SIOCGIFFLAGS, &request) < 0 ? -errno : 0;
  request.ifr_flags |= IFF_UP;
  if (!error && ioctl(fd, SIOCSIFFLAGS, &request) < 0) error = -errno;
  close(fd);
  return error;
}

/* `net.ipv4.ip_forward=0`, with dots or slashes between the parts of the name. */
static int set_sysctl(struct bytes setting) {
  char path[600];
  const uint8_t *equals = memchr(setting.data, '=', setting.len);
  if (!equals || equals == setting.data) return -EINVAL;
  int nameLen = (int)(equals - setting.data);
  snprintf(path, sizeof path, "/proc/sys/%.*s", nameLen, (const char *)setting.data);
  if (!strchr(path + 10, '/'))
    for (char *at = path + 10; *at; at++)
      if (*at == '.') *at = '/';
  if (strstr(path, "..")) return -EINVAL;
  int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return -errno;
  size_t len = setting.len - (size_t)nameLen - 1;
  int error = write(fd, equals + 1, len) == (ssize_t)len ? 0 : -(errno ? errno : EIO);
  close(fd);
  return error;
}

static int set_sysctls(const struct config *config) {
  struct tlv_reader reader = {.rest = config->list};
  struct bytes value;
  uint16_t tag;
  int error = 0;
  while (!error && tlv_next(&reader, &tag, &value))
    if (tag == CONFIG_SYSCTL) error = set_sysctl(value);
  return error;
}

/* In a user namespace root may write the sysctls of its own namespaces; from here on it may not. */
static int protect_sysctls(void) {
  const unsigned long flags = MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC;
  if (mount("/proc/sys", "/proc/sys", NULL, MS_BIND | MS_REC, NULL) < 0) return -errno;
  return mount(NULL, "/proc/sys", NULL, flags, NULL) < 0 ? -errno : 0;
}

static int drop_bounding(uint64_t keep) {
  for (int cap = 0; cap < 64; cap++) {
    int in = prctl(PR_CAPBSET_READ, cap);
    if (in < 0) break; /* beyond the last capability of this kernel */
    if (in && !(keep >> cap & 1) && prctl(PR_CAPBSET_DROP, cap) < 0) return -errno;
  }
  if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 && errno != EINVAL) return -errno;
  return 0;
}

static int drop_own(uint64_t keep) {
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct data[2];
  if (syscall(SYS_capget, &header, data) < 0) return -errno;
  for (int i = 0; i < 2; i++) {
    uint32_t mask = (uint32_t)(keep >> (32 * i));
    data[i].permitted &= mask;
    data[i].effective = data[i].permitted;
    data[i].inheritable &= mask;
  }
  return syscall(SYS_capset, &header, data) < 0 ? -errno : 0;
}

static int filter(struct bytes program) {
  struct sock_fprog prog = {.len = (unsigned short)(program.len / 8)};
  struct sock_filter aligned[4096];
  memcpy(aligned, program.data, program.len);
  prog.filter = aligned;
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) < 0 ? -errno : 0;
}

int config_apply(const struct config *config, const char **what) {
  int error = 0;
  *what = "cgroup namespace";
  if (config->flags & FLAG_CGROUP_NAMESPACE && unshare(CLONE_NEWCGROUP) < 0) return -errno;
  *what = "loopback";
  if (config->flags & FLAG_LOOPBACK && (error = loopback_up())) return error;
  *what = "hostname";
  if (HAS(config, CONFIG_HOSTNAME) && sethostname((const char *)config->hostname.data, config->hostname.len) < 0)
    return -errno;
  *what = "sysctl";
  if ((error = set_sysctls(config))) return error;
  if (config->flags & FLAG_READONLY_SYSCTLS && (error = protect_sysctls())) return error;
  *what = "capability bounding set";
  if (HAS(config, CONFIG_CAP_KEEP) && (error = drop_bounding(config->capKeep))) return error;
  /* Without no_new_privs a filter takes CAP_SYS_ADMIN, so it goes in before pid 1 gives that up itself. */
  *what = "seccomp";
  if (config->seccomp.len && (error = filter(config->seccomp))) return error;
  *what = "capabilities";
  return HAS(config, CONFIG_CAP_KEEP) ? drop_own(config->capKeep) : 0;
}
