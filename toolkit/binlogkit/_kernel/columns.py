"""What the compiled kernel needs to know of a table's columns, and what its faults mean.

Kinds are those of ``native/layout.pxd``. What the kernel does not decode itself (a character set of
several bytes that is not UTF-8) it hands over as stored bytes, and the codec finishes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

from binlogkit._kernel import numbers
from binlogkit._kernel.cells import CellSpec, Decoder
from binlogkit._kernel.charsets import SINGLE_BYTE, canonical
from binlogkit._kernel.codecs import decoder_for
from binlogkit._kernel.native.builder import FAULTS, FIELDS, KINDS, TableBuilder
from binlogkit.constants import ColumnType as T

if TYPE_CHECKING:
    from binlogkit._kernel.native.values import Block

MAX_ROWS = 65_536
MAX_BYTES = 32 << 20
DECIMAL128_DIGITS = 38

# NULLs, validity, offsets, data
TakenColumn: TypeAlias = "tuple[int, Block | None, Block | None, Block]"


@dataclass(frozen=True, slots=True)
class ColumnPlan:
    """One column.

    ``kind``: a name of ``KINDS``; ``width``: bytes of a cell, or of the length in front of it;
    ``element``: bytes of an Arrow value, 0 where their number is variable; ``limit``: bits of a
    BIT, labels of an ENUM or SET (-1: not known), bytes of a BINARY; ``by_codec``: the codec makes
    values of the bytes that the kernel hands over; ``out``: place among the columns asked for, -1
    for one that is only stepped over; ``reason``: why a cell cannot be walked over.
    """

    spec: CellSpec
    kind: str
    width: int = 0
    element: int = 0
    limit: int = 0
    fraction: int = 0
    groups: tuple[tuple[int, int], ...] = ()
    points: tuple[int, ...] | None = None
    by_codec: bool = False
    out: int = -1
    reason: str = ""

    def described(self) -> tuple[object, ...]:
        """As ``TableBuilder`` takes it."""
        kind = self.kind
        if self.out < 0 and kind != "bad":
            kind = "skip_prefixed" if self.kind in _PREFIXED else "skip_fixed"
        return (
            KINDS[kind],
            self.out,
            self.spec.type is T.JSON,
            self.width,
            self.fraction,
            self.spec.as_5_7,
            self.limit,
            self.element,
            self.groups,
            self.points,
        )


@dataclass(frozen=True, slots=True)
class Fault:
    """Why the rows of an event could not be read to its end, as MalformedEventError says it.

    ``row``: rows of the event that were read before.
    """

    field: str
    reason: str
    row: int


class TablePlan:
    """The columns of one version of a table; ``names`` serve the faults.

    ``layout``: kept for the frames room, which makes it once.

    ``wanted``: indexes of the columns asked for, in the table's order; None: all.
    """

    def __init__(
        self,
        specs: Sequence[CellSpec],
        names: Sequence[str],
        wanted: Sequence[int] | None = None,
    ) -> None:
        self.names = list(names)
        self.wanted = list(range(len(specs))) if wanted is None else sorted(set(wanted))
        places = {column: out for out, column in enumerate(self.wanted)}
        self.columns = [
            (plan_of if spec.labels else _shared)(spec, places.get(i, -1))
            for i, spec in enumerate(specs)
        ]
        self._codecs: dict[int, Decoder] = {}
        self.layout: Any = None

    def builder(self, max_rows: int = MAX_ROWS, max_bytes: int = MAX_BYTES) -> TableBuilder:
        """Empty buffers for the table's rows."""
        described = [column.described() for column in self.columns]
        return TableBuilder(self, described, max_rows, max_bytes)

    def read(self, out: int, raw: bytes) -> object:
        """The codec's value of a cell of the ``out``-th column asked for."""
        index = self.wanted[out]
        column = self.columns[index]
        decode = self._codecs.get(out)
        if decode is None:
            decode = self._codecs[out] = decoder_for(column.spec)
        prefix = b"" if column.kind not in _PREFIXED else len(raw).to_bytes(column.width, "little")
        return decode(prefix + raw, 0, len(prefix) + len(raw))[0]

    def fault(self, code: int, field: int, wants: int, left: int, row: int) -> Fault:
        """What ``TableBuilder.add_event`` said, in words."""
        name = FIELDS[field] if field < 0 else self.names[field]
        kind = FAULTS[code]
        reason = {
            "needs": f"needs {wants} bytes, {left} are left",
            "needs_length": f"needs {wants} bytes of length, {left} are left",
            "says": f"says {wants} bytes, {left} are left",
            "empty_row": "a row of no bytes",
            "packed": f"{wants} does not start a packed integer",
            "column_count": f"{wants} columns, its table map has {len(self.columns)}",
            "extra_length": f"{wants} does not cover its own two bytes",
            "ndb_length": f"{wants} does not cover its own byte and the format's",
        }.get(kind) or self.columns[field].reason
        return Fault(name, reason, row)


def plan_of(spec: CellSpec, out: int = 0) -> ColumnPlan:
    """How the kernel reads a column."""
    try:
        decoder_for(spec)  # what cannot be, the codec says
    except ValueError as exc:
        return ColumnPlan(spec, "bad", out=out, element=1, reason=str(exc))
    return _PLANS[spec.type](spec, out)


