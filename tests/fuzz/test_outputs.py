"""Hostile names, values and statements through every command: table, JSON lines, csv, HTML."""

from __future__ import annotations

import csv
import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from binlogkit.cli import run as run_command_line
from tests.fuzz.binlogkit_fuzz.framing import log_of

MARKS = "\u202e\u2066\u200f\ufeff"  # they turn the rest of a line around
SCRIPT = "<script>alert(1)</script>"
ESCAPE = "\x1b]0;owned\x07\x1b[2J\x9b31m"
EVIL = f"{ESCAPE}{MARKS}{SCRIPT}\"'`;-- \r\n\x00\x85\u2028</td></table>"
NAME = f"{SCRIPT}`\x1b[31m{MARKS}"  # 64 characters at most, as a server takes them
QUOTED = f"`{NAME.replace('`', '``')}`"
FORMULA = "=cmd|'/c calc'!A0"
UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
ROTATE, QUERY, USER_VAR, TABLE_MAP, WRITE_ROWS, UPDATE_ROWS = 4, 2, 14, 19, 30, 31
XID, INCIDENT, ROWS_QUERY, XA_PREPARE = 16, 26, 29, 38


def packed(data: bytes) -> bytes:
    size = len(data)
    return (bytes([size]) if size < 251 else b"\xfc" + size.to_bytes(2, "little")) + data


def query(sql: str) -> bytes:
    schema = NAME.encode()
    zone = b"\5" + bytes([len(NAME.encode())]) + NAME.encode()
    user = b"\x0b" + 2 * (bytes([len(NAME.encode())]) + NAME.encode())
    status = zone + user
    head = bytes(8) + bytes([len(schema)]) + bytes(2) + len(status).to_bytes(2, "little")
    return head + status + schema + b"\0" + sql.encode()


