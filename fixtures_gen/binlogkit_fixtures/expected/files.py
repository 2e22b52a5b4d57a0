"""The files of expected lines: how they are called, read and written. No log is read for it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from binlogkit_fixtures import manifest as mf

__all__ = ["EVENTS", "NAMES", "ROWS", "Record", "find", "read", "text"]

EVENTS = "events.jsonl"
ROWS = "rows.jsonl"
NAMES = (EVENTS, ROWS)

Record = dict[str, Any]


def find(folder: Path, name: str) -> Path | None:
    """The file of that name in ``folder``, packed as xz or not, or None."""
    for path in (folder / name, folder / f"{name}.xz"):
        if path.is_file():
            return path
    return None


def read(path: Path) -> Iterator[Record]:
    """The records of a file of lines. InputError: unreadable; ValueError: a line is no JSON."""
    for line in mf.read_packed(path).splitlines():
        yield json.loads(line)


def text(records: Iterable[Record]) -> bytes:
    """Records as JSON lines: UTF-8, ``\\n`` after each."""
    lines = (json.dumps(r, ensure_ascii=False, allow_nan=False) + "\n" for r in records)
    return "".join(lines).encode("utf-8")
