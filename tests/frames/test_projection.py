"""Columns that were not asked for are stepped over; the others are what they are without that."""

from __future__ import annotations

from itertools import islice
from typing import Any

import pytest

import binlogkit as bk
from binlogkit.errors import UsageError
from binlogkit.frames.projection import projected
from binlogkit.frames.row_batches import read_batches
from binlogkit.rows.filters import Filters
from tests.frames.readings import by_events
from tests.fuzz.binlogkit_fuzz import seeds

SERVERS = ("5.6-row-full", "5.7-row-minimal", "8.0-row-full-metadata", "8.0-row-compressed")
LOGS = [
    seeds.DATA / server / scenario / "binlog.000001"
    for server in SERVERS
    for scenario in ("types", "json", "keys", "ddl")
    if (seeds.DATA / server / scenario).exists()
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("path", LOGS, ids=lambda p: f"{p.parts[-3]}-{p.parts[-2]}")
@pytest.mark.parametrize("every", [1, 2, 3])
def test_the_kernel_skips_what_the_projection_drops(path: Any, every: int) -> None:
    """Every such log, event by event and then projected, against the kernel's own skipping."""
    whole: dict[Any, list[Any]] = {}
    names = set()
    for window in by_events(bk.open(str(path)), Filters())[1]:
        for schema, batch in window:
            names |= {c.name for c in islice(schema.columns, 1, None, every)}
            whole.setdefault((schema.name, schema.version), []).append(batch)
    wanted = frozenset(names)
    fast: dict[Any, list[Any]] = {}
    for found in read_batches(bk.open(str(path)).reading(), Filters(), columns=wanted):
        for schema, batch in found:
            batch.validate(full=True)
            fast.setdefault((schema.name, schema.version), []).append(batch)
    assert fast.keys() == whole.keys()
    for key, batches in whole.items():
        expected = [projected(b, wanted) for b in batches]
        assert all(b.schema.equals(expected[0].schema, check_metadata=True) for b in fast[key])
        assert [r for b in fast[key] for r in b.to_pylist()] == [
            r for b in expected for r in b.to_pylist()
        ]


LOG = str(seeds.DATA / "8.0-row-full-metadata" / "transactions" / "binlog.000001")


def some_table() -> tuple[str, list[str]]:
    name = bk.open(LOG).table_names()[0]
    batch = next(bk.open(LOG).batches(name)).batch
    return name, [field.name for field in batch.schema.field("before").type]


@pytest.mark.parametrize("engine", ["pandas", "pyarrow"])
def test_typed_rows_have_the_columns_asked_for(engine: Any) -> None:
    name, columns = some_table()
    whole = bk.open(LOG).rows(name, engine="pyarrow")
    some = bk.open(LOG).rows(name, engine=engine, columns=columns[1:2])
    names = list(some.columns) if engine == "pandas" else some.column_names
    images = [n for n in names if n.startswith(("before.", "after."))]
    assert images == [f"before.{columns[1]}", f"after.{columns[1]}"]
    values = some[images[1]].tolist() if engine == "pandas" else some.column(images[1]).to_pylist()
    assert [None if str(v) == "<NA>" else v for v in values] == whole.column(images[1]).to_pylist()


def test_no_column_at_all() -> None:
    name, _ = some_table()
    counts = sum(b.batch.num_rows for b in bk.open(LOG).batches(name))
    found = list(bk.open(LOG).batches(name, columns=[]))
    assert sum(b.batch.num_rows for b in found) == counts
    assert found[0].batch.schema.field("after").type.num_fields == 0
    assert {op for b in found for op in b.batch.column("op").to_pylist()} <= {
        "insert",
        "update",
        "delete",
    }


def test_a_condition_on_a_column_that_was_not_asked_for() -> None:
    name, columns = some_table()
    whole = bk.open(LOG).rows(name, engine="pyarrow")
    key = next(v for v in whole.column(f"after.{columns[0]}").to_pylist() if v is not None)
    where = f"{columns[0]}={key}"
    expected = bk.open(LOG).changes(name, where=where)
    found = bk.open(LOG).changes(name, columns=[columns[1]], where=where)
    assert found.num_rows == expected.num_rows > 0
    assert [f.name for f in found.schema.field("after").type] == [columns[1]]
    assert found.column("seq").to_pylist() == expected.column("seq").to_pylist()


def test_columns_that_are_not_there() -> None:
    name, columns = some_table()
    with pytest.raises(UsageError, match=rf"no column nowhere; .*\(there are .*{columns[0]}"):
        bk.open(LOG).rows(name, columns=["nowhere", columns[0]])
    with pytest.raises(UsageError, match="a list of names"):
        bk.open(LOG).rows(name, columns=columns[0])
    with pytest.raises(UsageError, match="name it"):
        bk.open(LOG).rows(columns=[columns[0]])
