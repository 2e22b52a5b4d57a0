"""Every byte of every event of every log is explained once, as the records and the header say."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest

import binlogkit as bk
from binlogkit.constants import CHECKSUM_LENGTH, EventType
from binlogkit.events.explain.walk import EventWalk
from binlogkit.frames.event_records import explain_records

Log = Any  # of conftest.py, which is no module to import
# A leaf's meaning may stand in the name of the column or value above it.
TELLING = frozenset({"content"})
# Below these a part is named by its column.
CELLS = frozenset({"rows", "column_types", "metadata"})
NO_MAP = "no TABLE_MAP_EVENT"  # a relay log may begin inside a statement: sound, and not to be read


def covered(walk: EventWalk) -> None:
    """The leaves tile the event; each of them says something."""
    at = 0
    for leaf in walk.root.leaves():
        assert leaf.start == at <= leaf.end, (walk.root.field, leaf)
        at = leaf.end
        assert leaf.meaning or leaf.details or leaf.field in TELLING, (walk.root.field, leaf)
    assert at == len(walk.data) == walk.raw.header.size
    for _, part in walk.root.walk():
        if part.parts:
            assert (part.start, part.end) == (part.parts[0].start, part.parts[-1].end), part


@pytest.mark.sampled(5, 24)
def test_every_byte_once(log: Log) -> None:
    explained = bk.explain(log.path, on_damage="report").events
    opened = bk.open(log.path, on_damage="report")
    events = {(event["pos"], event["inner"]): event for event in opened.event_records()}
    rows = defaultdict(list)
    for row in opened.row_records():
        rows[row["pos"], row["inner"]].append((row["before"], row["after"]))
    stored = b"\xfebin"
    for walk in explained:
        place = (walk.raw.pos, walk.raw.inner)
        covered(walk)
        stored += walk.data if walk.raw.inner is None else b""
        if not walk.problems:
            read_whole(walk, mariadb="mariadb" in log.name or "mdev" in log.name)
            same_fields(walk, events[place])
            same_rows(walk, rows.get(place))
    assert stored == log.path.read_bytes()
    broken = {
        walk.raw.pos for walk in explained if any(not p.startswith(NO_MAP) for p in walk.problems)
    }
    assert broken == {offset for _, offset, _, _ in log.errors}


def read_whole(walk: EventWalk, *, mariadb: bool) -> None:
    """Nothing of a sound event is left over; MariaDB writes more than MySQL does, and MySQL a
    second checksum in INCIDENT (docs/document-errors.md)."""
    twice = walk.raw.header.type_code == EventType.INCIDENT_EVENT
    for _, part in walk.root.walk():
        assert part.field != "rest" and not part.problem, part
        more = mariadb or (twice and part.end - part.start == CHECKSUM_LENGTH)
        assert part.field != "unread" or more, part


def same_fields(walk: EventWalk, event: Any) -> None:
    """A field of the event's record that stands in the walk once has the same value there."""
    leaves = defaultdict(list)
    for part in explain_records(walk):
        if part["raw"] is not None and not CELLS.intersection(part["path"]):
            told = part["raw"] if part["field"] == "unread" else part["value"]
            leaves[part["field"]].append(told)
    for name, key in (("timestamp", "timestamp"), ("server_id", "server_id")):
        assert leaves[name][0] == event[key]
    assert leaves["event_size"] == [event["size"]]
    for name, value in event["fields"].items():
        if len(leaves[name]) == 1 and isinstance(value, int | str) and name != "value":
            assert leaves[name] == [value], (event["type"], name)


def same_rows(walk: EventWalk, wanted: Any) -> None:
    """The cells of each image are those of the row records."""
    if wanted is None:
        return
    rows = walk.root.find("rows")
    assert rows is not None and len(rows.parts) == len(wanted)
    for row, images in zip(rows.parts, wanted, strict=True):
        for name, record in zip(("before", "after"), images, strict=True):
            image = next((part for part in row.parts if part.field == name), None)
            assert (image is None) == (record is None)
            if image is not None:
                compare(image_of(image), record)


def image_of(part: Any) -> dict[str, Any]:
    """An image's cells by their column's name."""
    return {cell.field: cell for cell in part.parts[1:]}


def compare(image: dict[str, Any], record: Any) -> None:
    """An image, cell by cell; diffs are applied in the row's record where that can be done."""
    assert list(image) == list(record)
    for name, cell in image.items():
        value = cell.value
        if isinstance(value, list):
            continue
        if isinstance(value, bytes):
            value = "0x" + value.hex().upper()
        if cell.problem:
            assert record[name]["reason"] == cell.problem
        else:
            assert value == record[name], name
