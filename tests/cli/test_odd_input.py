"""Input that is odd but not unreadable, and options that cannot mean what they say."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from binlogkit.constants import BINLOG_MAGIC

Run = Callable[..., Any]


def pack(how: str, data: bytes) -> bytes:
    if how == "gzip":
        return gzip.compress(data)
    return zstandard.ZstdCompressor().compress(data)


@pytest.mark.parametrize("how", ["gzip", "zstd"])
def test_compressed_logs(run: Run, small: Path, tmp_path: Path, how: str) -> None:
    path = tmp_path / "log"
    path.write_bytes(pack(how, small.read_bytes()))
    columns = ("--format", "csv", "--columns", "pos,end_pos,type,checksum")
    done = run("events", path, *columns)
    assert (done.status, done.err) == (0, "")
    assert done.out == run("events", small, *columns).out


@pytest.mark.parametrize("how", ["gzip", "zstd"])
def test_a_compressed_log_that_is_cut(run: Run, log: Path, tmp_path: Path, how: str) -> None:
    """What its whole part holds is delivered; the damage is reported; status 1."""
    packed = pack(how, log.read_bytes())
    path = tmp_path / "cut"
    path.write_bytes(packed[: len(packed) // 2])
    done = run("events", path, "--format", "jsonl")
    assert done.status == 1
    assert str(path) in done.complaint
    if how == "gzip":  # zstd has no bytes to give before a block is whole
        assert len(done.records) > 10


@pytest.mark.parametrize("command", ["events", "rows", "transactions", "undo", "audit"])
def test_a_log_without_events(run: Run, tmp_path: Path, command: str) -> None:
    path = tmp_path / "magic"
    path.write_bytes(BINLOG_MAGIC)
    done = run(command, path)
    said = "binlogkit: nothing to undo: no change was chosen\n" if command == "undo" else ""
    judged = command == "audit"  # which tells that the log is not whole
    assert (done.status, done.err) == (int(judged or bool(said)), said)


def test_a_log_without_changes(run: Run, small: Path, tmp_path: Path, frames_of: Any) -> None:
    data = small.read_bytes()
    path = tmp_path / "two"
    path.write_bytes(data[: frames_of(data)[1].end])
    assert len(run("events", path, "--format", "jsonl").records) == 2
    for command in ("rows", "transactions"):
        done = run(command, path, "--format", "jsonl")
        assert (done.status, done.out, done.err) == (0, b"", "")
        header = run(command, path, "--format", "csv").out.decode("utf-8")
        assert header.startswith(("file,pos", "tx,source")) and header.count("\r\n") == 1


def test_a_character_set_that_there_is_not(run: Run, small: Path) -> None:
    done = run("rows", small, "--charset", "klingon", "--format", "jsonl")
    assert done.status == 2
    assert "klingon" in done.complaint and done.out == b""


def test_a_schema_file_without_tables(run: Run, small: Path, tmp_path: Path) -> None:
    schema = tmp_path / "schema.sql"
    schema.write_text("this is no SQL ((")
    done = run("rows", small, "--schema", schema, "--format", "jsonl")
    assert done.status == 2
    assert str(schema) in done.complaint


def test_the_same_file_twice_counts_once(run: Run, small: Path) -> None:
    once = run("rows", small, "--format", "jsonl").records
    assert run("rows", small, small, "--format", "jsonl").records == once
    kept = run("rows", small, small, "--format", "jsonl", "--duplicates", "keep")
    assert kept.records == once + once


def test_globs_indexes_and_urls(run: Run, golden_log: Any, tmp_path: Path) -> None:
    """They name the same logs, in the same order."""
    folder = golden_log("8.0-row-full/transactions").parent
    names = sorted(p.name for p in folder.iterdir() if p.suffix[1:].isdecimal())
    assert len(names) > 1
    for name in names:
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    index = tmp_path / "binlog.index"
    index.write_text("".join(f"./{name}\n" for name in names))
    columns = ("--format", "csv", "--columns", "pos,row,db,table,op")
    expected = run("rows", *(tmp_path / name for name in names), *columns)
    assert expected.status == 0
    for source in (tmp_path / "binlog.0*", index, tmp_path, f"file://{tmp_path}/binlog.0*"):
        done = run("rows", source, *columns)
        assert (done.status, done.err, done.out) == (0, "", expected.out), source


def test_columns_inside_an_image(run: Run, small: Path) -> None:
    """``after.id`` is a column, too."""
    rows = run("rows", small, "--table", "stmts.val", "--op", "insert", "--format", "jsonl").records
    done = run(
        "rows", small, "--table", "stmts.val", "--op", "insert", "--columns", "pos,after.id",
        "--format", "jsonl",
    )  # fmt: skip
    assert done.status == 0
    assert done.records == [{"pos": r["pos"], "after.id": r["after"]["id"]} for r in rows]


def test_numbers_keep_their_64_bits(run: Run, golden_log: Any) -> None:
    log = golden_log("8.0-row-full/keys")
    done = run("rows", log, "--table", "keyed.pk_last", "--format", "jsonl")
    ids = {(r["after"] or r["before"])["id"] for r in done.records}
    assert {18446744073709551615, 9223372036854775808} <= ids
    assert '"id":18446744073709551615' in done.out.decode("utf-8")
    where = run(
        "rows", log, "--table", "keyed.pk_last", "--where", "id=18446744073709551615",
        "--format", "jsonl",
    )  # fmt: skip
    assert where.records
    for record in where.records:
        assert json.dumps(record).count("18446744073709551615")
