"""Questions about what is made of a log: verification, audit, states, undo, what filters choose."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import signature
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

import binlogkit as bk
from binlogkit.analyses.audit.activity import by_statement
from binlogkit.analyses.audit.rhythm import bursts_among
from binlogkit.log.ledgers import read_ledgers
from tests.answers.binlogkit_answers.asked import EACH, Asked, Parts, error_facts, question, raised
from tests.answers.binlogkit_answers.plain import Told, line, rows_of

__all__: list[str] = []


@question
def _verify(asked: Asked) -> Parts:
    findings, files, joints = Told(), Told(), Told()
    with raised(findings):
        found = asked.open().verify()
        findings.records("verify.findings", found.records())
        findings.add("well", found.well)
        if found.unreadable is not None:
            findings.add("unreadable", error_facts(found.unreadable))
        files.records("verify.files", found.file_records())
        for joint in found.joints:
            codes = [f.code for f in joint.findings]
            joints.add(joint.before.name, joint.after.name, joint.status, codes)
    return {"verify.findings": findings, "verify.files": files, "verify.joints": joints}


@question
def _verify_rows(asked: Asked) -> Parts:
    told = Told()
    with raised(told):
        told.records("verify.rows", asked.open().verify(rows=True).records())
    return {"verify.rows": told}


_AUDIT = {"files": "files", "continuity": "files", "integrity": "findings", "limits": "limits"}


@question
def _audit(asked: Asked) -> Parts:
    parts: Parts = {f"audit.{n}": Told() for n in ("counts", "files", "findings", "limits")}
    with raised(parts["audit.counts"]):
        sections = asked.open().audit().sections
        for name, table in sections.items():
            if name in ("assumes", "suspects"):  # sections that came after the digests
                continue
            told = parts[f"audit.{_AUDIT.get(name, 'counts')}"]
            told.add("section", "findings" if name == "integrity" else name)
            kept = table.drop_columns(["grade"]) if name == "integrity" else table
            kept = _by_statement(asked) if name == "by_statement" else kept
            told.records("audit", rows_of(kept))
        # A section that the audit had when the digests were made.
        parts["audit.counts"].add("section", "bursts")
        minutes = sections["by_minute"]
        parts["audit.counts"].records("audit", rows_of(bursts_among(minutes, minutes)))
    return parts


def _by_statement(asked: Asked) -> pa.Table:
    """As when the digests were made: with a row for the changes that have no text."""
    log, none = asked.open(), "\0"
    changes = read_ledgers(log, log.carriers).changes
    at = changes.schema.get_field_index("query")
    texts = changes["query"].cast(pa.string()).fill_null(none)
    found = by_statement(changes.set_column(at, "query", texts))
    query = found["query"]
    nulls = pc.if_else(pc.equal(query, none), pa.scalar(None, pa.string()), query)
    return found.set_column(found.schema.get_field_index("query"), "query", nulls)


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
            told.records("state", state.records())
            determined.add(label, table, state.rows_determined)
            findings.add(label, table)
            findings.records("state.findings", rows_of(state.findings))
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
            made = getattr(asked.open(), name)
            # Over gaps, too, where a script of them has to be asked for.
            plans = made(**{"despite_gaps": True} if "despite_gaps" in str(signature(made)) else {})
            for plan in plans:
                said = {key: plan[key] is not None for key in ("refused", "note")}
                told.records(name, [plan | said])
            script.facts += [line(t) for t in bk.sql.script(plans) if not t.startswith("-- ")]
    return parts


_ALL = ("row", "transaction", "event")
_KINDS = {"positions": _ALL, "table": _ALL, "where": _ALL[:1]}


@question
def _filters(asked: Asked) -> Parts:
    """Which rows, events and transactions filters leave, by their places."""
    parts = {"filters": Told(), "filters.where": Told()}
    keys = ("file", "pos", "inner", "row", "op", "gtid")
    for label, wanted in asked.places.filters.items():
        told = parts["filters.where" if label == "where" else "filters"]
        for kind in _KINDS.get(label, _ALL[:2]):
            with raised(told, label, kind):
                for record in getattr(asked.open(), f"{kind}_records")(**wanted):
                    told.add(label, kind, [record.get(key) for key in keys])
    return parts
