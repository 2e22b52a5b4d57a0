"""Columns that do not land as they are: left out, hashed with a key, or cut short.

Statements, which may hold any value, are then left out everywhere, and so are the bytes of masked
cells.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.constants import TableId
from binlogkit.errors import InputError, SchemaError, UsageError
from binlogkit.frames.fields.rows import CHANGELOG
from binlogkit.frames.flat_cells import own_name
from binlogkit.rows.filters import TableName, parse_table_name, written_table_name
from binlogkit.rows.schema import TableSchema

_HOW = re.compile(r"(?P<how>drop|hash|clear|truncate:(?P<length>\d+))$")
#: A field's mask, in its metadata.
MASK = b"binlogkit:mask"
_LEAST_KEY = 16  # bytes
#: What may hold statements, or values of any column.
_TEXTS = ("_query",)
#: Why rows of a table wait that :attr:`Masks.unsure` has.
UNSURE = "statements before it are missing, in which it may have got another name"
#: The columns of a changelog that are not the table's.
OURS = frozenset(field.name for field in CHANGELOG)


@dataclass(frozen=True, slots=True)
class Mask:
    """One mask.

    ``table``: its table; ``column``: in lower case; ``how``: drop, hash or truncate; ``length``:
    characters or bytes that truncate leaves.
    """

    table: TableName
    column: str
    how: str
    length: int = 0

    @property
    def text(self) -> str:
        """As the user may give it."""
        names = (self.table.table,) if self.table.db is None else (self.table.db, self.table.table)
        return f"{written_table_name(*names, self.column)}={self.action}"

    @property
    def action(self) -> str:
        """What it does, as the user may give it."""
        return f"{self.how}:{self.length}" if self.how == "truncate" else self.how

    def kind(self, kind: pa.DataType) -> pa.DataType:
        """The type that a column of this one has then."""
        return kind if self.how == "truncate" and pa.types.is_binary(kind) else pa.string()


#: A column: database, table and name, in small letters.
MaskedColumn: TypeAlias = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Guard:
    """A masked ``column`` of one table: its ``names`` there, and whether statements in the logs
    show the table without it."""

    column: str
    names: frozenset[str]
    may_lack: bool


@dataclass(frozen=True, slots=True)
class Masks:
    """All masks of a landing; ``key``: for the hashes, HMAC with SHA-256.

    ``cleared``: columns that are said to land as they are, as texts; ``followed``: columns that a
    mask is for under other names; ``guards``: of tables; ``unsure``: tables that may have been
    renamed from others in statements that are missing (renames.py).
    """

    masks: tuple[Mask, ...] = ()
    key: bytes = field(default=b"", repr=False)
    cleared: frozenset[str] = frozenset()
    followed: Mapping[MaskedColumn, Mask] = field(default_factory=dict)
    guards: Mapping[TableId, Sequence[Guard]] = field(default_factory=dict)
    unsure: frozenset[TableId] = frozenset()

    @property
    def texts(self) -> tuple[str, ...]:
        """The masks as a landing keeps them."""
        return tuple(sorted(mask.text for mask in self.masks))

    @property
    def key_mark(self) -> str:
        """A mark that detects another key, empty without one."""
        text = b"binlogkit landing"
        return hmac.digest(self.key, text, "sha256").hex()[:16] if self.key else ""

    def mask_of(self, db: str, table: str, column: str) -> Mask | None:
        """The mask of a column."""
        column = own_name(column).lower()
        for mask in self.masks:
            if mask.column == column and applies(mask.table, db, table):
                return mask
        return self.followed.get((db.lower(), table.lower(), column))

    def check(self, schema: TableSchema) -> None:
        """SchemaError: a masked column may be among a table's columns under a name that nothing
        tells."""
        columns = {column.name.lower() for column in schema.columns}
        for guard in self.guards.get((schema.db.lower(), schema.table.lower()), ()):
            if not guard.may_lack and guard.names.isdisjoint(columns):
                raise SchemaError(
                    f"it has no column {guard.column}, which is masked, and no statement in the "
                    "logs says why"
                )
        for mask in self.masks if schema.name in self.unsure else ():
            column = written_table_name(*schema.name, mask.column)
            if mask.column in columns and not (
                self.masks_column(*schema.name, mask.column) or column.lower() in self.cleared
            ):
                raise SchemaError(f"{UNSURE}: {column} may be that of {mask.text}")

    def masks_column(self, db: str, table: str, column: str) -> bool:
        """Whether a column does not land as it is."""
        return self.mask_of(db, table, column) is not None

    def concerns(self, db: str, table: str) -> bool:
        """Whether a column of a table is masked, or may be."""
        name = db.lower(), table.lower()
        named = any(applies(mask.table, db, table) for mask in self.masks)
        return named or any(one[:2] == name for one in self.followed)

    def shown(self, db: str, table: str, row: Mapping[str, object]) -> dict[str, object]:
        """A row's values, as records have them, with masked ones left out, hashed or cut.

        Nothing of it is left where the names of a masked table's columns are not known.
        """
        if not self.concerns(db, table):
            return {**row}
        if any(name.startswith("@") for name in row):
            return {}
        return dict(self._shown(db, table, row))

    def _shown(
        self, db: str, table: str, row: Mapping[str, object]
    ) -> Iterator[tuple[str, object]]:
        for name, value in row.items():
            mask = self.mask_of(db, table, name)
            if mask is None or (value is None and mask.how != "drop"):
                yield name, value
            elif mask.how != "drop":
                text = pa.array([value if isinstance(value, str) else str(value)], pa.string())
                yield name, masked_values(mask, self.key, text)[0].as_py()

    def of(self, db: str, table: str, one: pa.Field) -> pa.Field | None:
        """The column as it lands, None if it does not."""
        mask = self.mask_of(db, table, one.name)
        if mask is None:
            return one
        return None if mask.how == "drop" else pa.field(one.name, mask.kind(one.type))

    def apply(self, db: str, table: str, batch: pa.RecordBatch) -> pa.RecordBatch:
        """A batch of a table's changelog with masked values."""
        if not self.masks:
            return batch
        own = (name for name in batch.schema.names if name not in OURS)
        found = {name: self.mask_of(db, table, name) for name in own}
        return masked_batch(batch, {n: mask for n, mask in found.items() if mask}, self.key)


