"""What a fixture server is, whichever way it runs: its order and its handle."""

from __future__ import annotations

import contextlib
import io
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, BinaryIO, ClassVar, Self

import pymysql
from pymysql.connections import Connection

from binlogkit.errors import ServerError, UsageError, printable
from binlogkit_fixtures.servers.options import normalise, render

__all__ = ["VERSIONS", "Server", "ServerSpec", "check_file_name", "last_words"]

#: The series that a spec can name. 5.7 and 8.0 are available everywhere; the others run where the
#: user has a program or an image (docs/servers.md).
VERSIONS = ("5.6", "5.7", "8.0", "8.4", "9")

_FILE_NAME = re.compile(r"[A-Za-z0-9_#@$-][A-Za-z0-9_#@$.~-]{0,254}")


def check_file_name(name: str) -> str:
    """``name``, when it is one plain file name of a data folder.

    UsageError: a path separator, a leading dot, a control character or a name that is too long
    (names that a server sends become paths).
    """
    if not _FILE_NAME.fullmatch(name):
        raise UsageError(f"'{printable(name)}' is not a plain file name of a data directory")
    return name


def last_words(log: str, lines: int) -> str:
    """The last ``lines`` errors of a server's log, or its last lines, joined on one safe line."""
    every = log.splitlines()
    errors = [line for line in every if "[ERROR]" in line]
    return printable(" / ".join((errors or every)[-lines:])) or "(it said nothing)"


@dataclass(frozen=True, slots=True)
class ServerSpec:
    """The order for one server.

    ``version``: one of VERSIONS. ``options``: mysqld's options without ``--``; None where an
    option has no value; ``server-uuid`` is taken too, for GTIDs that repeat. ``init_sql``:
    statements that root runs once the server is up, in one session and logged like any other.
    UsageError: an unknown version, or options that ``options.render`` refuses.
    """

    version: str
    options: Mapping[str, str | None] = field(default_factory=dict)
    init_sql: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.version not in VERSIONS:
            raise UsageError(
                f"version {self.version!r} is not one of {', '.join(VERSIONS)} "
                "(the series, not the full version)"
            )
        render(self.options)
        object.__setattr__(self, "options", MappingProxyType(dict(self.options)))
        object.__setattr__(self, "init_sql", tuple(self.init_sql))

    def option(self, name: str) -> str | None:
        """The value that a server of this spec starts with, or None."""
        wanted = normalise(name)
        for key, value in render(self.options).items():
            if normalise(key) == wanted:
                return value
        return None


class Server(ABC):
    """A running MySQL server on 127.0.0.1 that is gone, with its files, when closed.

    ``port``: its TCP port there. ``password``: root's, random, 128 bits; it stands in no repr, no
    log, no argument. One handle belongs to one thread; ``connect`` gives more sessions.
    """

    runner: ClassVar[str]
    host = "127.0.0.1"
    user = "root"

    def __init__(self, spec: ServerSpec, port: int, password: str) -> None:
        self.spec = spec
        self.port = port
        self._password = password
        self._version: str | None = None
        self._session: Connection[Any] | None = None
        self._closed = False

    def __repr__(self) -> str:
        state = "closed" if self._closed else f"{self.host}:{self.port}"
        return f"<{type(self).__name__} {self._version or self.spec.version} {state}>"

    @property
    def password(self) -> str:
        """Root's password."""
        return self._password

    @property
    def peer_address(self) -> tuple[str, int]:
        """Host and port at which other servers of the same runner reach this one."""
        return self.host, self.port

    @property
    def version(self) -> str:
        """The full version, as ``5.7.22``, asked from the server; kept once it is known."""
        if self._version is None:
            text = str(self.query("SELECT VERSION()")[0][0])
            found = re.match(r"\d+\.\d+\.\d+", text)
            if found is None:
                raise ServerError(f"the server calls its version '{printable(text)}'")
            self._version = found.group()
        return self._version

    def connect(self, **kwargs: Any) -> Connection[Any]:
        """A new session: root, utf8mb4, autocommit, unless ``kwargs`` of PyMySQL say otherwise."""
        settings: dict[str, Any] = {
            "host": self.host,
            "port": self.port,
            "user": self.user,
            "password": self._password,
            "charset": "utf8mb4",
            "autocommit": True,
            "connect_timeout": 30,
        }
        try:
            return pymysql.connect(**(settings | kwargs))
        except pymysql.Error as exc:
            raise ServerError(f"no connection to {self!r}: {printable(str(exc))}") from exc

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of one statement's first result, in the handle's own lasting session.

        ServerError carries the server's number and text.
        """
        if self._session is None:
            self._session = self.connect()
        try:
            with self._session.cursor() as cursor:
                cursor.execute(sql)
                return list(cursor.fetchall())
        except pymysql.Error as exc:
            raise ServerError(f"the server refused a statement: {printable(str(exc))}") from exc

    def binlog_names(self) -> list[str]:
        """The binlogs of the index file, oldest first; works on a dead server too."""
        return self._indexed(self.spec.option("log-bin") or "binlog")

    def relay_log_names(self) -> list[str]:
        """The same of relay logs, of a server with the option ``relay-log``."""
        return self._indexed(self.spec.option("relay-log") or "relay")

    def _indexed(self, base: str) -> list[str]:
        lines = self.read_file(f"{base}.index").decode("utf-8").splitlines()
        return [check_file_name(line.removeprefix("./")) for line in lines if line]

    def read_file(self, name: str) -> bytes:
        """The bytes of one file of the data folder, of a dead server too.

        UsageError: no plain file name. ServerError: no such file.
        """
        out = io.BytesIO()
        self._copy_to(check_file_name(name), out)
        return out.getvalue()

    def copy_binlog(self, name: str, dest: Path) -> Path:
        """Write the data folder's file ``name`` to ``dest`` (a file, or a folder), mode 0600.

        A log is as secret as the database. Returns the file's path; errors as in
        ``read_file``.
        """
        target = dest / check_file_name(name) if dest.is_dir() else dest
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as out:
            self._copy_to(check_file_name(name), out)
        return target

    @abstractmethod
    def put(self, name: str, source: BinaryIO) -> None:
        """Write one file of the running server's data folder, over what is there.

        UsageError: no plain file name. ServerError: it cannot be written.
        """

    @abstractmethod
    def _copy_to(self, name: str, out: BinaryIO) -> None:
        """Write one file of the data folder, whose name was checked, to ``out``."""

    @abstractmethod
    def kill(self) -> None:
        """SIGKILL, which leaves a crashed log; its files stay until ``close``."""

    @abstractmethod
    def stop(self) -> None:
        """Clean shutdown, which closes the log; its files stay until ``close``."""

    @abstractmethod
    def start_again(self) -> None:
        """Start it with the files that it left when it was killed or stopped; ``port`` may be
        another one. ServerError: it does not start."""

    @abstractmethod
    def _remove(self) -> None:
        """Stop at once whatever still runs and remove all that was made for this server."""

    def close(self) -> None:
        """Remove the server and its files; a second call does nothing."""
        if not self._closed:
            self._closed = True
            self._end_session()
            self._remove()

    def _end_session(self) -> None:
        session, self._session = self._session, None
        if session is not None and session.open:
            with contextlib.suppress(pymysql.Error):  # the server went away first
                session.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
