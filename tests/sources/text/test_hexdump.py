"""Hexdumps: as the programs print them, as people paste them, damaged, hostile."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import binlogkit as bk
from binlogkit.errors import DamageError, LimitError
from binlogkit.sources.carriers import resolve
from binlogkit.sources.text.hexdump import Dump
from tests.sources.carried import DATA, KEYS, events, hexdump_c, od, one_line, xxd, xxd_plain

LOG = KEYS.read_bytes()
EVENT, NEXT = LOG[126:157], LOG[157:234]
ON_ONE_LINE = Path(__file__).parent / "_data" / "one_line_hexdumps.txt"

PROGRAMS = [
    ["xxd"],
    ["xxd", "-c", "24", "-g", "1"],
    ["xxd", "-u"],
    ["xxd", "-p"],
    ["hexdump", "-C"],
    ["hexdump", "-C", "-v"],
    ["hexdump"],
    ["od", "-A", "x", "-t", "x1z"],
    ["od", "-A", "x", "-t", "x1z", "-v"],
    ["od", "-t", "x1"],
    ["od", "-A", "d", "-t", "x1"],
    ["od", "-x"],
    ["od", "-A", "n", "-v", "-t", "x1"],
]


def plain(text: str | bytes) -> bytes:
    """The bytes that the dumps of a text show."""
    with resolve(text if isinstance(text, bytes) else text.encode("latin-1"))[0].open() as file:
        data = b""
        while chunk := file.read(1 << 16):
            data += chunk
        return data


def dumped(text: str) -> bytes:
    """What a dump shows, whether a log or not."""
    import io

    items = list(Dump("text", io.BytesIO(text.encode("latin-1"))))
    assert not any(isinstance(item, DamageError) for item in items)
    return b"".join(item for item in items if isinstance(item, bytes))


@pytest.mark.parametrize("size", [None, 4096, 1000, 17])
@pytest.mark.parametrize(
    "argv", [p for p in PROGRAMS if shutil.which(p[0])], ids=lambda argv: " ".join(argv)
)
def test_what_programs_print(argv: list[str], size: int | None) -> None:
    data = LOG if size is None else LOG[:size] if size > 100 else LOG[:4] + LOG[4:126]
    printed = subprocess.run(argv, input=data, capture_output=True, check=True).stdout
    assert plain(printed) == data


@settings(max_examples=150, deadline=None)
@given(st.binary(min_size=1, max_size=200), st.sampled_from([hexdump_c, xxd, od]), st.booleans())
def test_any_bytes(data: bytes, printer: Any, broken: bool) -> None:
    """Whatever the picture shows, it is no digit of the dump, also when line breaks are lost."""
    data = b"\xfebin" + data
    text = printer(data)
    if broken:
        text = text.replace("\n", " ")
    assert dumped(text) == data


@pytest.mark.parametrize("text", [" 00000010 ", "|00000010 41", "de ad be ef", "00000010: 4142"])
@pytest.mark.parametrize("printer", [hexdump_c, xxd, od])
def test_a_picture_that_looks_like_a_row(printer: Any, text: str) -> None:
    data = (b"\xfebin" + b"-" * 12) + f"{text:<16}".encode()[:16] * 3 + b"the end"
    assert dumped(printer(data)) == data


FORMS = {
    "digits": EVENT.hex(),
    "upper case": EVENT.hex().upper(),
    "pairs": EVENT.hex(" "),
    "0x": f"0x{EVENT.hex()}",
    "a hex literal of SQL": f"SELECT X'{EVENT.hex()}';",
    "an array in C": ", ".join(f"0x{b:02x}" for b in EVENT),
    "escapes": "".join(f"\\x{b:02x}" for b in EVENT),
    "amid prose": f"The event is\n{EVENT.hex(' ')}\nas you see.",
    "in one line of prose": f"the event {EVENT.hex()} is here",
    "xxd -p in lines": xxd_plain(EVENT),
    "xxd, one line": one_line(xxd(EVENT)),
    "behind a command": f"$ hexdump -C log {one_line(hexdump_c(EVENT))}",
    "quoted in a letter": "".join(f"> {line}\n" for line in hexdump_c(EVENT).splitlines()),
    "behind a status byte": (b"\0" + EVENT).hex(),
    "a packet": hexdump_c(b"\x20\0\0\x05\0" + EVENT),
}


@pytest.mark.parametrize("form", FORMS)
def test_an_event_by_itself(form: str) -> None:
    assert [(e["pos"], e["end_pos"], e["checksum"]) for e in events(FORMS[form].encode())] == [
        (126, 157, "ok")
    ]


def test_several_dumps_of_events() -> None:
    text = f"first\n{hexdump_c(EVENT)}\nthen\n{hexdump_c(NEXT)}"
    assert [e["pos"] for e in events(text.encode())] == [126, 157]


def test_part_of_a_file() -> None:
    """``hexdump -s 126 -C``: the offsets are the file's, and it has no magic."""
    rows = hexdump_c(LOG[:234]).splitlines()[:-1]
    part = [
        f"{126 + at:08x}  {LOG[126 + at : min(142 + at, 234)].hex(' ')}  |…|"
        for at in range(0, 234 - 126, 16)
    ]
    assert len(part) < len(rows)
    assert [e["pos"] for e in events("\n".join(part).encode())] == [126, 157]


