"""Questions about what is made of a log: verification, audit, states, undo, what filters choose."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import binlogkit as bk
from tests.answers.binlogkit_answers.asked import EACH, Asked, Parts, error_facts, question, raised
from tests.answers.binlogkit_answers.plain import Told, line, rows_of

__all__: list[str] = []

_SENTENCES = ("found", "meaning")


@question
def _verify(asked: Asked) -> Parts:
    findings, files, joints = Told(), Told(), Told()
    with raised(findings):
        found = asked.open().verify()
        findings.records(found.records(), _SENTENCES)
        findings.add("well", found.well)
        if found.unreadable is not None:
            findings.add("unreadable", error_facts(found.unreadable))
            findings.say("unreadable", str(found.unreadable))
        files.records(found.file_records())
        for joint in found.joints:
            codes = [f.code for f in joint.findings]
            joints.add(joint.before.name, joint.after.name, joint.status, codes)
    return {"verify.findings": findings, "verify.files": files, "verify.joints": joints}


@question
def _verify_rows(asked: Asked) -> Parts:
    told = Told()
    with raised(told):
        told.records(asked.open().verify(rows=True).records(), _SENTENCES)
    return {"verify.rows": told}


_AUDIT = {
    "files": ("files", ()), "continuity": ("files", ("problem",)),
    "findings": ("findings", ("finding", "meaning")), "limits": ("limits", ("meaning", "evidence")),
}  # fmt: skip


@question
def _audit(asked: Asked) -> Parts:
    parts: Parts = {f"audit.{n}": Told() for n in ("counts", "files", "findings", "limits")}
    types = Told()
    with raised(parts["audit.counts"]):
        for name, table in asked.open().audit().sections.items():
            part, words = _AUDIT.get(name, ("counts", ()))
            told = parts[f"audit.{part}"]
            told.add("section", name)
            types.types(name, table.schema)
            told.records(rows_of(table), words)
    return parts | {"audit.types": types}


@question
def _states(asked: Asked) -> Parts:
    """Every table's at the end, and some tables' at each of the points."""
    parts: Parts = {"state.determined": Told(), "state.findings": Told()}
    tables = _all_tables(asked, parts["state.findings"])
    for number, (label, point) in enumerate({"end": {}, **asked.places.points}.items()):
        told = parts.setdefault(f"state.{label.split()[0]}", Told())
        step = 1 if asked.few is None and not number else max(1, len(tables) // EACH)
        rest = tables[((asked.few or 0) + number) % step :: step]
        while rest:
            rest = _states_of(asked, rest, label, point, told, parts)
    return parts


def _states_of(
    asked: Asked, tables: list[str], label: str, point: dict[str, Any], told: Told, parts: Parts
) -> list[str]:
    """The tables after the first whose state is an error, which ends the reading of them all."""
    determined, findings = parts["state.determined"], parts["state.findings"]
    states: Iterator[Any] | None = None
    for at, table in enumerate(tables):
        done = False
        with raised(told, label, table):
            states = states or asked.open().states(tables, **point)
            state = next(states)
            told.add(label, table, state.columns, state.key)
            told.records(state.records())
            determined.add(label, table, state.determined)
            findings.add(label, table)
            findings.records(rows_of(state.findings), ("meaning",))
            done = True
        if not done:
            return tables[at + 1 :]
    return []


def _all_tables(asked: Asked, told: Told) -> list[str]:
    """Tables with row changes, and those that statements name."""
    names: dict[tuple[str, str], None] = {}
    with raised(told, "tables"):
        names |= dict.fromkeys(asked.open().table_pairs())
    with raised(told, "boundaries"):
        for row in rows_of(asked.open().boundaries(engine="pyarrow")):
            for db, table in ((row["db"], row["table"]), (row["new_db"], row["new_table"])):
                if db and table:
                    names[db, table] = None
    return [".".join("`" + n.replace("`", "``") + "`" for n in pair) for pair in sorted(names)]


@question
def _undo(asked: Asked) -> Parts:
    parts: Parts = {}
    for name in ("undo", "redo"):
        told, script = Told(), Told()
        parts |= {name: told, f"{name}.script": script}
        with raised(told):
            plans = getattr(asked.open(), name)()
            # Their order is what counts, whatever the numbers in `step`.
            steps = [plan["step"] for plan in plans]
            told.add("in order", steps == sorted(steps))
            without = ({k: v for k, v in plan.items() if k != "step"} for plan in plans)
            told.records(without, ("refused", "note"))
            for text in bk.sql.script(plans):
                (script.words if text.startswith("-- ") else script.facts).append(line(text))
    return parts


_OF_EVENTS = ("positions", "table")


@question
def _filters(asked: Asked) -> Parts:
    """Which rows, events and transactions filters leave, by their places."""
    told = Told()
    keys = ("file", "pos", "inner", "row", "op", "gtid")
    for label, wanted in asked.places.filters.items():
        for kind in ("row", "transaction", "event")[: 3 if label in _OF_EVENTS else 2]:
            with raised(told, label, kind):
                for record in getattr(asked.open(), f"{kind}_records")(**wanted):
                    told.add(label, kind, [record.get(key) for key in keys])
    return {"filters": told}
