"""Feeds h11 good and bad chunked requests; then h11's own suite, which the agent can't have changed, must pass."""

import json
import sys

sys.path.insert(0, "/tests")
import bench

WORKER = r"""
import json, sys
sys.path.insert(0, sys.argv[1])
import h11

def outcome(pieces):
    connection = h11.Connection(h11.SERVER)
    body, seen = b"", []
    try:
        for piece in pieces:
            connection.receive_data(piece.encode("latin-1"))
            while True:
                event = connection.next_event()
                if event is h11.NEED_DATA:
                    break
                if type(event) is h11.Data:
                    body += bytes(event.data)
                    continue
                seen.append(type(event).__name__)
                if type(event) is h11.EndOfMessage:
                    return [seen, body.decode("latin-1"), [[n.decode(), v.decode()] for n, v in event.headers]]
    except h11.RemoteProtocolError:
        return [seen, body.decode("latin-1"), "RemoteProtocolError"]
    return [seen, body.decode("latin-1"), None]

print(json.dumps([outcome(pieces) for pieces in json.load(sys.stdin)]))
"""

HEAD = "POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
ERROR = "RemoteProtocolError"
# What follows the head, the body read from it, how it ends: trailers, an error, or None (more is needed).
CASES = [
    ("3\r\nxxx\r\n0\r\n\r\n", "xxx", []),
    ("3\r\n\r\n\r\r\n2\r\nab\r\n0\r\n\r\n", "\r\n\rab", []),
    ("A;ext=1\r\n0123456789\r\n1\r\n!\r\n0\r\nx-sum: 9\r\n\r\n", "0123456789!", [["x-sum", "9"]]),
    ("3\r\nxxx\r", "xxx", None),
    ("3\r\nxxx\r\n", "xxx", None),
    ("3\r\nxxx__1a\r\n", "xxx", ERROR),
    ("3\r\nxxx\r_1a\r\n", "xxx", ERROR),
    ("3\r\nxxx_\n1a\r\n", "xxx", ERROR),
    ("3\r\nxxx\n\r0\r\n\r\n", "xxx", ERROR),
    ("3\r\nxxx\n\n0\r\n\r\n", "xxx", ERROR),
    ("3\r\nxxx\r\r\n0\r\n\r\n", "xxx", ERROR),
    ("3\r\nxxx0\r\n\r\n", "xxx", ERROR),
    ("3\r\nxxx_", "xxx", ERROR),
    ("3\r\nxxx\r_", "xxx", ERROR),
    ("1\r\na\r\n2\r\nbc  0\r\n\r\n", "abc", ERROR),
]


def splits(text):
    data = HEAD + text
    yield [data]
    yield list(data)
    for at in range(len(HEAD), len(data)):
        yield [data[:at], data[at:]]


def main():
    directory = bench.open_bench()
    bench.copy_tree("/app", directory + "/app")
    asked, expected = [], []
    for text, body, end in CASES:
        seen = ["Request"] + (["EndOfMessage"] if isinstance(end, list) else [])
        for pieces in splits(text):
            asked.append(pieces)
            expected.append([seen, body, end])
    code, out, err = bench.run(
        [bench.PYTHON, "-I", "-B", "-c", WORKER, directory + "/app"], cwd=directory, stdin=json.dumps(asked).encode()
    )
    try:
        answers = json.loads(out)
    except ValueError:
        bench.finish(False, f"the worker ended with {code}: {err[-300:]!r}")
    if not isinstance(answers, list) or len(answers) != len(expected):
        bench.finish(False, "the worker did not answer every case")
    for pieces, right, answer in zip(asked, expected, answers):
        if answer != right:
            bench.finish(False, f"{pieces!r}: {answer!r} instead of {right!r}")
    pytest = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--noconftest", "-c", "/dev/null", "--rootdir=" + directory]
    code, out, err = bench.run([bench.PYTHON, "-I", "-B", *pytest, "app/h11/tests"], cwd=directory)
    bench.finish(code == 0, "h11's own tests: " + out.decode(errors="replace")[-300:])


main()
