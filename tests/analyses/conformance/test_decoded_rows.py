"""Debezium's, Maxwell's and canal's JSON, by what each one's documentation says of it.

The golden rows are written as it says that each writes them, read by the adapter, and judged: what
is the same value has a rule's name, and what is changed is found.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from typing import Any

import jsonschema
import pytest

import binlogkit as bk
from binlogkit.analyses.conformance import (
    against_golden,
    against_mysqlbinlog,
    parse_decoded,
)
from binlogkit.errors import UsageError
from binlogkit.schemas import load
from binlogkit_fixtures import golden

CASES = [
    golden.case("8.0-row-full", "types"),
    golden.case("8.0-row-full", "keys"),
    golden.case("8.0-row-full", "json"),
]
Row = dict[str, Any]
Types = dict[str, str]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def base64(data: bytes) -> str:
    return b64encode(data).decode("ascii")


def unscaled(value: str) -> str:
    whole = int(value.replace(".", ""))
    return base64(whole.to_bytes(whole.bit_length() // 8 + 1, "big", signed=True))


def moment(text: str) -> datetime | None:
    """None: a date that no calendar has."""
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC)
    except ValueError:
        return None


def micros(text: str) -> int:
    sign = -1 if text.startswith("-") else 1
    hours, minutes, seconds = text.lstrip("-").split(":")
    whole, _, fraction = seconds.partition(".")
    total = (int(hours) * 60 + int(minutes)) * 60 + int(whole)
    return sign * (total * 1_000_000 + int(fraction.ljust(6, "0") or 0))


def in_debezium(value: Any, raw: bytes, kind: str) -> Any:
    """Its defaults: decimal.handling.mode precise, time.precision.mode adaptive_time_microseconds,
    binary.handling.mode bytes, in JSON."""
    name = kind.partition("(")[0].partition(" ")[0]
    if name == "decimal":
        return unscaled(value)
    if name == "bit":
        return bool(value) if kind == "bit(1)" else base64(raw[::-1])
    if name in ("geometry", "point", "linestring", "polygon"):
        return {"wkb": base64(raw[4:]), "srid": int.from_bytes(raw[:4], "little") or None}
    if isinstance(value, str) and value.startswith("0x"):
        return base64(bytes.fromhex(value[2:]))
    if name == "time":
        return micros(value)
    when = moment(value) if name in ("date", "datetime", "timestamp") else None
    if when is None:
        return value
    if name == "date":
        return (when.date() - date(1970, 1, 1)).days
    if name == "timestamp":
        return when.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    since = when - EPOCH
    total = (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
    return total // 1000 if kind in ("datetime", "datetime(3)") else total


def in_maxwell(value: Any, _: bytes, kind: str) -> Any:
    if kind.startswith("json"):
        return json.loads(value)
    if kind.startswith("set"):
        return value.split(",") if value else []
    if isinstance(value, str) and value.startswith("0x"):
        return base64(bytes.fromhex(value[2:]))
    return value


def in_canal(value: Any, _: bytes, kind: str) -> Any:
    """All is text; what is binary as Latin-1."""
    if isinstance(value, str) and value.startswith("0x"):
        return bytes.fromhex(value[2:]).decode("latin-1")
    return value if isinstance(value, str) else json.dumps(value)


def images(row: Row, types: Types, write: Callable[[Any, bytes, str], Any]) -> list[Any]:
    """Before and after, written by the column."""
    found: list[Any] = []
    for which in ("before", "after"):
        image, raw = row[which], row["raw"][which]
        written = {
            name: None if value is None else write(value, bytes.fromhex(raw[name][2:]), types[name])
            for name, value in (image or {}).items()
        }
        found.append(None if image is None else written)
    return found


def changed(before: Row | None, after: Row | None) -> tuple[Any, Any]:
    """``data`` and ``old``: of an update only what changed."""
    if before is None or after is None:
        return after or before, None
    return after, {name: v for name, v in before.items() if repr(after[name]) != repr(v)}


def of_debezium(rows: list[Row], types: dict[str, Types]) -> Iterator[Any]:
    yield {"source": {"db": "", "table": None}, "ddl": "CREATE TABLE t (id INT)"}
    for row in rows:
        before, after = images(row, types[f"{row['db']}.{row['table']}"], in_debezium)
        source = {"db": row["db"], "table": row["table"], "file": row["file"], "pos": 4, "row": 9}
        value = {"before": before, "after": after, "source": source, "op": row["op"][0]}
        yield value | {"op": {"i": "c"}.get(row["op"][0], row["op"][0])}
        if row["op"] == "delete":
            yield None
        yield {"schema": {}, "payload": value | {"op": "r", "before": None}}


def of_maxwell(rows: list[Row], types: dict[str, Types]) -> Iterator[Any]:
    yield {"type": "table-create", "database": "d", "table": "t", "def": {}}
    for row in rows:
        data, old = changed(*images(row, types[f"{row['db']}.{row['table']}"], in_maxwell))
        where = {"database": row["db"], "table": row["table"], "ts": row["timestamp"]}
        yield {**where, "type": row["op"], "data": data, **({} if old is None else {"old": old})}


def of_canal(rows: list[Row], types: dict[str, Types]) -> Iterator[Any]:
    """The rows of an event in one message."""
    yield {
        "isDdl": True,
        "type": "CREATE",
        "database": "d",
        "table": "t",
        "data": None,
        "old": None,
    }
    by_event: dict[int, list[Row]] = {}
    for row in rows:
        by_event.setdefault(row["pos"], []).append(row)
    for event in by_event.values():
        row = event[0]
        kinds = types[f"{row['db']}.{row['table']}"]
        both = [changed(*images(each, kinds, in_canal)) for each in event]
        old = [each[1] for each in both] if row["op"] == "update" else None
        yield {
            "isDdl": False, "database": row["db"], "table": row["table"],
            "type": row["op"].upper(), "data": [each[0] for each in both], "old": old,
        }  # fmt: skip


WRITERS = {"debezium": of_debezium, "maxwell": of_maxwell, "canal": of_canal}


def types_of(case: golden.GoldenCase) -> dict[str, Types]:
    return {
        name: {column.name: column.type for column in table.columns}
        for mark in case.manifest.marks
        for name, table in mark.tables.items()
    }


def judged(case: golden.GoldenCase, rows: list[Row], kind: str) -> Any:
    lines = [json.dumps(each) for each in WRITERS[kind](rows, types_of(case))]
    schemas = bk.open([str(path) for path in case.binlogs]).table_schemas()
    return against_golden(
        None, parse_decoded(lines, kind).rows, schemas, [], case.rows, decoder=kind
    )


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_is_written_as_documented_agrees(case: golden.GoldenCase, kind: str) -> None:
    result = judged(case, case.rows, kind)
    wrong = [d for d in result.differences.to_pylist() if d["kind"] != "representation"]
    assert wrong == []
    assert result.summary.rows == len(case.rows)
    assert result.summary.cells > 200


@pytest.mark.parametrize("kind", WRITERS)
def test_one_changed_value_is_found(kind: str) -> None:
    """In the middle of all rows, in each image."""
    case = CASES[1]
    for which in ("before", "after"):
        rows = case.rows
        number = next(i for i, r in enumerate(rows) if r["op"] == "update" and i > 40)
        column = next(name for name, v in rows[number][which].items() if isinstance(v, int))
        rows[number][which][column] += 1
        wrong = [
            d for d in judged(case, rows, kind).differences.to_pylist()
            if d["kind"] != "representation"
        ]  # fmt: skip
        assert [d["column"] for d in wrong] == [column]
        assert wrong[0]["pos"] == rows[number]["pos"]


def test_an_update_of_the_key_is_a_delete_and_a_create_of_one_place() -> None:
    """As Debezium 3.6.1 tells it; others beside each other are what they are."""

    def event(op: str, pos: int, row: int, **images: Any) -> str:
        source = {"db": "d", "table": "t", "server_id": 1, "file": "b.1", "pos": pos, "row": row}
        return json.dumps({"op": op, "source": source, **images})

    lines = [
        event("d", 4, 0, before={"id": 1}), "null", event("c", 4, 0, after={"id": 2}),
        event("d", 9, 0, before={"id": 2}), event("d", 9, 1, before={"id": 3}),
        event("c", 12, 1, after={"id": 3}), event("d", 15, 0, before={"id": 3}),
    ]  # fmt: skip
    rows = list(parse_decoded(lines, "debezium").rows or ())
    assert [(row["op"], row["before"], row["after"]) for row in rows] == [
        ("update", {"id": 1}, {"id": 2}), ("delete", {"id": 2}, None), ("delete", {"id": 3}, None),
        ("insert", None, {"id": 3}), ("delete", {"id": 3}, None),
    ]  # fmt: skip
    placeless = [
        '{"op": "d", "source": {"db": "d", "table": "t"}, "before": {"id": 1}}',
        '{"op": "c", "source": {"db": "d", "table": "t"}, "after": {"id": 1}}',
    ]
    found = parse_decoded(placeless, "debezium").rows or ()
    assert [row["op"] for row in found] == ["delete", "insert"]


def test_a_statement_that_is_logged_as_text_is_no_row() -> None:
    """As canal 1.1.7 tells it."""
    told = {"type": "INSERT", "isDdl": False, "database": "d", "table": "t", "old": None}
    lines = [
        json.dumps(told | {"data": None, "sql": "INSERT INTO t VALUES (1)"}),
        json.dumps(told | {"data": [{"id": "1"}], "sql": ""}),
    ]
    (row,) = parse_decoded(lines, "canal").rows or ()
    assert row["after"] == {"id": "1"}
    with pytest.raises(UsageError, match="line 1 is no message of canal"):
        list(parse_decoded([json.dumps(told | {"data": None, "sql": ""})], "canal").rows or ())


@pytest.mark.parametrize("kind", WRITERS)
def test_a_lost_row_is_found(kind: str) -> None:
    rows = CASES[1].rows
    lost = rows.pop(30)
    reasons = {d["reason"] for d in judged(CASES[1], rows, kind).differences.to_pylist()}
    assert f"{kind} lacks this row" in reasons
    assert lost["op"] in ("insert", "update", "delete")


def test_mysqlbinlog_cannot_judge_rows_without_places() -> None:
    case = CASES[1]
    lines = [json.dumps(each) for each in of_maxwell(case.rows, types_of(case))]
    with pytest.raises(UsageError, match="a row has no pos"):
        against_mysqlbinlog(
            None, parse_decoded(lines, "maxwell").rows, [],
            case.mysqlbinlog_text.encode().splitlines(keepends=True),
        )  # fmt: skip


#: What makes a row none, and what the error says of it.
NO_ROWS: list[tuple[Row, str]] = [
    ({"db": None}, "it has no db"),
    ({"table": None}, "it has no table"),
    ({"op": None}, "it has no op"),
    ({"op": "replace"}, "op is none of insert, update, delete"),
    ({"before": None}, "update: before is no object of columns"),
    ({"after": None}, "update: after is no object of columns"),
    ({"after": [1, 2]}, "update: after is no object of columns"),
    ({"op": "insert"}, "insert, which has no before"),
    ({"op": "delete"}, "delete, which has no after"),
    ({"pos": "4"}, "pos is no integer"),
    ({"pos": 1.5}, "pos is no integer"),
    ({"pos": True}, "pos is no integer"),
    ({"row": "0"}, "row is no integer"),
    ({"inner": []}, "inner is no integer"),
]
LEAST: Row = {"pos": 4, "db": "d", "table": "t", "op": "update", "before": {"a": 1},
              "after": {"a": [1, {}]}}  # fmt: skip


@pytest.mark.parametrize(("other", "problem"), NO_ROWS, ids=[str(each) for each, _ in NO_ROWS])
def test_the_least_form_and_its_schema_refuse_the_same(other: Row, problem: str) -> None:
    """Each of the six keys is needed, with its type; the error names the line and the key."""
    schema = jsonschema.Draft202012Validator(load("decoded_row"))
    row = {**LEAST, **other}
    wanting = {key: value for key, value in row.items() if value is not None}
    for refused in (row, wanting):
        assert not schema.is_valid(refused)
        with pytest.raises(UsageError, match=f"line 2 is no .*{problem}"):
            list(parse_decoded([json.dumps(LEAST), json.dumps(refused)], "rows").rows or ())


@pytest.mark.parametrize("more", [{}, {"inner": None, "row": 0}, {"gtid": None}, {"seen": "now"}])
def test_the_least_form_and_its_schema_take_the_same(more: Row) -> None:
    schema = jsonschema.Draft202012Validator(load("decoded_row"))
    rows = [LEAST | more]
    rows.append({k: v for k, v in LEAST.items() if k not in ("pos", "before")} | {"op": "insert"})
    rows.append({k: v for k, v in LEAST.items() if k != "after"} | {"op": "delete", "before": {}})
    assert all(map(schema.is_valid, rows))
    read = list(parse_decoded(map(json.dumps, rows), "rows").rows or ())
    assert [row["op"] for row in read] == ["update", "insert", "delete"]
    assert read[1]["before"] is read[2]["after"] is None
    assert "seen" not in read[0]


@pytest.mark.parametrize(
    ("kind", "line", "problem"),
    [
        ("debezium", '{"op": "c", "after": {}}', "line 1 is no event of Debezium"),
        ("debezium", '{"op": "x", "source": {"db": "d", "table": "t"}}', "op is none of"),
        ("debezium", '{"op": ["c"], "source": {"db": "d", "table": "t"}}', "op is none of"),
        ("debezium", '{"op": "u", "source": {"db": "d", "table": "t"}, "after": {}}', "before"),
        ("debezium", '{"op": "c", "source": {"db": "d"}, "after": {}}', "it has no table"),
        ("maxwell", '{"database": "d"}', "line 1 is no message of Maxwell"),
        ("maxwell", '{"type": ["insert"]}', "line 1 is no message of Maxwell"),
        ("maxwell", '{"type": "insert", "database": "d", "table": "t"}', "data or old"),
        ("maxwell", '{"type": "update", "data": {}, "old": [1]}', "data or old"),
        ("canal", '{"data": []}', "line 1 is no message of canal"),
        ("canal", '{"type": "INSERT", "data": {}}', "data and old are lists"),
        ("canal", '{"type": "UPDATE", "data": [{}], "old": []}', "old is not as long"),
        ("canal", '{"type": "INSERT", "data": [5]}', "data or old"),
        ("canal", "[]", "not an object"),
        ("maxwell", "{", "line 1 is no JSON"),
    ],
)  # fmt: skip
def test_what_is_no_message_is_an_error(kind: str, line: str, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        list(parse_decoded([line], kind).rows or ())
