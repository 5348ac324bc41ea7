"""Builds ed with the agent's Makefile in a copy of the tree, runs upstream's suite on it, and looks at what make does."""

import os
import sys

sys.path.insert(0, "/tests")
import bench

FLAGS = "CFLAGS=-Wall -W -O0 -DJUDGED=1"
OBJECTS = {"buffer", "carg_parser", "global", "io", "main", "main_loop", "regex", "signal"}
# What the suite does not ask: script, text before, text after.
SCRIPTS = [
    (b"2,3m0\n1s/b/<&>/\nw\nq\n", b"a\nb\nc\n", b"<b>\nc\na\n"),
    (b"g/x/s/\\(x\\)\\(.\\)/\\2\\1/\\\nt.\nw\nq\n", b"xa\nno\nxb\n", b"ax\nax\nno\nbx\nbx\n"),
    (b"$-1,$j\nv/1/d\na\nnew\n.\nw\nq\n", b"1\n2\n1\n3\n", b"1\n13\nnew\n"),
]


def put(path, content):
    """A new file of nobody's, whatever was there."""
    if os.path.lexists(path):
        os.unlink(path)
    with open(path, "xb") as file:
        file.write(content)
    os.chown(path, bench.NOBODY, bench.NOBODY)
    os.chmod(path, 0o755)


def main():
    if not os.path.isfile("/app/Makefile") and not os.path.isfile("/app/GNUmakefile") and not os.path.isfile("/app/makefile"):
        bench.finish(False, "there is no Makefile")
    directory = bench.open_bench()
    tree = directory + "/app"
    bench.copy_tree("/app", tree)

    def make(*arguments, fails=False):
        code, out, err = bench.run(["/usr/bin/make", *arguments], cwd=tree)
        text = (out + err).decode(errors="replace")
        if (code != 0) != fails:
            bench.finish(False, f"make {' '.join(arguments)} ended with {code}: {text[-400:]}")
        return text

    def built():
        return {name for name in os.listdir(tree) if name.endswith(".o") or name in ("ed", "red")}

    make("clean")
    if built():
        bench.finish(False, f"make clean left {sorted(built())}")
    text = make(FLAGS)
    if "warning:" in text or text.count("-DJUDGED=1") < len(OBJECTS):
        bench.finish(False, f"the build warns or does not honour CFLAGS: {text[-400:]}")
    missing = ({name + ".o" for name in OBJECTS} | {"ed", "red"}) - built()
    if missing:
        bench.finish(False, f"not built: {sorted(missing)}")
    with open(tree + "/ed", "rb") as file:
        if file.read(4) != b"\x7fELF":
            bench.finish(False, "ed is not a program")
    code, out, _ = bench.run([tree + "/ed", "--version"], cwd=directory)
    if code != 0 or not out.startswith(b"GNU ed 1.19\n"):
        bench.finish(False, f"ed --version printed {out[:80]!r}")

    for script, before, after in SCRIPTS:
        put(directory + "/text", before)
        bench.run([tree + "/ed", "-s", "text"], cwd=directory, stdin=script)
        with open(directory + "/text", "rb") as file:
            if (now := file.read(1000)) != after:
                bench.finish(False, f"ed made {now!r} of {before!r} by {script!r}")

    # The suite as the image has it, where the build could not reach it; run in the built tree, which it takes ed from.
    code, out, err = bench.run(["/bin/sh", "/app/testsuite/check.sh", "/app/testsuite", "1.19"], cwd=tree)
    if code != 0 or b"tests completed successfully." not in out:
        bench.finish(False, f"the suite: {(out + err)[-400:].decode(errors='replace')}")

    # Does `make check` run the suite, in the tree, and say how it went?
    for code in (0, 1):
        put(tree + "/testsuite/check.sh", f"#!/bin/sh\necho \"suite of $1 in $PWD\"\nexit {code}\n".encode())
        text = make("check", FLAGS, fails=code != 0)
        if f"in {tree}\n" not in text or "suite of " not in text:
            bench.finish(False, f"make check does not run testsuite/check.sh: {text[-300:]}")

    again = make(FLAGS)
    if "gcc" in again or " cc " in again or "-c " in again:
        bench.finish(False, f"a second make builds again: {again[-300:]}")
    for header, users in {"carg_parser.h": {"carg_parser", "main"}, "ed.h": OBJECTS - {"carg_parser"}}.items():
        os.utime(f"{tree}/{header}", (2e9, 2e9))
        text = make("-n", FLAGS)
        left = [name for name in users if f"{name}.c" not in text]
        if left:
            bench.finish(False, f"a change of {header} does not rebuild {left}")
        os.utime(f"{tree}/{header}", (1e9, 1e9))
    make("install", f"DESTDIR={directory}/stage", "prefix=/opt/ed", FLAGS)
    for name in ("ed", "red"):
        path = f"{directory}/stage/opt/ed/bin/{name}"
        if not os.path.isfile(path) or not os.access(path, os.X_OK):
            bench.finish(False, f"make install did not install {name}")
    make("clean")
    if built():
        bench.finish(False, f"make clean left {sorted(built())}")
    bench.finish(True, "builds, passes the suite, and installs")


main()
