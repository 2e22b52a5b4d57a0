"""A landed cell is equal to a value where the log's row changes are that ``where`` finds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import binlogkit as bk
from binlogkit.errors import UsageError
from binlogkit.frames.matching import Matcher
from binlogkit.rows.where import parse_where
from binlogkit.spark.landing import Landing, land
from binlogkit.spark.landing.named_rows import Named
from binlogkit.spark.landing.reading import folders, read, schema_of
from binlogkit.spark.landing.shape import landed_name, own_fields
from binlogkit.spark.landing.sought import Sought, kinds_of, sought
from binlogkit_fixtures import golden


@pytest.mark.parametrize("name", ["types", "json", pytest.param("ddl", marks=pytest.mark.slow)])
def test_every_value_of_a_log(name: str, tmp_path: Path) -> None:
    """As the command line takes it, of every column that each folder has."""
    case = golden.case("8.0-row-full-metadata" if name == "types" else "8.0-row-full", name)
    land(None, case.binlogs, tmp_path)
    landing, log, asked = Landing(tmp_path), bk.open(case.path), 0
    for table in landing.tables():
        own, batches = landed_name(table), [one.batch for one in log.batches(table)]
        told = [*log.row_records(table=table)]
        rows = {folder: read(folder, whole=True) for folder in folders(landing.out, own)}
        columns = [(rows[one], field) for one in rows for field in own_fields(schema_of(one))]
        values: dict[str, set[str]] = {}
        for name, value in (cell for record in told for cell in cells(record)):
            values.setdefault(name, set()).add(str(value))
        chosen = (
            (n, value) for n, own in values.items() for value in sorted(own)[:: 1 + len(own) // 4]
        )
        for name, value in chosen:
            matcher = Matcher(parse_where({name: value}))
            found = set[bytes]()
            for whole, field in (one for one in columns if one[1].name == name):
                try:
                    kinds = kinds_of(field, landing.ledger.met[own])
                    equal = sought(table, field, value, kinds)
                except UsageError:  # a value of another folder's type
                    continue
                named, _ = Named({name: equal}, key=False).fitting(whole)
                sequences = whole.filter(pa.array(named))["_sequence"]
                found |= {one[:-1] for one in sequences.to_pylist()}
            count = sum(matcher(batch).num_rows for batch in batches)
            assert len(found) == count > 0, (table, name, value)
            asked += 1
    assert asked > 15


def cells(record: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The plain values in the images of a change."""
    for image in filter(None, (record["before"], record["after"])):
        yield from ((n, v) for n, v in image.items() if isinstance(v, (int, str, float)))


def test_null_and_what_a_column_may_have_been() -> None:
    column = pa.chunked_array([pa.array([1, None]), pa.array([3_600_000_000])])
    assert Sought(None, ("integer",)).equal(column).tolist() == [False, True, False]
    both = Sought("01:00", ("time",))
    assert both.equal(column).tolist() == [False, False, True]
    texts = pa.array(["0.50", "5e-1", "-0.0", "12345678901234567890123456789012345678901.10"])
    for value, where in (("0.5", [0, 1]), ("0", [2]), (f"{'1234567890' * 4}1.1", [3])):
        assert np.flatnonzero(Sought(value, ("decimal",)).equal(texts)).tolist() == where


def test_a_column_that_no_version_names_is_what_its_type_says() -> None:
    day = pa.field("day", pa.date32())
    assert sought("a.t", day, "2024-02-29", kinds_of(day, [])).kinds == ("date",)
    with pytest.raises(UsageError, match=r"a\.t: day=soon: day is date32.*, compared with a date"):
        sought("a.t", day, "soon", kinds_of(day, []))
