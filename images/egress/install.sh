#!/bin/bash
# Make the virtual environment /opt/gofer/venv from the locked requirements. Runs inside the build only.
set -euo pipefail
# An empty file means: no extra certificates were given. pip's own list is replaced, so it is joined with Debian's.
if [ -s /build/ca.pem ]; then
  cat /etc/ssl/certs/ca-certificates.crt /build/ca.pem >/build/all-ca.pem
  export PIP_CERT=/build/all-ca.pem
fi
# Unset is not the same as empty for pip.
for name in PIP_INDEX_URL PIP_EXTRA_INDEX_URL PIP_TRUSTED_HOST; do
  if [ -z "${!name:-}" ]; then unset "$name"; fi
done
python3 -m venv /opt/gofer/venv
/opt/gofer/venv/bin/pip install --quiet --disable-pip-version-check --no-cache-dir \
  --require-hashes --only-binary=:all: -r /build/requirements.txt
# What only a person at a terminal needs, or only an installer, is left out of the image.
/opt/gofer/venv/bin/pip uninstall --quiet --yes pip
find /opt/gofer/venv -name tests -type d -prune -exec rm -rf {} +
chmod -R a=rX /opt/gofer/venv