def hostile_log() -> bytes:
    """A table with two columns, an ENUM among them, all named and filled by somebody else."""
    types, metadata = b"\x0f\xfe", b"\xff\xff" + b"\xf7\1"
    names = packed(NAME.encode()) + packed(b"=" + NAME.encode())
    labels = b"\1" + packed(EVIL.encode())
    optional = b"\2" + packed(b"\x2d") + b"\4" + packed(names) + b"\6" + packed(labels)
    optional += b"\x0a" + packed(b"\x2d")
    table = bytes(6) + b"\1\0" + 2 * (packed(NAME.encode()) + b"\0") + b"\2" + types + b"\4"
    table += metadata + b"\3" + optional

    def row(value: str) -> bytes:
        data = value.encode()
        return b"\0" + len(data).to_bytes(2, "little") + data + b"\1"

    rows = bytes(6) + b"\1\0\2\0\2"
    return log_of(
        [
            (QUERY, query(f"CREATE TABLE `{NAME.replace('`', '``')}` (a INT) COMMENT '{EVIL}'")),
            (QUERY, query("BEGIN")),
            (USER_VAR, len(NAME.encode()).to_bytes(4, "little") + NAME.encode() + b"\1"),
            (ROWS_QUERY, b"\0" + f"{FORMULA} {EVIL}".encode()),
            (TABLE_MAP, table),
            (WRITE_ROWS, rows + b"\xff" + row(EVIL) + row(FORMULA)),
            (TABLE_MAP, table),
            (UPDATE_ROWS, rows + b"\xff\xff" + row(FORMULA) + row(EVIL)),
            (XID, bytes(8)),
            (QUERY, query(f"SAVEPOINT `{EVIL}`")),
            (INCIDENT, b"\1\0" + bytes([len(EVIL.encode())]) + EVIL.encode()),
            (ROTATE, (4).to_bytes(8, "little") + EVIL.encode()),
        ]
    )


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The log, beside a broken copy: damage names the file, whose name is hostile too."""
    folder = tmp_path_factory.mktemp("logs")
    found = folder / f"b\x1b[31m{MARKS}<b>.000001"
    found.write_bytes(hostile_log())
    return found


COMMANDS = [
    ["events"],
    ["rows"],
    ["transactions"],
    ["audit"],
    ["verify"],
    ["explain"],
    ["state", "--table", f"{QUOTED}.{QUOTED}"],
    ["state"],
    ["life", "--key", FORMULA, "--key-columns", QUOTED, "--table", f"{QUOTED}.{QUOTED}"],
    ["diff", "--from", "4", "--table", f"{QUOTED}.{QUOTED}"],
]
SCRIPTS = [["undo", "--despite-gaps"], ["redo", "--despite-gaps"]]  # the incident is one


def said(
    capsysbinary: pytest.CaptureFixture[bytes], path: Path, command: list[str], *more: str
) -> str:
    """What the command prints, of which nothing may be unsafe; also what it complains."""
    capsysbinary.readouterr()
    status = run_command_line([command[0], str(path), *command[1:], *more])
    assert status in (0, 1)
    captured = capsysbinary.readouterr()
    assert not UNSAFE.search(captured.err.decode("utf-8").replace("\n", "")), captured.err
    return captured.out.decode("utf-8")


@pytest.mark.parametrize("command", [*COMMANDS, *SCRIPTS], ids=lambda c: c[0])
def test_the_terminal_gets_no_control_character(
    capsysbinary: pytest.CaptureFixture[bytes], path: Path, command: list[str]
) -> None:
    text = said(capsysbinary, path, command)
    assert text
    found = UNSAFE.search(text.replace("\n", ""))
    assert not found, repr(text[max(0, found.start() - 80) : found.end() + 40])


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: c[0])
def test_json_lines_are_lines(
    capsysbinary: pytest.CaptureFixture[bytes], path: Path, command: list[str]
) -> None:
    text = said(capsysbinary, path, command, "--format", "jsonl")
    assert not UNSAFE.search(text.replace("\n", ""))
    assert text.count("\n") == len(text.splitlines())


def test_json_lines_keep_every_character(
    capsysbinary: pytest.CaptureFixture[bytes], path: Path
) -> None:
    text = said(capsysbinary, path, ["rows"], "--format", "jsonl")
    rows = [json.loads(line) for line in text.splitlines()]
    assert [row["op"] for row in rows] == ["insert", "insert", "update"]
    assert [row["after"][NAME] for row in rows] == [EVIL, FORMULA, EVIL]
    assert {row["after"]["=" + NAME] for row in rows} == {EVIL}
    assert {(row["db"], row["table"]) for row in rows} == {(NAME, NAME)}


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: c[0])
def test_no_cell_of_a_csv_is_a_formula(
    capsysbinary: pytest.CaptureFixture[bytes], path: Path, command: list[str]
) -> None:
    section = ["--section", "by_table"] if command == ["audit"] else []
    text = said(capsysbinary, path, [*command, *section], "--format", "csv")
    assert text.count("\n") > 1
    for cells in csv.reader(io.StringIO(text, newline="")):
        assert not [c for c in cells if re.match(r"[=+\-@\t\r]", c) and not re.match(r"-?\d", c)]


class _Tags(HTMLParser):
    """The tags and attributes of a page, and its text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.shown: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.shown.append(data)


@pytest.mark.parametrize("command", [["audit"], ["explain"]], ids=lambda c: c[0])
def test_the_html_holds_it_as_text(
    capsysbinary: pytest.CaptureFixture[bytes], path: Path, tmp_path: Path, command: list[str]
) -> None:
    report = tmp_path / "report.html"
    said(capsysbinary, path, command, "--html", str(report))
    text = report.read_text("utf-8")
    assert SCRIPT not in text and "&lt;script&gt;" in text
    assert not UNSAFE.search(text.replace("\n", "").replace("\r", ""))
    page = _Tags()
    page.feed(text)
    assert "script" not in page.tags
    assert not {name for name in page.attributes if name.startswith("on")}
    assert SCRIPT in "".join(page.shown)


def test_damage_names_the_file_safely(
    capsysbinary: pytest.CaptureFixture[bytes], path: Path
) -> None:
    broken = path.with_name(f"{path.name}.broken")
    broken.write_bytes(path.read_bytes()[:-3])
    for command in (["events"], ["rows"], ["verify"], ["audit"], ["explain"]):
        said(capsysbinary, broken, command, "--format", "jsonl")
    broken.unlink()
