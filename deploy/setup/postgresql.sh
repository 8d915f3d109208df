#!/bin/bash
# Have PostgreSQL's server programs for the tests, which start a throw-away server of their own. Safe to repeat.
# Where they cannot be had, the tests that need them are skipped (and fail in CI): not this script's error.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=deploy/setup/lib.sh
. "$here/lib.sh"

have_server() { command -v initdb >/dev/null || compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null; }

have_server && exit 0
# Debian would make and start a server on port 5432; the tests want the programs only.
conf=/etc/postgresql-common/createcluster.conf
if is_debian && can_be_root && [ ! -e "$conf" ]; then
  as_root mkdir -p "$(dirname "$conf")"
  printf '# Written by gofer: only the programs were wanted, for its tests.\ncreate_main_cluster = false\n' |
    as_root tee "$conf" >/dev/null
fi
apt_install "no PostgreSQL server programs here, and the tests use them" postgresql ||
  say "no PostgreSQL server programs: the tests marked postgresql will be skipped"
