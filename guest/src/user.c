#define _GNU_SOURCE
#include "user.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TABLE_MAX (8 << 20)
#define FIELDS 7

/* The whole file, NUL-terminated, or NULL. Never waits: a FIFO in its place is not a regular file. */
static char *read_table(const char *path) {
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  struct stat stat;
  char *text = NULL;
  if (fd < 0) return NULL;
  if (!fstat(fd, &stat) && S_ISREG(stat.st_mode) && stat.st_size <= TABLE_MAX) text = malloc((size_t)stat.st_size + 1);
  if (text) {
    size_t len = 0;
    ssize_t got;
    while (len < (size_t)stat.st_size && (got = read(fd, text + len, (size_t)stat.st_size - len)) > 0) len += (size_t)got;
    text[len] = 0;
  }
  close(fd);
  return text;
}

/* Cuts the next line off `*rest` and splits it at colons. Returns the number of fields, -1 at the end. */
static int next_line(char **rest, char *fields[FIELDS]) {
  char *line = *rest;
  if (!line || !*line) return -1;
  char *end = strchr(line, '\n');
  if (end) *end = 0;
  *rest = end ? end + 1 : NULL;
  int count = 0;
  for (char *at = line; at && count < FIELDS; count++) {
    fields[count] = at;
    at = strchr(at, ':');
    if (at) *at++ = 0;
  }
  return count;
}

static bool number(const char *text, uint32_t *value) {
  char *end;
  if (*text < '0' || *text > '9') return false;
  errno = 0;
  unsigned long long parsed = strtoull(text, &end, 10);
  /* (uid_t)-1 means "no change" to the kernel. */
  if (errno || *end || parsed >= UINT32_MAX) return false;
  *value = (uint32_t)parsed;
  return true;
}

static void set(char *to, size_t size, const char *from) {
  size_t len = strlen(from);
  if (len >= size) len = 0;
  memcpy(to, from, len);
  to[len] = 0;
}

/* Takes the first entry whose name is `name`; if there is none, the first whose uid is that number. */
static void find_user(const char *name, struct user *user) {
  uint32_t wanted;
  bool numeric = number(name, &wanted);
  for (int byNumber = 0; byNumber <= numeric && !user->known; byNumber++) {
    char *text = read_table("/etc/passwd"), *rest = text, *fields[FIELDS];
    int count;
    while (!user->known && (count = next_line(&rest, fields)) >= 0) {
      uint32_t uid, gid;
      if (count < 6 || !number(fields[2], &uid) || !number(fields[3], &gid)) continue;
      if (byNumber ? uid != wanted : strcmp(fields[0], name) != 0) continue;
      user->uid = uid;
      user->gid = gid;
      set(user->name, sizeof user->name, fields[0]);
      set(user->home, sizeof user->home, fields[5]);
      set(user->shell, sizeof user->shell, count > 6 && *fields[6] ? fields[6] : "/bin/sh");
      user->known = true;
    }
    free(text);
  }
}

static bool lists(char *members, const char *name) {
  for (char *save, *member = strtok_r(members, ",", &save); member; member = strtok_r(NULL, ",", &save))
    if (!strcmp(member, name)) return true;
  return false;
}

/* Collects the groups that list the user, and the number of `wanted` if it is there. */
static bool find_groups(const char *wanted, struct user *user) {
  char *text = read_table("/etc/group"), *rest = text, *fields[FIELDS];
  bool found = false;
  int count;
  while ((count = next_line(&rest, fields)) >= 0) {
    uint32_t gid;
    if (count < 3 || !number(fields[2], &gid)) continue;
    if (wanted && !found && !strcmp(fields[0], wanted)) {
      user->gid = gid;
      found = true;
    }
    if (count > 3 && user->known && user->groupCount < USER_GROUPS && lists(fields[3], user->name))
      user->groups[user->groupCount++] = gid;
  }
  free(text);
  return found;
}

int user_lookup(struct bytes spec, struct user *user) {
  char text[512] = "root";
  *user = (struct user){.shell = "/bin/sh", .home = "/"};
  if (spec.len >= sizeof text) return -EINVAL;
  if (spec.len) {
    memcpy(text, spec.data, spec.len);
    text[spec.len] = 0;
  }
  char *group = strchr(text, ':');
  if (group) *group++ = 0;
  if (!*text || (group && !*group)) return -EINVAL;
  find_user(text, user);
  if (!user->known && !strcmp(text, "root")) {
    /* An image without /etc/passwd still has a root. */
    set(user->name, sizeof user->name, "root");
  } else if (!user->known) {
    if (!number(text, &user->uid)) return -ENOENT;
    user->gid = user->uid;
    set(user->name, sizeof user->name, text);
  }
  if (!find_groups(group, user) && group && !number(group, &user->gid)) return -ENOENT;
  user->groups[user->groupCount < USER_GROUPS ? user->groupCount++ : USER_GROUPS - 1] = user->gid;
  return 0;
}

int user_become(const struct user *user) {
  /* An ordinary user running the tests can only stay who it is. */
  if (geteuid() != 0) return user->uid == geteuid() ? 0 : -EPERM;
  if (setgroups((size_t)user->groupCount, user->groups) < 0) return -errno;
  if (setresgid(user->gid, user->gid, user->gid) < 0) return -errno;
  if (setresuid(user->uid, user->uid, user->uid) < 0) return -errno;
  return 0;
}

int user_lend(const struct user *user) {
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct caps[2];
  if (syscall(SYS_capget, &header, caps) < 0) return -errno;
  /* These two don't tell of errors; asked again with an invalid id they tell what is set (setfsuid(2)). */
  setfsgid(user->gid);
  setfsuid(user->uid);
  if ((gid_t)setfsgid((gid_t)-1) != user->gid || (uid_t)setfsuid((uid_t)-1) != user->uid) return -EPERM;
  /* The change took the file capabilities out of the effective set. */
  return syscall(SYS_capset, &header, caps) < 0 ? -errno : 0;
}
