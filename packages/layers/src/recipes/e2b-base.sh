#!/bin/sh
# Finishes the image of E2B's template `base`: the built-in base image, and what that template lets its user do. Called by
# mmdebstrap with the tree's path as $1, on the host, as root.
set -eu
root=$1

"$(dirname "$0")/base.sh" "$root"

# Python's packages go where everybody may write, with plain `pip install`.
rm -f "$root"/usr/lib/python3*/EXTERNALLY-MANAGED
chmod -R 0777 "$root/usr/local"
mkdir -p "$root/code"
chmod 0777 "$root/code"
