"""Standard output and error whose text is in the pipe when `write` returns: nothing is lost with the process, nor written twice
by a fork."""

import io
import os
import select


def unbuffered(fd):
    """The text stream of a descriptor. What UTF-8 has no form for is escaped."""
    return io.TextIOWrapper(_Pipe(fd), encoding="utf-8", errors="backslashreplace", newline="\n", write_through=True)


class _Pipe(io.RawIOBase):
    """Writes all it is given, also when a child that shares the pipe has made it non-blocking."""

    def __init__(self, fd):
        self._fd = fd

    def fileno(self):
        return self._fd

    def writable(self):
        return True

    def write(self, data):
        view = memoryview(data).cast("B")
        written = 0
        while written < len(view):
            try:
                written += os.write(self._fd, view[written:])
            except BlockingIOError:
                poll = select.poll()
                poll.register(self._fd, select.POLLOUT)
                poll.poll()
        return written
