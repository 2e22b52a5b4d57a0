"""A decoder's events and rows against the expected ones of a golden log: every key of every record.

The expected lines (``events.jsonl``, ``rows.jsonl``) are proved by others than the decoder under
test, so nothing is left open: what a record says otherwise is a difference, with the bytes that the
log has there; and no mysqlbinlog is needed.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from binlogkit.analyses.conformance.aligned import AlignedStep, Features, aligned
from binlogkit.analyses.conformance.cell import ColumnFacts, TableVersions
from binlogkit.analyses.conformance.expected_cell import ExpectedCell
from binlogkit.analyses.conformance.expected_rules import explain_expected
from binlogkit.analyses.conformance.one_sided import Neighbours, OneSided
from binlogkit.analyses.conformance.our_records import Key, Record, key_of
from binlogkit.analyses.conformance.result import ConformanceResult, Differences
from binlogkit.analyses.conformance.rule import (
    EVENT_RULES,
    Difference,
    Rule,
    difference,
    shown,
)
from binlogkit.rows.schema import TableSchema

#: What the expected lines have beside a record; a log's name and whose it is are not compared.
_BESIDE = {"raw", "integers", "file", "source"}
_IMAGES = ("before", "after")
_PLACES = ("pos", "inner", "row")
_KIND = ("db", "table", "op")
_FRACTION = re.compile(r"-?\d+\.\d+")
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
    judge = _Judge(findings, TableVersions(schemas), field_bytes)
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
    _Judge(findings, TableVersions(schemas), None).rows(rows, expected_rows)
    return findings.failing


class _Judge:
    def __init__(
        self, findings: Differences, tables: TableVersions, field_bytes: FieldBytes | None
    ) -> None:
        self._findings = findings
        self._report = findings.report
        self.tables = tables
        self.field_bytes = field_bytes
        self.compared = self.rows_compared = self.cells = 0
        self._named: dict[Any, set[str]] = {}
        self._at: Key = (-1, -1)
        self._stored: Mapping[str, str] = {}
        self._place: tuple[str, ...] = ()
        self._numbers: dict[int, int] = {}
        self._names: dict[tuple[str, ...], str] = {}  # db, table, a wrong name -> the column's

    # Events

    def events(self, ours: Iterable[Record], expected: Iterable[Record]) -> None:
        """Every event; a place and the type say which is which."""
        alone = Neighbours(self._findings, partial(self._alone, "event"), rows=False)
        for step in aligned(ours, expected, same=_same_event, features=_event_features):
            mine, wanted = step.mine, step.wanted
            if mine is None or wanted is None:
                alone.add(_one_sided(step))
                continue
            alone.end()
            if step.moved:
                self._moved(mine, wanted, "event")
            self.compared += 1
            flat, other = _flat("", wanted), _flat("", mine)
            names = self._named.setdefault(wanted["type"], set(other))
            for name in {**flat, **other}:
                if name in names or name in other:
                    have, want = other.get(name, _ABSENT), flat.get(name, _ABSENT)
                    if not _equal(have, want):
                        self._field(wanted, None, name, have, want)
        alone.end()

    def _field(self, wanted: Record, row: int | None, name: str, have: Any, want: Any) -> None:
        if name == "pos" and have == wanted.get("end_pos"):
            found = EVENT_RULES["end-as-position"].difference(name, have, want)
            self._report(key_of(wanted), row, found)
            return
        reason = f"the {'event' if row is None else 'row'}'s {name} is not the expected one"
        proof = f"expected {shown(_text(want))}{self._bytes(wanted, name)}"
        found = difference(name, _text(have), _text(want), reason, proof)
        self._report(key_of(wanted), row, found)

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
        """Every row; its values and, where the decoder says it, its place say which is which."""
        alone = Neighbours(self._findings, partial(self._alone, "row"))
        mine = self._numbered(ours)
        for step in aligned(mine, expected, same=self._same_row, features=self._row_features):
            number = self._numbers.pop(id(step.mine), 0)
            if step.mine is None or step.wanted is None:
                alone.add(_one_sided(step))
                continue
            alone.end()
            if step.moved:
                self._moved(step.mine, step.wanted, "row")
            self.rows_compared += 1
            self._row(step.mine, step.wanted, number)
        alone.end()

    def _row(self, mine: Record, wanted: Record, number: int) -> None:
        names = self._named.setdefault("", set(mine))
        for name in {**wanted, **mine}:
            if name in _BESIDE or name in _IMAGES or not (name in names or name in mine):
                continue
            have, want = mine.get(name, _ABSENT), wanted.get(name, _ABSENT)
            # Numbers that go on after a lost row are that row's difference, not their own.
            if not _equal(have, want) and not (name == "row" and have == number):
                self._field(wanted, wanted["row"], name, have, want)
        columns = self._columns(wanted)
        for which in _IMAGES:
            self._image(mine, wanted, which, columns)

    def _numbered(self, ours: Iterable[Record]) -> Iterator[Record]:
        """The decoder's rows; of each is kept how many of its event were given before."""
        last, number = None, 0
        for mine in ours:
            event = mine.get("pos"), mine.get("inner")
            last, number = event, number + 1 if event == last else 0
            self._numbers[id(mine)] = number
            yield mine

    def _same_row(self, mine: Record, wanted: Record) -> bool:
        """The same place, as far as the decoder says it, and values that differ by rules only."""
        if "" not in self._named:
            self._named[""] = set(mine)
            self._place = tuple(name for name in _PLACES if name in mine)
        if any(name in mine and mine[name] != wanted[name] for name in _PLACES):
            return False
        if any(mine.get(name) != wanted[name] for name in _KIND):
            return False
        columns: Mapping[str, ColumnFacts] | None = None
        for which in _IMAGES:
            have, want = mine.get(which), wanted[which]
            if have == want:
                continue
            if have is None or want is None:
                return False
            columns = self._columns(wanted, use=False) if columns is None else columns
            have = _named(have, want, columns)
            if any(name not in have and name in want for name in want):
                return False
            if any(
                value is not None
                if name not in want
                else not _equal(value, want[name])
                and self._rule(value, want[name], wanted["raw"][which][name], name, columns) is None
                for name, value in have.items()
            ):
                return False
        return True

    def _row_features(self, row: Record) -> Features:
        place = tuple(row.get(name) for name in self._place)
        values: Counter[Hashable] = Counter(
            _plain(value) for which in _IMAGES for value in (row.get(which) or {}).values()
        )
        kind = tuple(str(row.get(name)) for name in _KIND)
        return Features(place if "pos" in self._place else None, kind, values)

    def _columns(self, wanted: Record, *, use: bool = True) -> Mapping[str, ColumnFacts]:
        """The columns of the table's version that is likely; ``use``: from here on."""
        names = [name for which in _IMAGES for name in wanted[which] or ()]
        for facts in self.tables.candidates(wanted["db"], wanted["table"], names)[:1]:
            if use:
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
        have = self._renamed(wanted, which, _named(have, want, columns), columns)
        raw = wanted["raw"][which]
        for name in {**want, **have}:
            self.cells += name in want
            if name not in want:
                self._invented(wanted, name, have[name])
            elif name not in have:
                self._field(wanted, wanted["row"], name, _ABSENT, want[name])
            elif not _equal(have[name], want[name]):
                self._cell(wanted, have[name], want[name], raw[name], name, columns)

    def _renamed(
        self, wanted: Record, which: str, have: Any,
        columns: Mapping[str, ColumnFacts],
    ) -> Any:  # fmt: skip
        """The image with the log's names for columns that the decoder calls otherwise.

        A wrong name is one difference, where it stands first: as many columns have no name of the
        log as lack, and their values are the same, or the name is known by then.
        """
        want, raw = wanted[which], wanted["raw"][which]
        table = wanted["db"], wanted["table"]
        lacking = [name for name in want if name not in have]
        unknown = [name for name in have if name not in want]
        if not unknown or len(unknown) != len(lacking):
            return have
        right = dict(zip(unknown, lacking, strict=True))
        for name, known in right.items():
            if (
                self._names.get((*table, name)) != known
                and not _equal(have[name], want[known])
                and (self._rule(have[name], want[known], raw[known], known, columns) is None)
            ):
                return have
        for name, known in right.items():
            if self._names.setdefault((*table, name), "") != known:
                self._names[(*table, name)] = known
                reason, proof = "the log calls this column otherwise", f"expected {shown(known)}"
                found = difference(name, name, known, reason, proof + self._bytes(wanted, known))
                self._report(key_of(wanted), wanted["row"], found)
        return {right.get(name, name): value for name, value in have.items()}

    def _rule(
        self, have: Any, want: Any, raw: str | None, name: str, columns: Mapping[str, ColumnFacts]
    ) -> Rule | None:
        content = None if raw is None else bytes.fromhex(raw[2:])
        column = columns.get(name, ColumnFacts(name))
        return explain_expected(ExpectedCell(have, want, content, column))

    def _cell(
        self, wanted: Record, have: Any, want: Any, raw: str | None, name: str,
        columns: Mapping[str, ColumnFacts],
    ) -> None:  # fmt: skip
        rule = self._rule(have, want, raw, name, columns)
        stored = f"expected {shown(_text(want))}; the log stores {shown(raw or 'NULL')}"
        sides = name, _text(have), _text(want)
        found = (
            difference(*sides, "other value", stored)
            if rule is None
            else rule.proved(*sides, stored)
        )
        self._report(key_of(wanted), wanted["row"], found)

    def _invented(self, wanted: Record, name: str, value: Any) -> None:
        if value is None:
            found = EVENT_RULES["absent-as-null"].difference(name, "NULL", None, "no column")
            self._report(key_of(wanted), wanted["row"], found)
        else:
            self._field(wanted, wanted["row"], name, value, _ABSENT)

    # Both

    def _moved(self, mine: Record, wanted: Record, what: str) -> None:
        reason = f"ours gives this {what} elsewhere in the order of the log"
        said = _called(wanted)
        found = difference(None, _called(mine), said, reason, f"expected {shown(said)} here")
        self._report(key_of(wanted), wanted.get("row"), found)

    def _alone(self, what: str, found: OneSided) -> Difference:
        """Records in a row that only one side has."""
        many, said = found.count > 1, found.called(what)
        if not found.lacking:
            reason = f"the log has no such {what}{'s' * many} here"
            return difference(None, said, None, reason, "expected nothing")
        reason = f"ours lacks {f'these {what}s' if many else f'this {what}'}"
        assert found.record is not None
        proof = f"expected {shown(said)}"
        if what == "event":
            proof += self._bytes(found.record, "")
        else:
            cells = json.dumps(found.record["raw"], ensure_ascii=False)
            proof += f"; the log stores {shown(cells)}"
        return difference(None, None, said, reason, proof)


