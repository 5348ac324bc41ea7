"""The languages there are, how their kernels are started, and how one speaks with them."""

import os
import shutil

from .refusal import Refusal

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_ALIASES = {"py": "python", "python3": "python", "js": "javascript", "node": "javascript", "ts": "typescript", "tslab": "typescript", "sh": "bash"}

# Listed by GET /contexts from the beginning, as E2B's server does; their kernels start when they are needed.
DEFAULT_LANGUAGES = ("python", "javascript")

_PYTHON = ["/usr/bin/python3", os.path.join(HERE, "kernels", "python")]
_NODE = ["--expose-internals", "--disable-warning=ExperimentalWarning", os.path.join(HERE, "kernels", "javascript", "kernel.js")]
_R = ["/usr/bin/Rscript", "--vanilla", os.path.join(HERE, "kernels", "r", "kernel.R")]
# The heap is bounded by the sandbox's memory; one thread collects garbage, and what is compiled once stays simple.
_JAVA = ["/usr/bin/java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-cp", os.path.join(HERE, "kernels", "java"), "Kernel"]


class Language:
    """`speaks` is the form of the messages: lines of `json` over a socket or `pipes` (channel.py), or `shell` (shell_channel.py)."""

    def __init__(self, name, program, argv, speaks="json"):
        self.name = name
        self.program = program
        self.argv = argv
        self.speaks = speaks


def _languages():
    node = os.environ.get("CODE_INTERPRETER_NODE") or "/usr/local/bin/node"
    python = os.environ.get("CODE_INTERPRETER_PYTHON") or _PYTHON[0]
    bash = ["/bin/bash", "--norc", "--noprofile", "--noediting", "-i"]
    every = [
        Language("python", python, [python, *_PYTHON[1:]]),
        Language("javascript", node, [node, *_NODE, "javascript"]),
        Language("typescript", node, [node, *_NODE, "typescript"]),
        Language("bash", bash[0], bash, speaks="shell"),
        Language("r", "/usr/bin/Rscript", _R, speaks="pipes"),
        Language("java", "/usr/bin/java", _JAVA, speaks="pipes"),
    ]
    return {language.name: language for language in every}


LANGUAGES = _languages()


def language_named(name):
    """The language of that name or short name, in any case; Python when there is no name."""
    if name is None or name == "":
        return LANGUAGES["python"]
    if not isinstance(name, str):
        raise Refusal(400, "language must be a string")
    short = name.strip().lower()
    language = LANGUAGES.get(_ALIASES.get(short, short))
    if language is None:
        raise Refusal(400, f"Language {name[:60]!r} is not supported: there are {', '.join(LANGUAGES)}")
    if shutil.which(language.program) is None:
        raise Refusal(400, f"Language {language.name!r} is not installed in this sandbox: {language.program} is missing")
    return language
