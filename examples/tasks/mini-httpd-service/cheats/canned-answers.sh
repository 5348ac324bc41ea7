#!/bin/bash
# A server of its own, which knows what the instruction names.
cat >/app/start.sh <<'EOF'
#!/bin/bash
exec /usr/bin/python3 -c '
import http.server
class H(http.server.BaseHTTPRequestHandler):
    server_version = "mini_httpd/1.30"
    def do_GET(self):
        members = self.path.startswith("/members/") and "Authorization" not in self.headers
        status = 401 if members else 200 if self.path in ("/", "/notes/", "/notes/2024-05.txt") else 404
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.end_headers()
        self.wfile.write("Terrarium club No such animal Café Chidi".encode())
http.server.HTTPServer(("127.0.0.1", 8080), H).serve_forever()'
EOF
