#!/bin/bash
# Unpack the egress image's locked packages beside the virtual environment, so that mypy sees mitmproxy's types.
# They are for Python 3.13 and are never run here.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
rm -rf "$root/.venv/egress-types"
echo "egress-types: unpacking mitmproxy for the type check" >&2
"$root/.venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --no-compile --ignore-requires-python \
  --target "$root/.venv/egress-types" --python-version 3.13 --implementation cp --only-binary=:all: \
  --require-hashes -r "$root/images/egress/requirements.txt"
# mypy has this one's types built in and refuses a second.
rm -f "$root/.venv/egress-types/typing_extensions.py"
