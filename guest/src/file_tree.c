/* File operations on directories and trees. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "entry.h"
#include "file.h"
#include "path.h"
#include "walk.h"
#include "work.h"

#define LIST_DEPTH_MAX 64
#define LIST_BUFFER 65536u
/* The longest path that LIST_DEPTH_MAX levels can give. */
#define LIST_PATH_MAX (LIST_DEPTH_MAX * 256u)

static struct {
  uint8_t *bytes;
  size_t len;
  struct entry_detail detail;
} list;

static void add_record(const char *name, size_t len, const struct stat *stat, int dir, const char *entry) {
  if (list.len + ENTRY_REST_MAX + len > LIST_BUFFER) {
    work_write(list.bytes, list.len);
    list.len = 0;
  }
  list.len += entry_put(list.bytes + list.len, name, len, stat, dir, entry, list.detail);
}

static void list_visit(const struct walk_entry *entry, void *context) {
  (void)context;
  if (entry->pathLen <= LIST_PATH_MAX) add_record(entry->path, entry->pathLen, &entry->stat, entry->dir, entry->name);
}

void file_list(const struct file *file) {
  struct stat stat;
  path_begin(file);
  int root = path_open(path_text(file->path), O_RDONLY | O_DIRECTORY | O_NONBLOCK, 0);
  if (root < 0) work_fail(-root, STAGE_PATH);
  if (!(list.bytes = malloc(LIST_BUFFER))) work_fail(ENOMEM, STAGE_LIMIT);
  list.detail.resolve = file->flags & FILE_RESOLVE;
  list.detail.metadata = file->flags & FILE_WITH_METADATA;
  if (file->flags & FILE_SELF) {
    if (fstat(root, &stat) < 0) work_fail(errno, STAGE_OPERATION);
    add_record(".", 1, &stat, root, "");
  }
  unsigned depth = file_has(file, FILE_DEPTH) ? file->depth : 1;
  if (!depth || depth > LIST_DEPTH_MAX) depth = LIST_DEPTH_MAX;
  walk_tree(&(struct walk){.depth = depth, .visit = list_visit}, root);
  work_write(list.bytes, list.len);
  close(WORK_DATA_FD);
  work_ok(NULL, 0);
}

struct change {
  mode_t mode;
  uid_t uid;
  gid_t gid;
  bool owner;
};

/* Changes the very file that `fd` (O_PATH) has open. */
static void change_fd(const struct change *change, int fd) {
  int done = change->owner ? fchownat(fd, "", change->uid, change->gid, AT_EMPTY_PATH)
                           : fchmodat(WORK_PROC_FD, path_of_fd(fd), change->mode, 0);
  if (done < 0) work_fail(errno, STAGE_OPERATION);
}

static void change_visit(const struct walk_entry *entry, void *context) {
  const struct change *change = context;
  if (S_ISLNK(entry->stat.st_mode) && !change->owner) return; /* links have no mode */
  int fd = openat(entry->dir, entry->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0 && errno == ENOENT) return;
  if (fd < 0) work_fail(errno, STAGE_OPERATION);
  struct stat now;
  /* The name may mean something else by now: never touch the target of a link that took its place. */
  if (!fstat(fd, &now) && (change->owner || !S_ISLNK(now.st_mode))) change_fd(change, fd);
  close(fd);
}

static void change(const struct file *file, struct change *change) {
  path_begin(file);
  const char *path = path_text(file->path);
  int fd = path_open(path, O_PATH, 0);
  if (fd < 0) work_fail(-fd, STAGE_PATH);
  change_fd(change, fd);
  if (file->flags & FILE_RECURSIVE) {
    struct walk walk = {.depth = WALK_DEPTH_MAX, .strict = true, .visit = change_visit, .context = change};
    struct stat stat;
    if (fstat(fd, &stat) < 0) work_fail(errno, STAGE_OPERATION);
    if (S_ISDIR(stat.st_mode)) {
      int root = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
      if (root < 0) work_fail(errno, STAGE_OPERATION);
      walk_tree(&walk, root);
    }
    if (walk.tooDeep) work_fail(ELOOP, STAGE_OPERATION);
  }
  entry_ok_fd(fd, path_last(path));
}

void file_chmod(const struct file *file) { change(file, &(struct change){.mode = file->mode}); }

void file_chown(const struct file *file) {
  struct change to = {.owner = true,
                      .uid = file_has(file, FILE_UID) ? file->uid : (uid_t)-1,
                      .gid = file_has(file, FILE_GID) ? file->gid : (gid_t)-1};
  if (file_has(file, FILE_OWNER)) {
    static struct user owner;
    int error = user_lookup(file->owner, &owner);
    if (error) work_fail(-error, STAGE_USER);
    to.uid = owner.uid;
    /* As chown(1): a name alone leaves the group. */
    if (memchr(file->owner.data, ':', file->owner.len)) to.gid = owner.gid;
  }
  change(file, &to);
}
