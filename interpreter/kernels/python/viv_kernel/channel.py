"""The kernel's end of the socket to the server: lines of JSON (server/channel.py says which)."""

import math
import os
import socket
from json import dumps, loads

# Representations that are longer than this are left out, with a note.
REPRESENTATION_CHARS = 16 * 1024 * 1024


class Channel:
    """Says nothing in a process that code has forked off: that one is not the kernel."""

    def __init__(self, fd):
        self._socket = socket.socket(fileno=fd)
        os.set_inheritable(fd, False)
        self._socket.setblocking(True)
        self._received = b""
        self._kernel_pid = os.getpid()

    @property
    def in_kernel(self):
        return os.getpid() == self._kernel_pid

    def fileno(self):
        return self._socket.fileno()

    def send(self, message):
        """Throws OSError when the server has gone."""
        if self.in_kernel:
            self._socket.sendall(dumps(message, default=str).encode() + b"\n")

    def receive(self):
        """The next request if it is here completely, after reading once; None if not. Throws EOFError when the server has gone."""
        data = self._socket.recv(1024 * 1024)
        if not data:
            raise EOFError
        self._received += data
        line, newline, rest = self._received.partition(b"\n")
        if not newline:
            return None
        self._received = rest
        return loads(line)

    def send_result(self, data, is_main):
        """Sends a bundle of representations by MIME type, without those that are too long."""
        fitting, long = {}, []
        for kind, value in data.items():
            value = plain(value)
            size = len(value) if isinstance(value, str) else len(dumps(value, default=str))
            if size > REPRESENTATION_CHARS:
                long.append(f"{kind} ({size} characters)")
            else:
                fitting[kind] = value
        if long:
            os.write(2, f"Left out of a result: {', '.join(long)}; the limit is {REPRESENTATION_CHARS}\n".encode())
        self.send({"type": "result", "main": is_main, "data": fitting})


def plain(value):
    """The value with nothing in it that JSON has no form for: bytes become base64 as IPython has them, NaN becomes null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, bytes):
        import base64

        return base64.b64encode(value).decode("ascii")
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if hasattr(value, "item") and callable(value.item):
        try:
            return plain(value.item())
        except (TypeError, ValueError):
            pass
    return str(value)
