"""A mysqld as a child that cannot outlive its caller: the near end of ``_guard``."""

from __future__ import annotations

import contextlib
import json
import queue
import subprocess
import sys
import threading
from pathlib import Path

from binlogkit.errors import ServerError

__all__ = ["Guarded", "Identity"]

#: User and group number to run as; None for the caller's own.
Identity = tuple[int, int] | None

_GUARD = Path(__file__).with_name("_guard.py")


class Guarded:
    """One server process under a guard, which removes ``remove`` when all is over.

    ``log`` takes the server's standard output and error.
    """

    def __init__(
        self,
        argv: list[str],
        env: dict[str, str],
        log: Path,
        identity: Identity,
        remove: Path,
    ) -> None:
        self._status: int | None = None
        self._news: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(_GUARD)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        uid, gid = identity if identity is not None else (None, None)
        order = {
            "argv": argv, "env": env, "log": str(log), "uid": uid, "gid": gid,
            "remove": str(remove),
        }  # fmt: skip
        self._tell(json.dumps(order))
        try:
            self._await_start(argv[0])
        except BaseException:
            self.end()
            raise

    def _await_start(self, program: str) -> None:
        try:
            news = self._news.get(timeout=120)
        except queue.Empty:
            raise ServerError(f"{program} could not be started: no word from its guard") from None
        kind, _, rest = news.partition(" ")
        if kind != "started":
            raise ServerError(f"{program} could not be started: {rest}")
        self.pid = int(rest)

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._news.put(line.strip())

    def _tell(self, line: str) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
        except (BrokenPipeError, ValueError):
            pass  # the guard is gone, and the server with it

    def status(self, timeout: float = 0.0) -> int | None:
        """The server's exit status (negative: a signal), None while it runs.

        ``timeout``: seconds to wait for it.
        """
        if self._status is None:
            try:
                news = self._news.get(timeout=timeout) if timeout else self._news.get_nowait()
            except queue.Empty:
                if self._process.poll() is None:
                    return None
                news = "exited -9"  # the guard was killed, which kills the server
            self._status = int(news.split()[-1])
        return self._status

    def terminate(self) -> None:
        """Ask the server to shut down."""
        self._tell("TERM")

    def kill(self) -> None:
        """SIGKILL for the server."""
        self._tell("KILL")

    def end(self, *, keep: bool = False) -> None:
        """Kill what still runs, let the guard remove the files unless ``keep``, wait for both."""
        assert self._process.stdin is not None and self._process.stdout is not None
        if keep:
            self._tell("KEEP")
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(60)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join(10)
        self._process.stdout.close()
