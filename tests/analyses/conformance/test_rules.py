"""Each rule explains what it is for, and nothing next to it."""

from __future__ import annotations

from typing import Any

import pytest

from binlogkit.analyses.conformance.cell import Cell, ColumnFacts, family_of, same
from binlogkit.analyses.conformance.rule import EVENT_RULES, Kind
from binlogkit.analyses.conformance.rules import RULES, explain
from binlogkit.analyses.conformance.tokens import read_token

UNSIGNED = ColumnFacts("c", "INT", unsigned=True)
SIGNED = ColumnFacts("c", "INT", unsigned=False)
ENUM = ColumnFacts("c", "ENUM", labels=("a", "b,c"))
SET = ColumnFacts("c", "SET", labels=tuple("abcdefghij"))
LATIN1 = ColumnFacts("c", "STRING", charset="latin1")
UTF8 = ColumnFacts("c", "STRING", charset="utf8mb4")
BINARY = ColumnFacts("c", "STRING", charset="binary", length=4, fixed=True)
DOC = '{"a": 1, "b": [1, 2]}'

# rule, ours, token, printed type, column, printed before image
CASES: list[tuple[str, Any, bytes, str, ColumnFacts, bytes | None]] = [
    ("unsigned-reading", 255, b"-1 (255)", "TINYINT", UNSIGNED, None),
    ("unsigned-reading", 2**64 - 1, b"-1 (18446744073709551615)", "LONGINT", UNSIGNED, None),
    ("float-six-digits", 16777216.0, b"1.67772e+07 ", "FLOAT", ColumnFacts("c"), None),
    ("float-six-digits", 3.4028235e38, b"3.40282e+38 ", "FLOAT", ColumnFacts("c"), None),
    ("double-digits", 1e300, b"1.0000000000000000525e+300", "DOUBLE", ColumnFacts("c"), None),
    ("double-digits", 0.1, b"0.10000000000000000555", "DOUBLE", ColumnFacts("c"), None),
    ("bit-as-number", 21, b"b'10101'", "BIT(5)", ColumnFacts("c"), None),
    ("set-bits", 770, b"b'0000001000000011'", "SET(2 bytes)", ColumnFacts("c"), None),
    ("set-labels", "b,i,j", b"b'0000001000000011'", "SET(2 bytes)", SET, None),
    ("set-labels", "", b"b'0000000000000000'", "SET(2 bytes)", SET, None),
    ("enum-label", "b,c", b"2", "ENUM(1 byte)", ENUM, None),
    ("enum-label", "", b"0", "ENUM(1 byte)", ENUM, None),
    ("date-colons", "1940-02-10", b"'1940:02:10'", "DATE", ColumnFacts("c"), None),
    ("date-colons", "0000-00-00", b"'0000:00:00'", "DATE", ColumnFacts("c"), None),
    ("timestamp-epoch", "2024-01-01 00:00:01", b"1704067201", "TIMESTAMP(0)", ColumnFacts("c"),
     None),
    ("timestamp-epoch", "2024-01-01 00:00:01.500000", b"1704067201.500000", "TIMESTAMP(6)",
     ColumnFacts("c"), None),
    ("timestamp-epoch", "0000-00-00 00:00:00.000", b"0.000", "TIMESTAMP(3)", ColumnFacts("c"),
     None),
    ("binary-as-hex", "0x0001", rb"'\x00\x01'", "VARSTRING(20)", BINARY, None),
    ("binary-as-hex", "0x", b"''", "BLOB/TEXT", BINARY, None),
    ("binary-padding", "0x01020000", rb"'\x01\x02'", "STRING(4)", BINARY, None),
    ("charset", "é€", b"'\xe9\x80'", "VARSTRING(20)", LATIN1, None),
    ("charset", "\x81", b"'\x81'", "VARSTRING(20)", LATIN1, None),
    ("charset", "表①", b"'\xc9\xbd\xad\xa1'", "VARSTRING(20)",
     ColumnFacts("c", "STRING", charset="eucjpms"), None),
    ("charset", "a\\表", rb"'a\x81_\x95\\'", "VARSTRING(20)",
     ColumnFacts("c", "STRING", charset="sjis"), None),
    ("charset", "≒", b"'\x87\x90'", "VARSTRING(20)",
     ColumnFacts("c", "STRING", charset="cp932"), None),
    ("bytes-kept", {"undecodable": "0xFF", "reason": "not UTF-8"}, b"'\xff'", "BLOB/TEXT", UTF8,
     None),
    ("vector-numbers", "0x0000803F00002040", b"[1.00000e+00,2.50000e+00]", "VECTOR(3)",
     ColumnFacts("c"), None),
    ("json-scalar-unquoted", '"2012-03-18"', b"'2012-03-18'", "JSON", ColumnFacts("c"), None),
    ("json-opaque-text", '["base64:type253:6Q==", 1, {"a": "base64:type253:eA=="}]',
     b"'[\"\xe9\", 1, {\"a\": \"x\"}]'", "JSON", ColumnFacts("c"), None),
    ("json-diff", {"json_diff": [{"op": "replace", "path": "$.a", "value": '"x"'}]},
     b"JSON_REPLACE(@1, '$.a', 'x')", "JSON", ColumnFacts("c"), None),
    ("json-diff", {"json_diff": []}, b"@1", "JSON", ColumnFacts("c"), None),
    ("json-diff-not-applied", {"json_diff": [{"op": "remove", "path": "$.a", "value": None}]},
     b"JSON_REMOVE(@1, '$.a')", "JSON", ColumnFacts("c"), DOC.encode()),
    ("json-diff-applied", '{"a": "x", "b": [1, 7, 2]}',
     b"JSON_ARRAY_INSERT(\n###      JSON_REPLACE(@1, '$.a', 'x'),\n###      '$.b[1]', 7)", "JSON",
     ColumnFacts("c"), DOC.encode()),
    ("json-diff-applied", DOC, b"@1", "JSON", ColumnFacts("c"), DOC.encode()),
    ("json-diff-no-before", DOC, b"JSON_REPLACE(@1, '$.a', 1)", "JSON", ColumnFacts("c"), None),
    ("labels-not-known", "a", b"1", "ENUM(1 byte)", ColumnFacts("c"), None),
    ("labels-not-known", "a,b", b"b'00000011'", "SET(1 bytes)", ColumnFacts("c"), None),
    ("charset-not-known", "Grüße", b"'Gr\xfc\xdfe'", "VARSTRING(20)",
     ColumnFacts("c", "STRING", charset="of tomorrow"), None),
    ("charset", "Œß", b"'\xd7\xdf'", "VARSTRING(20)",
     ColumnFacts("c", "STRING", charset="dec8"), None),
    ("charset", "Åäö", b"']{|'", "VARSTRING(20)",
     ColumnFacts("c", "STRING", charset="swe7"), None),
    ("year-zero", 0, b"1900", "YEAR", ColumnFacts("c"), None),
    # 3 bytes of -1:00:00, a signed hhmmss, read as unsigned: 16777216 - 10000.
    ("old-time-negative", "-01:00:00", b"'1676:72:16'", "TIME", ColumnFacts("c"), None),
    ("old-timestamp-high", "2040-01-01 00:00:00", b"-2085978496", "TIMESTAMP", ColumnFacts("c"),
     None),
    ("unsigned-shown-negative", -1, b"-1 (255)", "TINYINT", UNSIGNED, None),
    ("binary-unpadded", "0x0102", rb"'\x01\x02\x00'", "STRING(4)", BINARY, None),
    ("charset-damage", "Gr\ufffd", b"'Gr\xfc'", "VARSTRING(20)", LATIN1, None),
    ("zero-date-as-null", None, b"'0000-00-00 00:00:00'", "DATETIME(0)", ColumnFacts("c"), None),
    ("zero-date-as-null", None, b"'0000:00:00'", "DATE", ColumnFacts("c"), None),
    ("zero-date-as-null", None, b"0", "TIMESTAMP(0)", ColumnFacts("c"), None),
    ("timestamp-zone", "2024-01-01 05:30:01", b"1704067201", "TIMESTAMP(0)", ColumnFacts("c"),
     None),
    ("decimal-scale", "1.5", b"1.50", "DECIMAL(5,2)", ColumnFacts("c"), None),
    ("json-whole-double", '[1, {"a": 2}, 1.5]', b"'[1.0, {\"a\": 2.0}, 1.5]'", "JSON",
     ColumnFacts("c"), None),
    ("json-rewritten", '{"b":[1,2],"a":1}', b"'" + DOC.encode() + b"'", "JSON", ColumnFacts("c"),
     None),
]  # fmt: skip