def _one_sided(step: AlignedStep) -> OneSided:
    """A record that only one side has."""
    record = step.wanted if step.mine is None else step.mine
    assert record is not None
    name, placed = _called(record), isinstance(record.get("pos"), int)
    last = f"{name} at {record['pos']}" if placed else name
    key = key_of(record) if placed else (-1, -1)
    return OneSided(step.mine is None, key, record.get("row"), name, last, record)


def _called(record: Record) -> str:
    if "op" in record:
        return f"{record['op']} in {record.get('db')}.{record.get('table')}"
    return str(record.get("type"))


def _same_event(mine: Record, wanted: Record) -> bool:
    return key_of(mine) == key_of(wanted) and mine.get("type") == wanted["type"]


def _event_features(event: Record) -> Features:
    place = {name: event.get(name) for name in ("pos", "inner")}
    flat = {name: value for name, value in _flat("", event).items() if name not in place}
    values: Counter[Hashable] = Counter((name, _plain(value)) for name, value in flat.items())
    return Features(tuple(place.values()), event.get("type"), values)


def _plain(value: Any) -> Hashable:
    """A value, a number also where it is text, so that forms of one value are alike."""
    if isinstance(value, (dict, list)):
        return json.dumps(value, sort_keys=True)
    if value is None or isinstance(value, bool):
        return value
    text = repr(value) if isinstance(value, float) else str(value)
    return text.rstrip("0").rstrip(".") if _FRACTION.fullmatch(text) else text


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
