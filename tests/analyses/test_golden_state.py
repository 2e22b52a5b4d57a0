"""A table's state at every mark of every golden log is what the server itself selected there.

Where the analysis says that the log does not determine a state, the scenario must give it that
reason: a log in row format may not hide behind doubt, nor a full image behind unknown cells.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import binlogkit as bk
from binlogkit.analyses._frames import from_arrow, to_arrow
from binlogkit.analyses.point_in_time import AtPosition, State, read_boundaries, replay
from binlogkit.frames.fields.ledger import TRANSACTION
from binlogkit.frames.fields.rows import PROVENANCE
from binlogkit.frames.natural import natural
from binlogkit.frames.records import struct_records
from binlogkit_fixtures import golden
from binlogkit_fixtures.expected.proofs import same_value, unchecked_changes
from binlogkit_fixtures.manifest import MarkPoint, Table

CASES = golden.cases()
QUICK = {
    "8.0-row-minimal/keys",
    "5.7-row-full/transactions",
    "8.0-row-minimal-partial-json/json",
    "8.0-statement-full/triggers",
}

# In row format: why a table's state is not determined, from which mark of a scenario on.
# Partitions are exchanged and dropped; foreign keys cascade below the log (up to 9.5); a session
# switches to statement format, which may write any table by a trigger; another one logs nothing;
# a statement's changes are lost.
DOUBTS: dict[tuple[str, str], set[str]] = {
    ("ddl", "evolve.part"): {"rows_moved"},
    ("ddl", "evolve.part_out"): {"rows_moved"},
    ("lost-events", "lost.safe"): {"incident"},
    # 5.7 empties a table in memory by a statement.
    ("restarts", "lives.t"): {"statement_write", "written_elsewhere"},
    ("restarts", "lives.heap"): {"statement_write", "written_elsewhere"},
    ("partitions", "parts.byrange"): {"rows_moved"},
    ("partitions", "parts.bylist"): {"rows_moved"},
    ("partitions", "parts.swap"): {"rows_moved"},
    ("statements", "stmts.switched"): {"statement_write"},
    ("statements", "stmts.untraced"): {"unseen", "written_elsewhere"},
}

# binlog_row_image is a session setting: this table is written by a session that sets its own.
OWN_ROW_IMAGE = "stmts.switched"


def _parameter(case: golden.GoldenCase) -> Any:
    marks = [pytest.mark.quick] if str(case) in QUICK else []
    return pytest.param(case, marks=marks, id=str(case))


def test_there_are_golden_logs() -> None:
    assert len(CASES) > 90
    assert {str(case) for case in CASES} >= QUICK


@pytest.mark.sampled(0, len(CASES) // 8)
@pytest.mark.parametrize("case", [_parameter(case) for case in CASES])
def test_the_state_at_every_mark(case: golden.GoldenCase) -> None:
    states = 0
    for mark, name, table, state in _states(case):
        where = f"{mark.name}: {name}"
        doubts = {f["finding"] for f in state.findings.to_pylist() if not f["determined"]}
        assert state.determined == (not doubts)
        if case.settings.format == "ROW":
            _may_doubt(case, name, doubts, where)
            _may_not_know(case, state, where)
        if state.determined:
            _same_rows(list(_rows(state)), table, where)
            states += 1
    assert states or case.settings.format != "ROW" or _lacks_its_own(case)


@pytest.mark.parametrize("engine", ["pyarrow", "pandas"])
def test_every_engine_agrees_on_a_real_log(engine: str, request: pytest.FixtureRequest) -> None:
    """A frame of any engine gives the rows of Arrow batches, for every table."""
    case = golden.case("8.0-row-full", "incident")
    log = bk.open([str(path) for path in case.binlogs])
    convert = _converter(engine, request)
    transactions = log.transactions(engine="pyarrow")
    compared = 0
    for name in log.table_names():
        changes = log.changes(name)
        key = case.manifest.marks[-1].tables[name].primary_key
        expected = replay(changes, key=key, transactions=transactions).rows
        found = replay(convert(changes), key=key, transactions=convert(transactions)).rows
        assert to_arrow(found).to_pylist() == expected.to_pylist(), name
        compared += expected.num_rows
    assert compared > 100


def _converter(engine: str, request: pytest.FixtureRequest) -> Any:
    if engine == "pyarrow":
        return lambda table: table
    if engine == "pandas":
        return lambda table: natural(table, (*PROVENANCE, *TRANSACTION))
    like = request.getfixturevalue("spark").range(1)
    return lambda table: from_arrow(table, like)


def _states(case: golden.GoldenCase) -> Iterator[tuple[MarkPoint, str, Table, State[Any]]]:
    """Each table at each mark, and its state there."""
    folder = {path.name: str(path) for path in case.binlogs}
    log = bk.open(list(folder.values()))
    transactions = log.transactions(engine="pyarrow")
    boundaries = read_boundaries(log.boundaries(engine="pyarrow"))
    batches = list(log.batches())
    unchecked = unchecked_changes(case.events, batches)
    version = tuple(int(n) for n in case.manifest.server_version.split("-")[0].split("."))
    for mark in case.manifest.marks:
        for name, table in mark.tables.items():
            db, _, base_name = name.partition(".")
            state = replay(
                batches,
                boundaries,
                key=table.primary_key,
                transactions=transactions,
                table=(db, base_name),
                until=AtPosition(folder[mark.file], mark.pos),
                cascades_logged=version >= (9, 6),
                unchecked=lambda seqs: np.isin(seqs, unchecked),
            )
            yield mark, name, table, state


def _rows(state: State[Any]) -> Iterator[dict[str, Any]]:
    """The rows in the contract's form; a column that is not known is absent."""
    for batch in state.rows.to_batches():
        records = struct_records(batch["values"], batch["value_state"], batch["raw"], 1)
        yield from (record for record in records if record is not None)


def _lacks_its_own(case: golden.GoldenCase) -> bool:
    """Whether these are the relay logs of a server that writes, too."""
    return (case.scenario, case.server) == ("ring", "a-relay")


def _may_doubt(case: golden.GoldenCase, name: str, doubts: set[str], where: str) -> None:
    allowed = DOUBTS.get((case.scenario, name), set())
    if case.scenario == "statements":
        allowed = allowed | {"written_elsewhere"}
    if _lacks_its_own(case):
        allowed = {"key_missing", "no_beginning"}
    assert doubts <= allowed, where


def _may_not_know(case: golden.GoldenCase, state: State[Any], where: str) -> None:
    """With full images only an ALTER TABLE makes cells unknown."""
    unknown = any(state.rows["unknown"].to_pylist())
    altered = "altered" in state.findings["finding"].to_pylist()
    if case.settings.image == "full" and not where.endswith(OWN_ROW_IMAGE):
        assert not unknown or altered, where


def _same_rows(found: list[dict[str, Any]], table: Table, where: str) -> None:
    """Every known cell is the server's; rows of a table without a key are matched as they fit."""
    types = {column.name: column.type for column in table.columns}
    rest = table.records()
    assert len(found) == len(rest), where
    for row in found:
        match = next(
            (
                i
                for i, wanted in enumerate(rest)
                if all(same_value(types[c], row[c], v) for c, v in wanted.items() if c in row)
            ),
            None,
        )
        assert match is not None, (where, row, rest[:3])
        del rest[match]
