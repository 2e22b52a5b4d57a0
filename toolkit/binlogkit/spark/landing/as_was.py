"""Earlier rows of a table in DuckDB: its current rows with later changes taken back.

The first change of a row after the point in time has the row as it was: an insert had none, an
update or a delete has it as its before image. This is exact after the last thing that is no row
change (DDL, a statement that wrote rows, a gap); an earlier point is an error that names it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import PurePath
from textwrap import shorten
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.analyses.point_in_time.boundary import Boundary, lineage, parents
from binlogkit.constants import TableId
from binlogkit.errors import InputError
from binlogkit.frames.flat_cells import flat_name
from binlogkit.rows.filters import written_table_name
from binlogkit.sources.log_format import CASCADES_LOGGED
from binlogkit.spark.landing import expired
from binlogkit.spark.landing.current_tables import HARMLESS, LandingMoved, Now
from binlogkit.spark.landing.landing_path import LandingPath
from binlogkit.spark.landing.ledger import Ledger
from binlogkit.spark.landing.merging import quoted
from binlogkit.spark.landing.order import NUMBER_BYTES, Run
from binlogkit.spark.landing.reading import folders, schema_of
from binlogkit.spark.landing.shape import current_folder, own_fields, types_of
from binlogkit.spark.landing.spans import Span
from binlogkit.spark.landing.tables import opened
from binlogkit.spark.splits.changelog import sequence_from
from binlogkit.spark.splits.commits import file_number

_SECOND = 1_000_000
_SAID = 80  # characters of a statement
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class AsWas:
    """How far back a table's rows follow from its current ones.

    ``since``: microseconds since 1970 UTC, ``sequence``: the first ``_sequence`` that counts, both
    None if they do not; ``reason``: why not further; ``key``: the columns of its key; ``order``:
    what orders its changes if ``_sequence`` alone does not, which ``sequence`` then is a place in.
    """

    since: int | None
    sequence: bytes
    reason: str
    key: tuple[str, ...] = ()
    order: tuple[Run, ...] = ()


def all_as_was(
    out: LandingPath, names: Iterable[TableId], now: Now | None = None
) -> dict[TableId, AsWas]:
    """How far back the rows of tables with a current state follow from it, if that is up to date.

    ``now``: the landing, if it has been read. No rows do while another landing has not ended.
    """
    kept = [name for name in names if opened(out / current_folder(name)) is not None]
    if not kept:
        return {}
    try:
        now = now or Now(out)
        known = {name: now.fresh(name) for name in kept}
        return {name: _as_was(now, name, one) for name, one in known.items() if one is not None}
    except (LandingMoved, InputError):
        return {}


def _as_was(now: Now, name: TableId, known: Mapping[str, Any]) -> AsWas:
    """Of one table; ``known``: the facts about its current rows."""
    key = tuple(map(flat_name, known["key"]))
    findings = {one["finding"] for one in known["findings"]} - HARMLESS - {"prepared"}
    if not key or findings:
        reason = f"its rows are not determined ({', '.join(sorted(findings))})"
        return AsWas(None, b"", reason if key else "it has no key")
    places = [*folders(now.out, name)]
    if len(places) > 1:
        return AsWas(None, b"", "its columns had other types before")
    for folder in (*places, now.out / current_folder(name)):
        if not {*map(str.lower, key)} <= {*types_of(schema_of(folder))}:
            return AsWas(None, b"", "its key has changed since its rows were written")
    ledger = now.ledger
    layouts = ledger.history.layouts.get(name)
    above = parents(ledger.boundaries, name, layouts[-1].parents if layouts else ())
    if above and ledger.history.version < CASCADES_LOGGED:
        return AsWas(None, b"", f"cascades from {', '.join(above)} are in no log")
    names = set(lineage(ledger.boundaries, name))
    own = [b for b in ledger.boundaries if b.may_write or any(map(b.concerns, names))]
    last = own[-1] if own else None
    tables = [".".join(one) for one in names]
    for gap in ledger.gaps:
        if (
            gap.code != expired.CODE
            and gap.concerns(tables)
            and (last is None or gap.seq >= last.seq)
        ):
            return AsWas(None, b"", str(gap))
    found = _since(now, name, key, last)
    if not now.in_sequence(_spans_of(now, name)):
        at = None if last is None else (last.file, last.pos)
        ordered = None if now.order is None else now.order.runs(at)
        if ordered is None or ledger.expired:
            reason = (
                "several servers' logs have what landed, and do not order it: the same XA "
                "transaction, logs under one name with the same number and beginning, or expired "
                "changes"
            )
            return AsWas(None, b"", reason)
        found = replace(found, order=tuple(ordered[0]), sequence=ordered[1])
    gone = expired.since(ledger.expired, names)
    if gone is None or found.since is None:
        return found
    day = int(datetime.fromisoformat(f"{gone[0]}T00:00:00+00:00").timestamp()) * _SECOND
    if day <= found.since and gone[1] < found.sequence:
        return found
    reason = f"its changes from before {gone[0]} have expired"
    return AsWas(max(day, found.since), max(gone[1] + b"\0", found.sequence), reason, key)


def _since(now: Now, name: TableId, key: tuple[str, ...], last: Boundary | None) -> AsWas:
    """From the last thing on that is no row change."""
    if last is None:
        return _begun(now, name, key)
    ledger = now.ledger
    sequence = _place(ledger, last.file, last.pos)
    said = shorten(last.statement or last.action, _SAID, placeholder=" …")
    reason = f"{said} ({PurePath(last.file).name}:{last.pos})"
    return AsWas(_time(ledger, last), sequence, reason, key)


def _begun(now: Now, name: TableId, key: tuple[str, ...]) -> AsWas:
    """From the beginning of the first of the logs that have landed of its servers."""
    own = _spans_of(now, name)
    first = min(own, key=lambda span: span.log[1:])
    reason = f"the first log that landed, {first.file}, begins then"
    return AsWas(first.begun * _SECOND, b"", reason, key)


def _spans_of(now: Now, name: TableId) -> list[Span]:
    """What landed of a table's servers, in the order of their transactions."""
    table, landed = written_table_name(*name), now.landed
    sources = {*landed.filter(pc.equal(landed["table"], table))["source"].to_pylist()}
    return [
        span for part in now.ledger.parts if part.head is not None for span in now.done.of(part)
        if span.source in sources or not sources  # it has no rows
    ]  # fmt: skip


