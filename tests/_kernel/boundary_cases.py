"""Columns and values at the edges of their types, as SQL, and how to ask a server for the truth.

Used by ``make_boundary_cells.py``, which writes ``boundary_cells.json``, and by the tests that ask
a live server. Values are SQL expressions; the limits are those of the manual, "Data Types".
"""

from __future__ import annotations

from dataclasses import dataclass

# What to select for the column `c`, so that the answer loses nothing.
SELECTS = {
    "text_form": "CAST(c AS CHAR)",
    "float": "c * 1e0",
    "number": "CAST(c + 0 AS UNSIGNED)",
    "string": "HEX(CONVERT(c USING utf8mb4))",
    "bytes": "HEX(c)",
    "json": "HEX(CAST(c AS CHAR CHARACTER SET utf8mb4))",
}


@dataclass(frozen=True)
class Case:
    """One column: its SQL definition, what to ask for, its values, and what the log lacks."""

    column: str
    kind: str
    values: tuple[str, ...]
    charset: str | None = None
    labels: tuple[str, ...] | None = None
    since: str = "5.7"

    @property
    def unsigned(self) -> bool:
        return "UNSIGNED" in self.column


def _integers() -> list[Case]:
    cases = []
    for name, bits in (
        ("TINYINT", 8),
        ("SMALLINT", 16),
        ("MEDIUMINT", 24),
        ("INT", 32),
        ("BIGINT", 64),
    ):
        low, high = -(1 << bits - 1), (1 << bits - 1) - 1
        cases.append(Case(name, "text_form", (str(low), "-1", "0", "1", str(high))))
        top = (1 << bits) - 1
        cases.append(
            Case(f"{name} UNSIGNED", "text_form", ("0", str(high), str(high + 1), str(top)))
        )
    cases.append(Case("INT(5) UNSIGNED ZEROFILL", "number", ("0", "7", "4294967295")))
    return cases


def _decimals() -> list[Case]:
    shapes = [(1, 0), (5, 2), (9, 0), (9, 9), (10, 1), (18, 9), (19, 10), (30, 30), (65, 0)]
    shapes += [(38, 0), (38, 19), (39, 0), (39, 30)]  # about what 128 bits hold
    cases = []
    for precision, scale in (*shapes, (65, 30)):
        nines = "9" * precision
        whole, fraction = nines[: precision - scale] or "0", nines[precision - scale :]
        most = f"{whole}.{fraction}" if scale else whole
        least = "0." + "0" * (scale - 1) + "1" if scale else "1"
        values = ("0", most, f"-{most}", least, f"-{least}")
        cases.append(Case(f"DECIMAL({precision},{scale})", "text_form", values))
    cases.append(Case("DECIMAL(10,3) UNSIGNED", "text_form", ("0", "0.5", "9999999.999")))
    return cases


def _floats() -> list[Case]:
    return [
        Case(
            "FLOAT",
            "float",
            ("0", "-0e0", "1", "-1.5", "0.1", "3.402823466E+38", "-1.175494351E-38", "1e-45"),
        ),
        Case(
            "DOUBLE",
            "float",
            ("0", "0.1", "-2.5", "1.7976931348623157E+308", "2.2250738585072014E-308", "5e-324"),
        ),
        Case("FLOAT(7,3)", "float", ("-999.99", "1234.567")),
        Case("DOUBLE(12,2) UNSIGNED", "float", ("0", "0.01", "9999999999.99")),
    ]


def _temporals() -> list[Case]:
    cases = [
        Case(
            "DATE",
            "text_form",
            (
                *("'0000-00-00'", "'2023-00-15'", "'2023-02-00'", "'2023-02-30'", "'0000-01-01'"),
                *("'1000-01-01'", "'1969-12-31'", "'1970-01-01'", "'2024-02-29'", "'9999-12-31'"),
                "'0001-01-01'",
            ),
        ),
        Case("YEAR", "text_form", ("0", "'0000'", "1901", "2000", "2155")),
    ]
    for fsp in range(7):
        f = f".{'123456'[:fsp]}" if fsp else ""
        nines = f".{'9' * fsp}" if fsp else ""
        small = f".{'0' * (fsp - 1)}1" if fsp else ""
        cases += [
            Case(
                f"TIME({fsp})",
                "text_form",
                (
                    *("'00:00:00'", "'838:59:59'", "'-838:59:59'", f"'-00:00:00{small}'"),
                    *(f"'-00:00:01{f}'", f"'23:59:59{nines}'", f"'-837:59:59{nines}'"),
                    *("'-00:00:01'", f"'00:00:00{small}'", "'-100:00:00'"),
                ),
            ),
            Case(
                f"DATETIME({fsp})",
                "text_form",
                (
                    *("'0000-00-00 00:00:00'", f"'1000-01-01 00:00:00{small}'"),
                    *(f"'9999-12-31 23:59:59{nines}'", f"'1969-12-31 23:59:59{f}'"),
                    *(f"'2023-00-15 01:02:03{f}'", f"'2023-02-30 04:05:06{f}'"),
                    f"'0000-01-01 00:00:00{nines}'",
                ),
            ),
            Case(
                f"TIMESTAMP({fsp}) NULL",
                "text_form",
                (
                    *("'0000-00-00 00:00:00'", f"'1970-01-01 00:00:01{f}'"),
                    *(f"'2038-01-19 03:14:07{nines}'", f"'2000-02-29 12:34:56{small}'"),
                ),
            ),
        ]
    return cases


