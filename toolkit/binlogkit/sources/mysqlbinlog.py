"""Running mysqlbinlog, the judge that decoders are compared with.

Which one: the argument, else the environment's ``BINLOGKIT_MYSQLBINLOG`` (a program, or a whole
command prefix such as ``docker run --rm -v /logs:/logs IMAGE mysqlbinlog``, split as a shell would
split it; no shell runs), else ``mysqlbinlog`` on PATH, else what an installed package offers under
the entry-point group ``binlogkit.mysqlbinlog``: a callable that returns an object with ``argv`` and
``version``, or None. Official MySQL images hold none (docs/servers.md).
"""

from __future__ import annotations

import fcntl
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import entry_points
from io import BufferedReader
from pathlib import Path
from queue import Full, Queue
from threading import Event, Thread
from typing import IO, cast

from binlogkit.errors import OracleError, printable

SETTING = "BINLOGKIT_MYSQLBINLOG"
ENTRY_POINTS = "binlogkit.mysqlbinlog"

_HELP = (
    f"set {SETTING}=/path/to/mysqlbinlog, or install one that is MySQL's "
    "(Debian: apt-get install mysql-server-core), or install binlogkit's fixtures package, "
    "which fetches one"
)
_OPTIONS = ("-vv", "--base64-output=decode-rows", "--force-if-open")
_VERSION = re.compile(r"mysqlbinlog\S*\s+Ver (\d+\.\d+(?:\.\d+)?)(?:.*Distrib (\d+\.\d+\.\d+))?")
_MESSAGE_BYTES = 4000
_BLOCK, _AHEAD = 1 << 20, 32  # bytes, blocks


@dataclass(frozen=True, slots=True)
class Mysqlbinlog:
    """A mysqlbinlog: the words that begin its command, and its version (None: not asked)."""

    argv: tuple[str, ...]
    version: str | None = None


def find(program: str | Sequence[str] | None = None) -> Mysqlbinlog:
    """The mysqlbinlog to use; :class:`OracleError` says what helps where there is none.

    ``program``: a path, or the words of a command prefix.
    """
    if program is not None:
        return _probe((program,) if isinstance(program, str) else tuple(program))
    setting = os.environ.get(SETTING, "").strip()
    if setting:
        try:
            words = tuple(shlex.split(setting))
        except ValueError as exc:
            raise OracleError(f"{SETTING} cannot be split into words: {exc}") from exc
        return _probe(words)
    problem = ""
    on_path = shutil.which("mysqlbinlog")
    if on_path:
        try:
            return _probe((on_path,))
        except OracleError as exc:  # MariaDB's, say: an installed package may offer MySQL's
            problem = f" ({exc})"
    offered = _offered()
    if offered is None:
        raise OracleError(f"no mysqlbinlog was found{problem}; {_HELP}")
    return offered


def _offered() -> Mysqlbinlog | None:
    for point in sorted(entry_points(group=ENTRY_POINTS), key=lambda p: p.name):
        found = point.load()()
        if found is not None:
            return Mysqlbinlog(tuple(found.argv), found.version)
    return None


def _probe(argv: tuple[str, ...]) -> Mysqlbinlog:
    """What ``argv`` runs, by its ``--version``."""
    if not argv:
        raise OracleError(f"no program is named; {_HELP}")
    try:
        done = subprocess.run(
            [*argv, "--no-defaults", "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as exc:
        raise OracleError(f"{printable(argv[0])} does not run: {exc}; {_HELP}") from exc
    said = (done.stdout + done.stderr).decode("utf-8", "replace").strip()
    found = _VERSION.search(said)
    if found is None or "MariaDB" in said:
        words = printable(said[:200]) or f"exit status {done.returncode}"
        raise OracleError(f"{printable(argv[0])} is no mysqlbinlog of MySQL: {words}; {_HELP}")
    return Mysqlbinlog(argv, found[2] or found[1])


def read(
    *files: str | os.PathLike[str], using: Mysqlbinlog | None = None, options: Sequence[str] = ()
) -> Iterator[bytes]:
    """The lines that ``mysqlbinlog -vv --base64-output=decode-rows FILE…`` prints, as they come.

    Lines are bytes with their line ends; times in them are UTC. ``options``: further ones. What
    LOAD DATA events carry goes into a folder of its own, gone afterwards (by itself mysqlbinlog
    leaves it in the machine's). Raises :class:`OracleError` with what mysqlbinlog said when it
    ends with a status other than 0, after its last line.
    """
    return _read(files, using, options, iter)


def read_blocks(
    *files: str | os.PathLike[str], using: Mysqlbinlog | None = None
) -> Iterator[bytes]:
    """The text of :func:`read` in blocks of bytes that end anywhere; some are read ahead."""
    return _read(files, using, (), _blocks_ahead)


def _blocks_ahead(text: BufferedReader) -> Iterator[bytes]:
    """The blocks of a text, which a thread reads while those before are used."""
    read: Queue[bytes | Exception] = Queue(_AHEAD)
    over = Event()

    def put(found: bytes | Exception) -> None:
        while not over.is_set():
            with suppress(Full):
                read.put(found, timeout=1)
                return

    def fill() -> None:
        try:
            while not over.is_set() and (block := text.read(_BLOCK)):
                put(block)
            put(b"")
        except (OSError, ValueError) as exc:
            put(exc)

    thread = Thread(target=fill, name="mysqlbinlog", daemon=True)
    thread.start()
    try:
        while found := read.get():
            if isinstance(found, Exception):
                raise found
            yield found
    finally:
        over.set()


def _read(
    files: Sequence[str | os.PathLike[str]],
    using: Mysqlbinlog | None,
    options: Sequence[str],
    cut: Callable[[BufferedReader], Iterator[bytes]],
) -> Iterator[bytes]:
    oracle = using or find()
    paths = [str(Path(file).absolute()) for file in files]
    with tempfile.TemporaryDirectory(prefix="binlogkit-") as folder:
        argv = [*oracle.argv, "--no-defaults", *_OPTIONS, f"--local-load={folder}", *options]
        with (Path(folder) / "stderr").open("w+b") as said:
            yield from _run([*argv, "--", *paths], said, cut)


def _run(
    argv: Sequence[str], said: IO[bytes], cut: Callable[[BufferedReader], Iterator[bytes]]
) -> Iterator[bytes]:
    environment = {**os.environ, "TZ": "UTC", "LC_ALL": "C"}
    try:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=said,
            env=environment,
        )
    except OSError as exc:
        raise OracleError(f"{printable(argv[0])} does not run: {exc}") from exc
    with process:
        text = cast("BufferedReader", process.stdout)
        with suppress(OSError, AttributeError):  # where the system has such pipes
            fcntl.fcntl(text, fcntl.F_SETPIPE_SZ, _BLOCK)
        try:
            yield from cut(text)
        except BaseException:
            process.kill()
            raise
    if process.returncode:
        raise OracleError(_failure(process.returncode, said))


def _failure(status: int, said: IO[bytes]) -> str:
    said.seek(0)
    text = said.read(_MESSAGE_BYTES).decode("utf-8", "replace")
    lines = [printable(line) for line in text.splitlines() if line.strip()]
    how = f"signal {-status}" if status < 0 else f"exit status {status}"
    return f"mysqlbinlog ended with {how}: {' '.join(lines) or 'it said nothing'}"
