"""Table definitions from a schema file."""

from __future__ import annotations

from pathlib import Path

from binlogkit.errors import InputError

__all__ = ["read_schema_text"]


def read_schema_text(path: str) -> str:
    """A schema file's text (UTF-8, as mysqldump writes it)."""
    try:
        return Path(path).read_text("utf-8", "backslashreplace")
    except OSError as exc:
        raise InputError(path, f"cannot be read: {exc.strerror}") from exc
