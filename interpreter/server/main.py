"""Wires the server: its socket, its contexts, its routes."""

import asyncio
import os
import signal
import socket

from .connection import Connection
from .contexts import Contexts
from .routes import Routes

_BACKLOG = 512


def main(listener_fd):
    """Serves on the listening socket until the process is ended. Python's first kernel starts before anything is asked."""
    # Whoever started us may ignore interrupts; kernels and what they start would do so too.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    asyncio.run(_serve(socket.socket(fileno=listener_fd)))


async def _serve(listener):
    os.set_inheritable(listener.fileno(), False)
    contexts = Contexts()
    contexts.default("python").warm()
    routes = Routes(contexts)
    connections = set()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(routes.handle, connections), sock=listener, backlog=_BACKLOG)
    await server.serve_forever()