#: The same for a column of each of the tables that are alike.
_shared = lru_cache(4096)(plan_of)


_PREFIXED = frozenset({"bytes", "padded", "utf8mb4", "utf8mb3", "single_byte", "json"})
_INTEGERS = {
    T.TINY: ("copy1", 1, 1),
    T.SHORT: ("copy2", 2, 2),
    T.LONG: ("copy4", 4, 4),
    T.LONGLONG: ("copy8", 8, 8),
    T.YEAR: ("year", 1, 2),
    T.FLOAT: ("float", 4, 4),
    T.DOUBLE: ("double", 8, 8),
    T.DATE: ("date", 3, 4),
    T.NEWDATE: ("date", 3, 4),
    T.TIME: ("old_time", 3, 8),
    T.DATETIME: ("old_datetime", 8, 8),
    T.TIMESTAMP: ("old_timestamp", 4, 8),
}
_FRACTIONS = {
    T.TIME2: ("time2", 3),
    T.DATETIME2: ("datetime2", 5),
    T.TIMESTAMP2: ("timestamp2", 4),
}


def _fixed(spec: CellSpec, out: int) -> ColumnPlan:
    kind, width, element = _INTEGERS[spec.type]
    return ColumnPlan(spec, kind, width, element, out=out)


def _int24(spec: CellSpec, out: int) -> ColumnPlan:
    return ColumnPlan(spec, "uint24" if spec.unsigned else "int24", 3, 4, out=out)


def _fractional(spec: CellSpec, out: int) -> ColumnPlan:
    kind, width = _FRACTIONS[spec.type]
    fraction = (spec.scale + 1) // 2
    return ColumnPlan(spec, kind, width + fraction, 8, fraction=fraction, out=out)


def _bit(spec: CellSpec, out: int) -> ColumnPlan:
    return ColumnPlan(spec, "bit", (spec.length + 7) // 8, 8, spec.length, out=out)


def _decimal(spec: CellSpec, out: int) -> ColumnPlan:
    groups = numbers.groups(spec.precision, spec.scale)
    wide = spec.precision > DECIMAL128_DIGITS
    return ColumnPlan(
        spec,
        "decimal256" if wide else "decimal128",
        sum(size for _, size in groups),
        32 if wide else 16,
        groups=groups,
        out=out,
    )


def _enum(spec: CellSpec, out: int) -> ColumnPlan:
    if spec.labels is None:
        return ColumnPlan(spec, "enum", spec.length, 2, -1, out=out)
    return ColumnPlan(spec, "enum", spec.length, 4, len(spec.labels), out=out)


def _set(spec: CellSpec, out: int) -> ColumnPlan:
    limit = -1 if spec.labels is None else len(spec.labels)
    return ColumnPlan(spec, "set", spec.length, 8, limit, out=out)


def _text(spec: CellSpec, out: int, width: int, padded: int = 0) -> ColumnPlan:
    charset = "utf8mb4" if spec.charset is None else canonical(spec.charset)
    if charset == "binary":
        return ColumnPlan(spec, "padded" if padded else "bytes", width, limit=padded, out=out)
    if charset in ("utf8mb4", "utf8mb3"):
        return ColumnPlan(spec, charset, width, out=out)
    if charset in SINGLE_BYTE:
        return ColumnPlan(spec, "single_byte", width, points=_points(charset), out=out)
    return ColumnPlan(spec, "bytes", width, by_codec=True, out=out)


def _varchar(spec: CellSpec, out: int) -> ColumnPlan:
    return _text(spec, out, 1 if spec.length <= 0xFF else 2)


def _char(spec: CellSpec, out: int) -> ColumnPlan:
    return _text(spec, out, 1 if spec.length <= 0xFF else 2, spec.length)


def _blob(spec: CellSpec, out: int) -> ColumnPlan:
    return _text(spec, out, spec.length)


def _as_stored(spec: CellSpec, out: int) -> ColumnPlan:
    return ColumnPlan(spec, "bytes", spec.length, out=out)


def _json(spec: CellSpec, out: int) -> ColumnPlan:
    return ColumnPlan(spec, "json", spec.length, out=out)


@cache
def _points(charset: str) -> tuple[int, ...]:
    """256 characters, and whether the first half is ASCII."""
    points = tuple(map(ord, SINGLE_BYTE[charset]))
    return (*points, int(points[:0x80] == tuple(range(0x80))))


_PLANS = {
    **dict.fromkeys(_INTEGERS, _fixed),
    T.INT24: _int24,
    **dict.fromkeys(_FRACTIONS, _fractional),
    T.BIT: _bit,
    T.NEWDECIMAL: _decimal,
    T.ENUM: _enum,
    T.SET: _set,
    T.VARCHAR: _varchar,
    T.VAR_STRING: _varchar,
    T.STRING: _char,
    T.TINY_BLOB: _blob,
    T.MEDIUM_BLOB: _blob,
    T.LONG_BLOB: _blob,
    T.BLOB: _blob,
    T.GEOMETRY: _as_stored,
    T.VECTOR: _as_stored,
    T.JSON: _json,
    T.TYPED_ARRAY: _json,
}
