"""Decoders' outputs by the name of their format: ``conform --decoded OUT --as FORMAT``.

A format is a function from lines to :class:`Decoded`; :func:`formats` lists the names,
:func:`register` adds one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from binlogkit.analyses.conformance.mysqlbinlog_records import from_mysqlbinlog
from binlogkit.errors import UsageError

__all__ = ["Decoded", "Format", "formats", "parse_decoded", "register"]

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Decoded:
    """What a decoder's output says of one log, in the contract's forms and the log's order.

    ``events``, ``rows``: None where the format has none; both are read once. ``schemas``: the
    tables as the output names them, empty where the column names are ``@1``, ``@2`` … anyway.
    """

    events: Iterable[Record] | None
    rows: Iterable[Record] | None
    schemas: tuple[Record, ...] = ()


Format = Callable[[Iterable[bytes | str]], Decoded]

_FORMATS: dict[str, Format] = {}


def register(name: str, read: Format) -> None:
    """Add a format; the name must be new."""
    if name in _FORMATS:
        raise UsageError(f"there is a format {name} already")
    _FORMATS[name] = read


def formats() -> list[str]:
    """The names that :func:`parse_decoded` knows, sorted."""
    return sorted(_FORMATS)


def parse_decoded(lines: Iterable[bytes | str], format: str) -> Decoded:
    """The events and rows of another decoder's output.

    Raises :class:`UsageError` for a format that is not known; what the format's own reader finds
    wrong with a line it raises while the records are read.
    """
    read = _FORMATS.get(format)
    if read is None:
        raise UsageError(f"no format {format!r}; there are {', '.join(formats())}")
    return read(lines)


def _binlogkit(lines: Iterable[bytes | str]) -> Decoded:
    """Our own JSON lines: ``events`` or ``rows`` records, whichever the first line is."""
    records = _json_lines(lines)
    first = next(records, None)
    if first is None:
        return Decoded(None, ())
    both = _chain(first, records)
    return Decoded(None, both) if "op" in first else Decoded(both, None)


def _chain(first: Record, rest: Iterator[Record]) -> Iterator[Record]:
    yield first
    yield from rest


def _json_lines(lines: Iterable[bytes | str]) -> Iterator[Record]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as exc:
            raise UsageError(f"line {number} is no JSON") from exc
        if not isinstance(record, dict) or not isinstance(record.get("pos"), int):
            raise UsageError(f"line {number} is no record of events or rows: it has no pos")
        yield record


register("binlogkit", _binlogkit)
register("mysqlbinlog", lambda lines: Decoded(*from_mysqlbinlog(lines)))
