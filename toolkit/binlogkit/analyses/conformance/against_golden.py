"""A decoder's events and rows against the expected ones of a golden log: every key of every record.

The expected lines (``events.jsonl``, ``rows.jsonl``) are proved by others than the decoder under
test, so nothing is left open: what a record says otherwise is a difference, with the bytes that the
log has there; and no mysqlbinlog is needed.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Generic, TypeVar

from binlogkit.analyses.conformance.cell import ColumnFacts, Tables
from binlogkit.analyses.conformance.expected_cell import ExpectedCell
from binlogkit.analyses.conformance.expected_rules import explain_expected
from binlogkit.analyses.conformance.our_records import Key, Record, key_of
from binlogkit.analyses.conformance.result import ConformanceResult, Differences
from binlogkit.analyses.conformance.rule import EVENT_RULES, Difference, Kind, shown
from binlogkit.rows.schema import TableSchema

_T = TypeVar("_T")

#: What the expected lines have beside a record; a log's name and whose it is are not compared.
_BESIDE = {"raw", "integers", "file", "source"}
_IMAGES = ("before", "after")
_AHEAD = 64
_PLACE = re.compile(r"@(\d{1,4})")

#: The bytes of an event's fields: (pos, inner) -> {field's name: "0x…"}, header's names as there.
FieldBytes = Callable[[int, int | None], Mapping[str, str]]
_HEADER_NAMES = {
    "type": "event_type", "code": "event_type", "size": "event_size", "end_pos": "event_size",
    "gtid": "gno",
}  # fmt: skip


def against_golden(
    events: Iterable[Record] | None,
    rows: Iterable[Record] | None,
    schemas: Iterable[TableSchema | Mapping[str, Any]],
    expected_events: Iterable[Record],
    expected_rows: Iterable[Record],
    *,
    file: str = "",
    baseline: Iterable[Mapping[str, Any]] = (),
    keep: int = 1000,
    decoder: str = "ours",
    field_bytes: FieldBytes | None = None,
) -> ConformanceResult:
    """Compare one log's records with its expected lines.

    ``events``, ``rows``, ``schemas``: as for :func:`against_mysqlbinlog`; rows without ``pos`` are
    compared in their order. A key that no record of a type has is neither reported nor compared;
    every other is; nor are columns' names where an image has but ``@1``, ``@2`` …
    ``expected_events``, ``expected_rows``: the lines of this log; ``decoder``: what the records'
    maker is called in the reasons; ``field_bytes``: the bytes of an event's fields, for the proofs.
    All is streamed.
    """
    findings = Differences(file, keep=keep, baseline=baseline, decoder=decoder)
    judge = _Judge(findings, Tables(schemas), field_bytes)
    if events is not None:
        judge.events(events, expected_events)
    if rows is not None:
        judge.rows(rows, expected_rows)
    return findings.result(
        events=judge.compared, rows=judge.rows_compared, cells=judge.cells,
        cells_by_bytes=judge.cells,
    )  # fmt: skip


def wrong_rows(
    rows: Iterable[Record],
    schemas: Iterable[TableSchema | Mapping[str, Any]],
    expected_rows: Iterable[Record],
    *,
    file: str = "",
    baseline: Iterable[Mapping[str, Any]] = (),
    decoder: str = "ours",
) -> list[dict[str, Any]]:
    """What is wrong with one log's rows: the differences of :func:`against_golden` that make it
    fail, as records of ``COLUMNS`` in the log's order, without an Arrow table of them."""
    findings = Differences(file, baseline=baseline, decoder=decoder)
    _Judge(findings, Tables(schemas), None).rows(rows, expected_rows)
    return findings.failing


