"""Holding a rebuilt table against what the server said at the same point."""

from __future__ import annotations

import json
import struct
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import binlogkit as bk
from binlogkit.rows.filters import written_table_name
from binlogkit_fixtures.demo.logs import Case
from binlogkit_fixtures.manifest import MarkPoint, Table

__all__ = ["Check", "check_table", "check_tables"]


@dataclass(frozen=True, slots=True)
class Check:
    """One table at one mark. ``verdict``: ``equal``, ``not determined`` (and the tool said so) or
    ``different``."""

    table: str
    mark: str
    rows: int
    verdict: str
    why: str = ""


def check_table(log: Any, case: Case, mark: MarkPoint, name: str) -> Check:
    """Rebuild one table as of a mark and compare it with the server's SELECT there."""
    db, _, table = name.partition(".")
    file = next(str(path) for path in case.logs if path.name == mark.file)
    truth = mark.tables[name]
    state = log.state(written_table_name(db, table), at=(file, mark.pos))
    ours = Counter(_key(r["values"], truth) for r in state.records())
    theirs = Counter(_key(r, truth) for r in truth.records())
    if ours == theirs:
        return Check(name, mark.name, len(truth.rows), "equal")
    if state.unknown_cells or not state.determined:
        found = [f["finding"] for f in state.findings.to_pylist() if not f["determined"]]
        unknown = [f"{state.unknown_cells} unknown cells"] if state.unknown_cells else []
        why = ", ".join(found + unknown)
        return Check(name, mark.name, len(truth.rows), "not determined", why)
    return Check(name, mark.name, len(truth.rows), "different")


def check_tables(case: Case) -> Iterable[Check]:
    """Every table of the last mark."""
    mark = case.manifest.marks[-1]
    log = bk.open([str(path) for path in case.logs])
    for name in mark.tables:
        yield check_table(log, case, mark, name)


def _key(row: Mapping[str, Any], truth: Table) -> str:
    """The row as a comparable text; a FLOAT by its four bytes, as the manifest wants it."""
    floats = {c.name for c in truth.columns if c.type.startswith("float")}
    plain = {
        name: struct.pack("<f", value).hex() if name in floats and value is not None else value
        for name, value in row.items()
    }
    return json.dumps(plain, sort_keys=True)
