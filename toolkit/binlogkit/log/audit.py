"""A log's audit: the data of the evidence report."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Unpack

from binlogkit.analyses import audit
from binlogkit.analyses.audit.activity import BY_MINUTE, BY_STATEMENT, BY_TABLE
from binlogkit.analyses.audit.ledger import BY_THREAD, FORMATS, LARGEST, LONGEST, SETTINGS, SUMMARY
from binlogkit.analyses.audit.limits import LIMITS
from binlogkit.analyses.suspects import SUSPECTS
from binlogkit.errors import UsageError
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

    from binlogkit.log.states.places import Logs
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
    ``lacking``: the sections that a landing cannot give, and why: asked for, they are a UsageError.
    """

    sections: dict[str, pa.Table]
    files: list[str]
    lacking: Mapping[str, str] = field(default_factory=dict)

    def __getitem__(self, section: str) -> pa.Table:
        check_names([section], SECTIONS, "section")
        if section in self.lacking:
            raise UsageError(f"no {section} of a landing: {self.lacking[section]}")
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
        counts = [(n, self[n].num_rows) for n in ("files", "suspects") if n in self.sections]
        shown = []
        if "integrity" in self.sections:
            doubts = self["integrity"].num_rows
            one = "intact" if not doubts else "1 finding" if doubts == 1 else f"{doubts} findings"
            shown = [("integrity", one)]
        return Overview(
            "audit", [*counts, *shown, ("sections", ", ".join(self))], self._looked_at()
        )

    def _looked_at(self) -> Iterator[dict[str, Any]]:
        """The suspects, in what a person looks at."""
        for row in self["suspects"].to_pylist() if "suspects" in self.sections else ():
            yield {name: row[name] for name in _LOOKED_AT}

    def records(self, *sections: str) -> Iterator[dict[str, Any]]:
        """Every row of the sections, all by default, with its section's name in front."""
        for name in sections or self.sections:
            for row in self[name].to_pylist():
                yield {"section": name, **row}


def audit_log(log: Streams, **filters: Unpack[FilterArgs]) -> Audit:
    """See :meth:`binlogkit.log.log.Log.audit`."""
    hashes = [FileHash(carrier.opener) for carrier in log.carriers]
    carriers = [replace(c, opener=h.open) for c, h in zip(log.carriers, hashes, strict=True)]
    ledgers = read_ledgers(log, carriers, **filters)
    changes, transactions = ledgers.changes, ledgers.transactions
    verification = ledgers.verification
    loose = {f.name: f.alone for f in verification.files if f.loose}
    found = {
        "suspects": suspects_among(log, ledgers),
        "files": to_table(
            (file_record(f, *h.result()) for f, h in zip(verification.files, hashes, strict=True)),
            FILE,
        ),
        "continuity": to_table(_continuity(verification.joints), CONTINUITY),
        "integrity": ledgers.integrity(),
        "assumes": assumes_of(log, verification.files),
    }
    found |= counted(
        transactions, changes, ledgers.statements, ledgers.boundaries, ledgers.cascades, loose
    )
    return Audit({name: found[name] for name in SECTIONS}, log.files)


def counted(
    transactions: pa.Table,
    changes: pa.Table,
    statements: pa.Table,
    boundaries: pa.Table,
    cascades: Collection[str],
    loose: Mapping[str, int],
) -> dict[str, pa.Table]:
    """The sections that follow from ledgers alone, as :class:`binlogkit.log.ledgers.Ledgers` has
    them; ``loose``: as :func:`binlogkit.analyses.audit.limits` takes them."""
    import pyarrow as pa

    kinds = statements.column("kind").to_pylist()
    chosen = pa.array([k in ("ddl", "dml", "account", "admin") for k in kinds], pa.bool_())
    return {
        "summary": audit.summary(transactions),
        "by_table": audit.by_table(changes),
        "by_minute": audit.by_minute(changes),
        "largest": audit.largest(transactions).slice(0, _LARGEST),
        "longest": audit.longest(transactions).slice(0, _LARGEST),
        "by_thread": audit.by_thread(transactions),
        "by_statement": audit.by_statement(changes),
        "statements": statements.filter(chosen),
        "settings": audit.settings(statements),
        "formats": audit.formats(transactions),
        "limits": audit.limits(
            transactions, changes, boundaries=boundaries, cascades=cascades, loose=loose
        ),
    }


def assumes_of(log: Logs, files: Sequence[FileFacts]) -> pa.Table:
    """What an audit of logs assumes."""
    versions = [version_tuple(f.server_version or "") for f in files]
    texts = assumed(log, max(versions, default=(0, 0, 0)))
    return to_table([{"assumed": one} for one in texts], ASSUMPTION)


def file_record(file: FileFacts, size: int, digest: str | None) -> dict[str, Any]:
    """A log's record in ``files``; ``size``: the bytes that are stored, ``digest``: their hash."""
    return {
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
