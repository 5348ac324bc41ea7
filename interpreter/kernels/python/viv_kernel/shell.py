"""IPython's shell with the socket in place of a terminal."""

import sys

from .startup import import_shell, without_completions

interactiveshell = import_shell()

from IPython.core.autocall import ExitAutocall  # noqa: E402
from IPython.core.displayhook import DisplayHook  # noqa: E402
from IPython.core.displaypub import DisplayPublisher  # noqa: E402
from IPython.core.error import StdinNotImplementedError  # noqa: E402
from traitlets import Any, Instance, Type, default  # noqa: E402


class Publisher(DisplayPublisher):
    """What `display()` shows is a result beside the main one."""

    channel = Any()

    def publish(self, data, metadata=None, source=None, *, transient=None, update=False, **_kwargs):
        if self.channel is not None and isinstance(data, dict):
            flush()
            self.channel.send_result(data, is_main=False)

    def clear_output(self, wait=False):
        """There is no screen to be cleared."""


class Hook(DisplayHook):
    """The value of the last expression is the main result."""

    channel = Any()

    def write_output_prompt(self):
        pass

    def write_format_data(self, format_dict, md_dict=None):
        if self.channel is not None:
            flush()
            self.channel.send_result(format_dict, is_main=True)

    def finish_displayhook(self):
        pass


class Exit(ExitAutocall):
    """`exit` and `quit`, with or without parentheses, end the cell and not the kernel."""

    rewrite = False

    def __call__(self, code=None):
        raise SystemExit(code)


class Shell(interactiveshell.InteractiveShell):
    """Reports errors over the channel, runs `!commands` with the kernel's own stdout, and has nobody to ask for input."""

    channel = Any()
    displayhook_class = Type(Hook)
    display_pub_class = Type(Publisher)
    exiter = Instance(ExitAutocall)

    @default("exiter")
    def _make_exiter(self):
        return Exit(self)

    def connect(self, channel):
        self.channel = channel
        self.displayhook.channel = channel
        self.display_pub.channel = channel

    def system(self, cmd):
        self.system_raw(cmd)

    def _showtraceback(self, etype, evalue, stb):
        flush()
        traceback = "\n".join(stb) if isinstance(stb, list) else str(stb)
        self.channel.send({"type": "error", "name": etype.__name__, "value": _text_of(evalue), "traceback": traceback})

    def init_completer(self):
        with without_completions():
            super().init_completer()


def no_input(prompt="", *_args, **_kwargs):
    """Takes the place of `input` and `getpass`."""
    raise StdinNotImplementedError("Code can not ask for input: nobody is there to answer. Prompt: " + repr(str(prompt)))


def flush():
    """What was printed so far is in the pipes afterwards."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            pass


def _text_of(error):
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - the text comes from code that may do anything.
        return f"<{type(error).__name__} whose text can not be made>"
