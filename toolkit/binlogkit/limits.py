"""Limits against hostile input: what a log claims is believed up to here and no further.

Each can be raised by an environment variable, ``BINLOGKIT_LIMIT_`` and its name, which the error
says. A number is bytes unless it says otherwise. docs/hostile-input.md lists them.
"""

from __future__ import annotations

import os

from binlogkit.errors import LimitError, UsageError, printable

DEFAULTS = {
    # What any compressed payload may expand to, and how many events it may hold; and for how many
    # bytes each of its own may stand besides, a hundredth of it for events (1 GiB of zero bytes is
    # 32 KiB of zstd; rows that differ in a counter alone are one to two thousand times smaller).
    "PAYLOAD": 64 << 20,
    "INNER_EVENTS": 100_000,
    "EXPANSION": 1000,
    # What a decompressor may keep in memory: zstd --ultra's window, xz -9's dictionary.
    "WINDOW": 128 << 20,
    # How many carriers may lie in each other: an encrypted log in a gzip in a zstd …
    "NESTING": 4,
    # The longest line of a hexdump, and the bytes that all `*` of one stand for.
    "TEXT_LINE": 256 << 20,
    "REPEATED": 1 << 30,
    # Columns of a table (manual, "Limits on Table Column Count"), and of all versions of all
    # tables of a walk: each takes a byte of a table map and some hundred here.
    "COLUMNS": 4096,
    "SCHEMA_COLUMNS": 4_000_000,
    # Characters, and words and signs, of a statement of which the tables are to be known: one of
    # 4096 columns, or an ENUM of 65535 labels, stays below.
    "STATEMENT": 4 << 20,
    "WORDS": 250_000,
    # A statement of a dump: one INSERT with a row of the largest packet, each byte escaped, would
    # take 2 GiB; mysqldump's own statements are of 1 MB, or of one row.
    "DUMP_STATEMENT": 256 << 20,
    # A file of metadata in a dump's folder: some hundred bytes for each file of it.
    "DUMP_METADATA": 64 << 20,
    # A snapshot in Parquet, Arrow or CSV that is packed or no local file: it is held.
    "SNAPSHOT": 4 << 30,
}
PREFIX = "BINLOGKIT_LIMIT_"


def limit(name: str) -> int:
    """The limit of that name. UsageError: the environment sets it to no number."""
    text = os.environ.get(PREFIX + name)
    if text is None:
        return DEFAULTS[name]
    if not (text.isascii() and text.isdecimal() and len(text) <= 18):
        raise UsageError(f"{PREFIX}{name} is a number, not {text!r}")
    return int(text)


def over(name: str, what: str) -> str:
    """``what`` is over the limit, and how to raise it."""
    return f"{what}; the limit is {limit(name)} (set {PREFIX}{name} to raise)"


def limit_error(file: str, name: str, what: str) -> LimitError:
    """The error that says so of ``file``."""
    return LimitError(f"{printable(file)}: {over(name, what)}")
