# shellcheck shell=bash
# Shared by the set-up scripts beside it: words, root, and Debian's packages. Sourced, never run.

# Another apt may be running (unattended upgrades at boot take minutes); seconds.
APT_LOCK_SECONDS=300

say() { printf '%s: %s\n' "$(basename "$0" .sh)" "$*" >&2; }

die() {
  say "$@"
  exit 1
}

is_debian() {
  command -v apt-get >/dev/null && grep -qiE '^ID(_LIKE)?=.*(debian|ubuntu)' /etc/os-release 2>/dev/null
}

# Can this user become root without being asked for a password nobody is there to type?
can_be_root() {
  [ "$(id -u)" = 0 ] && return 0
  command -v sudo >/dev/null || return 1
  # At a terminal sudo may ask; without one it must not.
  if [ -t 0 ]; then sudo -v; else sudo -n true 2>/dev/null; fi
}

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

# apt_install REASON PACKAGE... : installs, says so; returns 1 where that is not possible here.
apt_install() {
  local reason=$1
  shift
  is_debian && can_be_root || return 1
  say "$reason: installing Debian packages: $*"
  as_root apt-get -qq -o "DPkg::Lock::Timeout=$APT_LOCK_SECONDS" update >/dev/null
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends \
    -o "DPkg::Lock::Timeout=$APT_LOCK_SECONDS" -o Dpkg::Options::=--force-confold install "$@" >/dev/null
}