# ours, token, printed type, column: other values that no rule may explain
WRONG: list[tuple[Any, bytes, str, ColumnFacts]] = [
    (256, b"-1 (255)", "TINYINT", UNSIGNED),
    (255, b"-1 (255)", "TINYINT", SIGNED),
    (1, b"2", "INT", SIGNED),
    ("1", b"1", "INT", SIGNED),
    (True, b"1", "INT", SIGNED),
    (None, b"0", "INT", SIGNED),
    (0, b"NULL", "INT", SIGNED),
    ("1.51", b"1.50", "DECIMAL(5,2)", ColumnFacts("c")),
    (16777300.0, b"1.67772e+07 ", "FLOAT", ColumnFacts("c")),
    (0.1, b"0.10000000000000001943", "DOUBLE", ColumnFacts("c")),
    (0.0, b"-0", "DOUBLE", ColumnFacts("c")),
    (22, b"b'10101'", "BIT(5)", ColumnFacts("c")),
    (515, b"b'0000001000000011'", "SET(2 bytes)", ColumnFacts("c")),
    ("b,i", b"b'0000001000000011'", "SET(2 bytes)", SET),
    ("a", b"2", "ENUM(1 byte)", ENUM),
    ("", b"3", "ENUM(1 byte)", ENUM),
    ("1940-02-11", b"'1940:02:10'", "DATE", ColumnFacts("c")),
    ("2024-01-01 00:00:02", b"1704067201", "TIMESTAMP(0)", ColumnFacts("c")),
    ("2024-01-01 00:00:01", b"1704067201.5", "TIMESTAMP(1)", ColumnFacts("c")),
    ("1970-01-01 00:00:00", b"0", "TIMESTAMP(0)", ColumnFacts("c")),
    (None, b"'2024-01-01 00:00:00'", "DATETIME(0)", ColumnFacts("c")),
    ("0x0002", rb"'\x00\x01'", "VARSTRING(20)", BINARY),
    ("0x010200", rb"'\x01\x02'", "VARSTRING(20)", BINARY),
    ("0x41", b"'A'", "VARSTRING(20)", UTF8),
    ("e", b"'\xe9'", "VARSTRING(20)", LATIN1),
    ("a ", b"'a'", "STRING(20)", UTF8),
    ("\ue7c7", b"'\xa8\xbc'", "VARCHAR(20)", ColumnFacts("c", "STRING", charset="gb18030")),
    ("\u2116", b"'\xfc'", "VARCHAR(20)", ColumnFacts("c", "STRING", charset="cp866")),
    ("Ð", b"'\xd0'", "VARSTRING(20)", ColumnFacts("c", "STRING", charset="dec8")),
    ("\0", b"'\xd0'", "VARSTRING(20)", ColumnFacts("c", "STRING", charset="dec8")),
    ({"undecodable": "0x41", "reason": "no"}, b"'A'", "BLOB/TEXT", UTF8),
    ({"undecodable": "0xFE", "reason": "no"}, b"'\xff'", "BLOB/TEXT", UTF8),
    ("0x0000803F", b"[1.00001e+00]", "VECTOR(3)", ColumnFacts("c")),
    ('"a"', b"'b'", "JSON", ColumnFacts("c")),
    ('{"a": 1.5}', b"'{\"a\": 1.50}'", "JSON", ColumnFacts("c")),
    ({"json_diff": [{"op": "insert", "path": "$.a", "value": "1"}]},
     b"JSON_REPLACE(@1, '$.a', 1)", "JSON", ColumnFacts("c")),
    ({"json_diff": [{"op": "replace", "path": "$.a", "value": "2"}]},
     b"JSON_REPLACE(@1, '$.a', 1)", "JSON", ColumnFacts("c")),
    ("[1]", b"'[1.0]'", "JSON", ColumnFacts("c")),
    (1, b"1900", "YEAR", ColumnFacts("c")),
    ("00:00:01", b"'00:00:02'", "TIME(0)", ColumnFacts("c")),
]  # fmt: skip


