"""A table map, completed by metadata or by a definition, becomes a :class:`TableSchema`.

Each fact comes from the best source there is and says from which: the table map's own optional
metadata first, then the definitions offered (DDL in the log, a schema file, a live server), the
first that does not contradict the table map. What none has is assumed, and marked so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from binlogkit._kernel.charsets import COLLATIONS, decode
from binlogkit._kernel.cursor import Cursor
from binlogkit._kernel.metadata import metadata_length, resolve
from binlogkit.constants import ColumnType
from binlogkit.errors import MalformedEventError
from binlogkit.events.table_map import DefaultCharset, OptionalMetadata, TableMap
from binlogkit.rows.ddl.match import fits, matches, without_charset
from binlogkit.rows.schema import (
    Column,
    ColumnDefinition,
    Origin,
    Supposition,
    TableDefinition,
    TableSchema,
)
from binlogkit.rows.type_text import type_text
from binlogkit.sources.log_format import CASCADES_LOGGED, version_tuple

# The optional metadata's bits and lists count only the columns of a kind
# (is_numeric_type, is_character_type, is_enum_or_set_type in the server's log_event.cc, 8.0.31).
NUMERIC = frozenset(
    {
        ColumnType.TINY, ColumnType.SHORT, ColumnType.INT24, ColumnType.LONG, ColumnType.LONGLONG,
        ColumnType.NEWDECIMAL, ColumnType.FLOAT, ColumnType.DOUBLE,
    }
)  # fmt: skip
# YEAR has a bit too, always set (seen in table maps of 8.0.31 and 9.7.4), though it has no sign;
# not up to 8.0.20 (is_numeric_type of its sql/field.h; seen in table maps of 8.0.15).
SIGN_BITS = NUMERIC | {ColumnType.YEAR}
_LAST_WITHOUT_YEARS = (8, 0, 20)
CHARACTER = frozenset(
    {
        ColumnType.STRING, ColumnType.VAR_STRING, ColumnType.VARCHAR, ColumnType.BLOB,
        ColumnType.TINY_BLOB, ColumnType.MEDIUM_BLOB, ColumnType.LONG_BLOB,
    }
)  # fmt: skip
# VECTOR has a character set too, binary (seen in table maps of 9.7.4).
CHARSET_SLOTS = CHARACTER | {ColumnType.VECTOR}
_SIZED = frozenset({ColumnType.STRING, ColumnType.VAR_STRING, ColumnType.VARCHAR})
LABELLED = frozenset({ColumnType.ENUM, ColumnType.SET})


def signed_columns(
    columns: Sequence[Column], bits: Sequence[bool], server_version: str = ""
) -> list[Column]:
    """The columns that the bits of signedness are of, in their order.

    Which server since 8.0.21 was the first to give YEAR a bit is not known: there the bits decide,
    of which a YEAR's is set.
    """
    known = version_tuple(server_version)
    if (8, 0, 0) <= known <= _LAST_WITHOUT_YEARS:
        return [c for c in columns if c.type in NUMERIC]
    found = [c for c in columns if c.type in SIGN_BITS]
    years = [i for i, column in enumerate(found) if column.type == ColumnType.YEAR]
    if all(i < len(bits) and bits[i] for i in years):
        return found
    return [c for c in columns if c.type in NUMERIC]


def charset_slots(table_map: TableMap) -> frozenset[ColumnType]:
    """The types that have a place in the lists of character sets."""
    return CHARSET_SLOTS | {ColumnType.GEOMETRY} if table_map.mariadb else CHARSET_SLOTS


def resolve_schema(
    table_map: TableMap,
    version: int,
    definitions: Sequence[tuple[Origin, TableDefinition]] = (),
    *,
    file: str = "",
    offset: int = 0,
    charset: str | None = None,
    lost: str | None = None,
    server_version: str = "",
    accepted: frozenset[str] = frozenset(),
) -> TableSchema:
    """The schema of a table map; ``file`` and ``offset`` of its event serve errors.

    ``charset``: what the user says of text of otherwise unknown character set; ``lost``: why
    the DDL in the log does not give the table's columns any more; ``server_version``: of the log;
    ``accepted``: the names of suppositions that are none any more.

    Raises :class:`MalformedEventError` where the column metadata does not fit the types.
    """
    columns = list(read_columns(table_map, Cursor(table_map.metadata, file, offset)))
    problems = [f"{Origin.DDL}: {lost}"] if lost else []
    chosen: tuple[Origin, TableDefinition] | None = None
    supposed: tuple[Supposition, ...] = ()
    for origin, definition in definitions:
        contradiction = matches(definition, columns)
        if contradiction is None:
            chosen = (origin, definition)
            break
        problems.append(f"{origin}: {contradiction}")
    if chosen is not None:
        problems = []
        origin, definition = chosen
        definition, wrong = _with_fitting_charsets(definition, columns)
        chosen = origin, definition
        own = table_map.optional
        if own is None or (own.default_charset is None and own.columns_charset is None):
            problems += [f"{origin}: {text}" for text in wrong]
        supposed = tuple(one for one in definition.supposed if one.name not in accepted)
        columns = [defined(c, d, origin) for c, d in zip(columns, definition.columns, strict=True)]
    if table_map.optional is not None:
        columns = _with_signs(columns, table_map.optional, server_version)
        columns = _with_metadata(columns, table_map, table_map.optional, file, offset)
    utf8 = _accepted(Supposition.of_charset, table_map, columns, accepted)
    signed = _accepted(Supposition.of_sign, table_map, columns, accepted)
    columns = [
        replace(c, sign_origin=Origin.GIVEN)
        if c.index in signed and c.sign_origin is Origin.TABLE_MAP else c
        for c in columns
    ]  # fmt: skip
    lengths = [None] * len(columns) if chosen is None else [c.length for c in chosen[1].columns]
    columns = [
        (_shared if c.small else completed)(c, "utf8mb4" if c.index in utf8 else charset, length)
        for c, length in zip(columns, lengths, strict=True)
    ]
    key, kind, key_origin = _key(columns, table_map.optional, chosen)
    return TableSchema(
        table_map.db,
        table_map.table,
        version,
        tuple(columns),
        key,
        kind,
        key_origin,
        chosen[1].cascades if chosen else (),
        tuple(problems),
        supposed=supposed,
        twice=chosen is not None
        and (table_map.db, table_map.table) in chosen[1].parents
        and version_tuple(server_version) >= CASCADES_LOGGED,
    )


def _with_fitting_charsets(
    definition: TableDefinition, columns: Sequence[Column]
) -> tuple[TableDefinition, list[str]]:
    """The definition without the character sets that the table map contradicts, and a sentence on
    each."""
    found, wrong = [], []
    for given, column in zip(definition.columns, columns, strict=True):
        if not fits(given, column):
            wrong.append(
                f"{given.name} is not in its database's character set {given.charset}: "
                f"{column.length} bytes hold {given.length} characters"
            )
            given = without_charset(given)
        found.append(given)
    return replace(definition, columns=tuple(found)) if wrong else definition, wrong


def _accepted(
    of: Callable[[str, str, str], Supposition],
    table_map: TableMap,
    columns: Sequence[Column],
    accepted: frozenset[str],
) -> frozenset[int]:
    """The columns of which such a supposition was accepted."""
    if not accepted:
        return frozenset()
    suppositions = (of(table_map.db, table_map.table, c.name) for c in columns)
    return frozenset(i for i, one in enumerate(suppositions) if one.name in accepted)


def read_columns(table_map: TableMap, metadata: Cursor) -> Iterator[Column]:
    """The columns as the types say them, named by position.

    ``metadata``: over the types' metadata. Raises :class:`MalformedEventError`.
    """
    nullable = table_map.nullable
    for index, code in enumerate(table_map.types):
        try:
            width = metadata_length(code, metadata.data, metadata.pos)
            if metadata.left < width:
                raise ValueError(f"column {index + 1} has no metadata")
            meta = metadata.read(width, f"@{index + 1}")
            real, length, precision, scale = resolve(code, meta)
        except ValueError as exc:
            raise metadata.fail("metadata", str(exc)) from exc
        null = bool(nullable[index // 8] >> (index % 8) & 1) if nullable else True
        yield Column(
            index, f"@{index + 1}", real, meta, "", null,
            length=length, precision=precision, scale=scale,
        )  # fmt: skip


def defined(column: Column, definition: ColumnDefinition, origin: Origin) -> Column:
    labelled = column.type in LABELLED
    return replace(
        column,
        name=definition.name,
        name_origin=origin,
        unsigned=definition.unsigned,
        sign_origin=origin,
        charset=definition.charset,
        collation=definition.collation,
        charset_origin=origin if definition.charset else column.charset_origin,
        labels=definition.labels if labelled else None,
        labels_origin=origin if labelled else column.labels_origin,
        generated=definition.generated,
        visible=not definition.invisible,
    )


def _with_signs(
    columns: list[Column], optional: OptionalMetadata, server_version: str
) -> list[Column]:
    columns = list(columns)
    bits = optional.unsigned or ()
    for column, unsigned in zip(signed_columns(columns, bits, server_version), bits, strict=False):
        if column.type in NUMERIC:
            columns[column.index] = replace(column, unsigned=unsigned, sign_origin=Origin.METADATA)
    return columns


def _with_metadata(
    columns: list[Column], table_map: TableMap, optional: OptionalMetadata, file: str, offset: int
) -> list[Column]:
    slots = charset_slots(table_map)
    columns = list(columns)
    _put_charsets(
        columns,
        [c.index for c in columns if c.type in slots],
        optional.default_charset,
        optional.columns_charset,
    )
    labelled = [c.index for c in columns if c.type in LABELLED]
    _put_charsets(
        columns,
        labelled,
        optional.enum_and_set_default_charset,
        optional.enum_and_set_columns_charset,
    )
    for kind, labels in (
        (ColumnType.ENUM, optional.enum_labels),
        (ColumnType.SET, optional.set_labels),
    ):
        of_kind = [i for i in labelled if columns[i].type == kind]
        for index, stored in zip(of_kind, labels or (), strict=False):
            texts = tuple(_label(columns[index].charset, label) for label in stored)
            columns[index] = replace(columns[index], labels=texts, labels_origin=Origin.METADATA)
    if optional.column_names is not None:
        if len(optional.column_names) != len(columns):
            raise MalformedEventError(
                file,
                offset,
                f"{len(optional.column_names)} names for {len(columns)} columns",
                "column_names",
            )
        if len(set(optional.column_names)) < len(columns):  # one value would hide the other
            raise MalformedEventError(file, offset, "two columns of one name", "column_names")
        columns = [
            replace(c, name=name, name_origin=Origin.METADATA)
            for c, name in zip(columns, optional.column_names, strict=True)
        ]
    if optional.visible is not None:
        columns = [
            replace(c, visible=visible)
            for c, visible in zip(columns, optional.visible, strict=False)
        ]
    return columns


def _put_charsets(
    columns: list[Column],
    indexes: list[int],
    default: DefaultCharset | None,
    each: tuple[int, ...] | None,
) -> None:
    if default is not None:
        others = dict(default.others)
        ids = [others.get(i, default.default) for i in range(len(indexes))]
    elif each is not None:
        ids = list(each)
    else:
        return
    for index, collation_id in zip(indexes, ids, strict=False):
        if columns[index].type == ColumnType.GEOMETRY:
            continue
        charset, collation = COLLATIONS.get(collation_id, (None, None))
        columns[index] = replace(
            columns[index], charset=charset, collation=collation, charset_origin=Origin.METADATA
        )


def _label(charset: str | None, stored: bytes) -> str:
    try:
        return decode(charset or "utf8mb4", stored)
    except UnicodeDecodeError:
        return stored.decode("utf-8", "backslashreplace")


def completed(column: Column, charset: str | None, characters: int | None = None) -> Column:
    """The column with what is unknown assumed.

    ``charset``: what the user says of it; ``characters``: how many a CHAR or VARCHAR can hold.
    """
    if column.type in NUMERIC and column.sign_origin == Origin.TABLE_MAP:
        column = replace(column, sign_origin=Origin.ASSUMED)
    if column.type in CHARACTER and column.charset_origin == Origin.TABLE_MAP:
        origin = Origin.ASSUMED if charset is None else Origin.GIVEN
        no_utf8 = charset is None and not _may_be_utf8(column, characters)
        column = replace(column, charset=charset, charset_origin=origin, no_utf8=no_utf8)
    return replace(column, mysql_type=type_text(column))


#: The same for a column of each of the tables that are alike.
_shared = lru_cache(4096)(completed)


def _may_be_utf8(column: Column, characters: int | None) -> bool:
    """Whether the bytes that a text column can hold allow utf8mb3 or utf8mb4."""
    if column.type not in _SIZED or not column.length:
        return True
    if characters:
        return column.length in (3 * characters, 4 * characters)
    return not (column.length % 3 and column.length % 4)


def _key(
    columns: list[Column],
    optional: OptionalMetadata | None,
    chosen: tuple[Origin, TableDefinition] | None,
) -> tuple[tuple[str, ...], str, Origin]:
    if optional is not None and optional.primary_key is not None:
        indexes = [i for i, _ in optional.primary_key]
        if all(i < len(columns) for i in indexes):
            return tuple(columns[i].name for i in indexes), "primary", Origin.METADATA
    if chosen is None:
        return (), "unknown", Origin.ASSUMED
    origin, definition = chosen
    return *key_of(definition), origin


def key_of(definition: TableDefinition) -> tuple[tuple[str, ...], str]:
    """The columns that identify a row, and of which kind the key is.

    The primary key, else the first unique key of whole stored columns that are NOT NULL, as the
    server chooses the columns of a minimal image (internals manual, "PKE"; keys of a column's
    beginning and of virtual columns are none: seen on 5.7.22, 8.0.31 and 9.7.4); empty and
    ``none`` where there is neither.
    """
    if definition.primary_key:
        return definition.primary_key, "primary"
    unfit = {c.name for c in definition.columns if c.nullable or c.generated == "virtual"}
    partial = dict(definition.partial_keys)
    for index, names in enumerate(definition.unique_keys):
        if names and unfit.isdisjoint(names) and index not in partial:
            return names, "unique"
    return (), "none"
