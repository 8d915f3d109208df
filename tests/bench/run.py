"""``python -m tests.bench.run [NAME ...]``: every ``bench_NAME.py`` beside this file, one after the other.

Each has a ``main()`` that prints what it measured. One that fails does not stop the rest, but the exit status tells.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
import traceback
from pathlib import Path

from tests.bench.machine import describe


def main() -> int:
    """Run those named on the command line, or all. Returns 1 where any failed."""
    wanted = set(sys.argv[1:])
    names = sorted(path.stem.removeprefix("bench_") for path in Path(__file__).parent.glob("bench_*.py"))
    if unknown := wanted - set(names):
        print(f"no such bench: {', '.join(sorted(unknown))}; there are: {', '.join(names)}", file=sys.stderr)
        return 2
    sys.argv[1:] = []
    # A terminated bench removes what it has made, as after Ctrl-C (which a shell's background jobs ignore otherwise).
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, lambda *_: os.kill(os.getpid(), signal.SIGINT))
    print(describe(), flush=True)
    failed = []
    for name in names:
        if wanted and name not in wanted:
            continue
        print(f"\n== {name}", flush=True)
        try:
            importlib.import_module(f"tests.bench.bench_{name}").main()
        except Exception:
            traceback.print_exc()
            failed.append(name)
    if failed:
        print(f"\nfailed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
