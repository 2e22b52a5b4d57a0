"""The three witnesses of a fixture's expected events and rows, and what each of them said.

Our decode gives every line anew. mysqlbinlog's text, kept beside the log, is compared event by
event and cell by cell; where it is silent each value is written back and must give the bytes that
the log stores. The server's own SELECT at every mark is what the rows up to there leave in its
tables; where the log does not determine a state (statements, cascades) it is counted so.
"""

from __future__ import annotations

import json
import re
import struct
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

import binlogkit as bk
from binlogkit.analyses.conformance import against_mysqlbinlog
from binlogkit.analyses.conformance.cell import TableVersions
from binlogkit.analyses.conformance.row_pair import as_printed, compare_rows
from binlogkit.analyses.conformance.stored import StoredLog, StoredRow
from binlogkit.analyses.point_in_time import AtPosition, State, read_boundaries, replay
from binlogkit.errors import OracleError
from binlogkit.events.gtid_set import GtidSet
from binlogkit.frames.records import struct_records
from binlogkit.log.stored_events import StoredEvents
from binlogkit.log.streams import Batch
from binlogkit.rows.ddl.catalog import Catalog
from binlogkit_fixtures import manifest as mf
from binlogkit_fixtures.expected import files, lines
from binlogkit_fixtures.scenarios.model import parse_version

__all__ = ["Problem", "Proved", "prove", "same_lines", "same_value", "unchecked_changes"]

CASCADES_LOGGED = (9, 6)  # from here on the rows that foreign keys change are in the log
_SHOWN = 160

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Problem:
    """What is not as it must be: ``file`` of the fixture's folder, and one clause."""

    file: str
    what: str


@dataclass(slots=True)
class Proved:
    """How much was compared, and with whom.

    ``events_by_text``, ``rows_by_text``: with mysqlbinlog's; ``cells_by_bytes``: written back, of
    ``cells``; ``cells_open``: those that cannot be (a partial JSON update without its document,
    unknown labels or an unknown character set, bytes that are no text); ``states``: of tables
    at marks that are the server's; ``states_open``: those that the log does not determine.
    """

    events: int = 0
    rows: int = 0
    cells: int = 0
    cells_by_bytes: int = 0
    cells_open: int = 0
    events_by_text: int = 0
    rows_by_text: int = 0
    states: int = 0
    states_open: int = 0

    def counts(self) -> dict[str, int]:
        """By name."""
        return asdict(self)


def prove(
    folder: Path, manifest: mf.Manifest, events: Sequence[Record], rows: Sequence[Record]
) -> tuple[Proved, list[Problem]]:
    """Hold events and rows against all three witnesses. DamageError: a log is damaged.

    Lines with other keys, or values of another type, are read by the first witness alone.
    """
    proved = Proved(len(events), len(rows))
    log = lines.opened(folder, manifest)
    decoded, images = list(lines.event_lines(log)), list(lines.row_lines(log))
    found = [*same_lines(files.EVENTS, events, decoded), *same_lines(files.ROWS, rows, images)]
    if found and _form([*events, *rows]) != _form([*decoded, *images]):
        return proved, found
    found += [
        *_by_bytes(log, manifest, rows, proved),
        *_by_text(folder, log, manifest, events, rows, proved),
        *_by_states(log, manifest, decoded, proved),
    ]
    return proved, found


# ---- our decode -------------------------------------------------------------------------------


def same_lines(name: str, kept: Iterable[Record], made: Iterable[Record]) -> Iterator[Problem]:
    """Line by line; each that differs, with the first place in it."""
    for number, (mine, anew) in enumerate(zip_longest(kept, made), 1):
        if mine is None or anew is None:
            yield Problem(name, f"it {'lacks' if mine is None else 'has'} line {number}, "
                          f"the log {'has' if mine is None else 'lacks'} it")  # fmt: skip
            return
        # As text: 1 and 1.0, 0 and -0.0 are equal numbers and different values.
        if json.dumps(mine) != json.dumps(anew):
            place = _differing("", mine, anew)
            yield Problem(name, f"line {number} is not what the log holds: {place}")


def _differing(pointer: str, mine: Any, anew: Any) -> str:
    """The first place where two records differ, with both values."""
    if isinstance(mine, Mapping) and isinstance(anew, Mapping):
        for key in dict.fromkeys([*mine, *anew]):
            if key not in mine or key not in anew:
                return f"{pointer}/{key} {'added' if key in mine else 'missing'}"
            if json.dumps(mine[key]) != json.dumps(anew[key]):
                return _differing(f"{pointer}/{key}", mine[key], anew[key])
        return f"{pointer}: keys in another order"
    return f"{pointer} {_short(mine)} instead of {_short(anew)}"


