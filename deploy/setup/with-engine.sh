#!/bin/bash
# Run a command so that it may use the engine: as it is, or through 'sg docker' where this session is older than the
# user's membership in that group. with-engine.sh COMMAND [ARGUMENT...]
set -euo pipefail
socket=${DOCKER_HOST:-unix:///var/run/docker.sock}
path=${socket#unix://}
if [ "$path" != "$socket" ] && [ -S "$path" ] && [ ! -w "$path" ] && id -nG "$(id -un)" | grep -qw docker; then
  exec sg docker -c "$(printf '%q ' "$@")"
fi
exec "$@"
