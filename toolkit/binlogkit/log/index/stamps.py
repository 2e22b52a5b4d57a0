"""Stamps that show whether logs have changed since they were read."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from functools import lru_cache
from sys import intern
from typing import BinaryIO, NamedTuple

from binlogkit.errors import InputError
from binlogkit.sources.carriers import Carrier
from binlogkit.sources.carriers.carrier import reason_of
from binlogkit.sources.carriers.urls import is_url

_LOOKED_AT = 4096  # bytes at both ends of a log
_FLAGS = 4 + 17  # offset of the first event's flags in a log
_IN_USE = 0x01


class Stamp(NamedTuple):
    """A log's stamp: path, size (None if not known), and a hash of both its ends or the data of a
    store's listing."""

    place: str
    size: int | None
    ends: str


def stamp(place: str, size: int | None, ends: str) -> Stamp:
    """A stamp that was kept; all that know the log have the same text of its place."""
    return Stamp(intern(place), size, ends)


def stamp_of(carrier: Carrier) -> Stamp:
    """The stamp of a log in its present state; for a store's object from its listing.

    InputError: it cannot be opened.
    """
    place = place_of(carrier)
    if carrier.state is not None:
        return Stamp(place, carrier.size, carrier.state)
    try:
        with carrier.opener() as file:
            head = bytearray(_some(file))
            if len(head) > _FLAGS:
                head[_FLAGS] &= ~_IN_USE
            size, tail = carrier.size, b""
            if file.seekable():
                size = file.seek(0, os.SEEK_END)
                file.seek(max(size - _LOOKED_AT, len(head)))
                tail = _some(file)
    except (OSError, ValueError, ImportError) as exc:
        raise InputError(carrier.name, f"cannot be opened: {reason_of(exc)}") from exc
    return Stamp(place, size, hashlib.sha256(bytes(head) + tail).hexdigest())


def _some(file: BinaryIO) -> bytes:
    """The next bytes of a file, which may give fewer at a time."""
    found = b""
    while len(found) < _LOOKED_AT and (more := file.read(_LOOKED_AT - len(found))):
        found += more
    return found


def place_of(carrier: Carrier) -> str:
    """A log's absolute path, or its URL without secrets."""
    place = carrier.location or carrier.name
    return carrier.name if is_url(place) else absolute(place)


def absolute(place: str) -> str:
    """A path from the root, in which links are kept; a URL as it is."""
    if is_url(place):
        return place
    return _normal(place) if place.startswith("/") else os.path.abspath(place)  # noqa: PTH100


_normal = lru_cache(1 << 16)(os.path.abspath)  # of what does not depend on the working directory


def changed_at(place: str) -> int:
    """When a file was last changed, in microseconds since 1970; 0 where that is not known."""
    try:
        return os.stat(place).st_ctime_ns // 1000  # noqa: PTH116  many thousands
    except OSError:
        return 0


def stamp_or_none(carrier: Carrier) -> Stamp | None:
    """The stamp of a log; None if it cannot be opened."""
    try:
        return stamp_of(carrier)
    except InputError:  # whoever reads it reports it
        return None


def known_ones(
    stamps: Sequence[Stamp | None], known: Mapping[tuple[Stamp, ...], str]
) -> list[tuple[int, int, str]]:
    """The logs in runs: the first, the one after the last, and their part; "" if not known."""
    lengths = sorted({len(stamps) for stamps in known}, reverse=True)
    found: list[tuple[int, int, str]] = []
    at = 0
    while at < len(stamps):
        end, part = at + 1, ""
        for length in lengths:
            wanted = tuple(stamp for stamp in stamps[at : at + length] if stamp is not None)
            if len(wanted) == length and wanted in known:
                end, part = at + length, known[wanted]
                break
        if not part and found and not found[-1][2]:
            at, *_ = found.pop()
        found.append((at, end, part))
        at = end
    return found