def _time(ledger: Ledger, boundary: Boundary) -> int | None:
    """When something happened; None if its transaction does not say so."""
    own = ledger.transactions.filter(pc.equal(ledger.transactions["tx"], boundary.tx))
    commits = own["commit_timestamp"].cast(pa.int64()).to_pylist()
    for commit, end in zip(commits, own["end_timestamp"].to_pylist(), strict=True):
        if commit is not None or end is not None:
            found: int = end * _SECOND if commit is None else commit
            return found
    return None


def _place(ledger: Ledger, file: str, pos: int) -> bytes:
    """The smallest ``_sequence`` of a transaction from a position on."""
    heads = (part.head for part in ledger.parts if file in part.names)
    begun = next((head.begun for head in heads if head is not None), 0)
    return sequence_from(begun, file_number(file), pos)


def macro(name: TableId, shown: TableId, now: pa.Schema, then: pa.Schema, was: AsWas) -> str:
    """DuckDB's statement for the function ``TABLE$at``, which has the table's own columns.

    ``now``: the columns of its current state, ``then``: of its changes.
    """
    columns = [*(one.name for one in own_fields(now)), "_cells"]
    landed = {one.lower() for one in then.names}
    db, table = shown
    function = f"{quoted(db)}.{quoted(table + '$at')}"
    current, changes = (f"{quoted(db)}.{quoted(table + end)}" for end in ("", "$changes"))
    state = f"binlogkit state --table {written_table_name(*name)} --at FILE:POS"
    head = f"CREATE OR REPLACE MACRO {function}(point) AS TABLE\n"
    if was.since is None:
        reason = f"{name[1]}: no earlier rows follow from the current ones: {was.reason}; {state}"
        kept = ", ".join(f"n.{quoted(one)}" for one in columns)
        # With its columns, so that a query that names them shows the error.
        return (
            f"{head}SELECT {kept} FROM (SELECT error({text(reason)}) AS refused) AS r\n"
            f"LEFT JOIN {current} AS n ON true WHERE r.refused IS NULL;\n"
        )
    since = f"{_EPOCH + timedelta(microseconds=was.since):%Y-%m-%d %H:%M:%S.%f}+00"
    early = text(f"{name[1]} as of before {since}: {was.reason}; {state}")
    partial = text(f"{name[1]}: a before image is not whole (binlog_row_image); {state}")
    first = "min(c._sequence) FILTER (c._commit_timestamp > a.moment)"
    in_order, place = "", "cut"
    if was.order:
        in_order, place = _in_order(name[1], changes, was.order), "found"
        changes = "ordered"
    keys = ", ".join(f"c.{quoted(one)}" for one in was.key)
    kept = ", ".join(f"n.{quoted(one)}" for one in columns)
    # A column that no change has was added after all of them.
    back = ", ".join(f"l.{quoted(one)}" if one.lower() in landed else "NULL" for one in columns)
    unknown = " OR ".join(f"l.{quoted(one)} IS NULL" for one in was.key)
    return (
        f"{head}WITH asked AS (SELECT CAST(point AS TIMESTAMPTZ) AS moment),\n{in_order}"
        f"{place} AS (SELECT CASE WHEN any_value(a.moment) < TIMESTAMPTZ '{since}'"
        f" OR {first} < unhex('{was.sequence.hex()}')\n"
        f"  THEN error({early}) ELSE {first} END AS place\n"
        f"  FROM asked AS a LEFT JOIN {changes} AS c ON true),\n"
        f"{_checked(name[1], state) if was.order else ''}"
        # Not by a window: DuckDB's (2.0.1) makes -0.0 in its rows 0.0.
        f"later AS (SELECT c.* FROM {changes} AS c WHERE c._sequence IN (\n"
        f"  SELECT min(c._sequence) FROM {changes} AS c, cut WHERE c._sequence >= cut.place\n"
        f"  GROUP BY {keys}))\n"
        f"SELECT {kept} FROM {current} AS n\n"
        f"  ANTI JOIN later USING ({', '.join(map(quoted, was.key))})\n"
        # From cut, so that its error comes where there are no rows at all.
        f"UNION ALL SELECT {back} FROM cut LEFT JOIN later AS l ON true WHERE CASE\n"
        "  WHEN l._sequence IS NULL THEN cut.place IS NULL AND false\n"
        f"  WHEN {unknown} OR l._change_type = 'update_postimage'\n"
        "  OR len([x FOR x IN l._cells IF x.state = 'not_in_image']) > 0\n"
        f"  THEN error({partial}) ELSE l._change_type <> 'insert' END;\n"
    )


