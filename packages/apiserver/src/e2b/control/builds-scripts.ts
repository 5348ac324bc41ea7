/**
 * Makes of any image one that steps can run in: a user `user` with a home and sudo, and the directories that everybody may write. Does
 * nothing to one that has all that. Needs /bin/sh; complains about an image without bash.
 */
export const PREPARE = `set -eu
if [ ! -x /bin/bash ]; then
  echo "the image has no /bin/bash, which steps and commands are run by" >&2
  exit 1
fi
if ! id -u user >/dev/null 2>&1; then
  if command -v useradd >/dev/null 2>&1; then
    useradd --create-home --shell /bin/bash --user-group user
  elif command -v adduser >/dev/null 2>&1; then
    adduser -D -s /bin/bash user
  else
    echo "the image has no user 'user', and no useradd to make one" >&2
    exit 1
  fi
fi
home=$(sed -n 's/^user:[^:]*:[^:]*:[^:]*:[^:]*:\\([^:]*\\):.*/\\1/p' /etc/passwd)
if [ ! -d "$home" ]; then
  mkdir -p "$home"
  chown user: "$home"
fi
if [ -d /etc/sudoers.d ] && [ ! -e /etc/sudoers.d/user ]; then
  printf 'user ALL=(ALL:ALL) NOPASSWD: ALL\\n' >/etc/sudoers.d/user
  chmod 0440 /etc/sudoers.d/user
fi
if [ -d /usr/local ] && [ "$(stat -c %a /usr/local)" != 777 ]; then
  chmod -R 0777 /usr/local
fi
if [ ! -d /code ]; then
  mkdir /code
  chmod 0777 /code
fi
`;

/** Makes the user $1 where it is missing; with $2 it may use sudo. */
export const ENSURE_USER = `set -eu
name=\${1%%:*}
case $name in *[!0-9]*) ;; *) exit 0 ;; esac
if ! id -u "$name" >/dev/null 2>&1; then
  if command -v useradd >/dev/null 2>&1; then
    useradd --create-home --shell /bin/bash --user-group "$name"
  else
    adduser -D -s /bin/bash "$name"
  fi
fi
if [ "$2" = sudo ] && [ -d /etc/sudoers.d ] && [ ! -e "/etc/sudoers.d/$name" ]; then
  printf '%s ALL=(ALL:ALL) NOPASSWD: ALL\\n' "$name" >"/etc/sudoers.d/$name"
  chmod 0440 "/etc/sudoers.d/$name"
fi
`;
