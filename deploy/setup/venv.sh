#!/bin/bash
# Make .venv with the locked requirements and this project in it (editable). Safe to repeat.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=deploy/setup/lib.sh
. "$here/lib.sh"
root=$(cd "$here/../.." && pwd)

# The first Python of 3.11 or newer that can make virtual environments; nothing where there is none.
find_python() {
  local name
  for name in python3 python3.13 python3.12 python3.11; do
    if "$name" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      echo "$name"
      return
    fi
  done
}

command -v git >/dev/null || apt_install "git is missing" git || die "git is missing: install it and run this again"
python=$(find_python)
if [ -z "$python" ]; then
  apt_install "no Python that can make virtual environments" python3 python3-venv || true
  python=$(find_python)
fi
if [ -z "$python" ]; then # Ubuntu 22.04: python3 is 3.10, and 3.11 lies beside it
  apt_install "python3 is older than 3.11" python3.11 python3.11-venv || true
  python=$(find_python)
fi
[ -n "$python" ] || die "Python 3.11 or newer with venv is needed: install it and run this again"

if [ ! -x "$root/.venv/bin/python" ]; then
  say "making .venv with $("$python" --version)"
  "$python" -m venv "$root/.venv"
fi
say "installing deploy/requirements.txt into .venv"
"$root/.venv/bin/python" -m pip install --quiet --disable-pip-version-check \
  --require-hashes --only-binary=:all: -r "$root/deploy/requirements.txt"
# Its dependencies are in already, by hash; setuptools, which builds it, as well.
"$root/.venv/bin/python" -m pip install --quiet --disable-pip-version-check \
  --no-deps --no-build-isolation --editable "$root"