class _Judge:
    def __init__(
        self, findings: Differences, tables: Tables, field_bytes: FieldBytes | None
    ) -> None:
        self._report = findings.report
        self.tables = tables
        self.field_bytes = field_bytes
        self.compared = self.rows_compared = self.cells = 0
        self._told: dict[Any, set[str]] = {}
        self._at: Key = (-1, -1)
        self._stored: Mapping[str, str] = {}

    # Events

    def events(self, ours: Iterable[Record], expected: Iterable[Record]) -> None:
        """Every event by its place."""
        for mine, wanted in paired(ours, expected, key_of):
            if mine is None or wanted is None:
                self._one_sided(mine, wanted, "event")
                continue
            self.compared += 1
            flat, other = _flat("", wanted), _flat("", mine)
            told = self._told.setdefault(wanted["type"], set(other))
            for name in {**flat, **other}:
                if name in told or name in other:
                    have, want = other.get(name, _ABSENT), flat.get(name, _ABSENT)
                    if not _equal(have, want):
                        self._field(wanted, None, name, have, want)

    def _field(self, wanted: Record, row: int | None, name: str, have: Any, want: Any) -> None:
        reason = f"the {'event' if row is None else 'row'}'s {name} is not the expected one"
        proof = f"expected {shown(_text(want))}{self._bytes(wanted, name)}"
        difference = Difference(
            Kind.UNEXPLAINED, "", name, shown(_text(have)), shown(_text(want)), reason, proof
        )
        self._report(key_of(wanted), row, difference)

    def _bytes(self, wanted: Record, name: str) -> str:
        """The bytes of a field, or the event's where the field is unknown."""
        if self.field_bytes is None:
            return ""
        key = key_of(wanted)
        if key != self._at:
            self._at, self._stored = key, self.field_bytes(key[0], wanted.get("inner"))
        found = self._stored
        last = name.rpartition(".")[2].partition("[")[0]
        wanted_name = name if name in found else _HEADER_NAMES.get(last, last)
        where = wanted_name if wanted_name in found else ""
        return f"; {where or 'the event'}: {shown(found.get(where, ''))}"

    # Rows

    def rows(self, ours: Iterable[Record], expected: Iterable[Record]) -> None:
        """Every row by its place; rows without one in their order."""
        for mine, wanted in paired(ours, expected, _row_key):
            if mine is None or wanted is None:
                self._one_sided(mine, wanted, "row")
                continue
            self.rows_compared += 1
            told = self._told.setdefault("", set(mine))
            for name in {**wanted, **mine}:
                if name in _BESIDE or name in _IMAGES or not (name in told or name in mine):
                    continue
                have, want = mine.get(name, _ABSENT), wanted.get(name, _ABSENT)
                if not _equal(have, want):
                    self._field(wanted, wanted["row"], name, have, want)
            columns = self._columns(wanted)
            for which in _IMAGES:
                self._image(mine, wanted, which, columns)

    def _columns(self, wanted: Record) -> Mapping[str, ColumnFacts]:
        names = [name for which in _IMAGES for name in wanted[which] or ()]
        for facts in self.tables.candidates(wanted["db"], wanted["table"], names)[:1]:
            self.tables.use(facts)
            return {column.name: column for column in facts.columns}
        return {}

    def _image(
        self, mine: Record, wanted: Record, which: str, columns: Mapping[str, ColumnFacts]
    ) -> None:
        have, want = mine.get(which), wanted[which]
        if have is None or want is None:
            if have is not want:
                self._field(wanted, wanted["row"], which, have, want)
            return
        have = _named(have, want, columns)
        raw = wanted["raw"][which]
        for name in {**want, **have}:
            self.cells += name in want
            if name not in want:
                self._invented(wanted, name, have[name])
            elif name not in have:
                self._field(wanted, wanted["row"], name, _ABSENT, want[name])
            elif not _equal(have[name], want[name]):
                column = columns.get(name, ColumnFacts(name))
                self._cell(wanted, have[name], want[name], raw[name], column)

    def _cell(self, wanted: Record, have: Any, want: Any, raw: str | None, column: Any) -> None:
        content = None if raw is None else bytes.fromhex(raw[2:])
        rule = explain_expected(ExpectedCell(have, want, content, column))
        stored = f"expected {shown(_text(want))}; the log stores {shown(raw or 'NULL')}"
        difference = Difference(
            Kind.UNEXPLAINED, "", column.name, shown(_text(have)), shown(_text(want)),
            "other value", stored,
        ) if rule is None else Difference(
            rule.kind, rule.id, column.name, shown(_text(have)), shown(_text(want)), rule.text,
            f"{stored}; rule {rule.id}: {rule.text} [{rule.source}]",
        )  # fmt: skip
        self._report(key_of(wanted), wanted["row"], difference)

    def _invented(self, wanted: Record, name: str, value: Any) -> None:
        if value is None:
            difference = EVENT_RULES["absent-as-null"].difference(name, "NULL", None, "no column")
            self._report(key_of(wanted), wanted["row"], difference)
        else:
            self._field(wanted, wanted["row"], name, value, _ABSENT)

    # Both

    def _one_sided(self, mine: Record | None, wanted: Record | None, what: str) -> None:
        record = wanted if mine is None else mine
        assert record is not None
        said = (
            record.get("type") or f"{record.get('op')} in {record.get('db')}.{record.get('table')}"
        )
        reason = f"ours lacks this {what}" if mine is None else f"the log has no such {what}"
        left, right = (None, str(said)) if mine is None else (str(said), None)
        proof = f"expected {shown(_text(said))}" if mine is None else "expected nothing"
        if mine is None and what == "event":
            proof += self._bytes(record, "")
        elif mine is None:
            cells = json.dumps(record["raw"], ensure_ascii=False)
            proof += f"; the log stores {shown(cells)}"
        difference = Difference(Kind.UNEXPLAINED, "", None, left, right, reason, proof)
        key = key_of(record) if isinstance(record.get("pos"), int) else (-1, -1)
        self._report(key, record.get("row"), difference)


