#include "file.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#include "conn.h"
#include "metadata.h"
#include "procs.h"
#include "source.h"
#include "work.h"
#include "worker.h"

#define NEED(tag) (UINT64_C(1) << (tag))

static const struct tlv_rule rules[] = {
    {FILE_OP, TLV_U32, offsetof(struct file, op), 0},
    {FILE_PATH, TLV_STRING, offsetof(struct file, path), 4095},
    {FILE_PATH2, TLV_STRING, offsetof(struct file, path2), 4095},
    {FILE_MODE, TLV_U32, offsetof(struct file, mode), 0},
    {FILE_FLAGS, TLV_U32, offsetof(struct file, flags), 0},
    {FILE_OFFSET, TLV_U64, offsetof(struct file, offset), 0},
    {FILE_LENGTH, TLV_U64, offsetof(struct file, length), 0},
    {FILE_USER, TLV_STRING, offsetof(struct file, user), 511},
    {FILE_DEPTH, TLV_U32, offsetof(struct file, depth), 0},
    {FILE_BASE, TLV_STRING, offsetof(struct file, base), 4095},
    {FILE_UID, TLV_U32, offsetof(struct file, uid), 0},
    {FILE_GID, TLV_U32, offsetof(struct file, gid), 0},
    {FILE_MTIME, TLV_U64, offsetof(struct file, mtimeNs), 0},
    {FILE_WINDOW, TLV_U32, offsetof(struct file, window), 0},
    {FILE_OWNER, TLV_STRING, offsetof(struct file, owner), 511},
    {FILE_METADATA, TLV_STRINGS, offsetof(struct file, metadataCount), METADATA_MAX},
};

struct operation {
  void (*run)(const struct file *file);
  const char *what;
  uint32_t flags; /* that it knows */
  uint64_t need;  /* tags beside op and path */
  bool up, down, okFirst;
};

static const struct operation operations[] = {
    [1] = {.run = file_stat, .what = "stat", .flags = FILE_FOLLOW | FILE_RESOLVE},
    [2] = {.run = file_list, .what = "list", .flags = FILE_SELF | FILE_RESOLVE | FILE_WITH_METADATA, .up = true},
    [3] = {.run = file_read, .what = "read", .up = true, .okFirst = true},
    [4] = {.run = file_write,
           .what = "write",
           .flags = FILE_ATOMIC | FILE_APPEND | FILE_PARENTS | FILE_EXCLUSIVE | FILE_FSYNC | FILE_AT_OFFSET,
           .down = true},
    [5] = {.run = file_mkdir, .what = "mkdir", .flags = FILE_PARENTS | FILE_EXCLUSIVE},
    [6] = {.run = file_rename,
           .what = "rename",
           .flags = FILE_PARENTS | FILE_EXCLUSIVE | FILE_RESOLVE,
           .need = NEED(FILE_PATH2)},
    [7] = {.run = file_remove, .what = "remove", .flags = FILE_RECURSIVE | FILE_MISSING_OK},
    [8] = {.run = file_chmod, .what = "chmod", .flags = FILE_RECURSIVE, .need = NEED(FILE_MODE)},
    [9] = {.run = file_chown, .what = "chown", .flags = FILE_RECURSIVE},
    [10] = {.run = file_symlink, .what = "symlink", .flags = FILE_PARENTS, .need = NEED(FILE_PATH2)},
    [11] = {.run = file_link, .what = "link", .need = NEED(FILE_PATH2)},
    [12] = {.run = file_utimes, .what = "utimes", .need = NEED(FILE_MTIME)},
    [13] = {.run = file_watch, .what = "watch", .flags = FILE_RECURSIVE, .up = true, .okFirst = true},
    [14] = {.run = file_truncate, .what = "truncate", .need = NEED(FILE_LENGTH)},
    [15] = {.run = file_statfs, .what = "statfs"},
};

static const struct operation *operation_of(const struct file *file) {
  if (file->op >= sizeof operations / sizeof *operations || !operations[file->op].run) return NULL;
  return &operations[file->op];
}

int file_parse(struct bytes payload, struct file *file) {
  *file = (struct file){.window = WINDOW_DEFAULT, .list = payload};
  if (tlv_parse(payload, rules, sizeof rules / sizeof *rules, file, &file->seen)) return -1;
  const struct operation *operation = operation_of(file);
  /* Every operation can be done with root's rights. */
  if (!operation || file->flags & ~(operation->flags | FILE_PRIVILEGED) || !file_has(file, FILE_PATH)) return -1;
  /* Where a link leads is looked up without the bounds of a base. */
  if (file->flags & FILE_RESOLVE && file_has(file, FILE_BASE)) return -1;
  if (file->metadataCount && (operation->run != file_write || !metadata_valid(payload, FILE_METADATA))) return -1;
  if ((file->seen & operation->need) != operation->need) return -1;
  if (file->window > WINDOW_MAX || file->mode > 07777 || file->offset > INT64_MAX || file->length > INT64_MAX) return -1;
  return 0;
}

static void run(const void *request) {
  const struct file *file = request;
  if (file->flags & FILE_PRIVILEGED) work_for(file->user);
  else work_as(file->user);
  operation_of(file)->run(file);
  work_done();
}

void file_request(uint32_t id, struct bytes payload) {
  struct file file;
  if (file_parse(payload, &file)) return conn_fail(id, EINVAL, STAGE_REQUEST, "file");
  const struct operation *operation = operation_of(&file);
  worker_start(&(struct worker_spec){.id = id,
                                     .window = file.window,
                                     .up = operation->up,
                                     .down = operation->down,
                                     .okFirst = operation->okFirst,
                                     .what = operation->what,
                                     .run = run,
                                     .request = &file});
}

void file_procs(uint32_t id) {
  worker_start(&(struct worker_spec){.id = id, .window = WINDOW_DEFAULT, .up = true, .what = "procs", .run = procs_run});
}