def _form(value: Any) -> Any:
    """A value's types and keys, without what it says."""
    if isinstance(value, Mapping):
        return {key: _form(item) for key, item in value.items()}
    return [_form(item) for item in value] if isinstance(value, list) else type(value)


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


# ---- the log's bytes --------------------------------------------------------------------------


def _by_bytes(
    log: bk.Log, manifest: mf.Manifest, rows: Sequence[Record], proved: Proved
) -> Iterator[Problem]:
    """Every value written back gives its cell's bytes."""
    tables = TableVersions(log.table_schemas())
    stored = _stored_rows(log)
    for number, row in enumerate(rows, 1):
        cells = next(stored, None)
        if cells is None:
            yield Problem(files.ROWS, f"line {number}: the log stores no such row")
            return
        pair = compare_rows(row, as_printed(cells), tables, manifest.server_version, cells)
        proved.cells += pair.cells
        proved.cells_by_bytes += pair.by_bytes
        proved.cells_open += sum(not d.counts for d in pair.undecided)
        for difference in (*pair.differences, *pair.undecided):
            if difference.counts:
                what = f"{difference.column}: {difference.reason}: {difference.proof}"
                yield Problem(files.ROWS, f"line {number}, {what}")
    if next(stored, None) is not None:
        yield Problem(files.ROWS, f"the log stores more than {len(rows)} rows")


def _stored_rows(log: bk.Log) -> Iterator[StoredRow]:
    for carrier in log.carriers:
        stored = StoredLog(StoredEvents(carrier))
        for event in StoredEvents(carrier):
            if type(event.body).__name__ == "RowsEvent":
                inner = event.raw.inner
                yield from stored.rows((event.raw.pos, -1 if inner is None else inner))


# ---- mysqlbinlog ------------------------------------------------------------------------------


def _by_text(
    folder: Path,
    log: bk.Log,
    manifest: mf.Manifest,
    events: Sequence[Record],
    rows: Sequence[Record],
    proved: Proved,
) -> Iterator[Problem]:
    """mysqlbinlog's text, where there is one, of each log."""
    mine: dict[str, tuple[list[Record], list[Record]]] = defaultdict(lambda: ([], []))
    for kind, records in enumerate((events, rows)):
        for record in records:
            mine[record["file"]][kind].append(record)
    schemas = list(log.table_schemas())
    carriers = {Path(carrier.name).name: carrier for carrier in log.carriers}
    for text in manifest.texts:
        if text.binlog not in carriers:
            yield Problem("manifest.json", f"{text.name}: no log is called {text.binlog}")
            continue
        result = against_mysqlbinlog(
            *mine[text.binlog], schemas, _text_lines(folder, text), file=text.binlog,
            stored=StoredEvents(carriers[text.binlog]),
        )  # fmt: skip
        proved.events_by_text += result.summary.events
        proved.rows_by_text += result.summary.rows
        for difference in result.differences.to_pylist():
            if difference["kind"] in ("ours", "unexplained"):
                where = f"{text.binlog} at {difference['pos']}, {difference['column']}"
                what = f"{difference['reason']}: {difference['proof']}"
                name = files.EVENTS if difference["row"] is None else files.ROWS
                yield Problem(name, f"{where}: {what}")


def _text_lines(folder: Path, text: mf.OracleText) -> Iterator[bytes]:
    yield from mf.read_packed(mf.find_text(folder, text.name)).splitlines(keepends=True)
    if text.exit_status:
        raise OracleError(f"exit status {text.exit_status}: {text.stderr}")


# ---- the server's states ----------------------------------------------------------------------


