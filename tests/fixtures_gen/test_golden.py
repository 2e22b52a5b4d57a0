"""The golden set: whole, small, and what its manifests say."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from binlogkit.errors import UsageError
from binlogkit_fixtures import golden
from binlogkit_fixtures import manifest as mf
from binlogkit_fixtures.host import SETTINGS
from binlogkit_fixtures.matrices import cells
from binlogkit_fixtures.scenarios import load
from binlogkit_fixtures.scenarios.model import Kept
from binlogkit_fixtures.servers.keyring import encrypts

ALL = golden.cases()
OTHERWISE = {"default-time-zone": "time_zone"}  # options whose variables are called otherwise


def test_the_package_carries_the_golden_set() -> None:
    link = Path(golden.__file__).with_name("_golden")
    assert link.is_symlink()
    assert os.readlink(link) == "../../tests/_data"
    assert golden.folder() == Path(__file__).resolve().parents[1] / "_data"


def test_every_cell_has_its_cases() -> None:
    assert [(c.cell, c.scenario, c.server) for c in ALL] == [
        (cell.name, scenario, kept.folder)
        for cell in cells().values()
        if not encrypts(cell.spec())
        for scenario in cell.scenarios
        for kept in load(scenario).keeps
    ]


@pytest.mark.sampled(30)
@pytest.mark.parametrize("case", ALL, ids=str)
def test_every_file_is_the_one_of_the_manifest(case: golden.GoldenCase) -> None:
    manifest = case.manifest
    kept = Kept(manifest.server, manifest.relay)
    assert (manifest.cell, manifest.scenario) == (case.cell, case.scenario)
    assert kept.folder == case.server
    assert case.path.relative_to(golden.folder()).as_posix() == str(case)
    assert [log.name for log in manifest.binlogs] == [path.name for path in case.binlogs]
    for log, path in zip(manifest.binlogs, case.binlogs, strict=True):
        assert mf.sha256(path.read_bytes()) == log.sha256
        assert path.stat().st_size == log.size
    for text in manifest.texts:
        assert mf.sha256(mf.read_packed(case.path / text.name)) == text.sha256
    named = {log.name for log in manifest.binlogs} | {text.name for text in manifest.texts}
    more = {"manifest.json.xz", "events.jsonl.xz", "rows.jsonl.xz"}
    assert {path.name for path in case.path.iterdir()} == named | more


def test_the_set_is_small_and_has_no_strays() -> None:
    files = [path for path in golden.folder().rglob("*") if path.is_file()]
    packed = [path.stat().st_size for path in files if path.name != "index.json"]
    assert max(packed) < golden.MAX_FILE
    assert sum(path.stat().st_size for path in files) < golden.MAX_SET
    assert {path.parent for path in files} - {golden.folder()} == {case.path for case in ALL}
    about = {path.name for path in files if path.parent == golden.folder()}
    assert about == {"LICENSE", "README.md", "index.json"}


@pytest.mark.sampled(24)
@pytest.mark.parametrize("case", ALL, ids=str)
def test_settings_are_those_of_the_cell(case: golden.GoldenCase) -> None:
    settings = case.manifest.settings
    cell = case.settings
    assert case.manifest.server_version.startswith(cell.series)
    assert settings["binlog_format"] == cell.format
    assert settings["binlog_row_image"] == cell.image.upper()
    for name, value in cell.settings.items():
        variable = OTHERWISE.get(name, name.replace("-", "_"))
        # Others do not bear on what stands in a log, or are options alone (5.7).
        if variable in SETTINGS and variable in settings:
            assert _plain(settings[variable]) == _plain(value)


def _plain(value: str) -> list[str]:
    """The words of a value, ON and OFF as numbers; of a mode the server has an order of its own."""
    return sorted({"ON": "1", "OFF": "0"}.get(word, word) for word in value.split(","))


@pytest.mark.parametrize("case", ALL, ids=str)
def test_marks_go_forward_and_end_where_the_log_ends(case: golden.GoldenCase) -> None:
    manifest = case.manifest
    places = [(mark.file, mark.pos) for mark in manifest.marks]
    assert places == sorted(places)
    clocks = [mark.commit_clock for mark in manifest.marks]
    assert clocks == sorted(clocks)
    # A relay log's events know where they ended in their source's log.
    ends = {(e.file, e.pos if manifest.relay else e.end_pos) for e in manifest.events}
    assert set(places) <= ends
    assert (manifest.events[-1].type == "Rotate") == (manifest.ending == "rotate")
    stop = (
        23 if manifest.ending == "stop" else 0
    )  # header and CRC32: not listed, the server was gone
    assert manifest.events[-1].end_pos + stop == manifest.binlogs[-1].size


@pytest.mark.parametrize("case", ALL, ids=str)
def test_the_servers_own_clock_followed_the_story(case: golden.GoldenCase) -> None:
    assert case.manifest.clock == "story"
    for mark in case.manifest.marks:
        assert abs(mark.commit_clock - mark.unix_time * 1_000_000) < 5_000_000


def test_cases_are_found_by_what_they_are() -> None:
    found = golden.cases(version="8.0", format="row", image="minimal", scenario="json")
    assert [str(c) for c in found] == [
        "8.0-row-minimal/json", "8.0-row-minimal-partial-json/json",
    ]  # fmt: skip
    assert golden.case("5.7-row-full", "types").binlogs[0].name == "binlog.000001"
    with pytest.raises(UsageError, match=r"no 5\.7-row-full/nothing"):
        golden.case("5.7-row-full", "nothing")


def test_the_text_of_mysqlbinlog_is_there() -> None:
    case = golden.case("8.0-row-full", "transactions")
    assert list(case.mysqlbinlog_texts) == ["binlog.000001", "binlog.000002"]
    assert "### INSERT INTO `bank`.`account`" in case.mysqlbinlog_text
    assert all(text.exit_status == 0 for text in case.manifest.texts)


def test_mysqlbinlog_gives_up_on_old_row_events_and_the_manifest_says_so() -> None:
    for text in golden.case("5.7-row-v1-events", "keys").manifest.texts:
        assert text.exit_status == 1
        assert "Error in log format" in text.stderr


def test_a_killed_server_leaves_its_log_in_use() -> None:
    """Bit 0 of the format description's flags (LOG_EVENT_BINLOG_IN_USE_F), at 4 + 17."""
    for cell in ("5.7-row-full", "8.0-row-full"):
        closed, open_ = golden.case(cell, "crash").binlogs
        assert [path.read_bytes()[21] & 1 for path in (closed, open_)] == [0, 1]
        shut = golden.case(cell, "shutdown").binlogs[-1].read_bytes()
        assert (shut[21] & 1, shut[-19]) == (0, 3)  # its last event is STOP


def test_errors_that_a_cell_must_meet_are_recorded() -> None:
    def codes(cell: str, scenario: str) -> list[int]:
        return [error.code for error in golden.case(cell, scenario).manifest.errors]

    assert codes("5.7-row-full", "ddl") == [1786]
    assert codes("5.7-row-no-gtid", "ddl") == codes("8.0-row-full", "ddl") == []
    assert codes("8.0-row-full", "transactions") == [1792, 1062, 1062, 1785, 1785, 1205]
    assert codes("8.0-row-no-gtid", "transactions") == [1792, 1062, 1062, 1205]
    assert 1665 in codes("8.0-row-full", "statements")


def test_unsafe_statements_are_warned_of_in_statement_format_only() -> None:
    def unsafe(cell: str) -> int:
        warnings = golden.case(cell, "statements").manifest.warnings
        return sum(warning.code == 1592 for warning in warnings)

    assert unsafe("8.0-statement-full") > 10
    assert unsafe("8.0-row-full") == unsafe("8.0-mixed-full") == 0
