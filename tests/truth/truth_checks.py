"""What a log must say, held against a workload's books; each check gives its complaints as text."""

from __future__ import annotations

import struct
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import pymysql

import binlogkit as bk
from binlogkit.reports.sql import SqlOptions, script
from binlogkit.rows.filter_args import FilterArgs
from binlogkit.rows.filters import written_table_name
from binlogkit_fixtures.manifest import Table
from tests.truth.random_workload import Mark, Unit, Workload

__all__ = ["check_events", "check_images", "check_states", "check_undo", "check_units"]


def base(name: str) -> str:
    """A file's name without its folder."""
    return name.rsplit("/", 1)[-1]


def place(record: dict[str, Any], end: bool = True) -> tuple[str, int]:
    """Where an event ends, or starts."""
    return base(record["file"]), record["end_pos" if end else "pos"]


def f32(value: Any) -> Any:
    """A number as 4 bytes hold it."""
    return None if value is None else struct.unpack("f", struct.pack("f", value))[0]


# ---- rows and transactions ------------------------------------------------------------------


def check_units(log: bk.Log, workload: Workload) -> Iterator[str]:
    """Rows, threads and outcomes of each unit."""
    rows = list(log.row_records())
    transactions = list(log.transaction_records())
    told = 0
    for unit in workload.units:
        own_rows = [r for r in rows if unit.start < place(r) <= unit.end]
        own = [t for t in transactions if unit.start < _ends(t) <= unit.end]
        told += len(own_rows)
        yield from _counts(unit, own_rows)
        yield from _outcome(unit, own)
        for t in own:
            summed = t["inserts"] + t["updates"] + t["deletes"]
            start = (base(t["file"]), t["pos"])
            mine = sum(start < place(r) <= _ends(t) for r in own_rows)
            if summed != mine:
                yield f"{unit.start} transaction counts {summed} rows, {mine} stand there"
    if told != len(rows):
        yield f"{len(rows)} rows in the log, {told} in units"


def _ends(transaction: dict[str, Any]) -> tuple[str, int]:
    return base(transaction["end_file"]), transaction["end_pos"]


def _counts(unit: Unit, rows: list[dict[str, Any]]) -> Iterator[str]:
    if unit.counts is None:
        return
    where = f"{unit.start}-{unit.end} {unit.kind}"
    if unit.outcome is None and rows and unit.kind == "rollback":
        yield f"{where}: {len(rows)} rows of a rolled back transaction"
        return
    have = Counter(r["op"] for r in rows)
    if not unit.mixed and +have != +unit.counts:
        yield f"{where}: rows {dict(have)}, expected {dict(unit.counts)} {unit.statements}"
    expected = _weight(unit.counts) + unit.mixed
    # REPLACE by an equal row counts 1 and logs nothing (sql_insert.cc, HA_ERR_RECORD_IS_THE_SAME).
    if unit.mixed and not expected - unit.mixed <= _weight(have) <= expected:
        yield f"{where}: weight {_weight(have)}, expected {expected} {unit.statements}"


def _weight(counts: Counter[str]) -> int:
    return counts["insert"] + counts["delete"] + 2 * counts["update"]


def _outcome(unit: Unit, transactions: list[dict[str, Any]]) -> Iterator[str]:
    where = f"{unit.start} {unit.kind}"
    for t in transactions:
        if unit.outcome and unit.sure and t["outcome"] != unit.outcome:
            yield f"{where}: outcome {t['outcome']}, expected {unit.outcome} {unit.statements}"
        if t["thread_id"] != unit.thread:
            yield f"{where}: thread {t['thread_id']}, expected {unit.thread} {unit.statements}"


# ---- states ---------------------------------------------------------------------------------


def normal(value: Any, kind: str) -> Any:
    """FLOAT to its own width, and both kinds of number as one."""
    if kind.startswith("float") and isinstance(value, (int, float)):
        return f32(value)
    if kind.startswith("double") and isinstance(value, (int, float)):
        return float(value)
    return value


