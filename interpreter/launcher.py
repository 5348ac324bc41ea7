"""Keeps port 49999 open in a sandbox and has the code interpreter behind it.

This is the start command of the template. It listens at once, so that the sandbox is ready within milliseconds of its creation, and
starts the server, which is heavier, when the first client connects or when the warm-up delay is over. Clients that come while
the server starts, or while it starts again after it was killed, wait in the queue of the listening socket: the socket is never
closed. Only built-in modules are used here: importing `socket` alone would double the start.
"""

import os
import sys
import time

import _signal
import _socket
import select

PORT = 49999
BACKLOG = 512
# The server must have lived this long for its end to count as the first of a new series, in seconds.
STABLE_S = 10.0
RESTART_PAUSE_MAX_S = 2.0
# The server's process id, while there is one.
running = []
HERE = os.path.dirname(os.path.abspath(__file__))


def main():
    """Listens, waits for a reason to start, and keeps a server running until it is ended itself."""
    end_with_server()
    listener = listen(int(os.environ.get("CODE_INTERPRETER_PORT", PORT)))
    warm_up_ms = int(os.environ.get("CODE_INTERPRETER_WARM_UP_MS", "-1"))
    wait_for_client(listener, None if warm_up_ms < 0 else warm_up_ms)
    pause = 0.0
    while True:
        started = time.monotonic()
        running.append(start_server(listener.fileno()))
        os.waitpid(running[0], 0)
        running.clear()
        if time.monotonic() - started > STABLE_S:
            pause = 0.0
        time.sleep(pause)
        pause = min(RESTART_PAUSE_MAX_S, pause * 2 + 0.1)


def end_with_server():
    """When this process is asked to end, the server ends too."""

    def end(_number, _frame):
        for pid in running:
            os.kill(pid, _signal.SIGTERM)
        os._exit(0)

    _signal.signal(_signal.SIGTERM, end)


def listen(port):
    """A listening socket for every address of the sandbox; without IPv6, for those of IPv4."""
    listener = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    listener.setsockopt(_socket.SOL_SOCKET, _socket.SO_REUSEADDR, 1)
    listener.bind(("0.0.0.0", port))
    listener.listen(BACKLOG)
    return listener


def wait_for_client(listener, timeout_ms):
    """Returns when a connection waits to be accepted, or after `timeout_ms` (None: never)."""
    poll = select.poll()
    poll.register(listener.fileno(), select.POLLIN)
    poll.poll(timeout_ms)


def start_server(listener_fd):
    """Starts the server in a process of its own and returns its id.

    The last arguments say by which names the two servers of E2B's image are known: tools that look for those with `pgrep -f`
    find the one process that does the work of both here.
    """
    argv = [sys.executable, "-I", os.path.join(HERE, "serve.py"), str(listener_fd), "in place of", "jupyter-server", "uvicorn main:app"]
    os.set_inheritable(listener_fd, True)
    return os.posix_spawn(sys.executable, argv, os.environ)


if __name__ == "__main__":
    main()
