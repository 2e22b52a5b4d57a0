"""Text of the scenario ``types``: lengths and character sets."""

from __future__ import annotations

from collections.abc import Iterator

from binlogkit_fixtures.scenarios.family import Column, Family, literal, literals
from binlogkit_fixtures.scenarios.model import Condition

__all__ = ["families"]


def families() -> Iterator[Family]:
    """Lengths, then character sets."""
    yield _strings()
    yield from _charsets()


_HARD = 'it\'s "q" \\ `b` %_ ;--\n\t\x1a'
_UNICODE = "Grüße, 你好, 😀 \u202etxet"


def _strings() -> Family:
    latin1 = "CHARACTER SET latin1"
    return Family(
        "strings",
        [
            Column("c0", "CHAR(0)", literals("")),
            Column("c1", "CHAR(1)", literals("", "a", "é", "😀", "\0")),
            Column("c10", "CHAR(10)", literals("", "tail   ", "1234567890", "你好", " lead")),
            Column("c255", "CHAR(255)", literals("", "x" * 255, "😀" * 255, _UNICODE, "=1+1")),
            Column("c64_latin1", f"CHAR(64) {latin1}", literals("", "é" * 64, "ÿ")),
            Column("c255_latin1", f"CHAR(255) {latin1}", literals("ü" * 255, "", "a")),
            Column("v0", "VARCHAR(0)", literals("")),
            Column("v1", "VARCHAR(1)", literals("", "a", "😀", " ", "\0")),
            Column("v63", "VARCHAR(63)", literals("", "tail   ", "😀" * 63, _HARD, _UNICODE)),
            Column("v64", "VARCHAR(64)", literals("", "tail   ", "😀" * 64, _HARD, "a\0b")),
            Column("v255", f"VARCHAR(255) {latin1}", literals("", "x" * 255, "é", _HARD)),
            Column("v256", f"VARCHAR(256) {latin1}", literals("", "x" * 256, "é", _HARD)),
            Column("v3000", "VARCHAR(3000)", literals("", "ab" * 300, _HARD, _UNICODE)),
            Column("tt", "TINYTEXT", literals("", "x" * 255, _HARD, _UNICODE)),
            Column("t", "TEXT", literals("", "y" * 300, _HARD, _UNICODE)),
            Column("mt", "MEDIUMTEXT", literals("", "z" * 300, _HARD, _UNICODE)),
            Column("lt", "LONGTEXT", literals("", "w" * 300, _HARD, _UNICODE, "last")),
        ],
    )


_LOCAL = {
    "ascii": "plain text ~", "latin1": "Grüße €ÿ‰", "latin2": "žluťoučký kůň", "latin5": "ığüşöç",
    "latin7": "ąčęėįšųūž", "cp1250": "žluťoučký €", "cp1251": "Привет, мир", "cp1256": "مرحبا",
    "cp1257": "ąčęėįšųūž", "cp850": "éàüñ", "cp852": "žluťoučký", "cp866": "Привет",
    "koi8r": "Привет", "koi8u": "Привіт їєґ", "greek": "Γειά σου", "hebrew": "שלום",
    "tis620": "สวัสดี", "macroman": "éàüñ†", "macce": "žluťoučký",
    "utf8": "Grüße 你好", "utf8mb4": _UNICODE, "ucs2": "Grüße 你好", "utf16": _UNICODE,
    "utf16le": _UNICODE, "utf32": _UNICODE,
    "gbk": "運輸 你好", "gb2312": "你好", "gb18030": "你好 😀", "big5": "功能 許蓋",
    "sjis": "表示ソ ｱｲｳ", "cp932": "表示ソ ①", "ujis": "表示ソ ｱ", "eucjpms": "表示ソ ①",
    "euckr": "안녕하세요",
}  # fmt: skip

#: Sets that few programs know besides the server.
_RARE = {
    "dec8": "Grüße", "hp8": "éàüñ", "swe7": "Åäö", "armscii8": "Բարեւ", "geostd8": "გამარჯობა",
    "keybcs2": "žluťoučký",
}  # fmt: skip


def _charsets() -> Iterator[Family]:
    columns = []
    for name, text in _LOCAL.items():
        if name == "gb18030":
            continue
        values = literals(text, "", "Az 09")
        columns.append(Column(f"v_{name}", f"VARCHAR(40) CHARACTER SET {name}", values))
    yield Family("charsets", [*columns, Column("last", "INT", ["1"] * 5)])
    chinese = literals(_LOCAL["gb18030"], "", "Az 09")
    yield Family(
        "charsets_new",
        [
            Column("v_gb18030", "VARCHAR(40) CHARACTER SET gb18030", chinese),
            Column("c_gb18030", "CHAR(70) CHARACTER SET gb18030", chinese),
        ],
        Condition.parse("version>=5.7.4"),
    )
    rare = []
    for name, text in _RARE.items():
        rare.append(Column(name, f"VARCHAR(40) CHARACTER SET {name}", literals(text, "", "Az 09")))
    yield Family("charsets_rare", [*rare, Column("last", "INT", ["1"] * 4)])
    kinds = []
    for name in ("latin1", "utf8", "utf8mb4", "gbk", "sjis", "ucs2", "utf32", "euckr", "cp1251"):
        local = _LOCAL[name]
        head = f"CHARACTER SET {name}"
        kinds.append(Column(f"c_{name}", f"CHAR(30) {head}", literals(local, "", "tail  ")))
        kinds.append(Column(f"t_{name}", f"TEXT {head}", literals("", local, "tail  ")))
        if name == "ucs2":  # 5.7.22 cuts the labels of such a column when it makes the table
            continue
        labels = f"ENUM({literal(local)}, 'two') {head}"
        kinds.append(Column(f"e_{name}", labels, literals(local, "two")))
        members = f"SET({literal(local.replace(',', ''))}, 'two') {head}"
        kinds.append(Column(f"s_{name}", members, ["3", "0", "2"]))
    yield Family("charsets_kinds", [*kinds, Column("last", "INT", ["1"] * 4)])
    collations = ("utf8mb4_bin", "latin1_german2_ci", "utf8_turkish_ci", "gbk_bin", "cp1251_bin")
    yield Family(
        "collations",
        [
            Column(c, f"VARCHAR(40) COLLATE {c}", literals("", _LOCAL[c.split("_")[0]], "Az"))
            for c in collations
        ],
    )
