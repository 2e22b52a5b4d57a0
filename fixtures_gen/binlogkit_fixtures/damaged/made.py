"""The damaged logs themselves, and for each a record of what a reader must make of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from binlogkit.errors import UsageError, printable
from binlogkit_fixtures import golden
from binlogkit_fixtures import manifest as mf
from binlogkit_fixtures.damaged.cuts import CUTS
from binlogkit_fixtures.damaged.flips import FLIPS
from binlogkit_fixtures.damaged.forgeries import FORGERIES
from binlogkit_fixtures.damaged.lengths import LENGTHS
from binlogkit_fixtures.damaged.pieces import Piece, cut_into_pieces, joined
from binlogkit_fixtures.damaged.recipe import Recipe, Source
from binlogkit_fixtures.damaged.splices import SPLICES
from binlogkit_fixtures.records import json_schema, to_json

__all__ = [
    "RECIPES",
    "RECORDS",
    "DamagedLog",
    "EventRange",
    "make",
    "make_all",
    "schema",
    "write_files",
]

RECORDS = "damaged.jsonl"
RECIPES: Mapping[str, Recipe] = {**CUTS, **FLIPS, **SPLICES, **LENGTHS, **FORGERIES}


@dataclass(frozen=True, slots=True)
class EventRange:
    """The bytes of a whole event: its first, the one after its last, its type code."""

    pos: int
    end_pos: int
    code: int


@dataclass(frozen=True, slots=True)
class DamagedLog:
    """A damaged log, and what a reader must make of it.

    ``what`` is wrong, one clause; ``source``: the golden log that it was made of
    (cell/scenario/log); ``verdict``: ``must_read`` (no error, every event), ``may_refuse`` (not
    every reader can know, or the format leaves it open), ``must_refuse`` (an error, never
    silence); ``error``: empty, not_a_binlog, truncated, zeros, checksum, length, malformed,
    no_table_map, no_format, out_of_place, or null; ``level``: who can notice: ``events`` (whoever
    frames them), ``fields`` (whoever reads that event's fields), ``rows`` (what decodes row
    images); ``offset``: where the first bytes stand that are no event of the golden log, null
    where all do; ``before``: the events in front of it, which every reader must deliver, also when
    it refuses; ``after``: those after it, which a reader that resumes must deliver.
    """

    name: str
    file: str
    what: str
    source: str
    verdict: str
    error: str | None
    level: str
    offset: int | None
    size: int
    sha256: str
    before: tuple[EventRange, ...]
    after: tuple[EventRange, ...]


def schema() -> dict[str, Any]:
    """The JSON Schema of a line of ``damaged.jsonl``."""
    return json_schema(DamagedLog, "binlogkit damaged log")


def make_all() -> Iterator[tuple[DamagedLog, bytes]]:
    """Every damaged log with its record, in the order of the recipes."""
    for name in RECIPES:
        yield make(name)


def write_files(out: Path, names: Sequence[str] = ()) -> list[tuple[DamagedLog, Path]]:
    """Write damaged logs, all or those named, to ``out`` with ``damaged.jsonl``.

    UsageError: no log of that name, or a file is there already; nothing is then written.
    """
    for name in names:
        if name not in RECIPES:
            raise UsageError(f"there is no damaged log '{printable(name)}'")
    chosen = [make(name) for name in dict.fromkeys(names or RECIPES)]
    lines = [json.dumps(to_json(record), ensure_ascii=False) + "\n" for record, _ in chosen]
    files = {record.file: data for record, data in chosen}
    files[RECORDS] = "".join(lines).encode("utf-8")
    for name in files:
        if (out / name).exists():
            raise UsageError(f"{out / name} is there already")
    out.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (out / name).write_bytes(data)
    return [(record, out / record.file) for record, _ in chosen]


def make(name: str) -> tuple[DamagedLog, bytes]:
    """One of them; the same bytes each time. KeyError: no such recipe."""
    recipe = RECIPES[name]
    source, pieces = _pieces(recipe.source)
    changed = recipe.edit(list(pieces))
    data = recipe.magic + joined(changed)
    offset, before, after = _ranges(len(recipe.magic), changed)
    record = DamagedLog(
        name, f"{name}.binlog", recipe.what, source, str(recipe.verdict),
        None if recipe.error is None else str(recipe.error), str(recipe.level), offset, len(data),
        mf.sha256(data), tuple(before), tuple(after),
    )  # fmt: skip
    return record, data


@cache
def _pieces(source: Source) -> tuple[str, tuple[Piece, ...]]:
    path = golden.case(*source).binlogs[0]
    return "/".join((*source, path.name)), tuple(cut_into_pieces(path.read_bytes()))


def _ranges(at: int, pieces: list[Piece]) -> tuple[int | None, list[EventRange], list[EventRange]]:
    offset: int | None = None
    before, after = list[EventRange](), list[EventRange]()
    for piece in pieces:
        end = at + len(piece.data)
        if not piece.whole:
            offset = at if offset is None else offset
        else:
            (before if offset is None else after).append(EventRange(at, end, piece.code))
        at = end
    return offset, before, after
