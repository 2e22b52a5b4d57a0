"""What differs between two captures is explained, and only that."""

from __future__ import annotations

import json
import shutil
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest

import binlogkit as bk
from binlogkit_fixtures import golden
from binlogkit_fixtures import manifest as mf
from binlogkit_fixtures.differences import REASONS, UNEXPLAINED, Difference, explain_differences
from binlogkit_fixtures.records import to_json

CASE = golden.case("8.0-row-full", "transactions")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the golden case, to be changed."""
    return Path(shutil.copytree(CASE.path, tmp_path / "copy"))


def _change(folder: Path, change: Any) -> None:
    record = to_json(mf.read(folder))
    change(record)
    (folder / "manifest.json.xz").unlink()
    (folder / "manifest.json").write_text(json.dumps(record), "utf-8")


def test_a_case_does_not_differ_from_itself(copy: Path) -> None:
    assert explain_differences(CASE.path, copy) == []


def test_a_cell_of_another_format_is_not_explained() -> None:
    """Two cells log differently: that is no accident of a clock."""
    other = golden.case("8.0-mixed-full", "transactions")
    kinds = {d.kind for d in explain_differences(CASE.path, other.path)}
    assert UNEXPLAINED in kinds
    assert kinds <= set(REASONS)


def test_two_images_of_one_scenario_differ_in_their_rows() -> None:
    minimal = golden.case("8.0-row-minimal", "transactions")
    found = explain_differences(CASE.path, minimal.path)
    unexplained = [d.where for d in found if d.kind == UNEXPLAINED]
    assert any("before_columns" in where for where in unexplained)
    assert any("settings binlog_row_image: 'FULL' -> 'MINIMAL'" in where for where in unexplained)


@pytest.mark.parametrize(
    ("kind", "where", "change"),
    [
        ("commit-clock", "mark created", lambda r: r["marks"][0].update(commit_clock=1)),
        (UNEXPLAINED, "mark created pos", lambda r: r["marks"][0].update(pos=5)),
        (UNEXPLAINED, "mark created unix_time", lambda r: r["marks"][0].update(unix_time=5)),
        (UNEXPLAINED, "settings sql_mode", lambda r: r["settings"].update(sql_mode="x")),
        (UNEXPLAINED, "manifest errors", lambda r: r["errors"].pop()),
        (UNEXPLAINED, "manifest binlogs", lambda r: r["binlogs"].pop()),
        (UNEXPLAINED, "manifest marks", lambda r: r["marks"].pop()),
        (
            UNEXPLAINED,
            "mark end bank.account",
            lambda r: r["marks"][-1]["tables"]["bank.account"]["rows"].pop(),
        ),
    ],
)
def test_a_manifest_that_differs(kind: str, where: str, change: Any, copy: Path) -> None:
    _change(copy, change)
    found = explain_differences(CASE.path, copy)
    assert [(d.kind, d.reason) for d in found] == [(kind, REASONS[kind])]
    assert found[0].where.startswith(where)


def test_another_version_of_the_server_is_told(copy: Path) -> None:
    def newer(record: Any) -> None:
        record["server_version"] = record["settings"]["version"] = "8.0.99"

    _change(copy, newer)
    where = "settings server_version: '8.0.31' -> '8.0.99'"
    assert explain_differences(CASE.path, copy) == [
        Difference("server-version", where, REASONS["server-version"])
    ]


def test_a_log_that_ends_early_is_not_explained(copy: Path) -> None:
    log = copy / "binlog.000002"
    data = log.read_bytes()
    log.write_bytes(data[:-44])  # without its ROTATE
    found = explain_differences(CASE.path, copy)
    assert [d.kind for d in found] == [UNEXPLAINED]
    assert "the fresh log has fewer" in found[0].where


def test_the_clock_of_a_server_that_starts_is_explained_and_no_session_s(tmp_path: Path) -> None:
    """A log that a start began, its end, and a table in memory that the server emptied."""
    case = golden.case("8.0-row-durable", "restarts")
    copy = Path(shutil.copytree(case.path, tmp_path / "copy"))
    log = copy / "binlog.000002"
    data = bytearray(log.read_bytes())
    records = list(bk.open(str(log)).event_records())
    for record in records:
        start, end = record["pos"], record["end_pos"]
        struct.pack_into("<I", data, start, 1795627799)
        struct.pack_into("<I", data, end - 4, zlib.crc32(data[start : end - 4]))
    log.write_bytes(data)
    found = [d for d in explain_differences(case.path, copy) if " timestamp: " in d.where]
    kinds = dict(zip((record["pos"] for record in records), (d.kind for d in found), strict=True))
    emptied = next(r["pos"] for r in records if "in-memory" in str(r["fields"].get("query")))
    gtid = max(pos for pos in kinds if pos < emptied)
    stop = records[-1]["pos"]
    assert [p for p, kind in kinds.items() if kind == "server-clock"] == [
        4,
        126,
        gtid,
        emptied,
        stop,
    ]
    assert set(kinds.values()) == {"server-clock", UNEXPLAINED}
