"""``bk.explain``: which event is meant, how it is given, what is reported when there is none."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Any

import pytest

import binlogkit as bk
from binlogkit.errors import DamageError, UsageError
from binlogkit.rows.explain import images
from binlogkit_fixtures import golden

LOG = golden.case("8.0-row-full", "keys").binlogs[0]
PACKED = golden.case("8.0-row-compressed", "transactions").binlogs[0]


def records(path: Path) -> list[dict[str, Any]]:
    return list(bk.open(path).event_records())


def test_places() -> None:
    """The same event by each form of its position."""
    first = records(LOG)[2]
    pos = first["pos"]
    for at in (pos, str(pos), f"{LOG}:{pos}", f"{LOG.name}:{pos}", [pos]):
        (walk,) = bk.explain(LOG, at=at).events
        assert (walk.raw.pos, walk.root.field) == (pos, first["type"])
    assert bk.open(LOG).explain(pos).events[0].root == walk.root
    assert len(bk.explain(LOG, at=[4, pos]).events) == 2
    assert len(bk.explain(LOG).events) == len(records(LOG))


def test_inside_a_payload() -> None:
    """Each event of a payload by its number, and listed where the payload is explained."""
    inside = [event for event in records(PACKED) if event["inner"] is not None]
    last = inside[-1]
    pos = last["pos"]
    (outer,) = bk.explain(PACKED, at=pos).events
    payload = next(part for part in outer.root.leaves() if part.details)
    assert [(d.name, d.value) for d in payload.details] == [
        (f"{pos}/{event['inner']}", event["type"]) for event in inside if event["pos"] == pos
    ]
    for at in (f"{pos}/{last['inner']}", (pos, last["inner"])):
        (walk,) = bk.explain(PACKED, at=at).events
        assert walk.root.field == last["type"] and walk.raw.inner == last["inner"]
    with pytest.raises(UsageError, match=rf"{pos}/999: that at {pos} holds the events 0 to"):
        bk.explain(PACKED, at=f"{pos}/999")
    with pytest.raises(UsageError, match="holds no events"):
        bk.explain(PACKED, at="4/0")


@pytest.mark.parametrize(
    ("at", "told"),
    [
        (0, "the nearest start at 4"),
        (5, "it lies in FORMAT_DESCRIPTION_EVENT, 4 to 126, which are the nearest positions"),
        (1 << 40, "the nearest start at"),
        ("x", "not a position"),
        ("4/", "not a position"),
        ("other:4", "is not one of the logs read"),
    ],
)
def test_no_event_there(at: Any, told: str) -> None:
    with pytest.raises(UsageError, match=re.escape(told)):
        bk.explain(LOG, at=at)


def test_several_logs_need_a_name() -> None:
    with pytest.raises(UsageError, match=r"of which file\? Write FILE:4"):
        bk.explain([LOG, PACKED], at=4)
    (walk,) = bk.explain([LOG, PACKED], at=f"{PACKED}:4").events
    assert walk.raw.file == str(PACKED)


def test_a_log_or_a_text() -> None:
    for arguments in ({}, {"source": LOG, "text": "00"}):
        with pytest.raises(UsageError, match="give a log or a text"):
            bk.explain(**arguments)  # type: ignore[arg-type]


def test_an_open_log_is_read_as_it_was_opened() -> None:
    with pytest.raises(UsageError, match="as it was opened"):
        bk.explain(bk.open(LOG), at=4, charset="latin1")


@pytest.mark.parametrize("form", ["hex", "base64", "statement"])
def test_text(form: str) -> None:
    """What stands in a file stands in a text of its events, positions and checksums included."""
    data = LOG.read_bytes()
    chosen = [e for e in records(LOG) if e["type"] in ("FORMAT_DESCRIPTION_EVENT",)]
    rows = next(i for i, e in enumerate(records(LOG)) if e["type"] == "WRITE_ROWS_EVENT")
    chosen += records(LOG)[rows - 1 : rows + 1]
    pieces = [data[e["pos"] : e["end_pos"]] for e in chosen]
    lines = [p.hex(" ") if form == "hex" else base64.b64encode(p).decode() for p in pieces]
    text = "\n".join(lines)
    if form == "statement":
        text = f"some words\nBINLOG '\n{text}\n'/*!*/;\nothers"
    found = bk.explain(text=text).events
    wanted = bk.explain(LOG, at=[e["pos"] for e in chosen]).events
    assert [w.data for w in found] == [w.data for w in wanted] == pieces
    assert [w.raw.pos for w in found] == [w.raw.pos for w in wanted]
    cells = [{p.value for _, p in w.root.walk()} for w in (found[-1], wanted[-1])]
    assert cells[0] <= cells[1] | {"char"} or cells[0] == cells[1]


def test_names_from_a_schema_file(tmp_path: Path) -> None:
    path = tmp_path / "schema.sql"
    path.write_text("CREATE TABLE presentation.person (ID int primary key, name varchar(150));")
    text = (
        "32103568130100000044000000b002000000005f000000000001000c70726573656e746174696f6e00"
        "06706572736f6e0002030f025802020101000203fcff00fba8d0d8"
        "321035681e0100000031000000e102000000005f00000000000100020002ff0001000000"
        "07004d617263656c6f8e965c4f"
    )
    insert = bk.explain(text=text, schema=path).events[-1]
    row = insert.root.find("after")
    assert row is not None
    assert {part.field: part.value for part in row.parts[1:]} == {"ID": 1, "name": "Marcelo"}


def test_rows_without_their_table_map() -> None:
    """Told as a problem; all bytes are there."""
    event = next(e for e in records(LOG) if e["type"] == "WRITE_ROWS_EVENT")
    data = LOG.read_bytes()[event["pos"] : event["end_pos"]]
    explained = bk.explain(text=data.hex())
    assert "no TABLE_MAP_EVENT for table id" in explained.problems[0]
    assert explained.events[0].data == data


def damaged(at: int, value: int) -> bytes:
    data = bytearray(LOG.read_bytes())
    data[at] ^= value
    return bytes(data)


def test_a_wrong_checksum() -> None:
    """The event itself is explained; an event behind it only when damage is to be gone past."""
    events = records(LOG)
    hit, behind = events[3]["pos"], events[5]["pos"]
    log = damaged(hit + 25, 1)
    (walk,) = bk.explain(log, at=hit).events
    assert walk.raw.checksum == "bad"
    checksum = walk.root.find("checksum")
    assert checksum is not None and checksum.meaning.startswith("wrong: the CRC32")
    with pytest.raises(DamageError):
        bk.explain(log, at=behind)
    assert bk.explain(log, at=behind, on_damage="report").events[0].problems == []


def test_a_damaged_size() -> None:
    """What is no event is shown from the damage to the next sound event."""
    events = records(LOG)
    hit = events[3]
    log = damaged(hit["pos"] + 12, 0x40)  # the size is over 1 GiB now
    (walk,) = bk.explain(log, at=hit["pos"]).events
    assert walk.problems and walk.raw.header.timestamp == hit["timestamp"]
    assert log[hit["pos"] :].startswith(walk.data)
    with pytest.raises(UsageError, match="it lies in"):
        bk.explain(log, at=hit["pos"] + 1)


@pytest.mark.parametrize("kept", [1, 18, 19, 30, 60])
def test_a_cut_event(kept: int) -> None:
    event = next(e for e in records(LOG) if e["type"] == "QUERY_EVENT")
    log = LOG.read_bytes()[: event["pos"] + kept]
    (walk,) = bk.explain(log, at=event["pos"]).events
    assert walk.data == log[event["pos"] :]
    assert "ends" in walk.problems[0]
    assert walk.root.parts[0].field == "header"


def test_a_text_that_ends_inside_an_event() -> None:
    data = LOG.read_bytes()
    text = data[4:140].hex()  # the second event is cut
    with pytest.raises(DamageError, match="the bytes end 14 bytes into an event"):
        bk.explain(text=text)
    explained = bk.explain(text=text, on_damage="report")
    assert [walk.root.field for walk in explained.events] == [
        "FORMAT_DESCRIPTION_EVENT",
        "damaged event",
    ]
    assert "14 bytes into" in explained.problems[0]


def test_forms() -> None:
    explained = bk.explain(LOG, at=4)
    assert str(explained) == explained.text()
    assert explained.html().startswith("<!DOCTYPE html>")
    assert "<table>" in explained._repr_html_()
    whole = "".join(str(r["raw"])[2:] for r in explained.records() if r["raw"] is not None)
    assert bytes.fromhex(whole) == explained.events[0].data


def test_an_event_of_many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the limit rows are not taken apart, but no byte is left out."""
    whole = bk.explain(LOG).events
    walk = next(w for w in whole if (w.root.find("row 1")))
    monkeypatch.setattr(images, "MOST_CELLS", 1)
    (short,) = bk.explain(LOG, at=walk.raw.pos).events
    rows, all_rows = short.root.find("rows"), walk.root.find("rows")
    assert rows is not None and all_rows is not None
    assert [part.field for part in rows.parts] == ["row 0", "more rows"]
    assert (rows.parts[0].start, rows.parts[-1].end) == (all_rows.start, all_rows.end)
    assert short.notes and not short.problems


def test_an_encrypted_log() -> None:
    """Positions and bytes are those of the log inside."""
    folder = Path(__file__).parents[1] / "_encrypted" / "9-row-encrypted" / "keys"
    (walk,) = bk.explain(folder / "binlog.000001", at=4, keyring=folder / "keyring").events
    assert walk.root.field == "FORMAT_DESCRIPTION_EVENT" and walk.raw.checksum == "ok"
