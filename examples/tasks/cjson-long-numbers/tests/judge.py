"""Compiles cJSON.c with a probe and compares what it reads with Python; then upstream's unit tests must pass."""

import random
import sys

sys.path.insert(0, "/tests")
import bench

UNITS = ["parse_number", "misc_tests"]
REFUSED = ["[1.2.3]", "[1e5e6]", "[--1]", "[+]", "[1-]", "[9" + "9" * 80 + ".1.2]", "[" + "9" * 90 + "E12e3]", "[." + "5" * 70 + "]", "[" + "-" * 100 + "]"]


def number(random_, digits):
    text = random_.choice("123456789") + "".join(random_.choices("0123456789", k=digits - 1))
    if random_.random() < 0.5:
        at = random_.randrange(1, digits) if digits > 1 else digits
        text = text[:at] + "." + (text[at:] or "0")
    if random_.random() < 0.4:
        text += random_.choice(["e", "E", "e+", "E-", "e-0"]) + str(random_.randrange(0, 40))
    return random_.choice(["", "-"]) + text


def cases():
    random_ = random.Random()
    for digits in [1, 2, 17, 61, 62, 63, 64, 65, 66, 100, 127, 128, 129, 255, 256, 257, 1000, 4096, 20000, 300000]:
        for _ in range(3):
            numbers = [number(random_, digits), number(random_, 3), number(random_, max(1, digits // 2))]
            yield "-1 [" + ",".join(numbers) + "]", " ".join("%.17g" % float(text) for text in numbers) + " /0"
    for text in REFUSED:
        yield "-1 " + text, "refused/0"
    long = "1" * 64
    yield f"0 [{long}]", "refused/0"
    # The array, its item and the copy of the number are three blocks.
    yield f"2 [{long}]", "refused/0"


def main():
    directory = bench.open_bench()
    bench.copy_tree("/app", directory + "/app")
    with open("/tests/probe.c") as source, open(directory + "/probe.c", "w") as target:
        target.write(source.read())
    gcc = ["/usr/bin/gcc", "-std=c89", "-w", "-Iapp", "-Iapp/tests/unity/src", "-Iapp/tests/unity/examples"]
    code, _, err = bench.run([*gcc, "probe.c", "app/cJSON.c", "-lm", "-o", "probe"], cwd=directory)
    if code != 0:
        bench.finish(False, f"cJSON.c does not compile: {err[-500:].decode(errors='replace')}")
    asked = list(cases())
    code, out, err = bench.run(["./probe"], cwd=directory, stdin="".join(text + "\n" for text, _ in asked).encode())
    answers = out.decode(errors="replace").split("\n")
    for (text, right), answer in zip(asked, answers):
        if right != answer:
            bench.finish(False, f"{text[:90]}: {answer[:90]!r} instead of {right[:90]!r}")
    if code != 0 or len(answers) != len(asked) + 1:
        bench.finish(False, f"the probe ended with {code} after {len(answers) - 1} of {len(asked)} texts")
    for unit in UNITS:
        sources = [f"app/tests/{unit}.c", "app/tests/unity/src/unity.c"]
        code, _, err = bench.run([*gcc, *sources, "-lm", "-o", unit], cwd=directory)
        if code == 0:
            code, out, err = bench.run(["../../" + unit], cwd=directory + "/app/tests")
        if code != 0:
            bench.finish(False, f"upstream's {unit}: {(out + err)[-500:].decode(errors='replace')}")
    bench.finish(True, f"{len(asked)} texts are read as Python reads them, and upstream's {', '.join(UNITS)} pass")


main()
