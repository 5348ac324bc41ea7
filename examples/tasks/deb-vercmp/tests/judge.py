"""Runs the agent's program as nobody, who can run neither dpkg nor apt in this image, and compares its answers with dpkg's algorithm and dpkg."""

import os
import random
import re
import subprocess
import sys

sys.path.insert(0, "/tests")
import bench

DPKG = "/usr/bin/dpkg"
PROGRAM = "/app/vercmp"
FIXED = [
    ("1.0~~", "1.0~~a"), ("1.0~~a", "1.0~"), ("1.0~", "1.0"), ("1.0", "1.0a"), ("1.0a", "1.0+"), ("1.0-0", "1.0"), ("1.0-0~", "1.0"),
    ("0:1", "1"), ("00:1-0", "1-00"), ("1.00", "1.0"), ("1.a", "1.0a"), ("1a", "1.a"), ("1", "1."), ("1~", "1~~"), ("10", "9"), ("1-1-1", "1-1"),
    ("1.0-1", "1.0-1~"), ("1:2:3", "1:2"), ("1" + "0" * 400, "9" * 400), ("0" * 300 + "7", "7"), ("1Z", "1a"), ("1+", "1~"), ("1-a", "1-0a"),
]
INVALID = [
    "", "1", "1 2 3", "1  2", " 1 2", "1 2 ", "a 1", "1 a1", "1_0 1", "1 1:", ":1 1", "a:1 1", "1 -1:1", "1- 1", "1 2147483648:1", "1:2:3 1:-1",
    "1:a 1", "1 1-é", "-1 1", "1 ~1", "1é 1", "1-+_ 1", "1\t2", "1 1/2", "1.0:1 1", "99999999999999999999:1 1", "1-1: 1",
]


def order(character):
    if character == "~":
        return -1
    return ord(character) if character.isalpha() else ord(character) + 256


def compare_part(a, b):
    """verrevcmp of dpkg's lib/dpkg/version.c."""
    i = j = 0
    while i < len(a) or j < len(b):
        while (i < len(a) and not a[i].isdigit()) or (j < len(b) and not b[j].isdigit()):
            left = order(a[i]) if i < len(a) and not a[i].isdigit() else 0
            right = order(b[j]) if j < len(b) and not b[j].isdigit() else 0
            if left != right:
                return left - right
            i, j = i + 1, j + 1
        one, two = re.match(r"[0-9]*", a[i:])[0], re.match(r"[0-9]*", b[j:])[0]
        i, j = i + len(one), j + len(two)
        one, two = one.lstrip("0"), two.lstrip("0")
        if (len(one), one) != (len(two), two):
            return 1 if (len(one), one) > (len(two), two) else -1
    return 0


def split(version):
    epoch, colon, rest = version.partition(":")
    epoch, rest = (int(epoch), rest) if colon else (0, version)
    upstream, _, revision = rest.rpartition("-") if "-" in rest else (rest, "", "")
    return epoch, upstream, revision


def compare(a, b):
    a, b = split(a), split(b)
    result = (a[0] > b[0]) - (a[0] < b[0]) or compare_part(a[1], b[1]) or compare_part(a[2], b[2])
    return (result > 0) - (result < 0)


def version(random_):
    text = random_.choice(["", "", "", "0:", "1:", "10:"])
    text += random_.choice("0012") + "".join(random_.choices(["0", "1", "9", "10", ".", "~", "+", "a", "Z", "rc"], k=random_.randrange(6)))
    return text + random_.choice(["", "", "-1", "-0", "-1~a", "-00", "-0+b1", "-1.1-a"])


# What counts is the program's own CPU time: how long it has to wait for a busy machine is not its fault.
def ask(pairs, directory, cpu_s=5):
    code, out, err = bench.run([PROGRAM], cwd=directory, stdin="".join(line + "\n" for line in pairs).encode(), cpu_s=cpu_s)
    answers = out.decode(errors="replace").split("\n")[:-1]
    if code != 0 or len(answers) != len(pairs):
        bench.finish(False, f"vercmp ended with {code}, {len(answers)} answers to {len(pairs)} lines: {err[-300:]!r}")
    return answers


def main():
    if not os.path.isfile(PROGRAM):
        bench.finish(False, f"there is no {PROGRAM}")
    directory, random_ = bench.open_bench(), random.Random()
    pairs = FIXED + [(b, a) for a, b in FIXED] + [(a, a) for a, _ in FIXED]
    while len(pairs) < 4000:
        first = version(random_)
        epoch, colon, rest = first.rpartition(":")
        near = epoch + colon + rest[:1] + rest[1:].replace("1", random_.choice(["1", "01", "1~", "2"]), 1)
        second = version(random_) if random_.random() < 0.7 else near
        pairs.append((first, second))
    # The judge's own words are checked against dpkg's, which only root can run.
    for a, b in random_.sample(pairs, 12):
        for relation, truth in (("lt", compare(a, b) < 0), ("eq", compare(a, b) == 0)):
            if (subprocess.run([DPKG, "--compare-versions", a, relation, b]).returncode == 0) != truth:
                sys.exit(f"the judge compares {a} with {b} otherwise than dpkg")

    lines = [f"{a} {b}" for a, b in pairs]
    for line, answer, (a, b) in zip(lines, ask(lines, directory), pairs):
        if answer != str(compare(a, b)):
            bench.finish(False, f"{line[:200]}: {answer[:20]!r} instead of {compare(a, b)}")
    for line, answer in zip(INVALID, ask(INVALID, directory)):
        if answer != "?":
            bench.finish(False, f"{line!r} is not two versions: {answer[:20]!r}")
    ask(lines * 10, directory, cpu_s=10)
    bench.finish(True, f"{len(pairs)} pairs are compared as dpkg does")


main()