def test_dumps_whose_lines_were_joined() -> None:
    """As the internals manual prints them where it shows a log and a relay log."""
    cut, whole = ON_ONE_LINE.read_bytes().splitlines()
    (start,) = events(whole)
    assert (start["pos"], start["end_pos"], start["type"]) == (4, 107, "FORMAT_DESCRIPTION_EVENT")
    assert start["fields"]["server_version"] == "5.5.2-m2"  # type: ignore[index]
    with pytest.raises(DamageError, match="the file ends 44 bytes into an event of 102"):
        events(cut)


# ---- damage -------------------------------------------------------------------------------


def _changed(text: str, line: int, column: int, new: str) -> str:
    """``text`` with other characters at a line and column, counted from 1."""
    lines = text.splitlines()
    old = lines[line - 1]
    lines[line - 1] = old[: column - 1] + new + old[column - 1 + len(new) :]
    return "\n".join(lines)


def _unsqueezed(data: bytes) -> str:
    return hexdump_c(data, squeeze=False)


PLACES = [  # row 301 begins at 12c0, inside the event at 4743
    (_unsqueezed, 11, "g", "line 301, column 11 of the text: 'g' is no hex digit"),
    (_unsqueezed, 15, "Z", "line 301, column 15 of the text: 'Z' is no hex digit"),
    (xxd, 11, "zz", "line 301, column 11 of the text: 'z' is no hex digit"),
    (xxd, 30, "\u00e9", "line 301, column 30 of the text: 'é' is no hex digit"),
    (od, 20, "?", "line 301, column 20 of the text: '\\?' is no hex digit"),
    (_unsqueezed, 5, "x", "line 301, column 1 of the text: the offset of a row cannot be read"),
]


@pytest.mark.parametrize(("printer", "column", "new", "message"), PLACES)
def test_a_bad_digit_is_told_by_line_and_column(
    printer: Any, column: int, new: str, message: str
) -> None:
    damaged = _changed(printer(LOG), 301, column, new).encode("latin-1")
    with pytest.raises(DamageError, match=message) as caught:
        events(damaged)
    assert caught.value.offset == 0x12C0
    log = bk.open(damaged, on_damage="report")
    found = [e["pos"] for e in log.event_records()]
    assert 0x12C0 in [damage.offset for damage in log.damages]
    assert (found[0], found[-1]) == (4, events(LOG)[-1]["pos"])


def test_damage_is_told_in_the_order_of_its_places() -> None:
    """A digit far behind a damaged event does not come before what is wrong with that."""
    damaged = _changed(_unsqueezed(LOG), 301, 11, "g")
    log = bk.open(_changed(damaged, 501, 11, "g").encode(), on_damage="report")
    found = list(log.event_records())
    offsets = [damage.offset for damage in log.damages]
    assert offsets == sorted(offsets)
    assert len(offsets) > 2 and {0x12C0, 0x1F40} <= set(offsets)
    assert found[-1]["pos"] == events(LOG)[-1]["pos"]


