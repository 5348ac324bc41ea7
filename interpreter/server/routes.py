"""What the clients ask for, by method and path."""

import re

from .refusal import Refusal

_SHELL_NAME = re.compile(r"^[A-Za-z_][A-Za-z0-9_]*$")


class Routes:
    """`handle` answers one request over the connection it came from."""

    def __init__(self, contexts):
        self._contexts = contexts

    async def handle(self, request, connection):
        parts = request.path.strip("/").split("/")
        if parts == ["health"]:
            _only(request, "GET", "HEAD")
            connection.answer(200, '"OK"')
        elif parts == ["execute"]:
            _only(request, "POST")
            await self._execute(request, connection)
        elif parts == ["contexts"]:
            _only(request, "GET", "POST")
            self._list_or_create(request, connection)
        elif parts[0] == "contexts" and len(parts) == 2:
            _only(request, "DELETE")
            await self._contexts.remove(parts[1])
            connection.answer(200)
        elif parts[0] == "contexts" and parts[2:] == ["restart"]:
            _only(request, "POST")
            await self._contexts.named(parts[1]).restart()
            connection.answer(200)
        else:
            raise Refusal(404, f"Nothing is at {request.path[:80]}")

    async def _execute(self, request, connection):
        body = request.json()
        code = body.get("code")
        if not isinstance(code, str):
            raise Refusal(400, "code must be a string")
        if body.get("context_id") and body.get("language"):
            raise Refusal(400, "Only one of context_id or language can be provided")
        if body.get("context_id"):
            context = self._contexts.named(body["context_id"])
        else:
            context = self._contexts.default(body.get("language"))
        if "\0" in code and context.language.name == "bash":
            raise Refusal(400, "code for bash can not hold NUL")
        await context.execute(code, _env(body.get("env_vars"), context.language), connection)

    def _list_or_create(self, request, connection):
        if request.method == "GET":
            connection.answer(200, self._contexts.facts())
            return
        body = request.json()
        connection.answer(200, self._contexts.create(body.get("language"), body.get("cwd")).facts)


def _only(request, *methods):
    if request.method not in methods:
        raise Refusal(405, f"{request.method[:20]} is not allowed here; {' and '.join(methods)} is")


def _env(env, language):
    """Environment variables of one execution, checked: names and values that a process can have."""
    if env is None:
        return {}
    if not isinstance(env, dict):
        raise Refusal(400, "env_vars must be an object of strings")
    for name, value in env.items():
        if not isinstance(value, str) or "\0" in value:
            raise Refusal(400, f"The value of environment variable {name[:60]!r} must be a string without NUL")
        if name == "" or "=" in name or "\0" in name:
            raise Refusal(400, f"{name[:60]!r} can not be the name of an environment variable")
        if language.name == "bash" and not _SHELL_NAME.match(name):
            raise Refusal(400, f"{name[:60]!r} can not be the name of a variable in bash")
    return env
