"""Exit statuses, the one line on standard error, and that what could be delivered was."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from binlogkit.constants import BINLOG_MAGIC, ENCRYPTED_MAGIC

Run = Callable[..., Any]
READERS = ["events", "rows", "transactions"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "no such file"),
        (b"", "the file is empty"),
        (b"# a text file\n", "not a binary log"),
        (b"\xfe", "not a binary log"),
        (b"\xfebi", "not a binary log"),
        (ENCRYPTED_MAGIC + bytes(600), "encrypted"),
        (gzip.compress(b""), "the file is empty"),
        (gzip.compress(b"text"), "not a binary log"),
    ],
    ids=["missing", "empty", "text", "one-byte", "three-bytes", "encrypted", "gz-empty", "gz-text"],
)
@pytest.mark.parametrize("command", [*READERS, "undo", "audit", "state"])
def test_unreadable_input(
    run: Run, tmp_path: Path, command: str, content: bytes | None, reason: str
) -> None:
    path = tmp_path / "some.log"
    if content is not None:
        path.write_bytes(content)
    more = ["--table", "a.b"] if command == "state" else []
    if command not in ("undo", "state"):
        more += ["--format", "jsonl"]
    done = run(command, path, *more)
    assert done.status == 2
    assert done.out == b""
    assert done.complaint.startswith(f"binlogkit: {path}: ") and reason in done.complaint


def test_a_folder_without_logs(run: Run, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no log")
    done = run("events", tmp_path)
    assert done.status == 2
    assert done.complaint == f"binlogkit: {tmp_path}: the folder holds no binary log"


def test_a_folder_in_the_logs_order(run: Run, golden_log: Any) -> None:
    folder = golden_log("8.0-row-full/transactions").parent
    files = sorted(path for path in folder.iterdir() if path.suffix[1:].isdecimal())
    of_folder = run("rows", folder, "--format", "jsonl")
    of_files = run("rows", *files, "--format", "jsonl")
    assert of_folder.status == 0
    assert of_folder.out == of_files.out


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["rows"],
        ["rows", "--nonsense", "x"],
        ["nonsense"],
        ["state", "x"],
        ["state", "{log}", "--table", "a.b", "--at", "{log}"],
        ["state", "{log}", "--table", "a.b", "--at", "other:4"],
        ["state", "{log}", "--table", "a.b", "--at", "{log}:4", "--until-time", "2024-01-01"],
        ["state", "{log}", "--table", "unheard"],
        ["rows", "{log}", "--format", "xml"],
        ["rows", "{log}", "--columns", ""],
        ["rows", "{log}", "--schema", "{log}.sql"],
        ["rows", "{log}", "--schema-from", "mysql://root:secret@127.0.0.1:1"],
        ["rows", "{log}", "--output", "/nowhere/at/all"],
        ["audit", "{log}", "--format", "csv"],
        ["conform", "{log}", "--as", "rows"],
    ],
    ids=lambda a: " ".join(a).replace("{log}", "LOG"),
)
def test_usage(run: Run, small: Path, arguments: list[str]) -> None:
    done = run(*(argument.format(log=small) for argument in arguments))
    assert done.status == 2
    assert done.err and "Traceback" not in done.err
    assert b"secret" not in done.out and "secret" not in done.err
    if arguments:
        assert done.out == b""


def test_all_well(run: Run, small: Path) -> None:
    for command in READERS:
        done = run(command, small, "--format", "jsonl")
        assert (done.status, done.err) == (0, "")
    assert run("--help").status == run("--version").status == 0


def test_an_unclosed_log_is_no_error(run: Run, small: Path) -> None:
    """It ends on a boundary without STOP or ROTATE."""
    types = [r["type"] for r in run("events", small, "--format", "jsonl").records]
    assert types[-1] == "XID_EVENT"


@pytest.fixture
def whole(run: Run, small: Path) -> Callable[[str], list[dict[str, Any]]]:
    """All records of the sound log, without the file's name and what stands later in the log."""

    def records(command: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = run(command, small, "--format", "jsonl").records
        return [{**r, "file": "", "source": "", "end_file": "", "xid": None} for r in found]

    return records


@pytest.mark.parametrize("command", READERS)
def test_a_file_cut_inside_an_event(
    run: Run, small: Path, tmp_path: Path, frames_of: Any, whole: Any, command: str
) -> None:
    data = small.read_bytes()
    last = frames_of(data)[-2]  # the rows event of the last transaction
    path = tmp_path / "cut"
    path.write_bytes(data[: last.end - 1])
    done = run(command, path, "--format", "jsonl")
    assert done.status == 1
    size = last.end - last.pos
    assert done.complaint == (
        f"binlogkit: {path} at {last.pos}: the file ends {size - 1} bytes into an event of {size}"
    )
    records = [{**r, "file": "", "source": "", "end_file": "", "xid": None} for r in done.records]
    if command == "transactions":
        assert records[:-1] == whole(command)[:-1]
        assert records[-1]["outcome"] == "cut"
    else:
        assert records == [r for r in whole(command) if r["pos"] < last.pos]
    assert records


@pytest.mark.parametrize("command", READERS)
@pytest.mark.parametrize("mode", ["stop", "report"])
def test_a_wrong_checksum(
    run: Run, small: Path, tmp_path: Path, frames_of: Any, whole: Any, command: str, mode: str
) -> None:
    data = bytearray(small.read_bytes())
    rows = [f for f in frames_of(bytes(data)) if f.type == "WRITE_ROWS_EVENT"]
    bad = rows[len(rows) // 2]
    data[bad.end - 5] ^= 0x20
    path = tmp_path / "flipped"
    path.write_bytes(data)
    done = run(command, path, "--format", "jsonl", "--on-damage", mode)
    assert done.status == 1
    where = f"at {bad.pos}" if mode == "stop" else f"from {bad.pos} to {bad.end}"
    told, *lost = done.err.splitlines()
    assert told.startswith(
        f"binlogkit: {path} {where} in field checksum: the CRC32 of the event is 0x"
    )
    assert len(lost) == (mode == "report")
    assert all("one WRITE_ROWS_EVENT cannot be read" in line for line in lost)
    records = [{**r, "file": "", "source": "", "end_file": "", "xid": None} for r in done.records]
    assert records
    if command == "transactions":
        return
    expected = whole(command)
    before = [r for r in expected if r["pos"] < bad.pos]
    after = [r for r in expected if r["pos"] > bad.pos]
    if mode == "stop":
        assert records == before
        return
    kept = [r for r in records if r["pos"] != bad.pos]
    assert kept == before + after
    damaged = [r for r in records if r["pos"] == bad.pos]
    assert [r["checksum"] for r in damaged] == (["bad"] if command == "events" else [])


def test_a_damaged_range_is_quarantined(
    run: Run, small: Path, tmp_path: Path, frames_of: Any
) -> None:
    data = small.read_bytes()
    found = frames_of(data)
    hole = found[10]
    path = tmp_path / "overwritten"
    path.write_bytes(data[: hole.pos] + b"\xff" * (hole.end - hole.pos) + data[hole.end :])
    done = run("events", path, "--format", "jsonl", "--on-damage", "report")
    assert done.status == 1
    told, lost = done.err.splitlines()
    assert f"{path} from {hole.pos} to {hole.end}" in told
    assert f"{path} from {hole.pos} to {hole.end}: " in lost and "missing" in lost
    positions = [r["pos"] for r in done.records]
    assert positions == [f.pos for f in found if f is not hole]


@pytest.mark.parametrize("command", READERS)
@pytest.mark.parametrize("kind", ["text", "empty", "missing", "folder"])
def test_one_of_several_files_is_unreadable(
    run: Run,
    golden_log: Any,
    tmp_path: Path,
    command: str,
    kind: str,
) -> None:
    """The others are delivered, then it is named."""
    first, second = (golden_log(f"8.0-row-full/shutdown/binlog.00000{n}") for n in (1, 2))
    odd = tmp_path / "odd"
    if kind == "folder":
        odd.mkdir()
    elif kind != "missing":
        odd.write_text("no log at all" if kind == "text" else "")
    sound = run(command, first, second, "--format", "jsonl")
    assert sound.status == 0
    done = run(command, first, odd, second, "--format", "jsonl")
    assert done.status == 2
    assert done.complaint.startswith(f"binlogkit: {odd}: ")
    assert done.records == sound.records != []


def test_an_undecodable_cell(
    run: Run, golden_log: Any, tmp_path: Path, picked: Any, frames_of: Any
) -> None:
    """Text of a 5.7 log without its DDL: UTF-8, or else its bytes and the reason; status 1."""
    data = golden_log("5.7-row-full/types").read_bytes()
    found = frames_of(data)
    maps = [
        n
        for n, frame in enumerate(found)
        if frame.type == "TABLE_MAP_EVENT" and b"\x08charsets\x00" in data[frame.pos : frame.end]
    ]
    path = tmp_path / "part"
    path.write_bytes(picked(data, [0, maps[0], maps[0] + 1]))
    done = run("rows", path, "--format", "jsonl")
    assert done.status == 1
    cells = [cell for record in done.records for cell in record["after"].values()]
    odd = [cell for cell in cells if isinstance(cell, dict)]
    cut, *supposed, told = done.err.splitlines()
    assert "bytes were removed" in cut
    assert all("supposed (charset:" in line for line in supposed)
    assert told == f"binlogkit: {len(odd)} cells could not be decoded"
    for cell in odd:
        assert list(cell) == ["undecodable", "reason"]
        assert bytes.fromhex(cell["undecodable"].removeprefix("0x"))
        assert re.match("no (UTF-8|ASCII) at byte", cell["reason"])
    assert any(isinstance(cell, str) for cell in cells)
    told = run("rows", path, "--charset", "latin1", "--format", "jsonl")
    assert told.err.splitlines() == [cut]


def test_a_schema_that_contradicts_the_log(
    run: Run, golden_log: Any, tmp_path: Path, picked: Any, frames_of: Any
) -> None:
    data = golden_log("5.7-row-full/keys").read_bytes()
    found = frames_of(data)
    first = next(n for n, frame in enumerate(found) if frame.type == "TABLE_MAP_EVENT")
    part, schema = tmp_path / "part", tmp_path / "schema.sql"
    part.write_bytes(picked(data, [0, first, first + 1]))
    schema.write_text("CREATE TABLE keyed.pk (id INT PRIMARY KEY, name VARCHAR(20));")
    done = run("rows", part, "--schema", schema, "--format", "jsonl")
    assert done.status == 1
    cut, told = done.err.splitlines()
    assert "keyed.pk" in told
    assert next(iter(done.records[0]["after"])) == "@1"
    other = run("rows", part, "--schema", schema, "--format", "jsonl", "--table", "keyed.other")
    assert f"note: {told.removeprefix('binlogkit: ')}" in other.err.splitlines()
    schema.write_text("CREATE TABLE keyed.pk (id INT, name VARCHAR(20), body TEXT, data BLOB);")
    done = run("rows", part, "--schema", schema, "--format", "jsonl")
    assert done.err.splitlines() == [cut]
    assert list(done.records[0]["after"]) == ["id", "name", "body", "data"]


def test_a_server_that_is_not_there(run: Run, small: Path) -> None:
    done = run("rows", small, "--schema-from", "mysql://root@127.0.0.1:1")
    assert done.status == 2
    assert "127.0.0.1" in done.complaint


def test_magic_alone_is_a_log_without_events(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "magic"
    path.write_bytes(BINLOG_MAGIC)
    done = run("events", path, "--format", "jsonl")
    assert (done.status, done.out, done.err) == (0, b"", "")
