"""Questions about what is read: records, frames, typed rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import binlogkit as bk
from binlogkit.frames.fields.rows import BATCH
from tests.answers.binlogkit_answers.asked import (
    EACH,
    NUMBERS,
    Asked,
    Parts,
    damage_told,
    question,
    raised,
    with_rows,
)
from tests.answers.binlogkit_answers.fields import FIELDS
from tests.answers.binlogkit_answers.plain import Told, line, plain, rows_of, type_name

__all__: list[str] = []


def _records(asked: Asked, name: str, read: Callable[[bk.Log], Iterable[Any]]) -> Parts:
    log, told = asked.open(), Told()
    with raised(told):
        for record in read(log):
            told.records(name, [record])
    return {name: told, "damage": damage_told(log, name)}


def _frame(asked: Asked, name: str, read: Callable[[bk.Log], Any]) -> Parts:
    log, told = asked.open(), Told()
    with raised(told):
        told.records(name, rows_of(read(log)))
    damage = "tables.damage" if name == "tables" else "damage"
    return {name: told, damage: damage_told(log, name)}


@question
def _rows(asked: Asked) -> Parts:
    log, told = asked.open(), Told()
    with raised(told):
        told.records("rows", log.row_records())
    met = Told()
    with raised(met):
        met.add("undecodable", log.undecodable)
        met.add("met", sorted((*name, len(known)) for name, known in log.met.items()))
    return {"rows": told, "rows.damage": damage_told(log, "rows"), "rows.met": met}


@question
def _generic(asked: Asked) -> Parts:
    return _frame(asked, "generic", lambda log: log.rows(engine="pyarrow"))


@question
def _events(asked: Asked) -> Parts:
    return _records(asked, "events", lambda log: log.event_records())


@question
def _transactions(asked: Asked) -> Parts:
    return _records(asked, "transactions", lambda log: log.transaction_records())


@question
def _statements(asked: Asked) -> Parts:
    return _frame(asked, "statements", lambda log: log.statements(engine="pyarrow"))


@question
def _boundaries(asked: Asked) -> Parts:
    return _frame(asked, "boundaries", lambda log: log.boundaries(engine="pyarrow"))


@question
def _tables(asked: Asked) -> Parts:
    return _frame(asked, "tables", lambda log: log.tables(engine="pyarrow"))


# ---- typed rows -------------------------------------------------------------------------


@question
def _batches(asked: Asked) -> Parts:
    """Every batch of a version of a table as one, however many come; the order in ``numbers``."""
    log, told, schemas, numbers = asked.open(), Told(), Told(), Told()
    rows: dict[tuple[str, str, int], list[str]] = {}
    kinds: dict[tuple[str, str, int], list[str]] = {}
    order: list[tuple[int, list[Any]]] = []
    with raised(told):
        for found in log.batches():
            name = (*found.table, found.schema_version)
            kind = line(_schema(found.batch.schema))
            if kind not in kinds.setdefault(name, []):
                kinds[name].append(kind)
            known = rows.setdefault(name, [])
            for row in rows_of(found.batch):
                seq, tx = (row.pop(key) for key in NUMBERS)
                known.append(line({name: row[name] for name in sorted(FIELDS["batches"])}))
                place = [row[key] for key in ("file", "pos", "inner", "row")]
                order.append((seq, ["row", tx, *place, *name]))
    for name in sorted(rows):
        told.add("table", name)
        told.facts += rows[name]
    for name in sorted(kinds):
        schemas.facts += [line(name), *kinds[name]]
    order += _boundary_order(asked, numbers)
    order.sort(key=lambda item: item[0])
    for _, item in order:
        numbers.add(item)
    damage = damage_told(log, "batches")
    return {"batches": told, "schemas": schemas, "numbers": numbers, "batches.damage": damage}


def _boundary_order(asked: Asked, told: Told) -> Iterator[tuple[int, list[Any]]]:
    with raised(told, "boundaries"):
        for found in rows_of(asked.open().boundaries(engine="pyarrow")):
            keys = ("tx", "file", "pos", "inner", "db", "table", "action")
            yield found["seq"], ["boundary", *(found[key] for key in keys)]


def _schema(schema: Any) -> Any:
    """The table's columns with their types and metadata, and the batch's metadata."""
    image = schema.field("before").type
    columns = [[f.name, type_name(f.type), _texts(f.metadata)] for f in image]
    return [columns, _texts(schema.metadata)]


def _texts(metadata: Mapping[bytes, bytes] | None) -> dict[str, str]:
    return {k.decode(): v.decode() for k, v in sorted((metadata or {}).items())}


@question
def _frames(asked: Asked) -> Parts:
    """``log.rows(table)``: a table's versions united by name."""
    told = Told()
    for table in with_rows(asked, told):
        told.add("table", table)
        with raised(told, table):
            found = asked.open().rows(table, engine="pyarrow")
            # By place, not by name: two columns of a table may have one name.
            left = (*NUMBERS, "source", "changed")
            of = [name.partition(".")[0] for name in found.schema.names]
            places = {field.name: i for i, field in enumerate(BATCH)}
            numbers = [i for i, name in enumerate(found.schema.names) if name not in left]
            numbers.sort(key=lambda i: places[of[i]])
            for row in zip(*(plain(found.column(i)) for i in numbers), strict=True):
                told.add(row)
    return {"frames": told}


@question
def _columns(asked: Asked) -> Parts:
    """Some tables' first and last column alone, by name."""
    told = Told()
    for table in with_rows(asked, told)[::EACH]:
        with raised(told, table):
            log = asked.open()
            found = log.tables(engine="pyarrow").to_pylist()
            names = [r["column"] for r in found if f"{r['db']}.{r['table']}" == table]
            for batch in log.batches(table, columns={n for n in (*names[:1], *names[-1:]) if n}):
                told.records("columns", rows_of(batch.batch))
    return {"columns": told}
