"""A log in every carrier, as the tests of carriers take it."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import zstandard

import binlogkit as bk

TESTS = Path(__file__).parents[1]
DATA = TESTS / "_data"
ENCRYPTED = TESTS / "_encrypted" / "9-row-encrypted"
KEYS = DATA / "8.0-row-full" / "keys" / "binlog.000001"


def hexdump_c(data: bytes, *, squeeze: bool = True) -> str:
    """As ``hexdump -C`` prints it."""
    lines, before, starred = [], b"", False
    for at in range(0, len(data), 16):
        row = data[at : at + 16]
        if squeeze and row == before and len(row) == 16:
            lines += [] if starred else ["*"]
            starred = True
            continue
        before, starred = row, False
        halves = "  ".join(" ".join(f"{b:02x}" for b in row[i : i + 8]) for i in (0, 8))
        lines.append(f"{at:08x}  {halves:<48}  |{picture(row)}|")
    return "\n".join([*lines, f"{len(data):08x}", ""])


def xxd(data: bytes) -> str:
    """As ``xxd`` prints it."""
    lines = []
    for at in range(0, len(data), 16):
        row = data[at : at + 16]
        groups = " ".join(row[i : i + 2].hex() for i in range(0, len(row), 2))
        lines.append(f"{at:08x}: {groups:<39}  {picture(row)}")
    return "\n".join([*lines, ""])


def xxd_plain(data: bytes) -> str:
    """As ``xxd -p`` prints it."""
    digits = data.hex()
    return "\n".join([*(digits[i : i + 60] for i in range(0, len(digits), 60)), ""])


def od(data: bytes) -> str:
    """As ``od -v -A x -t x1z`` prints it."""
    lines = []
    for at in range(0, len(data), 16):
        row = data[at : at + 16]
        lines.append(f"{at:06x} {' '.join(f'{b:02x}' for b in row):<47}  >{picture(row)}<")
    return "\n".join([*lines, f"{len(data):06x}", ""])


def picture(row: bytes) -> str:
    """Printable bytes as they are, others as dots."""
    return "".join(chr(b) if 32 <= b < 127 else "." for b in row)


def one_line(text: str) -> str:
    """A text whose line breaks and runs of spaces were lost, as web pages do it."""
    return " ".join(text.split())


#: Carriers that hold a whole log, by name: what makes them of a log's bytes.
WHOLE: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "gzip": gzip.compress,
    "zstd": zstandard.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "gzip in zstd": lambda data: zstandard.compress(gzip.compress(data)),
    "hexdump -C": lambda data: hexdump_c(data).encode(),
    "hexdump -C in one line": lambda data: one_line(hexdump_c(data)).encode(),
    "xxd": lambda data: xxd(data).encode(),
    "xxd in one line": lambda data: one_line(xxd(data)).encode(),
    "xxd -p": lambda data: xxd_plain(data).encode(),
    "od -A x -t x1z": lambda data: od(data).encode(),
    "hexdump in UTF-16": lambda data: hexdump_c(data).replace("\n", "\r\n").encode("utf-16"),
    "hexdump in gzip": lambda data: gzip.compress(hexdump_c(data).encode()),
    "hexdump of gzip": lambda data: hexdump_c(gzip.compress(data)).encode(),
}


def events(source: Any, **options: Any) -> list[dict[str, object]]:
    """The event records without the name of file and source."""
    log = bk.open(source, **options)
    return [
        {k: v for k, v in r.items() if k not in ("file", "source")} for r in log.event_records()
    ]


def rows(source: Any, **options: Any) -> list[dict[str, object]]:
    """The row records without the file's name."""
    log = bk.open(source, **options)
    return [{k: v for k, v in r.items() if k != "file"} for r in log.row_records()]
