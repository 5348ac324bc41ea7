"""Runs what comes over the channel, one request after another, within an event loop that goes on between them."""

import asyncio
import builtins
import getpass
import os
import signal
import sys
import warnings

from traitlets.config import Config

from . import environment, imports, nested_run
from .channel import Channel
from .formatters import install_formatters
from .shell import Shell, flush, no_input
from .stream import unbuffered

# A kernel rather than the server is what should go when memory runs out (proc(5): oom_score_adj).
OOM_SCORE = "300"


def main(fd):
    """Serves until the server has gone."""
    channel = Channel(fd)
    _be_first_to_go()
    sys.stdout = unbuffered(1)
    sys.stderr = unbuffered(2)
    os.environ.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    shell = _make_shell(channel)
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    nested_run.install()
    kernel = Kernel(shell, channel, loop)
    signal.signal(signal.SIGINT, kernel.on_interrupt)
    channel.send({"type": "ready"})
    kernel.serve()


def _make_shell(channel):
    # A history would be written by a thread, to a file of its own.
    config = Config({"HistoryManager": {"enabled": False}})
    shell = Shell.instance(config=config, colors="NoColor")
    shell.connect(channel)
    builtins.input = no_input
    getpass.getpass = no_input
    install_formatters(shell)
    imports.install()
    warnings.filterwarnings("ignore", message="To exit: use")
    return shell


class Kernel:
    """An interrupt ends the code that runs; between executions it does nothing."""

    def __init__(self, shell, channel, loop):
        self._shell = shell
        self._channel = channel
        self._loop = loop
        self._cell = None
        self._gone = False

    def serve(self):
        """Returns when the server has gone."""
        self._loop.add_reader(self._channel.fileno(), self._read)
        while not self._gone:
            try:
                self._loop.run_forever()
            except KeyboardInterrupt:
                continue
            except SystemExit:
                # A task of the code's own has ended with it, outside of any cell.
                continue

    def on_interrupt(self, _number, frame):
        """SIGINT: into the code when it is the code that runs, else it cancels what the code awaits."""
        if self._cell is None:
            return
        if asyncio._get_running_loop() is self._loop and asyncio.current_task(self._loop) is None and not _in_callback(frame):
            self._loop.call_soon_threadsafe(self._cell.cancel)
            return
        raise KeyboardInterrupt

    def _read(self):
        try:
            request = self._channel.receive()
        except (EOFError, OSError, ValueError):
            self._gone = True
            self._loop.stop()
            return
        if request is not None:
            self._cell = self._loop.create_task(self._run(request))

    async def _run(self, request):
        taken = environment.lend(request.get("env") or {})
        try:
            await self._run_code(request["code"])
        finally:
            environment.give_back(taken)
            self._cell = None
            flush()
            if not self._channel.in_kernel:
                os._exit(0)
            try:
                self._channel.send({"type": "done"})
            except OSError:
                self._gone = True
                self._loop.stop()

    async def _run_code(self, code):
        shell = self._shell
        try:
            transformed = shell.transform_cell(code)
            problem = None
        except Exception:  # noqa: BLE001 - run_cell_async reports it.
            transformed, problem = code, sys.exc_info()
        try:
            result = await shell.run_cell_async(
                code, store_history=True, transformed_cell=transformed, preprocessing_exc_tuple=problem
            )
        except (KeyboardInterrupt, asyncio.CancelledError):
            shell._showtraceback(KeyboardInterrupt, KeyboardInterrupt(), ["KeyboardInterrupt"])
            return
        shell.events.trigger("post_execute")
        shell.events.trigger("post_run_cell", result)


def _in_callback(frame):
    """Whether the interrupted frame is in a callback of the loop rather than in its waiting for something to happen."""
    while frame is not None:
        if frame.f_code.co_name == "select" and frame.f_code.co_filename.endswith("selectors.py"):
            return False
        frame = frame.f_back
    return True


def _be_first_to_go():
    try:
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
            file.write(OOM_SCORE)
    except OSError:
        pass
