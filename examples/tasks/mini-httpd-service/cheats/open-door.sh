#!/bin/bash
# Serves everything, asks nobody for a password.
printf '#!/bin/bash\nexec /usr/local/sbin/mini_httpd -D -h 127.0.0.1 -p 8080 -d /app/site -T UTF-8 -i /dev/null\n' >/app/start.sh
