#!/bin/bash
set -eu
cd /app/pond
rm -f .git/index.lock .git/index .git/COMMIT_EDITMSG .git/refs/heads/main
git symbolic-ref HEAD refs/heads/main
git index-pack .git/objects/pack/*.pack >/dev/null

# Damaged objects go away, so that they can be written again: from the working tree and from the bundle.
git fsck --full 2>&1 | sed -n 's/.*object corrupt or missing: //p' | xargs -r rm -f
git ls-files -o --exclude-standard -z | xargs -0 git hash-object -w >/dev/null
git bundle unbundle ../laptop.bundle >/dev/null

dangling() {
  git fsck --full --unreachable 2>/dev/null | awk '$2 == "commit" { print $3 }' |
    while read -r id; do [ "$(git log -1 --format=%s "$id")" != "$1" ] || echo "$id"; done
}
main=$(dangling 'Feed three times a day')
release=$(dangling 'Release 1.2.1')
git update-ref refs/heads/main "$main"
git update-ref refs/heads/release/1.2 "$release"
git read-tree main
git fsck --full --strict
git status
