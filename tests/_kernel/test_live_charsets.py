"""Every charset against live servers: all one- and two-byte codes, and the longer ones."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from types import ModuleType

import pytest

from binlogkit._kernel.cells import CellSpec
from binlogkit._kernel.charsets import CHARSETS, COLLATIONS, decode
from binlogkit.constants import ColumnType as T
from binlogkit.frames.schema import CellState
from binlogkit_fixtures.servers import Server

pytestmark = pytest.mark.server
CODES_PER_QUERY = 2000
# gb18030's four-byte codes: every 97th, and both ends.
FOUR_BYTE_STEP = 97


def codes(charset: str) -> Iterator[bytes]:
    yield from (bytes([i]) for i in range(256))
    if charset in ("binary", "ucs2", "utf16", "utf16le", "utf32"):
        return
    yield from (bytes([i, j]) for i in range(0x80, 256) for j in range(256))
    if charset in ("eucjpms", "ujis"):
        yield from (bytes([0x8F, i, j]) for i in range(0xA0, 256) for j in range(0xA0, 256))
    if charset == "gb18030":
        yield from four_byte()


def four_byte() -> Iterator[bytes]:
    for i in range(0, 126 * 10 * 126 * 10, FOUR_BYTE_STEP):
        rest, fourth = divmod(i, 10)
        rest, third = divmod(rest, 126)
        first, second = divmod(rest, 10)
        yield bytes([0x81 + first, 0x30 + second, 0x81 + third, 0x30 + fourth])


def units(charset: str) -> Iterator[bytes]:
    """Every 16-bit unit of ucs2 and utf16, and a sample of pairs and of utf32."""
    if charset in ("ucs2", "utf16", "utf16le"):
        little = charset == "utf16le"
        yield from (i.to_bytes(2, "little" if little else "big") for i in range(65536))
    if charset in ("utf16", "utf16le", "utf32"):
        codec = {"utf16": "utf-16-be", "utf16le": "utf-16-le", "utf32": "utf-32-be"}[charset]
        yield from (chr(i).encode(codec) for i in range(0x10000, 0x110000, 257))
    if charset == "utf32":
        yield from (i.to_bytes(4, "big") for i in range(0, 0x120000, 31))


def answers(server: Server, charset: str, wanted: Iterator[bytes]) -> Iterator[tuple[bytes, str]]:
    """A code and the server's text of it, empty where it has none."""
    while part := list(islice(wanted, CODES_PER_QUERY)):
        (row,) = server.query("SELECT " + ",".join(_column(c, charset) for c in part))
        for code, answer in zip(part, row, strict=True):
            yield code, _text(code, answer)


def _column(code: bytes, charset: str) -> str:
    """NULL for a malformed code, of which 5.7 makes what is left when it is cut."""
    text = f"CONVERT(X'{code.hex()}' USING {charset})"
    return f"IF(LENGTH({text}) = {len(code)}, HEX(CONVERT({text} USING utf32)), NULL)"


def _text(code: bytes, utf32: str | None) -> str:
    raw = bytes.fromhex(utf32 or "")
    points = [int.from_bytes(raw[i : i + 4], "big") for i in range(0, len(raw), 4)]
    text = "".join(map(chr, points))
    # ? stands for a character that has no place in Unicode, unless it was stored as one.
    if text.count("?") > code.count(b"?") or any(0xD800 <= p < 0xE000 for p in points):
        return ""
    return text


def ours(charset: str, code: bytes) -> str:
    try:
        return decode(charset, code)
    except UnicodeDecodeError:
        return ""


@pytest.mark.parametrize("charset", [c for c in CHARSETS if c != "binary"])
@pytest.mark.sampled(23, 23)
def test_every_code(server: Server, charset: str, kernel_cells: ModuleType) -> None:
    name = "utf8" if charset == "utf8mb3" and server.version.startswith("5.") else charset
    wanted = units(charset) if charset.startswith(("ucs", "utf16", "utf32")) else codes(charset)
    found = list(answers(server, name, wanted))
    different = {
        code: (theirs, mine)
        for code, theirs in found
        if (mine := ours(charset, code)) != theirs and not known(theirs, mine)
    }
    assert not different
    assert not differences(kernel_cells, charset, found)


def differences(
    kernel: ModuleType, charset: str, found: list[tuple[bytes, str]]
) -> dict[bytes, tuple[str, str | None]]:
    """Code -> (the server's text, the kernel's)."""
    spec = CellSpec(T.VARCHAR, length=9, charset=charset)
    stored = kernel.through_kernel(spec, [bytes([len(code)]) + code for code, _ in found])
    out = {}
    for (code, theirs), cell in zip(found, stored, strict=True):
        mine = cell.value if cell.state == CellState.VALUE else ""
        assert cell.value is not None or cell.raw["bytes"] == code
        if mine != theirs and not known(theirs, mine):
            out[code] = (theirs, mine)
    return out


def known(theirs: str, mine: str) -> bool:
    """U+FFFD is the server's sign for a code without character (big5, tis620)."""
    return not mine and "\ufffd" in theirs


def test_every_collation(server: Server) -> None:
    rows = server.query(
        "SELECT id, character_set_name, collation_name FROM information_schema.collations"
    )
    for number, charset, name in rows:
        newer = [str(s).replace("utf8_", "utf8mb3_") for s in (charset, name)]
        newer[0] = "utf8mb3" if charset == "utf8" else newer[0]
        assert COLLATIONS[int(number)] == tuple(newer)
