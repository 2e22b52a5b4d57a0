"""A table map's bytes by column: types, their metadata, and what optional metadata says of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from binlogkit.constants import ColumnType
from binlogkit.errors import DamageError
from binlogkit.events.explain.cursor import Recorder
from binlogkit.events.explain.fields import METADATA
from binlogkit.events.explain.parts import Detail, FieldPart, fill
from binlogkit.events.explain.values import collation
from binlogkit.events.explain.walk import EventWalk
from binlogkit.events.table_map import TableMap
from binlogkit.rows.resolve import LABELLED, NUMERIC, charset_slots, read_columns, signed_columns
from binlogkit.rows.schema import Column, TableSchema
from binlogkit.rows.type_text import type_text

Kinds = frozenset[ColumnType]
Says = tuple[str, str] | Callable[[Column, int], str]
_PREFIX_KEY = 9


def label_of(column: Column) -> str:
    """A column's number and its name, where it has one."""
    number = f"@{column.index + 1}"
    return number if column.name == number else f"{number} {column.name}"


def explain_table_map(
    walk: EventWalk, schema: TableSchema | None, server_version: str = ""
) -> None:
    """Take a table map's fields apart, each by its columns; ``schema`` gives their names."""
    body = walk.body
    assert isinstance(body, TableMap)
    metadata = walk.root.find("metadata")
    recorder = Recorder(body.metadata, base=metadata.start if metadata else 0)
    columns: list[Column] = []
    problem = ""
    try:
        columns += read_columns(body, recorder)
    except DamageError as error:
        problem = error.reason
        walk.problems.append(f"metadata: {problem}")
    if schema is not None and len(schema.columns) == len(columns):
        columns = list(schema.columns)
    else:
        columns = [replace(column, mysql_type=type_text(column)) for column in columns]
    if metadata is not None:
        _metadata(metadata, recorder, columns, problem)
    _types(walk.root.find("column_types"), body, columns)
    _bits(walk.root.find("null_bits"), columns, ("NOT NULL", "may be NULL"), lowest_first=True)
    bits = (body.optional and body.optional.unsigned) or ()
    signed = signed_columns(columns, bits, server_version)
    slots = charset_slots(body)
    for _, part in walk.root.walk():
        if part.parts and part.parts[0].field == "optional_metadata_type":
            _optional(part, columns, signed, slots)


def _types(part: FieldPart | None, body: TableMap, columns: Sequence[Column]) -> None:
    if part is None:
        return
    part.value = f"{len(body.types)} columns"
    for index, code in enumerate(body.types):
        at = part.start + index
        known = code in ColumnType._value2member_map_
        name = ColumnType(code).name if known else "unknown"
        column = columns[index] if index < len(columns) else None
        leaf = FieldPart(label_of(column) if column else f"@{index + 1}", at, at + 1, name)
        leaf.meaning = column.mysql_type if column else f"type {code}, which cannot be read on"
        if column is not None and column.type.name != name:
            leaf.meaning += f" (real type {column.type.name}, from the metadata)"
        part.parts.append(leaf)


def _metadata(part: FieldPart, recorder: Recorder, columns: Sequence[Column], problem: str) -> None:
    by_number = {f"@{column.index + 1}": column for column in columns}
    for leaf in recorder.parts:
        column = by_number.get(leaf.field)
        if column is not None and leaf.size:
            leaf.field, leaf.meaning = label_of(column), _says(column)
        elif leaf.size:
            leaf.meaning = "does not fit the type of its column"
    part.parts = [leaf for leaf in recorder.parts if leaf.size]
    fill(part, problem=problem)


def _says(column: Column) -> str:
    said = METADATA.get(column.type.name) or METADATA["other"]
    return said.format(
        type=column.type.name, length=column.length, precision=column.precision, scale=column.scale
    )


