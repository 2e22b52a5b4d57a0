"""Rows changed outside the log, in logs that are at hand: where they were made so, nowhere else."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

import binlogkit as bk
from binlogkit.analyses.continuity import Break
from binlogkit.cli import run
from binlogkit.log.states.images.checks import ChangePlace, Checked
from binlogkit.log.states.images.contradictions import Contradiction
from tests.fuzz.binlogkit_fuzz import seeds

DATA = Path(__file__).parents[3] / "_data"
STORIES = sorted({path.parent for path in DATA.glob("*/*/binlog.0*")})


def unlogged(found: bk.Verification) -> list[str]:
    """What was found of rows that were changed outside the log."""
    return [f.found for f in found.findings if f.code == "unlogged_change"]


@pytest.mark.sampled(12, 24)
@pytest.mark.parametrize("story", STORIES, ids=lambda path: "/".join(path.parts[-2:]))
def test_golden_logs(story: Path) -> None:
    """One story has a row that was inserted with sql_log_bin=0, and is deleted later."""
    found = bk.open(story, on_damage="report").verify(images=True)
    row = "stmts.untraced id=2: it exists, although it was never inserted"
    planted = story.name == "statements" and "row" in story.parent.name
    told = unlogged(found)
    if story.name == "cascades" and not story.parent.name.startswith("9-"):
        assert told and all("a foreign key's cascade may have done it" in text for text in told)
        return
    assert told == [row] * planted


def test_what_was_compared_is_told() -> None:
    found = bk.open(DATA / "8.0-row-full/keys").verify(images=True)
    tables = {str(record["table"]): record for record in found.image_records()}
    assert tables["keyed.pk_text"]["compared"] == 2
    assert tables["keyed.only_index"]["reason"] is None, "equal rows are counted"
    assert sum(table.changes for table in found.images) == 126
    assert sum(table.compared for table in found.images) == 62


def test_without_the_tables_creation_keys_are_not_known(tmp_path: Path) -> None:
    """It is said why nothing was compared; a schema file tells them."""
    path = DATA / "8.0-row-full/incident/binlog.000001"
    create = bk.open(path).statements().query("kind == 'ddl' and query.str.contains('orders')")
    data = path.read_bytes()
    first = int(create["end_pos"].iloc[-1])
    cut = tmp_path / "binlog.000001"
    head = int.from_bytes(data[13:17], "little")
    cut.write_bytes(data[:head] + data[first:])
    schema = tmp_path / "schema.sql"
    schema.write_text(";\n".join(create["query"]) + ";\n")
    found = bk.open(cut, on_damage="report").verify(images=True)
    told = next(table for table in found.images if table.name[1:] == ("shop", "orders"))
    assert told.compared == 0 and told.changes and "is not known" in str(told.reason)
    known = bk.open(cut, on_damage="report", schema=schema).verify(images=True)
    assert sum(table.compared for table in known.images) > 100


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    log = str(DATA / "8.0-row-full/statements/binlog.000001")
    assert run(["verify", "--images", "--format", "jsonl", log]) == 1
    (found,) = map(json.loads, io.StringIO(capsys.readouterr().out))
    assert found["code"] == "unlogged_change" and found["pos"] == 24723
    assert run(["verify", log]) == 0
    capsys.readouterr()
    assert run(["verify", "--images", log]) == 1
    report = capsys.readouterr().out
    assert "stmts.untraced" in report and "its engine keeps no rows" in report


def test_a_flipped_bit_is_damage(tmp_path: Path) -> None:
    """What damage took explains what does not fit after it."""
    path = DATA / "8.0-row-full/incident/binlog.000001"
    data = bytearray(path.read_bytes())
    rows = bk.open(path).events().query("type.str.contains('ROWS_EVENT')")["pos"]
    for pos in rows[5:60:7]:
        data[pos + 40] ^= 1
    broken = tmp_path / "binlog.000001"
    broken.write_bytes(data)
    found = bk.open(broken, on_damage="report").verify(images=True)
    assert "bad_checksum" in {f.code for f in found.findings}
    assert unlogged(found) == []


@pytest.mark.skipif(not seeds.CORPUS.is_dir(), reason="no other projects' logs beside the project")
def test_other_projects_logs() -> None:
    for path in sorted(seeds.CORPUS.glob("*/*")):
        try:
            found = bk.open(path, on_damage="report").verify(images=True)
        except bk.errors.InputError:
            continue
        assert unlogged(found) == [], path


def test_the_audit_tells_of_it() -> None:
    audit = bk.open(DATA / "8.0-row-full/statements/binlog.000001").audit()
    (found,) = (r for r in audit["integrity"].to_pylist() if r["code"] == "unlogged_change")
    assert found["grade"] == "warning" and "stmts.untraced id=2" in found["found"]
    few = bk.open(DATA / "8.0-row-full/statements/binlog.000001").audit(op="delete")
    assert "unlogged_change" not in few["integrity"].column("code").to_pylist()


def test_the_state_is_not_determined_since_the_last_change_that_fits() -> None:
    log = bk.open(DATA / "8.0-row-full/statements/binlog.000001")
    state = log.state("stmts.untraced")
    assert not state.determined
    told = {f["finding"]: f["meaning"] for f in state.findings.to_pylist()}
    assert "id=2: it exists" in told["unlogged"]


def test_odd_names_are_written_as_commands_take_them() -> None:
    name, place = (None, "odd.db", "a`b"), ChangePlace("binlog.000001", 4, 1, None)
    found = Contradiction.of(name, Break.APPEARED, {"id": 1}, None, place, place, {})
    assert found.found.startswith("`odd.db`.`a``b` id=1: ")
    assert found.concerns(["odd.db.a`b"])
    assert Checked(name).record()["table"] == "`odd.db`.`a``b`"
