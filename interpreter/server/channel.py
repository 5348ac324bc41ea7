"""How the server speaks with a kernel: lines of JSON over a socket.

To the kernel: `{"code", "env"}`, one at a time. From it: `{"type": "ready"}` once, then for each request any number of `result`
(`main`, `data` by MIME type), `error` (`name`, `value`, `traceback`) and `note` (`text`), and one `done`.
"""

import asyncio
import json
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
