#!/bin/sh
# Makes this clone ready to run: checks the machine, installs missing OS packages through apt, npm packages, viv-init.
# Says what it does, one line per thing; says nothing and takes well under a second when there is nothing to do.
#
#   scripts/setup.sh           what a node needs at run time and to compile viv-init
#   scripts/setup.sh test      … and what the tests need (sanitizers, fuzzers)
#   scripts/setup.sh bench     … and what the benchmarks compare with (podman)
#   scripts/setup.sh vm        … and what the tests in a virtual machine need (QEMU)
#   scripts/setup.sh --check   only the checks; touches nothing
#
# Everything is checked before anything is touched. Exit 1: a precondition is not met (the message says which and what to
# do); exit 2: an installation failed (the end of its output is shown).
set -u
cd "$(dirname "$0")/.." || exit 2

features="node"
check_only=no
for arg in "$@"; do
  case $arg in
    --check) check_only=yes ;;
    node) ;;
    test | bench | vm) features="$features $arg" ;;
    *) echo "setup: unknown argument '$arg'; use test, bench, vm or --check" >&2; exit 1 ;;
  esac
done

# package|what it is for. One list per feature.
packages_for() {
  case $1 in
    node) cat <<'LIST'
crun|runs containers
erofs-utils|makes image layers
btrfs-progs|scratch disks with quotas
mmdebstrap|makes base images
debian-archive-keyring|verifies Debian packages for base images
util-linux|namespaces
mount|loop devices
tar|imports
xz-utils|imports, archives that ADD unpacks
bzip2|archives that ADD unpacks
ca-certificates|downloads
bash-static|a grader's shell inside a sandbox
busybox-static|a grader's tools inside a sandbox
make|builds viv-init
gcc|builds viv-init
libc6-dev|builds viv-init
linux-libc-dev|builds viv-init
musl-tools|builds viv-init
LIST
      ;;
    test) cat <<'LIST'
clang|sanitizer and fuzzer builds of viv-init
git|tidy test
openssl|certificates for tests of TLS
buildah|images built from Dockerfiles are compared with its
docker-registry|images of a registry are built on
skopeo|brings images from registries
LIST
      ;;
    bench) echo 'podman|the benchmarks compare with it' ;;
    vm) echo 'e2fsprogs|the disk of a virtual machine' ;;
  esac
}

fail() { # what, remedy
  echo "setup: $1" >&2
  echo "       $2" >&2
  failed=yes
}

check_machine() {
  failed=no
  [ "$(uname -s)" = Linux ] || fail "this is $(uname -s), a node needs Linux" "Use a Linux machine (Debian 12/13, Ubuntu 24.04); the SDK and CLI work from here with 'viv login URL'."
  case $(uname -m) in
    x86_64 | amd64) ;;
    *) fail "this machine is $(uname -m), a node needs x86-64" "Use an x86-64 machine." ;;
  esac
  [ "$(id -u)" = 0 ] || fail "not root (uid $(id -u))" "Run it as root: 'sudo npm run …'."
  release=$(uname -r)
  major=${release%%.*}
  rest=${release#*.}
  minor=${rest%%[!0-9]*}
  if [ "${major:-0}" -lt 6 ] || { [ "$major" -eq 6 ] && [ "${minor:-0}" -lt 1 ]; }; then
    fail "kernel $release is too old, 6.1 or later is needed" "Upgrade to Debian 12/13 or Ubuntu 24.04 (or a newer kernel package) and reboot."
  fi
  if ! command -v apt-get >/dev/null 2>&1 || ! command -v dpkg-query >/dev/null 2>&1; then
    fail "apt-get is not there" "Use Debian 12/13 or Ubuntu 24.04, or install by hand: $(for f in $features; do packages_for "$f"; done | cut -d'|' -f1 | tr '\n' ' ')"
  fi
  version=$(node -v 2>/dev/null || echo none)
  number=${version#v}
  number=${number%%.*}
  case $number in
    '' | *[!0-9]*) fail "node is not there" "Install Node.js 20 or later (https://nodejs.org)." ;;
    *) [ "$number" -ge 20 ] || fail "node $version is too old, 20 or later is needed" "Install Node.js 20 or later (https://nodejs.org)." ;;
  esac
  command -v npm >/dev/null 2>&1 || fail "npm is not there" "Install npm (it comes with Node.js; on Debian: apt-get install npm)."
  for dir in . /var; do
    free=$(df -Pk "$dir" | awk 'NR == 2 { print int($4 / 1024) }')
    [ "$free" -ge "$need_mib" ] || { fail "$(cd "$dir" && pwd) has $free MiB free, $need_mib MiB are needed" "Free some space on that file system."; break; }
  done
  [ "$failed" = no ]
}