def check_state(
    log: bk.Log,
    name: tuple[str, str],
    table: Table | None,
    at: str | None,
    notes: Counter[str],
    **more: Any,
) -> Iterator[str]:
    """One table at a place, else the log's end; what is not determined is noted by its reason."""
    state = log.state(written_table_name(*name), at=at, **more)
    yield from judge_state(state, table, f"{at} {name}", notes)


def judge_state(
    state: bk.TableState, table: Table | None, where: str, notes: Counter[str]
) -> Iterator[str]:
    """A state held against the server's table; what is not determined is noted by its reason."""
    name = state.table
    have: list[dict[str, Any]] = list(state.records())
    findings = state.findings.to_pylist()
    for f in findings:
        notes[f"{f['finding']} determined={f['determined']}"] += 1
        if table is not None and not f["determined"]:
            notes[f"undetermined {f['finding']} {base(f['file'] or '')}:{f['pos']} {name}"] += 1
    if table is None:
        if state.rows_determined and have:
            yield f"{where}: {len(have)} rows of a table that is not there"
        return
    notes["unknown cells"] += sum(len(r["unknown"]) for r in have)
    notes["rows"] += len(table.rows)
    if state.rows_determined:
        notes["rows determined"] += len(table.rows)
        yield from _rows(where, table, have, [f["finding"] for f in findings])


def _rows(
    where: str, table: Table, have: list[dict[str, Any]], findings: list[str]
) -> Iterator[str]:
    """The state's rows against the server's: each has its own, in every cell that it tells."""
    kinds = {c.name: c.type for c in table.columns}
    left = [{k: normal(v, kinds[k]) for k, v in r.items()} for r in table.records()]
    if len(left) != len(have):
        yield f"{where}: {len(have)} rows, the server has {len(left)}: {findings}"
        return
    for record in sorted(have, key=lambda r: len(r["unknown"])):
        row = {k: normal(v, kinds.get(k, "")) for k, v in record["values"].items()}
        told = set(row) | set(record["unknown"])
        if told != set(kinds):
            yield f"{where}: columns {sorted(told ^ set(kinds))} differ"
            return
        found = next((other for other in left if _agrees(row, other)), None)
        if found is None:
            yield f"{where}: {_closest(row, left, kinds)}"
            return
        left.remove(found)


def _agrees(row: dict[str, Any], other: dict[str, Any]) -> bool:
    return all(
        other[k] == (text := _without_text(v)) and type(other[k]) is type(text)
        for k, v in row.items()
    )


def _without_text(value: Any) -> Any:
    """What SELECT gives of bytes that are no text in their column's character set, as ASCII has it
    (an ALTER may leave such): a question mark for each that is none. Any other value stays."""
    if not isinstance(value, dict) or "undecodable" not in value:
        return value
    data = bytes.fromhex(value["undecodable"].removeprefix("0x"))
    return "".join(chr(byte) if byte < 0x80 else "?" for byte in data)


def _closest(row: dict[str, Any], left: list[dict[str, Any]], kinds: dict[str, str]) -> str:
    def differing(other: dict[str, Any]) -> list[str]:
        return [k for k, v in row.items() if not _agrees({k: v}, other)]

    best = min(left, key=lambda o: len(differing(o)))
    return "; ".join(
        f"{k} {kinds[k][:40]}: log {str(row[k])[:120]!r}, server {str(best[k])[:120]!r}"
        for k in differing(best)
    )


def check_states(log: bk.Log, workload: Workload, notes: Counter[str]) -> Iterator[str]:
    """Every table of every mark."""
    names = sorted({n for m in workload.marks for n in m.tables})
    for mark in workload.marks:
        for name in names:
            at = f"{mark.place[0]}:{mark.place[1]}"
            try:
                yield from check_state(log, workload.pair(name), mark.tables.get(name), at, notes)
            except Exception as exc:  # noqa: BLE001 - whatever is raised is a complaint
                yield f"{at} {name}: {type(exc).__name__}: {exc}"


def check_images(log: bk.Log) -> Iterator[str]:
    """No change outside the log: there was none, but for what foreign keys did."""
    for found in log.verify(images=True).findings:
        if found.code == "unlogged_change" and found.grade != "note":
            yield f"images: {found.place}: {found.found}"


# ---- undo and redo --------------------------------------------------------------------------


