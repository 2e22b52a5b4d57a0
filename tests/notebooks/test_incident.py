"""The notebook of the incident: what it finds, held to what the server recorded."""

from __future__ import annotations

import base64
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from binlogkit_fixtures import golden
from binlogkit_fixtures.manifest import MarkPoint, Table
from binlogkit_fixtures.scenarios.incident import BAD_STATEMENT
from binlogkit_fixtures.servers import ServerSpec, start
from binlogkit_fixtures.truth import read_tables
from tests.notebooks.executing import Run, executed

pytestmark = pytest.mark.notebook

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = ROOT / "notebooks" / "incident.ipynb"
TABLE = "shop.orders"
CELLS = ["8.0-row-full", "5.7-row-full"]
PNG = b"\x89PNG\r\n\x1a\n"
_PER_CELL = 180  # seconds; the whole notebook takes a few

#: Run behind the notebook's own cells: what these left behind, as JSON.
_PROBE = """
import json

print(json.dumps({
    "golden": case is not None,
    "warnings": warnings,
    "gtid": bad["gtid"],
    "begin": [int(bad["pos"]), int(bad["end_pos"])],
    "statement": statement,
    "lost condition": [column, value],
    "hit": hit["after.id"].tolist(),
    "changed": changed.to_dict(),
    "measure": {who: {k: str(v) for k, v in part.items()} for who, part in measure.items()},
    "verdicts": verdicts,
    "determined": [before.determined, after.determined, now.determined],
    "before": [record["values"] for record in before.records()],
    "after": [record["values"] for record in after.records()],
    "now": [record["values"] for record in now.records()],
    "by time": [record["values"] for record in by_time.records()],
    "weak": [finding["finding"] for finding in weak],
    "later": sorted(set(later["before.id"].tolist())),
    "plans": sorted(key_of(plan)[0] for plan in plans if not plan["refused"]),
    "goes back": {row["id"]: row["goes back"].split(", ") for row in edited},
    "is kept": {row["id"]: row["is kept"].split(", ") for row in edited},
    "restored": [[list(key), row] for key, row in restored.items()],
    "as before": as_before,
    "script": script,
    "without meant": sorted(key_of(plan)[0] for plan in without_meant),
    "limits": limits["limit"].tolist(),
    "text only": len(text_dml),
}))
"""


@dataclass(frozen=True)
class Truth:
    """What the manifest says of the incident: the table's rows at its marks, by id."""

    case: golden.GoldenCase

    def mark(self, name: str) -> MarkPoint:
        return self.case.manifest.mark(name)

    def table(self, mark: str) -> Table:
        return self.mark(mark).tables[TABLE]

    def rows(self, mark: str) -> dict[Any, dict[str, Any]]:
        return {row["id"]: row for row in self.table(mark).records()}

    @property
    def gtid(self) -> str:
        """The one GTID between the marks, from the server's SHOW BINLOG EVENTS."""
        first, last = self.mark("before").pos, self.mark("after").pos
        (event,) = (
            e for e in self.case.manifest.events if e.type == "Gtid" and first <= e.pos < last
        )
        return event.info.split("'")[1]

    @property
    def hit(self) -> list[Any]:
        """The ids whose row is another one after the statement."""
        before, after = self.rows("before"), self.rows("after")
        assert before.keys() == after.keys()
        return [key for key in before if before[key] != after[key]]

    @property
    def edited(self) -> list[Any]:
        """Of these, the ids whose row at the end is not as the statement left it."""
        after, end = self.rows("after"), self.rows("end")
        return [key for key in self.hit if end.get(key) != after[key]]


@pytest.fixture(scope="session")
def execute(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Run]:
    """Execute the notebook with environment variables, in an empty folder."""

    def run(**variables: str) -> Run:
        folder = tmp_path_factory.mktemp("notebook")
        return executed(NOTEBOOK, folder, _PROBE, _PER_CELL, **variables)

    return run


@pytest.fixture(scope="session", params=CELLS)
def truth(request: pytest.FixtureRequest) -> Truth:
    return Truth(golden.case(request.param, "incident"))


@pytest.fixture(scope="session")
def run(truth: Truth, execute: Callable[..., Run]) -> Run:
    return execute(BINLOGKIT_CELL=truth.case.cell)


@pytest.mark.gate(1)
def test_the_transaction_is_the_bad_one(run: Run, truth: Truth) -> None:
    assert run.found["golden"] and run.found["warnings"] == []
    assert run.found["gtid"] == truth.gtid
    assert run.found["begin"] == [truth.mark("before").pos, truth.mark("after").pos]
    assert run.found["statement"] == BAD_STATEMENT
    assert run.found["lost condition"] == ["customer_id", 17]


@pytest.mark.gate(1)
def test_it_is_measured_as_the_tables_differ(run: Run, truth: Truth) -> None:
    before, after, hit = truth.rows("before"), truth.rows("after"), truth.hit
    assert sorted(run.found["hit"]) == sorted(hit)
    changed = {c: sum(before[k][c] != after[k][c] for k in hit) for c in before[hit[0]]}
    assert run.found["changed"] == changed
    for who, keys in (
        ("all", hit),
        ("meant", [k for k in hit if before[k]["customer_id"] == 17]),
        ("not meant", [k for k in hit if before[k]["customer_id"] != 17]),
    ):
        lost = sum(Decimal(before[k]["total"]) - Decimal(after[k]["total"]) for k in keys)
        measured = run.found["measure"][who]
        assert (int(measured["orders"]), Decimal(measured["lost"])) == (len(keys), lost)


