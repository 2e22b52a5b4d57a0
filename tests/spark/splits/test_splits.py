"""Logs cut at transactions: whatever the size of a split, all together are what a Log reads."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import binlogkit as bk
from binlogkit.errors import BinlogKitError, InputError, TruncatedEventError
from binlogkit.frames.row_batches import read_batches
from binlogkit.rows.filters import Filters
from binlogkit.spark.carried import carry
from binlogkit.spark.options import parse_options
from binlogkit.spark.splits.decode import decode, scan_schema
from binlogkit.spark.splits.plan import SplitPlan, make_plan
from binlogkit_fixtures import golden
from tests.fuzz.binlogkit_fuzz import framing, seeds
from tests.spark.as_written import rows_of

TWO_FILES = golden.case("8.0-row-full", "transactions")
KEYS = golden.case("8.0-row-full", "keys").binlogs[0]
ENCRYPTED = Path(__file__).parents[2] / "_encrypted" / "9-row-encrypted" / "transactions"
SERIES = [
    ("5.6-row-full", "transactions"),
    ("5.7-mixed-full", "statements"),
    ("5.7-row-full", "ddl"),
    ("5.7-row-minimal", "types"),
    ("5.7-row-no-checksum", "keys"),
    ("5.7-row-no-gtid", "transactions"),
    ("5.7-row-v1-events", "keys"),
    ("8.0-row-compressed", "transactions"),
    ("8.0-row-full", "transactions"),
    ("8.0-row-noblob", "json"),
    ("8.0-row-partial-json", "json"),
    ("8.0-row-rows-query", "transactions"),
    ("9-row-full", "transactions"),
]


def plan_of(source: Any, split_bytes: int = 1, **given: str) -> SplitPlan:
    paths = [str(path) for path in source] if isinstance(source, list) else [str(source)]
    options = {"paths": json.dumps(paths), "splitBytes": str(split_bytes), **given}
    return make_plan(parse_options(options))


def read(plan: SplitPlan) -> pa.Table:
    schema = scan_schema(plan)
    batches = [batch for split in plan.splits for batch in decode(plan.scan, split, schema)]
    return pa.Table.from_batches(batches, schema)


def carried(log: bk.Log, table: str, schema: pa.Schema) -> pa.Table:
    """A table's changes as a Log reads them, in the types that Spark carries."""
    batches = [carry(batch, schema) for batch in log.changes(table).to_batches()]
    return pa.Table.from_batches(batches, schema)