def check_undo(workload: Workload, paths: list[str], start: Mark, end: Mark) -> Iterator[str]:
    """What came between two marks taken back on the live server, and made again.

    The log must not have rotated in between, and ``end`` must be where the server is.
    """
    with tempfile.NamedTemporaryFile("w", suffix=".sql", encoding="utf-8") as schema:
        schema.write(start.creates)
        schema.flush()
        log = bk.open(paths, schema=schema.name)
    span: FilterArgs = {"start_position": start.place[1], "stop_position": end.place[1]}
    for name, plans, target in (
        ("undo", log.undo(**span), start),
        ("redo", log.redo(**span), end),
    ):
        refused = Counter(p["refused"] for p in plans if p["refused"])
        if refused:
            yield f"{name}: refused {dict(refused)}"
            return
        verdict = _run_script(workload, plans)
        if not verdict.endswith("committed"):
            # Rows that differ only in cells that cannot be compared are distinguished by nothing.
            if "not compared" not in (wrong := _first_wrong(plans, verdict)):
                yield f"{name}: {verdict}; {wrong}"
            return
        yield from _same_tables(f"{name} to {target.place}", workload.tables(), target.tables)


def _run_script(workload: Workload, plans: Sequence[dict[str, Any]]) -> str:
    """Run a script statement by statement; the last row that it selects."""
    verdict = ""
    with workload.server.connect(autocommit=True) as session, session.cursor() as cursor:
        for line in script(plans, SqlOptions(commit=True)):
            if line.startswith("--"):
                continue
            try:
                cursor.execute(line.rstrip("\n").removesuffix(";"))
            except pymysql.Error as exc:
                return f"{exc.args}: {line[:400]}"
            rows = cursor.fetchall()
            verdict = " ".join(map(str, rows[0])) if rows else verdict
    return verdict


def _first_wrong(plans: Sequence[dict[str, Any]], verdict: str) -> str:
    """The first plan that a verdict names (its fourth word on: their numbers)."""
    words = verdict.split()
    number = words[3] if len(words) > 3 and words[3].isdigit() else ""
    return str(plans[int(number) - 1]) if number else ""


def _same_tables(where: str, have: dict[str, Table], want: dict[str, Table]) -> Iterator[str]:
    for name, table in want.items():
        mine, theirs = (Counter(map(repr, t.rows)) for t in (have[name], table))
        if mine != theirs:
            yield f"{where}: {name}: {list(mine - theirs)[:2]} for {list(theirs - mine)[:2]}"


# ---- events ---------------------------------------------------------------------------------


def check_events(log: bk.Log, workload: Workload) -> Iterator[str]:
    """Events at the places that SHOW BINLOG EVENTS lists, of the same types."""
    events = list(log.event_records())
    for file in sorted({base(e["file"]) for e in events}):
        shown = workload.show_events(file)
        mine = [e for e in events if base(e["file"]) == file]
        # SHOW gives what stands inside a payload the payload's end as its place, twice.
        want = [(r[1], r[4], _plain(r[2])) for r in shown]
        have = [
            (e["pos"] if e["inner"] is None else e["end_pos"], e["end_pos"], _plain(e["type"]))
            for e in mine
        ]
        if want != have:
            extra = [x for x in have if x not in set(want)][:3]
            lost = [x for x in want if x not in set(have)][:3]
            yield f"{file}: {len(have)} events, SHOW {len(want)}; extra {extra}, lost {lost}"
        for e in mine:
            if e["checksum"] == "bad":
                yield f"{file} {e['pos']}: checksum bad"


_SHOWN = {
    "FORMATDESC": "FORMATDESCRIPTION", "PREVIOUSGTIDS": "PREVIOUSGTIDSLOG", "GTID": "GTIDLOG",
    "ANONYMOUSGTID": "ANONYMOUSGTIDLOG", "ROWSQUERY": "ROWSQUERYLOG", "XAPREPARE": "XAPREPARELOG",
    "UPDATEROWSPARTIAL": "PARTIALUPDATEROWS",
}  # fmt: skip


def _plain(name: str) -> str:
    short = name.upper().removesuffix("_EVENT").replace("_", "").replace("V1", "")
    return _SHOWN.get(short, short)
