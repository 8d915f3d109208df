"""Runs as the agent, inside the sandbox, and tells what it found as one JSON object. Standard library only.

On standard input (the prompt): {"addresses": [[host, port], ...]} to try. It holds none of the secrets that the test
looks for, so what it tells holds them only if the sandbox does.
"""

import ctypes
import errno
import glob
import json
import mmap
import os
import signal
import socket
import subprocess
import sys

SECONDS = 2.0
FAMILIES = {"AF_ALG": 38, "AF_VSOCK": 40, "AF_PACKET": 17, "AF_INET6": 10, "AF_BLUETOOTH": 31, "AF_TIPC": 30}
CALLS = {"io_uring_setup": 425, "pidfd_getfd": 438, "open_tree": 428, "fsopen": 430, "memfd_secret": 447}
X86_CALLS = {"ptrace": 101, "keyctl": 250, "bpf": 321, "unshare": 272, "name_to_handle_at": 303, "userfaultfd": 323}
# mov eax,20 (getpid, which cannot fail); int 0x80; ret
INT_80 = bytes.fromhex("b814000000cd80c3")


def read(path: str, most: int = 200_000) -> str:
    try:
        with open(path, "rb") as source:
            return source.read(most).decode("latin-1")
    except OSError as error:
        return f"<{errno.errorcode.get(error.errno or 0, '?')}>"


def tcp(host: str, port: int) -> str:
    try:
        with socket.create_connection((host, port), timeout=SECONDS):
            return "CONNECTED"
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, type(error).__name__)


def udp(host: str, port: int) -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as way:
        way.settimeout(SECONDS)
        try:
            way.sendto(bytes.fromhex("123401000001000000000000076578616d706c6503636f6d0000010001"), (host, port))
            way.recv(512)
            return "ANSWERED"
        except OSError as error:
            return errno.errorcode.get(error.errno or 0, type(error).__name__)


def resolve(name: str) -> str:
    try:
        return f"RESOLVED {socket.getaddrinfo(name, 80)}"
    except OSError as error:
        return type(error).__name__


def family(number: int) -> str:
    try:
        socket.socket(number, socket.SOCK_DGRAM, 0).close()
        return "OPENED"
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, "?")


def call(number: int) -> str:
    libc = ctypes.CDLL(None, use_errno=True)
    result = libc.syscall(number, 0x10000000, 0, 0, 0, 0)
    return "DONE" if result >= 0 else errno.errorcode.get(ctypes.get_errno(), "?")


def int_80() -> str:
    """A 32-bit call from 64-bit code, in a child: it may be killed for it."""
    child = os.fork()
    if child == 0:
        code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        code.write(INT_80)
        address = ctypes.addressof(ctypes.c_char.from_buffer(code))
        result = ctypes.CFUNCTYPE(ctypes.c_int)(address)()
        os._exit(0 if result >= 0 else 100)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return signal.Signals(os.WTERMSIG(status)).name
    return "DONE" if os.WEXITSTATUS(status) == 0 else "REFUSED"


def write(path: str) -> str:
    try:
        with open(path, "w") as target:
            target.write("x")
        os.unlink(path)
        return "WRITTEN"
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, "?")


def fill(folder: str) -> dict[str, object]:
    """Write until it stops; gives back what was written, how it ended, and the file system's own size."""
    path, written, ended = os.path.join(folder, "fill"), 0, "BOUND"
    piece = b"\1" * (1 << 20)
    try:
        with open(path, "wb", buffering=0) as target:
            while written < 4 << 30:
                written += target.write(piece)
    except OSError as error:
        ended = errno.errorcode.get(error.errno or 0, "?")
    disk = os.statvfs(folder)
    if os.path.exists(path):
        os.unlink(path)
    return {"written": written, "ended": ended, "size": disk.f_blocks * disk.f_frsize}


def refused(url: str) -> str:
    argv = ["curl", "-sS", "-m", "10", "-x", "http://127.0.0.1:9080", "-w", " %{http_code}", url]
    return subprocess.run(argv, capture_output=True, text=True, check=False).stdout


def main() -> None:
    asked = json.load(sys.stdin)
    print(
        json.dumps(
            {
                "interfaces": [line.split(":")[0].strip() for line in read("/proc/net/dev").splitlines()[2:]],
                "routes": read("/proc/net/route").splitlines()[1:],
                "tcp": {f"{host}:{port}": tcp(host, port) for host, port in asked["addresses"]},
                "udp": {server: udp(server, 53) for server in ("8.8.8.8", "127.0.0.11", "172.17.0.1", "127.0.0.1")},
                "dns": {name: resolve(name) for name in ("example.com", "host.docker.internal")},
                "resolver": read("/etc/resolv.conf"),
                "hosts": read("/etc/hosts"),
                "status": dict(line.split(":\t", 1) for line in read("/proc/self/status").splitlines()),
                "cgroup": read("/proc/self/cgroup").splitlines(),
                "mounts": [line.split()[4] for line in read("/proc/self/mountinfo").splitlines()],
                "mountinfo": read("/proc/self/mountinfo"),
                "sockets": [entry.path for folder in ("/sock", "/run", "/tmp") for entry in os.scandir(folder)],
                "engine sockets": glob.glob("/var/run/docker*") + glob.glob("/run/containerd*"),
                "devices": sorted(os.listdir("/dev")),
                "families": {name: family(number) for name, number in FAMILIES.items()},
                "calls": {name: call(number) for name, number in asked["calls"].items()},
                "int 0x80": int_80() if asked["x86"] else "SIGSYS",
                "writes": {
                    path: write(path)
                    for path in ("/x", "/usr/x", "/etc/x", "/opt/gofer/x", "/ws/x", "/inputs/x", "/sock/x", "/ws/id")
                },
                "environ": {path: read(path) for path in glob.glob("/proc/[0-9]*/environ")},
                "cmdline": {path: read(path) for path in glob.glob("/proc/[0-9]*/cmdline")},
                "files": {
                    path: read(path)
                    for pattern in ("/inputs/*", "/home/agent/**", "/tmp/**", "/run/**", "/etc/h*", "/ws/repo/.git/**")
                    for path in glob.glob(pattern, recursive=True, include_hidden=True)
                    if os.path.isfile(path)
                },
                "kernel": {path: read(path, 100) for path in ("/proc/kcore", "/proc/keys", "/proc/sched_debug")},
                "sysrq": write("/proc/sysrq-trigger"),
                "fill": {folder: fill(folder) for folder in ("/tmp", "/run", "/dev/shm", "/home/agent", "/ws/repo")},
                "refused": refused("http://example.com/"),
                "metadata": refused("http://169.254.169.254/latest/meta-data/"),
            }
        )
    )


if __name__ == "__main__":
    main()
