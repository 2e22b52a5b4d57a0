"""A log's suspects through the doors: over files, with filters, damaged, with odd names."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest

import binlogkit as bk

DATA = Path(__file__).parents[1] / "_data" / "8.0-row-full"
INCIDENT = DATA / "incident" / "binlog.000001"


def test_the_audit_has_the_same_suspects_first() -> None:
    log = bk.open(INCIDENT)
    audit = log.audit()
    assert next(iter(audit)) == "suspects"
    assert audit["suspects"].equals(log.suspects(engine="pyarrow"))
    assert bk.suspects(str(INCIDENT)).equals(log.suspects())


def test_a_notebook_shows_them() -> None:
    shown = bk.open(INCIDENT).audit()._repr_html_()
    assert "total → 0.00" in shown and "integrity: intact<" in shown


def test_filters_choose_among_what_changes() -> None:
    log = bk.open(INCIDENT)
    assert len(log.suspects(table="shop.orders")) == 1
    assert len(log.suspects(thread=101)) == 0


def test_a_command_names_files_as_a_shell_reads_them(tmp_path: Path) -> None:
    path = tmp_path / "it's a log; $(reboot)"
    shutil.copy(INCIDENT, path)
    found = bk.suspects([str(path), str(DATA / "ddl" / "binlog.000001")])
    (command,) = found[found["rule"] == "one_value"]["undo"]
    words = shlex.split(command)
    logs = [str(path), str(DATA / "ddl" / "binlog.000001")]
    assert words == ["binlogkit", "undo", *logs, "--at", f"{path.name}:75676", "--mode", "merge"]


@pytest.mark.parametrize("on_damage", ["stop", "report"])
def test_damage_is_a_gap_and_hides_no_other_suspect(on_damage: str) -> None:
    data = bytearray(INCIDENT.read_bytes())
    data[-3000] ^= 1
    found = bk.open(bytes(data), on_damage=on_damage).suspects()
    assert found["rule"].iloc[0] == "one_value"
    assert {*found["rule"][1:]} == {"gap"}
    assert found["undo"].iloc[0].endswith(" --mode merge --on-damage report")
    assert bk.suspects(bytes(data), on_damage=on_damage).equals(found)