@pytest.mark.gate(1)
def test_the_rebuilt_table_equals_the_select(run: Run, truth: Truth) -> None:
    assert run.found["verdicts"] == {"before": True, "after": True}
    assert run.found["determined"] == [True, True, True]
    for state, mark in (("before", "before"), ("after", "after"), ("now", "end")):
        assert run.found[state] == truth.table(mark).records()


@pytest.mark.gate(1)
def test_the_clock_gives_the_same_table_and_says_what_weakens_it(run: Run, truth: Truth) -> None:
    """Commit times are in the log from 8.0.1 on; before, events' times stand in for them."""
    assert run.found["by time"] == truth.table("before").records()
    assert ("coarse_time" in run.found["weak"]) == (truth.case.settings.series == "5.7")


@pytest.mark.gate(1)
def test_later_edits_are_kept(run: Run, truth: Truth) -> None:
    edited, after, end = truth.edited, truth.rows("after"), truth.rows("end")
    assert edited
    assert run.found["plans"] == sorted(truth.hit)
    assert run.found["later"] == sorted(edited)
    touched = [column for column, n in run.found["changed"].items() if n]
    assert run.found["goes back"].keys() == {str(key) for key in edited}
    for key in edited:
        same = [c for c in touched if end[key][c] == after[key][c]]
        kept = [c for c in touched if c not in same and c != "updated_at"]
        assert run.found["goes back"][str(key)] == same
        assert run.found["is kept"][str(key)] == kept


@pytest.mark.gate(1)
def test_the_rehearsal_restores_the_rows(run: Run, truth: Truth) -> None:
    before, end = truth.rows("before"), truth.rows("end")
    restored = {key: row for (key,), row in run.found["restored"]}
    assert restored == {key: _merged(run, key, before[key], end[key]) for key in truth.hit}
    assert run.found["as before"] == len(truth.hit) - len(truth.edited)
    meant = {key for key, row in before.items() if row["customer_id"] == 17}
    assert run.found["without meant"] == sorted(set(truth.hit) - meant)


def _merged(run: Run, key: Any, before: dict[str, Any], end: dict[str, Any]) -> dict[str, Any]:
    """A row as it was, but for what a later edit set."""
    back = run.found["goes back"].get(str(key))
    return before if back is None else end | {column: before[column] for column in back}


@pytest.mark.gate(1)
def test_it_says_what_the_log_cannot_tell(run: Run, truth: Truth) -> None:
    limits = run.found["limits"]
    assert {"reads", "person", "unlogged_sessions"} <= set(limits)
    assert ("commit_time" in limits) == (truth.case.settings.series == "5.7")
    assert run.found["text only"] == 0


@pytest.mark.gate(1)
def test_it_shows_two_plots_and_complains_of_nothing(run: Run) -> None:
    plots = [base64.b64decode(output.data["image/png"]) for output in run.outputs("image/png")]
    assert [plot[:8] for plot in plots] == [PNG, PNG]
    assert run.outputs("stderr") == []
    assert all(cell.outputs for cell in run.notebook.cells[2:] if cell.cell_type == "code")


def test_a_log_without_a_record_gives_the_same_findings(
    execute: Callable[..., Run], tmp_path: Path
) -> None:
    truth = Truth(golden.case(CELLS[0], "incident"))
    for log in truth.case.binlogs:
        shutil.copy(log, tmp_path)
    found = execute(BINLOGKIT_LOG=str(tmp_path)).found
    assert not found["golden"]
    assert found["verdicts"] == dict.fromkeys(("before", "after"), "nothing recorded here")
    assert found["gtid"] == truth.gtid
    assert sorted(found["hit"]) == sorted(truth.hit)
    assert found["before"] == truth.table("before").records()
    assert found["later"] == sorted(truth.edited)


@pytest.mark.server
@pytest.mark.gate(1)
def test_its_script_repairs_a_real_server(run: Run, truth: Truth) -> None:
    """The table as it stands at the end of the log, the script, and the server's SELECT."""
    before, end, table = truth.rows("before"), truth.rows("end"), truth.table("end")
    spec = ServerSpec(truth.case.settings.series, {"log-bin": "binlog"})
    with start(spec) as server, server.connect() as session, session.cursor() as cursor:
        cursor.execute("SET time_zone = '+00:00'")
        cursor.execute("CREATE DATABASE shop CHARACTER SET utf8mb4")
        cursor.execute("USE shop")
        cursor.execute(table.create)
        marks = ", ".join(["%s"] * len(table.columns))
        cursor.executemany(f"INSERT INTO orders VALUES ({marks})", table.rows)
        session.commit()
        script = run.found["script"]
        assert _verdict(cursor, script).startswith("rolled back, all well")
        commit = [line.replace("@bk_commit = 0;", "@bk_commit = 1;") for line in script]
        assert _verdict(cursor, commit).startswith("committed")
        now = {r["id"]: r for r in read_tables(session, ["shop"])[TABLE].records()}
    for key, row in end.items():
        expected = _merged(run, key, before[key], row) if key in truth.hit else row
        edited = {"updated_at": None} if key in truth.edited else {}
        assert now[key] | edited == expected | edited


def _verdict(cursor: Any, script: list[str]) -> str:
    """Run a script line by line; the last word of the one row that it gives back."""
    said: list[str] = []
    for line in script:
        if not line.startswith("--"):
            cursor.execute(line.rstrip(";\n"))
            said += [str(row[-1]) for row in cursor.fetchall()]
    (verdict,) = said
    return verdict
