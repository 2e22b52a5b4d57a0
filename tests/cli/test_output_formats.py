"""Every command in every output format: the same records, written five ways."""

from __future__ import annotations

import csv
import io
import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import binlogkit as bk
from binlogkit.reports._values import iso_time

Run = Callable[..., Any]
NESTED = {
    "flags",
    "fields",
    "before",
    "after",
    "values",
    "unknown",
    "tables",
    "changed",
    "uncertain",
}
COMMANDS = [
    ("events",),
    ("rows",),
    ("transactions",),
    ("state",),
    ("life", "--table", "stmts.val", "--key", "1"),
    ("audit", "--section", "by_table"),
]

pytestmark = pytest.mark.parametrize("command", COMMANDS, ids=" ".join)


@pytest.fixture
def printed(run: Run, small: Path, command: tuple[str, ...]) -> Callable[..., Any]:
    """Run the command in a format."""

    def runner(form: str, *options: object) -> Any:
        name, *rest = command
        done = run(name, small, *rest, "--format", form, *options)
        assert done.status == 0
        return done

    return runner


def as_cell(value: Any) -> Any:
    """A nested value as the JSON text that stands for it."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, (dict, list)) else value


def read_back(value: Any, name: str) -> Any:
    return json.loads(value) if name in NESTED and isinstance(value, str) else value


def test_json_lines(printed: Callable[..., Any]) -> None:
    done = printed("jsonl")
    assert done.out.endswith(b"\n")
    assert len({tuple(record) for record in done.records}) == 1  # the same keys in each
    assert not any("\r" in line for line in done.lines)


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_columnar(printed: Callable[..., Any], tmp_path: Path, form: str) -> None:
    records = printed("jsonl").records
    path = tmp_path / "out"
    done = printed(form, "--output", path)
    assert done.out == b""
    table = pq.read_table(path) if form == "parquet" else pa.ipc.open_stream(path).read_all()
    table.validate(full=True)
    assert table.column_names == list(records[0])
    back = [
        {name: read_back(value, name) for name, value in row.items()} for row in table.to_pylist()
    ]
    assert back == records
    for field in table.schema:
        if field.name in ("before", "after", "fields", "values"):
            assert field.type == pa.string()
        if field.name in ("pos", "end_pos", "commit_timestamp", "timestamp"):
            assert field.type == pa.int64()
        if field.name == "xid":
            assert field.type == pa.uint64()


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_columnar_to_standard_output(
    printed: Callable[..., Any], tmp_path: Path, form: str
) -> None:
    path = tmp_path / "out"
    printed(form, "--output", path)
    raw = printed(form).out
    read = pq.read_table if form == "parquet" else lambda f: pa.ipc.open_stream(f).read_all()
    assert read(io.BytesIO(raw)).equals(read(str(path)))


@pytest.mark.parametrize("ending", ["CSV", "jsonl", "txt"])
def test_the_name_of_a_file_says_its_format(
    printed: Callable[..., Any], run: Run, small: Path, command: tuple[str, ...], tmp_path: Path,
    ending: str,
) -> None:  # fmt: skip
    (name, *rest), out = command, tmp_path / f"out.{ending}"
    assert run(name, small, *rest, "--output", out).status == 0
    form = "table" if ending == "txt" else ending.lower()
    assert out.read_bytes() == printed(form).out


def test_csv(printed: Callable[..., Any]) -> None:
    records = printed("jsonl").records
    text = printed("csv", "--csv-raw").out.decode("utf-8")
    assert text.count("\r\n") >= len(records) + 1
    header, *rows = csv.reader(io.StringIO(text, newline=""))
    assert header == list(records[0])
    assert len(rows) == len(records)
    for row, record in zip(rows, records, strict=True):
        for name, cell, value in zip(header, row, record.values(), strict=True):
            if isinstance(value, (dict, list)):
                assert json.loads(cell) == value
            else:
                assert cell == _csv_text(_time(name, value)), name


def _time(name: str, value: Any) -> Any:
    """A time as csv has it."""
    if "timestamp" not in name or not isinstance(value, int):
        return value
    return iso_time(value, "us" if "commit" in name else "s")


def _csv_text(value: Any) -> str:
    if value is None:
        return ""
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def test_a_table_has_a_line_for_each_record(
    printed: Callable[..., Any], command: tuple[str, ...]
) -> None:
    records = printed("jsonl").records
    text = printed("table").out.decode("utf-8")
    header, *lines = text.splitlines()
    assert len(lines) == len(records)
    names = header.split()
    if command[:2] == ("state", "--table"):
        assert names == list(records[0]["values"])
    else:
        assert set(names) - {"changes"} <= set(records[0]) and len(names) > 1


@pytest.mark.sampled(3)
def test_columns(printed: Callable[..., Any], tmp_path: Path, command: tuple[str, ...]) -> None:
    records = printed("jsonl").records
    names = list(records[0])
    chosen = [names[-1], names[0]]
    wanted = [{name: record[name] for name in chosen} for record in records]
    option = ("--columns", ",".join(chosen))
    found = printed("jsonl", *option).records
    assert found == wanted and list(found[0]) == chosen
    header = printed("csv", *option).out.decode("utf-8").split("\r\n")[0]
    assert header == ",".join(chosen)
    path = tmp_path / "out"
    printed("parquet", *option, "--output", path)
    assert pq.read_table(path).column_names == chosen
    assert printed("table", *option).out.decode("utf-8").split("\n")[0].split() == chosen


@pytest.mark.parametrize("form", ["table", "jsonl", "csv", "parquet", "arrow"])
def test_an_unknown_column(
    run: Run, small: Path, command: tuple[str, ...], form: str, tmp_path: Path
) -> None:
    name, *rest = command
    path = tmp_path / "out"
    done = run(name, small, *rest, "--format", form, "--columns", "nothing", "--output", path)
    assert done.status == 2
    assert "nothing" in done.complaint
    assert done.out == b"" and list(tmp_path.iterdir()) == []


def test_a_file_is_private(printed: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "out"
    for form in ("table", "jsonl", "csv"):
        expected = printed(form).out
        assert printed(form, "--output", path).out == b""
        assert path.read_bytes() == expected
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_python_gives_the_same_frames(
    printed: Callable[..., Any], small: Path, command: tuple[str, ...]
) -> None:
    records = printed("jsonl").records
    reader = bk.open(str(small))
    if command == ("state",):
        own = [{"db": s.table[0], "table": s.table[1], **r} for s in reader.states()
               for r in s.records()]  # fmt: skip
        assert own == records
    elif command[0] == "diff":
        assert list(reader.diff(command[2], int(command[-1])).records()) == records
    elif command[0] == "life":
        assert list(reader.life(command[2], int(command[-1])).records()) == records
    elif command[0] == "state":
        assert list(reader.state(command[-1]).records()) == records
    elif command[0] == "audit":
        assert list(reader.audit().records(command[-1])) == records
    else:
        frame = getattr(reader, command[0])(engine="pyarrow").to_pylist()
        back = [{name: read_back(v, name) for name, v in row.items()} for row in frame]
        assert back == records