missing_packages() {
  wanted=$(for f in $features; do packages_for "$f"; done | cut -d'|' -f1)
  # shellcheck disable=SC2086 # a list of words
  have=" $(dpkg-query -W -f '${Package}:${db:Status-Status} ' $wanted 2>/dev/null) "
  for package in $wanted; do
    case $have in
      *" $package:installed "*) ;;
      *) echo "$package" ;;
    esac
  done
}

# Recommended packages come along: clang's sanitizer runtime is one.
apt_install() {
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq -o APT::Install-Recommends=true -o DPkg::Lock::Timeout=300 "$@" >>"$log" 2>&1 </dev/null
}

install_packages() {
  missing=$(missing_packages)
  [ -n "$missing" ] || return 0
  for package in $missing; do
    echo "setup: installing $package ($(for f in $features; do packages_for "$f"; done | sed -n "s/^$package|//p" | head -n 1))"
  done
  # The package lists of a fresh machine are empty or stale: fetch them when an install without that doesn't work.
  # shellcheck disable=SC2086 # a list of words
  apt_install $missing && return 0
  echo "setup: fetching package lists (apt-get update)"
  DEBIAN_FRONTEND=noninteractive apt-get update -qq -o DPkg::Lock::Timeout=300 >>"$log" 2>&1 </dev/null
  # shellcheck disable=SC2086
  apt_install $missing && return 0
  echo "setup: apt-get install failed for: $(echo $missing)" >&2
  tail -n 15 "$log" >&2
  echo "       On Ubuntu some of them are in 'universe': add-apt-repository universe. Full output: $log" >&2
  exit 2
}

# The second test bed. Without it its tests are skipped, and say so.
install_emulator() {
  case " $features " in *" vm "*) ;; *) return 0 ;; esac
  command -v qemu-system-x86_64 >/dev/null 2>&1 && return 0
  echo "setup: installing qemu-system-x86 (tests on Linux 6.1 in a virtual machine)"
  apt_install qemu-system-x86 && return 0
  echo "setup: qemu-system-x86 can't be installed: the tests in a virtual machine will be skipped" >&2
}

install_npm() {
  [ -d node_modules ] && node scripts/lock-check.mjs 2>/dev/null && return 0
  echo "setup: installing npm packages (npm ci)"
  npm ci --no-audit --no-fund >>"$log" 2>&1 </dev/null && return 0
  echo "setup: npm ci failed" >&2
  tail -n 15 "$log" >&2
  echo "       Full output: $log" >&2
  exit 2
}

build_init() {
  make -q -C guest >/dev/null 2>&1 && return 0
  echo "setup: compiling viv-init"
  make -C guest >>"$log" 2>&1 </dev/null && return 0
  echo "setup: make -C guest failed" >&2
  tail -n 15 "$log" >&2
  echo "       Full output: $log" >&2
  exit 2
}

need_mib=3072
[ -d node_modules ] && need_mib=1024
check_machine || { echo "setup: nothing was changed" >&2; exit 1; }
[ "$check_only" = yes ] && exit 0

log=$(mktemp "${TMPDIR:-/tmp}/viv-setup.XXXXXX") || exit 2
install_packages
install_emulator
install_npm
build_init
rm -f "$log"
