"""All contexts of a sandbox."""

import os

from . import limits
from .context import Context
from .languages import DEFAULT_LANGUAGES, LANGUAGES, language_named
from .refusal import Refusal

DEFAULT_CWD = "/home/user"


class Contexts:
    """Contexts by id, oldest first, and the one of each language that is used when a client names none."""

    def __init__(self):
        self._by_id = {}
        self._defaults = {}
        for name in DEFAULT_LANGUAGES:
            self._defaults[name] = self._add(LANGUAGES[name], _home())

    def facts(self):
        return [context.facts for context in self._by_id.values()]

    def default(self, language_name):
        """The context that code of this language runs in when none is named."""
        language = language_named(language_name)
        context = self._defaults.get(language.name)
        if context is None or context.id not in self._by_id:
            context = self._defaults[language.name] = self._add(language, _home())
        return context

    def named(self, context_id):
        context = self._by_id.get(context_id)
        if context is None:
            raise Refusal(404, f"Context {str(context_id)[:60]} not found")
        return context

    def create(self, language_name, cwd):
        """A new context whose kernel is being started."""
        language = language_named(language_name)
        context = self._add(language, _home() if cwd is None else _directory(cwd))
        context.warm()
        return context

    async def remove(self, context_id):
        context = self.named(context_id)
        del self._by_id[context.id]
        await context.close()

    def _add(self, language, cwd):
        if len(self._by_id) >= limits.CONTEXTS:
            raise Refusal(429, f"There are {limits.CONTEXTS} contexts already; remove one")
        context = Context(language, cwd)
        self._by_id[context.id] = context
        return context


def _directory(path):
    if not isinstance(path, str) or path == "" or "\0" in path:
        raise Refusal(400, "cwd must be the path of a directory")
    full = os.path.normpath(os.path.join(_home(), os.path.expanduser(path)))
    if not os.path.isdir(full):
        raise Refusal(400, f"cwd {path[:120]!r} is not a directory")
    if not os.access(full, os.X_OK):
        raise Refusal(400, f"cwd {path[:120]!r} can not be entered")
    return full


def _home():
    return DEFAULT_CWD if os.path.isdir(DEFAULT_CWD) else os.path.expanduser("~")
