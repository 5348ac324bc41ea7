"""One process that runs code of one language and keeps its variables."""

import asyncio
import os
import signal
import subprocess

from . import limits
from .channel import JsonChannel, PipeChannel
from .output_pipe import OutputPipe
from .shell_channel import ShellChannel

_CHANNELS = {"json": JsonChannel, "pipes": PipeChannel, "shell": ShellChannel}
_TAIL_CHARS = 2000


class KernelDied(Exception):
    """The kernel's process has ended; the message says how. `status` is its exit code if it ended by itself, once started."""

    def __init__(self, message, status=None):
        super().__init__(message)
        self.status = status


class Kernel:
    """Started by `start`; runs one piece of code at a time. All it makes is told to the sink that `run` is given."""

    def __init__(self, language, process, channel):
        loop = asyncio.get_running_loop()
        self._language = language
        self._process = process
        self._channel = channel
        self._sink = None
        self._done = None
        self._tail = ""
        self._killed_because = None
        self.count = 0
        self.ended = loop.create_future()
        self._ready = loop.create_future()
        self._pidfd = os.pidfd_open(process.pid)
        loop.add_reader(self._pidfd, self._reap)
        self._pipes = [
            OutputPipe(name, os.dup(stream.fileno()), self._output, lambda: self._sink is not None)
            for name, stream in (("stdout", process.stdout), ("stderr", process.stderr))
        ]
        process.stdout.close()
        process.stderr.close()

    @classmethod
    async def start(cls, language, cwd, env):
        """A kernel that is ready to run code. Throws KernelDied when there will be none."""
        channel = _CHANNELS[language.speaks]()
        try:
            process = _spawn(language, channel, cwd, env)
        except OSError as error:
            channel.close()
            raise KernelDied(f"The {language.name} kernel could not be started: {error}") from error
        kernel = cls(language, process, channel)
        await channel.open()
        kernel._listening = asyncio.ensure_future(kernel._listen())
        try:
            await asyncio.wait_for(kernel._ready, limits.KERNEL_START_S)
        except asyncio.TimeoutError as error:
            kernel.kill("it did not start in time")
            raise KernelDied(f"The {language.name} kernel did not start in {limits.KERNEL_START_S:.0f} s") from error
        except asyncio.CancelledError:
            kernel.kill("it is not needed")
            raise
        return kernel

    @property
    def alive(self):
        return not self.ended.done()

    async def run(self, code, env, sink):
        """Runs to the end. `sink(message)` is awaited for each message; throws KernelDied when the process has ended meanwhile."""
        self._sink = sink
        self._done = asyncio.get_running_loop().create_future()
        self.count += 1
        try:
            await self._channel.request(code, env)
            # A client that goes cancels the waiting, not what is waited for: `settle` needs that still.
            await asyncio.shield(self._done)
        except OSError as error:
            raise await self.ended from error
        finally:
            self._sink = None

    def mute(self):
        """From now on nothing is told of the code that runs."""
        self._sink = None

    def interrupt(self):
        """What Control-C at a terminal does: SIGINT to the kernel and what it started."""
        self._signal(signal.SIGINT)

    async def settle(self):
        """Ends the code that runs, which nobody waits for: interrupted, again half-way, and at last with its kernel."""
        for _ in range(2):
            if self._done is None or self._done.done() or not self.alive:
                return
            self.interrupt()
            await asyncio.wait([self._done], timeout=limits.INTERRUPT_S / 2)
        if not self._done.done():
            self.kill("it did not respond to an interrupt")
            await asyncio.wait([self.ended])

    def kill(self, because):
        """Ends the kernel and what it started in its own process group."""
        self._killed_because = self._killed_because or because
        self._signal(signal.SIGKILL)

    def _signal(self, number):
        if not self.alive:
            return
        try:
            os.killpg(self._process.pid, number)
        except ProcessLookupError:
            pass

    async def _listen(self):
        async for message in self._channel.messages():
            kind = message.get("type")
            for pipe in self._pipes:
                await pipe.flush()
            if kind == "ready":
                if not self._ready.done():
                    self._ready.set_result(None)
            elif kind != "done":
                await self._tell(message)
            elif self._done is not None and not self._done.done():
                self._done.set_result(None)
        # Its end of the channel is closed when it ends by itself too.
        await asyncio.wait([self.ended], timeout=limits.CHANNEL_CLOSED_S)
        self.kill("its connection to the server is closed")

    async def _output(self, name, text):
        self._tail = (self._tail + text)[-_TAIL_CHARS:]
        if name == "stderr":
            text = self._channel.heard(text)
        if text:
            await self._tell({"type": name, "text": text})

    async def _tell(self, message):
        if self._sink is not None:
            await self._sink(message)

    def _reap(self):
        """The process has ended: the rest of its output is passed on, then whoever waits is told."""
        asyncio.get_running_loop().remove_reader(self._pidfd)
        os.close(self._pidfd)
        status = self._process.wait()
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass
        self._finishing = asyncio.ensure_future(self._finish(status))

    async def _finish(self, status):
        for pipe in self._pipes:
            await pipe.flush()
            pipe.close()
        self._channel.close()
        by_itself = status >= 0 and self._ready.done() and self._killed_because is None
        died = KernelDied(self._description(status), status if by_itself else None)
        self.ended.set_result(died)
        for waiting in (self._ready, self._done):
            if waiting is not None and not waiting.done():
                waiting.set_exception(died)
        # An exception that nobody waits for is no news.
        if self._ready.done():
            self._ready.exception()
        if self._done is not None:
            self._done.exception()

    def _description(self, status):
        how = f"ended with exit code {status}" if status >= 0 else f"was killed by {_signal_name(-status)}"
        why = ""
        if self._killed_because is not None:
            why = f" because {self._killed_because}"
        elif -status == signal.SIGKILL:
            why = ", perhaps because the sandbox had no memory left"
        starting = "" if self._ready.done() else f" while it started: {self._tail.strip()}"
        return f"The {self._language.name} kernel {how}{why}{starting}"


def _signal_name(number):
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _spawn(language, channel, cwd, env):
    """Starts the kernel as the leader of a session, with the channel's descriptors at the numbers they have here."""
    return subprocess.Popen(
        [*language.argv, *channel.arguments],
        cwd=cwd,
        env={**env, **channel.environment},
        stdin=channel.stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        pass_fds=channel.fds,
        start_new_session=True,
    )