def cell(
    ours: Any,
    token: bytes,
    kind: str,
    column: ColumnFacts,
    before: bytes | None,
    server: str = "8.0.31",
) -> Cell:
    earlier = None if before is None else read_token(b"'" + before + b"'")
    family = family_of(kind, column)
    return Cell(ours, read_token(token), family, kind, column, earlier, server)


@pytest.mark.parametrize("case", CASES, ids=[f"{c[0]}-{c[2]!r}" for c in CASES])
def test_rule(case: tuple[str, Any, bytes, str, ColumnFacts, bytes | None]) -> None:
    name, ours, token, kind, column, before = case
    server = "5.7.22" if name == "json-whole-double" else "8.0.31"
    both = cell(ours, token, kind, column, before, server)
    assert not same(both)
    rule = explain(both)
    assert rule is not None
    assert rule.id == name


@pytest.mark.parametrize("case", WRONG, ids=[f"{c[0]!r}-{c[1]!r}" for c in WRONG])
def test_other_values_are_not_explained(case: tuple[Any, bytes, str, ColumnFacts]) -> None:
    both = cell(*case, None)
    assert not same(both)
    assert explain(both) is None


SAME: list[tuple[Any, bytes, str, ColumnFacts]] = [
    (None, b"NULL", "INT", SIGNED),
    (-1, b"-1 (255)", "TINYINT", SIGNED),
    (255, b"255", "SHORTINT", UNSIGNED),
    (2024, b"2024", "YEAR", ColumnFacts("c")),
    (2, b"2", "ENUM(1 byte)", ColumnFacts("c")),
    ("-12345.67890", b"-12345.67890", "DECIMAL(20,5)", ColumnFacts("c")),
    (1.5, b"1.5         ", "FLOAT", ColumnFacts("c")),
    (2.0, b"2           ", "FLOAT", ColumnFacts("c")),
    ("héé", "'héé'".encode(), "STRING(800)", UTF8),
    ("it's", rb"'it\'s'", "VARSTRING(20)", LATIN1),
    ("-838:59:58.999999", b"'-838:59:58.999999'", "TIME(6)", ColumnFacts("c")),
    ("2012-03-18 11:30:45", b"2012-03-18 11:30:45", "DATETIME", ColumnFacts("c")),
    (DOC, b"'" + DOC.encode() + b"'", "JSON", ColumnFacts("c")),
]


