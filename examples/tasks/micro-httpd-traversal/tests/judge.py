"""Builds micro_httpd and asks it for files in and outside of a directory."""

import os
import secrets
import sys

sys.path.insert(0, "/tests")
import bench

SECRET = secrets.token_hex(16)
FILES = {
    "site/index.html": "front",
    "site/hello.txt": "hello",
    "site/a b.txt": "space",
    "site/100%.txt": "percent",
    "site/..a": "dots before",
    "site/a..b": "dots within",
    "site/...": "three dots",
    "site/sub/deep/page.html": "deep",
    "site/sub/..x/page": "dotted directory",
    "site/%2e%2e/page": "literally percent",
    "secret.txt": SECRET,
    "site-private/secret.txt": SECRET,
}
SERVED = {
    "/": "front",
    "/hello.txt": "hello",
    "/%68ello.txt": "hello",
    "/a%20b.txt": "space",
    "/100%25.txt": "percent",
    "/..a": "dots before",
    "/%2e.a": "dots before",
    "/a..b": "dots within",
    "/a%2e%2eb": "dots within",
    "/...": "three dots",
    "/sub/deep/page.html": "deep",
    "/sub%2fdeep%2Fpage.html": "deep",
    "/./hello.txt": "hello",
    "/sub/..x/page": "dotted directory",
    "/%252e%252e/page": "literally percent",
    "/link.txt": SECRET,
}
FORBIDDEN = [
    "/../secret.txt", "/%2e%2e/secret.txt", "/.%2e/secret.txt", "/%2E./secret.txt", "/..%2fsecret.txt", "/%2e%2e%2fsecret.txt",
    "/sub/../../secret.txt", "/sub/%2e%2e/%2e%2e/secret.txt", "/sub/..%2f..%2fsecret.txt", "/sub%2f..%2F../secret.txt",
    "/../site-private/secret.txt", "/..", "/%2e%2e", "/../", "/%2e%2e/", "/sub/..", "/sub/%2e%2e", "/sub/deep/..%2f..%2f..",
    "/%2fetc/passwd", "//etc/passwd", "/%2Fetc%2fpasswd", "/./../secret.txt", "/.%2f..%2fsecret.txt", "/sub//..//../secret.txt",
]


def main():
    directory = bench.open_bench()
    bench.copy_tree("/app", directory + "/app")
    code, out, err = bench.run(["/usr/bin/make", "-s", "-B", "micro_httpd"], cwd=directory + "/app")
    if code != 0:
        bench.finish(False, f"make: {(out + err)[-400:].decode(errors='replace')}")
    for name, content in FILES.items():
        path = os.path.join(directory, "www", name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(content)
    os.symlink("../secret.txt", directory + "/www/site/link.txt")

    def ask(target):
        request = f"GET {target} HTTP/1.0\r\nHost: a\r\n\r\n".encode()
        code, out, err = bench.run([directory + "/app/micro_httpd", directory + "/www/site"], stdin=request, cpu_s=5)
        head, _, body = out.decode(errors="replace").partition("\r\n\r\n")
        return (head.split(" ") + ["", ""])[1], body

    for target in ["/..%2fsecret.txt", *FORBIDDEN]:
        status, body = ask(target)
        if status != "400" or SECRET in body:
            bench.finish(False, f"GET {target}: status {status!r} {'and the secret' if SECRET in body else ''}")
    for target, content in SERVED.items():
        status, body = ask(target)
        if status != "200" or body != content:
            bench.finish(False, f"GET {target}: status {status!r}, {body[:100]!r} instead of {content!r}")
    for target, right in {"/none.txt": "404", "/sub": "302", "/sub%2f..%2f": "400", "/nothing/..a": "404"}.items():
        status, _ = ask(target)
        if status != right:
            bench.finish(False, f"GET {target}: status {status!r} instead of {right}")
    bench.finish(True, f"{len(FORBIDDEN)} ways out are closed, {len(SERVED)} names are served")


main()
