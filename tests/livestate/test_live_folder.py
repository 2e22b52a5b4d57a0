"""Live state of folders: the same state as ``log.state``, and queries as a recompute."""

from __future__ import annotations

import json
import re
import shutil
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest

import binlogkit as bk
from binlogkit.cli import run
from binlogkit.errors import InputError, LimitError, UndeterminedError, UsageError
from binlogkit.rows.filters import written_table_name
from binlogkit.spark.landing.restoring import Landing
from binlogkit_fixtures import golden
from tests.livestate.shop import to_the_end
from tests.spark.landing.landings import land
from tests.waiting import LONG, until

CASES = [
    ("5.6-row-full", "keys"),
    ("5.7-row-noblob", "transactions"),
    ("8.0-row-compressed", "ddl"),
    ("8.0-row-minimal", "keys"),
    ("8.0-row-partial-json", "json"),
    ("9-row-full", "keys"),
]


def folder_of(cell: str, scenario: str, folder: Path) -> bk.Log:
    for path in golden.case(cell, scenario).binlogs:
        shutil.copy(path, folder)
    return bk.open(folder)


@pytest.mark.parametrize(("cell", "scenario"), CASES)
@pytest.mark.slow
def test_the_state_is_that_of_the_log(cell: str, scenario: str, tmp_path: Path) -> None:
    """Every table that is there in the end, from its CREATE TABLE on, and from a snapshot of the
    middle of the log."""
    log = folder_of(cell, scenario, tmp_path)
    states = {written_table_name(*state.table): state for state in log.states()}
    sure = [name for name, state in states.items() if state.rows_determined]
    assert sure
    with bk.live(log, list(states), wait=False) as live:
        to_the_end(live)
        for name in sure:
            state = live.state(name)
            assert list(state.records()) == list(states[name].records()), name
            assert state.rows_determined, (name, live.soundness(name))
            assert state.definition == states[name].definition
        for name in states.keys() - sure:
            if name in live.tables:
                assert live.soundness(name)


def test_a_checkpoint_that_was_ended_between_its_renames(tmp_path: Path) -> None:
    """The earlier folder stands under another name then, beside the new one."""
    (tmp_path / "logs").mkdir()
    log = folder_of("8.0-row-full", "keys", tmp_path / "logs")
    kept, whole = tmp_path / "kept", log.state("keyed.pk")
    with bk.live(log, ["keyed.pk"], wait=False) as live:
        to_the_end(live)
        live.checkpoint(kept)
    kept.rename(tmp_path / "kept.old")
    (tmp_path / "kept.partial").mkdir()
    with bk.live(log.files[-1], ["keyed.pk"], checkpoint=kept, wait=False) as live:
        assert live.moment.gtids == whole.gtids
        to_the_end(live)
        assert live["keyed.pk"].equals(whole.frame())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept", "logs"]