def bitmap_details(
    data: bytes, columns: Sequence[Column], says: Says, *, lowest_first: bool = True
) -> list[Detail]:
    """A bit for each of the columns, and those beyond the last one where any of them is set.

    ``says``: what 0 and 1 say of any column, or what a bit says of its own; ``lowest_first``: else
    from the highest bit on.
    """
    order = range(8) if lowest_first else range(7, -1, -1)
    said = says if callable(says) else lambda _, bit: says[bit]
    bits = [byte >> i & 1 for byte in data for i in order]
    details = [
        Detail(f"bit {i}", bit, f"{label_of(column)}: {said(column, bit)}")
        for i, (bit, column) in enumerate(zip(bits, columns, strict=False))
    ]
    beyond = bits[len(columns) :]
    if any(beyond):
        last = len(bits) - 1
        name = f"bits {len(columns)}-{last}" if len(beyond) > 1 else f"bit {last}"
        details.append(Detail(name, "".join(map(str, beyond)), "beyond the last column"))
    return details


def _bits(
    part: FieldPart | None, columns: Sequence[Column], says: Says, *, lowest_first: bool
) -> None:
    if part is not None and isinstance(part.value, bytes):
        part.details = bitmap_details(part.value, columns, says, lowest_first=lowest_first)


def _of(columns: Sequence[Column], kinds: Kinds) -> list[Column]:
    return [column for column in columns if column.type in kinds]


def _unsigned(column: Column, bit: int) -> str:
    if column.type not in NUMERIC:
        return "always set, though it has no sign"
    return "unsigned" if bit else "signed"


_KINDS: dict[str, Kinds] = {
    "enum_and_set_default_charset": frozenset(LABELLED),
    "enum_and_set_columns_charset": frozenset(LABELLED),
    "column_names": frozenset(ColumnType),
    "geometry_types": frozenset({ColumnType.GEOMETRY}),
    "vector_dimensions": frozenset({ColumnType.VECTOR}),
    "set_labels_count": frozenset({ColumnType.SET}),
    "enum_labels_count": frozenset({ColumnType.ENUM}),
}


def _optional(
    group: FieldPart, columns: Sequence[Column], signed: Sequence[Column], slots: Kinds
) -> None:
    """Say of which column each value of a field of optional metadata is.

    ``signed``: the columns that have a bit of signedness; ``slots``: the types that have a place in
    the lists of character sets.
    """
    kinds_of = {"default_charset": slots, "columns_charset": slots} | _KINDS
    by_field: dict[str, list[FieldPart]] = {}
    for part in group.parts[2:]:
        by_field.setdefault(part.field, []).append(part)
    for name, parts in by_field.items():
        if name == "unsigned":
            _bits(parts[0], signed, _unsigned, lowest_first=False)
        elif name == "visible":
            _bits(parts[0], columns, ("invisible", "visible"), lowest_first=False)
        elif name in ("default_charset", "enum_and_set_default_charset"):
            _default_charset(parts, _of(columns, kinds_of[name]))
        elif name == "primary_key":
            _key(parts, columns, prefixes=group.parts[0].value == _PREFIX_KEY)
        elif name in kinds_of:
            for part, column in zip(parts, _of(columns, kinds_of[name]), strict=False):
                part.meaning = f"{label_of(column)}: {part.meaning}"


def _default_charset(parts: list[FieldPart], columns: list[Column]) -> None:
    for i, part in enumerate(parts):
        number = part.value if isinstance(part.value, int) else 0
        if i == 0:
            rest = ", but for those below" if len(parts) > 1 else ""
            part.meaning = f"{collation(number)}: of every column of this kind{rest}"
        elif i % 2 and number < len(columns):
            part.meaning = f"{label_of(columns[number])}: the next number is its collation"
        elif i % 2:
            part.meaning = "no column of this kind has this number"
        else:
            part.meaning = collation(number)


def _key(parts: list[FieldPart], columns: Sequence[Column], *, prefixes: bool) -> None:
    for i, part in enumerate(parts):
        number = part.value if isinstance(part.value, int) else len(columns)
        if prefixes and i % 2:
            part.meaning = f"the first {number} characters of it" if number else "the whole column"
        elif number < len(columns):
            part.meaning = f"{label_of(columns[number])}: part of the primary key"
        else:
            part.meaning = "no column has this number"
