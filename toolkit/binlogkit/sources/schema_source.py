"""Table definitions from a schema file or a live server."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from binlogkit.errors import InputError, ServerError, UsageError

__all__ = ["connect", "read_schema_text"]

PASSWORD_VARIABLE = "BINLOGKIT_PASSWORD"  # noqa: S105  the name of a variable, not a password
_DEFAULT_PORT = 3306


def read_schema_text(path: str) -> str:
    """A schema file's text (UTF-8, as mysqldump writes it)."""
    try:
        return Path(path).read_text("utf-8", "backslashreplace")
    except OSError as exc:
        raise InputError(path, f"cannot be read: {exc.strerror}") from exc


def connect(dsn: str) -> Any:
    """A connection to ``mysql://user@host:port``; the password comes from the environment."""
    import pymysql

    parts = urlsplit(dsn)
    if parts.scheme != "mysql" or not parts.hostname:
        raise UsageError("a server is written mysql://user@host:port")
    if parts.password is not None:
        raise UsageError(
            f"a password does not belong on a command line: set {PASSWORD_VARIABLE} instead"
        )
    try:
        return pymysql.connect(
            host=parts.hostname,
            port=parts.port or _DEFAULT_PORT,
            user=unquote(parts.username or "root"),
            password=os.environ.get(PASSWORD_VARIABLE, ""),
            charset="utf8mb4",
        )
    except pymysql.Error as exc:
        raise ServerError(f"{parts.hostname}: {exc.args[-1]}") from exc
