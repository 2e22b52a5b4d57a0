"""Rows are chosen by the types of their columns."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import binlogkit as bk
from binlogkit.errors import UsageError
from binlogkit.frames.matching import Matcher
from binlogkit.rows.where import parse_where
from binlogkit_fixtures import golden
from tests.reference.binlogkit_reference.records import row_records

MOST = 12  # values of a column that are asked for
Record = dict[str, Any]


def case_id(value: object) -> str:
    return str(value)


def cells(record: Record, column: str) -> list[Any]:
    """The values of a column in a row's images."""
    images = (record["before"], record["after"])
    return [image[column] for image in images if image is not None and column in image]


def written(value: Any) -> str | None:
    """A cell of a record as a user writes it; None for what has no value."""
    if isinstance(value, dict):
        return None
    return "NULL" if value is None else value if isinstance(value, str) else json.dumps(value)


def places(records: Iterable[Record]) -> list[tuple[Any, ...]]:
    return [(r["pos"], r["inner"], r["row"]) for r in records]


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "case",
    [
        golden.case(*name)
        for name in (
            ("5.7-row-full", "types"),
            ("8.0-row-full-metadata", "types"),
            ("8.0-row-minimal", "keys"),
            ("8.0-row-partial-json", "json"),
        )
    ],
    ids=case_id,
)
def test_what_a_record_shows_finds_its_row(case: golden.GoldenCase) -> None:
    """Every type's boundary values, zero dates among them; and no other row."""
    asked = 0
    for batch in bk.open(list(case.binlogs)).batches():
        records: list[dict[str, Any]] = [record for _, record in row_records(batch.batch)]
        for name in dict.fromkeys(c for r in records for c in (r["after"] or r["before"] or {})):
            values = dict.fromkeys(written(v) for r in records for v in cells(r, name))
            for text in [v for v in values if v is not None][:MOST]:
                matcher = Matcher(parse_where(f"`{name.replace('`', '``')}`={text}"))
                found = [record for _, record in row_records(matcher(batch.batch))]
                matcher.complain()
                same = {text, "0.0", "-0.0"} if text in ("0.0", "-0.0") else {text}
                wanted = [r for r in records if same & {*map(written, cells(r, name))}]
                assert places(found) == places(wanted), (batch.table, name, text)
                asked += 1
    assert asked > 50


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "case",
    [
        golden.case(*name)
        for name in (
            ("8.0-row-minimal", "keys"),
            ("8.0-row-full", "transactions"),
            ("5.7-row-full", "types"),
            ("8.0-row-full-metadata", "types"),
            ("5.7-row-noblob", "keys"),
            ("8.0-row-partial-json", "json"),
        )
    ],
    ids=case_id,
)
def test_changed_is_what_records_show(case: golden.GoldenCase) -> None:
    found = 0
    for batch in bk.open(list(case.binlogs)).batches():
        records: list[dict[str, Any]] = [record for _, record in row_records(batch.batch)]
        for name in [field.name for field in batch.batch["after"].type]:
            matcher = Matcher(parse_where(f"changed(`{name.replace('`', '``')}`)"))
            shown = [record for _, record in row_records(matcher(batch.batch))]
            wanted = [
                r
                for r in records
                if r["op"] == "update"
                and name in r["after"]
                and (name not in r["before"] or r["before"][name] != r["after"][name])
            ]
            assert places(shown) == places(wanted), (batch.table, name)
            found += len(wanted)
    assert found > 3


# ---- by hand -------------------------------------------------------------------------------

COLUMNS: list[tuple[str, str, pa.DataType]] = [
    ("id", "integer", pa.uint32()),
    ("total", "decimal", pa.decimal128(10, 2)),
    ("rate", "float", pa.float32()),
    ("day", "date", pa.date32()),
    ("at", "datetime", pa.timestamp("us")),
    ("seen", "timestamp", pa.timestamp("us", "UTC")),
    ("took", "time", pa.duration("us")),
    ("name", "text", pa.string()),
    ("code", "binary", pa.binary()),
    ("state", "enum", pa.dictionary(pa.int32(), pa.string())),
    ("tags", "set", pa.string()),
    ("doc", "json", pa.string()),
]
ROWS: list[dict[str, Any]] = [
    {
        "id": 1, "total": Decimal("0.00"), "rate": 0.1, "day": dt.date(2024, 5, 14),
        "at": dt.datetime(2024, 5, 14, 14, 3, 7), "seen": dt.datetime(2024, 5, 14, 12, 3, 7),
        "took": dt.timedelta(hours=-1), "name": "open", "code": b"\x00\xab", "state": "open",
        "tags": "a,b", "doc": '{"a": 1, "b": [true]}',
    },
    {
        "id": 150, "total": Decimal("12.50"), "rate": 2.5, "day": None, "at": None, "seen": None,
        "took": None, "name": "Open", "code": b"", "state": "paid", "tags": "", "doc": "null",
    },
    {"id": 4294967295, **dict.fromkeys((name for name, _, _ in COLUMNS[1:]), None)},
]  # fmt: skip


