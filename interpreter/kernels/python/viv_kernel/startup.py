"""Imports IPython without what a kernel has no use for.

`import IPython` brings the terminal's line editor and a completion library, half of its start. The terminal is replaced by a
module that imports the real one when something asks for it; for the completion library IPython has a way to live without it.
"""

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
    """The module IPython.core.interactiveshell."""
    for name in _STOOD_IN:
        sys.modules[name] = _Terminal(name)
    sys.modules["jedi"] = None
    try:
        from IPython.core import interactiveshell
    finally:
        del sys.modules["jedi"]
        restore()
    return interactiveshell


def restore():
    """Removes the stand-ins: the next import finds the real modules."""
    for name in _STOOD_IN:
        if isinstance(sys.modules.get(name), _Terminal):
            del sys.modules[name]
