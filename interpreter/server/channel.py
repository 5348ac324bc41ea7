"""How the server speaks with a kernel: lines of JSON over a socket.

To the kernel: `{"code", "env"}`, one at a time. From it: `{"type": "ready"}` once, then for each request any number of `result`
(`main`, `data` by MIME type), and `error` (`name`, `value`, `traceback`), and one `done`.
"""

import asyncio
import json
import os
import socket
import subprocess

from . import limits


class JsonChannel:
    """Our end of a socket; the number of the kernel's end is the last argument of its command."""

    stdin = subprocess.DEVNULL
    # What the kernel's environment has beside the sandbox's.
    environment = {}

    def __init__(self):
        self._ours, self._theirs = socket.socketpair()

    @property
    def fds(self):
        """Descriptors that the kernel keeps."""
        return (self._theirs.fileno(),)

    @property
    def arguments(self):
        return (str(self._theirs.fileno()),)

    @staticmethod
    def heard(text):
        """What a client gets of the kernel's stderr."""
        return text

    async def open(self):
        """Called when the kernel has its end."""
        self._theirs.close()
        self._reader, self._writer = await asyncio.open_unix_connection(sock=self._ours, limit=limits.MESSAGE_BYTES)

    async def request(self, code, env):
        self._writer.write(json.dumps({"code": code, "env": env}).encode() + b"\n")
        await self._writer.drain()

    async def messages(self):
        """What the kernel says until it has gone or says what makes no sense."""
        while True:
            try:
                line = await self._reader.readline()
                message = json.loads(line) if line else None
            except (ValueError, OSError):
                return
            if not isinstance(message, dict):
                return
            yield message

    def close(self):
        if hasattr(self, "_writer"):
            self._writer.close()


class PipeChannel(JsonChannel):
    """The same over two pipes, for languages that open descriptors by name: the last two arguments are where requests come from and
    where answers go."""

    def __init__(self):
        self._requests_theirs, self._requests = os.pipe()
        self._answers, self._answers_theirs = os.pipe()

    @property
    def fds(self):
        return (self._requests_theirs, self._answers_theirs)

    @property
    def arguments(self):
        return tuple(str(fd) for fd in self.fds)

    async def open(self):
        for fd in self.fds:
            os.close(fd)
        loop = asyncio.get_running_loop()
        self._reader = asyncio.StreamReader(limit=limits.MESSAGE_BYTES)
        protocol = asyncio.StreamReaderProtocol(self._reader)
        self._reading, _ = await loop.connect_read_pipe(lambda: protocol, os.fdopen(self._answers, "rb", 0))
        writing, flow = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, os.fdopen(self._requests, "wb", 0))
        self._writer = asyncio.StreamWriter(writing, flow, None, loop)

    def close(self):
        super().close()
        if hasattr(self, "_reading"):
            self._reading.close()
