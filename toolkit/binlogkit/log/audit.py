"""The audit of a log: what the evidence report is made from."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from binlogkit.errors import DamageError
from binlogkit.events.control import Rotate
from binlogkit.events.format_description import FormatDescription, StartV3
from binlogkit.events.gtid import Gtid, PreviousGtids
from binlogkit.events.gtid_set import GtidSet
from binlogkit.rows.walk import LogWalk

if TYPE_CHECKING:
    import pyarrow as pa

    from binlogkit.log.log import Log

__all__ = ["SECTIONS", "Audit", "audit_log"]

SECTIONS = (
    "files", "continuity", "findings", "summary", "by_table", "by_minute", "largest", "longest",
    "by_thread", "by_statement", "statements", "settings", "formats", "bursts", "limits",
)  # fmt: skip

_STATE = ("before_state", "after_state", "seq", "tx")
_LARGEST = 50
_HASH_CHUNK = 1 << 20


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


@dataclass(slots=True)
class _File:
    """What one walk learns of a file; GTID sets as far as the file tells them."""

    name: str
    server_version: str | None = None
    first_timestamp: int | None = None
    last_timestamp: int | None = None
    events: int = 0
    size: int = 0
    checksums: Counter[str] = field(default_factory=Counter)
    previous: GtidSet | None = None
    gtids: set[str] = field(default_factory=set)
    next_name: str | None = None


def audit_log(log: Log, **filters: Any) -> Audit:
    """See :meth:`binlogkit.log.log.Log.audit`."""
    import pyarrow as pa

    from binlogkit.analyses import audit

    transactions = log.transactions(engine="pyarrow", **filters)
    files = _files(log)
    changes = _changes(log, **filters)
    undecodable = log.undecodable
    statements = log.statements(engine="pyarrow", **filters)
    boundaries = log.boundaries(engine="pyarrow", **filters)
    kinds = statements.column("kind").to_pylist()
    told = pa.array([k in ("ddl", "dml", "account", "admin") for k in kinds], pa.bool_())
    cascades = _cascades(log)
    sections = {
        "files": _file_table(log, files),
        "continuity": _continuity(files),
        "findings": _findings(log, undecodable),
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
        "limits": audit.limits(transactions, changes, boundaries=boundaries, cascades=cascades),
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


def _cascades(log: Log) -> list[str]:
    """The tables that a schema in use says foreign keys cascade into."""
    walk = log.walk(ahead=False)
    for _ in log.until_damage(walk):
        pass
    return sorted(
        {".".join(name) for name, versions in walk.schemas.items() if versions[-1].cascades}
    )


def _files(log: Log) -> list[_File]:
    """One per log, also where two have the same name."""
    return [_file(log, LogWalk([c], log.options, ahead=False), c.name) for c in log.carriers]


def _file(log: Log, walk: LogWalk, name: str) -> _File:
    file = _File(name)
    for step in log.until_damage(walk):
        raw, body = step.event.raw, step.event.body
        if raw.inner is None:
            file.events += 1
            file.checksums[raw.checksum] += 1
            file.size = raw.end_pos
        stamp = raw.header.timestamp
        if stamp:
            file.first_timestamp = min(file.first_timestamp or stamp, stamp)
            file.last_timestamp = max(file.last_timestamp or stamp, stamp)
        if isinstance(body, (FormatDescription, StartV3)) and file.server_version is None:
            file.server_version = body.server_version
        elif isinstance(body, PreviousGtids):
            file.previous = GtidSet.parse(body.gtid_set)
        elif isinstance(body, Gtid) and body.gtid and body.gno > 0:
            file.gtids.add(body.gtid)
        elif isinstance(body, Rotate):
            file.next_name = body.name
    return file


def _file_table(log: Log, files: list[_File]) -> pa.Table:
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


def _continuity(files: list[_File]) -> pa.Table:
    """One row per pair of files that follow each other: whether anything is missing between."""
    import pyarrow as pa

    rows = []
    for before, after in pairwise(files):
        named = before.next_name
        base = after.name.replace("\\", "/").rsplit("/", 1)[-1]
        problems = []
        if named is not None and named.rsplit("/", 1)[-1] != base.removesuffix(".gz"):
            problems.append(f"the log goes on in {named}")
        if before.previous is not None and after.previous is not None:
            known = GtidSet.of([*filter(None, str(before.previous).split(",")), *before.gtids])
            missing = after.previous.subtract(known)
            if missing:
                problems.append(f"missing between the two: {missing}")
        status = "gap" if problems else "continuous" if named or after.previous else "unknown"
        rows.append(
            {"file": before.name, "next": after.name, "status": status,
             "problem": "; ".join(problems) or None}
        )  # fmt: skip
    schema = pa.schema([(name, pa.string()) for name in ("file", "next", "status", "problem")])
    return pa.Table.from_pylist(rows, schema=schema)


def _findings(log: Log, undecodable: int) -> pa.Table:
    import pyarrow as pa

    rows = [
        {"severity": "damaged", "file": d.file, "pos": d.offset, "finding": str(d)}
        for d in log.damages
    ]
    rows += [{"severity": "unknown", "finding": problem} for problem in log.problems]
    if undecodable:
        rows.append({"severity": "unknown", "finding": f"{undecodable} cells are undecodable"})
    text = pa.string()
    schema = pa.schema({"severity": text, "file": text, "pos": pa.int64(), "finding": text})
    return pa.Table.from_pylist(rows, schema=schema)
