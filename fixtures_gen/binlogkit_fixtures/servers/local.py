"""The local runner: a mysqld as a process of this machine, on 127.0.0.1, in a folder of its own."""

from __future__ import annotations

import atexit
import os
import pwd
import secrets
import shutil
import socket
import tempfile
import time
from pathlib import Path
from typing import BinaryIO, ClassVar

import pymysql

from binlogkit.errors import ServerError
from binlogkit_fixtures.servers.base import Server, ServerSpec, check_file_name, last_words
from binlogkit_fixtures.servers.binaries import Mysqld, find_mysqld
from binlogkit_fixtures.servers.guarded import Guarded, Identity
from binlogkit_fixtures.servers.options import arguments
from binlogkit_fixtures.servers.template import base_arguments, fill_data_folder

__all__ = ["LocalServer", "start_local"]

_READY_SECONDS = 120
_STOP_SECONDS = 120
_CHUNK = 1 << 20
_PORT_ATTEMPTS = 5
_SOCKET_LIMIT = 60  # bytes of a temporary folder's path; a socket's path ends at 107
_PORT_TAKEN = ("Address already in use", "Do you already have another mysqld server running on")


def server_identity() -> Identity:
    """The user to run a server as: the caller, or for root ``mysql``, else ``nobody``.

    ServerError: root, and neither user exists.
    """
    if os.geteuid() != 0:
        return None
    for name in ("mysql", "nobody"):
        try:
            found = pwd.getpwnam(name)
        except KeyError:
            continue
        return found.pw_uid, found.pw_gid
    raise ServerError("a server never runs as root; make a user for it: useradd -r mysql")


def _free_port() -> int:
    """A TCP port of 127.0.0.1 that was free a moment ago."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind((Server.host, 0))
        return int(probe.getsockname()[1])


def _temporary_folder() -> str:
    """The folder for temporary files, unless a socket's path would be too long in it."""
    named = tempfile.gettempdir()
    return named if len(named) < _SOCKET_LIMIT else "/tmp"  # noqa: S108 - mkdtemp makes it safe


