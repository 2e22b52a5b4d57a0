"""Stretches: where their events stood, their bytes, the statements that their rows came from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import binlogkit as bk
from binlogkit.rows.window import ENTRIES, TRANSACTIONS, Stretch
from binlogkit.sources import chunks
from tests.fuzz.binlogkit_fuzz import framing, seeds
from tests.rows.window_checks import by_reference

LOG = seeds.logs()["8.0-row-rows-query/transactions/binlog.000001"]
PAYLOADS = seeds.logs()["8.0-row-compressed/transactions/binlog.000001"]
PLAIN = seeds.logs()["8.0-row-no-checksum/keys/binlog.000001"]
BROKEN = LOG[:3000] + b"?" + LOG[3001:]
SOURCES = {"file": LOG, "payloads": PAYLOADS, "plain": PLAIN, "packs": BROKEN, "text": LOG[4:]}


def stretches(data: bytes) -> Iterator[Stretch]:
    for window in bk.open(data, on_damage="report").reading().windows():
        if window.stretch is not None:
            yield window.stretch


@pytest.mark.parametrize("name", SOURCES)
def test_events_are_where_they_stood(name: str) -> None:
    raws = [event.raw for event in by_reference(bk.open(SOURCES[name], on_damage="report")).events]
    met = 0
    for stretch in stretches(SOURCES[name]):
        for i in range(len(stretch.entries)):
            raw = raws[stretch.ordinal + i]
            inner = -1 if raw.inner is None else raw.inner
            place = (stretch.positions[i], stretch.ends[i], stretch.inners[i], stretch.sizes[i])
            assert place == (raw.pos, raw.end_pos, inner, raw.header.size)
            if raw.header.type_code != 15:
                assert stretch.raw(i, raw.file) == raw
                assert stretch.body(i) == raw.body
            met += 1
    assert met == len(raws)


def test_bytes_that_are_kept_outlive_the_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "SIZE", 4000)
    for copied in (1 << 20, 0):
        monkeypatch.setattr("binlogkit.rows.window._COPIED", copied)
        kept = []
        for stretch in stretches(LOG):
            expected = [stretch.body(i) for i in range(len(stretch.entries))]
            stretch.keep()
            kept.append((stretch, expected))
        assert len(kept) > 5
        for stretch, expected in kept:
            assert [stretch.body(i) for i in range(len(stretch.entries))] == expected
            stretch.let_go()


def statements(data: bytes) -> list[str | None]:
    """The original statement of each rows event."""
    query, tx, found = None, -1, []
    for stretch in stretches(data):
        changes = dict(stretch.queries(query, tx))
        for i, code in enumerate(stretch.entries["type"].tolist()):
            query = changes.get(i, query)
            if code in seeds.ROWS:
                found.append(query)
        query = changes.get(len(stretch.entries), query)
        tx = int(stretch.entries["tx"][-1])
    return found


@pytest.mark.parametrize("size", [200, 1 << 20])
@pytest.mark.parametrize("name", ["file", "plain", "packs"])
def test_the_statements_of_rows(name: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "SIZE", size)
    from tests.reference.binlogkit_reference import Walk

    log = bk.open(SOURCES[name], on_damage="report")
    expected = [
        step.query for step in Walk(log.carriers, log.options)
        if step.event.raw.header.type_code in seeds.ROWS
    ]  # fmt: skip
    assert statements(SOURCES[name]) == expected
    assert (name == "plain") == (set(expected) == {None})


def test_rows_too_short_to_say_that_they_end_a_statement() -> None:
    """Nothing behind the event is taken for its flags, at the log's end neither."""
    pieces = framing.split(LOG)
    at = next(i for i, part in enumerate(pieces.parts) if part.code in seeds.ROWS)
    for left in range(8):
        short = framing.Part(0, pieces.parts[at].code, 1, 0, pieces.parts[at].body[:left])
        for behind in (pieces.parts[at + 1 :], []):
            parts = [*pieces.parts[:at], short, *behind]
            data = framing.join(framing.Pieces(parts))
            log = bk.open(data, on_damage="report")
            assert sum(b.batch.num_rows for b in log.batches()) < len(statements(LOG)) * 9
            assert len(statements(data)) == sum(part.code in seeds.ROWS for part in parts)


def test_the_kernels_records() -> None:
    assert ENTRIES.itemsize == 40 and TRANSACTIONS.itemsize % 8 == 0
    assert np.zeros(1, ENTRIES).tolist() == [(0,) * 10]


def test_a_window_knows_its_log(tmp_path: Path) -> None:
    paths = [tmp_path / f"binlog.{i:06}" for i in (1, 2)]
    for path in paths:
        path.write_bytes(PLAIN)
    windows = list(bk.open([str(path) for path in paths]).reading().windows())
    assert {(w.carrier.name, w.first, w.last) for w in windows} == {
        (str(paths[0]), True, False),
        (str(paths[1]), False, True),
    }
    assert [w.carrier.name for w in windows if w.ends] == [str(path) for path in paths]
    assert {w.server_version for w in windows if w.stretch} == {"8.0.31"}
