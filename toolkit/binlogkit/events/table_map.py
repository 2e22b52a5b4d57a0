"""TABLE_MAP_EVENT (5.1.5+): a table's id, names and column types for the rows events that follow.

``table_id:6 flags:2``, then ``length:packed db NUL length:packed table NUL column_count:packed
types:n metadata_length:packed metadata null_bits:(n+7)/8`` and, from 8.0.1 on, optional metadata
as type, packed length, value (``table_map_event`` in the server's sources).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from binlogkit._kernel.cursor import Cursor
from binlogkit.constants import EventType
from binlogkit.events.base import ParseContext, ended_text, hidden, readers_of, reads, stored
from binlogkit.sources.log_format import is_mariadb
from binlogkit.sources.raw import RawEvent


@dataclass(frozen=True, slots=True)
class DefaultCharset:
    """``default``: collation id of most columns; ``others``: (index, collation id) of the rest.

    The index counts the character columns (or ENUM and SET columns) only.
    """

    default: int
    others: tuple[tuple[int, int], ...]


def _bits(cursor: Cursor, name: str) -> tuple[bool, ...]:
    data = cursor.rest(name)
    return tuple(bool(byte & (0x80 >> bit)) for byte in data for bit in range(8))


def _numbers(cursor: Cursor, name: str) -> tuple[int, ...]:
    values = []
    while cursor.left:
        values.append(cursor.packed(name))
    return tuple(values)


def _pairs(cursor: Cursor, name: str, odd: str) -> tuple[tuple[int, int], ...]:
    rest = _numbers(cursor, name)
    if len(rest) % 2:
        raise cursor.fail(name, odd)
    return tuple(zip(rest[::2], rest[1::2], strict=True))


def _default_charset(cursor: Cursor, name: str) -> DefaultCharset:
    default = cursor.packed(name)
    return DefaultCharset(default, _pairs(cursor, name, "a column without a collation"))


def _names(cursor: Cursor, name: str) -> tuple[str, ...]:
    names = []
    while cursor.left:
        names.append(cursor.text(cursor.packed(f"{name}_length"), name))
    return tuple(names)


def _labels(cursor: Cursor, name: str) -> tuple[tuple[bytes, ...], ...]:
    columns = []
    while cursor.left:
        count = cursor.packed(f"{name}_count")
        if count > cursor.left:
            raise cursor.fail(f"{name}_count", f"{count} labels in {cursor.left} bytes")
        columns.append(
            tuple(cursor.read(cursor.packed(f"{name}_length"), name) for _ in range(count))
        )
    return tuple(columns)


def _simple_key(cursor: Cursor, name: str) -> tuple[tuple[int, int], ...]:
    return tuple((index, 0) for index in _numbers(cursor, name))


def _prefix_key(cursor: Cursor, name: str) -> tuple[tuple[int, int], ...]:
    return _pairs(cursor, name, "a key column without a prefix length")


@dataclass(frozen=True, slots=True)
class OptionalMetadata:
    """What ``binlog_row_metadata`` MINIMAL (the first four) and FULL add; None where not there.

    ``unsigned``: one bit per numeric column, in order, padded to whole bytes; ``columns_charset``
    and ``enum_and_set_columns_charset``: a collation id per column of that kind; ``set_labels``,
    ``enum_labels``: per SET and ENUM column, as stored; ``primary_key``: (column index, prefix
    length or 0); ``visible``: one bit per column (8.0.23); ``vector_dimensions``: 9.0;
    ``unknown``: type and value of what has no name here, or is there a second time; ``order``: the
    types as stored.
    """

    unsigned: tuple[bool, ...] | None = stored((1, _bits))
    default_charset: DefaultCharset | None = stored((2, _default_charset))
    columns_charset: tuple[int, ...] | None = stored((3, _numbers))
    geometry_types: tuple[int, ...] | None = stored((7, _numbers))
    column_names: tuple[str, ...] | None = stored((4, _names))
    set_labels: tuple[tuple[bytes, ...], ...] | None = stored((5, _labels))
    enum_labels: tuple[tuple[bytes, ...], ...] | None = stored((6, _labels))
    primary_key: tuple[tuple[int, int], ...] | None = stored((8, _simple_key), (9, _prefix_key))
    enum_and_set_default_charset: DefaultCharset | None = stored((10, _default_charset))
    enum_and_set_columns_charset: tuple[int, ...] | None = stored((11, _numbers))
    visible: tuple[bool, ...] | None = stored((12, _bits))
    vector_dimensions: tuple[int, ...] | None = stored((13, _numbers))
    unknown: tuple[tuple[int, bytes], ...] | None = None
    order: tuple[int, ...] = hidden()


_READERS = readers_of(OptionalMetadata)


@dataclass(frozen=True, slots=True)
class TableMap:
    """A table of the rows events that follow.

    ``types``: one type code per column; ``metadata``: the types' metadata, end to end;
    ``nullable``: one bit per column, lowest first (both empty up to 5.1.4); ``mariadb``: written by
    it, whose lists of character sets count GEOMETRY columns too.
    """

    table_id: int
    flags: int
    db: str
    table: str
    types: bytes
    metadata: bytes
    nullable: bytes
    optional: OptionalMetadata | None
    mariadb: bool = hidden(False)

    @property
    def column_count(self) -> int:
        """How many columns the table has."""
        return len(self.types)


def _optional(cursor: Cursor) -> OptionalMetadata | None:
    if not cursor.left:
        return None
    values: dict[str, Any] = {}
    unknown: list[tuple[int, bytes]] = []
    order: list[int] = []
    while cursor.left:
        kind = cursor.uint(1, "optional_metadata_type")
        part = cursor.sub(cursor.packed("optional_metadata_length"), "optional_metadata")
        order.append(kind)
        [(name, read)] = _READERS.get(kind, [("", None)])
        if read is None or name in values:
            unknown.append((kind, part.data))
        else:
            values[name] = read(part, name)
    if unknown:
        values["unknown"] = tuple(unknown)
    return OptionalMetadata(**values, order=tuple(order))


@reads(EventType.TABLE_MAP_EVENT)
def _table_map(cursor: Cursor, raw: RawEvent, context: ParseContext) -> TableMap:
    table_id = cursor.uint(context.table_id_width(raw.header.type_code), "table_id")
    flags = cursor.uint(2, "flags")
    context.end_post_header(cursor, raw.header.type_code)
    db, table = (
        ended_text(cursor, cursor.packed(f"{name}_length"), name) for name in ("db", "table")
    )
    count = cursor.packed("column_count")
    types = cursor.read(count, "column_types")
    if not cursor.left:  # 5.1.4 and before end here.
        return TableMap(table_id, flags, db, table, types, b"", b"", None)
    metadata = cursor.read(cursor.packed("metadata_length"), "metadata")
    nullable = cursor.read((count + 7) // 8, "null_bits")
    optional = _optional(cursor)
    return TableMap(
        table_id, flags, db, table, types, metadata, nullable, optional,
        is_mariadb(context.server_version),
    )  # fmt: skip
