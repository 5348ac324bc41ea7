#!/bin/bash
# Another server in the place of mini_httpd (outside of the workspace: it does not come along).
printf '#!/bin/bash\nexec python3 -m http.server 8080 -d /app/site\n' >/usr/local/sbin/mini_httpd
printf '#!/bin/bash\nexec /usr/local/sbin/mini_httpd\n' >/app/start.sh
