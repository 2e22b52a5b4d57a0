"""What the compiled kernel needs to know of a table's columns, and what its faults mean.

What the kernel does not decode itself (a character set of several bytes that is not UTF-8) it hands
over as stored bytes, and the codec finishes it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

from binlogkit._kernel import numbers
from binlogkit._kernel.cells import CellSpec, Decoder
from binlogkit._kernel.charsets import SINGLE_BYTE, canonical
from binlogkit._kernel.codecs import decoder_for
from binlogkit._kernel.native.builder import TableBuilder
from binlogkit._kernel.native.layout import FaultCode, Field, Kind
from binlogkit._kernel.strings import BLOBS
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

    ``kind``: a name of ``Kind``, in lower case; ``length``: bytes of an ENUM or SET, or of the
    length in front of a cell; ``limit``: bits of a BIT, labels of an ENUM or SET (-1: not known),
    bytes of a BINARY; ``by_codec``: the codec makes values of the bytes that the kernel hands over;
    ``reason``: why a cell cannot be walked over.
    """

    spec: CellSpec
    kind: str
    length: int = 0
    limit: int = 0
    fraction: int = 0
    groups: tuple[tuple[int, int], ...] = ()
    points: tuple[int, ...] | None = None
    by_codec: bool = False
    reason: str = ""

    def described(self, out: int, digests: int) -> tuple[object, ...]:
        """As ``TableBuilder`` takes it; ``out``: place among the columns asked for, -1 for one
        that is only stepped over; ``digests``: those that the column belongs to."""
        return (
            Kind["K_" + self.kind.upper()], out, self.spec.type is T.JSON, self.length,
            self.fraction, self.spec.as_5_7, digests, self.limit, self.groups, self.points,
        )  # fmt: skip


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

    ``wanted``: indexes of the columns asked for, in the table's order; None: all. ``key``: indexes
    of the key's, where digests of images are asked for (``native/digests.pxd``).
    """

    def __init__(
        self,
        specs: Sequence[CellSpec],
        names: Sequence[str],
        wanted: Sequence[int] | None = None,
        key: Sequence[int] | None = None,
    ) -> None:
        self.names = list(names)
        self.wanted = list(range(len(specs))) if wanted is None else sorted(set(wanted))
        self.columns = [(plan_of if spec.labels else _shared)(spec) for spec in specs]
        self.digested = key is not None
        self._digests = [0] * len(specs)
        if key is not None:
            self._digests = [4 if spec.type in _LONG else 2 for spec in specs]
            for i in key:
                self._digests[i] |= 1
        self._codecs: dict[int, Decoder] = {}
        self.layout: Any = None

    def builder(self, max_rows: int = MAX_ROWS, max_bytes: int = MAX_BYTES) -> TableBuilder:
        """Empty buffers for the table's rows."""
        places = {column: out for out, column in enumerate(self.wanted)}
        described = [
            column.described(places.get(i, -1), digests)
            for i, (column, digests) in enumerate(zip(self.columns, self._digests, strict=True))
        ]
        return TableBuilder(self, described, max_rows, max_bytes)

    def read(self, out: int, raw: bytes) -> object:
        """The codec's value of a cell of the ``out``-th column asked for."""
        index = self.wanted[out]
        column = self.columns[index]
        decode = self._codecs.get(out)
        if decode is None:
            decode = self._codecs[out] = decoder_for(column.spec)
        prefix = b"" if column.kind not in _PREFIXED else len(raw).to_bytes(column.length, "little")
        return decode(prefix + raw, 0, len(prefix) + len(raw))[0]

    def fault(self, code: int, field: int, wants: int, left: int, row: int) -> Fault:
        """What ``RowsPass.run`` said, in words."""
        name = Field(field).name[2:].lower() if field < 0 else self.names[field]
        reason = {
            FaultCode.E_NEEDS: f"needs {wants} bytes, {left} are left",
            FaultCode.E_NEEDS_LENGTH: f"needs {wants} bytes of length, {left} are left",
            FaultCode.E_SAYS: f"says {wants} bytes, {left} are left",
            FaultCode.E_EMPTY_ROW: "a row of no bytes",
            FaultCode.E_PACKED: f"{wants} does not start a packed integer",
            FaultCode.E_COLUMN_COUNT: f"{wants} columns, its table map has {len(self.columns)}",
            FaultCode.E_HEAD: "what stands before its rows is not as it was scanned",
        }.get(FaultCode(code)) or self.columns[field].reason
        return Fault(name, reason, row)


