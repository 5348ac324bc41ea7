"""How the server speaks with bash, which has no JSON."""

import asyncio
import os
import re
import shlex

# What bash is told at its stdin, as if typed at a terminal: an interrupt ends the line that runs, not the shell. The code comes
# over one descriptor in three parts that each end with NUL, the exit status goes back over another; commands have neither, nor
# our stdin. The status has a line of its own: after code that is cut short in a quotation bash misreads a brace.
_PROLOGUE = "{ export -n PS1 PS2; set +o history; printf 'ready\\0' >&STATUS; } 2>/dev/null\n"
_RUN = """\
{ IFS= read -r -d "" -u CODE __before; IFS= read -r -d "" -u CODE __code; IFS= read -r -d "" -u CODE __after; eval "$__before"; } 2>/dev/null
eval "$__code" </dev/null CODE<&- STATUS>&-
__status=$?
{ eval "$__after"; printf "%d\\0" "$__status" >&STATUS; } 2>/dev/null
"""
_STATUS_BYTES = 64
# What bash says of the terminal that it has not when a command of it was killed.
_NOISE = re.compile(r"^bash: \[[^\]\n]*\] tcsetattr: Inappropriate ioctl for device\n", re.MULTILINE)


class ShellChannel:
    """The same as JsonChannel, for a bash that reads its commands from its stdin."""

    def __init__(self):
        self._stdin_theirs, self._stdin = os.pipe()
        self._code_theirs, self._code = os.pipe()
        self._status, self._status_theirs = os.pipe()
        self._open = []

    @property
    def stdin(self):
        return self._stdin_theirs

    @property
    def fds(self):
        """Descriptors that the shell keeps."""
        return (self._code_theirs, self._status_theirs)

    arguments = ()
    # Without a prompt: it would be in the first command's stderr.
    environment = {"PS1": "", "PS2": ""}

    @staticmethod
    def heard(text):
        """What a client gets of the shell's stderr."""
        return _NOISE.sub("", text)

    async def open(self):
        """Called when the shell has its ends."""
        self._run = self._numbered(_RUN)
        prologue = self._numbered(_PROLOGUE)
        for fd in (self._stdin_theirs, *self.fds):
            os.close(fd)
        loop = asyncio.get_running_loop()
        self._reader = asyncio.StreamReader(limit=_STATUS_BYTES)
        reading, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(self._reader), os.fdopen(self._status, "rb", 0))
        self._commands, _ = await loop.connect_write_pipe(asyncio.Protocol, os.fdopen(self._stdin, "wb", 0))
        self._parts, _ = await loop.connect_write_pipe(asyncio.Protocol, os.fdopen(self._code, "wb", 0))
        self._open = [reading, self._commands, self._parts]
        self._commands.write(prologue)

    async def request(self, code, env):
        """Runs `code` with the variables of `env`, which have their former values again afterwards."""
        before, after = _borrowed(env) if env else ("", "")
        for part in (before, code, after):
            self._parts.write(part.encode("utf-8", "replace") + b"\0")
        self._commands.write(self._run)

    async def messages(self):
        """The messages that JsonChannel has: the exit status, if it is not 0, is the error `ExitCode`."""
        while True:
            try:
                word = (await self._reader.readuntil(b"\0"))[:-1].decode("ascii", "replace")
            except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError):
                return
            if word == "ready":
                yield {"type": "ready"}
                continue
            if word != "0":
                yield {"type": "error", "name": "ExitCode", "value": word, "traceback": f"The command ended with exit code {word}"}
            yield {"type": "done"}

    def _numbered(self, script):
        return script.replace("CODE", str(self._code_theirs)).replace("STATUS", str(self._status_theirs)).encode()

    def close(self):
        for transport in self._open:
            transport.close()


def _borrowed(env):
    """Two pieces of bash: one sets the variables and remembers what they were, the other puts that back."""
    names = " ".join(env)
    values = " ".join(f"{name}={shlex.quote(value)}" for name, value in env.items())
    return f'__saved="$(declare -p {names})"; export {values}', f'unset {names}; eval "$__saved"; unset __saved'
