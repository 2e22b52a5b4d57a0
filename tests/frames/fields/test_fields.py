"""Records and frames are as they are declared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pytest

import binlogkit as bk
from binlogkit.frames.fields import ledger, rows
from binlogkit.frames.fields.field import Field, Fields, arrow_schema, arrow_type, fields, names
from binlogkit_fixtures import golden

CASES = [
    pytest.param(golden.case(cell, scenario), id=f"{cell}/{scenario}")
    for cell, scenario in (
        ("5.6-row-full", "transactions"),
        ("5.7-mixed-full", "statements"),
        ("5.7-row-no-gtid", "transactions"),
        ("8.0-row-compressed", "transactions"),
        ("8.0-row-full-metadata", "types"),
        ("8.0-row-minimal", "keys"),
        ("9-row-full", "modern"),
    )
]
DECLARED: dict[str, Fields] = {
    name: value
    for module in (ledger, rows)
    for name, value in vars(module).items()
    if name.isupper() and isinstance(value, tuple) and isinstance(value[0], Field)
}


@pytest.mark.parametrize("name", DECLARED)
def test_declarations(name: str) -> None:
    declared = DECLARED[name]
    assert len(set(names(declared))) == len(declared)
    assert arrow_schema(declared).names == list(names(declared))
    assert all(field.meaning and not field.meaning.endswith(".") for field in declared)


def test_a_type_may_be_null() -> None:
    may, must = fields(("a", "list<string>?", "some"), ("b", "uint64", "one"))
    assert (may.type, may.nullable) == ("list<string>", True)
    assert (must.type, must.nullable) == ("uint64", False)


def test_an_unknown_type() -> None:
    with pytest.raises(ValueError, match="no such"):
        arrow_type("no such")


def hold(declared: Fields, records: Iterable[Mapping[str, Any]]) -> int:
    """Whether records have the declared keys, and null only where they may; how many."""
    never = [field.name for field in declared if not field.nullable]
    count = 0
    for record in records:
        assert tuple(record) == names(declared)
        assert not [name for name in never if record[name] is None]
        count += 1
    return count


@pytest.mark.sampled(0)
@pytest.mark.parametrize("case", CASES)
def test_what_logs_give(case: golden.GoldenCase) -> None:
    log = bk.open(list(case.binlogs))
    assert hold(ledger.EVENT, log.event_records())
    assert hold(ledger.TRANSACTION, log.transaction_records())
    hold(rows.ROW, log.row_records())
    hold(ledger.STATEMENT, log.statements(engine="pyarrow").to_pylist())
    hold(ledger.BOUNDARY, log.boundaries(engine="pyarrow").to_pylist())
    hold(ledger.COLUMN, log.tables(engine="pyarrow").to_pylist())
    hold(ledger.FINDING, log.verify().records())
    hold(ledger.FILE, log.audit()["files"].to_pylist())
    for batch in log.batches():
        hold(rows.BATCH, batch.batch.to_pylist())
    for table in log.table_names()[:2]:
        hold(rows.STATE, log.state(table).records())
