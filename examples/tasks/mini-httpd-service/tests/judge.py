"""Starts the service as nobody and asks it; some of what is asked for is put there only now."""

import base64
import os
import secrets
import socket
import subprocess
import sys
import time

sys.path.insert(0, "/tests")
import bench

ADDRESS = ("127.0.0.1", 8080)
START_S = 30


def ask(target, headers=()):
    with socket.create_connection(ADDRESS, timeout=30) as connection:
        lines = [f"GET {target} HTTP/1.0", "Host: club", *headers, "", ""]
        connection.sendall("\r\n".join(lines).encode())
        data = b""
        while len(data) < 1 << 20 and (piece := connection.recv(65536)):
            data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    first, *rest = head.decode("latin-1").split("\r\n")
    fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in rest)}
    return (first.split(" ") + ["", ""])[1], fields, body.decode(errors="replace")


def basic(user, password):
    return ["Authorization: Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()]


def started(process):
    until = time.monotonic() + START_S
    while time.monotonic() < until and process.poll() is None:
        try:
            socket.create_connection(ADDRESS, timeout=1).close()
            return True
        except OSError:
            time.sleep(0.02)
    return False


def check():
    random = secrets.SystemRandom()
    token = secrets.token_hex(8)
    for path in (f"site/{token}.txt", f"site/members/{token}.txt", f"site/notes/{token}.txt"):
        with open("/app/" + path, "w") as file:
            file.write(f"é {token}\n")
    a, b, c = (random.randrange(-(10**6), 10**6) for _ in range(3))
    right = basic("keeper", "vivarium")
    yield "/", [], "200", "Terrarium club"
    yield f"/{token}.txt", [], "200", f"é {token}\n"
    yield "/notes/2024-05.txt", [], "200", "Café"
    yield "/notes/", [], "200", token
    yield f"/{token}/none", [], "404", "No such animal"
    yield f"/members/{token}.txt", right, "200", token
    yield "/members/list.txt", right, "200", "Chidi"
    for headers in ([], basic("keeper", "Vivarium"), basic("keeper", ""), basic("", "vivarium"), basic("root", "vivarium")):
        yield f"/members/{token}.txt", headers, "401", ""
        yield "/members/", headers, "401", ""
    yield f"/cgi-bin/sum?{a}+{b}+{c}", [], "200", f"{a + b + c}\n"
    yield f"/cgi-bin/sum?{a}", [], "200", f"{a}\n"
    yield "/cgi-bin/sum?1+x", [], "400", ""
    yield f"/cgi-bin/sum?$(echo+{a})", [], "400", ""


def main():
    if not os.path.isfile("/app/start.sh"):
        bench.finish(False, "there is no /app/start.sh")
    bench.open_bench()
    process = subprocess.Popen(
        [*bench.AS_NOBODY, "/bin/bash", "/app/start.sh"],
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/nonexistent"},
        start_new_session=True,
    )
    if not started(process):
        bench.finish(False, "nothing listens at port 8080")
    for target, headers, status, text in check():
        try:
            got, fields, body = ask(target, headers)
        except OSError as error:
            bench.finish(False, f"GET {target}: {error}")
        exact = target.startswith("/cgi-bin/") and status == "200"
        if got != status or (body != text if exact else text not in body):
            bench.finish(False, f"GET {target} {headers}: status {got!r}, {body[:200]!r}")
        kind = fields.get("content-type", "").lower().replace(" ", "")
        if target.endswith(".txt") and status == "200" and kind != "text/plain;charset=utf-8":
            bench.finish(False, f"GET {target}: Content-Type {kind!r}")
        if "mini_httpd" not in fields.get("server", "mini_httpd" if target.startswith("/cgi-bin/") else ""):
            bench.finish(False, f"GET {target}: not answered by mini_httpd")
    bench.finish(process.poll() is None, "every question was answered as it should be")


main()
