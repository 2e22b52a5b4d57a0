"""Reports as text: sensible at 80 columns, plain elsewhere, printable always."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from rich.cells import cell_len

from binlogkit.reports import text
from binlogkit.reports._table import Screen, fit
from binlogkit.reports.model import Card, Changes, Column, Items, Part, Report, Section, Table, Text
from binlogkit.reports.output import Output

HOSTILE = "\x1b[31mred\x9b\u202e[bold]x[/bold]\r\n:smile:"


def everywhere(value: str) -> Report:
    table = Table([{value: value, "n": 1}], caption=value)
    parts: list[Part] = [
        table,
        Table([], empty=value),
        Changes([], caption=value),
        Text(value),
        Items([(value, value)]),
    ]
    return Report(
        value, [Section(value, parts, value)], value, [Card(value, value)], [(value, value)]
    )


@pytest.mark.parametrize("on", [None, Screen(80), Screen(40, "truecolor")])
class TestEverywhere:
    def test_nothing_of_a_log_reaches_the_terminal_raw(self, on: Screen | None) -> None:
        written = "".join(text.render(everywhere(HOSTILE), on))
        assert "\\x1b[31mred" in written
        assert not {"\x9b", "\u202e", "\r"} & set(written)
        assert "\x1b[31m" not in written
        assert "[bold]x" in written.replace("\n", "")

    def test_every_piece_ends_a_line(self, on: Screen | None) -> None:
        assert all(piece.endswith("\n") for piece in text.render(everywhere("x"), on))


class TestWidth:
    def test_a_screen_is_kept(self) -> None:
        row = {
            "file": "/very/long/" * 9,
            "sha256": "ab" * 32,
            "rows": 10**9,
            "订单" * 30: "é" * 300,
        }
        report = Report("t" * 300, [Section("s", [Table([row] * 3)], "word " * 60)])
        for width in (60, 80, 132):
            for line in "".join(text.render(report, Screen(width))).split("\n")[2:]:
                assert cell_len(line) <= width

    def test_columns_that_do_not_fit_are_named(self) -> None:
        row = {f"count_{i}": 10**9 for i in range(20)}
        columns = [Column(name, kind="number") for name in row]
        written = "".join(
            text.render(Report("t", [Section("s", [Table([row], columns)])]), Screen(80))
        )
        assert "(not shown in 80 columns: count 5, count 6" in written
        assert written.count("1,000,000,000") == 5

    def test_plain_text_shows_all_columns_on_one_line(self) -> None:
        row = {f"c{i}": "v" * 30 for i in range(20)}
        written = "".join(text.render(Report("t", [Section("s", [Table([row])])])))
        assert any(line.count("v" * 30) == 20 for line in written.splitlines())

    @pytest.mark.parametrize(
        ("natural", "numeric", "width", "expected"),
        [
            ([5, 5], [False, False], 80, [5, 5]),
            ([50, 50], [False, False], 80, [38, 38]),
            ([50, 12], [False, True], 40, [24, 12]),
            ([50, 30], [False, True], 40, None),
            ([200, 20, 10], [False, False, False], 60, [24, 20, 10]),
        ],
    )
    def test_fit(self, natural: Any, numeric: Any, width: int, expected: Any) -> None:
        assert fit(natural, numeric, width) == expected


class TestParts:
    def test_rows_left_out_are_counted(self) -> None:
        table = Table([{"a": i} for i in range(30)], limit=5)
        written = "".join(text.render(Report("t", [Section("s", [table])])))
        assert "25 more rows are not shown here." in written

    def test_write_to_a_private_file(self, tmp_path: Path) -> None:
        text.write(everywhere("é"), tmp_path / "report.txt")
        assert (tmp_path / "report.txt").read_text("utf-8").startswith("é\n=\n")
        assert (tmp_path / "report.txt").stat().st_mode & 0o777 == 0o600


STATE = pa.RecordBatch.from_pydict(
    {
        "values": [
            '{"id":1,"name":null,"note":"","doc":"NULL"}',
            r'{"id":2,"name":"\u001b[2J","doc":{"undecodable":"0xFF","reason":"r"}}',
        ],
        "unknown": ["[]", '["note"]'],
    }
)


class _State:
    """A state's rows."""

    def batches(self) -> Iterator[pa.RecordBatch]:
        yield STATE

    def typed(self) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        whole = pa.RecordBatch.from_pydict({"id": [1, 2]})
        return whole.schema, iter([whole])


class TestState:
    def test_table(self, tmp_path: Path) -> None:
        assert text.write_state(_State(), Output("table", tmp_path / "s")) == 2
        assert (tmp_path / "s").read_text().splitlines() == [
            "id  name     note  doc",
            " 1  NULL     ''    NULL",
            ' 2  \\x1b[2J  ?     {"undecodable":"0xFF","reason":"r"}',
        ]

    def test_files_of_values_have_the_tables_columns(self, tmp_path: Path) -> None:
        assert text.write_state(_State(), Output("csv", tmp_path / "s")) == 2
        assert (tmp_path / "s").read_text().split() == ["id", "1", "2"]

    def test_json_lines_are_the_contracts(self, tmp_path: Path) -> None:
        text.write_state(_State(), Output("jsonl", tmp_path / "s"))
        assert (tmp_path / "s").read_text().splitlines()[0] == (
            '{"values":{"id":1,"name":null,"note":"","doc":"NULL"},"unknown":[]}'
        )


class TestBrief:
    REPORT = Report(
        "t",
        [
            Section("first", [Table([{"n": n} for n in range(8)])]),
            Section("large", [Table([{"n": n} for n in range(90)])]),
            Section("last", [Text("one line")]),
        ],
    )

    def test_sections_that_fit_are_whole_and_others_named(self) -> None:
        written = "".join(text.brief(self.REPORT, Screen(80), 30, "--all shows all of it."))
        assert written.count("\n") <= 30
        assert [f"\n{title}\n-" in written for title in ("first", "large", "last")] == [1, 0, 1]
        assert written.endswith("\nNot shown: large. --all shows all of it.\n")

    def test_a_report_that_fits_is_whole(self) -> None:
        written = "".join(text.brief(self.REPORT, Screen(80), 200, "--all"))
        assert written == "".join(text.render(self.REPORT, Screen(80)))
