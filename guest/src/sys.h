/* The system calls that reach out of this program. The fuzzer links harmless ones in their place. */
#ifndef VIV_SYS_H
#define VIV_SYS_H

#include <stdint.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/types.h>

pid_t sys_fork(void);
/* kill(2): pid < -1 is a process group; 0 and -1 are refused. Returns 0 or -errno. */
int sys_kill(pid_t pid, int signal);
/* SIGTERM or SIGKILL to everything in the pid namespace. Does nothing unless this is pid 1. */
void sys_kill_all(int signal);
int sys_socket(int family);
int sys_connect(int fd, const struct sockaddr *address, socklen_t len);
int sys_bind(int fd, const struct sockaddr *address, socklen_t len);
/* Sets the wall clock. Returns 0 or -errno. */
int sys_clock(uint64_t unixNs);
/* Mixes bytes into the kernel's entropy pool, credited, and reseeds. Returns 0 or -errno. */
int sys_entropy(const uint8_t *bytes, uint32_t len);

#endif
