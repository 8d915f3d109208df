#!/bin/bash
# Fetch the package that /fetch/pins names for this architecture and put its files that match the given patterns, by
# their last names alone, into /fetch/bin. Runs inside a build only: fetch.sh PATTERN...
set -euo pipefail
# shellcheck source=images/npm/environment.sh
. /npm/environment.sh
arch=$(dpkg --print-architecture)
read -r _ _ package sha512 < <(grep -E "^[^#]+ $arch " /fetch/pins) || {
  echo "/fetch/pins has no package for the architecture $arch" >&2
  exit 1
}
cd /fetch
# No script of the package is run: `pack` only fetches it.
npm pack "$package" >/dev/null
mv ./*.tgz package.tgz
# Nothing is unpacked before the sum is right.
echo "$(printf '%s' "$sha512" | base64 -d | od -An -v -tx1 | tr -d ' \n')  /fetch/package.tgz" | sha512sum --check --quiet
mkdir bin
# tar ends with an error where one of the patterns finds nothing.
tar -xzf package.tgz -C bin --no-same-owner --wildcards --transform='s,.*/,,' "$@"
rm -r package.tgz /npm/cache
chmod 0755 bin/*
