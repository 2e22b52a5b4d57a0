"""The tables of table maps: resolved once, as they were when the map was written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

import binlogkit as bk
from binlogkit.constants import EventType as T
from binlogkit.events.reader import EventParser
from binlogkit.rows import slots
from binlogkit.rows.reading import Reading
from binlogkit.rows.slots import table_name
from binlogkit.rows.table_history import TableHistory
from binlogkit.rows.window import Window
from binlogkit.sources.raw import RawEvent
from tests.fuzz.binlogkit_fuzz import framing, seeds

LOG = seeds.logs()["8.0-row-full/transactions/binlog.000001"]
DDL = seeds.logs()["5.7-row-full/ddl/binlog.000001"]
Parts = list[framing.Part]


def changed(data: bytes, change: Callable[[Parts], None]) -> bytes:
    pieces = framing.split(data)
    parts = list(pieces.parts)
    change(parts)
    return framing.join(replace(pieces, parts=parts))


def maps_of(parts: Parts) -> list[int]:
    return [i for i, part in enumerate(parts) if part.code == T.TABLE_MAP_EVENT]


def rows_of(parts: Parts) -> list[int]:
    return [i for i, part in enumerate(parts) if part.code in seeds.ROWS]


def query(sql: str) -> framing.Part:
    body = bytes(8) + b"\4\0\0\0\0bank\0" + sql.encode()
    return framing.Part(0, int(T.QUERY_EVENT), 1, 0, body)


def windows(data: bytes) -> Iterator[tuple[Reading, Window]]:
    reading = bk.open(data, on_damage="report").reading()
    for window in reading.windows():
        if window.stretch is not None:
            yield reading, window


def tables(data: bytes) -> list[tuple[str, str, int] | None]:
    """The (db, table, version) of each rows event."""
    found: list[tuple[str, str, int] | None] = []
    for _, window in windows(data):
        assert window.stretch is not None
        for code, slot in window.stretch.entries[["type", "slot"]].tolist():
            if code in seeds.ROWS:
                schema = window.schemas[slot] if slot >= 0 else None
                found.append(schema and (*schema.name, schema.version))
    return found


def damages(data: bytes) -> list[str]:
    return [str(error) for _, window in windows(data) for _, error in window.damages]


def test_a_map_is_resolved_once(monkeypatch: pytest.MonkeyPatch) -> None:
    resolved: list[tuple[str, str]] = []
    schema = TableHistory.schema

    def counted(history: TableHistory, table_map: object, *place: object) -> object:
        resolved.append((table_map.db, table_map.table))  # type: ignore[attr-defined]
        return schema(history, table_map, *place)  # type: ignore[arg-type]

    monkeypatch.setattr(TableHistory, "schema", counted)
    assert len(tables(LOG)) > 2 * len(resolved) > 2 * len(set(resolved)) > 2


def test_a_change_of_tables_gives_maps_that_come_a_new_slot() -> None:
    before = tables(LOG)
    table = next(name for name in before if name is not None)[:2]

    def change(parts: Parts) -> None:
        ours = [i for i in maps_of(parts) if f"{table[1]}\0".encode() in parts[i].body]
        parts.insert(ours[-1] - 1, query(f"ALTER TABLE {table[1]} RENAME COLUMN id TO another"))

    after = tables(changed(LOG, change))
    assert len(after) == len(before)
    assert {name for name in after if name and name[:2] == table} == {(*table, 0), (*table, 1)}


def test_rows_keep_the_table_of_their_map() -> None:
    """Their map stands before the change, which is written between both."""

    def change(parts: Parts) -> None:
        for k in (9, 5, 2):
            at = rows_of(parts)[k]
            parts.insert(at, query("ALTER TABLE account ADD COLUMN x INT, ADD COLUMN y INT"))

    assert [name and name[:2] for name in tables(changed(LOG, change))] == [
        name and name[:2] for name in tables(LOG)
    ]
    assert damages(changed(LOG, change)) == []


def test_slots_of_maps_that_nothing_asks_for_are_given_up() -> None:
    """However often tables change: as many are kept as table ids stand for one."""
    most = 0
    for reading, window in windows(DDL):
        most = max(most, len(window.schemas))
        assert len(reading.scanner.maps.ids()) <= len(window.schemas)
    assert (
        1 < most < len([1 for part in framing.split(DDL).parts if part.code == T.TABLE_MAP_EVENT])
    )


def test_a_map_that_cannot_be_read_is_reported_wherever_it_comes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name: dict[int, int] = {}

    def change(parts: Parts) -> None:
        body = parts[maps_of(parts)[0]].body
        for i in maps_of(parts):
            if parts[i].body[6:] == body[6:]:
                parts[i] = replace(parts[i], body=body[:20])
                name[i] = 1

    data = changed(LOG, change)
    assert len(damages(data)) == len(name) > 2
    assert all(" in field " in damage for damage in damages(data))
    parsed: list[int] = []
    parse = EventParser.parse

    def noted(parser: EventParser, raw: RawEvent) -> Any:
        parsed.append(raw.pos)
        return parse(parser, raw)

    monkeypatch.setattr(EventParser, "parse", noted)
    tables(LOG)
    assert len(parsed) < len(framing.split(LOG).parts) // 2  # of an intact log few are


def test_limits_of_tables_are_reported_wherever_they_come(monkeypatch: pytest.MonkeyPatch) -> None:
    wide = 0
    for _, window in windows(LOG):
        assert window.stretch is not None
        for code, slot in window.stretch.entries[["type", "slot"]].tolist():
            schema = window.schemas[slot] if code == T.TABLE_MAP_EVENT else None
            wide += schema is not None and len(schema.columns) > 2
    monkeypatch.setenv("BINLOGKIT_LIMIT_COLUMNS", "2")
    found = damages(LOG)
    assert len(found) == wide > 20
    assert all("BINLOGKIT_LIMIT_COLUMNS" in damage for damage in found)


def test_rows_without_a_map_are_reported_once_for_each_id() -> None:
    def change(parts: Parts) -> None:
        for k, i in enumerate(rows_of(parts)[:9]):
            number = (1 << 40) + k % 3
            parts[i] = replace(parts[i], body=number.to_bytes(6, "little") + parts[i].body[6:])

    found = damages(changed(LOG, change))
    assert len(found) == 3
    assert all("no TABLE_MAP_EVENT for table id 10995116277" in damage for damage in found)


def early(parts: Parts) -> None:
    """Maps as servers before 5.1.4 wrote them: without the columns' NULL bits."""
    for i in maps_of(parts):
        body = parts[i].body
        at = 8
        for _ in range(2):
            at += body[at] + 2
        count = body[at]
        at += 1 + count
        parts[i] = replace(parts[i], body=body[: at + 1 + body[at]])


