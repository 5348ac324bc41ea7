"""Long input in small pieces must take little processor time, and every way to cut a request must give the same events."""

import json
import sys

sys.path.insert(0, "/tests")
import bench

# Searching from the front needs more than 4 s for any of these, remembering takes less than 0.2 s (2.1 GHz).
CPU_S = 0.5
SLOW = r"""
import sys
sys.path.insert(0, sys.argv[1])
import h11
kind = sys.argv[2]
connection = h11.Connection(h11.SERVER, max_incomplete_event_size=1 << 22)
if kind == "headers":
    head, tail, filler = b"GET / HTTP/1.1\r\nHost: x\r\n", b"\r\nX-End: 1\r\n\r\n", b"X-Filler: " + b"y" * 990 + b"\r\n"
    connection.receive_data(head)
    pieces = (filler * 400)[:-2]
elif kind == "trailers":
    connection.receive_data(b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n")
    assert type(connection.next_event()) is h11.Request
    pieces, tail = (b"X-Filler: " + b"y" * 990 + b"\r\n") * 400, b"X-End: 1\r\n\r\n"
else:
    connection.receive_data(b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
    assert type(connection.next_event()) is h11.Request
    pieces, tail = b"1;" + b"\r" * 1200000, b"\r\na\r\n0\r\n\r\n"
size = 32 if kind == "chunk" else 16
for at in range(0, len(pieces), size):
    connection.receive_data(pieces[at : at + size])
    assert connection.next_event() is h11.NEED_DATA
connection.receive_data(tail)
event = connection.next_event()
headers = getattr(event, "headers", [])
print(type(event).__name__, len(headers), sum(len(value) for _, value in headers))
"""
SPLIT = r"""
import json, sys
sys.path.insert(0, sys.argv[1])
import h11
def events(pieces):
    connection, seen = h11.Connection(h11.SERVER), []
    try:
        for piece in pieces:
            connection.receive_data(piece.encode("latin-1"))
            while (event := connection.next_event()) not in (h11.NEED_DATA, h11.PAUSED):
                headers = [[n.decode(), v.decode()] for n, v in getattr(event, "headers", [])]
                seen.append([type(event).__name__, headers, bytes(getattr(event, "data", b"")).decode()])
    except h11.RemoteProtocolError as error:
        seen.append(["RemoteProtocolError", error.error_status_hint])
    return [seen[0], "".join(e[2] for e in seen if e[0] == "Data"), seen[-1]]
print(json.dumps([events(pieces) for pieces in json.load(sys.stdin)]))
"""
HOST = [["host", "a"]]
SPLIT_CASES = [
    (
        "POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab\n\r\n2;e=1\r\n\r\n\r\n0\r\nT: 1\r\n\r\n",
        ["Request", [*HOST, ["transfer-encoding", "chunked"]], ""], "ab\n\r\n", ["EndOfMessage", [["t", "1"]], ""],
    ),
    ("GET / HTTP/1.1\nHost: a\nB: c\n\n", ["Request", [*HOST, ["b", "c"]], ""], "", ["EndOfMessage", [], ""]),
    ("GET / HTTP/1.1\nHost: a\r\n\r\n", ["Request", HOST, ""], "", ["EndOfMessage", [], ""]),
    ("GET / HTTP/1.1\r\nHost: a\r\n\n", ["Request", HOST, ""], "", ["EndOfMessage", [], ""]),
]


def main():
    directory = bench.open_bench()
    bench.copy_tree("/app", directory + "/app")

    def worker(code, *arguments, stdin=b"", cpu_s=10):
        argv = [bench.PYTHON, "-I", "-B", "-c", code, directory + "/app", *arguments]
        return bench.run(argv, cwd=directory, stdin=stdin, cpu_s=cpu_s)

    right = {"headers": b"Request 402 396002\n", "trailers": b"EndOfMessage 401 396001\n", "chunk": b"Data 0 0\n"}
    for kind, expected in right.items():
        code, out, err = worker(SLOW, kind, cpu_s=CPU_S)
        if code != 0 or out != expected:
            bench.finish(False, f"{kind} in small pieces: ended with {code}, printed {out!r} {err[-300:]!r}")

    asked = [
        ([text[:one], text[one:two], text[two:]], case)
        for text, *case in SPLIT_CASES
        for one in range(1, len(text))
        for two in (one, one + 1, len(text) - 1)
    ] + [(list(text), case) for text, *case in SPLIT_CASES]
    asked = [([piece for piece in pieces if piece != ""], case) for pieces, case in asked]
    asked.append((["GET / HTTP/1.1\r\nA: " + "b" * 17000, "c"], None))
    code, out, err = worker(SPLIT, stdin=json.dumps([pieces for pieces, _ in asked]).encode())
    try:
        answers = json.loads(out)
    except ValueError:
        bench.finish(False, f"the worker ended with {code}: {err[-300:]!r}")
    limit = answers.pop() if isinstance(answers, list) and len(answers) == len(asked) else None
    if limit is None or limit[2] != ["RemoteProtocolError", 431]:
        bench.finish(False, f"an incomplete request of 17,000 bytes: {limit!r}")
    for (pieces, case), answer in zip(asked, answers):
        if answer != case:
            bench.finish(False, f"{pieces!r}: {answer!r} instead of {case!r}")

    pytest = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--noconftest", "-c", "/dev/null", "--rootdir=" + directory]
    code, out, err = bench.run([bench.PYTHON, "-I", "-B", *pytest, "app/h11/tests"], cwd=directory)
    bench.finish(code == 0, "h11's own tests: " + out.decode(errors="replace")[-300:])


main()
