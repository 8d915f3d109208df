#!/bin/bash
# Have a Docker Engine that answers: the one that is there, else Debian's, installed and started. Safe to repeat.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=deploy/setup/lib.sh
. "$here/lib.sh"

# A cold start took 2 s; one that cleans up after a crash took 20 s; a slow disk is given more.
START_SECONDS=120
LOG=/var/log/gofer-dockerd.log
SOCKET=/var/run/docker.sock

# ping [COMMAND...]: prints "ok", "denied" (not for this user) or "none", asked through COMMAND (sudo). No docker command
# is needed.
ping() {
  "$@" python3 - "${DOCKER_HOST:-unix://$SOCKET}" <<'PY'
import socket, sys
address = sys.argv[1]
if not address.startswith("unix://"):
    print("ok")  # another host or ssh: whoever set it knows; the next step says if it does not answer
    raise SystemExit
try:
    with socket.socket(socket.AF_UNIX) as engine:
        engine.settimeout(10)
        engine.connect(address.removeprefix("unix://"))
        engine.sendall(b"GET /_ping HTTP/1.0\r\n\r\n")
        print("ok" if b" 200 " in engine.recv(64) else "none")
except PermissionError:
    print("denied")
except OSError:
    print("none")
PY
}

# The same three answers. A socket that is denied may also be one that nobody listens on: only root can tell.
probe() {
  local answer
  answer=$(ping)
  if [ "$answer" = denied ] && can_be_root && [ "$(ping as_root)" = none ]; then answer=none; fi
  echo "$answer"
}

# pgrep is not on every machine.
runs() { grep -qxF "$1" /proc/[0-9]*/comm 2>/dev/null; }

# A killed engine leaves files with process ids that may belong to anybody by now; it then refuses to start.
forget_stale() {
  local file=$1 program=$2 pid
  as_root test -f "$file" || return 0
  pid=$(as_root cat "$file")
  if [ "$(cat "/proc/$pid/comm" 2>/dev/null)" != "$program" ]; then
    say "removing $file, left by an engine that is gone"
    as_root rm -f "$file"
  fi
}

start_engine() {
  if [ -d /run/systemd/system ]; then
    say "starting Docker Engine with systemd"
    as_root systemctl enable --now docker >/dev/null 2>&1 || as_root systemctl start docker
    return
  fi
  if runs dockerd; then
    say "an engine is starting; waiting for it"
    return
  fi
  forget_stale /var/run/docker.pid dockerd
  forget_stale /var/run/docker/containerd/containerd.pid containerd
  say "no systemd here: starting dockerd in the background; its log is $LOG"
  # Of its own session, with no descriptor of ours: it must outlive make, the terminal and a CI step.
  # live-restore: a running task survives an engine restart.
  # shellcheck disable=SC2016  # the inner shell expands it
  as_root setsid --fork bash -c 'exec nohup dockerd --live-restore >>"$1" 2>&1 </dev/null' dockerd "$LOG"
}

wait_for_engine() {
  local deadline=$((SECONDS + START_SECONDS)) answer
  while [ "$SECONDS" -lt "$deadline" ]; do
    answer=$(probe)
    [ "$answer" = none ] || return 0
    sleep 0.5
  done
  as_root tail -n 20 "$LOG" 2>/dev/null >&2 || true
  die "Docker Engine did not answer within $START_SECONDS s (log: $LOG, or: journalctl -u docker)"
}

# Docker's own group is how another user reaches the engine; it is as good as root, so it is said.
let_user_in() {
  [ "$(probe)" = denied ] || return 0
  local user
  user=$(id -un)
  can_be_root || die "Docker Engine runs, but $user may not use it: ask for membership in the group docker"
  if ! id -nG "$user" | grep -qw docker; then
    say "adding $user to the group docker (whoever is in it can become root on this machine)"
    as_root usermod -aG docker "$user"
  fi
  say "this session is older than that membership: make goes on through 'sg docker'"
}

main() {
  if [ "$(probe)" = none ]; then
    [ -z "${DOCKER_HOST:-}" ] || die "DOCKER_HOST is $DOCKER_HOST, but no engine answers there"
    if ! command -v dockerd >/dev/null; then
      # docker.io's own iptables dependency is only recommended; without it no container reaches a network.
      apt_install "no Docker Engine here" docker.io iptables ||
        die "no Docker Engine here. Install it (https://docs.docker.com/engine/install/), start it, and run this again"
    fi
    can_be_root || die "Docker Engine is installed but not running, and starting it needs root: sudo systemctl start docker"
    start_engine
    wait_for_engine
  fi
  let_user_in
}

main