def masked_batch(
    batch: pa.RecordBatch, masks: Mapping[str, Mask], key: bytes, hidden: Collection[str] = ()
) -> pa.RecordBatch:
    """A batch of a changelog without statements, its columns masked by their names; ``hidden``:
    columns that it lacks, and whose cells show no bytes, either."""
    made: dict[str, pa.Array] = {}
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        mask = masks.get(name)
        if name in _TEXTS:
            column = pa.nulls(len(batch), column.type)
        elif mask is not None and mask.how == "drop":
            continue
        elif mask is not None:
            column = masked_values(mask, key, column)
        made[name] = column
    return _without_bytes(pa.RecordBatch.from_pydict(made), {*masks, *hidden})


def masked_values(mask: Mask, key: bytes, column: pa.Array) -> pa.Array:
    """A column hashed or cut; of a TIME its microseconds."""
    if pa.types.is_duration(column.type):
        column = column.cast(pa.int64())
    if mask.how == "truncate":
        if pa.types.is_binary(column.type):
            return pc.binary_slice(column, 0, mask.length)
        return pc.utf8_slice_codeunits(column.cast(pa.string()), 0, mask.length)
    coded = column.dictionary_encode()
    texts = [
        hmac.digest(key, _bytes(value), "sha256").hex() for value in coded.dictionary.to_pylist()
    ]
    return pa.array(texts, pa.string()).take(coded.indices)


def _bytes(value: object) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")


def applies(name: TableName, db: str, table: str) -> bool:
    """Whether a table is the one that a mask names."""
    same = name.table.lower() == table.lower()
    return same and (name.db is None or name.db.lower() == db.lower())


def _without_bytes(batch: pa.RecordBatch, masked: Collection[str]) -> pa.RecordBatch:
    """Remove the bytes and texts of masked cells from ``_cells``."""
    at = batch.schema.get_field_index("_cells")
    cells = batch.column(at)
    if not masked or cells.null_count == len(cells):
        return batch
    kept = [
        None if row is None else [
            cell | {"bytes": None, "text": None} if cell["column"] in masked else cell
            for cell in row
        ]
        for row in cells.to_pylist()
    ]  # fmt: skip
    return batch.set_column(at, batch.schema.field(at), pa.array(kept, cells.type))


def read_masks(texts: Iterable[str]) -> Masks:
    """The masks that a landing keeps (:attr:`Masks.texts`), without their key."""
    return Masks(tuple(map(_parsed, texts)))


def parse_masks(given: Iterable[str], key_file: str | Path | None = None) -> Masks:
    """``[DB.]TABLE.COLUMN=drop|hash|truncate:N|clear`` each.

    Names that hold dots are in backquotes. ``key_file``: holds the key for the hashes, 16 bytes or
    more. UsageError, InputError.
    """
    parsed = [*map(_parsed, given)]
    masks = tuple(mask for mask in parsed if mask.how != "clear")
    cleared = frozenset(m.text.rpartition("=")[0].lower() for m in parsed if m.how == "clear")
    key = b""
    if any(mask.how == "hash" for mask in masks):
        if key_file is None:
            raise UsageError(
                "hash needs a key: name a file that holds one (--mask-key, mask_key_file)"
            )
        key = _key_of(Path(key_file))
    elif key_file is not None:
        raise UsageError("a key is given, but no column is hashed")
    return Masks(masks, key, cleared)


def _key_of(path: Path) -> bytes:
    try:
        key = path.read_bytes().strip()
    except OSError as exc:
        raise InputError(str(path), f"cannot be read: {exc.strerror}") from exc
    if len(key) < _LEAST_KEY:
        raise UsageError(
            f"the key in {path} has {len(key)} bytes, at least {_LEAST_KEY} are needed"
        )
    return key


def _parsed(text: str) -> Mask:
    name, _, how = text.rpartition("=")
    match = _HOW.match(how)
    parts: Sequence[str] = _PARTS.findall(name)
    if match is None or len(parts) not in (2, 3) or ".".join(parts) != name:
        raise UsageError(
            f"a mask is [DB.]TABLE.COLUMN=drop, =hash, =truncate:N or =clear, not {text!r}"
        )
    table = parse_table_name(".".join(parts[:-1]))
    column = parts[-1]
    if column.startswith("`"):
        column = column[1:-1].replace("``", "`")
    length = int(match["length"] or 0)
    return Mask(table, column.lower(), match["how"].partition(":")[0], length)


_PARTS = re.compile(r"`(?:[^`]|``)*`|[^`.]+")
