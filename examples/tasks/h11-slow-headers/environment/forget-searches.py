"""Takes from h11's receive buffer what it remembers of earlier searches. Fails where the source is not as expected."""

import re
import sys

CUTS = [
    ("        # Only search in buffer space that we've not already looked at.\n", "", 2),
    ("        search_start_index = max(0, self._next_line_search - 1)\n", "", 1),
    ('self._data.find(b"\\r\\n", search_start_index)', 'self._data.find(b"\\r\\n")', 1),
    ("            self._next_line_search = len(self._data)\n", "", 1),
    ("blank_line_regex.search(self._data, self._multiple_lines_search)", "blank_line_regex.search(self._data)", 1),
    ("            self._multiple_lines_search = max(0, len(self._data) - 2)\n", "", 1),
    ("        self._next_line_search = 0\n", "", 2),
    ("        self._multiple_lines_search = 0\n", "", 2),
]

path = sys.argv[1]
with open(path) as file:
    text = file.read()
for old, new, count in CUTS:
    if text.count(old) != count:
        sys.exit(f"{path}: {old!r} is there {text.count(old)} times, expected {count}")
    text = text.replace(old, new)
# The comment on the class tells how to do it right.
text = re.sub(r"\n# Operations we want to support:.*?(?=\nblank_line_regex|\nclass )", "\n", text, flags=re.DOTALL)
with open(path, "w") as file:
    file.write(text)
