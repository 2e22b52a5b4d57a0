"""Expected events and rows of a golden log: the lines that lie beside it, packed as xz or not."""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from binlogkit.errors import InputError

__all__ = ["expected_lines"]

MAX_LINE = 64 << 20  # bytes of one line


def expected_lines(
    folder: Path, kind: Literal["events", "rows"], log: str
) -> Iterator[dict[str, Any]]:
    """The records of ``folder/events.jsonl`` or ``rows.jsonl`` that are of the log of that name.

    InputError: there are none, or a line is no record; the message names the file and the line.
    """
    plain = folder / f"{kind}.jsonl"
    packed = folder / f"{kind}.jsonl.xz"
    path = plain if plain.is_file() else packed
    if not path.is_file():
        raise InputError(str(plain), "no expected lines here (a golden log has them beside it)")
    return _records(path, log)


def _records(path: Path, log: str) -> Iterator[dict[str, Any]]:
    number = 0
    try:
        with lzma.open(path) if path.suffix == ".xz" else path.open("rb") as stream:
            while line := stream.readline(MAX_LINE):
                number += 1
                record = json.loads(line)
                if not isinstance(record, dict) or not {"file", "pos", "raw"} <= record.keys():
                    raise InputError(str(path), f"line {number} is no expected record")
                if record["file"] == log:
                    yield record
    except (OSError, EOFError, lzma.LZMAError, ValueError, RecursionError) as exc:
        raise InputError(str(path), f"line {number} cannot be read: {exc}") from exc