def test_a_missing_row() -> None:
    lines = hexdump_c(LOG, squeeze=False).splitlines()
    text = "\n".join([*lines[:300], *lines[301:]])
    with pytest.raises(DamageError, match="16 bytes are missing before offset 000012d0") as caught:
        events(text.encode())
    assert caught.value.offset == 0x12C0
    assert events(text.encode(), on_damage="report")[-1]["pos"] == events(LOG)[-1]["pos"]


def test_what_came_before_damage_is_delivered() -> None:
    lines = hexdump_c(LOG, squeeze=False).splitlines()
    log = bk.open("\n".join([*lines[:300], *lines[301:]]).encode())
    seen = []
    with pytest.raises(DamageError):
        for event in log.event_records():
            seen.append(event["end_pos"])
    assert seen[-1] == 4743


def test_digits_in_lines_with_a_wrong_one() -> None:
    text = _changed(xxd_plain(LOG), 6, 8, "q")
    with pytest.raises(DamageError, match="line 6, column 8 of the text: 'q' is no hex digit"):
        events(text.encode())


@pytest.mark.parametrize("line", ["100x12", "1234567x'12"])
def test_prefixes_inside_of_digits(line: str) -> None:
    """No bytes are read out of it; between lines of digits it is damage."""
    import io

    assert list(Dump("text", io.BytesIO(line.encode()))) == []
    lines = xxd_plain(LOG).splitlines()
    text = "\n".join([*lines[:5], line, *lines[6:]]).encode()
    with pytest.raises(DamageError, match=r"line 6, column \d+ of the text"):
        events(text)


def test_squeezed_rows_without_offsets() -> None:
    text = EVENT.hex(" ") + "\n*\n" + NEXT.hex(" ")
    with pytest.raises(DamageError, match="without offsets their number is unknown"):
        events(text.encode())


def test_a_squeezed_gap_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A ``*`` may claim exabytes."""
    rows = hexdump_c(LOG[:126]).splitlines()[:-1]
    text = "\n".join([*rows, "*", "fffffffffffffff0  00 00  |..|"])
    monkeypatch.setenv("BINLOGKIT_LIMIT_REPEATED", "100000")
    with pytest.raises(LimitError, match="BINLOGKIT_LIMIT_REPEATED"):
        events(text.encode())


@pytest.mark.parametrize("column", [5, 11], ids=["offset", "digits"])
def test_a_row_that_cannot_be_read_and_is_repeated(column: int) -> None:
    """A ``*`` says again what nobody knows: as many bytes are missing, and reading ends."""
    lines = _changed(hexdump_c(LOG, squeeze=False), 301, column, "x").splitlines()
    text = "\n".join([*lines[:301], "*", *lines[305:]]).encode()
    log = bk.open(text, on_damage="report")
    found = [event["pos"] for event in log.event_records()]
    assert found[-1] == events(LOG)[-1]["pos"]
    assert log.damages[0].offset == 0x12C0


def test_a_long_line_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BINLOGKIT_LIMIT_TEXT_LINE", "300000")
    text = (LOG * 30).hex()
    with pytest.raises(LimitError, match="BINLOGKIT_LIMIT_TEXT_LINE"):
        events(text.encode())


@pytest.mark.oracle
@pytest.mark.parametrize("case", ["8.0-row-compressed/keys", "5.7-statement-full/keys"])
@pytest.mark.gate(1)
def test_mysqlbinlogs_hexdump(case: str) -> None:
    """Every event of the log, with its bytes; those of a payload once."""
    from binlogkit_fixtures.servers.mysqlbinlog import ensure

    log = DATA / case / "binlog.000001"
    argv = [*ensure().argv, "--no-defaults", "--hexdump", str(log)]
    printed = subprocess.run(argv, capture_output=True, check=True).stdout
    assert events(printed) == events(log)
