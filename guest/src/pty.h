/* Pseudo-terminals. */
#ifndef VIV_PTY_H
#define VIV_PTY_H

#include <stdint.h>

/* A new terminal's master, unlocked, non-blocking, of the given size. Returns the descriptor or -errno. */
int pty_open(uint16_t rows, uint16_t cols);
int pty_resize(int master, uint16_t rows, uint16_t cols);

#endif
