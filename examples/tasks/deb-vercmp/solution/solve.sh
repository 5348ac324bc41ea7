#!/bin/bash
set -eu
cat >/app/vercmp <<'EOF'
#!/usr/bin/python3 -I
import re
import sys

VALID = re.compile(r"(?:([0-9]+):)?([0-9][A-Za-z0-9.+~:-]*?)(?:-([A-Za-z0-9.+~]+))?", re.ASCII)
ORDER = {"~": -1, **{letter: ord(letter) for letter in map(chr, range(65, 123))}}


def part(text):
    """A list that compares as dpkg compares the text: non-digits and digits in turn, `~` before the end, letters before the rest."""
    key = []
    for symbols, digits in re.findall(r"([^0-9]*)([0-9]*)", text):
        if symbols or digits:
            number = digits.lstrip("0")
            key.append([ORDER.get(symbol, ord(symbol) + 256) for symbol in symbols] + [0])
            key.append((len(number), number))
    return key + [[0], (0, "")]


def parse(text):
    match = VALID.fullmatch(text)
    if match is None:
        raise ValueError(text)
    epoch, upstream, revision = match.groups()
    if revision is None and "-" in upstream:
        raise ValueError(text)
    if len((epoch or "").lstrip("0")) > 10 or int(epoch or 0) > 2147483647 or (epoch is None and ":" in upstream):
        raise ValueError(text)
    return int(epoch or 0), part(upstream), part(revision or "0")


def answer(line):
    words = line.split(" ")
    if len(words) != 2:
        return "?"
    try:
        first, second = map(parse, words)
    except ValueError:
        return "?"
    return str((first > second) - (first < second))


for line in sys.stdin.buffer:
    print(answer(line.rstrip(b"\n").decode("utf-8", "replace")))
EOF
chmod 755 /app/vercmp
diff <(cut -d' ' -f1,2 /app/examples.txt | /app/vercmp) <(cut -d' ' -f3 /app/examples.txt)