@pytest.mark.sampled(3, 6)
@pytest.mark.parametrize(("cell", "scenario"), SERIES)
def test_every_table_of_a_log_in_splits_of_any_size(cell: str, scenario: str) -> None:
    case = golden.case(cell, scenario)
    rows = rows_of(bk.open(case.path))
    counts = []
    for size in (1, 4000):
        plan = plan_of(case.path, size)
        counts.append(len(plan.splits))
        assert read(plan).to_pylist() == rows.to_pylist(), size
    assert counts[0] > counts[1] >= len(case.binlogs)
    names = bk.open(case.path).table_names()
    for table in names[:: max(1, len(names) // 4)]:
        try:
            plan = plan_of(case.path, 700, table=table)
        except BinlogKitError as error:  # its versions do not unite
            with pytest.raises(type(error)):
                bk.open(case.path).changes(table)
            continue
        found = read(plan)
        assert found.num_rows
        assert found.equals(carried(bk.open(case.path), table, found.schema)), table


def test_splits_lie_end_to_end_and_begin_with_a_transaction() -> None:
    records = list(bk.open(TWO_FILES.path).event_records())
    starts = {(r["file"], r["pos"]): n for n, r in enumerate(records)}
    transactions = bk.open(TWO_FILES.path).transactions(engine="pyarrow").to_pylist()
    numbers = {(t["file"], t["pos"]): t["tx"] for t in transactions}
    plan = plan_of(TWO_FILES.path, 1500)
    assert len(plan.splits) > 5
    for before, split in zip(plan.splits, plan.splits[1:], strict=False):
        if split.files == before.files:
            assert before.stop == split.start >= before.start + 1500
            assert split.position.events == starts[split.files[0], split.start]
            assert split.position.transactions == numbers[split.files[0], split.start]
        else:
            assert split.start == 0
    assert all(split.stop is not None for split in plan.splits[:-1])


@pytest.mark.parametrize(
    "options",
    [
        {"op": "update,delete"},
        {"startPosition": "2000"},
        {"stopPosition": "5000"},
        {"where": "id=1"},
        {"gtid": "80808080-0080-11ee-8080-808080808080:8-12"},
        {"records": "changes", "name": "db1"},
    ],
)
def test_filters_reach_into_splits(options: dict[str, str]) -> None:
    whole = read(plan_of(TWO_FILES.path, 1 << 30, **options))
    assert whole.num_rows
    assert read(plan_of(TWO_FILES.path, 1, **options)).equals(whole)


@pytest.mark.parametrize("kind", ["events", "transactions", "statements", "boundaries", "damages"])
def test_what_is_read_event_by_event_is_not_cut(kind: str) -> None:
    plan = plan_of(TWO_FILES.path, 1, records=kind)
    assert [split.start for split in plan.splits] == [0] * len(TWO_FILES.binlogs)


def test_what_cannot_seek_is_not_cut(tmp_path: Path) -> None:
    packed = tmp_path / "binlog.000001.gz"
    packed.write_bytes(gzip.compress(TWO_FILES.binlogs[0].read_bytes()))
    plan = plan_of(packed)
    assert len(plan.splits) == 1
    assert read(plan).num_rows == len(bk.open(packed).rows())


def test_encrypted_logs_are_cut() -> None:
    logs = sorted(ENCRYPTED.glob("binlog.0*"))
    keyring = str(ENCRYPTED / "keyring")
    plan = plan_of(logs, 1, keyring=keyring)
    assert len(plan.splits) > 10
    names = [str(path) for path in logs]
    want = rows_of(bk.open(names, keyring=keyring))
    assert read(plan).to_pylist() == want.to_pylist()


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_a_damaged_log_is_not_cut(tmp_path: Path, share: float) -> None:
    """What can be read behind damage, and what is missing, the events before it tell."""
    data = bytearray(TWO_FILES.binlogs[0].read_bytes())
    data[int(len(data) * share)] ^= 0xFF
    path = tmp_path / "binlog.000001"
    path.write_bytes(data)
    log = bk.open(path, on_damage="report")
    want = rows_of(log)
    plan = plan_of(path, 1, onDamage="report")
    (split,) = plan.splits
    assert read(plan).to_pylist() == want.to_pylist()
    reading = plan.scan.reading(split)
    for _ in read_batches(reading, Filters()):
        pass
    assert list(map(str, reading.damages)) == list(map(str, log.damages)) != []


def test_a_log_that_ends_inside_an_event_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "binlog.000001"
    path.write_bytes(TWO_FILES.binlogs[0].read_bytes()[:-10])
    log = bk.open(path, on_damage="report")
    want = rows_of(log)
    plan = plan_of(path, 1, onDamage="report")
    assert len(plan.splits) > 10 and plan.splits[-1].stop is None
    assert read(plan).to_pylist() == want.to_pylist()
    readings = [plan.scan.reading(split) for split in plan.splits]
    for reading in readings:
        for _ in read_batches(reading, Filters()):
            pass
    told = [str(damage) for reading in readings for damage in reading.damages]
    assert told == list(map(str, log.damages)) != []
    stops = plan_of(path, 1)
    schema = scan_schema(stops)
    for split in stops.splits[:-1]:
        list(decode(stops.scan, split, schema))
    with pytest.raises(TruncatedEventError) as caught:
        list(decode(stops.scan, stops.splits[-1], schema))
    assert caught.value.offset == log.damages[0].offset


def test_rows_whose_table_map_is_another_transactions(tmp_path: Path) -> None:
    """No server writes such a log; a Log reads it, and so do its splits, because it is not cut."""
    parts = framing.split(KEYS.read_bytes())
    maps = [i for i, part in enumerate(parts.parts) if part.code == seeds.TABLE_MAP]
    ids = [parts.parts[i].body[:6] for i in maps]
    again = next(i for n, i in enumerate(maps) if ids[n] in ids[:n])
    data = framing.join(replace(parts, parts=parts.parts[:again] + parts.parts[again + 1 :]))
    path = tmp_path / "binlog.000001"
    path.write_bytes(data)
    want = rows_of(bk.open(path)).to_pylist()
    assert len(want) == len(bk.open(KEYS).rows())
    plan = plan_of(path, 1)
    assert len(plan.splits) == 1 < len(plan_of(KEYS, 1).splits)
    assert read(plan).to_pylist() == want


def test_a_log_that_got_shorter_is_told(tmp_path: Path) -> None:
    data = TWO_FILES.binlogs[0].read_bytes()
    path = tmp_path / "binlog.000001"
    path.write_bytes(data)
    plan = plan_of(path, 2000)
    split = plan.splits[1]
    path.write_bytes(data[: split.start])
    with pytest.raises(InputError, match=f"had {split.stop} when it was looked at"):
        list(decode(plan.scan, split, scan_schema(plan)))


def test_columns_that_are_not_asked_for_are_not_decoded() -> None:
    case = golden.case("8.0-row-full", "types")
    plan = plan_of(case.path, table="types.integers")
    whole = carried(bk.open(case.path), "types.integers", scan_schema(plan))
    image = pa.struct({"u64": pa.decimal128(20, 0), "s8": pa.int16()})
    schema = pa.schema({"pos": pa.int64(), "after": image, "after_state": pa.list_(pa.int16())})
    batches = [b for split in plan.splits for b in decode(plan.scan, split, schema)]
    found = pa.Table.from_batches(batches, schema).to_pylist()
    assert found == [
        {
            "pos": row["pos"],
            "after": row["after"] and {name: row["after"][name] for name in ("u64", "s8")},
            "after_state": None,
        }
        for row in whole.to_pylist()
    ]
