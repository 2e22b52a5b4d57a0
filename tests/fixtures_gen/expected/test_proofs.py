"""Whatever is changed in a fixture's expected lines or in its manifest is found, and where."""

from __future__ import annotations

import copy
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from binlogkit_fixtures import golden
from binlogkit_fixtures import manifest as mf
from binlogkit_fixtures.expected import files, lines
from binlogkit_fixtures.expected.proofs import prove, same_lines
from binlogkit_fixtures.records import from_json, to_json
from binlogkit_fixtures.verify import verify

CASE = golden.case("8.0-row-full", "json")
SMALL = golden.case("8.0-row-full", "crash")

Records = list[dict[str, Any]]


def _every_third() -> list[golden.GoldenCase]:
    """A third of the set; the whole of it is what ``binlogkit fixtures verify`` is for."""
    return golden.cases()[::3]


@pytest.mark.sampled(1, 6)
@pytest.mark.parametrize("case", _every_third(), ids=str)
def test_the_golden_set_is_proved(case: golden.GoldenCase) -> None:
    proved, problems = prove(case.path, case.manifest, case.events, case.rows)
    assert problems == []
    assert proved.cells_by_bytes + proved.cells_open == proved.cells
    if case.settings.format == "ROW":
        assert proved.rows and proved.states
    if all(text.exit_status == 0 for text in case.manifest.texts):
        assert (proved.events_by_text, proved.rows_by_text) == (proved.events, proved.rows)


def _problems(change: Callable[[Records, Records], object]) -> list[str]:
    events, rows = copy.deepcopy(SMALL.events), copy.deepcopy(SMALL.rows)
    change(events, rows)
    _, found = prove(SMALL.path, SMALL.manifest, events, rows)
    return [f"{problem.file}: {problem.what}" for problem in found]


def _paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The places of all plain values in a record."""
    if isinstance(value, dict):
        return [place for key, item in value.items() for place in _paths(item, (*path, key))]
    if isinstance(value, list) and value:
        return [place for i, item in enumerate(value) for place in _paths(item, (*path, i))]
    return [path]


def _other(value: Any) -> Any:
    if isinstance(value, str):
        return value + "x"
    if isinstance(value, bool) or value is None:
        return 1
    return value + 1 if isinstance(value, int) else [value]


@pytest.mark.parametrize("kind", [0, 1], ids=["events", "rows"])
def test_each_changed_value_of_a_line_is_found(kind: int) -> None:
    """Every value of every line, changed one at a time, against the decode alone."""
    log = lines.opened(SMALL.path, SMALL.manifest)
    made = [list(lines.event_lines(log)), list(lines.row_lines(log))][kind]
    kept = [SMALL.events, SMALL.rows][kind]
    assert made == kept
    changed = 0
    for record, anew in zip(kept, made, strict=True):
        for path in _paths(record):
            other = copy.deepcopy(record)
            place = other
            for step in path[:-1]:
                place = place[step]
            place[path[-1]] = _other(place[path[-1]])
            (problem,) = same_lines("x", [other], [anew])
            assert "line 1 is not what the log holds: /" in problem.what
            assert str(path[0]) in problem.what
            changed += 1
    assert changed > 100


def test_a_changed_row_is_found_by_each_witness() -> None:
    def change(_: Records, rows: Records) -> None:
        image = rows[0]["after"]
        column = next(c for c, v in image.items() if isinstance(v, int))
        image[column] += 1

    found = _problems(change)
    assert "line 1 is not what the log holds: /after/" in found[0]
    assert any("does not give the bytes" in text for text in found)
    assert any("mysqlbinlog prints" in text for text in found)


def test_a_lost_row_and_a_doubled_event_are_found() -> None:
    assert any("lacks line" in text for text in _problems(lambda _, rows: rows.pop()))
    found = _problems(lambda events, _: events.insert(3, events[3]))
    assert any("line 5 is not what the log holds" in text for text in found)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(CASE.path, tmp_path / "json"))


def _change_manifest(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    record = to_json(mf.read(folder))
    change(record)
    mf.write(from_json(mf.Manifest, record), folder, compress=True)


def test_a_changed_value_of_a_table_at_a_mark_is_found(folder: Path) -> None:
    def change(record: dict[str, Any]) -> None:
        mark = next(m for m in record["marks"] if any(t["rows"] for t in m["tables"].values()))
        table = next(t for t in mark["tables"].values() if t["rows"])
        table["rows"][0][0] += 1

    assert list(verify(folder)) == []
    _change_manifest(folder, change)
    found = list(verify(folder))
    assert [finding.file for finding in found] == ["manifest.json"]
    assert "the rows of the log do not leave" in found[0].problem


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        ("pos", 5, "no event ends at 5"),
        ("gtid_executed", "80808080-0080-11ee-8080-808080808080:1-999", "gtid_executed is"),
    ],
)
def test_a_changed_mark_is_found(folder: Path, key: str, value: Any, problem: str) -> None:
    _change_manifest(folder, lambda record: record["marks"][1].update({key: value}))
    found = list(verify(folder))
    assert [finding.file for finding in found] == ["manifest.json"]
    assert problem in found[0].problem


def test_changed_lines_are_found(folder: Path) -> None:
    path = folder / f"{files.ROWS}.xz"
    kept = list(files.read(path))
    kept[0]["after"][next(iter(kept[0]["after"]))] = 77
    mf.write_packed(path, files.text(kept))
    found = list(verify(folder))
    assert {finding.file for finding in found} == {files.ROWS}
    assert "line 1 is not what the log holds" in found[0].problem
    path.write_bytes(b"nothing")
    (finding,) = verify(folder)
    assert (finding.file, finding.problem[:10]) == (path.name, "unreadable")


@pytest.mark.parametrize(
    ("kind", "key", "value"),
    [
        (0, "gtid", 1), (0, "gtid", "no GTID"), (0, "file", []), (0, "end_pos", "x"),
        (1, "pos", None), (1, "after", 1),
    ],
)  # fmt: skip
def test_what_no_line_has_is_found(kind: int, key: str, value: Any) -> None:
    found = _problems(lambda *lines: lines[kind][0].update({key: value}))
    assert f"{files.NAMES[kind]}: line 1 is not what the log holds: /{key} " in found[0]


def test_a_version_that_no_server_has_is_found(folder: Path) -> None:
    _change_manifest(folder, lambda record: record.update(server_version="8.x"))
    (finding,) = verify(folder)
    assert (finding.file, "8.x" in finding.problem) == ("manifest.json", True)


@pytest.mark.parametrize(
    "change",
    [
        lambda table: table["columns"][0].update(name="other"),
        lambda table: table["columns"][0].update(type="bigint unsigned"),
        lambda table: table["columns"][0].update(nullable=True),
        lambda table: table.update(primary_key=[]),
    ],
)
def test_a_changed_definition_is_found(folder: Path, change: Callable[[Any], None]) -> None:
    _change_manifest(folder, lambda r: change(next(iter(r["marks"][-1]["tables"].values()))))
    (finding, *_) = verify(folder)
    assert "its columns or keys are not those of its CREATE" in finding.problem


def test_the_text_of_no_log_is_found(folder: Path) -> None:
    _change_manifest(folder, lambda record: record["texts"][0].update(binlog="binlog.9"))
    (finding,) = verify(folder)
    assert "no log is called binlog.9" in finding.problem
