"""The scenario ``types``: every column type of 5.7 and 8.0, with the values at its edges.

Each family is a table: columns with their values as SQL literals, the n-th value of every column in
the n-th row, NULL where a column has no more. Rows are inserted, some are updated to the values of
another row, some are deleted. Limits are those of the manual, chapter "Data Types".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from binlogkit_fixtures.scenarios.model import Mark, Scenario, Sql, Step

__all__ = ["FAMILIES", "Family", "scenario"]

_START = 1_714_554_000_000_000  # 2024-05-01T09:00:00Z
_SECOND = 1_000_000
_DATABASE = "types"
_SESSION = "main"


@dataclass(frozen=True, slots=True)
class Column:
    """A column: name, type with attributes, and its values from the first row on."""

    name: str
    type: str
    values: Sequence[str]


@dataclass(frozen=True, slots=True)
class Family:
    """A table of columns that belong together."""

    table: str
    columns: Sequence[Column]

    def row(self, number: int) -> list[str]:
        """The literals of the row of that number, from 0."""
        return [c.values[number] if number < len(c.values) else "NULL" for c in self.columns]

    @property
    def height(self) -> int:
        """How many rows there are."""
        return max(len(c.values) for c in self.columns)

    def create(self) -> str:
        """CREATE TABLE."""
        columns = ",\n  ".join(f"`{c.name}` {c.type}" for c in self.columns)
        return f"CREATE TABLE {_DATABASE}.{self.table} (id INT PRIMARY KEY,\n  {columns})"

    def insert(self) -> str:
        """One INSERT of all rows but the last."""
        rows = ",\n".join(f"({n + 1}, {', '.join(self.row(n))})" for n in range(self.height - 1))
        return f"INSERT INTO {_DATABASE}.{self.table} VALUES\n{rows}"

    def insert_last(self) -> str:
        """The last row, by itself."""
        last = self.height
        values = ", ".join(self.row(last - 1))
        return f"INSERT INTO {_DATABASE}.{self.table} VALUES ({last}, {values})"

    def update(self, target: int, source: int) -> str:
        """UPDATE row ``target`` (from 0) to the values of row ``source``."""
        names = [f"`{c.name}`" for c in self.columns]
        pairs = ", ".join(f"{n} = {v}" for n, v in zip(names, self.row(source), strict=True))
        return f"UPDATE {_DATABASE}.{self.table} SET {pairs} WHERE id = {target + 1}"

    def delete(self, number: int) -> str:
        """DELETE the row of that number."""
        return f"DELETE FROM {_DATABASE}.{self.table} WHERE id = {number + 1}"


def _text(value: str) -> str:
    """A string literal in a session without NO_BACKSLASH_ESCAPES."""
    for raw, escaped in (
        ("\\", "\\\\"),
        ("'", "\\'"),
        ("\0", "\\0"),
        ("\n", "\\n"),
        ("\x1a", "\\Z"),
    ):
        value = value.replace(raw, escaped)
    return f"'{value}'"


def _texts(*values: str) -> list[str]:
    return [_text(value) for value in values]


def _integers() -> Family:
    columns = []
    for name, bits in (
        ("TINYINT", 8),
        ("SMALLINT", 16),
        ("MEDIUMINT", 24),
        ("INT", 32),
        ("BIGINT", 64),
    ):
        low, high, top = -(1 << bits - 1), (1 << bits - 1) - 1, (1 << bits) - 1
        signed = [str(n) for n in (low, high, 0, -1, 1)]
        unsigned = [str(n) for n in (0, top, 1, high, high + 1)]
        columns.append(Column(f"s{bits}", name, [*signed, "NULL", str(low + 1)]))
        columns.append(Column(f"u{bits}", f"{name} UNSIGNED", [*unsigned, "NULL", str(top - 1)]))
    columns.append(Column("flag", "BOOLEAN", ["TRUE", "FALSE", "NULL"]))
    columns.append(Column("filled", "INT(8) ZEROFILL", ["42", "0", "4294967295", "NULL"]))
    columns.append(Column("needed", "INT UNSIGNED NOT NULL", ["7"] * 7))
    return Family("integers", columns)


def _floats() -> Family:
    single = (
        "0 -0e0 3.402823466e38 -3.402823466e38 1.175494351e-38 1.4e-45 0.1 16777217 1e10 NULL -1.5"
    )
    double = (
        "0 -0e0 1.7976931348623157e308 -1.7976931348623157e308 2.2250738585072014e-308 5e-324 0.1 "
        "9007199254740993 1e23 NULL 3.141592653589793"
    )
    plain = ["0", "1234.567", "-1234.567", "0.001", "NULL", "9999.999"]
    return Family(
        "floats",
        [
            Column("f", "FLOAT", single.split()),
            Column("fu", "FLOAT UNSIGNED", ["0", "3.402823466e38", "0.333333343", "NULL"]),
            Column("f7_3", "FLOAT(7,3)", plain),
            Column("f24", "FLOAT(24)", single.split()[4:]),
            Column("f53", "FLOAT(53)", double.split()[4:]),
            Column("d", "DOUBLE", double.split()),
            Column("du", "DOUBLE UNSIGNED", ["0", "1.7976931348623157e308", "0.1", "NULL"]),
            Column("d10_2", "DOUBLE(10,2)", ["0", "99999999.99", "-99999999.99", "0.01", "NULL"]),
        ],
    )


_DECIMALS = (
    (1, 0), (1, 1), (5, 2), (9, 0), (9, 9), (10, 2), (10, 0), (18, 9), (19, 10), (20, 1), (30, 30),
    (38, 18), (64, 2), (65, 0), (65, 30),
)  # fmt: skip


def _decimals() -> Family:
    columns = []
    for precision, scale in _DECIMALS:
        digits = "1234567890" * 7
        most = "9" * (precision - scale) + ("." + "9" * scale if scale else "")
        some = (digits[: precision - scale] or "0") + ("." + digits[:scale] if scale else "")
        least = "0." + "0" * (scale - 1) + "1" if scale else "1"
        values = [most, f"-{most}", "0", least, f"-{least}", some, "NULL", f"-{some}"]
        columns.append(Column(f"d{precision}_{scale}", f"DECIMAL({precision},{scale})", values))
    columns.append(Column("unsigned", "DECIMAL(10,3) UNSIGNED", ["0", "9999999.999", "NULL"]))
    columns.append(Column("filled", "DECIMAL(10,3) ZEROFILL", ["1.5", "0", "9999999.999", "NULL"]))
    columns.append(Column("fixed", "NUMERIC(12,4) NOT NULL", ["-1.0001"] * 8))
    return Family("decimals", columns)


def _bits() -> Family:
    columns = []
    for width in range(1, 65):
        values = (0, (1 << width) - 1, 1, 0xA5A5A5A5A5A5A5A5 & ((1 << width) - 1), 1 << width - 1)
        literals = [f"b'{value:b}'" for value in values]
        columns.append(Column(f"b{width}", f"BIT({width})", [*literals[:3], "NULL", *literals[3:]]))
    return Family("bits", columns)


def _dates() -> Family:
    dates = (
        "1000-01-01 9999-12-31 0000-00-00 2024-02-29 2024-00-15 2023-05-00 2023-00-00 0000-01-01 "
        "1970-01-01 0001-01-01"
    )
    return Family(
        "dates",
        [
            Column("d", "DATE", [*_texts(*dates.split()), "NULL"]),
            Column("y", "YEAR", ["1901", "2155", "0", "2024", "NULL", "1970"]),
            Column("needed", "DATE NOT NULL", _texts("0000-00-00", *["2024-05-01"] * 10)),
        ],
    )


def _fraction(moment: str, digits: int) -> str:
    """``moment`` with six digits after the point, cut (never rounded) to ``digits``."""
    whole, _, fraction = moment.partition(".")
    return _text(f"{whole}.{fraction[:digits]}" if digits else whole)


def _fractional(table: str, kind: str, moments: Sequence[str]) -> Family:
    return Family(
        table,
        [
            Column(f"f{n}", f"{kind}({n}) NULL", ["NULL", *(_fraction(m, n) for m in moments)])
            for n in range(7)
        ],
    )


def _times() -> Family:
    return _fractional(
        "times",
        "TIME",
        (
            "838:59:59.000000", "-838:59:59.000000", "00:00:00.000000", "-00:00:01.000000",
            "-00:00:00.111111", "12:34:56.789012", "-12:34:56.789012", "-00:00:00.999999",
            "838:59:58.999999", "-838:59:58.999999", "00:00:00.000001", "-01:00:00.010000",
        ),
    )  # fmt: skip


def _datetimes() -> Family:
    return _fractional(
        "datetimes",
        "DATETIME",
        (
            "1000-01-01 00:00:00.000000", "9999-12-31 23:59:59.999999",
            "0000-00-00 00:00:00.000000", "2024-02-29 12:34:56.789012",
            "2024-00-00 00:00:00.000000", "2024-05-00 01:02:03.040506",
            "0001-01-01 00:00:00.000001", "1969-12-31 23:59:59.999999",
        ),
    )  # fmt: skip


def _timestamps() -> Family:
    return _fractional(
        "timestamps",
        "TIMESTAMP",
        (
            "1970-01-01 00:00:01.000000", "2038-01-19 03:14:07.999999",
            "0000-00-00 00:00:00.000000", "2024-02-29 12:34:56.789012",
            "2001-09-09 01:46:40.100000", "2024-03-31 02:30:00.000001",
        ),
    )  # fmt: skip


_HARD = 'it\'s "q" \\ `b` %_ ;--\n\t\x1a'
_UNICODE = "Grüße, 你好, 😀 \u202etxet"


def _strings() -> Family:
    return Family(
        "strings",
        [
            Column("c0", "CHAR(0)", _texts("")),
            Column("c1", "CHAR(1)", _texts("", "a", "é", "😀", "\0")),
            Column("c10", "CHAR(10)", _texts("", "tail   ", "1234567890", "你好", " lead")),
            Column("c255", "CHAR(255)", _texts("", "x" * 255, "😀" * 255, _UNICODE, "=1+1")),
            Column("c64_latin1", "CHAR(64) CHARACTER SET latin1", _texts("", "é" * 64, "ÿ")),
            Column("c255_latin1", "CHAR(255) CHARACTER SET latin1", _texts("ü" * 255, "", "a")),
            Column("v0", "VARCHAR(0)", _texts("")),
            Column("v1", "VARCHAR(1)", _texts("", "a", "😀", " ", "\0")),
            Column("v63", "VARCHAR(63)", _texts("", "tail   ", "😀" * 63, _HARD, _UNICODE)),
            Column("v64", "VARCHAR(64)", _texts("", "tail   ", "😀" * 64, _HARD, "a\0b")),
            Column("v255", "VARCHAR(255) CHARACTER SET latin1", _texts("", "x" * 255, "é", _HARD)),
            Column("v256", "VARCHAR(256) CHARACTER SET latin1", _texts("", "x" * 256, "é", _HARD)),
            Column("v3000", "VARCHAR(3000)", _texts("", "ab" * 300, _HARD, _UNICODE)),
            Column("tt", "TINYTEXT", _texts("", "x" * 255, _HARD, _UNICODE)),
            Column("t", "TEXT", _texts("", "y" * 300, _HARD, _UNICODE)),
            Column("mt", "MEDIUMTEXT", _texts("", "z" * 300, _HARD, _UNICODE)),
            Column("lt", "LONGTEXT", _texts("", "w" * 300, _HARD, _UNICODE, "last")),
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
        values = _texts(text, "", "Az 09")
        columns.append(Column(f"v_{name}", f"VARCHAR(40) CHARACTER SET {name}", values))
    yield Family("charsets", [*columns, Column("last", "INT", ["1"] * 5)])
    rare = []
    for name, text in _RARE.items():
        rare.append(Column(name, f"VARCHAR(40) CHARACTER SET {name}", _texts(text, "", "Az 09")))
    yield Family("charsets_rare", [*rare, Column("last", "INT", ["1"] * 4)])
    kinds = []
    for name in ("latin1", "utf8", "utf8mb4", "gbk", "sjis", "ucs2", "utf32", "euckr", "cp1251"):
        local = _LOCAL[name]
        head = f"CHARACTER SET {name}"
        kinds.append(Column(f"c_{name}", f"CHAR(30) {head}", _texts(local, "", "tail  ")))
        kinds.append(Column(f"t_{name}", f"TEXT {head}", _texts("", local, "tail  ")))
        if name == "ucs2":  # 5.7.22 cuts the labels of such a column when it makes the table
            continue
        labels = f"ENUM({_text(local)}, 'two') {head}"
        kinds.append(Column(f"e_{name}", labels, _texts(local, "two")))
        kinds.append(
            Column(
                f"s_{name}", f"SET({_text(local.replace(',', ''))}, 'two') {head}", ["3", "0", "2"]
            )
        )
    yield Family("charsets_kinds", [*kinds, Column("last", "INT", ["1"] * 4)])
    collations = ("utf8mb4_bin", "latin1_german2_ci", "utf8_turkish_ci", "gbk_bin", "cp1251_bin")
    yield Family(
        "collations",
        [
            Column(c, f"VARCHAR(40) COLLATE {c}", _texts("", _LOCAL[c.split("_")[0]], "Az"))
            for c in collations
        ],
    )


def _binaries() -> Family:
    odd = "x'00FF27225C0A0D1A3B2D2D'"
    return Family(
        "binaries",
        [
            Column("b1", "BINARY(1)", ["x'00'", "x'FF'", "''", "NULL"]),
            Column(
                "b8", "BINARY(8)", ["x'6100'", "x'0000000000000000'", "x'0102030405060700'", "''"]
            ),
            Column("b16", "BINARY(16)", ["x'00112233445566778899AABBCCDDEE00'", "''", "x'20'"]),
            Column("b255", "BINARY(255)", ["x'AB'", "x'" + "FE" * 255 + "'", "NULL"]),
            Column("v8", "VARBINARY(8)", ["x'6100'", "''", "x'0000000000000000'", "x'20'"]),
            Column("v255", "VARBINARY(255)", ["''", "x'" + "00" * 255 + "'", odd]),
            Column("v256", "VARBINARY(256)", ["''", "x'" + "00" * 256 + "'", odd]),
            Column("tb", "TINYBLOB", ["''", odd, "x'" + "F0" * 255 + "'", "NULL"]),
            Column("bl", "BLOB", ["''", odd, "x'" + "0F" * 300 + "'", "NULL"]),
            Column("mb", "MEDIUMBLOB", [odd, "''", "x'" + "1F" * 300 + "'", "NULL", "x'00'"]),
            Column("lb", "LONGBLOB", [odd, "''", "x'" + "2F" * 300 + "'", "NULL", "x'00'"]),
            Column("cb", "CHAR(5) CHARACTER SET binary", ["'ab'", "''", "x'00'"]),
            Column("tx", "TEXT CHARACTER SET binary", ["'ab'", "''", "x'C328'"]),
        ],
    )


def _labels(count: int) -> str:
    return ", ".join(f"'m{n}'" for n in range(1, count + 1))


def _enums() -> Family:
    columns = [
        Column("e1", "ENUM('only')", ["1", "'nothing'", "NULL", "'only'"]),
        Column("e3", "ENUM('a','b','c')", ["1", "3", "''", "NULL", "'b'"]),
        Column("e300", f"ENUM({_labels(300)})", ["1", "255", "256", "300", "NULL", "''"]),
        Column("odd", r"ENUM('it\'s', 'a b', 'x\"y', '', 'ä', '😀')", [*"123456"]),
        Column("needed", "ENUM('yes','no') NOT NULL", ["'no'"] * 6),
    ]
    for count in (1, 2, 7, 8, 9, 16, 17, 24, 25, 32, 33, 63, 64):
        every = (1 << count) - 1
        values = [
            "0",
            str(every),
            "1",
            str(1 << count - 1),
            "NULL",
            str(0x5555555555555555 & every),
        ]
        columns.append(Column(f"s{count}", f"SET({_labels(count)})", values))
    columns.append(Column("s_odd", r"SET('it\'s', 'a b', 'ä')", ["7", "0", "5", "NULL"]))
    return Family("enums", columns)


def _documents() -> Family:
    numbers = (
        "0 1 -1 32767 32768 -32768 -32769 65535 65536 2147483647 2147483648 -2147483648 "
        "-2147483649 4294967295 4294967296 9223372036854775807 9223372036854775808 "
        "-9223372036854775808 18446744073709551615 1.5 -0.1 1e100 5e-324 1.0 100000000000000000000"
    )
    scalars = [
        "null",
        "true",
        "false",
        '""',
        '"a"',
        f'"{"x" * 127}"',
        f'"{"y" * 128}"',
        '"😀 \\u0000 \\" \\\\ /"',
    ]
    nested = [
        "{}", "[]", '{"": ""}', '{"b": 1, "a": 2, "aa": 3, "B": 4}', "[[[[]]], {}, null, 0]",
        '{"list": [1, "two", 3.0, true, null, {"deep": {"er": []}}], "ключ": "значение"}',
        "[" + numbers.replace(" ", ", ") + "]", f'{{"{"k" * 300}": "{"v" * 300}"}}',
    ]  # fmt: skip
    opaque = [
        "CAST(CAST('123.4500' AS DECIMAL(20,4)) AS JSON)",
        "CAST(CAST('-0.000000000000000000000000000001' AS DECIMAL(65,30)) AS JSON)",
        "CAST(CAST('2024-02-29' AS DATE) AS JSON)",
        "CAST(CAST('-838:59:59' AS TIME(6)) AS JSON)",
        "CAST(CAST('12:34:56.789012' AS TIME(6)) AS JSON)",
        "CAST(CAST('2024-02-29 12:34:56.789012' AS DATETIME(6)) AS JSON)",
        "CAST(TIMESTAMP'2024-02-29 12:34:56' AS JSON)",
        "CAST(x'00FF10' AS JSON)",
        "CAST(ST_GeomFromText('POINT(1 2)') AS JSON)",
        "JSON_ARRAY(CAST('1.10' AS DECIMAL(5,2)), CAST('2024-01-01' AS DATE), x'AB', 1.10, 2e0)",
        "JSON_OBJECT('t', CAST('01:00:00' AS TIME), 'u', CAST(18446744073709551615 AS UNSIGNED))",
    ]
    values = [_text(n) for n in numbers.split()] + _texts(*scalars, *nested) + opaque
    return Family("documents", [Column("j", "JSON", [*values, "NULL", "'[1]'"])])


def _geometries() -> Family:
    shapes = {
        "POINT": ("POINT(1 2)", "POINT(-0.5 1e300)"),
        "LINESTRING": ("LINESTRING(0 0,1 1,2 4)", "LINESTRING(0 0,0 1)"),
        "POLYGON": (
            "POLYGON((0 0,4 0,4 4,0 4,0 0),(1 1,2 1,2 2,1 2,1 1))", "POLYGON((0 0,1 0,1 1,0 0))",
        ),
        "MULTIPOINT": ("MULTIPOINT((0 0),(1 1))", "MULTIPOINT((5 5))"),
        "MULTILINESTRING": ("MULTILINESTRING((0 0,1 1),(2 2,3 3))", "MULTILINESTRING((0 0,1 1))"),
        "MULTIPOLYGON": ("MULTIPOLYGON(((0 0,1 0,1 1,0 0)))", "MULTIPOLYGON(((0 0,2 0,2 2,0 0)))"),
        "GEOMETRYCOLLECTION": (
            "GEOMETRYCOLLECTION(POINT(1 1),LINESTRING(0 0,1 1))", "GEOMETRYCOLLECTION()",
        ),
    }  # fmt: skip
    columns = [
        Column(kind.lower(), kind, [f"ST_GeomFromText('{text}')" for text in texts])
        for kind, texts in shapes.items()
    ]
    mixed = [f"ST_GeomFromText('{texts[0]}')" for texts in shapes.values()]
    earth = "ST_GeomFromText('POINT(12.5 41.9)', 4326)"
    return Family("geometries", [Column("g", "GEOMETRY", [earth, "NULL", *mixed]), *columns])


def _wide() -> Family:
    """A NOT NULL column of each kind between nullable ones: bitmaps over several bytes."""
    columns = []
    for n in range(1, 41):
        kind, value = (("INT", str(n)), ("VARCHAR(9)", f"'v{n}'"), ("DATE", "'2024-05-01'"))[n % 3]
        if n % 4 == 0:
            columns.append(Column(f"c{n}", f"{kind} NOT NULL", [value] * 4))
        else:
            columns.append(
                Column(f"c{n}", kind, ["NULL" if n % 5 < r else value for r in range(4)])
            )
    return Family("wide", columns)


FAMILIES: tuple[Family, ...] = (
    _integers(), _floats(), _decimals(), _bits(), _dates(), _times(), _datetimes(), _timestamps(),
    _strings(), *_charsets(), _binaries(), _enums(), _documents(), _geometries(), _wide(),
)  # fmt: skip

_STORY = (
    "One table for each family of column types. Values at the edges of each type are inserted, "
    "then the first row takes the values of the second and the last those of the first, then the "
    "second row and the last are deleted. The sql_mode lets zero and incomplete dates in."
)


def scenario() -> Scenario:
    """The whole story: create, insert, update, delete, with a mark after each part."""
    sql: list[str | tuple[str]] = [
        f"CREATE DATABASE {_DATABASE} CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci"
    ]
    sql += [family.create() for family in FAMILIES]
    sql.append(("created",))
    for family in FAMILIES:
        sql += [family.insert(), family.insert_last()]
    sql.append(("inserted",))
    for family in FAMILIES:
        sql += [family.update(0, 1), family.update(family.height - 1, 0)]
    sql.append(("updated",))
    for family in FAMILIES:
        sql += [family.delete(1), family.delete(family.height - 1)]
    sql.append(("deleted",))
    steps: list[Step] = []
    clock = _START
    for item in sql:
        if isinstance(item, tuple):
            steps.append(Mark(item[0], clock))
        else:
            steps.append(Sql(item, _SESSION, clock))
            clock += _SECOND
    return Scenario("types", _STORY, (_DATABASE,), tuple(steps))
