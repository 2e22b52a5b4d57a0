"""Random columns of every type that a server series has, and SQL literals for their cells.

Text goes to the server as ``_utf8mb4 0x…``, so no session's character set or sql_mode reads it
otherwise. Edge values come as often as random ones.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random

__all__ = ["Column", "charsets", "literal_text", "name_for", "random_column"]

Literal = Callable[[Random], str]

#: What each character set can say, besides ASCII.
ALPHABETS = {
    "utf8mb4": "é誠😀€\u00a0\u200bß", "utf8": "é誠€ßя", "latin1": "éüß€ÿ", "ascii": "",
    "ucs2": "é誠я", "utf16": "é誠😀", "utf16le": "é誠😀", "utf32": "é誠😀", "gbk": "誠中€",
    "sjis": "表ソ誠ｱ", "cp932": "表ソ①ｱ", "big5": "誠功許", "euckr": "한글", "ujis": "誠表ｱ",
    "gb2312": "中国", "gb18030": "誠中😀", "cp1251": "яЖё", "koi8r": "яЖё", "latin2": "žőč",
    "latin5": "ığş", "latin7": "žė", "greek": "αβΩ", "hebrew": "אבג", "tis620": "กขค",
    "cp1250": "žőč", "cp1256": "عرب", "cp1257": "žė", "cp850": "éü▒", "cp852": "žőč",
    "cp866": "яЖ▒", "macroman": "éü∞", "macce": "žőč", "swe7": "åäö", "armscii8": "Աբ",
    "geostd8": "აბ", "dec8": "éü", "hp8": "éü", "keybcs2": "žč", "eucjpms": "誠表①",
}  # fmt: skip
_ASCII = "aZ09 '\"`\\%_.,;\n\t\0-#"


@dataclass(frozen=True, slots=True)
class Column:
    """``sql``: its type; ``literal``: a random value as SQL; ``generated``: its expression."""

    name: str
    sql: str
    kind: str
    literal: Literal
    nullable: bool = True
    generated: str | None = None
    invisible: bool = False
    extra: str = ""

    def value(self, random: Random) -> str:
        """A cell as SQL, NULL now and then where the column takes it."""
        if self.nullable and random.random() < 0.2:
            return "NULL"
        return self.literal(random)

    def definition(self) -> str:
        """The column as CREATE TABLE wants it."""
        name = "`" + self.name.replace("`", "``") + "`"
        if self.generated is not None:
            return f"{name} {self.sql} {self.generated}"
        null = "NULL" if self.nullable else "NOT NULL"
        return f"{name} {self.sql} {null} {self.extra}{' INVISIBLE' if self.invisible else ''}"


def charsets(series: str) -> list[str]:
    """The character sets of a series."""
    return [c for c in ALPHABETS if series != "5.6" or c != "gb18030"]


def name_for(random: Random, stem: str) -> str:
    """An identifier: plain mostly, else with what identifiers should not have."""
    roll = random.random()
    if roll < 0.7:
        return stem
    odd = random.choice(["`", "'", '"', ".", " x", "é", "誠", "-", "@1", "#", "\\", "%", "select"])
    if roll < 0.95:
        return f"{stem}{odd}{random.choice('abc')}"
    return (stem + odd + "誠" * 64)[:63] + "z"


def literal_text(text: str) -> str:
    """Text as SQL, whatever the session."""
    data = text.encode("utf-8")
    return f"_utf8mb4 0x{data.hex()}" if data else "''"


def _text(charset: str, limit: int) -> Literal:
    letters = _ASCII + ALPHABETS[charset] * 3

    def make(random: Random) -> str:
        length = random.choice([0, 1, 2, limit, random.randint(0, limit)])
        length = min(length, limit)
        return literal_text("".join(random.choice(letters) for _ in range(length)))

    return make


def _bytes(limit: int) -> Literal:
    def make(random: Random) -> str:
        length = min(limit, random.choice([0, 1, limit, random.randint(0, limit)]))
        data = random.choice([random.randbytes(length), b"\0" * length, b"\xff" * length])
        return f"0x{data.hex()}" if data else "''"

    return make


def _integer(bits: int, unsigned: bool) -> Literal:
    low, high = (0, 2**bits - 1) if unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)

    def make(random: Random) -> str:
        edges = [low, high, 0, 1, high // 2 + 1, -1 if not unsigned else 1]
        return str(random.choice([*edges, random.randint(low, high), random.randint(low, high)]))

    return make


def _decimal(precision: int, scale: int, unsigned: bool) -> Literal:
    def make(random: Random) -> str:
        whole = "".join(random.choice("0123456789") for _ in range(precision - scale))
        part = "".join(random.choice("0123456789") for _ in range(scale))
        whole, part = random.choice(
            [(whole, part), ("9" * len(whole), "9" * len(part)), ("0", part), (whole, "0"),
             (whole[-1:], part[:1])]
        )  # fmt: skip
        sign = "" if unsigned else random.choice(["", "-"])
        return f"{sign}{whole or '0'}{'.' + part if part else ''}"

    return make


def _float(wide: bool) -> Literal:
    edges = ["0", "-0e0", "1e-30", "-1.5", "0.1", "3.402823466e38", "1.17549e-38", "16777217"]
    if wide:
        edges += ["1.7976931348623157e308", "5e-324", "0.30000000000000004", "123456789012345678"]

    def make(random: Random) -> str:
        return random.choice([*edges, repr(random.uniform(-1e6, 1e6)), repr(random.random())])

    return make


def _fraction(random: Random, digits: int) -> str:
    if not digits:
        return ""
    part = "".join(random.choice("0123456789") for _ in range(digits))
    return "." + random.choice([part, "0" * digits, "9" * digits, "0" * (digits - 1) + "1"])


def _date(random: Random) -> str:
    random_date = (
        f"{random.randint(1, 9999):04}-{random.randint(1, 12):02}-{random.randint(1, 28):02}"
    )
    edges = ["0000-00-00", "1000-01-01", "9999-12-31", "2023-00-15", "2024-02-29", "1969-12-31"]
    return random.choice([*edges, random_date, random_date, random_date])


def _clock(random: Random) -> str:
    return f"{random.randint(0, 23):02}:{random.randint(0, 59):02}:{random.randint(0, 59):02}"


def _time(digits: int) -> Literal:
    def make(random: Random) -> str:
        hours = random.choice([0, 0, 838, random.randint(0, 837)])
        rest = "59:59" if hours == 838 else _clock(random)[3:]
        fraction = _fraction(random, digits) if hours < 838 else ""
        return f"'{random.choice(['', '-'])}{hours:02}:{rest}{fraction}'"

    return make


def _datetime(digits: int) -> Literal:
    return lambda random: f"'{_date(random)} {_clock(random)}{_fraction(random, digits)}'"


def _timestamp(digits: int) -> Literal:
    def make(random: Random) -> str:
        edges = ["1970-01-02 00:00:01", "2038-01-18 03:14:07", "0000-00-00 00:00:00"]
        some = f"{random.randint(1971, 2037)}-{random.randint(1, 12):02}-{random.randint(1, 28):02}"
        moment = random.choice([*edges, f"{some} {_clock(random)}", f"{some} {_clock(random)}"])
        zero = moment.startswith("0000")
        return f"'{moment}{'' if zero else _fraction(random, digits)}'"

    return make


def _json_value(random: Random, depth: int = 0) -> object:
    scalars: list[object] = [
        None, True, False, 0, -1, 2**15, -(2**31) - 1, 2**63 - 1, 2**64 - 1, 1.5, -1e-7, 1e20, "",
        "é😀\"\\\n\x01/", "x" * 200, random.randint(-70000, 70000), random.random(),
    ]  # fmt: skip
    roll = random.random()
    if depth > 3 or roll < 0.5:
        return random.choice(scalars)
    size = random.choice([0, 1, 2, 3, 3, 30 if depth == 0 else 2])
    if roll < 0.75:
        return [_json_value(random, depth + 1) for _ in range(size)]
    keys = ["a", "b", "c.d", "", "é", "k" * 40, "日", "a b", *(f"k{i}" for i in range(40))]
    return {random.choice(keys): _json_value(random, depth + 1) for _ in range(size)}


def _json(random: Random) -> str:
    if random.random() < 0.25:
        parts = [
            "CAST('2020-02-03' AS DATE)", "CAST('-12:30:00.123456' AS TIME(6))", "0xDEADBEEF",
            "CAST('2021-12-31 23:59:59.5' AS DATETIME(3))", "CAST(-12345.678 AS DECIMAL(12, 3))",
            "CAST(18446744073709551615 AS UNSIGNED)", "b'101'",
        ]  # fmt: skip
        return f"JSON_OBJECT('o', {random.choice(parts)}, 'l', JSON_ARRAY({random.choice(parts)}))"
    text = json.dumps(_json_value(random), ensure_ascii=False)
    return f"CAST(CONVERT({literal_text(text)} USING utf8mb4) AS JSON)"


def _geometry(series: str, kind: str) -> Literal:
    function = "GeomFromText" if series == "5.6" else "ST_GeomFromText"

    def make(random: Random) -> str:
        x, y = random.randint(-80, 80), random.uniform(-80, 80)
        shapes = {
            "POINT": f"POINT({x} {y})",
            "LINESTRING": f"LINESTRING(0 0, {x} {y}, 3 3)",
            "POLYGON": "POLYGON((0 0, 10 0, 10 10, 0 10, 0 0), (5 5, 7 5, 7 7, 5 7, 5 5))",
            "MULTIPOINT": f"MULTIPOINT({x} {y}, 1 1)",
            "GEOMETRYCOLLECTION": f"GEOMETRYCOLLECTION(POINT({x} 1), LINESTRING(0 0, 1 1))",
        }
        chosen = random.choice(list(shapes)) if kind == "GEOMETRY" else kind
        srid = random.choice([0, 0, 4326])
        return f"{function}('{shapes[chosen]}', {srid})"

    return make


def _labels(random: Random, charset: str, count: int) -> list[str]:
    odd = ["it's", 'say "x"', "a\\b", "", "x y", *(ALPHABETS[charset])]
    chosen = random.sample(odd, min(len(odd), random.randint(0, 3)))
    labels: list[str] = []
    for label in [*chosen, *(f"v{i}" for i in range(count))]:
        if label.casefold() not in (known.casefold() for known in labels) and label.isprintable():
            labels.append(label)
    return labels[:count] or ["only"]


def _quoted(labels: Sequence[str]) -> str:
    return ", ".join("'" + v.replace("\\", "\\\\").replace("'", "''") + "'" for v in labels)


def random_column(random: Random, name: str, series: str) -> Column:
    """A column of any type of the series."""
    makers = [_numeric, _numeric, _temporal, _string, _string, _binary, _labelled, _other]
    made = random.choice(makers)(random, name, series)
    return replace(made, nullable=random.random() < 0.6)


def _numeric(random: Random, name: str, series: str) -> Column:
    roll = random.random()
    unsigned = random.random() < 0.5
    sign = " UNSIGNED" if unsigned else ""
    if roll < 0.5:
        word, bits = random.choice(
            [("TINYINT", 8), ("SMALLINT", 16), ("MEDIUMINT", 24), ("INT", 32), ("BIGINT", 64)]
        )
        shape = random.choice(["", "", "(5)"]) + sign
        shape += random.choice(["", "", " ZEROFILL"]) if unsigned else ""
        return Column(name, word + shape, "integer", _integer(bits, unsigned))
    if roll < 0.75:
        precision = random.choice([1, 9, 10, 18, 38, 39, 65, random.randint(1, 65)])
        scale = random.choice([0, min(30, precision), random.randint(0, min(30, precision))])
        sql = f"DECIMAL({precision},{scale}){sign}"
        return Column(name, sql, "decimal", _decimal(precision, scale, unsigned))
    if roll < 0.9:
        wide = random.random() < 0.5
        return Column(name, ("DOUBLE" if wide else "FLOAT") + sign, "float", _float(wide))
    bits = random.choice([1, 7, 8, 9, 33, 63, 64])
    return Column(name, f"BIT({bits})", "bit", _integer(bits, True))


def _temporal(random: Random, name: str, series: str) -> Column:
    digits = random.choice([0, 0, 1, 2, 3, 4, 5, 6])
    shown = f"({digits})" if digits else ""
    kind = random.choice(["DATE", "TIME", "DATETIME", "TIMESTAMP", "YEAR"])
    if kind == "DATE":
        return Column(name, "DATE", "date", lambda r: f"'{_date(r)}'")
    if kind == "YEAR":
        years = ["0", "1901", "2155", "2023"]
        return Column(name, "YEAR", "year", lambda r: r.choice(years))
    if kind == "TIME":
        return Column(name, f"TIME{shown}", "time", _time(digits))
    if kind == "DATETIME":
        return Column(name, f"DATETIME{shown}", "datetime", _datetime(digits))
    now = f"CURRENT_TIMESTAMP{shown}"
    extra = random.choice(["DEFAULT '2001-02-03 04:05:06'", f"DEFAULT {now} ON UPDATE {now}"])
    return Column(name, f"TIMESTAMP{shown}", "timestamp", _timestamp(digits), extra=extra)


def _string(random: Random, name: str, series: str) -> Column:
    charset = random.choice(charsets(series))
    where = f" CHARACTER SET {charset}"
    if random.random() < 0.2:
        charset, where = "utf8mb4", ""  # the table's default, which the generator keeps so
    if random.random() < 0.15:
        where += random.choice([" BINARY", ""]) if where else ""
    roll = random.random()
    if roll < 0.25:
        length = random.choice([0, 1, 3, 20, 63, 64, 100, 255])
        return Column(name, f"CHAR({length}){where}", "text", _text(charset, length))
    if roll < 0.7:
        length = random.choice([0, 1, 5, 60, 63, 64, 85, 86, 255, 256, 300])
        return Column(name, f"VARCHAR({length}){where}", "text", _text(charset, length))
    word, limit = random.choice(
        [("TINYTEXT", 60), ("TEXT", 400), ("MEDIUMTEXT", 400), ("LONGTEXT", 3000)]
    )
    return Column(name, f"{word}{where}", "blob", _text(charset, limit))


def _binary(random: Random, name: str, series: str) -> Column:
    roll = random.random()
    if roll < 0.3:
        length = random.choice([1, 2, 16, 255])
        return Column(name, f"BINARY({length})", "binary", _bytes(length))
    if roll < 0.6:
        length = random.choice([1, 20, 255, 256, 1000])
        return Column(name, f"VARBINARY({length})", "binary", _bytes(length))
    word, limit = random.choice(
        [("TINYBLOB", 255), ("BLOB", 2000), ("MEDIUMBLOB", 70_000), ("LONGBLOB", 3000)]
    )
    return Column(name, word, "blob", _bytes(limit))


def _labelled(random: Random, name: str, series: str) -> Column:
    charset = random.choice(["utf8mb4", "latin1", "utf8", "gbk", "cp1251", "ucs2"])
    where = f" CHARACTER SET {charset}"
    if random.random() < 0.6:
        labels = _labels(random, charset, random.choice([1, 2, 5, 254, 257, 300]))
        count = len(labels)
        return Column(
            name, f"ENUM({_quoted(labels)}){where}", "enum",
            lambda r: str(r.choice([1, count, r.randint(1, count)])),
        )  # fmt: skip
    members = [v for v in _labels(random, charset, random.choice([1, 8, 9, 33, 64])) if v]
    members = members or ["only"]
    return Column(
        name, f"SET({_quoted(members)}){where}", "set",
        lambda r: str(r.choice([0, 2 ** len(members) - 1, r.randint(0, 2 ** len(members) - 1)])),
    )  # fmt: skip


def _other(random: Random, name: str, series: str) -> Column:
    kinds = ["geometry"] + ["json"] * 2 * (series != "5.6") + ["vector"] * (series == "9")
    kind = random.choice(kinds)
    if kind == "json":
        return Column(name, "JSON", "json", _json)
    if kind == "vector":
        return Column(
            name, "VECTOR(3)", "vector",
            lambda r: f"STRING_TO_VECTOR('[{r.random()}, {r.randint(-9, 9)}, 1e-10]')",
        )  # fmt: skip
    word = random.choice(
        ["GEOMETRY", "POINT", "LINESTRING", "POLYGON", "MULTIPOINT", "GEOMETRYCOLLECTION"]
    )
    return Column(name, word, "geometry", _geometry(series, word))
