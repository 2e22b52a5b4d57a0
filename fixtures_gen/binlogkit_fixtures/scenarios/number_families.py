"""Numbers and times of the scenario ``types``, at the edges that the manual gives them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from binlogkit_fixtures.scenarios.family import Column, Family, literal, literals

__all__ = ["families"]


def families() -> Iterator[Family]:
    """Integers, floats, decimals, bits, dates, times, datetimes, timestamps."""
    yield from (_integers(), _floats(), _decimals(), _bits())
    yield from (_dates(), _times(), _datetimes(), _timestamps())


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
            Column("d", "DATE", [*literals(*dates.split()), "NULL"]),
            Column("y", "YEAR", ["1901", "2155", "0", "2024", "NULL", "1970"]),
            Column("needed", "DATE NOT NULL", literals("0000-00-00", *["2024-05-01"] * 10)),
        ],
    )


def _fraction(moment: str, digits: int) -> str:
    """``moment`` with six digits after the point, cut (never rounded) to ``digits``."""
    whole, _, fraction = moment.partition(".")
    return literal(f"{whole}.{fraction[:digits]}" if digits else whole)


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
