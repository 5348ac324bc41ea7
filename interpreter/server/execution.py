"""What one execution tells its client, bounded."""

import datetime
import json

from . import limits
from .result import result_message


class Execution:
    """The sink of a kernel (kernel.py): turns what it says into the lines that E2B's clients read.

    `send(message)` is awaited for each line. `stop()` is called once when the code has said more than it may.
    """

    def __init__(self, send, stop):
        self._send = send
        self._stop = stop
        self._left = limits.OUTPUT_BYTES
        self._over = False
        self._failed = False

    async def start(self, count):
        await self._send({"type": "number_of_executions", "execution_count": count})

    async def tell(self, message):
        """One message of the kernel."""
        if self._over:
            return
        kind = message.get("type")
        if kind in ("stdout", "stderr"):
            await self._text(kind, message["text"])
        elif kind == "result":
            await self._result(message)
        elif kind == "error":
            await self.error(str(message.get("name")), str(message.get("value")), str(message.get("traceback")))

    async def error(self, name, value, traceback=""):
        """The error of the execution; there is at most one."""
        if self._failed:
            return
        self._failed = True
        await self._send({"type": "error", "name": name, "value": value, "traceback": traceback})

    async def end(self):
        await self._send({"type": "end_of_execution"})

    async def _text(self, kind, text):
        if await self._spend(len(text)):
            await self._send({"type": kind, "text": text, "timestamp": _now()})

    async def _result(self, message):
        data = message.get("data")
        if not isinstance(data, dict):
            return
        line = result_message(data, message.get("main") is True)
        if await self._spend(len(json.dumps(line))):
            await self._send(line)

    async def _spend(self, size):
        self._left -= size
        if self._left >= 0:
            return True
        self._over = True
        limit = limits.OUTPUT_BYTES // (1024 * 1024)
        await self.error("OutputLimitExceeded", f"The execution was interrupted: it made more than {limit} MiB of output")
        self._stop()
        return False


def _now():
    return datetime.datetime.now(datetime.timezone.utc).isoformat().replace("+00:00", "Z")
