#!/bin/bash
# Have the programs that the tests use and the project does not: PostgreSQL's server (the tests start a throw-away one of
# their own) and iproute2. Safe to repeat. Where one cannot be had, its tests say so: not this script's error.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=deploy/setup/lib.sh
. "$here/lib.sh"

have_server() { command -v initdb >/dev/null || compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null; }

wanted=()
command -v ip >/dev/null || wanted+=(iproute2)
if ! have_server; then
  wanted+=(postgresql)
  # Debian would make and start a server on port 5432; the tests want the programs only.
  conf=/etc/postgresql-common/createcluster.conf
  if is_debian && can_be_root && [ ! -e "$conf" ]; then
    as_root mkdir -p "$(dirname "$conf")"
    printf '# Written by gofer: only the programs were wanted, for its tests.\ncreate_main_cluster = false\n' |
      as_root tee "$conf" >/dev/null
  fi
fi
[ ${#wanted[@]} -gt 0 ] || exit 0
apt_install "the tests use them" "${wanted[@]}" ||
  say "not installed: ${wanted[*]}; the tests that need them will be skipped, or fail"
