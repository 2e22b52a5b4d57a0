"""One table's rows in files have the columns and values of ``log.rows(table)``."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import binlogkit as bk
from binlogkit.errors import SchemaError
from binlogkit.frames import tables
from binlogkit.log.typed_rows import typed_rows
from binlogkit.rows.filters import written_table_name

DATA = Path(__file__).parents[1] / "_data"
FULL = DATA / "8.0-row-full"
INCIDENT = FULL / "incident" / "binlog.000001"
TABLES = {
    "ordinary": (INCIDENT, "shop.orders"),
    "zero dates": (FULL / "types" / "binlog.000001", "types.dates"),
    "zero times": (FULL / "types" / "binlog.000001", "types.timestamps"),
    "times": (FULL / "types" / "binlog.000001", "types.times"),
    "decimals": (FULL / "types" / "binlog.000001", "types.decimals"),
    "partial images": (DATA / "8.0-row-minimal" / "keys" / "binlog.000001", "keyed.pk"),
    "JSON": (DATA / "8.0-row-minimal" / "json" / "binlog.000001", "docs.doc"),
}


def written(run: Any, log: Path, table: str, form: str, out: Path, *options: str) -> Path:
    done = run("rows", log, "--table", table, "--format", form, "--output", out, *options)
    assert done.status in (0, 1), done.complaint
    return out


@pytest.mark.parametrize("name", TABLES)
def test_parquet_is_the_frame(run: Any, tmp_path: Path, name: str) -> None:
    log, table = TABLES[name]
    found = pq.read_table(written(run, log, table, "parquet", tmp_path / "o"))
    frame = bk.open(log).rows(table, engine="pyarrow")
    assert found.column_names == frame.column_names and found.num_rows == len(frame) > 0
    for column in frame.column_names:
        expected = frame[column].to_pylist()
        if column in ("timestamp", "commit_timestamp"):
            unit = "s" if column == "timestamp" else "us"
            expected = frame[column].cast(pa.timestamp(unit, "UTC")).to_pylist()
        assert found[column].to_pylist() == expected, column


@pytest.mark.parametrize("name", TABLES)
def test_csv_has_each_value(run: Any, tmp_path: Path, name: str) -> None:
    """Those without an Arrow value, too: as the record has them."""
    log, table = TABLES[name]
    text = written(run, log, table, "csv", tmp_path / "o", "--csv-raw").read_text("utf-8")
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    records = list(bk.open(log).row_records(table=table))
    assert len(rows) == len(records) > 0
    for row, record in zip(rows, records, strict=True):
        for image in ("before", "after"):
            cells = {n: row[f"{image}.{n}"] for n in record[image] or {}}
            assert {n: c.replace("T", " ").rstrip("Z") for n, c in cells.items()} == {
                n: _cell(value) for n, value in (record[image] or {}).items()
            }
        assert row["timestamp"].endswith("Z") and row["op"] == record["op"]


def _cell(value: Any) -> str:
    text = "" if value is None else json.dumps(value) if isinstance(value, dict) else str(value)
    return text.replace("T", " ").rstrip("Z")


def test_csv_of_an_update(run: Any, tmp_path: Path) -> None:
    out = written(
        run, INCIDENT, "shop.orders", "csv", tmp_path / "o", "--where", "id=150", "--op", "update",
        "--columns", "timestamp,commit_timestamp,changed,before.total,after.total,after.updated_at",
    )  # fmt: skip
    assert out.read_text("utf-8").splitlines()[1] == (
        "2024-05-14T14:03:07Z,2024-05-14T14:03:07.001513Z,"
        '"[""status"",""total"",""updated_at"",""comment""]",383.50,0.00,2024-05-14T14:03:07.000Z'
    )


def test_versions_are_united(run: Any, tmp_path: Path) -> None:
    log = FULL / "ddl" / "binlog.000001"
    versions = bk.open(log).tables().groupby(["db", "table"])["schema_version"].nunique()
    united = 0
    for db, table in versions[versions > 1].index:
        name, reader = written_table_name(db, table), bk.open(log)
        try:
            expected = reader.rows(name, engine="pyarrow")
        except SchemaError:
            with pytest.raises(SchemaError, match="schema version"):
                typed_rows(reader, name)
            continue
        schema, batches = typed_rows(reader, name)
        found = pa.Table.from_batches(batches, schema)
        assert found.column_names == expected.column_names
        for column in ("after_state", *(n for n in found.column_names if n.startswith("after."))):
            assert found[column].to_pylist() == expected[column].to_pylist(), column
        united += 1
    assert united


def test_no_row_has_the_columns_all_the_same(run: Any, tmp_path: Path) -> None:
    out = written(run, INCIDENT, "shop.orders", "csv", tmp_path / "o", "--start-time", "2030-01-01")
    assert "after.total" in out.read_text("utf-8").splitlines()[0]


def test_images_as_a_whole_are_json(run: Any, tmp_path: Path) -> None:
    out = written(
        run, INCIDENT, "shop.orders", "csv", tmp_path / "o", "--columns", "timestamp,after"
    )
    row = next(csv.DictReader(io.StringIO(out.read_text("utf-8"), newline="")))
    assert json.loads(row["after"])["id"] == 1 and row["timestamp"] == "2024-05-14T13:49:00Z"


def test_damage_ends_the_rows_that_were_delivered(run: Any, tmp_path: Path) -> None:
    data = bytearray(INCIDENT.read_bytes())
    data[76200] ^= 0xFF
    log = tmp_path / "binlog.000001"
    log.write_bytes(bytes(data))
    done = run("rows", log, "--table", "shop.orders", "--format", "csv", "--output", tmp_path / "o")
    whole = run("rows", log, "--table", "shop.orders", "--format", "jsonl")
    assert done.status == whole.status == 1 and "checksum" in done.complaint.lower()
    text = (tmp_path / "o").read_text("utf-8")
    assert len(list(csv.DictReader(io.StringIO(text, newline="")))) == len(whole.records) > 0


def test_long_statements_are_written_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their text stands beside each of their rows."""
    whole = typed_rows(bk.open(INCIDENT), "shop.orders")
    monkeypatch.setattr(tables, "LARGE", 1 << 16)
    schema, parts = typed_rows(bk.open(INCIDENT), "shop.orders")
    batches = list(parts)
    expected = pa.Table.from_batches(whole[1], whole[0])
    assert pa.Table.from_batches(batches, schema).equals(expected)
    assert len(batches) > 1 and all(b["query"].nbytes < 1 << 18 for b in batches)
