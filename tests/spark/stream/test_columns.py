"""A stream whose table gets other columns."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from binlogkit.errors import SchemaError, UsageError
from binlogkit.spark.options import parse_options
from binlogkit.spark.splits.decode import check_schema
from binlogkit.spark.splits.plan import make_plan
from binlogkit.spark.stream.columns import _holds
from binlogkit_fixtures import golden
from tests.fuzz.binlogkit_fuzz.framing import places
from tests.spark.stream.streams import Query, batch_of

LOG = golden.case("8.0-row-full", "instant-ddl").binlogs[0]
DATA = LOG.read_bytes()
EVENTS = places(DATA)


def of_statement(text: str) -> int:
    """Where the transaction of a statement begins: at its GTID."""
    i = next(i for i, p in enumerate(EVENTS) if text.encode() in DATA[p : EVENTS[i + 1]])
    return EVENTS[i - 1]


ADDED, DROPPED, RENAMED, LAST = (
    of_statement(text)
    for text in (
        "ADD e DATETIME",
        "DROP c, MODIFY b",
        "RENAME COLUMN e",
        "CREATE TABLE instant.other",
    )
)


class Grows:
    """A log that grows, and a query over it with the columns of its beginning, or some of them."""

    def __init__(self, folder: Path, end: int, kind: str, *names: str) -> None:
        self.log, self.asked = folder / LOG.name, {"table": "instant.t", "records": kind}
        self.grow(end)
        _, schema = batch_of(folder, **self.asked)
        self.schema = pa.schema([one for one in schema if one.name in names]) if names else schema
        self.query = Query(folder, schema=self.schema, **self.asked)
        self.query.inferred = not names
        assert self.query.all()

    def grow(self, end: int) -> None:
        self.log.write_bytes(DATA[:end])

    def begun_again(self) -> Query:
        """The query of today's columns, with the checkpoint."""
        _, schema = batch_of(self.log.parent, **self.asked)
        again = Query(self.log.parent, schema=schema, **self.asked)
        again.offset = self.query.offset
        return again


@pytest.mark.parametrize("kind", ["changelog", "changes"])
@pytest.mark.parametrize(("begin", "end", "column"), [(ADDED, RENAMED, "e"), (RENAMED, LAST, "f")])
def test_it_ends_before_a_row_with_a_new_column(
    kind: str, begin: int, end: int, column: str, tmp_path: Path
) -> None:
    grows = Grows(tmp_path, begin, kind)
    read = list(grows.query.rows)
    grows.grow(end)
    with pytest.raises(SchemaError) as caught:
        grows.query.all()
    found = re.fullmatch(
        rf"instant\.t has column {column} in (.+) at (\d+), which the stream does not have .+: "
        "begin the query again with the same checkpoint",
        str(caught.value),
    )
    assert found is not None and found[1] == str(grows.log)
    assert begin < int(found[2]) < end and int(found[2]) in EVENTS
    assert grows.query.rows == read
    rows, _ = batch_of(tmp_path, **grows.asked)
    again = grows.begun_again().all()
    assert 0 < len(again) < len(rows) and again == rows[-len(again) :]


def test_a_column_that_goes_ends_nothing(tmp_path: Path) -> None:
    grows = Grows(tmp_path, DROPPED, "changelog")
    grows.grow(ADDED)
    rows, _ = batch_of(tmp_path, **grows.asked)
    assert len(grows.query.all()) == len(rows)


@pytest.mark.parametrize(
    ("names", "ends"),
    [(("_change_type", "id"), False), (("id", "e"), True), (("_sequence", "b"), False)],
)
def test_of_chosen_columns_one_that_is_renamed_ends_it(
    names: tuple[str, ...], ends: bool, tmp_path: Path
) -> None:
    grows = Grows(tmp_path, RENAMED, "changelog", *names)
    grows.grow(LAST)
    if not ends:
        rows, _ = batch_of(tmp_path, **grows.asked)
        assert len(grows.query.all()) == len(rows)
        return
    with pytest.raises(SchemaError, match=r"checkpoint, with it in \.schema\(…\)$"):
        grows.query.all()
    _, schema = batch_of(tmp_path, **grows.asked)
    both = pa.schema([one for one in schema if one.name in (*names, "f")])
    again = Query(tmp_path, schema=both, **grows.asked)
    again.offset, again.inferred = grows.query.offset, False
    assert {row["f"] for row in again.all()} - {None}


@pytest.mark.parametrize("kind", ["changelog", "changes"])
def test_rows_whose_columns_have_no_known_names_end_it(kind: str, tmp_path: Path) -> None:
    """Chosen columns would be NULL in them: the log with CREATE TABLE was purged."""
    case = golden.case("8.0-row-full", "transactions")
    asked = {"table": "bank.account", "records": kind}
    _, schema = batch_of(*case.binlogs, **asked)
    late = tmp_path / case.binlogs[1].name
    shutil.copy(case.binlogs[1], late)
    text = rf"the names of the columns of bank\.account are not known in {late} at \d+: give their"
    for inferred in (True, False):
        query = Query(tmp_path, schema=schema, **asked)
        query.inferred = inferred
        with pytest.raises(SchemaError, match=text):
            query.all()
    options = parse_options({"path": str(tmp_path), **asked})
    with pytest.raises(UsageError, match=text):
        check_schema(make_plan(options, unite=False), schema)
    # By their positions they can be read, and with definitions by names.
    _, places = batch_of(tmp_path, **asked)
    assert Query(tmp_path, schema=places, **asked).all()
    tables = tmp_path / "tables.sql"
    columns = "id INT PRIMARY KEY, owner VARCHAR(40) NOT NULL, balance DECIMAL(12,2) NOT NULL"
    tables.write_text(f"CREATE DATABASE bank; CREATE TABLE bank.account ({columns});")
    options = parse_options({"path": str(tmp_path), **asked, "schema": str(tables)})
    check_schema(make_plan(options, unite=False), schema)


@pytest.mark.parametrize(
    ("wide", "narrow", "holds"),
    [
        (pa.int64(), pa.int32(), True),
        (pa.int32(), pa.int64(), False),
        (pa.string(), pa.int32(), True),
        (pa.int32(), pa.string(), False),
        (pa.decimal128(10, 2), pa.decimal128(6, 2), True),
        (pa.decimal128(6, 2), pa.float64(), False),
        (pa.binary(), pa.binary(), True),
    ],
)
def test_types_that_hold_others(wide: Any, narrow: Any, holds: bool) -> None:
    assert _holds(wide, narrow) is holds
