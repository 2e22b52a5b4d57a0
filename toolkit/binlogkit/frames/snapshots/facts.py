"""What a state's Parquet file and Arrow stream say of it beside its rows, as JSON.

It stands in the schema's metadata under :data:`KEY`: ``version``, ``table`` ([db, table]), ``file``
and ``pos`` (the state is that after every transaction that ends by there), ``gtids`` (those in it),
``determined`` (which rows there are), ``key``, ``columns`` (of each its ``name`` and ``facts``: the
metadata of its field in batches) and ``definition`` (the table's, null where it is not known).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa

from binlogkit.constants import TableId
from binlogkit.errors import SchemaError, UsageError
from binlogkit.events.gtid_set import GtidSet
from binlogkit.frames.arrow_types import column_field, field_facts
from binlogkit.frames.snapshots.values import Misread
from binlogkit.rows.defined import column_of, described
from binlogkit.rows.schema import ColumnDefinition, ForeignKey, TableDefinition

KEY = b"binlogkit:state"
_VERSION = 2
_PREFIX = "binlogkit:"
_MOST = 16 << 20  # characters


@dataclass(frozen=True, slots=True)
class StateFacts:
    """What is known of a state's rows; ``fields``: of the table's columns."""

    name: TableId
    fields: tuple[pa.Field, ...]
    key: tuple[str, ...]
    determined: bool
    file: str | None = None
    pos: int | None = None
    gtids: GtidSet | None = None
    definition: TableDefinition | None = None

    def metadata(self) -> dict[bytes, bytes]:
        """For an Arrow schema."""
        facts = {
            "version": _VERSION,
            "table": list(self.name),
            "file": self.file,
            "pos": self.pos,
            "gtids": None if self.gtids is None else str(self.gtids),
            "determined": self.determined,
            "key": list(self.key),
            "columns": [{"name": f.name, "facts": field_facts(f)} for f in self.fields],
            "definition": None if self.definition is None else asdict(self.definition),
        }
        return {KEY: json.dumps(facts, default=lambda default: {"hex": default.hex()}).encode()}


def facts_in(text: bytes) -> StateFacts:
    """What metadata say. :class:`Misread`: they are not as this module writes them."""
    if len(text) > _MOST:
        raise Misread("its metadata are too long")
    try:
        stored = json.loads(text)
        if stored["version"] != _VERSION:
            raise Misread(f"its version {stored['version']!r} is not known here")
        db, table = stored["table"]
        pos, gtids, definition = stored["pos"], stored["gtids"], stored["definition"]
        columns = [(str(c["name"]), c["facts"]) for c in stored["columns"]]
        return StateFacts(
            (str(db), str(table)),
            tuple(field_as(name, facts) for name, facts in columns),
            tuple(map(str, stored["key"])),
            stored["determined"] is True,
            None if stored["file"] is None else str(stored["file"]),
            pos if isinstance(pos, int) and pos >= 0 else None,
            None if gtids is None else GtidSet.parse(str(gtids)),
            None if definition is None else _definition(definition),
        )
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError,
            UsageError, SchemaError) as exc:  # fmt: skip
        if isinstance(exc, Misread):
            raise
        raise Misread(f"its metadata cannot be read ({type(exc).__name__})") from exc


def field_as(name: str, facts: dict[str, str]) -> pa.Field:
    """The field that decoded rows have for a column with these metadata. :class:`Misread`."""
    metadata = {f"{_PREFIX}{k}".encode(): str(v).encode() for k, v in facts.items()}
    definition = described(name, facts)
    if definition is not None:
        return column_field(column_of(definition)).with_metadata(metadata)
    if facts.get("mysql_type") in ("enum", "set"):  # whose labels are not known
        kind = pa.uint16() if facts["mysql_type"] == "enum" else pa.uint64()
        return pa.field(name, kind, metadata=metadata)
    raise Misread("the type of a column is not known")


def _partial(stored: Any, unique: Sequence[Sequence[str]]) -> tuple[int, tuple[int | None, ...]]:
    """A partial key; files of earlier versions have its place alone."""
    if isinstance(stored, int):
        return stored, (1,) * len(unique[stored])
    place, lengths = stored
    return int(place), tuple(None if length is None else int(length) for length in lengths)


def _definition(stored: dict[str, Any]) -> TableDefinition:
    columns = []
    for column in stored["columns"]:
        default = column["default"]
        if isinstance(default, dict):
            default = bytes.fromhex(default["hex"])
        texts = {n: tuple(map(str, column.get(n, ()))) for n in ("labels", "reads", "expression")}
        made = ColumnDefinition(**{**column, "default": default, **texts})
        column_of(made)  # KeyError: no type of MySQL
        columns.append(made)
    unique = tuple(tuple(map(str, names)) for names in stored["unique_keys"])
    foreign = []
    for key in stored["foreign"]:
        lists = {name: tuple(map(str, key[name])) for name in ("columns", "referenced")}
        foreign.append(ForeignKey(**{**key, **lists}))
    return TableDefinition(
        str(stored["db"]), str(stored["table"]), tuple(columns),
        tuple(map(str, stored["primary_key"])),
        unique, stored["charset"], stored["collation"], stored["engine"], tuple(foreign),
        tuple(_partial(key, unique) for key in stored.get("partial_keys", ())),
        tuple(map(str, stored.get("indexed", ()))),
        unique_names=tuple(map(str, stored.get("unique_names", ()))),
        expression_keys=tuple(
            tuple(map(str, names)) for names in stored.get("expression_keys", ())
        ),
        version=int(stored.get("version", 0)),
    )  # fmt: skip
