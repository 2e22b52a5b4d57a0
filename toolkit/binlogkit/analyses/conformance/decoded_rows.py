"""Any decoder's rows as JSON lines: the minimal form, and those of Debezium, Maxwell and canal.

The least that a row must have is ``db``, ``table``, ``op`` and its images (schemas/decoded_row).
The three pipelines give neither the event of the log that a row is of nor its number there in a way
that holds for all logs, so their rows come without a place, and are compared in their order. What
is no change of a row is skipped: snapshots, DDL, statements, transactions' begin and end,
tombstones.

Sources: Debezium's documentation of its MySQL connector (events' values), Maxwell's "dataformat",
canal's FlatMessage (protocol). Values stay as they are written; the judge's rules know the same
value in another form (expected_rules.py).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from binlogkit.errors import UsageError
from binlogkit.frames.fields.rows import ROW

Record = dict[str, Any]

_IMAGES = {"insert": (False, True), "update": (True, True), "delete": (True, False)}
_KEYS = {field.name for field in ROW} | {"file"}  # what is compared, and whose log it is
_DEBEZIUM = {"c": "insert", "u": "update", "d": "delete"}
_DEBEZIUM_OTHERS = ("r", "t", "m")  # read by a snapshot, TRUNCATE, a message


def least(lines: Iterable[bytes | str]) -> Iterator[Record]:
    """Rows of the least form; keys that no row has are left out. UsageError: a line is none; it
    names the line and the key."""
    for number, record in _objects(lines, tombstones=False):
        for key in ("pos", "inner", "row"):
            said = record.get(key)
            if not isinstance(said, int | None) or isinstance(said, bool):
                raise UsageError(f"line {number} is no row: {key} is no integer")
        yield _row(number, {key: value for key, value in record.items() if key in _KEYS})


def debezium(lines: Iterable[bytes | str]) -> Iterator[Record]:
    """Values of Debezium's change events, with their schema beside them or without.

    An update that changes the primary key is two events of one place in the log, a delete and a
    create, and one row here.
    """
    gone: tuple[Any, Record] | None = None  # a deleted row, and its place
    for place, row in _debezium(lines):
        if gone is not None and row["op"] == "insert" and place is not None and place == gone[0]:
            yield row | {"op": "update", "before": gone[1]["before"]}
            gone = None
            continue
        if gone is not None:
            yield gone[1]
        gone = (place, row) if row["op"] == "delete" else None
        if gone is None:
            yield row
    if gone is not None:
        yield gone[1]


def _debezium(lines: Iterable[bytes | str]) -> Iterator[tuple[Any, Record]]:
    """Each event that is a row, with its place; None where it has none."""
    for number, record in _objects(lines):
        value = record.get("payload", record)
        if value is None or (isinstance(value, dict) and "op" not in value):
            continue  # a tombstone; a change of the schema, or a transaction's begin or end
        if not isinstance(value, dict) or not isinstance(value.get("source"), dict):
            raise UsageError(f"line {number} is no event of Debezium: it has no source")
        op, source = str(value["op"]), value["source"]
        if op in _DEBEZIUM_OTHERS:
            continue
        row = {
            "db": source.get("db"),
            "table": source.get("table"),
            "op": _DEBEZIUM.get(op, op),
            "before": value.get("before"),
            "after": value.get("after"),
        }
        place = tuple(source.get(name) for name in ("server_id", "file", "pos", "row", "table"))
        yield (None if None in place else place), _row(number, row)


def maxwell(lines: Iterable[bytes | str]) -> Iterator[Record]:
    """Maxwell's messages; of an update ``old`` has the columns that changed, as they were."""
    for number, record in _objects(lines):
        kind = record.get("type")
        if not isinstance(kind, str):
            raise UsageError(f"line {number} is no message of Maxwell: it has no type")
        if kind in _IMAGES:
            yield _changed(number, record, kind, record.get("data"), record.get("old"))


def canal(lines: Iterable[bytes | str]) -> Iterator[Record]:
    """canal's flat messages, of which each may have several rows, each with its ``old``."""
    for number, record in _objects(lines):
        kind = record.get("type")
        if not isinstance(kind, str):
            raise UsageError(f"line {number} is no message of canal: it has no type")
        if record.get("isDdl") or kind.lower() not in _IMAGES:
            continue
        rows, olds = record.get("data"), record.get("old")
        if rows is None and record.get("sql"):
            continue  # a statement that is logged as text
        if not isinstance(rows, list) or (olds is not None and not isinstance(olds, list)):
            raise UsageError(f"line {number} is no message of canal: data and old are lists")
        if olds is not None and len(olds) != len(rows):
            raise UsageError(f"line {number} is no message of canal: old is not as long as data")
        for data, old in zip(rows, olds or [None] * len(rows), strict=True):
            yield _changed(number, record, kind.lower(), data, old)


FORMATS: Mapping[str, Callable[[Iterable[bytes | str]], Iterator[Record]]] = {
    "rows": least,
    "debezium": debezium,
    "maxwell": maxwell,
    "canal": canal,
}


def _changed(number: int, record: Record, op: str, data: Any, old: Any) -> Record:
    """A row of which an update has the new image, and the old values of what changed."""
    if not isinstance(data, dict) or (op == "update" and not isinstance(old or {}, dict)):
        raise UsageError(f"line {number} is no {op}: data or old")
    before = {"insert": None, "delete": data, "update": data | (old or {})}[op]
    after = None if op == "delete" else data
    row = {"db": record.get("database"), "table": record.get("table"), "op": op}
    return _row(number, row | {"before": before, "after": after})


def _row(number: int, record: Record) -> Record:
    """A record that is a row. UsageError: it is none."""
    for key in ("db", "table", "op"):
        if not isinstance(record.get(key), str):
            raise UsageError(f"line {number} is no row: it has no {key}")
    if record["op"] not in _IMAGES:
        raise UsageError(f"line {number} is no row: op is none of {', '.join(_IMAGES)}")
    for which, there in zip(("before", "after"), _IMAGES[record["op"]], strict=True):
        image = record.setdefault(which, None)
        if there and not isinstance(image, dict):
            raise UsageError(f"line {number} is no {record['op']}: {which} is no object of columns")
        if not there and image is not None:
            raise UsageError(f"line {number} is no {record['op']}, which has no {which}")
    return record


def _objects(
    lines: Iterable[bytes | str], *, tombstones: bool = True
) -> Iterator[tuple[int, Record]]:
    """Objects with their lines' numbers; where there may be tombstones a null is skipped."""
    for number, record in json_values(lines, parse_int=_whole):
        if record is None and tombstones:
            continue
        if not isinstance(record, dict):
            raise UsageError(f"line {number} is no row: not an object")
        yield number, record


def json_values(
    lines: Iterable[bytes | str], called: str = "line", **reading: Any
) -> Iterator[tuple[int, Any]]:
    """The lines' values with the lines' numbers, from 1; empty lines have none.

    ``reading``: as for ``json.loads``. UsageError: a line is no JSON.
    """
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line, **reading)
        except (ValueError, RecursionError) as exc:
            raise UsageError(f"{called} {number} is no JSON") from exc
        yield number, value


def _whole(digits: str) -> int | float:
    """A JSON number without a fraction; -0 keeps its sign, which no integer has."""
    return -0.0 if digits == "-0" else int(digits)
