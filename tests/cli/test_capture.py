"""``binlogkit capture`` as a process: options, status, signals, and kills at any moment."""

from __future__ import annotations

import contextlib
import os
import random
import re
import resource
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from binlogkit_fixtures.servers import Server, ServerSpec
from tests.servers import shared_server
from tests.waiting import LONG, joined, set_in_time, until

pytestmark = pytest.mark.server

IN_USE = 4 + 17


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """8.0 with a table that somebody writes to."""
    with shared_server(ServerSpec("8.0", {"max-binlog-size": "65536"})) as running:
        running.query("CREATE DATABASE cap")
        running.query("CREATE TABLE cap.t (a INT PRIMARY KEY AUTO_INCREMENT, b LONGBLOB)")
        yield running


@pytest.fixture
def arguments(program: str, server: Server, tmp_path: Path) -> list[str]:
    """The command, with an option file that holds the password."""
    options = tmp_path / "my.cnf"
    options.write_text(f"[client]\nuser = root\npassword = '{server.password}'\n")
    options.chmod(0o600)
    return [
        program, "capture", "--host", "127.0.0.1", "--port", str(server.port),
        "--defaults-file", str(options), "--out", str(tmp_path / "out"),
    ]  # fmt: skip


def ran(arguments: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        arguments, capture_output=True, text=True, timeout=LONG, check=False,
        stdin=subprocess.DEVNULL, **options,
    )  # fmt: skip


def same_as_the_server(server: Server, out: Path) -> None:
    names = server.binlog_names()
    assert sorted(p.name for p in out.glob("binlog.0*")) == names
    for name in names:
        theirs = bytearray(server.read_file(name))
        if name == names[-1]:
            theirs[IN_USE] &= ~1
        assert (out / name).read_bytes() == theirs, name


def caught_up(server: Server, out: Path) -> None:
    """Wait until the capture has every byte that the server has."""
    name = server.binlog_names()[-1]
    size = len(server.read_file(name))
    until(
        lambda: (out / name).exists() and (out / name).stat().st_size >= size,
        f"{name} reaches {size} bytes",
    )


def writes(server: Server, done: threading.Event) -> None:
    sizes = random.Random(1)
    with server.connect() as session:
        while not done.wait(0.001):
            session.query(f"INSERT INTO cap.t (b) VALUES (REPEAT('y', {sizes.randrange(9000)}))")


def captured(out: Path) -> int:
    """How many bytes of logs are in the folder."""
    return sum(path.stat().st_size for path in out.glob("binlog.0*"))


def reached(out: Path, size: int) -> bool:
    return captured(out) >= size


@pytest.mark.gate
def test_a_capture_and_its_words(arguments: list[str], server: Server, tmp_path: Path) -> None:
    done = ran(arguments)
    assert (done.returncode, done.stdout) == (0, "")
    last = server.binlog_names()[-1]
    assert f"{last} up to {len(server.read_file(last))}" in done.stderr
    assert done.stderr.startswith("note: ") and server.password not in done.stderr
    same_as_the_server(server, tmp_path / "out")
    again = ran(arguments)
    assert (again.returncode, again.stdout) == (0, "")
    assert again.stderr.startswith("note: 0 events, 0 bytes; 0 logs finished")


@pytest.mark.parametrize(
    ("how", "shell"),
    [
        (signal.SIGINT, "exec"),
        (signal.SIGTERM, "exec"),
        (signal.SIGINT, "trap '' INT; exec"),  # as a background job of a script begins
    ],
)
def test_a_follower_ends_cleanly(
    arguments: list[str], server: Server, tmp_path: Path, how: signal.Signals, shell: str
) -> None:
    follower = subprocess.Popen(
        ["/bin/sh", "-c", f'{shell} "$@"', "sh", *arguments, "--follow"],
        stderr=subprocess.PIPE,
        text=True,
    )
    out = tmp_path / "out"
    caught_up(server, out)
    server.query("INSERT INTO cap.t (b) VALUES ('seen while it waits')")
    caught_up(server, out)
    follower.send_signal(how)
    _, said = follower.communicate(timeout=LONG)
    assert follower.returncode == 0, said
    assert said.count("\n") == 1 and said.startswith("note: ")
    same_as_the_server(server, out)