def _write_private(path: Path, text: str, identity: Identity) -> None:
    """A file that only the server's user (and root) can read."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as out:
        out.write(text)
    if identity is not None:
        os.chown(path, *identity)


def _accounts(password: str, version: str) -> str:
    """The statements of the init file: root's password, and root from any host, none logged.

    One statement a line, as ``init_file`` wants it; the accounts are those of the official images.
    """
    if version.startswith("5.6."):
        return (
            "SET sql_log_bin=0;\n"
            "DELETE FROM mysql.user WHERE user='' OR host NOT IN ('localhost');\n"
            f"UPDATE mysql.user SET password=PASSWORD('{password}') WHERE user='root';\n"
            "FLUSH PRIVILEGES;\n"
            f"GRANT ALL ON *.* TO root@'%' IDENTIFIED BY '{password}' WITH GRANT OPTION;\n"
        )
    return (
        "SET sql_log_bin=0;\n"
        f"ALTER USER root@localhost IDENTIFIED BY '{password}';\n"
        f"CREATE USER root@'%' IDENTIFIED BY '{password}';\n"
        "GRANT ALL ON *.* TO root@'%' WITH GRANT OPTION;\n"
    )


class LocalServer(Server):
    """A mysqld that this process started, below a guard, in a temporary folder."""

    runner: ClassVar[str] = "local"

    def __init__(self, spec: ServerSpec, mysqld: Mysqld) -> None:
        super().__init__(spec, 0, secrets.token_hex(16))
        self._mysqld = mysqld
        self._identity = server_identity()
        self._owner = os.getpid()
        self._child: Guarded | None = None
        self._folder = Path(tempfile.mkdtemp(prefix="blk-", dir=_temporary_folder()))
        atexit.register(self._at_exit)
        try:
            self._prepare()
            self._start()
        except BaseException:
            self.close()
            raise

    def _at_exit(self) -> None:
        if os.getpid() == self._owner:  # not in a fork of the process that made it
            self.close()

    @property
    def data_folder(self) -> Path:
        """The data directory, 0700, the server user's own."""
        return self._folder / "data"

    @property
    def pid(self) -> int:
        """The process number of mysqld."""
        assert self._child is not None
        return self._child.pid

    def _prepare(self) -> None:
        """Lay out the folder: data, run (socket, error log), the init file with the password."""
        if self._identity is not None:
            self._folder.chmod(0o711)
        run = self._folder / "run"
        run.mkdir(mode=0o700)
        if self._identity is not None:
            os.chown(run, *self._identity)
        fill_data_folder(self._mysqld, self.spec, self.data_folder, self._identity)
        accounts = _accounts(self._password, self._mysqld.version)
        _write_private(run / "init.sql", accounts, self._identity)

    def _argv(self, port: int) -> list[str]:
        run = self._folder / "run"
        return [
            *base_arguments(self._mysqld),
            # A server that starts deletes the temporary tables of others in the same folder.
            f"--tmpdir={run}",
            *arguments(self.spec.options),
            f"--datadir={self.data_folder}",
            f"--socket={run / 'mysqld.sock'}",
            f"--pid-file={run / 'mysqld.pid'}",
            *([f"--init-file={run / 'init.sql'}"] if (run / "init.sql").exists() else []),
            f"--bind-address={self.host}",
            f"--port={port}",
        ]

    def _start(self) -> None:
        """Start mysqld for the first time."""
        self._run()
        (self._folder / "run" / "init.sql").unlink()
        for statement in self.spec.init_sql:
            self.query(statement)

    def start_again(self) -> None:
        """Start mysqld on its data folder, below a guard of its own."""
        if self._child is not None:
            self._child.end(keep=True)
        self._run()

    def _run(self) -> None:
        """Start mysqld, on another port when somebody took the first, and wait until it answers."""
        for attempt in range(_PORT_ATTEMPTS):
            self.port = _free_port()
            log = self._folder / "run" / f"error-{attempt}.log"
            self._child = Guarded(
                self._argv(self.port), self._mysqld.environment(), log, self._identity,
                self._folder,
            )  # fmt: skip
            if self._await_ready(log):
                break
            self._child.end(keep=True)
        else:
            raise ServerError(f"no free port on {self.host} after {_PORT_ATTEMPTS} attempts")

    def _await_ready(self, log: Path) -> bool:
        """True when root can log in; False when the port was taken.

        ServerError: the server ended or did not answer in time, with its log's last lines.
        """
        assert self._child is not None
        deadline = time.monotonic() + _READY_SECONDS
        while time.monotonic() < deadline:
            status = self._child.status()
            if status is not None:
                if any(text in _tail(log, 100) for text in _PORT_TAKEN):
                    return False
                raise ServerError(
                    f"mysqld {self._mysqld.version} ended with status {status}: {_tail(log)}"
                )
            try:
                self.connect(connect_timeout=10).close()
                return True
            except ServerError as exc:
                if not isinstance(exc.__cause__, pymysql.err.OperationalError):
                    raise
            time.sleep(0.05)
        raise ServerError(
            f"mysqld {self._mysqld.version} was not ready after {_READY_SECONDS} s: {_tail(log)}"
        )

    def put(self, name: str, source: BinaryIO) -> None:
        """Write one file of the data folder, the server user's own."""
        path = self.data_folder / check_file_name(name)
        try:
            path.unlink(missing_ok=True)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as out:
                shutil.copyfileobj(source, out, _CHUNK)
            if self._identity is not None:
                os.chown(path, *self._identity)
        except OSError as exc:
            raise ServerError(f"{name} cannot be written: {exc.strerror}") from exc

    def _copy_to(self, name: str, out: BinaryIO) -> None:
        try:
            with (self.data_folder / name).open("rb") as source:
                shutil.copyfileobj(source, out, _CHUNK)
        except OSError as exc:
            raise ServerError(f"no file {name} in the data directory: {exc.strerror}") from exc

    def kill(self) -> None:
        """SIGKILL, and wait until the process is gone."""
        if self._child is not None:
            self._child.kill()
        self._await_end()

    def stop(self) -> None:
        """Shut down cleanly, and wait until the process is gone."""
        self._end_session()
        if self._child is not None:
            self._child.terminate()
        self._await_end()

    def _await_end(self) -> None:
        """Wait for the process; ServerError when it does not end."""
        if self._child is not None and self._child.status(_STOP_SECONDS) is None:
            raise ServerError(f"mysqld did not end within {_STOP_SECONDS} s")
        self._end_session()

    def _remove(self) -> None:
        atexit.unregister(self._at_exit)
        child, self._child = self._child, None
        if child is not None:
            child.end()
        shutil.rmtree(self._folder, ignore_errors=True)


def _tail(log: Path, lines: int = 8) -> str:
    """What an error log says last, errors before notes, on one line."""
    try:
        text = log.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "(no error log)"
    return last_words(text, lines)


def start_local(spec: ServerSpec, program: Path | None = None) -> LocalServer:
    """Start a server of ``spec`` as a process here; ``program`` names a mysqld to use.

    ServerError: no program, or it does not start; the message has what helps.
    """
    return LocalServer(spec, find_mysqld(spec.version, program))
