"""How a decoded value compares with a server's own answer."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from binlogkit._kernel.cells import CellSpec, NoArrowValue
from binlogkit._kernel.codecs import decoder_for
from binlogkit._kernel.metadata import resolve
from binlogkit._kernel.value_text import date_text, datetime_text, decimal_text, time_text
from binlogkit.constants import ColumnType as T

_TEMPORAL = {
    T.DATE: lambda v, _: date_text(v),
    T.TIME2: time_text,
    T.DATETIME2: datetime_text,
    T.TIMESTAMP2: datetime_text,
}


def spec_of(cell: Mapping[str, Any]) -> CellSpec:
    """The spec of a record of ``boundary_cells.json``."""
    meta = bytes.fromhex(cell["meta"])
    real = resolve(cell["type"], meta)
    labels = cell["labels"]
    return CellSpec(
        real.type,
        meta,
        cell["unsigned"],
        real.length,
        real.precision,
        real.scale,
        cell["charset"],
        None if labels is None else tuple(labels),
    )


def decoded(cell: Mapping[str, Any]) -> object:
    """The value of a record's cell, in the form of the server's answer."""
    spec = spec_of(cell)
    data = bytes.fromhex(cell["cell"])
    value, p = decoder_for(spec)(data, 0, len(data))
    assert p == len(data)
    return in_servers_form(spec, value)


def in_servers_form(spec: CellSpec, value: Any) -> object:
    """A value as the SELECT of ``boundary_cases.SELECTS`` gives it."""
    if isinstance(value, NoArrowValue):
        return value.text
    if spec.type in _TEMPORAL:
        return _TEMPORAL[spec.type](value, spec.scale)
    if isinstance(value, Decimal):
        return decimal_text(value)
    if isinstance(value, bytes):
        return value.hex().upper()
    if isinstance(value, float):
        return repr(value)
    if spec.type is T.YEAR:
        return f"{value:04d}"
    return value if isinstance(value, str) else str(value)
