"""Current-state tables as states, whose rows servers' SELECTs are compared with.

``python -m tests.spark.landing.currents [CELL/SCENARIO …]`` does it for all golden logs."""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from binlogkit.errors import InputError
from binlogkit.frames.layouts import empty_batch
from binlogkit.frames.schema import CellState
from binlogkit.log.states.table_state import TableState
from binlogkit.rows.filters import written_table_name
from binlogkit.spark.landing import Landing, current, keep_current
from binlogkit.spark.landing.current_rows import as_inserts
from binlogkit.spark.landing.kept import KeptTable
from binlogkit.spark.landing.landing_path import Folder
from binlogkit.spark.landing.reading import folders, read
from binlogkit.spark.landing.restored import Restored
from binlogkit_fixtures import golden
from binlogkit_fixtures.demo.logs import Case
from binlogkit_fixtures.demo.truth import check_tables, compared
from binlogkit_fixtures.golden import GoldenCase
from tests.fuzz.binlogkit_fuzz.framing import places
from tests.spark.landing.landings import land

NAMES = ("name", "seq")


def as_state(out: Path, landing: Landing, state: TableState) -> TableState:
    """A state with the rows of the current-state table in its place."""
    rows = current(out, written_table_name(*state.table))
    if not len(rows):
        return replace(state, rows=state.rows.slice(0, 0))
    versions = [empty_batch(one) for one in landing.ledger.joined.schemas[state.table]]
    fields = list(state.rows.schema.field("values").type)
    schemas = [read(folder).schema for folder in folders(Folder(out), state.table)]
    own = pa.schema([one for one in schemas[0] if one.name.startswith("_")])
    flat = as_inserts(rows, pa.schema([*own, *(rows.schema.field(f.name) for f in fields)]))
    changes = Restored(state.table, flat, versions, landing.ledger.numbering, landing.ledger.masks)
    [schema] = [_with(batch.schema, fields) for batch in versions[-1:]]
    found = changes.table(np.arange(len(flat)), schema)
    states = found["after_state"].to_pylist()
    unknown = [
        [f.name for f, one in zip(fields, own, strict=True) if one == CellState.NOT_IN_IMAGE]
        for own in (one or [0] * len(fields) for one in states)
    ]
    there = {
        "values": found["after"], "unknown": pa.array(unknown, pa.list_(pa.string())),
        "value_state": found["after_state"], "raw": found["raw"],
    }  # fmt: skip
    return replace(state, rows=pa.table(there))


def _with(schema: pa.Schema, fields: list[pa.Field]) -> pa.Schema:
    for image in ("before", "after"):
        at = schema.get_field_index(image)
        schema = schema.set(at, schema.field(at).with_type(pa.struct(fields)))
    return schema


def rows(state: TableState) -> list[str]:
    """The rows of a state, in an order of their own."""
    records: Iterator[Any] = state.records()
    kept = ({n: v for n, v in r.items() if n not in (*NAMES, "file", "pos")} for r in records)
    return sorted(json.dumps(record, sort_keys=True) for record in kept)


def growing(case: GoldenCase, logs: Path, steps: int) -> Iterator[tuple[str, int] | None]:
    """The logs as they were written, in steps; at each of the server's marks where it is."""
    logs.mkdir(parents=True)
    marks = {(mark.file, mark.pos) for mark in case.manifest.marks}
    for log in case.binlogs:
        data = log.read_bytes()
        ends = [*places(data)[1:], len(data)]
        stops = {pos for file, pos in marks if file == log.name}
        stops |= {*ends[:: max(1, len(ends) // steps)], len(data)}
        for stop in sorted(stops):
            (logs / log.name).write_bytes(data[:stop])
            yield (log.name, stop) if (log.name, stop) in marks else None


def ident(case: golden.GoldenCase) -> str:
    return str(case)


def check(out: Path, landing: Landing, kept: Iterable[KeptTable]) -> None:
    """The tables are what a replay of all that has landed gives."""
    for one in kept:
        state = landing.state(one.table)
        assert rows(as_state(out, landing, state)) == rows(state), one.table
        assert one.determined == state.rows_determined, one.table
        if not one.determined:
            assert one.findings


def tables_at_every_mark(case: golden.GoldenCase, folder: Path, steps: int) -> Counter[str]:
    """While the logs grow, step by step; what was done how often."""
    logs, out = folder / "logs", folder / "lake"
    one = Case(case.cell, case.scenario, case.path, tuple(case.binlogs))
    marks = {(mark.file, mark.pos): mark for mark in case.manifest.marks}
    hows: Counter[str] = Counter()
    for place in growing(case, logs, steps):
        land(logs, out)
        try:
            kept = keep_current(out)
        except InputError:  # there is no log yet, or nothing in it
            continue
        hows.update(k.how for k in kept)
        landing = Landing(out)
        check(out, landing, [k for k in kept if k.how != "unchanged" or place])
        if place is None:
            continue
        mark = marks[place]
        for table, told in zip(mark.tables, check_tables(one, mark, mark.tables), strict=True):
            name = written_table_name(*table.split(".", 1))
            if name in {k.table for k in kept}:
                found = compared(table, mark, as_state(out, landing, landing.state(name)))
                assert (found.verdict, found.rows) == (told.verdict, told.rows), (table, mark.name)
    assert {k.how for k in keep_current(out)} == {"unchanged"}
    return hows


def main() -> None:
    """All golden logs, or those that are named: how often which way was gone."""
    wanted = sys.argv[1:]
    for case in golden.cases():
        if not wanted or ident(case) in wanted:
            with tempfile.TemporaryDirectory() as folder:
                print(ident(case), dict(tables_at_every_mark(case, Path(folder), 2)), flush=True)


if __name__ == "__main__":
    main()
