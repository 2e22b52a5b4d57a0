"""A log's events and states against the server that wrote it: SHOW BINLOG EVENTS, and SELECT.

The server is no decoder of rows: of these its tables are the judge, as they are at a position in
the log. It is asked by who calls this (log/server/served.py, sources/server/listed.py).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from binlogkit.analyses.conformance.result import ConformanceResult, Differences
from binlogkit.analyses.conformance.rule import Kind, difference, shown
from binlogkit.analyses.conformance.server_lines import Line

_FIELDS = ("pos", "type", "server_id", "end_pos", "info")
_UNLOGGED = "the server's table has another row than the log's changes give: either they are "\
    "decoded wrongly, or something changed it that is not in the log"  # fmt: skip


@dataclass(frozen=True, slots=True)
class Served:
    """A table at a position: ``rows`` of the server, each of ``columns`` cells; ``differences``:
    the records of a :class:`TableDifference`'s rows, from the log's state to the server's table;
    ``doubt``: why nobody can judge it, None where it was compared."""

    name: str
    rows: int
    columns: int
    differences: Iterable[Mapping[str, Any]]
    doubt: str | None = None


def against_server(
    ours: Iterable[Line],
    listed: Iterable[Line],
    tables: Iterable[Served] = (),
    *,
    file: str = "",
    end: int | None = None,
    baseline: Iterable[Mapping[str, Any]] = (),
    keep: int = 1000,
    decoder: str = "ours",
) -> ConformanceResult:
    """Compare a log's events with what its server lists of them, and tables with the server's.

    ``ours``, ``listed``: in the log's order; ``end``: the size of the log that was read: what the
    server has after it was written later. All is streamed but ``tables``.
    """
    findings = Differences(file, keep=keep, baseline=baseline, decoder=decoder)
    events = rows = cells = unjudged = 0
    for mine, theirs in _paired(iter(ours), iter(listed)):
        if mine is None and theirs is not None and end is not None and theirs.pos >= end:
            break
        events += _compare(findings, mine, theirs)
    for table in tables:
        if table.doubt is not None:
            unjudged += table.rows
            _add(findings, -1, Kind.UNDER_DETERMINED, table.name, None, None, table.doubt, "")
            continue
        rows, cells = rows + table.rows, cells + table.rows * table.columns
        for record in table.differences:
            _row(findings, table.name, record)
    return findings.result(events=events, rows=rows, cells=cells, rows_not_judged=unjudged)


def _paired(ours: Iterator[Line], listed: Iterator[Line]) -> Iterator[tuple[Line | None, ...]]:
    """Both in step by their positions."""
    mine, theirs = next(ours, None), next(listed, None)
    while mine is not None or theirs is not None:
        at = min(line.pos for line in (mine, theirs) if line is not None)
        left = mine if mine is not None and mine.pos == at else None
        right = theirs if theirs is not None and theirs.pos == at else None
        yield left, right
        mine = mine if left is None else next(ours, None)
        theirs = theirs if right is None else next(listed, None)


def _compare(findings: Differences, mine: Line | None, theirs: Line | None) -> bool:
    """Whether both sides have the event."""
    if mine is None or theirs is None:
        one = theirs if mine is None else mine
        assert one is not None
        reason = "ours lacks this event" if mine is None else "the server lists no such event"
        have, want = (None if side is None else side.type for side in (mine, theirs))
        proof = "" if theirs is None else _listed(theirs)
        _add(findings, one.pos, Kind.UNEXPLAINED, None, have, want, reason, proof)
        return False
    for name in _FIELDS:
        have, want = getattr(mine, name), getattr(theirs, name)
        if have != want and have is not None:
            reason = f"the event's {name} is not what the server lists"
            _add(findings, theirs.pos, Kind.UNEXPLAINED, name, have, want, reason, _listed(theirs))
    return True


def _listed(line: Line) -> str:
    return f"the server lists {shown(f'{line.type} {line.server_id} {line.end_pos} {line.info}')}"


def _row(findings: Differences, table: str, record: Mapping[str, Any]) -> None:
    """A row of a table that differs; one that the log does not determine is nobody's."""
    unsure = record["difference"] == "uncertain"
    columns = record["uncertain"] if unsure else record["changed"]
    before, after = (
        None if record[image] is None else json.dumps(record[image], ensure_ascii=False)
        for image in ("before", "after")
    )
    kind = Kind.UNDER_DETERMINED if unsure else Kind.UNEXPLAINED
    reason = "the log does not determine the cells" if unsure else _UNLOGGED
    where = ".".join([table, ",".join(columns)]) if columns else table
    _add(findings, -1, kind, where, before, after, reason, f"the server's row: {shown(after)}")


def _add(
    findings: Differences, pos: int, kind: Kind, column: str | None, have: Any, want: Any,
    reason: str, proof: str,
) -> None:  # fmt: skip
    findings.report((pos, -1), None, difference(column, have, want, reason, proof, kind))