def test_checkpoints_are_written_meanwhile(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    log = folder_of("8.0-row-full", "keys", tmp_path / "logs")
    kept, whole = tmp_path / "kept", log.state("keyed.pk")
    with bk.live(log, ["keyed.pk"], checkpoint=kept, every=0.01) as live:
        live.wait_for(whole.gtids or "", LONG)

        def written() -> bool:
            return kept.is_dir() and log.state("keyed.pk", base=kept).gtids == whole.gtids

        until(written, "the last moment is written")
        assert not live.ended
    for every, checkpoint in ((1.0, None), (0.0, kept)):
        with pytest.raises(UsageError, match="every is a number of seconds"):
            bk.live(log, ["keyed.pk"], checkpoint=checkpoint, every=every)


def test_copies_for_duckdb(tmp_path: Path) -> None:
    """A database that others query, replaced as a whole while it is open elsewhere; without NULL
    for what DuckDB has no type of."""
    (tmp_path / "logs").mkdir()
    log, file = (
        folder_of("8.0-row-full-metadata", "types", tmp_path / "logs"),
        tmp_path / "c.duckdb",
    )
    tables = ["types.decimals", "types.dates", "types.enums"]
    query = "SELECT file, pos, gtids FROM binlogkit_moment"
    with bk.live(log, tables, copy=file, every=0.01) as live:
        until(file.exists, "a copy is written")
        until(lambda: live.moment.gtids == log.state(tables[0]).gtids, "all is applied")
        moment = live.copy(file)
        with duckdb.connect(str(file), read_only=True) as reader:
            live.copy(file)
            found = reader.execute(query).fetchall()
    assert found == [(moment.file, moment.pos, str(moment.gtids))]
    with duckdb.connect(str(file), read_only=True) as reader:
        assert reader.execute(query).fetchall() == found
        for table in tables:
            truth: list[Any] = [row["values"] for row in log.state(table).records()]
            answer = reader.execute(f"FROM {table}")
            names = [column[0] for column in answer.description or ()]
            rows = [dict(zip(names, row, strict=True)) for row in answer.fetchall()]
            assert len(rows) == len(truth) > 2
            for row, values in zip(rows, truth, strict=True):
                odd = {cell["column"]: cell["text"] for cell in row.pop("_cells") or ()}
                row = {n: f"{v:f}" if isinstance(v, Decimal) else v for n, v in row.items()}
                texts = {n: odd.get(n, None if v is None else str(v)) for n, v in row.items()}
                wanted = {n: None if v is None else str(v) for n, v in values.items()}
                assert texts == wanted, table
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["c.duckdb"]
    assert file.stat().st_mode & 0o77 == 0
    command = ["live", str(tmp_path / "logs"), "--table", tables[0], "--no-wait"]
    assert run([*command, "--copy", str(tmp_path / "d.duckdb")]) == 0
    with duckdb.connect(str(tmp_path / "d.duckdb"), read_only=True) as reader:
        assert reader.execute(f"SELECT COUNT(*) FROM {tables[0]}").fetchone() != (0,)
    assert run(command) == 2
    with pytest.raises(UsageError, match="would take types for the file"):
        bk.live(log, tables, copy=tmp_path / "Types.duckdb")


def test_any_question_once(tmp_path: Path) -> None:
    log = folder_of("8.0-row-full", "keys", tmp_path)
    with bk.live(log, ["keyed.pk"], wait=False) as live:
        to_the_end(live)
        found = live.sql("SELECT COUNT(*) AS n FROM (SELECT 1 AS one FROM keyed.pk) x")
        assert (found.columns, found.rows) == (["n"], [(log.state("keyed.pk").rows.num_rows,)])
        assert found.moment == live.moment and found.frame()["n"].tolist() == [found.rows[0][0]]
        assert live.explain() == []
        live.register("SELECT COUNT(*) FROM keyed.pk", name="one")
        live.register("SELECT COUNT(*) + 1 FROM keyed.pk", name="two")
        assert live.explain("two") == live.explain()[1:]


def test_from_a_base_and_from_a_checkpoint(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    log = folder_of("8.0-row-full", "keys", tmp_path / "logs")
    last = list(log.transaction_records())
    middle = last[len(last) // 2]
    base = log.state("keyed.pk", at=(middle["end_file"], middle["end_pos"]))
    whole = log.state("keyed.pk")
    assert base.rows_determined and base.rows.num_rows != whole.rows.num_rows
    kept = tmp_path / "kept"
    with bk.live(log, ["keyed.pk"], base=base, wait=False) as live:
        to_the_end(live)
        assert list(live.state("keyed.pk").records()) == list(whole.records())
        assert live["keyed.pk"].equals(whole.frame())
        live.checkpoint(kept)
        live.checkpoint(kept)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept", "logs"]
    with bk.live(log, ["pk"], checkpoint=kept, wait=False) as live:
        to_the_end(live)
        assert live["keyed.pk"].equals(whole.frame())
        assert live.moment.gtids == whole.gtids


def test_what_cannot_be_kept(tmp_path: Path) -> None:
    log = folder_of("8.0-row-full", "keys", tmp_path)
    with pytest.raises(UsageError, match="name the tables"):
        bk.live(log, [])
    with pytest.raises(UsageError, match="name the database"):
        bk.live(log, ["pk"])
    with (
        bk.live(log, ["keyed.pk"], memory=100, wait=False) as live,
        pytest.raises(LimitError, match=r"keyed.pk has [\d,]+ rows, which take"),
    ):
        to_the_end(live)
    with bk.live(log, ["keyed.none"], wait=False) as live:
        to_the_end(live)
        with pytest.raises(UndeterminedError, match="rows that no change touched"):
            live["keyed.none"]
        with pytest.raises(UsageError, match="not one of the tables kept"):
            live["keyed.pk"]
    later = log.files[-1]
    base = log.state("keyed.pk")
    shutil.copy(later, tmp_path / "binlog.000099")
    with pytest.raises((InputError, UsageError)):
        bk.live(tmp_path / "missing", ["keyed.pk"], base=base)


def test_refusals_say_why(tmp_path: Path) -> None:
    log = folder_of("8.0-row-full", "types", tmp_path)
    name = next(".".join(s.table) for s in log.states() if s.rows_determined)
    with bk.live(log, [name], wait=False) as live:
        to_the_end(live)
        columns = [c.name for c in live.state(name).definition.columns]  # type: ignore[union-attr]
        first = columns[0]
        for sql, why in (
            (f"SELECT 1 FROM {name} WHERE 1 / 2 > 0", "is no condition|are not compared"),
            (f"SELECT SUM(1 / 2) FROM {name}", "are not added exactly"),
            (f"SELECT NOW(), {first} FROM {name}", "not known to mean the same"),
            (f"SELECT nothing FROM {name}", "no such column"),
            (f"SELECT {first} FROM {name} LIMIT 3", "LIMIT needs an ORDER BY"),
            (f"SELECT {first} FROM {name} HAVING {first} > 1", "it is over no groups"),
            (f"SELECT COUNT(*) FROM {name} HAVING COUNT(*) > 'x'", "only constant numbers"),
            (f"SELECT COUNT(*) FROM {name} HAVING AVG(1) / 2 > 1", "signed integers"),
            (f"SELECT COUNT(*) OVER () FROM {name}", "not made of aggregates"),
            (f"SELECT GROUP_CONCAT({first}) FROM {name}", "not made of aggregates"),
            (f"SELECT 1 FROM {name} a, {name} b", "INNER or LEFT JOIN"),
            (f"SELECT * FROM (SELECT 1 FROM {name}) x", "a subquery is not kept"),
            (f"SELECT COUNT(*) FROM {name} UNION SELECT 1", "not one SELECT"),
            ("SELECT 1 FROM no.table1", "not one of the tables kept"),
            ("DELETE FROM t", "not one SELECT"),
            ("SELECT (", "cannot be read"),
        ):
            with pytest.raises(UsageError, match=why):
                live.register(sql)
            assert re.search(why, live.explain(sql)[0])
        count = live.register(f"SELECT COUNT(*) AS n FROM {name}", name="one")
        assert count.rows() == [(live.state(name).rows.num_rows,)]
        with pytest.raises(UsageError, match="registered already"):
            live.register(f"SELECT COUNT(*) FROM {name}", name="one")
        assert live.explain() == [f"one: kept by changes of {name}; folded into one row; "
                                  "of each group count are kept"]  # fmt: skip


def test_the_command_prints_changes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = folder_of("8.0-row-full", "keys", tmp_path)
    query = tmp_path / "query.sql"
    query.write_text("SELECT COUNT(*) AS n FROM keyed.pk")
    assert run(["live", str(tmp_path), "--query", str(query), "--no-wait"]) == 0
    out, err = capsys.readouterr()
    (line,) = map(json.loads, out.splitlines())
    rows = log.state("keyed.pk").rows.num_rows
    last: dict[str, Any] = list(log.transaction_records())[-1]
    assert (line["weight"], line["row"]) == (1, {"n": rows})
    assert line["file"] == Path(last["end_file"]).name and "up to binlog" in err
    nested = "SELECT COUNT(*) AS n FROM (SELECT 1 AS one FROM keyed.pk) x"
    query.write_text(nested)
    assert run(["live", str(tmp_path), "--query", str(query), "--no-wait", "--recompute"]) == 0
    (again,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert again["row"] == line["row"]
    assert run(["live", str(tmp_path), "--query", str(query), "--no-wait"]) == 2
    assert run(["live", str(tmp_path), "--query", str(query), "--no-wait", "--table", "a.b"]) == 2


def test_a_log_that_begins_after_the_base(tmp_path: Path) -> None:
    """What lies between them is missing."""
    log = folder_of("8.0-row-full", "transactions", tmp_path)
    assert len(log.files) == 2
    early = list(log.transaction_records())[3]
    (name,) = {".".join(s.table) for s in log.states() if s.table[1] == "ledger"}
    base = log.state(name, at=(early["end_file"], early["end_pos"]))
    with (
        bk.live(log.files[1], [name], base=base, wait=False) as live,
        pytest.raises(InputError, match="begins after the base, which lacks"),
    ):
        to_the_end(live)


def test_from_a_landed_folder(tmp_path: Path) -> None:
    """What was prepared when it landed, and is committed behind it, needs the log that prepared."""
    (tmp_path / "logs").mkdir()
    log = folder_of("8.0-row-full", "transactions", tmp_path / "logs")
    names = ["bank.account", "bank.ledger"]
    land(log.files[0], tmp_path / "landed")
    landing = Landing(tmp_path / "landed")
    base = [landing.state(name) for name in names]
    assert base[0].position == ("binlog.000002", 4)
    assert base[0].gtids == log.state(names[0], at=("binlog.000001", 1 << 40)).gtids
    with bk.live(log, names, base=base, wait=False) as live:
        to_the_end(live)
        for name in names:
            assert list(live.state(name).records()) == list(log.state(name).records())
            assert live.state(name).determined
    with (
        bk.live(log.files[1], names, base=base, wait=False) as live,
        pytest.raises(InputError, match=r"begins after the base, which lacks 8080.*:29"),
    ):
        to_the_end(live)
