#!/bin/bash
# mypy strict over the files that run on the egress image's Python with mitmproxy, which the project's own environment
# does not have.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$root"
MYPYPATH=".venv/egress-types:." "$root/.venv/bin/python" -m mypy --config-file deploy/setup/mypy-egress.ini sandbox/egress
