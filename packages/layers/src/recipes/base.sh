#!/bin/sh
# Finishes the built-in base image. Called by mmdebstrap with the tree's path as $1, on the host, as root.
set -eu
root=$1

chroot "$root" useradd --create-home --uid 1000 --user-group --shell /bin/bash user
printf 'user ALL=(ALL:ALL) NOPASSWD: ALL\n' >"$root/etc/sudoers.d/user"
chmod 0440 "$root/etc/sudoers.d/user"
ln -sf python3 "$root/usr/bin/python"

# What the host's own network and mirrors look like is none of the image's business.
printf '127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n' >"$root/etc/hosts"
printf '# Filled in where the sandbox has a network.\n' >"$root/etc/resolv.conf"
printf 'localhost\n' >"$root/etc/hostname"
chmod 0644 "$root/etc/hosts" "$root/etc/resolv.conf" "$root/etc/hostname"
rm -rf "$root"/etc/apt/sources.list.d/*
cat >"$root/etc/apt/sources.list" <<'SOURCES'
deb http://deb.debian.org/debian bookworm main
deb http://deb.debian.org/debian bookworm-updates main
deb http://deb.debian.org/debian-security bookworm-security main
SOURCES

# Nothing that differs from one build, or should differ from one sandbox, to the next.
: >"$root/etc/machine-id"
rm -f "$root/var/lib/dbus/machine-id"
rm -rf "$root"/var/lib/apt/lists/* "$root"/var/cache/apt/* "$root"/var/cache/debconf/*-old
find "$root/var/log" -type f -delete