def _bits() -> list[Case]:
    return [
        Case(f"BIT({n})", "number", ("0", "1", f"{1 << n - 1}", f"{(1 << n) - 1}"))
        for n in (1, 7, 8, 9, 31, 32, 33, 63, 64)
    ]


def _labels() -> list[Case]:
    few = ("a", "bü", "c'c")
    many = tuple(f"l{i}" for i in range(300))
    cases = []
    for labels in (few, many):
        listed = ",".join("'{}'".format(label.replace("'", "''")) for label in labels)
        cases.append(
            Case(
                f"ENUM({listed}) CHARACTER SET utf8mb4",
                "string",
                ("0", "1", f"{len(labels)}"),
                "utf8mb4",
                labels,
            )
        )
    for count in (1, 8, 9, 17, 25, 33, 64):
        labels = tuple(f"s{i}" for i in range(count))
        listed = ",".join(f"'{label}'" for label in labels)
        values = ("0", "1", f"{1 << count - 1}", f"{(1 << count) - 1}")
        cases.append(Case(f"SET({listed})", "string", values, "utf8mb4", labels))
    return cases


SAMPLES = {
    "armscii8": "Հայ", "ascii": "ASCII~", "big5": "中文碁", "cp1250": "Žluťoučký",
    "cp1251": "Привет", "cp1256": "سلام", "cp1257": "ąčęė",
    "cp850": "é½¼", "cp852": "Łódź", "cp866": "Привет",
    "cp932": "日本～①", "dec8": "Œé", "eucjpms": "日本～①", "euckr": "한국어", "gb18030": "中文😀ḿ",
    "gb2312": "中文", "gbk": "中文繁體", "geostd8": "აბგ", "greek": "Αθήνα", "hebrew": "שלום",
    "hp8": "éÀ", "keybcs2": "Žluť", "koi8r": "Привет", "koi8u": "їЇє", "latin1": "é€œ",
    "latin2": "Łódź", "latin5": "ğış", "latin7": "ąčęė”", "macce": "Žluť", "macroman": "é∞ﬁ",
    "sjis": "日本ｱ", "swe7": "åäö", "tis620": "ไทย", "ucs2": "é中", "ujis": "日本ｱ",
    "utf16": "é中😀",
    "utf16le": "é中😀", "utf32": "é中😀", "utf8": "é中", "utf8mb4": "é中😀",
}  # fmt: skip


def _strings() -> list[Case]:
    cases = [
        Case(
            f"VARCHAR(20) CHARACTER SET {charset}",
            "string",
            ("''", f"CONVERT(_utf8mb4 X'{text.encode().hex()}' USING {charset})"),
            charset,
        )
        for charset, text in SAMPLES.items()
    ]
    long = "REPEAT(_utf8mb4 X'C3A9', {})"
    for column, charset, values in (
        ("CHAR(1)", "utf8mb4", ("''", "'a'", long.format(1))),
        ("CHAR(63)", "utf8mb4", ("'a  '", long.format(63))),
        ("CHAR(64)", "utf8mb4", ("'a  '", long.format(64))),
        ("CHAR(255)", "utf8mb4", ("''", "'a'", long.format(255))),
        ("CHAR(255)", "latin1", ("''", long.format(255))),
        ("CHAR(5)", "utf16", ("'a '", "'  b'")),
        ("VARCHAR(255)", "latin1", ("''", "'a  '", long.format(255))),
        ("VARCHAR(256)", "latin1", ("''", "' '", long.format(256))),
        ("VARCHAR(64)", "utf8mb4", (long.format(64),)),
        ("TINYTEXT", "utf8mb4", ("''", long.format(127))),
        ("TEXT", "utf8mb4", ("''", long.format(300))),
        ("MEDIUMTEXT", "utf8mb4", ("''", long.format(300))),
        ("LONGTEXT", "utf8mb4", ("''", "'\\0\\n\\\\'")),
    ):
        cases.append(Case(f"{column} CHARACTER SET {charset}", "string", values, charset))
    return cases