def _by_states(
    log: bk.Log, manifest: mf.Manifest, events: Sequence[Record], proved: Proved
) -> Iterator[Problem]:
    """At every mark: the GTIDs executed, and each table's rows."""
    files = {Path(carrier.name).name: carrier.name for carrier in log.carriers}
    ends = {(e["file"], e["end_pos"]) for e in events}
    transactions = log.transactions(engine="pyarrow")
    boundaries = read_boundaries(log.boundaries(engine="pyarrow"))
    batches = list(log.batches())
    cascades = parse_version(manifest.server_version) >= CASCADES_LOGGED
    unchecked = unchecked_changes(events, batches)
    for mark in manifest.marks:
        if (mark.file, mark.pos) not in ends:
            yield Problem("manifest.json", f"mark {mark.name}: no event ends at {mark.pos}")
            continue
        yield from _gtids(mark, events, manifest.relay)
        elsewhere = manifest.relay and mark.gtid_executed != mark.gtid_retrieved
        for name, table in mark.tables.items():
            db, _, bare = name.partition(".")
            if not _as_created(table, db):
                what = f"mark {mark.name}, {name}: its columns or keys are not those of its CREATE"
                yield Problem("manifest.json", what)
            state = replay(
                batches, boundaries, key=table.primary_key, transactions=transactions,
                table=(db, bare), until=AtPosition(files[mark.file], mark.pos),
                cascades_logged=cascades, unchecked=lambda seqs: np.isin(seqs, unchecked),
            )  # fmt: skip
            if not state.determined or elsewhere:
                proved.states_open += 1
                continue
            wrong = _other_rows(list(_rows(state)), table)
            if wrong:
                what = f"mark {mark.name}, {name}: the rows of the log do not leave {wrong}"
                yield Problem("manifest.json", what)
            else:
                proved.states += 1


def _as_created(table: mf.Table, db: str) -> bool:
    """Whether what is said of a table is what its SHOW CREATE TABLE says."""
    made = Catalog().apply(table.create, default_db=db)[0].definition
    return made is not None and (
        [(c.name, c.type, c.unsigned, c.nullable) for c in made.columns]
        == [(c.name, _base_type(c.type), " unsigned" in c.type, c.nullable) for c in table.columns]
        and list(made.primary_key) == list(table.primary_key)
    )


def _base_type(column_type: str) -> str:
    name = re.split(r"[ (]", column_type)[0]
    return "geomcollection" if name == "geometrycollection" else name  # until 5.7


def unchecked_changes(events: Sequence[Record], batches: Sequence[Batch]) -> np.ndarray[Any, Any]:
    """The ``seq`` of changes that were made with foreign_key_checks off, as their events say."""
    off = {
        (e["file"], e["pos"], e["inner"])
        for e in events
        if "_ROWS_EVENT" in e["type"] and "NO_FOREIGN_KEY_CHECKS" in e["fields"]["flags"]
    }
    found = [np.zeros(0, np.int64)]
    for batch in batches if off else ():
        rows = batch.batch.select(["seq", "file", "pos", "inner"]).to_pylist()
        seqs = [r["seq"] for r in rows if (Path(r["file"]).name, r["pos"], r["inner"]) in off]
        found.append(np.array(seqs, np.int64))
    return np.concatenate(found)


def _gtids(mark: mf.MarkPoint, events: Sequence[Record], relay: bool) -> Iterator[Problem]:
    """The server has executed, or a replica received, what is in its log: each was begun anew."""
    if not any(e["gtid"] for e in events):
        return
    executed = {
        e["gtid"]
        for e in events
        if e["gtid"] and (e["file"], e["end_pos"]) <= (mark.file, mark.pos)
    }
    name, text = ("gtid_retrieved", mark.gtid_retrieved or "") if relay else (
        "gtid_executed", mark.gtid_executed
    )  # fmt: skip
    said, found = GtidSet.parse(text), GtidSet.parse(",".join(executed))
    if said != found:
        what = f"mark {mark.name}: {name} is {said}, the log has {found}"
        yield Problem("manifest.json", what)


def _rows(state: State[Any]) -> Iterator[Record]:
    """A state's rows; a column that is not known is absent."""
    for batch in state.rows.to_batches():
        records = struct_records(batch["values"], batch["value_state"], batch["raw"], 1)
        yield from (record for record in records if record is not None)


def _other_rows(found: list[Record], table: mf.Table) -> str:
    """The first of the server's rows that the state has not, as text; empty where all agree."""
    types = {column.name: column.type for column in table.columns}
    left = list(found)
    for wanted in table.records():
        match = next((row for row in left if _fits(types, row, wanted)), None)
        if match is None:
            return _short(wanted)
        left.remove(match)
    return f"only {len(table.rows)} rows but {len(found)}" if left else ""


def _fits(types: Mapping[str, str], row: Record, wanted: Mapping[str, Any]) -> bool:
    return all(same_value(types[c], row[c], value) for c, value in wanted.items() if c in row)


def same_value(mysql_type: str, found: Any, wanted: Any) -> bool:
    """Whether a record's value is the manifest's of a column of that type."""
    if found == wanted or found is None or wanted is None:
        return bool(found == wanted)
    if mysql_type.startswith("float"):  # the manifest has the double of the 4 bytes
        return struct.pack("<f", found) == struct.pack("<f", wanted)
    if mysql_type == "json":  # 5.7 prints a double without a fraction as an integer
        return bool(json.loads(found) == json.loads(wanted))
    return False
