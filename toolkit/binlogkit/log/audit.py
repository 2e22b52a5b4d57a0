"""A log's audit: the data of the evidence report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Unpack

from binlogkit.analyses import audit
from binlogkit.analyses.audit.activity import BY_MINUTE, BY_STATEMENT, BY_TABLE
from binlogkit.analyses.audit.ledger import BY_THREAD, FORMATS, LARGEST, LONGEST, SETTINGS, SUMMARY
from binlogkit.analyses.audit.limits import LIMITS
from binlogkit.analyses.audit.rhythm import BURSTS, bursts_among
from binlogkit.errors import DamageError
from binlogkit.frames.fields.field import Fields, fields, to_table
from binlogkit.frames.fields.ledger import ASSUMPTION, AUDIT_FINDING, CONTINUITY, FILE, STATEMENT
from binlogkit.log.states.gaps import assumed
from binlogkit.log.states.images.checks import ImageChecks
from binlogkit.log.verify import FindingStream, Verification, verify_log
from binlogkit.rows.filter_args import FilterArgs, check_names
from binlogkit.rows.filters import Filters
from binlogkit.rows.soundness import FileFacts, Finding, Grade, Joint
from binlogkit.sources.layers import FileHash
from binlogkit.sources.log_format import version_tuple

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    import pyarrow as pa

    from binlogkit.log.streams import Streams
    from binlogkit.rows.window import Window
    from binlogkit.sources.carriers import Carrier

#: The columns that come before a section's own in records.
SECTION = fields(("section", "string", "which section of the audit it belongs to"))
SECTIONS: dict[str, Fields] = {
    "files": FILE,
    "continuity": CONTINUITY,
    "findings": AUDIT_FINDING,
    "summary": SUMMARY,
    "by_table": BY_TABLE,
    "by_minute": BY_MINUTE,
    "largest": LARGEST,
    "longest": LONGEST,
    "by_thread": BY_THREAD,
    "by_statement": BY_STATEMENT,
    "statements": STATEMENT,
    "settings": SETTINGS,
    "formats": FORMATS,
    "bursts": BURSTS,
    "limits": LIMITS,
    "assumes": ASSUMPTION,
}

_LARGEST = 50
_SEVERITIES = {Grade.DAMAGE: "damaged", Grade.WARNING: "warning"}


@dataclass(frozen=True)
class Audit(Mapping[str, "pa.Table"]):
    """An audit's tables by section (:data:`SECTIONS`), each a ``pyarrow.Table``."""

    sections: dict[str, pa.Table]
    files: list[str]

    def __getitem__(self, section: str) -> pa.Table:
        check_names([section], SECTIONS, "section")
        return self.sections[section]

    def __iter__(self) -> Iterator[str]:
        return iter(self.sections)

    def __len__(self) -> int:
        return len(self.sections)

    def frame(self, section: str) -> pd.DataFrame:
        """A section as a pandas frame."""
        from binlogkit.frames.natural import natural

        return natural(self[section], SECTIONS[section])

    def records(self, *sections: str) -> Iterator[dict[str, Any]]:
        """Every row of the sections, all by default, with its section's name in front."""
        for name in sections or SECTIONS:
            for row in self[name].to_pylist():
                yield {"section": name, **row}


def audit_log(log: Streams, **filters: Unpack[FilterArgs]) -> Audit:
    """See :meth:`binlogkit.log.log.Log.audit`."""
    import pyarrow as pa

    hashes = [FileHash(carrier.opener) for carrier in log.carriers]
    carriers = [replace(c, opener=h.open) for c, h in zip(log.carriers, hashes, strict=True)]
    verification, undecodable, *ledgers = _ledgers(log, carriers, **filters)
    changes, transactions, statements, boundaries, cascades = ledgers
    versions = [version_tuple(f.server_version or "") for f in verification.files]
    kinds = statements.column("kind").to_pylist()
    told = pa.array([k in ("ddl", "dml", "account", "admin") for k in kinds], pa.bool_())
    minutes = audit.by_minute(changes)
    sections = {
        "files": to_table(_file_records(hashes, verification.files), FILE),
        "continuity": to_table(_continuity(verification.joints), CONTINUITY),
        "findings": to_table(_findings(log, verification.findings, undecodable), AUDIT_FINDING),
        "summary": audit.summary(transactions),
        "by_table": audit.by_table(changes),
        "by_minute": minutes,
        "largest": audit.largest(transactions).slice(0, _LARGEST),
        "longest": audit.longest(transactions).slice(0, _LARGEST),
        "by_thread": audit.by_thread(transactions),
        "by_statement": audit.by_statement(changes),
        "statements": statements.filter(told),
        "settings": audit.settings(statements),
        "formats": audit.formats(transactions),
        "bursts": bursts_among(minutes, changes),
        "limits": audit.limits(
            transactions,
            changes,
            boundaries=boundaries,
            cascades=cascades,
            loose={f.name: f.alone for f in verification.files if f.loose},
        ),
        "assumes": to_table(
            ({"assumed": told} for told in assumed(log, max(versions, default=(0, 0, 0)))),
            ASSUMPTION,
        ),
    }
    return Audit(sections, log.files)


