#!/bin/bash
set -eu
cd /app
python3 - <<'EOF'
path = "h11/_receivebuffer.py"
text = open(path).read()


def swap(old, new):
    global text
    assert text.count(old) == 1, old
    text = text.replace(old, new)


# How far a line end, and the end of a header block, have been looked for already.
swap("        self._data = bytearray()\n", "        self._data = bytearray()\n        self._line_seen = 0\n        self._block_seen = 0\n")
swap("        del self._data[:count]\n", "        del self._data[:count]\n        self._line_seen = 0\n        self._block_seen = 0\n")
swap(
    '        partial_idx = self._data.find(b"\\r\\n")\n',
    '        partial_idx = self._data.find(b"\\r\\n", max(0, self._line_seen - 1))\n',
)
swap("        if partial_idx == -1:\n", "        if partial_idx == -1:\n            self._line_seen = len(self._data)\n")
swap("blank_line_regex.search(self._data)", "blank_line_regex.search(self._data, self._block_seen)")
swap("        if match is None:\n", "        if match is None:\n            self._block_seen = max(0, len(self._data) - 2)\n")
open(path, "w").write(text)
EOF
