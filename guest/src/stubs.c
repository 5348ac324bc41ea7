#include <errno.h>
#include "conn.h"
#include "file.h"
#include "listener.h"
#include "socket.h"
#include "worker.h"
void worker_reaped(pid_t pid) { (void)pid; }
void file_request(uint32_t id, struct bytes payload) { (void)payload; conn_fail(id, ENOSYS, STAGE_REQUEST, "file"); }
void file_procs(uint32_t id) { conn_fail(id, ENOSYS, STAGE_REQUEST, "procs"); }
void socket_connect(uint32_t id, struct bytes payload) { (void)payload; conn_fail(id, ENOSYS, STAGE_REQUEST, "connect"); }
void listener_open(uint32_t id, struct bytes payload) { (void)payload; conn_fail(id, ENOSYS, STAGE_REQUEST, "listen"); }
void listener_state(struct stream *stream) { (void)stream; }
void listener_resume(struct stream *stream) { (void)stream; }
void listener_disconnected(struct stream *stream) { (void)stream; }
