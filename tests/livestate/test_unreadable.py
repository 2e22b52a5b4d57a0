"""An event that cannot be read right behind where live state begins: an error, or rows that are
called uncertain; never a standstill, nor rows that are old in silence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import binlogkit as bk
from binlogkit.errors import DamageError, UndeterminedError
from binlogkit_fixtures import golden
from tests.analyses.verify.conftest import Piece, joined, pieces_of
from tests.livestate.shop import to_the_end

TABLE = "evolve.item"
ALTER = b"ADD COLUMN stock"
Edit = Callable[[list[Piece]], None]


def _pieces() -> tuple[list[Piece], int]:
    """A log, and where its ALTER TABLE's transaction begins, before one of four events of rows."""
    (log,) = golden.case("8.0-row-full", "ddl").binlogs[:1]
    pieces = pieces_of(log.read_bytes())
    begin = next(i for i, piece in enumerate(pieces) if ALTER in piece.data) - 1
    kinds = [piece.type.partition("_ROWS")[0] for piece in pieces[begin + 2 : begin + 7]]
    assert kinds[:2] + kinds[4:] == ["GTID_LOG_EVENT", "QUERY_EVENT", "XID_EVENT"]
    return pieces[: begin + 7], begin


def begun(folder: Path, edit: Edit, *, behind: int, **how: Any) -> tuple[bk.Live, bk.TableState]:
    """Live state that begins at the ALTER TABLE, or ``behind`` it, and the log's state."""
    pieces, begin = _pieces()
    for name, some in (("before", pieces[: begin + 2 * behind]), ("logs", pieces)):
        (folder / name).mkdir()
        (folder / name / "binlog.000001").write_bytes(joined(some))
    base = bk.open(folder / "before").state(TABLE)
    assert base.determined
    edit(pieces)
    (folder / "logs" / "binlog.000001").write_bytes(joined(pieces))
    log = bk.open(folder / "logs", **how)
    return bk.live(log, [TABLE], base=base, wait=False), log.state(TABLE, base=base)


def _unknown_type(pieces: list[Piece]) -> None:
    pieces[-2].data[4] = 120


def _unknown_clause(pieces: list[Piece]) -> None:
    statement = next(piece for piece in pieces if ALTER in piece.data)
    statement.data = bytearray(bytes(statement.data).replace(ALTER, b"ZAP COLUMN stock"))


def _cut_row(pieces: list[Piece]) -> None:
    del pieces[-2].data[-3:]


@pytest.mark.parametrize(
    ("edit", "behind", "how", "why"),
    [
        (_unknown_type, 1, {}, "one UNKNOWN_EVENT_120 is not read"),
        (_unknown_clause, 0, {}, "changed the table in a way that could not be understood"),
        (_cut_row, 1, {"on_damage": "report"}, "damage"),
    ],
)  # fmt: skip
def test_what_follows_is_read_and_the_table_is_not_certain(
    edit: Edit, behind: int, how: dict[str, str], why: str, tmp_path: Path
) -> None:
    live, state = begun(tmp_path, edit, behind=behind, **how)
    with live:
        to_the_end(live)
        assert live.moment.gtids == state.gtids
        assert why in str(live.soundness(TABLE))
        with pytest.raises(UndeterminedError, match=why):
            live[TABLE]
    assert not state.determined


def test_damage_ends_the_following(tmp_path: Path) -> None:
    """Each question says where, and nothing is shown any more."""
    live, _ = begun(tmp_path, _cut_row, behind=1)
    with live, pytest.raises(DamageError, match=r"binlog.000001 at \d+ in field"):
        to_the_end(live)
    for question in ("moment", "lag", "tables"):
        with pytest.raises(DamageError, match=r"binlog.000001 at \d+ in field"):
            getattr(live, question)
    for asked in (live.soundness, live.state, live.__getitem__):
        with pytest.raises(DamageError, match=r"binlog.000001 at \d+ in field"):
            asked(TABLE)