class _Lists:
    """A view of windows: collects the transactions, statements and boundaries of an audit."""

    def __init__(self, wanted: Filters) -> None:
        from binlogkit.frames.statements import Boundaries, Statements
        from binlogkit.frames.transactions import Transactions

        self.transactions, self.statements = Transactions(), Statements(wanted)
        self.boundaries = Boundaries(wanted)

    def take(self, window: Window, rows: np.ndarray[Any, Any] | None) -> None:
        """Take the next window. ``rows``: the row count of each entry, None where rows are not
        counted."""
        self.transactions.take(window, rows)
        self.statements.take(window)
        self.boundaries.take(window)


def _ledgers(
    log: Streams, carriers: list[Carrier], **filters: Unpack[FilterArgs]
) -> tuple[Verification, int, pa.Table, pa.Table, pa.Table, pa.Table, list[str]]:
    """The verification and the parts of an audit, from one reading.

    They are: the verification, the number of undecodable cells, the changes without their images,
    ``log.transactions``, ``statements`` and ``boundaries``, and the tables that foreign keys
    cascade into by a given schema. If damage ends the reading, the verification reads all logs by
    itself.
    """
    from binlogkit.frames.activity import Activity
    from binlogkit.frames.row_counts import RowCounts
    from binlogkit.frames.transactions import those

    wanted, stream = log.wanted(**filters), FindingStream(log)
    reading, activity = log.reading(carriers, stream.gaps), Activity()
    lists, counts = _Lists(wanted), RowCounts(stops=False)
    images = None if filters else ImageChecks(log)

    def take(window: Window) -> None:
        lists.take(window, counts.of(window)[0] if filters else None)

    try:
        for batch in log.read_batches(reading, wanted, views=(take,), images=images):
            activity.take(batch.batch)
    except DamageError as error:
        # Events after it were taken with their windows: re-read what came before it.
        lists = _Lists(wanted)
        log.view(lists.take, counting=True)
        if str(error) not in map(str, log.damages):
            log.damages.append(error)
        verification, changes = verify_log(log, images=not filters), activity.finish()
        if verification.unreadable is not None:
            raise verification.unreadable from error
    else:
        unlogged = [] if images is None else stream.unlogged(images, reading)
        findings = [*stream.fresh(), *unlogged, *stream.end(log.copies())]
        verification = Verification(findings, stream.files, stream.joints)
        changes = activity.finish()
        if not filters:
            lists.transactions.count(changes)
    found = lists.transactions.finish(wanted, log.files)
    return (
        verification,
        reading.undecodable,
        changes,
        those(found, changes.column("tx").unique().to_pylist()) if wanted.where else found,
        lists.statements.finish(),
        lists.boundaries.finish(),
        sorted(".".join(name) for name, known in reading.schemas.items() if known[-1].cascades),
    )


def _file_records(hashes: list[FileHash], files: list[FileFacts]) -> Iterator[dict[str, Any]]:
    for found, file in zip(hashes, files, strict=True):
        size, digest = found.result()
        yield {
            "source": file.source, "file": file.name, "size": size, "sha256": digest,
            "server_version": file.server_version, "events": file.events,
            "first_timestamp": file.first_timestamp, "last_timestamp": file.last_timestamp,
            **{name: file.checksums[name] for name in ("ok", "bad", "none")},
        }  # fmt: skip


def _continuity(joints: list[Joint]) -> Iterator[dict[str, Any]]:
    """One record per pair of consecutive files: whether anything is missing between them."""
    for joint in joints:
        yield {
            "file": joint.before.name, "next": joint.after.name, "status": joint.status,
            "problem": "; ".join(found.found for found in joint.findings) or None,
        }  # fmt: skip


def _findings(log: Streams, findings: list[Finding], undecodable: int) -> Iterator[dict[str, Any]]:
    """The verification's findings without notes, and what cannot be read for other reasons."""
    for found in findings:
        if found.grade in _SEVERITIES:
            severity = _SEVERITIES[found.grade]
            yield {**found.record(), "severity": severity, "finding": found.found}
    for problem in (*log.problems, *map(str, log.suppositions)):
        yield {"severity": "unknown", "finding": problem}
    if undecodable:
        yield {"severity": "unknown", "finding": f"{undecodable} cells are undecodable"}
