"""JSON documents as SQL expressions, of every type that a value in a document can have.

Strategies for hypothesis. Types that no literal gives come from the columns of a table.
"""

from __future__ import annotations

import json
import random
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

__all__ = ["SOURCES", "distinct", "fill_sources"]

SOURCES = 40  # rows of the table that values are taken from
_COLUMNS = {
    "ts0": "TIMESTAMP NULL", "ts6": "TIMESTAMP(6) NULL", "y": "YEAR", "b1": "BIT(1)",
    "b9": "BIT(9)", "b64": "BIT(64)", "tb": "TINYBLOB", "bl": "BLOB", "mb": "MEDIUMBLOB",
    "lb": "LONGBLOB", "vb": "VARBINARY(80)", "bi": "BINARY(5)", "e": "ENUM('a','é','x\"y')",
    "s": "SET('a','b','ü')", "f": "FLOAT", "dc": "DECIMAL(65,30)", "dn": "DECIMAL(9,9)",
    "t": "TIME(3)", "d": "DATE", "d0": "DATE", "dt": "DATETIME(2)", "z": "DATETIME(6)",
    "g": "GEOMETRY", "c": "VARCHAR(20) CHARACTER SET latin1", "k": "VARCHAR(9) CHARACTER SET gbk",
    "i": "TINYINT", "u": "BIGINT UNSIGNED", "p": "FLOAT(7,3)", "n": "INT", "j": "JSON",
}  # fmt: skip


def _source_row(source: random.Random) -> str:
    def hexed(most: int) -> str:
        return f"X'{source.randbytes(source.choice((0, 1, 3, most))).hex()}'"

    def day(year: int) -> str:
        return f"{year:04}-{source.randint(1, 12):02}-{source.randint(1, 28):02}"

    clock = f"{source.randint(0, 23):02}:{source.randint(0, 59):02}:{source.randint(0, 59):02}"
    part = f"{source.randint(0, 999_999):06}"
    return ", ".join(
        (
            f"'{day(source.randint(1971, 2037))} {clock}'",
            f"'{day(source.randint(1971, 2037))} {clock}.{part}'",
            source.choice(("0", "1901", "2155", "2026")),
            str(source.randint(0, 1)), str(source.randrange(512)), str(source.randrange(2**64)),
            hexed(200), hexed(300), hexed(1000), hexed(20_000), hexed(80), hexed(5),
            str(source.randint(1, 3)), str(source.randrange(8)),
            repr(source.uniform(-1, 1) * 10.0 ** source.randint(-30, 30)),
            f"{source.choice(('', '-'))}{source.randrange(10**35)}.{source.randrange(10**30):030}",
            f"0.{source.randrange(10**9):09}",
            f"'{source.choice(('', '-'))}{source.randint(0, 838)}{clock[2:]}.{part}'",
            f"'{day(source.randint(0, 9999))}'",
            source.choice(("'0000-00-00'", "'2023-00-15'", "'2023-02-30'")),
            f"'{day(source.randint(1, 9999))} {clock}.{part}'",
            source.choice(("'0000-00-00 00:00:00'", f"'2023-00-00 {clock}.{part}'")),
            f"ST_GeomFromText('POINT({source.randint(-9, 9)} {source.uniform(-9, 9)!r})')",
            "'é€ü'", "CONVERT(X'E4B8ADE69687' USING gbk)", str(source.randint(-128, 127)),
            str(source.randrange(2**64)), f"{source.uniform(-999, 999):.3f}", "NULL",
            source.choice(("'[1, {\"a\": null}]'", "'\"s\"'", "'1.50'", "'null'")),
        )
    )  # fmt: skip


def fill_sources(server: Any, seed: int) -> None:
    """Make the table that values are taken from, in the database ``docs``."""
    source = random.Random(seed)
    columns = ", ".join(f"{name} {kind}" for name, kind in _COLUMNS.items())
    server.query(f"CREATE TABLE docs.sources (id INT PRIMARY KEY, {columns})")
    rows = ", ".join(f"({i}, {_source_row(source)})" for i in range(SOURCES))
    server.query(f"INSERT INTO docs.sources VALUES {rows}")


def _literal(text: str) -> str:
    return f"CONVERT(X'{text.encode().hex()}' USING utf8mb4)"


