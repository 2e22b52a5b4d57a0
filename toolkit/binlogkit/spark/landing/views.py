"""``views.sql``: a landing's tables as views of DuckDB, over the files that count.

A view names its files: whatever else is in the folders (what a killed landing left, what was
compacted) is not read. The file is written anew by each landing that changed something.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

from binlogkit.constants import TableId
from binlogkit.spark.landing.as_was import AsWas, all_as_was, macro, text
from binlogkit.spark.landing.current_tables import Now
from binlogkit.spark.landing.expired import last_expired
from binlogkit.spark.landing.journal import read_landed, read_terms
from binlogkit.spark.landing.landing_path import LandingPath
from binlogkit.spark.landing.merging import known_of, quoted
from binlogkit.spark.landing.reading import files, folders, has_current, schema_of
from binlogkit.spark.landing.shape import (
    current_folder,
    landed_name,
    name_of,
    own_fields,
    table_schema,
)
from binlogkit.spark.landing.tables import last_batch
from binlogkit.spark.landing.terms import TermsSince, left_out

#: Its name, in the landing's folder.
VIEWS = "views.sql"
_CHANGES = "$changes"
_HEAD = "-- DuckDB's views over the tables here (duckdb -init views.sql), written by each landing\n"
#: Schemas and databases of DuckDB's own, by which a database could not be distinguished.
_OWN = ("information_schema", "main", "memory", "pg_catalog", "system", "temp")
_PARTITIONS = "hive_partitioning = true, hive_types = {'_day': DATE, '_source': VARCHAR}"
_TYPES = {
    "int64": "BIGINT", "float": "FLOAT", "double": "DOUBLE", "string": "VARCHAR",
    "binary": "BLOB", "date32[day]": "DATE", "timestamp[us]": "TIMESTAMP",
    "timestamp[us, tz=UTC]": "TIMESTAMPTZ",
}  # fmt: skip


def write_views(out: LandingPath, now: Now | None = None) -> None:
    """Write the file of a landing; ``now``: the landing, if it has been read. WriteError."""
    while True:
        gone = last_expired(out)
        whole = _written(out, now if now and now.ledger.last_expired == gone else None)
        if last_expired(out) == gone:  # else functions may go back to what has expired
            break
    (out / VIEWS).write_text(whole)


def _written(out: LandingPath, now: Now | None) -> str:
    terms = read_terms(out)
    names = {landed_name(one) for one in read_landed(out)["table"].unique().to_pylist()}
    kept = {name for name in map(name_of, out.below("current/*/*")) if has_current(out, name)}
    names |= kept
    shown = _shown_names(sorted(names))
    before = all_as_was(out, names, now)
    parts = (_views(out, n, one, terms, before.get(n), kept=n in kept) for n, one in shown.items())
    return _HEAD + out.duckdb + "".join(line for part in parts for line in part)


def _shown_names(names: Sequence[TableId]) -> dict[TableId, TableId]:
    """What tables are called in DuckDB, whose names have no case: ``t`` beside ``T`` is ``t$2``."""
    schemas = _distinct({db for db, _ in names}, _OWN)
    found: dict[TableId, TableId] = {}
    for db, schema in schemas.items():
        tables = _distinct((table for of, table in names if of == db), ())
        found |= {(db, table): (schema, shown) for table, shown in tables.items()}
    return found


def _distinct(names: Iterable[str], taken: Iterable[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    there = {*taken}
    for name in sorted(names):
        shown, number = name, 1
        while shown.lower() in there:
            number += 1
            shown = f"{name}${number}"
        there.add(shown.lower())
        found[name] = shown
    return found


def _views(
    out: LandingPath, name: TableId, shown: TableId, terms: Sequence[TermsSince],
    was: AsWas | None, *, kept: bool,
) -> Iterator[str]:  # fmt: skip
    """The statements for one table: its changes, and its rows as they are and as they were, if they
    are ``kept``."""
    db, table = shown
    yield f"\nCREATE SCHEMA IF NOT EXISTS {quoted(db)};\n"
    changes = f"{quoted(db)}.{quoted(table + _CHANGES)}"
    landed, current = [*folders(out, name)], out / current_folder(name)
    schema = None if landed else table_schema(own_fields(schema_of(current)))
    yield _view(changes, landed, schema)
    batches = [
        f"from {first} on" if end is None else f"{first} to {end - 1}"
        for first, end in left_out(terms, name)
    ]
    if batches:
        comment = (
            f"the terms left the table out: changes of batches {', '.join(batches)} are not here"
        )
        yield f"COMMENT ON VIEW {changes} IS {text(comment)};\n"
    if not kept:
        return
    view = f"{quoted(db)}.{quoted(table)}"
    yield _view(view, [current])
    known, comments = known_of(current) or {}, list[str]()
    if not known.get("determined", True):
        comments.append("not determined: binlogkit state says why")
    if was is None:
        comments.append(
            f"the rows after batch {last_batch(current)}, without what landed later, or waits "
            "(--current brings them up to date, or says what is in the way)"
        )
    if comments:
        yield f"COMMENT ON VIEW {view} IS {text('; '.join(comments))};\n"
    if was is not None:
        yield macro(name, shown, schema_of(current), schema or schema_of(landed[0]), was)


def _view(view: str, places: Sequence[LandingPath], schema: pa.Schema | None = None) -> str:
    """One view over folders of the same table, whose columns may have several types; ``schema``:
    its columns, if it has no folder."""
    found = [files(folder) for folder in places]
    kinds: dict[str, set[str]] = {}
    for each in [one for one, _ in found] if schema is None else [schema]:
        for field in each:
            kinds.setdefault(field.name, set()).add(_type(field.type))
    mixed = {name for name, types in kinds.items() if len(types) > 1}
    columns = [
        f"NULL::{'VARCHAR' if name in mixed else next(iter(types))} AS {quoted(name)}"
        for name, types in kinds.items()
    ]
    # No file may have a column, or there may be none: the first part has them all, and no row.
    parts = [f"SELECT {', '.join(columns)} WHERE false"]
    for schema, own in found:
        if own:
            texts = [n for n in schema.names if n in mixed]
            cast = ", ".join(f"CAST({quoted(n)} AS VARCHAR) AS {quoted(n)}" for n in texts)
            paths = ",\n  ".join(text(file.path.pattern()) for file in own)
            parted = f", {_PARTITIONS}" if "_day" in schema.names else ""
            parts.append(
                f"SELECT *{f' REPLACE ({cast})' * bool(texts)} FROM read_parquet([\n  {paths}\n], "
                f"union_by_name = true{parted})"
            )
    return f"CREATE OR REPLACE VIEW {view} AS\n" + "\nUNION ALL BY NAME ".join(parts) + ";\n"


def _type(kind: pa.DataType) -> str:
    """DuckDB's type of a landed column."""
    if pa.types.is_decimal(kind):
        return f"DECIMAL({kind.precision}, {kind.scale})"
    if pa.types.is_list(kind):
        return f"{_type(kind.value_type)}[]"
    if pa.types.is_struct(kind):
        return f"STRUCT({_listed(kind)})"
    return _TYPES[str(kind)]


def _listed(fields: Iterable[pa.Field]) -> str:
    return ", ".join(f"{quoted(one.name)} {_type(one.type)}" for one in fields)
