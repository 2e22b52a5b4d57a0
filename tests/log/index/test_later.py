"""Ledgers that are read later are those that are read at once."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from binlogkit.log import open_log
from binlogkit.log.index import Index
from binlogkit.log.index.later import batch_of, columns_of
from binlogkit_fixtures import golden

TABLES = ["transactions", "changes"]
CASES = [golden.case("8.0-row-full", "transactions"), golden.case("5.7-row-full", "ddl")]


def test_ledgers_that_are_read_later(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    for case in CASES:
        for path in case.binlogs:
            (logs / case.path.parent.name).mkdir(parents=True, exist_ok=True)
            shutil.copy(path, logs / case.path.parent.name)
    log = open_log(logs)
    Index(tmp_path / "index").update(log.carriers[:1])
    Index(tmp_path / "index").update(log.carriers)
    index = Index(tmp_path / "index")
    at_once = list(index.parts(log.carriers, None, TABLES))
    later = list(index.parts(log.carriers, None, TABLES, later=True))
    for stored in (tmp_path / "index").glob("*/*.parquet"):  # another update has ended
        stored.unlink()
    assert len(at_once) == len(later) > 2
    for turn in (later, later[::-1]):
        for part in turn:
            (same,) = (one for one in at_once if one.names == part.names)
            assert sorted(part.ledger) == sorted(TABLES) and len(part.ledger) == len(TABLES)
            assert part.ledger["transactions"].equals(same.ledger["transactions"])
            assert part.ledger["changes"].equals(same.ledger["changes"])
            some = [columns_of(one.ledger, "transactions", ["pos", "file"]) for one in (part, same)]
            assert some[0].equals(some[1]) and some[0].column_names == ["pos", "file"]
    batches = [batch_of(part.ledger) for part in later]
    assert len(set(batches)) == 2 and batches[0] not in batches[1:]
    assert {batch_of(part.ledger) for part in at_once} == {""}
    with pytest.raises(KeyError):
        _ = later[0].ledger["unchecked"]


def test_logs_that_are_called_otherwise_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "logs").mkdir()
    for log in CASES[0].binlogs:
        shutil.copy(log, tmp_path / "logs")
    Index(tmp_path / "index").update(open_log(tmp_path / "logs").carriers)
    monkeypatch.chdir(tmp_path)
    carriers = open_log("logs").carriers
    for part in Index("index").parts(carriers, None, TABLES, later=True):
        assert set(part.ledger["transactions"]["file"].to_pylist()) == set(part.names)
    for part in Index("index").besides([], TABLES, later=True):
        assert set(part.ledger["transactions"]["file"].to_pylist()) == set(part.names)