@pytest.mark.parametrize("case", SAME, ids=[f"{c[0]!r}-{c[1]!r}" for c in SAME])
def test_same_writing(case: tuple[Any, bytes, str, ColumnFacts]) -> None:
    assert same(cell(*case, None))


def test_every_rule_has_a_case() -> None:
    assert {rule.id for rule in RULES} == {case[0] for case in CASES}


# What each rule says that a difference is: the decoder's fault is never a matter of writing.
KINDS = {
    Kind.OURS: "absent-as-null end-as-position binary-unpadded charset-damage decimal-scale "
    "json-diff-not-applied "
    "json-rewritten timestamp-zone unsigned-shown-negative zero-date-as-null",
    Kind.THEIRS: "old-time-negative old-timestamp-high statement-not-ended type-not-handled "
    "year-zero",
    Kind.UNDER_DETERMINED: "cell-not-judged charset-not-known digits-not-judged "
    "json-diff-no-before labels-not-known names-not-escaped oracle-stopped rows-not-judged "
    "text-looks-like-syntax",
}


def test_kinds_of_rules() -> None:
    every = [*RULES, *EVENT_RULES.values()]
    for kind, names in KINDS.items():
        assert {rule.id for rule in every if rule.kind is kind} == set(names.split()), kind


def test_rules_are_told_apart_and_sourced() -> None:
    every = [*RULES, *EVENT_RULES.values()]
    assert len({rule.id for rule in every}) == len(every)
    for rule in every:
        assert rule.text
        assert rule.source
        assert rule.kind in set(Kind) - {Kind.UNEXPLAINED}
