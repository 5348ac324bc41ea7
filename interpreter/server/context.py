"""A context: variables that live from one execution to the next, in a kernel that is started when it is needed."""

import asyncio
import os
import uuid

from . import limits
from .execution import Execution
from .kernel import Kernel, KernelDied
from .refusal import Refusal


class Context:
    """Runs one execution at a time; others wait in the order in which they came."""

    def __init__(self, language, cwd):
        self.id = str(uuid.uuid4())
        self.language = language
        self.cwd = cwd
        self._lock = asyncio.Lock()
        self._starting = None
        self._running = None
        self._waiting = 0
        self._closed = None
        self._news = ""
        self._settling = set()

    @property
    def facts(self):
        """What clients are told of it."""
        return {"id": self.id, "language": self.language.name, "cwd": self.cwd}

    def warm(self):
        """Starts the kernel if there is none; the task's result is the kernel."""
        task = self._starting
        if task is not None and task.done() and (task.cancelled() or task.exception() is not None or not task.result().alive):
            task = None
        if task is None:
            self._starting = asyncio.ensure_future(Kernel.start(self.language, self.cwd, _kernel_environment()))
            self._starting.add_done_callback(lambda done: done.cancelled() or done.exception())
        return self._starting

    async def execute(self, code, env, connection):
        """Streams what the code does to the client; when the client goes, the code is interrupted."""
        if self._waiting >= limits.WAITING_PER_CONTEXT:
            raise Refusal(429, f"More than {limits.WAITING_PER_CONTEXT} executions wait for context {self.id}")
        connection.start_stream()
        self._waiting += 1
        try:
            await self._lock.acquire()
        finally:
            self._waiting -= 1
        held = True
        try:
            await self._run(code, env, connection)
        except asyncio.CancelledError:
            if self._running is not None:
                held = False
                self._abandon(self._running)
            raise
        finally:
            self._running = None
            if held:
                self._lock.release()

    async def _run(self, code, env, connection):
        execution = Execution(connection.send, self._stop)
        try:
            if self._closed is not None:
                raise KernelDied(self._closed)
            kernel = await asyncio.shield(self.warm())
            self._running = kernel
            await execution.start(kernel.count + 1)
            if self._news:
                news, self._news = self._news, ""
                await execution.tell({"type": "stderr", "text": news})
            await kernel.run(code, env, execution.tell)
        except KernelDied as died:
            await self._tell_end(died, execution)
        await execution.end()

    async def _tell_end(self, died, execution):
        """The kernel has ended under the code. For a shell that is what `exit` does."""
        message = str(died)
        if self._closed is not None:
            await execution.error("ContextRemoved", self._closed)
        elif "because it was restarted" in message:
            await execution.error("ContextRestarting", "Context was restarted")
        elif self.language.speaks == "shell" and died.status is not None:
            if died.status != 0:
                await execution.error("ExitCode", str(died.status), f"The shell ended with exit code {died.status}")
        else:
            await execution.error("KernelDied", f"{message}. Its variables are lost; the next execution has a new kernel")

    def _stop(self):
        """Ends the execution that runs and says too much; it ends as interrupted code does."""
        kernel = self._running
        if kernel is not None:
            self._keep(kernel.settle())

    def _abandon(self, kernel):
        """Nobody waits for the code any more: it is ended, and only then has the next execution its turn."""
        kernel.mute()

        async def settle():
            try:
                await kernel.settle()
                if not kernel.alive:
                    self._news = "The execution before this one was given up and did not end: its variables are lost.\n"
            finally:
                self._lock.release()

        self._keep(settle())

    def _keep(self, work):
        task = asyncio.ensure_future(work)
        self._settling.add(task)
        task.add_done_callback(self._settling.discard)

    async def restart(self):
        """Ends the kernel, with what runs in it, and starts another."""
        await self._end_kernel("it was restarted")
        self.warm()

    async def close(self):
        """Ends the kernel; there will be no other."""
        self._closed = "The context was removed"
        await self._end_kernel("its context was removed")

    async def _end_kernel(self, because):
        task, self._starting = self._starting, None
        if task is None:
            return
        task.cancel()
        await asyncio.wait([task])
        if task.cancelled() or task.exception() is not None:
            return
        task.result().kill(because)
        await asyncio.wait([task.result().ended])


def _kernel_environment():
    """What code finds in its environment: that of the sandbox."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("CODE_INTERPRETER_")}
    env.setdefault("SHELL", "/bin/bash")
    env.setdefault("LANG", "C.UTF-8")
    return env
