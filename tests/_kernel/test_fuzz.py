"""Random bytes in every decoder: only what its documentation says comes out."""

from __future__ import annotations

import random
from decimal import Decimal

import pytest

from binlogkit._kernel.cells import CellOverrun, CellSpec, NoArrowValue, Undecodable
from binlogkit._kernel.codecs import decoder_for
from binlogkit._kernel.value_text import date_text, datetime_text, decimal_text, time_text
from binlogkit.constants import ColumnType as T

SEED = 20261121
TIMES = 400
PLAIN = (int, float, str, bytes, Decimal)
LABELS = ("a", "b", "c")

SPECS = [
    *(CellSpec(t, unsigned=u) for t in (T.TINY, T.INT24, T.LONGLONG) for u in (True, False)),
    *(CellSpec(t) for t in (T.YEAR, T.FLOAT, T.DOUBLE, T.DATE, T.NEWDATE)),
    *(CellSpec(t) for t in (T.TIME, T.DATETIME, T.TIMESTAMP)),
    *(CellSpec(t, scale=f) for t in (T.TIME2, T.DATETIME2, T.TIMESTAMP2) for f in range(7)),
    *(CellSpec(T.NEWDECIMAL, precision=p, scale=s) for p, s in ((1, 0), (10, 9), (65, 30))),
    *(CellSpec(T.BIT, length=n) for n in (1, 9, 63)),
    *(CellSpec(T.ENUM, length=n, labels=x) for n in (1, 2) for x in (None, LABELS)),
    *(CellSpec(T.SET, length=n, labels=x) for n in (1, 3, 8) for x in (None, LABELS)),
    *(CellSpec(T.VARCHAR, length=20, charset=c) for c in (None, "binary", "sjis", "utf16")),
    CellSpec(T.STRING, length=300, charset="gb18030"),
    CellSpec(T.DECIMAL, length=12),
    *(CellSpec(t, length=n) for t in (T.BLOB, T.JSON, T.GEOMETRY, T.VECTOR) for n in (1, 4)),
]  # fmt: skip


@pytest.mark.parametrize("spec", SPECS, ids=lambda s: f"{s.type.name}-{s.length}-{s.scale}")
def test_random_bytes(spec: CellSpec) -> None:
    source = random.Random(SEED)
    decode = decoder_for(spec)
    for _ in range(TIMES):
        data = source.randbytes(source.choice((0, 1, 3, 9, 40)))
        if source.random() < 0.5:  # often a length that fits
            data = bytes([source.randrange(20), 0, 0, 0][: max(1, spec.length % 5)]) + data
        end = source.randint(0, len(data))
        try:
            value, p = decode(data, 0, end)
        except CellOverrun:
            continue
        assert 0 < p <= end
        check(spec, value, data[:p])


def check(spec: CellSpec, value: object, cell: bytes) -> None:
    if isinstance(value, Undecodable):
        assert cell.endswith(value.raw)
        assert value.reason.isprintable()
    elif isinstance(value, NoArrowValue):
        assert cell.endswith(value.raw)
        assert value.text.isascii()
    else:
        assert isinstance(value, PLAIN)
        printed(spec, value)


def printed(spec: CellSpec, value: object) -> None:
    """Every value has a text, and text can be stored as UTF-8."""
    if isinstance(value, Decimal):
        assert "E" not in decimal_text(value)
    elif isinstance(value, str):
        value.encode("utf-8")
    elif spec.type in (T.DATE, T.NEWDATE) and isinstance(value, int):
        assert len(date_text(value)) == 10
    elif spec.type in (T.DATETIME, T.DATETIME2, T.TIMESTAMP, T.TIMESTAMP2):
        assert isinstance(value, int)
        assert len(datetime_text(value, spec.scale)) == 19 + spec.scale + (spec.scale > 0)
    elif spec.type in (T.TIME, T.TIME2) and isinstance(value, int):
        assert ":" in time_text(value, spec.scale)
