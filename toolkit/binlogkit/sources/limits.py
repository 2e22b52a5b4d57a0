"""Limits against hostile input: what a log claims is believed up to here and no further.

Each can be raised by an environment variable, ``BINLOGKIT_LIMIT_`` and its name, which the
:class:`LimitError` tells. A number is bytes unless it says otherwise.
"""

from __future__ import annotations

import os

from binlogkit.errors import LimitError, UsageError

__all__ = ["DEFAULTS", "limit", "limit_error"]

DEFAULTS = {
    # An event holds at most one row more than max_allowed_packet (1 GiB at most) allows.
    "INNER_EVENT": (1 << 30) + (1 << 26),
    # What a decompressor may keep in memory: zstd --ultra's window, xz -9's dictionary.
    "WINDOW": 128 << 20,
    # How many carriers may lie in each other: an encrypted log in a gzip in a zstd …
    "NESTING": 4,
    # The longest line of a hexdump, and the bytes that all `*` of one stand for.
    "TEXT_LINE": 256 << 20,
    "REPEATED": 1 << 30,
}
_PREFIX = "BINLOGKIT_LIMIT_"


def limit(name: str) -> int:
    """The limit of that name. UsageError: the environment sets it to no number."""
    text = os.environ.get(_PREFIX + name)
    if text is None:
        return DEFAULTS[name]
    if not text.isdecimal():
        raise UsageError(f"{_PREFIX}{name} is a number, not {text!r}")
    return int(text)


def limit_error(file: str, name: str, what: str) -> LimitError:
    """``what`` is over the limit; the message tells the limit and how to raise it."""
    return LimitError(f"{file}: {what}; the limit is {limit(name)} (set {_PREFIX}{name} to raise)")
