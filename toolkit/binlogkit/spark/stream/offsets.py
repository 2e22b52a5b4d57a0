"""How far a stream has read: the offset in Spark's checkpoint.

Numbered logs in the same folder are one series. For each the offset names the last log that was
read, and how far.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from binlogkit.errors import UsageError
from binlogkit.rows.series import split_name
from binlogkit.sources.carriers.urls import is_url

_VERSION = 1


@dataclass(frozen=True, slots=True)
class Reached:
    """How far a series has been read.

    ``first``: the first log that the stream read of it, ``log``: the last, without their folder;
    ``server_id``, ``begun``: of the last one's first event; ``transactions``: how many of it, up to
    offset ``pos``, None for all of a log that has ended.
    """

    first: str
    log: str
    server_id: int
    begun: int
    transactions: int
    pos: int | None


@dataclass(frozen=True, slots=True)
class SnapshotPosition:
    """The position of the snapshot that a stream began with.

    It holds what ends by ``pos`` in ``file``, a log's name without its folder, and the transactions
    ``gtids``; None where it has none.
    """

    file: str | None
    pos: int | None
    gtids: str | None


@dataclass(frozen=True, slots=True)
class Offset:
    """``series``: how far each was read, by its name; ``base``: the position of the snapshot whose
    rows came first, None without one and before them."""

    series: Mapping[str, Reached] = field(default_factory=dict)
    base: SnapshotPosition | None = None


def series_of(name: str) -> str:
    """The series of a log: its folder and name but for the number."""
    folder, stem, _ = split_name(name if is_url(name) else os.path.abspath(name))  # noqa: PTH100  links are kept
    return f"{folder}/{stem}"


def base_of(name: str) -> str:
    """A log's name without its folder."""
    return name.replace("\\", "/").rpartition("/")[2]


def is_log(name: str, other: str) -> bool:
    """Whether names, of one series, mean the same log, compressed or not."""
    return split_name(base_of(name))[1:] == split_name(base_of(other))[1:]


def is_behind(name: str, other: str) -> bool:
    """Whether a log of a series comes after another one."""
    return (split_name(name)[2] or 0) > (split_name(other)[2] or 0)


def within(offset: Offset, start: Offset, target: Offset) -> Offset:
    """An offset, limited to a target; ``start``: where counting began."""
    found = dict(offset.series)
    for series, at in offset.series.items():
        end = target.series.get(series)
        if end is None:
            found.pop(series)
            if series in start.series:
                found[series] = start.series[series]
        elif is_behind(at.log, end.log) or (is_log(at.log, end.log) and _further(at, end)):
            found[series] = end
    return replace(offset, series=found)


def _further(at: Reached, end: Reached) -> bool:
    """Whether one place in a log is after another."""
    return end.pos is not None and (at.pos is None or at.pos > end.pos)


def to_json(offset: Offset) -> dict[str, Any]:
    """An offset as Spark keeps it."""
    logs = {series: asdict(reached) for series, reached in sorted(offset.series.items())}
    base = {} if offset.base is None else {"base": asdict(offset.base)}
    return {"version": _VERSION, "series": logs, **base}


def from_json(stored: Mapping[str, Any]) -> Offset:
    """An offset from Spark's checkpoint. UsageError: it is of another source or version."""
    try:
        if stored["version"] != _VERSION:
            raise UsageError(
                f"a checkpoint of version {_VERSION} is needed, not {stored['version']}"
            )
        series = {series: Reached(**reached) for series, reached in stored["series"].items()}
        return Offset(series, SnapshotPosition(**stored["base"]) if "base" in stored else None)
    except (KeyError, TypeError, AttributeError) as exc:
        raise UsageError("the checkpoint is not that of a stream of binlogs") from exc
