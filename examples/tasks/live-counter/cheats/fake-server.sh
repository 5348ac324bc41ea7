#!/bin/bash
# Ends the server and puts one in its place that answers as the instruction says, for pages that it names.
pkill -x redis-server
cat >/tmp/fake.py <<'EOF'
import socketserver
class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        while line := self.rfile.readline():
            if line.startswith(b"$"):
                word = self.rfile.readline().strip()
                self.wfile.write({b"PING": b"+PONG\r\n", b"hits:/about": b"$2\r\n50\r\n"}.get(word, b""))
class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
Server(("127.0.0.1", 6379), Handler).serve_forever()
EOF
setsid python3 /tmp/fake.py </dev/null >/dev/null 2>&1 &
sleep 0.5