def test_its_progress_is_shown(
    run: Callable[..., object],
    arguments: list[str],
    server: Server,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On a terminal, where it takes over two seconds; here at once."""
    monkeypatch.setattr("binlogkit.cli.progress.PATIENCE", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    with monkeypatch.context() as patch:
        patch.setattr(sys.stderr, "isatty", lambda: True)
        done = run(*arguments[1:])
    assert done.status == 0  # type: ignore[attr-defined]
    assert re.search(r"binlog\.000001:\d+ ", done.err)  # type: ignore[attr-defined]


@pytest.mark.sampled(0, 1)
@pytest.mark.parametrize(("seed", "kills"), [(1, 6), (2, 20), (3, 20)])
def test_kills_lose_and_double_nothing(
    arguments: list[str], server: Server, seed: int, kills: int, tmp_path: Path
) -> None:
    """SIGKILL once so many bytes more have come, while the server writes, rotates and flushes."""
    moments = random.Random(seed)
    out, done = tmp_path / "out", threading.Event()
    writer = threading.Thread(target=writes, args=(server, done))
    writer.start()
    try:
        for _ in range(kills):
            enough = captured(out) + moments.choice((1, moments.randrange(200_000)))
            running = subprocess.Popen([*arguments, "--follow"], stderr=subprocess.DEVNULL)
            until(partial(reached, out, enough), f"{enough} bytes are captured")
            assert running.poll() is None
            os.kill(running.pid, signal.SIGKILL)
            running.wait()
    finally:
        done.set()
        joined(writer)
    server.query("FLUSH BINARY LOGS")
    last = ran(arguments)
    assert last.returncode == 0, last.stderr
    same_as_the_server(server, out)


def test_no_room_is_told_and_survived(arguments: list[str], server: Server, tmp_path: Path) -> None:
    """The system refuses a file of over 40,000 bytes (ulimit, as a full disk would)."""
    for _ in range(12):  # as much as fills a log
        server.query("INSERT INTO cap.t (b) VALUES (REPEAT('y', 9000))")
    assert max(int(row[1]) for row in server.query("SHOW BINARY LOGS")) > 40_000
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))  # noqa: E731
    stopped = ran(arguments, preexec_fn=limit)
    assert stopped.returncode == 2
    assert "cannot be written: File too large" in stopped.stderr
    assert stopped.stderr.count("\n") == 1
    assert ran(arguments).returncode == 0
    same_as_the_server(server, tmp_path / "out")


@pytest.mark.parametrize(
    ("more", "status", "words"),
    [
        (["--port", "1"], 2, "Can't connect"),
        (["--start-log", "nope.000001"], 2, "it has no log nope.000001"),
        (["--start-position", "900"], 2, "a position needs the log"),
        (["--gtid-set", "nonsense"], 2, "not a GTID set"),
        (["--gtid-set", "", "--start-log", "x.1"], 2, "not both"),
        (["--ssl-ca", "/nowhere.pem"], 2, "the TLS files cannot be used"),
        (["--defaults-file", "/nowhere.cnf"], 2, "cannot be read: No such file"),
        (["--out", "/proc/nowhere"], 2, "cannot be written"),
    ],
)
def test_what_goes_wrong_is_one_line(
    run: Callable[..., object], arguments: list[str], more: list[str], status: int, words: str
) -> None:
    done = run(*arguments[1:], *more)
    assert (done.status, done.out) == (status, b"")  # type: ignore[attr-defined]
    assert words in done.complaint  # type: ignore[attr-defined]


@pytest.mark.gate
def test_the_password_is_nowhere(arguments: list[str], server: Server, tmp_path: Path) -> None:
    """Not in the process's arguments, nor in what it says of itself, nor in the folder."""
    follower = subprocess.Popen(
        [*arguments, "--follow"], stderr=subprocess.PIPE, stdin=subprocess.DEVNULL
    )
    manifest = tmp_path / "out" / "capture.json"
    until(manifest.exists, "the capture begins")
    told = Path(f"/proc/{follower.pid}/cmdline").read_bytes() if sys.platform == "linux" else b""
    follower.send_signal(signal.SIGINT)
    _, said = follower.communicate(timeout=LONG)
    secret = server.password.encode()
    assert secret not in told + said + manifest.read_bytes()


def test_an_interrupted_capture_is_not_all(program: str, server: Server, tmp_path: Path) -> None:
    """Without --follow a signal leaves it incomplete, and the status says so."""
    stalled = ThreadingStall(server.port)
    with stalled:
        options = tmp_path / "my.cnf"
        options.write_text(f"[client]\npassword = '{server.password}'\n")
        arguments = [
            program, "capture", "--host", "127.0.0.1", "--port", str(stalled.port), "--out",
            str(tmp_path / "out"), "--defaults-file", str(options), "--ssl-mode", "disabled",
        ]  # fmt: skip
        running = subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True)
        set_in_time(stalled.reached, "the server sends its first log")
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=LONG)
    assert running.returncode == 130, said
    assert [line for line in said.splitlines() if line] == [
        "note: 0 events, 0 bytes; 0 logs finished; no log begun",
        "binlogkit: interrupted",
    ]


class ThreadingStall:
    """A line to the server that goes dead when the first log comes over it."""

    def __init__(self, port: int) -> None:
        self._open = [socket.create_server(("127.0.0.1", 0))]
        self._listener = self._open[0]
        self.port = self._listener.getsockname()[1]
        self._target = port
        self.reached = threading.Event()

    def __enter__(self) -> ThreadingStall:
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(self, *exc: object) -> None:
        for line in self._open:
            line.close()

    def _serve(self) -> None:
        ours, _ = self._listener.accept()
        theirs = socket.create_connection(("127.0.0.1", self._target))
        self._open += [ours, theirs]
        threading.Thread(target=self._forward, args=(ours, theirs), daemon=True).start()
        while (data := theirs.recv(1 << 16)) and b"\x0f\x01\x00\x00\x00" not in data:
            ours.sendall(data)
        self.reached.set()

    @staticmethod
    def _forward(ours: socket.socket, theirs: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := ours.recv(1 << 16):
                theirs.sendall(data)
