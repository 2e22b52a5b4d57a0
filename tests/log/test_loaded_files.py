"""The files of LOAD DATA, out of real old logs and out of hostile ones."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import binlogkit as bk
from binlogkit.constants import EventType
from binlogkit.errors import UsageError
from binlogkit.events.load import CreateFile, DeleteFile, ExecLoad, Load
from binlogkit.events.query import ExecuteLoadQuery, LoadBlock
from binlogkit.events.reader import LoadedFile
from binlogkit.events.status_vars import StatusVars
from binlogkit.frames.fields.field import names
from binlogkit.frames.fields.ledger import LOADED_FILE
from binlogkit_fixtures.writer import LogWriter

CORPUS = Path(__file__).parents[3] / "shared" / "corpus"
BEGIN = EventType.BEGIN_LOAD_QUERY_EVENT


def statement(file_id: int) -> ExecuteLoadQuery:
    return ExecuteLoadQuery(1, 0, 0, "d", file_id, 9, 20, 0, StatusVars(), "LOAD DATA INFILE 'x' …")


def load(name: str) -> Load:
    strings = (b"\t", b"", b"\n", b"", b"\\")
    return Load(1, 0, 0, "d", "t", (), name, *strings, ("opt_enclosed",))


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("binlog_old_version_4_1.000001", ("big_file.dat", "test.t3", None)),
        ("ver_5_1-wl2325_s.001", (None, None, "LOAD DATA INFILE 'big_file.dat' INTO TABLE t3")),
        ("ver_5_1_23.001", (None, None, "LOAD DATA INFILE 'big_file.dat' INTO TABLE t3")),
    ],
)
def test_the_same_file_from_three_formats(
    name: str, told: tuple[str | None, ...], tmp_path: Path
) -> None:
    """CREATE_FILE of 4.1, BEGIN_LOAD_QUERY of 5.1 before and after its release: one word list."""
    if not CORPUS.is_dir():
        assert not os.environ.get("CI"), f"{CORPUS} is missing"
        pytest.skip("the shared corpus of other projects' logs is not beside this tree")
    log = bk.open(next(CORPUS.rglob(name)))
    (found,) = log.loaded_files(tmp_path / "out")
    assert tuple(found) == names(LOADED_FILE)
    assert (found["name"], found["table"], found["query"]) == told
    assert (found["outcome"], found["whole"], found["size"]) == ("executed", True, 148736)
    data = Path(str(found["path"])).read_bytes()
    assert len(data) == 148736 and data.startswith(b"Aarhus\nAaron\nAbaba\naback\n")
    assert data.count(b"\n") == len(data.splitlines())
    assert os.stat(str(found["path"])).st_mode & 0o777 == 0o600


def test_files_that_mingle_fail_and_never_end(tmp_path: Path) -> None:
    log = LogWriter("5.7.44")
    log.add(LoadBlock(1, b"a"), BEGIN)
    log.add(LoadBlock(2, b"x"), BEGIN)
    log.add(LoadBlock(1, b"b"))
    log.add(LoadBlock(9, b"late"))
    log.add(LoadBlock(2, b"y"))
    log.add(DeleteFile(2))
    done = log.add(statement(1))
    log.add(LoadBlock(1, b"again"), BEGIN)
    records = list(bk.open(bytes(log.data)).loaded_files(tmp_path))
    shown = [(r["file_id"], r["outcome"], r["whole"], r["size"]) for r in records]
    assert shown == [
        (2, "deleted", True, 2), (1, "executed", True, 2), (9, "open", False, 4),
        (1, "open", True, 5),
    ]  # fmt: skip
    contents = [Path(str(r["path"])).read_bytes() for r in records]
    assert contents == [b"xy", b"ab", b"late", b"again"]
    (event,) = bk.open(bytes(log.data)).event_records(
        start_position=done.raw.pos, stop_position=done.raw.end_pos
    )
    first = log.events[1].raw.pos
    fields = event["fields"]
    assert isinstance(fields, dict)
    assert fields["file"] == {"file_id": 1, "pos": first, "blocks": 2, "size": 2, "whole": True}
    assert LoadedFile(1, first, 2, 2, True).size == 2


@pytest.mark.parametrize(
    "name", ["../../../escape", "/etc/passwd", "a/b", "..", "", "x" * 5000, "\x1b[2J", "CON"]
)
def test_a_name_from_a_log_is_no_path(name: str, tmp_path: Path) -> None:
    log = LogWriter("5.0.2-alpha")
    log.add(CreateFile(load(name), 3, b"data"))
    log.add(ExecLoad(3))
    (found,) = bk.open(bytes(log.data)).loaded_files(tmp_path / "out")
    assert found["name"] == name
    assert sorted(tmp_path.rglob("*")) == [tmp_path / "out", tmp_path / "out" / "000001.data"]


def test_nothing_is_written_over(tmp_path: Path) -> None:
    log = LogWriter("5.7.44")
    log.add(LoadBlock(1, b"a"), BEGIN)
    data = bytes(log.data)
    victim = tmp_path / "victim"
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "000001.data").symlink_to(victim)
    with pytest.raises(UsageError, match=r"000001\.data cannot be written"):
        list(bk.open(data).loaded_files(tmp_path / "out"))
    assert not victim.exists()
    victim.write_bytes(b"")
    with pytest.raises(UsageError, match="cannot be written"):
        list(bk.open(data).loaded_files(victim))
