#!/bin/bash
set -eu
cd /app
mkdir -p site/cgi-bin site/errors
htpasswd -c site/members/.htpasswd keeper <<'EOF' >/dev/null
vivarium
vivarium
EOF
cat >site/cgi-bin/sum <<'EOF'
#!/usr/bin/python3 -I
import os
import re

words = re.split(r"\+|%20", os.environ.get("QUERY_STRING", ""))
good = all(re.fullmatch(r"-?[0-9]{1,100}", word) for word in words)
status, text = ("200 Ok", sum(map(int, words))) if good else ("400 Bad Request", "integers only")
print(f"Status: {status}\r\nContent-Type: text/plain\r\n\r\n{text}")
EOF
cat >site/errors/err404.html <<'EOF'
<!DOCTYPE html>
<title>404</title>
<p>No such animal.</p>
EOF
cat >start.sh <<'EOF'
#!/bin/bash
exec /usr/local/sbin/mini_httpd -D -h 127.0.0.1 -p 8080 -d /app/site -c 'cgi-bin/*' -T UTF-8 -i /dev/null
EOF
chmod 755 start.sh site/cgi-bin/sum
chmod -R a+rX /app
