"""Every rows event of every golden log and corpus file: kernel and reference say the same."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from binlogkit.errors import InputError
from binlogkit.events.rows import RowsEvent
from binlogkit.log.opening import open_log
from tests._kernel.native.row_passes import rows_event
from tests.reference.binlogkit_reference import Walk

GOLDEN = Path(__file__).parents[2] / "_data"
CORPUS = Path(__file__).parents[4] / "shared" / "corpus"
BOUNDARIES = Path(__file__).parents[1] / "boundary_cells.json"
CELLS = sorted({path.parent.parent.name for path in GOLDEN.glob("*/*/binlog.00000?")})
# How the same events are cut into batches: whole, by rows, by bytes.
CUTS: tuple[dict[str, int], ...] = ({}, {"max_rows": 3}, {"max_bytes": 1})


def rows_by_schema(path: Path) -> dict[Any, list[Any]]:
    """The rows events of a log by (schema, server version)."""
    found: dict[Any, list[Any]] = defaultdict(list)
    log = open_log(path, on_damage="report")
    for step in Walk(log.carriers, log.options):
        body = step.event.body
        if isinstance(body, RowsEvent) and step.schema and step.event.raw.checksum != "bad":
            found[step.schema, step.server_version].append(step.event.raw)
    return found


def check(twins: ModuleType, path: Path) -> int:
    rows = 0
    for (schema, version), events in rows_by_schema(path).items():
        reference = twins.by_reference(schema, version, events)
        for cut in CUTS:
            twins.same(reference, twins.by_kernel(schema, version, events, **cut))
        rows += len(reference.column("op"))
    return rows


@pytest.mark.sampled(2)
@pytest.mark.parametrize("cell", CELLS)
def test_golden_logs(twins: ModuleType, cell: str) -> None:
    paths = sorted((GOLDEN / cell).glob("*/binlog.00000?"))
    rows = sum(check(twins, path) for path in paths)
    assert rows > 0 or "-row-" not in cell


def test_corpus(twins: ModuleType) -> None:
    if not CORPUS.is_dir():
        pytest.skip(f"the shared corpus is not here ({CORPUS})")
    rows = 0
    for path in sorted(p for p in CORPUS.rglob("*") if p.is_file()):
        try:
            rows += check(twins, path)
        except InputError:
            continue  # no log: the corpus holds texts too
    assert rows >= 40


def test_boundary_cells(twins: ModuleType, row_events: ModuleType) -> None:
    """The boundary values of every type, whose truth is real servers' SELECT (see beside)."""
    stored = json.loads(BOUNDARIES.read_text(encoding="utf-8"))
    cells = stored if isinstance(stored, list) else stored["cells"]
    by_spec: dict[Any, list[bytes]] = defaultdict(list)
    for record in cells:
        meta = bytes.fromhex(record["meta"])
        spec = replace(
            row_events.resolved(record["type"], meta),
            unsigned=record["unsigned"],
            charset=record["charset"],
            labels=None if record["labels"] is None else tuple(record["labels"]),
        )
        by_spec[spec].append(bytes.fromhex(record["cell"]))
    assert len(by_spec) > 40
    for spec, values in by_spec.items():
        head = (7).to_bytes(6, "little") + b"\1\0\2\0\1\1"
        events = [rows_event(head + b"".join(b"\0" + value for value in values), 30)]
        schema = row_events.schema_of([spec])
        reference = twins.by_reference(schema, "8.0.31", events)
        assert not reference.faults
        assert len(reference.column("op")) == len(values)
        twins.same(reference, twins.by_kernel(schema, "8.0.31", events))


def test_a_difference_is_seen(twins: ModuleType) -> None:
    """The judge of all these tests: one byte of one cell is enough."""
    path = next(GOLDEN.glob("8.0-row-full/types/binlog.00000?"))
    (schema, version), events = next(iter(rows_by_schema(path).items()))
    reference = twins.by_reference(schema, version, events)
    first = events[0]
    body = bytearray(first.body)
    body[-1] ^= 1
    kernel = twins.by_kernel(schema, version, [rows_event(bytes(body), first.header.type_code)])
    with pytest.raises(AssertionError):
        twins.same(reference, kernel)


def test_columns_that_are_not_asked_for(twins: ModuleType) -> None:
    """A projection holds the columns asked for as the whole has them, and their states alone."""
    path = next(GOLDEN.glob("8.0-row-minimal/keys/binlog.00000?"))
    for (schema, version), events in rows_by_schema(path).items():
        wanted = list(range(0, len(schema.columns), 2))
        whole = twins.by_kernel(schema, version, events)
        part = twins.by_kernel(schema, version, events, wanted=wanted)
        for image in ("before", "after"):
            ours, theirs = part.column(image).to_pylist(), whole.column(image).to_pylist()
            names = [schema.columns[i].name for i in wanted]
            assert ours == [r and {n: r[n] for n in names} for r in theirs]
            states = zip(
                part.column(f"{image}_state").to_pylist(),
                whole.column(f"{image}_state").to_pylist(),
                strict=True,
            )
            for got, full in states:
                kept = full and [full[i] for i in wanted]
                assert got == (kept if kept and max(kept) > 1 else None)


@pytest.mark.parametrize("wanted", [[], [0]])
def test_a_log_of_every_type_projected(twins: ModuleType, wanted: list[int]) -> None:
    path = next(GOLDEN.glob("8.0-row-full/types/binlog.00000?"))
    for (schema, version), events in rows_by_schema(path).items():
        part = twins.by_kernel(schema, version, events, wanted=wanted)
        whole = twins.by_reference(schema, version, events)
        assert part.faults == whole.faults
        assert len(part.column("op")) == len(whole.column("op"))
        assert part.column("pos").to_pylist() == whole.column("pos").to_pylist()