def _binaries() -> list[Case]:
    plain = ("BINARY(5)", "BINARY(255)", "VARBINARY(5)", "VARBINARY(256)", "TINYBLOB", "BLOB")
    cases = [
        Case(column, "bytes", ("''", "X'00'", "X'610000'", "X'00FF20'"), "binary")
        for column in (*plain, "MEDIUMBLOB", "LONGBLOB")
    ]
    cases.append(Case("BINARY(0)", "bytes", ("''",), "binary"))
    shapes = ("'POINT(1 -2)'", "'LINESTRING(0 0,1 1)'", "'GEOMETRYCOLLECTION(POINT(1 1))'")
    cases.append(Case("GEOMETRY", "bytes", tuple(f"ST_GeomFromText({s}, 4326)" for s in shapes)))
    vectors = ("STRING_TO_VECTOR('[1,-2.5,3e10]')", "STRING_TO_VECTOR('[0]')")
    cases.append(Case("VECTOR(3)", "bytes", vectors, since="9.0"))
    return cases


_JSON = (
    *("null", "true", "false", "0", "-1", "32767", "-32768", "32768", "65535", "65536"),
    *("2147483647", "2147483648", "-2147483649", "4294967295", "4294967296"),
    *("9223372036854775807", "18446744073709551615", "18446744073709551616"),
    *("0.1", "-0.5", "1.5e300", "1e-16", "1e-14", "123456789.125", "1234567890123456.8"),
    *(
        '""',
        '"a"',
        r'"\\u0001\\b\\t\\n\\f\\r\\"\\\\/\\u007f"',
        '"é中😀"',
        "[]",
        "{}",
        '[1, "x", true]',
    ),
    *('{"b": 1, "a": 2, "aa": 3, "": 4, "é": [null]}', '{"k": {"k": {"k": [[], {}]}}}'),
    *("[1.0, -0.0, 1e15, 100.0, 1e14]", "[65535, -32769, 70000, 5000000000]", '{"\\\\"": "\\\\""}'),
)
_JSON_EXPRESSIONS = (
    "JSON_ARRAY(CAST('2015-01-15' AS DATE), CAST('2015-01-15 23:24:25.12' AS DATETIME(2)))",
    "JSON_ARRAY(CAST('-838:59:59' AS TIME), CAST('-00:00:00.000001' AS TIME(6)))",
    "JSON_ARRAY(CAST('1000-01-01' AS DATE), CAST('9999-12-31 23:59:59.999999' AS DATETIME(6)))",
    "JSON_OBJECT('ts', TIMESTAMP('2001-02-03 04:05:06'))",
    "JSON_ARRAY(CAST(1.50 AS DECIMAL(10,2)), CAST(-0.001 AS DECIMAL(65,30)), 1e0 * 1.5)",
    f"JSON_ARRAY(CAST({'9' * 65} AS DECIMAL(65,0)))",
    f"JSON_ARRAY(CAST(-{'9' * 35}.{'9' * 30} AS DECIMAL(65,30)))",
    f"JSON_ARRAY(CAST({'9' * 55}.9900011112 AS DECIMAL(65,10)))",
    "JSON_ARRAY(X'00FF', B'101', CAST('abc' AS BINARY), ST_GeomFromText('POINT(1 2.5)'))",
    "JSON_OBJECT('s', REPEAT('x', 127), 't', REPEAT('y', 128), 'u', REPEAT('z', 20000))",
    "CAST(CONCAT('[', REPEAT('1,', 30000), '70000]') AS JSON)",
    "CAST(CONCAT('{\"k\":', REPEAT('[', 99), REPEAT(']', 99), '}') AS JSON)",
    "CAST(CONCAT('[', REPEAT('\"abcdefgh\",', 9000), 'null, 5000000000]') AS JSON)",
    "JSON_ARRAY(CAST(REPEAT('opaque', 20) AS BINARY))",
    "JSON_ARRAY(CAST(NULL AS JSON), CAST(18446744073709551615 AS UNSIGNED), -5)",
)


def _json() -> list[Case]:
    literals = tuple("CAST('{}' AS JSON)".format(v.replace("'", "''")) for v in _JSON)
    return [Case("JSON", "json", (*literals, *_JSON_EXPRESSIONS))]


CASES: tuple[Case, ...] = (
    *_integers(),
    *_decimals(),
    *_floats(),
    *_temporals(),
    *_bits(),
    *_labels(),
    *_strings(),
    *_binaries(),
    *_json(),
)
