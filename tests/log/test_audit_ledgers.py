"""The audit reads its ledgers in one walk; they are those that the log gives one by one."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import binlogkit as bk
from binlogkit.log.audit import SECTIONS
from binlogkit.log.ledgers import read_ledgers
from binlogkit.rows.soundness import Finding, Soundness
from binlogkit.rows.window import Window

DATA = Path(__file__).parents[1] / "_data"
LOGS = sorted(
    path
    for scenario in ("ddl", "keys", "transactions")
    for path in DATA.glob(f"8.0-*/{scenario}/binlog.000001")
)[::4]


@pytest.mark.sampled(2, 4)
@pytest.mark.filterwarnings("ignore::binlogkit.errors.UnmetWarning")  # not every log has the table
@pytest.mark.parametrize("on_damage", ["stop", "report"])
@pytest.mark.parametrize("broken", [False, True])
@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.parent.parent.name)
def test_one_walk_gives_what_three_do(on_damage: str, broken: bool, path: Path) -> None:
    data = bytearray(path.read_bytes())
    if broken:
        data[len(data) // 2] ^= 0x20
    for filters in ({}, {"stop_position": len(data) // 3}, {"table": "keyed.pk"}):
        log = bk.open(bytes(data), on_damage=on_damage)
        read = read_ledgers(log, log.carriers, **filters)
        tables = [read.transactions, read.statements, read.boundaries]
        alone = bk.open(bytes(data), on_damage=on_damage)
        expected = [
            ask(engine="pyarrow", **filters)
            for ask in (alone.transactions, alone.statements, alone.boundaries)
        ]
        assert tables == expected, filters


def _broken(path: Path, share: float) -> bytes:
    data = bytearray(path.read_bytes())
    data[int(len(data) * share)] ^= 0x20
    return bytes(data)


@pytest.mark.sampled(0, 6)
@pytest.mark.parametrize("path", LOGS[::3], ids=lambda path: path.parent.parent.name)
@pytest.mark.parametrize("on_damage", ["stop", "report"])
def test_audit_and_verify_agree(on_damage: str, path: Path) -> None:
    met = 0
    sources: list[Any] = [_broken(path, share) for share in (0.3, 0.5, 0.9)]
    for source in (*sources, [str(path), sources[0], sources[2]]):
        log = bk.open(source, on_damage=on_damage)
        verified = [f for f in log.verify().records() if f["grade"] != "note"]
        audited = [f for f in log.audit()["integrity"].to_pylist() if f["code"] is not None]
        keys = ("code", "file", "pos", "end_pos", "meaning")
        assert [[f[k] for k in keys] for f in audited] == [[f[k] for k in keys] for f in verified]
        assert [f["found"] for f in audited] == [f["found"] for f in verified]
        met += len(verified)
    assert met > 3


def test_an_audit_looks_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the rows stand on and the findings come from the same pass over the windows."""
    log, taken = bk.open(LOGS[0]), []
    take = Soundness.feed

    def counted(soundness: Soundness, window: Window, *more: Any) -> list[Finding]:
        taken.append(window)
        return take(soundness, window, *more)

    monkeypatch.setattr(Soundness, "feed", counted)
    assert log.audit()["integrity"].num_rows == len(log.gaps) == 0
    assert len({id(window) for window in taken}) == len(taken) > 0


def test_times_are_integers_in_tables_and_dates_in_frames() -> None:
    audit = bk.open(DATA / "8.0-row-full" / "incident" / "binlog.000001").audit()
    seen = set[str]()
    for name, declared in SECTIONS.items():
        table, frame = audit[name], audit.frame(name)
        for field in declared:
            if field.type == "seconds" and table.num_rows:
                seen.add(name)
                assert str(frame[field.name].dtype) == "datetime64[us, UTC]"
                times = [datetime.fromtimestamp(n, UTC) for n in table[field.name].to_pylist()]
                assert frame[field.name].to_list() == times
    assert {"suspects", "by_table", "by_minute"} <= seen
