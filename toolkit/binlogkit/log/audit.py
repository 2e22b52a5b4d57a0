"""The audit of a log: what the evidence report is made from."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from binlogkit.analyses.verify import FileFacts, Finding, Grade, Joint
from binlogkit.errors import DamageError
from binlogkit.rows.filters import Filters

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from binlogkit.log.log import Log
    from binlogkit.rows.window import Window

__all__ = ["SECTIONS", "Audit", "audit_log"]

SECTIONS = (
    "files", "continuity", "findings", "summary", "by_table", "by_minute", "largest", "longest",
    "by_thread", "by_statement", "statements", "settings", "formats", "bursts", "limits",
)  # fmt: skip

_STATE = ("before_state", "after_state", "seq", "tx")
_LARGEST = 50
_HASH_CHUNK = 1 << 20
_SEVERITIES = {Grade.DAMAGE: "damaged", Grade.WARNING: "warning"}


@dataclass(frozen=True, slots=True)
class Audit:
    """An audit's tables by section (:data:`SECTIONS`), each a ``pyarrow.Table``."""

    sections: dict[str, pa.Table]
    files: list[str]

    def __getitem__(self, section: str) -> pa.Table:
        return self.sections[section]

    def frame(self, section: str) -> Any:
        """A section as a pandas frame."""
        from binlogkit.frames.tables import to_engine

        return to_engine(self.sections[section], "pandas")

    def records(self, *sections: str) -> Iterator[dict[str, Any]]:
        """Every row of the sections, all by default, with its section's name in front."""
        for name in sections or SECTIONS:
            for row in self.sections[name].to_pylist():
                yield {"section": name, **row}


def audit_log(log: Log, **filters: Any) -> Audit:
    """See :meth:`binlogkit.log.log.Log.audit`."""
    import pyarrow as pa

    from binlogkit.analyses import audit

    verification = log.verify()
    changes = _changes(log, **filters)
    undecodable = log.undecodable
    transactions, statements, boundaries, cascades = _ledgers(log, **filters)
    kinds = statements.column("kind").to_pylist()
    told = pa.array([k in ("ddl", "dml", "account", "admin") for k in kinds], pa.bool_())
    sections = {
        "files": _file_table(log, verification.files),
        "continuity": _continuity(verification.joints),
        "findings": _findings(log, verification.findings, undecodable),
        "summary": audit.summary(transactions),
        "by_table": audit.by_table(changes),
        "by_minute": audit.by_minute(changes),
        "largest": audit.largest(transactions).slice(0, _LARGEST),
        "longest": audit.longest(transactions).slice(0, _LARGEST),
        "by_thread": audit.by_thread(transactions),
        "by_statement": audit.by_statement(changes),
        "statements": statements.filter(told),
        "settings": audit.settings(statements),
        "formats": audit.formats(transactions),
        "bursts": audit.bursts(changes),
        "limits": audit.limits(
            transactions,
            changes,
            boundaries=boundaries,
            cascades=cascades,
            loose={f.name: f.alone for f in verification.files if f.loose},
        ),
    }
    return Audit(sections, log.files)


def _changes(log: Log, **filters: Any) -> pa.Table:
    """Every table's changes without their images."""
    import pyarrow as pa

    from binlogkit.frames.schema import PROVENANCE, batch_schema

    names = [*PROVENANCE, *_STATE]
    schema = batch_schema([])
    schema = pa.schema([schema.field(name) for name in names])
    batches = []
    try:
        for b in log.batches(**filters):
            columns = [b.batch.column(n) for n in names]
            batches.append(pa.RecordBatch.from_arrays(columns, schema=schema))
    except DamageError as error:
        log.damages.append(error)
    return pa.Table.from_batches(batches, schema).unify_dictionaries()


def _ledgers(log: Log, **filters: Any) -> tuple[pa.Table, pa.Table, pa.Table, list[str]]:
    """``log.transactions``, ``statements`` and ``boundaries``, and the tables that a schema in use
    says foreign keys cascade into, of one reading."""
    from binlogkit.frames.statements import Boundaries, Statements
    from binlogkit.frames.transactions import Transactions

    wanted, source = Filters.build(**filters), log.options.source
    transactions, statements = Transactions(source), Statements(wanted, source)
    boundaries = Boundaries(wanted)

    def take(window: Window, rows: np.ndarray[Any, Any]) -> None:
        transactions.take(window, rows)
        statements.take(window)
        boundaries.take(window)

    reading = log.view(take, counting=True)
    log.damages, log.losses = [], []  # the verification tells of them
    return (
        transactions.finish(wanted, log.files),
        statements.finish(),
        boundaries.finish(source, folded=reading.folded),
        sorted(".".join(name) for name, known in reading.schemas.items() if known[-1].cascades),
    )


def _file_table(log: Log, files: list[FileFacts]) -> pa.Table:
    import pyarrow as pa

    rows = []
    for carrier, file in zip(log.carriers, files, strict=True):
        digest, size = hashlib.sha256(), 0
        with carrier.opener() as stored:
            while chunk := stored.read(_HASH_CHUNK):
                digest.update(chunk)
                size += len(chunk)
        rows.append(
            {
                "file": file.name, "size": size, "sha256": digest.hexdigest(),
                "server_version": file.server_version, "events": file.events,
                "first_timestamp": file.first_timestamp, "last_timestamp": file.last_timestamp,
                "ok": file.checksums["ok"], "bad": file.checksums["bad"],
                "none": file.checksums["none"],
            }
        )  # fmt: skip
    text, number = pa.string(), pa.int64()
    schema = pa.schema(
        {
            "file": text, "size": number, "sha256": text, "server_version": text, "events": number,
            "first_timestamp": number, "last_timestamp": number, "ok": number, "bad": number,
            "none": number,
        }
    )  # fmt: skip
    return pa.Table.from_pylist(rows, schema=schema)


def _continuity(joints: list[Joint]) -> pa.Table:
    """One row per pair of files that follow each other: whether anything is missing between."""
    import pyarrow as pa

    rows = [
        {
            "file": joint.before.name, "next": joint.after.name, "status": joint.status,
            "problem": "; ".join(found.found for found in joint.findings) or None,
        }
        for joint in joints
    ]  # fmt: skip
    schema = pa.schema([(name, pa.string()) for name in ("file", "next", "status", "problem")])
    return pa.Table.from_pylist(rows, schema=schema)


def _findings(log: Log, findings: list[Finding], undecodable: int) -> pa.Table:
    """What the verification found, notes left out, and what cannot be read for other reasons."""
    import pyarrow as pa

    rows: list[dict[str, object]] = [
        {
            "severity": _SEVERITIES[found.grade], "code": found.code, "file": found.place.file,
            "pos": found.place.pos, "end_pos": found.place.end_pos, "finding": found.found,
            "meaning": found.meaning,
        }
        for found in findings
        if found.grade in _SEVERITIES
    ]  # fmt: skip
    rows += [{"severity": "unknown", "finding": problem} for problem in log.problems]
    if undecodable:
        rows.append({"severity": "unknown", "finding": f"{undecodable} cells are undecodable"})
    names = ("severity", "code", "file", "pos", "end_pos", "finding", "meaning")
    numbers = ("pos", "end_pos")
    schema = pa.schema([(n, pa.int64() if n in numbers else pa.string()) for n in names])
    return pa.Table.from_pylist(rows, schema=schema)