@pytest.fixture
def batch(make_batch: Callable[..., pa.RecordBatch]) -> pa.RecordBatch:
    return make_batch(COLUMNS, [("insert", None, row) for row in ROWS])


@pytest.mark.parametrize(
    ("condition", "ids"),
    [
        ("id=0150", [150]),
        ("id=150.0", [150]),
        ("id=1.5e2", [150]),
        ("id=150.5", []),
        ("id=-1", []),
        ("id=4294967295", [4294967295]),
        ("id=99999999999999999999", []),
        ({"id": 150}, [150]),
        ({"id": np.int64(150)}, [150]),
        ({"id": True}, [1]),
        ("total=0", [1]),
        ("total=12.5", [150]),
        ("total=12.500", [150]),
        ("total=12.501", []),
        ({"total": Decimal("12.5")}, [150]),
        ({"total": 12.5}, [150]),
        ("rate=0.1", [1]),
        ({"rate": 0.1}, [1]),
        ("day=2024-05-14", [1]),
        ("day=2024-05-14 00:00:00", [1]),
        ("day=2024-05-14 00:00:01", []),
        ({"day": dt.date(2024, 5, 14)}, [1]),
        ("at=2024-05-14T14:03:07", [1]),
        ("at=2024-05-14 14:03:07.000000", [1]),
        ("at=2024-05-14", []),
        ("seen=2024-05-14 12:03:07", [1]),
        ("seen=2024-05-14T14:03:07+02:00", [1]),
        ("took=-01:00:00", [1]),
        ("took=-1:00", [1]),
        ({"took": dt.timedelta(hours=-1)}, [1]),
        ("name=open", [1]),
        ("name=OPEN", []),
        ("name=NULL", [4294967295]),
        ({"name": "NULL"}, []),
        ({"name": None}, [4294967295]),
        ("code=0x00ab", [1]),
        ("code=0x", [150]),
        ({"code": b"\x00\xab"}, [1]),
        ("state=paid", [150]),
        ("tags=b,a", [1]),
        ("tags=", [150]),
        ('doc={"b":[true],"a":1}', [1]),
        ({"doc": {"a": 1, "b": [True]}}, [1]),
        ("doc=null", [150]),
        (["id=1", "name=open"], [1]),
        (["id=1", "name=Open"], []),
        ("after.id > 1", [150, 4294967295]),
        ("after.id > 1.5 AND after.id < 1000", [150]),
        ("after.total < 12.505", [1, 150]),
        ("after.total BETWEEN 0 AND 10", [1]),
        ("after.rate >= 0.1", [1, 150]),
        ("after.day >= '2024-05-14'", [1]),
        ("after.day < '2024-05-14 00:00:01'", [1]),
        ("after.seen > '2024-05-14T14:03:06+02:00'", [1]),
        ("after.took < '00:00:00'", [1]),
        ("after.name > 'a'", [1]),
        ("after.name LIKE 'o%n' OR after.name LIKE '_pen'", [1, 150]),
        ("after.state IN ('paid', 'gone')", [150]),
        ("after.state <> 'paid'", [1]),
        ("NOT after.state = 'paid'", [1]),
        ("after.state LIKE 'p%'", [150]),
        ("after.tags = 'b,a'", [1]),
        ("after.code = 0x00AB", [1]),
        ("after.name IS NULL", [4294967295]),
        ("after.name IS NOT NULL", [1, 150]),
        ("after.name <=> NULL", [4294967295]),
        ("NOT after.name <=> 'open'", [150, 4294967295]),
        ("before.id IS NULL", []),
        ("before.id IS NOT NULL", []),
        ("NOT before.id = 1", []),
        ("after.name = after.state", [1]),
        ("after.id > after.total", [1, 150]),
        ("op = 'insert' AND row = 0 AND db = 'shop'", [1, 150, 4294967295]),
        ("gtid IS NULL", [1, 150, 4294967295]),
        ("timestamp >= '2023-11-14T22:13:21'", [150, 4294967295]),
        ("timestamp = 1700000001", [150]),
        ("timestamp < '2023-11-14T22:13:20.5'", [1]),
        ("xid > 0", [150, 4294967295]),
    ],
    ids=str,
)
def test_meaning(batch: pa.RecordBatch, condition: Any, ids: list[int]) -> None:
    matcher = Matcher(parse_where(condition))
    found = matcher(batch)
    matcher.complain()
    assert found.column("after").field("id").to_pylist() == ids


