"""What a kernel and its children write to stdout or stderr, as text."""

import array
import asyncio
import codecs
import fcntl
import os
import termios

from . import limits


class OutputPipe:
    """The reading end of one stream of one kernel.

    `emit(name, text)` gets the text; while it waits, the pipe fills and the writer waits as well, so nothing is dropped and
    nothing piles up. Bytes that are not UTF-8 become U+FFFD. While `wanted()` is false nobody gets the text: it is read all the
    same, because what runs in the background would stop at a full pipe, but slowly.
    """

    def __init__(self, name, fd, emit, wanted):
        self._name = name
        self._fd = fd
        self._emit = emit
        self._wanted = wanted
        self._held = bytearray()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._lock = asyncio.Lock()
        os.set_blocking(fd, False)
        self._task = asyncio.ensure_future(self._pump())

    async def _pump(self):
        while await self._readable():
            async with self._lock:
                got = self._read(limits.CHUNK_BYTES)
            if got is None:
                # `flush` was faster.
                continue
            if got == 0:
                return
            if not self._wanted():
                await asyncio.sleep(limits.UNWANTED_WAIT_S)
            elif self._unfinished():
                await asyncio.sleep(limits.LINE_WAIT_S)
            async with self._lock:
                self._read(limits.CHUNK_BYTES - len(self._held))
                await self._pass_on()

    async def flush(self):
        """Passes on all that was written before the call, however much is written meanwhile."""
        count = array.array("i", [0])
        fcntl.ioctl(self._fd, termios.FIONREAD, count)
        left = count[0]
        async with self._lock:
            while left > 0 and (got := self._read(min(left, limits.CHUNK_BYTES))):
                left -= got
                await self._pass_on()
            await self._pass_on()

    def close(self):
        """Ends the reading; what is left in the pipe is lost."""
        if self._fd < 0:
            return
        self._task.cancel()
        asyncio.get_running_loop().remove_reader(self._fd)
        os.close(self._fd)
        self._fd = -1

    def _unfinished(self):
        return len(self._held) < limits.CHUNK_BYTES // 2 and not self._held.endswith(b"\n")

    def _read(self, most):
        """Reads what is there without waiting: the number of bytes, 0 at the end, None when there is nothing yet."""
        if most <= 0 or self._fd < 0:
            return 0
        try:
            data = os.read(self._fd, most)
        except BlockingIOError:
            return None
        self._held += data
        return len(data)

    async def _pass_on(self):
        text = self._decoder.decode(bytes(self._held))
        self._held.clear()
        if text:
            await self._emit(self._name, text)

    async def _readable(self):
        loop = asyncio.get_running_loop()
        ready = loop.create_future()
        loop.add_reader(self._fd, lambda: ready.done() or ready.set_result(True))
        try:
            return await ready
        finally:
            if self._fd >= 0:
                loop.remove_reader(self._fd)
