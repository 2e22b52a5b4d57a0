"""What this log cannot show, each limit with the evidence that makes it apply here.

A limit *applies* where the log itself proves it, and *may apply* where a log could never show it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import pyarrow as pa
from narwhals.typing import IntoFrameT

from binlogkit.analyses._frames import Lazy, from_arrow, lazy, records
from binlogkit.analyses.audit.rhythm import missing_gtids
from binlogkit.frames.fields.field import arrow_schema, fields
from binlogkit.frames.schema import CellState

LIMITS = fields(
    ("limit", "string", "a short name"),
    ("grade", "string", "applies (the log proves it) or may apply (a log could never show it)"),
    ("meaning", "string", "what cannot be known"),
    ("evidence", "string", "why it applies here"),
    ("file", "string?", "file of the first place that shows it, null where there is none"),
    ("pos", "int64?", "its position"),
)


def limits(
    transactions: IntoFrameT,
    changes: IntoFrameT | None = None,
    *,
    boundaries: IntoFrameT | None = None,
    cascades: Collection[str] = (),
    transactional: bool | None = None,
    loose: Mapping[str, int] | None = None,
) -> IntoFrameT:
    """The list of what this log cannot show (:data:`LIMITS`), in a fixed order.

    ``changes``: typed, of any number of tables, or generic. ``cascades``: tables that a schema
    says are changed by foreign keys. ``transactional``: whether all tables' engines are known to
    be transactional (the log does not say). ``loose``: files that are texts, dumps or packets of
    events, and how many statements in each have nothing but their rows there.
    """
    evidence = _Evidence(
        lazy(transactions),
        None if changes is None else lazy(changes),
        None if boundaries is None else lazy(boundaries),
        tuple(cascades),
        transactional,
        missing_gtids(transactions),
        dict(loose or {}),
    )
    judged = [judge(evidence) for _, _, judge in _RULES]
    verdicts = iter(_answered([said for said in judged if isinstance(said, _Asked)]))
    rows = []
    for (name, meaning, _), said in zip(_RULES, judged, strict=True):
        verdict = next(verdicts) if isinstance(said, _Asked) else said
        if verdict is not None:
            rows.append((name, verdict.grade, meaning, verdict.evidence, verdict.file, verdict.pos))
    schema = arrow_schema(LIMITS)
    columns = zip(*rows, strict=True)
    arrays = [pa.array(c, kind) for c, kind in zip(columns, schema.types, strict=True)]
    return from_arrow(pa.table(arrays, schema=schema), transactions, LIMITS)


@dataclass(frozen=True, slots=True)
class _Verdict:
    grade: str
    evidence: str
    file: str | None = None
    pos: int | None = None


@dataclass(frozen=True, slots=True)
class _Evidence:
    """The frames that the rules look at."""

    transactions: Lazy
    changes: Lazy | None
    boundaries: Lazy | None
    cascades: tuple[str, ...]
    transactional: bool | None
    holes: Any
    loose: dict[str, int]


_APPLIES = "applies"
_MAY = "may apply"


@dataclass(frozen=True, slots=True)
class _Asked:
    """A limit that applies where some of a frame's rows meet a condition; ``{n}`` in its evidence
    is their number, of changes that stand for several, of those; ``otherwise``: where none does."""

    rows: Lazy
    condition: nw.Expr
    evidence: str
    otherwise: _Verdict | None = None


_Said = _Verdict | _Asked | None


def _answered(asked: list[_Asked]) -> list[_Verdict | None]:
    """The verdicts: the rows of each frame are counted once for all that is asked of it."""
    counts: dict[int, dict[str, int | None]] = {}
    for rows in {id(one.rows): one.rows for one in asked}.values():
        columns = rows.collect_schema()
        many = nw.col("rows") if "op" in columns and "rows" in columns else nw.lit(1)
        sums = [
            nw.when(one.condition).then(many).otherwise(nw.lit(0)).sum().alias(str(i))
            for i, one in enumerate(asked)
            if one.rows is rows
        ]
        counts[id(rows)] = records(rows.select(*sums))[0]
    return [_verdict(one, counts[id(one.rows)][str(i)] or 0) for i, one in enumerate(asked)]


def _verdict(asked: _Asked, number: int) -> _Verdict | None:
    """What so many rows show, with file and position of the first."""
    if not number:
        return asked.otherwise
    found = asked.rows.filter(asked.condition)
    order = ["seq"] if "seq" in found.collect_schema() else ["file", "pos"]
    first = records(found.sort(*order).head(1).select("file", "pos"))[0]
    return _Verdict(_APPLIES, asked.evidence.format(n=number), first["file"], first["pos"])


def _always(grade: str, evidence: str) -> Callable[[_Evidence], _Said]:
    return lambda _: _Verdict(grade, evidence)


def _transactions(
    condition: Callable[[], nw.Expr], evidence: str, *needed: str
) -> Callable[[_Evidence], _Said]:
    """A rule that applies when some transactions meet ``condition``; ``{n}`` is their number."""

    def judge(found: _Evidence) -> _Said:
        if set(needed) - set(found.transactions.collect_schema()):
            return None
        return _Asked(found.transactions, condition(), evidence)

    return judge


def _left_out(found: _Evidence) -> _Said:
    if not found.loose:
        return None
    alone = sum(found.loose.values())
    file = next((name for name, n in found.loose.items() if n), next(iter(found.loose)))
    evidence = f"{alone} statements have only their rows here"
    return _Verdict(_APPLIES, evidence if alone else "there is no log file around the events", file)


def _cells(state: CellState, evidence: str) -> Callable[[_Evidence], _Said]:
    """A rule that applies when a cell of some image has ``state``; ``{n}`` counts the changes."""

    def judge(found: _Evidence) -> _Said:
        changes = found.changes
        if changes is None or "after_state" not in changes.collect_schema():
            return None
        sides = [nw.col(c).list.contains(int(state)) for c in ("before_state", "after_state")]
        here = sides[0].fill_null(False) | sides[1].fill_null(False)
        return _Asked(changes, here, evidence)

    return judge


def _cascades(found: _Evidence) -> _Said:
    if found.cascades:
        names = ", ".join(sorted(found.cascades))
        return _Verdict(_APPLIES, f"the schema has foreign keys that change {names}")
    unknown = _Verdict(_MAY, "the log does not hold every table's definition")
    if found.boundaries is not None:
        text = nw.col("statement").str.to_uppercase().str.replace_all(r"\s+", " ")
        acts = text.str.contains(r"ON (?:DELETE|UPDATE) (?:CASCADE|SET NULL)")
        return _Asked(found.boundaries, acts, "{n} DDL statements define such a key", unknown)
    return unknown


def _rolled_back(found: _Evidence) -> _Said:
    if found.transactional:
        return None
    here = (nw.col("outcome") == "rolled_back") & (nw.col("rows") > 0)
    question = "{n} transactions with row changes end in ROLLBACK"
    return _Asked(found.transactions, here, question)


def _positional_names(found: _Evidence) -> _Said:
    image = None if found.changes is None else found.changes.collect_schema().get("after")
    if not isinstance(image, nw.Struct):
        return None
    names = [f.name for f in image.fields if f.name.startswith("@") and f.name[1:].isdecimal()]
    if not names:
        return None
    return _Verdict(_APPLIES, f"columns known by position only: {', '.join(names)}")


def _without_query(found: _Evidence) -> _Said:
    if found.changes is None or "query" not in found.changes.collect_schema():
        return None
    without = nw.col("query").is_null()
    return _Asked(found.changes, without, "{n} row changes carry no statement text")


def _missing(found: _Evidence) -> _Said:
    holes = records(lazy(found.holes))
    if not holes:
        return None
    missing = sum(hole["last_number"] - hole["first_number"] + 1 for hole in holes)
    first = f"{holes[0]['gtid_source']}:{holes[0]['first_number']}"
    return _Verdict(_APPLIES, f"{missing} transaction numbers are missing, the first is {first}")


def _servers(found: _Evidence) -> _Said:
    ids = records(found.transactions.select("server_id").unique().sort("server_id"))
    if len(ids) < 2:
        return None
    names = ", ".join(str(row["server_id"]) for row in ids)
    return _Verdict(_APPLIES, f"transactions of servers {names}")


_RULES: tuple[tuple[str, str, Callable[[_Evidence], _Said]], ...] = (
    (
        "reads",
        "Who read what: a binary log holds changes only.",
        _always(_APPLIES, "true of every binary log"),
    ),
    (
        "person",
        "Who did it: row changes carry a connection number, no user and no host. Numbers are"
        " shared by pools, start anew with the server, and on a replica are the applier's.",
        _always(_APPLIES, "true of every binary log"),
    ),
    (
        "unlogged_sessions",
        "Changes of sessions with sql_log_bin=0, of temporary tables in row format, and of"
        " databases that binlog_do_db or binlog_ignore_db leave out: they leave no trace.",
        _always(_MAY, "a log cannot show what was kept out of it"),
    ),
    (
        "cascades",
        "Rows changed by a foreign key's CASCADE or SET NULL: servers up to 9.5 do not log them.",
        _cascades,
    ),
    (
        "statement_format",
        "What statements logged as text did to the rows.",
        _transactions(
            lambda: nw.col("format").is_in(["statement", "mixed"]),
            "{n} transactions hold changes in statement format",
            "format",
        ),
    ),
    (
        "left_out",
        "What a text, dump or packets left out of the log: mysqlbinlog prints GTIDs, BEGIN, COMMIT,"
        " ROLLBACK and statements as SQL, which is not read back. Rows without BEGIN and"
        " COMMIT are taken as committed, each statement as one transaction.",
        _left_out,
    ),
    (
        "rolled_back_rows",
        "Which rows of a rolled back transaction stayed: those of non-transactional tables do, and"
        " row events do not name the engine.",
        _rolled_back,
    ),
    (
        "commit_time",
        "When a transaction was committed: only event times to the second, of the statement's"
        " start.",
        _transactions(
            lambda: nw.col("commit_timestamp").is_null(),
            "{n} transactions have no commit timestamp (the log has them from 8.0.1)",
            "commit_timestamp",
        ),
    ),
    (
        "clocks",
        "The order of events by time: the log has the clocks of several servers, and event"
        " times are not monotonic. Order by position.",
        _servers,
    ),
    (
        "prepared_xa",
        "Whether a prepared XA transaction was committed: this log does not show it.",
        _transactions(
            lambda: nw.col("outcome") == "prepared",
            "{n} XA transactions are prepared and not resolved",
            "outcome",
        ),
    ),
    (
        "cut_transaction",
        "How a transaction ended that the end of the log cuts off.",
        _transactions(
            lambda: nw.col("outcome").is_in(["cut", "open"]),
            "{n} transactions have no end in this log",
            "outcome",
        ),
    ),
    (
        "missing_transactions",
        "What the missing transactions did: their numbers are not in the log.",
        _missing,
    ),
    (
        "partial_images",
        "Values that are not in a row image (binlog_row_image MINIMAL or NOBLOB): absent is not"
        " NULL.",
        _cells(CellState.NOT_IN_IMAGE, "{n} row changes have columns that are not in the image"),
    ),
    (
        "json_diffs",
        "A JSON value of which only the change is logged, where its earlier value is not known.",
        _cells(CellState.JSON_DIFF, "{n} row changes carry a partial JSON update"),
    ),
    (
        "undecodable_cells",
        "Values whose bytes cannot be decoded.",
        _cells(CellState.UNDECODABLE, "{n} row changes have such a cell"),
    ),
    (
        "column_names",
        "What the columns are called: neither the log's metadata nor a schema names them.",
        _positional_names,
    ),
    (
        "original_statement",
        "The statement that made a row change: the server logs it only with"
        " binlog_rows_query_log_events.",
        _without_query,
    ),
)
