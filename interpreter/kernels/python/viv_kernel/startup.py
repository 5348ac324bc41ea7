"""Imports IPython without what a kernel has no use for.

`import IPython` brings the terminal's line editor, and its shell a completion library: half of the start. The terminal is replaced
by a module that imports the real one when something asks for it; without the completion library IPython lives as well.
"""

import contextlib
import sys
import types


class _Terminal(types.ModuleType):
    """Stands for IPython.terminal.embed until somebody uses it."""

    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)

        def later(*args, **kwargs):
            restore()
            import importlib

            return getattr(importlib.import_module("IPython.terminal.embed"), name)(*args, **kwargs)

        return later


_STOOD_IN = ("IPython.terminal", "IPython.terminal.embed")


def import_shell():
    """The module IPython.core.interactiveshell. Call it before any other import of IPython."""
    if "IPython" in sys.modules:
        return sys.modules["IPython.core.interactiveshell"]
    for name in _STOOD_IN:
        sys.modules[name] = _Terminal(name)
    try:
        from IPython.core import interactiveshell
    finally:
        restore()
    return interactiveshell


@contextlib.contextmanager
def without_completions():
    """Within, the completion library can not be imported."""
    sys.modules["jedi"] = None
    try:
        yield
    finally:
        del sys.modules["jedi"]


def restore():
    """Removes the stand-ins: the next import finds the real modules."""
    for name in _STOOD_IN:
        if isinstance(sys.modules.get(name), _Terminal):
            del sys.modules[name]
