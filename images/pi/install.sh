#!/bin/bash
# Install Pi and its locked dependencies for the image, below /fetch/tree. Runs inside a build only.
set -euo pipefail
# shellcheck source=images/npm/environment.sh
. /npm/environment.sh
mkdir -p /fetch/tree/opt/pi /fetch/tree/usr/local/bin
cd /fetch/tree/opt/pi
cp /fetch/package.json /fetch/package-lock.json .
# Every package is checked against its hash in the lock; no package's script is run (environment.sh).
npm ci --omit=dev
rm package.json package-lock.json node_modules/.package-lock.json
# Types and source maps serve those who work on Pi.
find node_modules -type f \( -name '*.map' -o -name '*.d.ts' -o -name '*.d.cts' -o -name '*.d.mts' \) -delete
cp /fetch/pi /fetch/tree/usr/local/bin/pi
chmod -R u=rwX,go=rX /fetch/tree
chmod 0755 /fetch/tree/usr/local/bin/pi
rm -r /npm/cache
