"""The process between a test and its mysqld: when the test dies, the server and its files go.

Run by ``python -I -S``, so it imports nothing but the standard library. Standard input: one line
of JSON (``argv``, ``env``, ``log``, ``uid``, ``gid``, ``remove``), then ``TERM`` or ``KILL`` lines;
its end means that the caller is gone, or done. ``KEEP``: leave the files. Standard output:
``started PID``, later ``exited STATUS``.
A pipe is used and not PR_SET_PDEATHSIG alone, because that signal comes already when the *thread*
ends that started the child, and is no help in removing files (prctl(2)).
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from typing import Any

_PR_SET_PDEATHSIG = 1


def _die_with_guard() -> None:
    """In the child before exec: SIGKILL for the server when this guard is killed itself."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _start(order: dict[str, Any]) -> subprocess.Popen[bytes]:
    """The server, as the user that the order names, its standard error at the end of the log."""
    identity: dict[str, Any] = {}
    if order["uid"] is not None:
        identity = {"user": order["uid"], "group": order["gid"], "extra_groups": []}
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    log = os.open(order["log"], flags, 0o600)
    try:
        return subprocess.Popen(
            order["argv"],
            env=order["env"],
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            umask=0o077,
            preexec_fn=_die_with_guard if sys.platform == "linux" else None,
            **identity,
        )
    finally:
        os.close(log)


def _say(text: str) -> None:
    try:
        print(text, flush=True)
    except OSError:  # the caller is gone; the end of standard input says so
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _follow(child: subprocess.Popen[bytes]) -> bool:
    """Pass the caller's wishes on until its end of the pipe closes; whether to keep the files."""
    signals = {"TERM": signal.SIGTERM, "KILL": signal.SIGKILL}
    keep = False
    for line in sys.stdin:
        wish = line.strip()
        keep = keep or wish == "KEEP"
        if wish in signals:
            child.send_signal(signals[wish])
    return keep


def main() -> int:
    """Run one server as ordered; 0 once it is gone, 1 when it could not be started."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, lambda *_: None)  # unlike SIG_IGN, not inherited by the server
    order: dict[str, Any] = json.loads(sys.stdin.readline())
    try:
        child = _start(order)
    except (OSError, subprocess.SubprocessError) as exc:
        _say(f"failed {exc}")
        sys.stdin.read()
        shutil.rmtree(order["remove"], ignore_errors=True)
        return 1
    _say(f"started {child.pid}")
    threading.Thread(target=lambda: _say(f"exited {child.wait()}"), daemon=True).start()
    keep = False
    try:
        keep = _follow(child)
    finally:
        child.kill()
        child.wait()
        if not keep:
            shutil.rmtree(order["remove"], ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
