"""Answers as lines of text that no process, hash seed, batch size or version of Arrow changes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from tests.answers.binlogkit_answers.fields import FIELDS

__all__ = ["Told", "line", "plain", "rows_of", "type_name"]


@dataclass(slots=True)
class Told:
    """What one question brought, without sentences: better English is no changed fact."""

    facts: list[str] = field(default_factory=list)

    def add(self, *facts: Any) -> None:
        """One line of facts."""
        self.facts.append(line(*facts))

    def records(self, part: str, records: Iterable[Mapping[str, Any]]) -> None:
        """A line for each record, of the fields that this part is compared by."""
        names = FIELDS[part]
        for record in records:
            self.add({name: record[name] for name in sorted(names & record.keys())})


def line(*values: Any) -> str:
    """JSON in ASCII on one line; bytes as hex, what JSON has no form for as text."""
    told = values[0] if len(values) == 1 else values
    return json.dumps(told, ensure_ascii=True, default=_other, separators=(",", ":"))


def _other(value: Any) -> Any:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {"hex": bytes(value).hex()}
    if isinstance(value, (set, frozenset)):
        return sorted(map(str, value))
    return str(value)


def rows_of(table: pa.Table | pa.RecordBatch) -> Iterable[dict[str, Any]]:
    """The rows of a frame, values as :func:`plain` makes them."""
    names = table.schema.names
    columns = [plain(column) for column in table.columns]
    for row in zip(*columns, strict=True):
        yield dict(zip(names, row, strict=True))


def type_name(kind: pa.DataType) -> str:
    """An Arrow type in words that no version of Arrow changes; a dictionary is what it holds."""
    types = pa.types
    if types.is_dictionary(kind):
        return f"dictionary of {type_name(kind.value_type)}"
    if types.is_list(kind):
        return f"list of {type_name(kind.value_type)}"
    if types.is_struct(kind):
        return f"struct of {', '.join(f'{f.name} {type_name(f.type)}' for f in kind)}"
    return str(kind)


def plain(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """A column as Python values that JSON can hold: times as the integers that Arrow keeps."""
    if isinstance(column, pa.ChunkedArray):
        return [value for chunk in column.chunks for value in plain(chunk)]
    kind, types = column.type, pa.types
    if types.is_dictionary(kind):
        return plain(column.dictionary_decode())
    if types.is_struct(kind):
        children = [plain(column.field(i)) for i in range(kind.num_fields)]
        names = [kind.field(i).name for i in range(kind.num_fields)]
        there = column.is_valid().to_pylist()
        cells = zip(*children, strict=True) if children else iter([()] * len(column))
        # A list of pairs: two columns may have one name.
        return [
            list(zip(names, row, strict=True)) if valid else None
            for valid, row in zip(there, cells, strict=True)
        ]
    if types.is_list(kind) or types.is_large_list(kind):
        return _lists(column)
    if types.is_temporal(kind):
        return _values(column.cast(pa.int64() if kind.bit_width == 64 else pa.int32()))
    if types.is_decimal(kind):
        return [None if value is None else str(value) for value in column.to_pylist()]
    if types.is_binary(kind) or types.is_large_binary(kind):
        return [None if value is None else "0x" + value.hex() for value in column.to_pylist()]
    return _values(column)


def _values(column: Any) -> list[Any]:
    return list(column.to_pylist())


def _lists(column: Any) -> list[Any]:
    items = plain(column.flatten())
    lengths = column.value_lengths().to_pylist()
    found, at = [], 0
    for length in lengths:
        found.append(None if length is None else items[at : at + length])
        at += length or 0
    return found
