/* Where the host connects: an inherited listening socket, or one inherited duplex descriptor. */
#ifndef VIV_SERVER_H
#define VIV_SERVER_H

/* Return 0 or -errno. */
int server_listen(int fd);
int server_stream(int fd);

#endif
