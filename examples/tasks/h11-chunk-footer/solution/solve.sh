#!/bin/bash
set -eu
cd /app
python3 - <<'EOF'
path = "h11/_readers.py"
text = open(path).read()


def swap(old, new):
    global text
    assert text.count(old) == 1, old
    text = text.replace(old, new)


swap(
    """        # After reading a chunk, we have to throw away the trailing \\r\\n; if
        # this is >0 then we discard that many bytes before resuming regular
        # de-chunkification.
        self._bytes_to_discard = 0
""",
    """        # What is left of the \\r\\n that must follow the chunk just read.
        self._footer = b""
""",
)
start = text.index("        if self._bytes_to_discard > 0:")
end = text.index("        if self._bytes_in_chunk == 0:\n            # We need to refill")
text = (
    text[:start]
    + """        while self._footer:
            data = buf.maybe_extract_at_most(len(self._footer))
            if data is None:
                return None
            if not self._footer.startswith(data):
                raise LocalProtocolError(f"malformed chunk footer: {data!r}")
            self._footer = self._footer[len(data) :]
"""
    + text[end:]
)
swap("            self._bytes_to_discard = 2\n", '            self._footer = b"\\r\\n"\n')
open(path, "w").write(text)
EOF
