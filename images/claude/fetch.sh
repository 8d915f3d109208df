#!/bin/bash
# Fetch the pinned binary for this architecture into /fetch/claude. Runs inside the build only: fetch.sh REGISTRY_URL
set -euo pipefail
registry=$1
arch=$(dpkg --print-architecture)
read -r version _ package sha512 < <(grep -E "^[^#]+ $arch " /fetch/pins) || {
  echo "no pinned Claude Code for architecture $arch" >&2
  exit 1
}
ca=()
# An empty file means: no extra certificates were given.
if [ -s /fetch/ca.pem ]; then ca=(--cacert /fetch/ca.pem); fi

url="${registry%/}/$package/-/${package##*/}-$version.tgz"
# 900 s: about 190 MB over 2 Mbit/s; --speed-* ends a dead connection sooner.
curl --fail --silent --show-error --location --retry 3 --max-time 900 --speed-limit 1000 --speed-time 60 \
  "${ca[@]}" --output /fetch/package.tgz "$url"
# Nothing is unpacked before the sum is right.
echo "$(printf '%s' "$sha512" | base64 -d | od -An -v -tx1 | tr -d ' \n')  /fetch/package.tgz" | sha512sum --check --quiet
tar -xzf /fetch/package.tgz -C /fetch --strip-components=1 --no-same-owner package/claude
rm /fetch/package.tgz
chmod 0755 /fetch/claude