@pytest.mark.parametrize(
    ("condition", "told"),
    [
        ("id=abc", "id=abc: shop.orders.id is INTEGER, compared with a number"),
        ("id=", "compared with a number"),
        ("total=1_000", "compared with a number"),
        ("day=yesterday", "compared with a date"),
        ("day=2024-05-14T00:00:00Z", "compared with a date without a time zone"),
        ("took=soon", "compared with a time of day or an interval"),
        ("code=ab", "compared with bytes, written as 0x…"),
        ("doc={", "compared with a JSON document"),
        ({"name": 5}, "name=5: shop.orders.name is TEXT, compared with a text"),
        ({"id": float("nan")}, "compared with a number"),
        ("after.name > 5", "compared with a text"),
    ],
    ids=str,
)
def test_a_value_of_another_type(batch: pa.RecordBatch, condition: Any, told: str) -> None:
    matcher = Matcher(parse_where(condition))
    assert not matcher(batch).num_rows
    with pytest.raises(UsageError) as raised:
        matcher.complain()
    assert told in str(raised.value)


@pytest.mark.parametrize(
    ("condition", "told"),
    [
        ("id > 1", "A column is written after.id or before.id"),
        ("quantity > 1", "a row has no field quantity. A column is written after.quantity"),
        ("timestam > 1", "no field timestam; did you mean timestamp or commit_timestamp?"),
        ("after.id = abc", "a text in quotes"),
        ("after.state < 'a'", "shop.orders.state is ENUM, which has no order here"),
        ("after.doc > 'a'", "has no order here"),
        ("after.id LIKE '1%'", "LIKE is for texts, and shop.orders.id is INTEGER"),
        ("after.day = after.name", "they cannot be compared"),
    ],
    ids=str,
)
def test_what_cannot_be_asked(batch: pa.RecordBatch, condition: str, told: str) -> None:
    with pytest.raises(UsageError) as raised:
        Matcher(parse_where(condition))(batch)
    assert told in str(raised.value)


def test_a_type_that_another_table_has(make_batch: Callable[..., pa.RecordBatch]) -> None:
    """Of several tables one that a value fits is enough."""
    texts = make_batch([("id", "text", pa.string())], [("delete", {"id": "abc"}, None)])
    numbers = make_batch([("id", "integer", pa.int32())], [("delete", {"id": 5}, None)])
    others = make_batch([("x", "integer", pa.int32())], [("delete", {"x": 5}, None)])
    matcher = Matcher(parse_where("id=abc"))
    assert [matcher(b).num_rows for b in (numbers, others, texts)] == [0, 0, 1]
    matcher.complain()


def test_images_are_looked_at_one_by_one(make_batch: Callable[..., pa.RecordBatch]) -> None:
    columns = [("a", "integer", pa.int32()), ("b", "integer", pa.int32())]
    batch = make_batch(columns, [("update", {"a": 1, "b": 1}, {"a": 2, "b": 2})])
    for condition, count in (
        (["a=1", "b=1"], 1), (["a=2", "b=2"], 1), (["a=1", "b=2"], 0),
        ("before.a = 1 AND after.b = 2", 1), ("after.a > before.a", 1),
        ("after.a <=> before.a", 0),
    ):  # fmt: skip
        assert Matcher(parse_where(condition))(batch).num_rows == count, condition


def test_cells_that_are_not_there() -> None:
    """Neither equal nor different, neither NULL nor something else."""
    case = golden.case("8.0-row-minimal", "keys")
    log = bk.open(list(case.binlogs))
    absent = [
        r for r in log.row_records(table="keyed.pk") if r["after"] and "name" not in r["after"]
    ]
    assert absent
    for condition in ("after.name IS NULL", "after.name IS NOT NULL", "after.name <> ''"):
        kept = places(log.row_records(table="keyed.pk", where=condition))
        assert not {*places(absent)} & {*kept}
