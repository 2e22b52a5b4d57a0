"""Which modules there are, by room, and which tests are beside each."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOOLKIT = ROOT / "toolkit"
PACKAGE = Path("binlogkit")
#: What is sampled: patterns below toolkit/binlogkit.
AREAS = ("analyses/**/*.py", "rows/**/*.py", "sources/**/*.py")
JUDGE = "analyses/conformance"
#: A module, or a folder, and the tests that are beside it under another name.
TESTS = {
    "analyses/_cells": ("analyses/undoing/test_planner.py", "analyses/undoing/test_plans.py"),
    "analyses/_frames": ("analyses/audit",),
    "analyses/_later_ddl": ("analyses/undoing/test_undo.py", "analyses/undoing/test_plans.py"),
    "analyses/_savepoints": ("analyses/test_savepoints.py", "analyses/point_in_time"),
    "analyses/audit": ("analyses/audit",),
    "analyses/audit/rhythm": ("analyses/audit/test_ledger.py",),
    "analyses/conformance": ("analyses/conformance",),
    "analyses/undoing/dependents": (
        "analyses/undoing/dependents/test_dependents.py",
        "analyses/undoing/dependents/test_gathered.py",
        "analyses/undoing/dependents/test_touched_rows.py",
    ),
    "analyses/point_in_time/before": ("analyses/point_in_time",),
    "analyses/point_in_time": ("analyses/point_in_time",),
    "rows": ("rows/test_reading.py",),
    "rows/ddl": ("rows/ddl",),
    "rows/explain": ("rows/explain", "log/test_explain.py"),
    "rows/gtid_ledger": ("rows/test_series.py", "analyses/verify"),
    "rows/schema": ("rows/test_defined.py", "rows/test_schema.py", "rows/test_resolve.py"),
    "rows/soundness": ("analyses/verify",),
    "rows/table_history": ("rows/test_resolve.py", "rows/ddl/test_catalog.py"),
    "rows/type_text": ("rows/test_schema.py", "rows/test_resolve.py"),
    "sources": ("sources/test_log_reader.py",),
    "sources/carriers": ("sources/test_carriers.py", "sources/test_urls.py"),
    "sources/connection": ("sources/server/test_connection.py",),
    "sources/framing": ("sources/test_loose_events.py",),
    "sources/layers": ("sources/test_chunks.py", "sources/test_unpacking.py"),
    "sources/log_format": ("sources/test_versions.py", "sources/test_log_reader.py"),
    "sources/plausible": ("sources/test_resync.py",),
    "sources/recovery": ("sources/test_resync.py",),
    "sources/server": ("sources/server",),
    "sources/text": ("sources/text",),
}
#: What may notice a fault: the unit tests of the three rooms and of what uses them.
UNIT = ("analyses", "rows", "sources", "log")
#: By room: whatever uses it.
WIDE = {
    "analyses": ("analyses", "log", "cli"),
    "rows": ("rows", "frames", "analyses/verify", "log", "cli"),
    "sources": ("sources", "rows/test_reading.py", "log", "cli"),
}


def room(module: str) -> str:
    """``analyses``, ``judge``, ``rows`` or ``sources``."""
    inside = module.removeprefix(f"{PACKAGE}/")
    return "judge" if inside.startswith(JUDGE) else inside.partition("/")[0]


def modules(patterns: list[str]) -> list[Path]:
    """The modules that match, sorted."""
    base = TOOLKIT / PACKAGE
    found = {path for pattern in patterns for path in base.glob(pattern)}
    return sorted(path.relative_to(base.parent) for path in found if path.name != "__init__.py")


def tests_of(module: Path) -> list[str]:
    """The test file of a module's name and those of :data:`TESTS` for it, else for its folder."""
    inside = module.relative_to(PACKAGE).with_suffix("")
    own = f"{inside.parent}/test_{inside.name.strip('_')}.py"
    named = TESTS.get(str(inside), ())
    if (ROOT / "tests" / own).exists():
        named = tuple(dict.fromkeys((own, *named)))
    listed = next((TESTS[str(place)] for place in inside.parents if str(place) in TESTS), ())
    return [str(ROOT / "tests" / path) for path in named or listed]