def plan_of(spec: CellSpec) -> ColumnPlan:
    """How the kernel reads a column."""
    try:
        decoder_for(spec)  # what cannot be, the codec says
    except ValueError as exc:
        return ColumnPlan(spec, "bad", reason=str(exc))
    return _PLANS[spec.type](spec)


#: The same for a column of each of the tables that are alike.
_shared = lru_cache(4096)(plan_of)


# What NOBLOB images lack (manual, binlog_row_image).
_LONG = frozenset({*BLOBS, T.GEOMETRY, T.VECTOR, T.JSON, T.TYPED_ARRAY})
_PREFIXED = frozenset({"bytes", "padded", "utf8mb4", "utf8mb3", "single_byte", "json"})
_KIND = {
    T.TINY: "copy1", T.SHORT: "copy2", T.LONG: "copy4", T.LONGLONG: "copy8", T.NEWDATE: "date",
    T.TIME: "old_time", T.DATETIME: "old_datetime", T.TIMESTAMP: "old_timestamp",
}  # fmt: skip
#: Types whose kind has their name, but for those above.
_FIXED = (
    *_KIND, T.YEAR, T.FLOAT, T.DOUBLE, T.DATE, T.TIME2, T.DATETIME2, T.TIMESTAMP2,
)  # fmt: skip


def _fixed(spec: CellSpec) -> ColumnPlan:
    kind = _KIND.get(spec.type, spec.type.name.lower())
    return ColumnPlan(spec, kind, fraction=(spec.scale + 1) // 2)


def _decimal(spec: CellSpec) -> ColumnPlan:
    kind = "decimal256" if spec.precision > DECIMAL128_DIGITS else "decimal128"
    return ColumnPlan(spec, kind, groups=numbers.groups(spec.precision, spec.scale))


def _labelled(spec: CellSpec) -> ColumnPlan:
    limit = -1 if spec.labels is None else len(spec.labels)
    return ColumnPlan(spec, spec.type.name.lower(), spec.length, limit)


def _text(spec: CellSpec, length: int, padded: int = 0) -> ColumnPlan:
    charset = canonical(spec.read_as)
    if charset == "binary":
        return ColumnPlan(spec, "padded" if padded else "bytes", length, padded)
    if charset in ("utf8mb4", "utf8mb3"):
        return ColumnPlan(spec, charset, length)
    if charset in SINGLE_BYTE:
        return ColumnPlan(spec, "single_byte", length, points=_points(charset))
    return ColumnPlan(spec, "bytes", length, by_codec=True)


def _varchar(spec: CellSpec, padded: int = 0) -> ColumnPlan:
    return _text(spec, 1 if spec.length <= 0xFF else 2, padded)


@cache
def _points(charset: str) -> tuple[int, ...]:
    """256 characters, and whether the first half is ASCII."""
    points = tuple(map(ord, SINGLE_BYTE[charset]))
    return (*points, int(points[:0x80] == tuple(range(0x80))))


_PLANS: dict[T, Callable[[CellSpec], ColumnPlan]] = {
    **dict.fromkeys(_FIXED, _fixed),
    T.INT24: lambda spec: ColumnPlan(spec, "uint24" if spec.unsigned else "int24"),
    T.BIT: lambda spec: ColumnPlan(spec, "bit", limit=spec.length),
    T.NEWDECIMAL: _decimal,
    **dict.fromkeys((T.ENUM, T.SET), _labelled),
    **dict.fromkeys((T.VARCHAR, T.VAR_STRING), _varchar),
    T.STRING: lambda spec: _varchar(spec, spec.length),
    **dict.fromkeys(BLOBS, lambda spec: _text(spec, spec.length)),
    **dict.fromkeys((T.GEOMETRY, T.VECTOR), lambda spec: ColumnPlan(spec, "bytes", spec.length)),
    **dict.fromkeys((T.JSON, T.TYPED_ARRAY), lambda spec: ColumnPlan(spec, "json", spec.length)),
}
