"""A log's audit: the data of the evidence report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Unpack

from binlogkit.analyses import audit
from binlogkit.analyses.audit.activity import BY_MINUTE, BY_STATEMENT, BY_TABLE
from binlogkit.analyses.audit.ledger import BY_THREAD, FORMATS, LARGEST, LONGEST, SETTINGS, SUMMARY
from binlogkit.analyses.audit.limits import LIMITS
from binlogkit.analyses.suspects import SUSPECTS
from binlogkit.frames.fields.field import Fields, fields, to_table
from binlogkit.frames.fields.ledger import ASSUMPTION, AUDIT_FINDING, CONTINUITY, FILE, STATEMENT
from binlogkit.log.ledgers import read_ledgers
from binlogkit.log.states.gaps import assumed
from binlogkit.log.suspects import suspects_among
from binlogkit.overview import Overview, Overviewed
from binlogkit.rows.filter_args import FilterArgs, check_names
from binlogkit.rows.soundness import FileFacts, Joint
from binlogkit.sources.layers import FileHash
from binlogkit.sources.log_format import version_tuple

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from binlogkit.log.streams import Streams

#: The columns that come before a section's own in records.
SECTION = fields(("section", "string", "which section of the audit it belongs to"))
SECTIONS: dict[str, Fields] = {
    "suspects": SUSPECTS,
    "files": FILE,
    "continuity": CONTINUITY,
    "integrity": AUDIT_FINDING,
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
    "limits": LIMITS,
    "assumes": ASSUMPTION,
}

_LOOKED_AT = (
    "score", "timestamp", "thread_id", "db", "table", "op", "rows", "what", "why", "undo",
)  # fmt: skip
_LARGEST = 50


@dataclass(frozen=True, repr=False)
class Audit(Overviewed, Mapping[str, "pa.Table"]):
    """An audit's tables by section (:data:`SECTIONS`), each a ``pyarrow.Table``.

    Their values are those of the records that ``audit --format jsonl`` writes. So times are
    integers: seconds since 1970, in UTC. :meth:`frame` gives a section in pandas, with dates.
    """

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
        """A section as a pandas frame, with dates."""
        from binlogkit.frames.natural import natural

        return natural(self[section], SECTIONS[section])

    def overview(self) -> Overview:
        """Its suspects first."""
        counts = [(n, self[n].num_rows) for n in ("files", "suspects")]
        doubts = self["integrity"].num_rows
        told = "intact" if not doubts else "1 finding" if doubts == 1 else f"{doubts} findings"
        facts = [*counts, ("integrity", told), ("sections", ", ".join(self))]
        return Overview("audit", facts, self._looked_at())

    def _looked_at(self) -> Iterator[dict[str, Any]]:
        """The suspects, in what a person looks at."""
        for row in self["suspects"].to_pylist():
            yield {name: row[name] for name in _LOOKED_AT}

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
    ledgers = read_ledgers(log, carriers, **filters)
    changes, transactions = ledgers.changes, ledgers.transactions
    statements, verification = ledgers.statements, ledgers.verification
    versions = [version_tuple(f.server_version or "") for f in verification.files]
    kinds = statements.column("kind").to_pylist()
    told = pa.array([k in ("ddl", "dml", "account", "admin") for k in kinds], pa.bool_())
    assumes = [{"assumed": told} for told in assumed(log, max(versions, default=(0, 0, 0)))]
    sections = {
        "suspects": suspects_among(log, ledgers),
        "files": to_table(_file_records(hashes, verification.files), FILE),
        "continuity": to_table(_continuity(verification.joints), CONTINUITY),
        "integrity": ledgers.integrity(),
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
        "limits": audit.limits(
            transactions,
            changes,
            boundaries=ledgers.boundaries,
            cascades=ledgers.cascades,
            loose={f.name: f.alone for f in verification.files if f.loose},
        ),
        "assumes": to_table(assumes, ASSUMPTION),
    }
    return Audit(sections, log.files)


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
