#define _GNU_SOURCE
#include "procs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "le.h"
#include "work.h"

#define HEADER 56
#define COMM_MAX 64
#define ARGV_MAX 4096
#define FIELDS 22

static ssize_t read_text(int proc, const char *pid, const char *name, char *text, size_t size) {
  char path[64];
  snprintf(path, sizeof path, "%.16s/%s", pid, name);
  AUTO_CLOSE int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
  ssize_t len = fd < 0 ? -1 : read(fd, text, size - 1);
  if (len >= 0) text[len] = 0;
  return len;
}

/* Numbers of /proc/PID/stat from field 4 on, by their number in proc(5); `fields` has FIELDS + 3 places. */
static void parse_numbers(const char *at, uint64_t *fields) {
  for (int field = 4; field < FIELDS + 3 && *at; field++) {
    char *end;
    fields[field] = (uint64_t)strtoll(at, &end, 10);
    if (end == at) return;
    at = end;
  }
}

static uint32_t real_uid(int proc, const char *pid) {
  char text[2048];
  if (read_text(proc, pid, "status", text, sizeof text) <= 0) return UINT32_MAX;
  const char *line = strstr(text, "\nUid:");
  return line ? (uint32_t)strtoul(line + 5, NULL, 10) : UINT32_MAX;
}

static void send_record(int proc, const char *pid) {
  static uint8_t record[HEADER + COMM_MAX + ARGV_MAX];
  char stat[1024];
  if (read_text(proc, pid, "stat", stat, sizeof stat) <= 0) return;
  char *comm = strchr(stat, '('), *end = strrchr(stat, ')');
  if (!comm || !end || end < comm || end[1] != ' ') return;
  uint64_t fields[FIELDS + 3] = {0};
  parse_numbers(end + 3, fields);
  uint64_t tick = 1000 / (uint64_t)sysconf(_SC_CLK_TCK);
  size_t commLen = (size_t)(end - comm - 1);
  if (commLen > COMM_MAX) commLen = COMM_MAX;
  memcpy(record + HEADER, comm + 1, commLen);
  ssize_t argvLen = read_text(proc, pid, "cmdline", (char *)record + HEADER + commLen, ARGV_MAX);
  if (argvLen < 0) argvLen = 0;
  uint32_t len = HEADER + (uint32_t)commLen + (uint32_t)argvLen;
  put32(record, len);
  put32(record + 4, (uint32_t)strtoul(pid, NULL, 10));
  put32(record + 8, (uint32_t)fields[4]);
  put32(record + 12, real_uid(proc, pid));
  record[16] = (uint8_t)end[2];
  record[17] = 0;
  put16(record + 18, (uint16_t)commLen);
  put32(record + 20, (uint32_t)argvLen);
  put64(record + 24, fields[24] * (uint64_t)sysconf(_SC_PAGESIZE) / 1024);
  put64(record + 32, fields[14] * tick);
  put64(record + 40, fields[15] * tick);
  put64(record + 48, fields[22] * tick);
  work_write(record, len);
}

void procs_run(const void *request) {
  (void)request;
  int proc = openat(WORK_PROC_FD, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *dir = proc < 0 ? NULL : fdopendir(proc);
  if (!dir) work_fail(errno, STAGE_OPERATION);
  struct dirent *item;
  while ((item = readdir(dir)))
    if (item->d_name[0] >= '1' && item->d_name[0] <= '9') send_record(proc, item->d_name);
  close(WORK_DATA_FD);
  work_ok(NULL, 0);
  work_done();
}
