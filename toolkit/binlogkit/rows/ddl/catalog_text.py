"""A catalog as text: its tables, the unknown ones, and the databases' character sets.

Of each table what is not at its default is there, as JSON; bytes are ``{"bytes": "hex"}``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from binlogkit.errors import SchemaError
from binlogkit.rows.ddl.catalog import Catalog
from binlogkit.rows.ddl.charsets import Collated
from binlogkit.rows.ddl.table import Tracked


def catalog_text(catalog: Catalog) -> str:
    """The text of a catalog, the same for the same content."""
    known = {name: catalog.tracked(name) for name in sorted(catalog.names())}
    return json.dumps(
        {
            "server_version": catalog.server_version,
            "lower_case_table_names": catalog.fold,
            "databases": {db: _plain(default) for db, default in sorted(catalog.databases.items())},
            "tables": [_plain(table) for table in known.values() if table is not None],
            "unknown": [
                [*name, catalog.is_unknown(*name)] for name, table in known.items() if table is None
            ],
        },
        ensure_ascii=False,
    )


def catalog_of_text(text: str) -> Catalog:
    """The catalog of a text. SchemaError: it is none."""
    try:
        stored = json.loads(text)
        fold = stored["lower_case_table_names"]
        catalog = Catalog(stored["server_version"], lower_case_table_names=fold)
        for db, default in stored["databases"].items():
            catalog.put_database(db, _of(Collated, default))
        for table in stored["tables"]:
            catalog.put(_of(Tracked, table))
        for db, table, reason in stored["unknown"]:
            catalog.lose((db, table), reason)
    except (ValueError, LookupError, TypeError, AttributeError) as exc:
        raise SchemaError(f"definitions of tables that were kept cannot be read: {exc}") from exc
    return catalog


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        own = ((one, getattr(value, one.name)) for one in fields(value))
        return {f.name: _plain(v) for f, v in own if f.default is MISSING or v != f.default}
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return {"bytes": value.hex()} if isinstance(value, bytes) else value


def _of(kind: Any, plain: Any) -> Any:
    """A value of a type from its plain form."""
    if isinstance(plain, list):
        each, *_ = get_args(kind)
        return tuple(_of(each, one) for one in plain)
    if not isinstance(plain, dict):
        return plain
    if "bytes" in plain:
        return bytes.fromhex(plain["bytes"])
    if get_origin(kind) in (Union, UnionType):
        kind = next(one for one in get_args(kind) if is_dataclass(one))
    hints: Mapping[str, Any] = _hints(kind)
    return kind(**{name: _of(hints[name], value) for name, value in plain.items()})


_hints = cache(get_type_hints)
