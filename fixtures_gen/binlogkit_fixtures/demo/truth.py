"""Holding a rebuilt table against what the server said at the same point."""

from __future__ import annotations

import json
import struct
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import binlogkit as bk
from binlogkit.rows.filters import written_table_name
from binlogkit_fixtures.demo.logs import Case
from binlogkit_fixtures.manifest import MarkPoint, Table

__all__ = ["Check", "check_tables", "compared"]


@dataclass(frozen=True, slots=True)
class Check:
    """One table at one mark. ``verdict``: ``equal``, ``not determined`` (and the tool said so) or
    ``different``."""

    table: str
    mark: str
    rows: int
    verdict: str
    why: str = ""


def check_tables(case: Case, mark: MarkPoint, tables: Iterable[str]) -> Iterator[Check]:
    """Rebuild tables as of a mark and compare each with the server's SELECT there."""
    log = bk.open([str(path) for path in case.logs])
    file = next(str(path) for path in case.logs if path.name == mark.file)
    names = {name: tuple(name.split(".", 1)) for name in tables}
    states = log.states((written_table_name(*n) for n in names.values()), at=(file, mark.pos))
    for name, state in zip(names, states, strict=True):
        yield compared(name, mark, state)


def compared(name: str, mark: MarkPoint, state: Any) -> Check:
    """A table's state, and what the server held at the mark."""
    truth = mark.tables[name]
    ours = Counter(_key(r["values"], truth) for r in state.records())
    theirs = Counter(_key(r, truth) for r in truth.records())
    if ours == theirs:
        return Check(name, mark.name, len(truth.rows), "equal")
    if state.unknown_cells or not state.determined:
        found = [f["finding"] for f in state.findings.to_pylist() if not f["determined"]]
        unknown = [f"{state.unknown_cells} unknown cells"] if state.unknown_cells else []
        return Check(name, mark.name, len(truth.rows), "not determined", ", ".join(found + unknown))
    return Check(name, mark.name, len(truth.rows), "different")


def _key(row: Mapping[str, Any], truth: Table) -> str:
    """The row as a comparable text; a FLOAT by its four bytes, as the manifest wants it."""
    floats = {c.name for c in truth.columns if c.type.startswith("float")}
    plain = {
        name: struct.pack("<f", value).hex() if name in floats and value is not None else value
        for name, value in row.items()
    }
    return json.dumps(plain, sort_keys=True)
