"""The notebook of the platform: its tables are what the server recorded."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from binlogkit_fixtures import golden
from binlogkit_fixtures.scenarios.incident import BAD_STATEMENT
from tests.notebooks.executing import executed

pytestmark = [pytest.mark.notebook, pytest.mark.spark]

NOTEBOOK = Path(__file__).resolve().parents[2] / "notebooks" / "platform.ipynb"
_PER_CELL = 180  # seconds; Spark starts in one of them
_PROBE = """
import json

print(json.dumps({
    "then": then.astype(str).to_dict("index"),
    "now": now.astype(str).to_dict("index"),
    "first": first.rows,
    "second": second.rows,
    "hows": [kept.how for kept in second.current],
    "gtid": answer["gtid"][0],
    "lost": str(answer["lost"][0]),
    "statement": answer["statement"][0],
    "hit": int(answer["orders"][0]),
    "by status": {name: [int(row["count"]), str(row["sum"])] for name, row in by_status.iterrows()},
    "same": {name: int(count) for name, count in same.items()},
    "fewer": [[c.before, c.after] for c in compacted],
    "streamed": streamed.count(),
}))
spark.stop()
"""


def test_it_finds_what_the_server_recorded(tmp_path: Path) -> None:
    run = executed(NOTEBOOK, tmp_path, _PROBE, _PER_CELL)
    case = golden.case("8.0-row-full", "incident")
    tables = {name: case.manifest.mark(name).tables["shop.orders"] for name in ("before", "end")}
    for name, mark in (("then", "before"), ("now", "end")):
        records = tables[mark].records()
        total = str(sum(Decimal(str(row["total"])) for row in records))
        expected = {"orders": str(len(records)), "total": total}
        assert run.found[name] == {"current state": expected, "SELECT": expected}
    before = {row["id"]: row for row in tables["before"].records()}
    after = {row["id"]: row for row in case.manifest.mark("after").tables["shop.orders"].records()}
    hit = [key for key in before if before[key] != after[key]]
    lost = sum(Decimal(str(before[k]["total"])) - Decimal(str(after[k]["total"])) for k in hit)
    assert (run.found["hit"], run.found["lost"]) == (len(hit), str(lost))
    assert run.found["statement"] == BAD_STATEMENT
    counts: dict[str, list[Decimal]] = {}
    for row in before.values():
        counts.setdefault(str(row["status"]), []).append(Decimal(str(row["total"])))
    told = {name: [len(totals), str(sum(totals))] for name, totals in counts.items()}
    assert run.found["by status"] == told
    assert "merged" in run.found["hows"]
    assert run.found["same"] == {"only streamed": 0, "only landed": 0}
    landed = run.found["first"]["shop.orders"] + run.found["second"]["shop.orders"]
    assert run.found["streamed"] == landed
    assert run.found["fewer"] and all(after < before for before, after in run.found["fewer"])
    assert run.outputs("stderr") == []
    assert all(cell.outputs for cell in run.notebook.cells[2:] if cell.cell_type == "code")