def test_maps_of_before_5_1_4_are_reported_once_for_each_id() -> None:
    data = changed(LOG, early)
    ids = {part.body[:6] for part in framing.split(LOG).parts if part.code == T.TABLE_MAP_EVENT}
    found = damages(data)
    assert all("needs" in damage or "before 5.1.18" in damage for damage in found)
    assert sum("before 5.1.18" in damage for damage in found) in (0, len(ids))
    assert set(tables(data)) == {None}


def test_a_name_is_read_of_any_map() -> None:
    names = set()
    for _, window in windows(LOG):
        stretch = window.stretch
        assert stretch is not None
        maps = stretch.entries[stretch.entries["type"] == T.TABLE_MAP_EVENT]
        for slot in set(maps["slot"].tolist()):
            names.add(table_name(stretch, slot))
            schema = window.schemas[slot]
            assert schema is not None and table_name(stretch, slot) == schema.name
    assert names == set(bk.open(LOG).table_pairs())


@pytest.mark.parametrize(("left", "name"), [(10, ("", "")), (13, ("bank", "")), (9, ("", ""))])
def test_a_name_of_a_map_that_is_cut(left: int, name: tuple[str, str]) -> None:
    def change(parts: Parts) -> None:
        for i in maps_of(parts):
            parts[i] = replace(parts[i], body=parts[i].body[:left])

    for _, window in windows(changed(LOG, change)):
        assert window.stretch is not None
        for slot in {s for s in window.stretch.entries["slot"].tolist() if s >= 0}:
            assert window.schemas[slot] is None
            if (window.stretch.entries["slot"] == slot).any():
                assert table_name(window.stretch, slot) == name


def test_the_id_that_stands_for_no_table() -> None:
    assert slots.DUMMY_TABLE_ID == 0xFFFFFF
    number = slots.DUMMY_TABLE_ID.to_bytes(6, "little")

    def change(parts: Parts) -> None:
        at = rows_of(parts)[3]
        parts.insert(at + 1, replace(parts[at], body=number + b"\1\0\2\0\0"))

    assert damages(changed(LOG, change)) == []