def _named(image: Mapping[str, Any], wanted: Iterable[str], columns: Iterable[str]) -> Any:
    """An image whose columns are all ``@1``, ``@2`` … (without names) with their names.

    ``wanted``: the columns of the expected image in the table's order, ``columns``: the table's.
    """
    places = [_PLACE.fullmatch(name) for name in image]
    numbers = [int(place[1]) for place in places if place is not None]
    if len(numbers) < len(image):
        return image
    there = list(wanted)
    if len(there) == len(numbers):
        names = dict(zip(sorted(numbers), there, strict=True))
    else:
        names = dict(enumerate(columns, 1))
    return {names.get(n, f"@{n}"): v for n, v in zip(numbers, image.values(), strict=True)}


class _Absent:
    """What a record does not have."""

    def __repr__(self) -> str:
        return "(absent)"


_ABSENT = _Absent()


def _text(value: Any) -> Any:
    if value is None:
        return "null"
    return (
        value if isinstance(value, str) else repr(value) if value is _ABSENT else json.dumps(value)
    )


def _equal(have: Any, want: Any) -> bool:
    """Equal as JSON: 1 is not 1.0, 0 not -0, 1 not true."""
    if have is want:
        return True
    if type(have) is not type(want) or have is _ABSENT or want is _ABSENT:
        return False
    if isinstance(want, float):
        return repr(have) == repr(want)
    if isinstance(want, (dict, list)):
        return json.dumps(have, sort_keys=True) == json.dumps(want, sort_keys=True)
    return bool(have == want)


def _flat(prefix: str, value: Any) -> dict[str, Any]:
    """An event's record with one entry for each field; lists are whole."""
    if isinstance(value, Mapping):
        found: dict[str, Any] = {}
        for name, item in value.items():
            if prefix or name not in _BESIDE:
                found |= _flat(f"{prefix}.{name}" if prefix else name, item)
        return found
    return {prefix: value}


def _row_key(record: Record) -> tuple[int, ...] | None:
    if not isinstance(record.get("pos"), int) or not isinstance(record.get("row"), int):
        return None
    return (*key_of(record), record["row"])


def paired(
    ours: Iterable[_T], expected: Iterable[_T], key: Callable[[_T], tuple[int, ...] | None]
) -> Iterator[tuple[_T | None, _T | None]]:
    """Both in step by their keys; records without one, or out of order, by what follows them."""
    mine, wanted = _Ahead(ours), _Ahead(expected)
    while (have := mine.peek()) is not None and (want := wanted.peek()) is not None:
        left, right = key(have), key(want)
        if left is None or left == right:
            lost = _lost(mine, wanted) if left is None else 0
            for _ in range(max(lost, 0)):
                yield None, wanted.take()
            for _ in range(max(-lost, 0)):
                yield mine.take(), None
            yield mine.take(), wanted.take()
        elif right is not None and left < right:
            yield mine.take(), None
        else:
            yield None, wanted.take()
    while mine.peek() is not None:
        yield mine.take(), None
    while wanted.peek() is not None:
        yield None, wanted.take()


def _lost(mine: _Ahead[Any], wanted: _Ahead[Any]) -> int:
    """How many expected rows (positive) or own ones (negative) to skip until both are alike; 0
    where they are, or where nothing ahead makes them."""
    have, want = mine.peek(), wanted.peek()
    if have is None or want is None or _alike(have, want):
        return 0
    for distance in range(1, _AHEAD):
        later, other = wanted.peek(distance), mine.peek(distance)
        if later is not None and _alike(have, later):
            return distance
        if other is not None and _alike(other, want):
            return -distance
    return 0


def _alike(have: Record, want: Record) -> bool:
    """The same kind of change of the same table, and half of the cells the same."""
    if any(have.get(name) != want.get(name) for name in ("db", "table", "op")):
        return False
    cells = equal = 0
    for which in _IMAGES:
        images = have.get(which) or {}, want.get(which) or {}
        cells += len(images[1])
        equal += sum(n in images[0] and images[0][n] == v for n, v in images[1].items())
    return 2 * equal >= cells


class _Ahead(Generic[_T]):
    """Records, looked at before they are taken."""

    def __init__(self, records: Iterable[_T]) -> None:
        self._records = iter(records)
        self._held: deque[_T] = deque()

    def peek(self, distance: int = 0) -> _T | None:
        """The record ``distance`` ahead, None past the end."""
        while len(self._held) <= distance:
            record = next(self._records, None)
            if record is None:
                return None
            self._held.append(record)
        return self._held[distance]

    def take(self) -> _T:
        """Take the next; call :meth:`peek` first."""
        return self._held.popleft()
