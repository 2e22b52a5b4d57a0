"""Writers of record streams: forms of docs/records.md, guards of docs/hostile-input.md."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
import os
import pty
import stat
import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binlogkit.errors import DamageError, SchemaError, UsageError
from binlogkit.frames.fields.field import fields
from binlogkit.reports.output import (
    FORMATS,
    Output,
    parse_columns,
    write_batches,
    write_records,
)

SOURCE_ROOT = Path(__file__).parents[2] / "toolkit"

ROW = {
    "file": "binlog.000012",
    "pos": 2**40,
    "inner": None,
    "db": "shop",
    "table": "orders",
    "op": "update",
    "before": {"id": 1, "f": 0.1},
    "after": {"id": 1, "f": None},
    "query": "",
}
HOSTILE = "\x1b[31mred\x9b2J\u202e\r\n[bold]x[/bold]\x7f\ud800"


def written(records: Any, tmp_path: Path, format: str = "jsonl", **options: Any) -> str:
    target = tmp_path / "out"
    write_records(records, Output(format, target, **options))
    return target.read_bytes().decode("utf-8")


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


class TestJsonLines:
    @settings(max_examples=40, deadline=None)
    @given(st.lists(st.dictionaries(st.text(), json_values, max_size=4), max_size=4))
    def test_reads_back_to_the_same_values(self, records: list[dict[str, Any]]) -> None:
        written_bytes = io.BytesIO()
        out = io.TextIOWrapper(written_bytes, encoding="utf-8")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "stdout", out)
            assert write_records(records, Output("jsonl")) == len(records)
        text = written_bytes.getvalue().decode("utf-8")
        lines = text.splitlines()  # also splits at NEL and the Unicode separators: none stand raw
        assert [json.loads(line) for line in lines] == records
        assert not any(c for c in text if c != "\n" and (c < " " or "\x7f" <= c <= "\x9f"))

    @pytest.mark.parametrize("number", [2**53 + 1, 2**63, 2**64 - 1, -(2**63)])
    def test_integers_of_64_bits_are_exact(self, number: int, tmp_path: Path) -> None:
        assert written([{"n": number}], tmp_path) == f'{{"n":{number}}}\n'

    @pytest.mark.parametrize(
        ("value", "stored"),
        [
            (float("nan"), "0x000000000000F87F"),
            (float("inf"), "0x000000000000F07F"),
            (float("-inf"), "0x000000000000F0FF"),
        ],
    )
    def test_no_nan(self, value: float, stored: str, tmp_path: Path) -> None:
        (line,) = written([{"after": {"f": value}}], tmp_path).splitlines()
        cell = json.loads(line, parse_constant=lambda name: pytest.fail(name))["after"]["f"]
        assert cell == {"undecodable": stored, "reason": "not a finite number"}

    def test_a_lone_surrogate_is_shown_not_sent(self, tmp_path: Path) -> None:
        text = written([{"file": os.fsdecode(b"bin\xfflog"), "k\ud800": 1}], tmp_path)
        assert json.loads(text) == {"file": "bin\\udcfflog", "k\\ud800": 1}
        assert text.count("\\\\ud") == 2

    def test_hostile_text_is_escaped_and_kept(self, tmp_path: Path) -> None:
        text = written([{"query": HOSTILE}], tmp_path)
        assert text.isascii()
        assert text.count("\n") == 1
        assert json.loads(text)["query"] == HOSTILE.replace("\ud800", "\\ud800")

    def test_other_types_have_the_contracts_forms(self, tmp_path: Path) -> None:
        zone = dt.timezone(dt.timedelta(hours=2))
        record = {
            "bytes": b"\x00\xff",
            "decimal": Decimal("-0.000000100"),
            "date": dt.date(2024, 2, 29),
            "datetime": dt.datetime(2024, 2, 29, 1, 2, 3, 40),
            "timestamp": dt.datetime(2024, 2, 29, 1, 2, 3, tzinfo=zone),
            "time": -dt.timedelta(hours=838, microseconds=500_000),
        }
        assert json.loads(written([record], tmp_path)) == {
            "bytes": "0x00FF",
            "decimal": "-0.000000100",
            "date": "2024-02-29",
            "datetime": "2024-02-29 01:02:03.000040",
            "timestamp": "2024-02-28 23:02:03",
            "time": "-838:00:00.500000",
        }

    def test_columns_leave_out_what_is_not_in_the_image(self, tmp_path: Path) -> None:
        records = [ROW, ROW | {"after": {"id": 2}}, ROW | {"after": None}]
        text = written(records, tmp_path, columns=["after.f", "op"])
        assert text.splitlines() == ['{"after.f":null,"op":"update"}', *['{"op":"update"}'] * 2]


class TestColumns:
    def test_parse(self) -> None:
        assert parse_columns("a, b") == ["a", "b"]
        assert parse_columns("`a,b`,after.`c``d `") == ["a,b", "after.c`d "]

    @pytest.mark.parametrize("text", ["", "a,,b", "a,a", "`a", "a,"])
    def test_parse_refuses(self, text: str) -> None:
        with pytest.raises(UsageError):
            parse_columns(text)

    @pytest.mark.parametrize("format", FORMATS)
    def test_an_unknown_column_is_refused_and_leaves_no_file(
        self, format: str, tmp_path: Path
    ) -> None:
        with pytest.raises(UsageError, match=r"no column posi; there are: file, pos"):
            write_records([ROW], Output(format, tmp_path / "out", columns=["posi"]))
        assert list(tmp_path.iterdir()) == []

    def test_a_name_with_a_dot_wins_over_a_path(self, tmp_path: Path) -> None:
        record = {"a": {"b": 1}, "a.b": 2}
        assert written([record], tmp_path, columns=["a.b"]) == '{"a.b":2}\n'

    def test_unknown_format(self) -> None:
        with pytest.raises(UsageError, match="not one of table, jsonl"):
            Output("xml")


class TestCsv:
    @pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", " =", "\n=", "＝", "＠"])
    def test_text_that_a_spreadsheet_would_run_is_guarded(self, start: str, tmp_path: Path) -> None:
        value = f"{start}cmd|' /C calc'!A0"
        (_, (cell,)) = csv.reader(io.StringIO(written([{"v": value}], tmp_path, "csv"), newline=""))
        assert cell == f"'{value}"
        text = written([{"v": value}], tmp_path, "csv", csv_raw=True)
        assert list(csv.reader(io.StringIO(text, newline="")))[1] == [value]

    def test_a_column_name_is_guarded_too(self, tmp_path: Path) -> None:
        assert written([{"=A1": 1}], tmp_path, "csv") == "'=A1\r\n1\r\n"

    def test_numbers_stay_numbers(self, tmp_path: Path) -> None:
        record = {"i": -5, "f": -1e-05, "d": "-12.340", "e": "+1e5", "no": "-1+1"}
        assert written([record], tmp_path, "csv").split("\r\n")[1] == "-5,-1e-05,-12.340,+1e5,'-1+1"

    def test_nested_values_are_json_text(self, tmp_path: Path) -> None:
        text = written([ROW], tmp_path, "csv")
        (record,) = csv.DictReader(io.StringIO(text, newline=""))
        assert json.loads(record["before"]) == ROW["before"]
        assert json.loads(record["after"]) == ROW["after"]

    def test_null_and_the_empty_string_differ(self, tmp_path: Path) -> None:
        text = written([{"a": None, "b": "", "c": 1}, {"a": "", "c": True}], tmp_path, "csv")
        assert text == 'a,b,c\r\n,"",1\r\n"",,true\r\n'

    @given(st.lists(st.lists(st.text(), min_size=2, max_size=2), max_size=5))
    def test_raw_reads_back(self, rows: list[list[str]]) -> None:
        from binlogkit.reports._csv import csv_lines

        cells: list[list[object]] = [list(row) for row in rows]
        text = "".join(csv_lines(["a", "b"], cells, raw=True, terminal=False))
        back = list(csv.reader(io.StringIO(text, newline="")))[1:]
        assert back == rows

    def test_names_make_the_header_of_an_empty_stream(self, tmp_path: Path) -> None:
        write_records([], Output("csv", tmp_path / "out"), names=["file", "pos"])
        assert (tmp_path / "out").read_bytes() == b"file,pos\r\n"


class TestPlainTable:
    def test_columns_are_aligned_and_nothing_is_cut(self, tmp_path: Path) -> None:
        records = [{"file": "binlog.000012", "pos": 4, "q": "x" * 500}, {"file": "b", "pos": 1234}]
        assert written(records, tmp_path, "table").splitlines() == [
            "file            pos  q",
            "binlog.000012     4  " + "x" * 500,
            "b              1234",
        ]

    def test_wide_characters_take_two_cells(self, tmp_path: Path) -> None:
        records = [{"t": "订单", "n": 1}, {"t": "abcd", "n": 1}]
        assert written(records, tmp_path, "table").splitlines() == ["t     n", "订单  1", "abcd  1"]

    def test_hostile_names_and_values_stay_on_one_line(self, tmp_path: Path) -> None:
        text = written([{HOSTILE: HOSTILE}], tmp_path, "table")
        assert text.isascii()
        assert text.splitlines()[0] == (r"\x1b[31mred\x9b2J\u202e\r\n[bold]x[/bold]\x7f\ud800")
        assert len(text.splitlines()) == 2

    def test_a_view_is_for_tables_only(self, tmp_path: Path) -> None:
        for format, expected in (("table", "op      pos\n"), ("csv", "file,pos,inner")):
            target = tmp_path / format
            write_records([ROW], Output(format, target), view=["op", "pos", "not there"])
            assert target.read_text(encoding="utf-8").startswith(expected[:7])


def on_a_terminal(script: str, columns: int = 80) -> str:
    """What ``script`` writes to a real pseudo-terminal."""
    leader, follower = pty.openpty()
    environment = {
        "COLUMNS": str(columns), "LINES": "40", "TERM": "xterm-256color", "LC_ALL": "C.UTF-8",
        "PYTHONPATH": str(SOURCE_ROOT), "PATH": os.environ["PATH"],
    }  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=follower, env=environment, stdin=subprocess.DEVNULL
    )
    os.close(follower)
    parts = []
    try:
        while part := os.read(leader, 1 << 16):
            parts.append(part)
    except OSError:  # Linux says EIO when the last writer is gone
        pass
    os.close(leader)
    assert process.wait() == 0
    return b"".join(parts).decode("utf-8")


class TestTerminal:
    def test_only_our_own_escape_sequences(self) -> None:
        text = on_a_terminal(
            "from binlogkit.reports.output import *\n"
            f"r = [{{'a': {HOSTILE!r}, {HOSTILE!r}: 'x', 'n': {{'k': {HOSTILE!r}}}}}]\n"
            "for f in ('table', 'csv', 'jsonl'): write_records(r, Output(f))",
            columns=200,
        )
        assert "[bold]x[/bold]" in text  # markup is text
        assert "\x1b[31m" not in text
        assert not {"\x9b", "\x7f", "\u202e"} & set(text)
        assert "\\x1b[31mred" in text

    def test_pages_fit_the_width(self) -> None:
        text = on_a_terminal(
            "from binlogkit.reports.output import *\n"
            "r = ({'file': 'binlog.000001', 'pos': i, 'q': 'select ' * 30} for i in range(150))\n"
            "write_records(r, Output('table', limit=0))"
        )
        lines = [line.split("\x1b[0m")[-1] for line in text.replace("\r", "").split("\n")]
        assert max(map(len, lines)) <= 80
        assert text.count("─" * 20) >= 2  # the second page has its header

    def test_records_that_do_not_fit_are_blocks(self) -> None:
        text = on_a_terminal(
            "from binlogkit.reports.output import *\n"
            "write_records([{f'column_{i}': 'v' * 20 for i in range(20)}], Output('table'))"
        )
        assert "[1]" in text
        assert text.count("v" * 20) == 20

    def test_a_huge_cell_is_cut_after_two_lines(self) -> None:
        text = on_a_terminal(
            "from binlogkit.reports.output import *\n"
            "write_records([{'a': 'x' * 10**6, 'b': 'y'}], Output('table'))"
        )
        lines = [line for line in text.splitlines() if "x" in line]
        assert len(lines) == 2 and lines[1].rstrip().endswith("…")

    def test_a_huge_cell_of_a_block_is_cut_after_three_lines(self) -> None:
        text = on_a_terminal(
            "from binlogkit.reports.output import *\n"
            "record = {f'column_{i}': 'v' * 20 for i in range(20)} | {'a': 'x' * 10**6}\n"
            "write_records([record], Output('table'))"
        )
        lines = [line for line in text.splitlines() if "xx" in line]
        assert len(lines) == 3 and lines[2].rstrip().endswith("…")

    @pytest.mark.parametrize(
        ("output", "shown", "said"),
        [
            ("'table'", 40, "(40 of 150 shown: --limit N shows N, --limit 0 all)"),
            ("'table', limit=3", 3, "(3 of 150 shown: --limit N shows N, --limit 0 all)"),
            ("'table', limit=0", 150, None),
            ("'table', limit=150", 150, None),
            ("'jsonl'", 150, None),
            ("'jsonl', limit=3", 3, None),
        ],
    )
    def test_a_table_shows_the_first_records(
        self, output: str, shown: int, said: str | None
    ) -> None:
        text = on_a_terminal(
            "from binlogkit.reports.output import *\n"
            "r = ({'n': i, 'q': 'record'} for i in range(150))\n"
            f"assert write_records(r, Output({output})) == 150"
        )
        assert text.count("record") == shown
        assert text.splitlines()[-1] == said or (said is None and "shown" not in text)

    def test_parquet_is_refused(self) -> None:
        text = on_a_terminal(
            "from binlogkit.reports.output import *\n"
            "from binlogkit.errors import UsageError\n"
            "try: write_records([{'a': 1}], Output('parquet'))\n"
            "except UsageError as exc: print(exc)"
        )
        assert text.strip() == "this format is not for a terminal; name a file with --output"


def events(count: int) -> Iterator[dict[str, Any]]:
    for i in range(count):
        yield {"file": "b", "pos": i}
    raise DamageError("b", count, "the file ends inside an event")


class TestDestination:
    @pytest.mark.parametrize("format", FORMATS)
    def test_a_file_is_private_and_alone(self, format: str, tmp_path: Path) -> None:
        before = os.umask(0)
        try:
            write_records([ROW], Output(format, tmp_path / "out"))
        finally:
            os.umask(before)
        assert [p.name for p in tmp_path.iterdir()] == ["out"]
        assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o600

    def test_what_came_before_damage_is_delivered(self, tmp_path: Path) -> None:
        with pytest.raises(DamageError):
            write_records(events(3), Output("csv", tmp_path / "out"))
        assert (tmp_path / "out").read_text() == "file,pos\nb,0\nb,1\nb,2\n"

    @pytest.mark.parametrize("format", FORMATS)
    @pytest.mark.parametrize("count", [1, 3, 150])
    def test_each_form_delivers_what_came_before(
        self, format: str, count: int, tmp_path: Path
    ) -> None:
        """Also where less than a table's page or a row group was read."""
        with pytest.raises(DamageError):
            write_records(events(count), Output(format, tmp_path / "out"))
        if format in {"parquet", "arrow"}:
            positions = read_back(tmp_path / "out", format).column("pos").to_pylist()
        elif format == "jsonl":
            lines = (tmp_path / "out").read_text().splitlines()
            positions = [json.loads(line)["pos"] for line in lines]
        else:
            lines = (tmp_path / "out").read_text().replace(",", " ").splitlines()
            positions = [int(line.split()[1]) for line in lines[1:]]
        assert positions == list(range(count))

    @pytest.mark.parametrize("format", FORMATS)
    def test_an_error_before_the_first_record_makes_no_file(
        self, format: str, tmp_path: Path
    ) -> None:
        with pytest.raises(DamageError):
            write_records(events(0), Output(format, tmp_path / "out"))
        assert not list(tmp_path.iterdir())

    @pytest.mark.parametrize("format", ["parquet", "arrow"])
    def test_what_came_before_damage_is_readable(self, format: str, tmp_path: Path) -> None:
        schema = pa.schema([("pos", pa.int64())])

        def batches() -> Iterator[pa.RecordBatch]:
            yield pa.record_batch({"pos": [1, 2]}, schema=schema)
            raise DamageError("b", 2, "the file ends inside an event")

        with pytest.raises(DamageError):
            write_batches(schema, batches(), Output(format, tmp_path / "out"))
        assert read_back(tmp_path / "out", format).column("pos").to_pylist() == [1, 2]

    def test_another_exception_leaves_the_old_file(self, tmp_path: Path) -> None:
        target = tmp_path / "out"
        target.write_text("old")

        def records() -> Iterator[dict[str, Any]]:
            yield {"a": 1}
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            write_records(records(), Output("jsonl", target))
        assert target.read_text() == "old"
        assert list(tmp_path.iterdir()) == [target]

    @pytest.mark.parametrize("name", ["missing/out", ".", "nul\0"])
    def test_a_place_that_cannot_be_written(self, name: str, tmp_path: Path) -> None:
        with pytest.raises(UsageError):
            write_records([ROW], Output("jsonl", f"{tmp_path}/{name}"))

    def test_a_device_is_not_replaced(self) -> None:
        write_records([ROW], Output("jsonl", "/dev/null"))
        assert stat.S_ISCHR(os.stat("/dev/null").st_mode)

    @pytest.mark.parametrize("format", ["jsonl", "table", "arrow"])
    def test_a_closed_pipe_is_quiet(self, format: str) -> None:
        script = (
            "from binlogkit.reports.output import *\n"
            f"write_records(({{'a': i}} for i in range(400_000)), Output({format!r}))"
        )
        process = subprocess.Popen(
            [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={"PYTHONPATH": str(SOURCE_ROOT), "PATH": os.environ["PATH"]},
        )  # fmt: skip
        assert process.stdout is not None and process.stderr is not None
        process.stdout.read(1)
        process.stdout.close()
        assert process.stderr.read() == b""
        process.stderr.close()
        assert process.wait() == 0

    def test_standard_output_without_bytes(self, monkeypatch: pytest.MonkeyPatch) -> None:
        out = io.StringIO()
        monkeypatch.setattr(sys, "stdout", out)
        write_records([{"a": "é"}], Output("jsonl"))
        assert out.getvalue() == '{"a":"é"}\n'
        with pytest.raises(UsageError, match="takes no bytes"):
            write_records([{"a": 1}], Output("arrow"))


def read_back(path: Path, format: str) -> pa.Table:
    if format == "parquet":
        return pq.read_table(path)
    with pa.OSFile(str(path)) as source:
        return pa.ipc.open_stream(source).read_all()


@pytest.mark.parametrize("format", ["parquet", "arrow"])
class TestColumnar:
    def test_contract_columns_have_their_types_whatever_comes_first(
        self, format: str, tmp_path: Path
    ) -> None:
        records: list[dict[str, Any]] = [
            {"pos": None, "xid": None, "gtid": None, "other": None, "after": None},
            ROW,
        ]
        write_records(records, Output(format, tmp_path / "out"))
        table = read_back(tmp_path / "out", format)
        assert [str(t) for t in table.schema.types] == [
            "int64", "uint64", "string", "string", "string",
        ]  # fmt: skip
        assert json.loads(table.column("after").to_pylist()[1]) == ROW["after"]

    def test_integers_of_64_bits(self, format: str, tmp_path: Path) -> None:
        write_records([{"u": 2**64 - 1, "i": -(2**63)}], Output(format, tmp_path / "out"))
        table = read_back(tmp_path / "out", format)
        assert table.to_pylist() == [{"u": 2**64 - 1, "i": -(2**63)}]

    def test_a_type_that_changes_is_told(self, format: str, tmp_path: Path) -> None:
        records: list[dict[str, Any]] = [*({"a": 1} for _ in range(9000)), {"a": "text"}]
        with pytest.raises(SchemaError, match="column a was int64"):
            write_records(records, Output(format, tmp_path / "out"))

    def test_empty(self, format: str, tmp_path: Path) -> None:
        write_records([], Output(format, tmp_path / "out"), names=["file", "pos"])
        assert read_back(tmp_path / "out", format).schema.names == ["file", "pos"]
        write_records([], Output(format, tmp_path / "none"))
        assert read_back(tmp_path / "none", format).num_rows == 0


class TestBatchesAsText:
    def test_json_text_is_made_one_safe_line(self, tmp_path: Path) -> None:
        batch = pa.record_batch({"after": ['{"a":\n "\x9b\u2028é"}']})
        write_batches(batch.schema, [batch], Output("jsonl", tmp_path / "out"))
        text = (tmp_path / "out").read_text(encoding="utf-8")
        assert text == '{"after":{"a":"\\u009b\\u2028é"}}\n'


def test_memory_is_bounded(tmp_path: Path) -> None:
    """A stream of 8 MB of records is never held: what is alive stays far below it."""
    import tracemalloc

    tracemalloc.start()
    records = ({"file": "b", "pos": i, "q": "x" * 1000} for i in range(8_000))
    write_records(records, Output("table", tmp_path / "out"))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (tmp_path / "out").stat().st_size > 8_000_000
    assert peak < 2_000_000


def test_times_are_iso_in_tables_and_csv(tmp_path: Path) -> None:
    declared = fields(("at", "seconds?", "when"), ("commit", "microseconds", "when"))
    records: list[dict[str, Any]] = [
        {"at": 1767323045, "commit": 1767323045000006},
        {"at": None, "commit": 2**62},
    ]
    path = tmp_path / "out"
    write_records(records, Output(path=path), declared=declared)
    assert path.read_text().split() == [
        "at", "commit", "2026-01-02T03:04:05Z", "2026-01-02T03:04:05.000006Z", str(2**62),
    ]  # fmt: skip
    write_records(records, Output("csv", path), declared=declared)
    assert path.read_text().split()[1:] == [
        "2026-01-02T03:04:05Z,2026-01-02T03:04:05.000006Z", f",{2**62}",
    ]  # fmt: skip
    write_records(records, Output("jsonl", path), declared=declared)
    assert "1767323045000006" in path.read_text()