_TEXTS = st.one_of(
    st.text(max_size=12),
    st.text(alphabet='\0\x01\b\t\n\f\r"\\/é😀\x7f\u2028 ab', max_size=12),
    st.sampled_from(("", "x" * 127, "y" * 128, "é" * 70)),
)
_NUMBERS = st.one_of(
    st.integers(-(2**66), 2**66),
    st.integers(-70_000, 70_000),
    st.sampled_from([s * 2**p + d for p in (15, 16, 31, 32, 63, 64) for s in (1, -1)
                     for d in (-1, 0, 1)]),
    st.floats(allow_nan=False, allow_infinity=False),
)  # fmt: skip
_PARSED = st.recursive(
    st.one_of(st.none(), st.booleans(), _NUMBERS, _TEXTS),
    lambda inner: st.one_of(
        st.lists(inner, max_size=6), st.dictionaries(_TEXTS, inner, max_size=6)
    ),
    max_leaves=12,
).map(lambda value: f"CAST({_literal(json.dumps(value, ensure_ascii=False))} AS JSON)")


@st.composite
def _decimals(draw: st.DrawFn) -> str:
    precision = draw(st.integers(1, 65))
    scale = draw(st.integers(0, min(30, precision)))
    digits = str(draw(st.integers(0, 10**precision - 1))).rjust(scale + 1, "0")
    whole, part = digits[: len(digits) - scale], digits[len(digits) - scale :]
    sign = draw(st.sampled_from(("", "-")))
    return f"CAST({sign}{whole}.{part or '0'} AS DECIMAL({precision},{scale}))"


_MOMENTS = st.builds(
    lambda moment, digits: f"CAST('{moment:%4Y-%m-%d %H:%M:%S.%f}' AS DATETIME({digits}))",
    st.datetimes(), st.integers(0, 6),
)  # fmt: skip
_DATES = st.builds(lambda day: f"CAST('{day:%4Y-%m-%d}' AS DATE)", st.dates())
_TIMES = st.builds(
    lambda sign, hours, rest, part, digits: (
        f"CAST('{sign}{hours}:{rest // 60:02}:{rest % 60:02}.{part:06}' AS TIME({digits}))"
    ),
    st.sampled_from(("", "-")), st.integers(0, 838), st.integers(0, 3599),
    st.integers(0, 999_999), st.integers(0, 6),
)  # fmt: skip
_BYTES = st.one_of(
    st.builds(lambda raw: f"X'{raw.hex()}'", st.binary(max_size=60)),
    st.builds(lambda raw: f"CAST(X'{raw.hex()}' AS BINARY)", st.binary(max_size=200)),
    st.builds(lambda number: f"b'{number:b}'", st.integers(0, 2**64 - 1)),
)
_TAKEN = st.builds(
    lambda name, row: f"(SELECT {name} FROM docs.sources WHERE id = {row})",
    st.sampled_from(sorted(_COLUMNS)), st.integers(0, SOURCES - 1),
)  # fmt: skip
_SHAPES = st.sampled_from(
    ("POINT(1 2.5)", "LINESTRING(0 0,1e300 -1e-7)", "POLYGON((0 0,1 0,1 1,0 0))",
     "MULTIPOINT(1 2,3 4)", "GEOMETRYCOLLECTION(POINT(1 1),LINESTRING(0 0,1 1))")
).map(lambda shape: f"ST_GeomFromText('{shape}')")  # fmt: skip
_MADE = st.one_of(
    _PARSED, _decimals(), _MOMENTS, _DATES, _TIMES, _BYTES, _TAKEN, _TAKEN, _SHAPES,
    st.integers(-(2**63), 2**64 - 1).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(lambda f: f"({f!r} + 0e0)"),
    st.sampled_from(("NULL", "TRUE", "FALSE", "REPEAT('long', 90)", "REPEAT(X'FE', 999)")),
)  # fmt: skip


def _array(inner: st.SearchStrategy[str], most: int) -> st.SearchStrategy[str]:
    return st.lists(inner, max_size=most).map(lambda parts: f"JSON_ARRAY({', '.join(parts)})")


def _object(inner: st.SearchStrategy[str], most: int) -> st.SearchStrategy[str]:
    pairs = st.lists(st.tuples(_TEXTS.map(_literal), inner), max_size=most)
    return pairs.map(lambda p: f"JSON_OBJECT({', '.join(f'{k}, {v}' for k, v in p)})")


_NESTED = st.recursive(
    _MADE,
    lambda inner: st.one_of(_array(inner, 5), _object(inner, 5)),
    max_leaves=10,
)


DOCUMENTS = st.one_of(_PARSED, _array(_NESTED, 6), _object(_NESTED, 6))


def distinct(count: int) -> list[str]:
    """So many different documents, as SQL expressions."""
    found: dict[str, None] = {}

    def take(document: str) -> None:
        found[document] = None

    some = settings(
        max_examples=count, deadline=None, database=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    times = 0
    while len(found) < count:
        times += 1  # without a seed of its own, a derandomized round gives the same ones again
        seed(times)(some(given(DOCUMENTS)(take)))()
    return list(found)[:count]