def _in_order(table: str, changes: str, order: Iterable[Run]) -> str:
    """The changes with a ``_sequence`` that orders them all."""
    listed = ",\n  ".join(
        f"({text(run.source)}, "
        + ", ".join(f"unhex('{one.hex()}')" for one in (run.low, run.high, run.place))
        + ")"
        for run in order
    )
    strange = text(f"{table}: a change is of no log in the ledger")
    return (
        f"runs(source, low, high, place) AS (VALUES\n  {listed}),\n"
        "ordered AS (SELECT c.* REPLACE (\n"
        f"  CASE WHEN r.place IS NULL THEN error({strange}) ELSE r.place || c._sequence END\n"
        f"  AS _sequence) FROM {changes} AS c\n"
        "  LEFT JOIN runs AS r ON c._source = r.source AND c._sequence >= r.low\n"
        "  AND c._sequence < r.high),\n"
    )


def _checked(table: str, state: str) -> str:
    """The cut, if the clocks of several servers have the order that their changes have."""
    clocks = text(f"{table}: by their clocks, servers committed in another order then; {state}")
    number = f"left(hex({{}}._sequence), {2 * NUMBER_BYTES})"
    return (
        f"cut AS (SELECT CASE WHEN count(c._sequence) > 0 THEN error({clocks})\n"
        "  ELSE any_value(f._sequence) END AS place\n"
        "  FROM (SELECT place AS _sequence FROM found) AS f LEFT JOIN ordered AS c\n"
        "  ON c._sequence > f._sequence AND c._commit_timestamp <= (SELECT moment FROM asked)\n"
        f"  AND {number.format('c')} <> {number.format('f')}),\n"
    )


def text(value: str) -> str:
    """A text in SQL."""
    return "'" + value.replace("'", "''") + "'"
