"""The rows of all wanted tables are read once, after the log's ledger."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import binlogkit as bk
from binlogkit.log.streams import Streams
from binlogkit.rows.filters import written_table_name

DATA = Path(__file__).parents[2] / "_data"

#: Logs with XA, savepoints, key changes, renames, several files, cascades.
STORIES = (
    "5.7-row-no-gtid/transactions",
    "8.0-row-minimal/keys",
    pytest.param("8.0-row-full/ddl", marks=pytest.mark.slow),
    pytest.param("8.0-row-full/cascades", marks=pytest.mark.slow),
)


def files(story: str) -> list[Path]:
    return [p for p in sorted((DATA / story).glob("binlog.0*")) if p.suffix != ".xz"]


@pytest.mark.sampled(0)
@pytest.mark.parametrize("story", STORIES)
def test_rows_are_read_once(story: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the tables have become: each state is that of its table alone."""
    log, readings = bk.open(files(story), on_damage="report"), list[object]()
    read = Streams.read_batches

    def noted(self: Streams, *args: Any, **how: Any) -> Any:
        readings.append(args[0])
        return read(self, *args, **how)

    monkeypatch.setattr(Streams, "read_batches", noted)
    together = list(log.states())
    assert (len(together) > 1, len(readings)) == (True, 1)
    for state in together:
        alone = log.state(written_table_name(*state.table))
        assert (state.rows, state.determined, state.key) == (
            alone.rows,
            alone.determined,
            alone.key,
        )
        assert state.findings == alone.findings
