"""What a verification says: findings, their grades and codes, what each means for the data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["CODES", "Code", "Finding", "Grade", "Place", "finding"]


class Grade(StrEnum):
    """How bad it is; notes are observations and no findings in the sense of the exit status."""

    NOTE = "note"
    WARNING = "warning"
    DAMAGE = "damage"


@dataclass(frozen=True, slots=True)
class Place:
    """Where something is; ``pos`` None: it concerns the whole file.

    ``end_pos``: of damage, where reading resumes; ``inner``: number inside a compressed payload;
    ``event``: number in the file, from 0, payloads counted as one; ``gtid``: of the transaction
    that it stands in.
    """

    file: str
    pos: int | None = None
    end_pos: int | None = None
    inner: int | None = None
    event: int | None = None
    type: str | None = None
    gtid: str | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding; ``code``: a key of :data:`CODES`; ``tables``: ``db.table`` of those that it
    concerns, None for any."""

    grade: Grade
    code: str
    place: Place
    found: str
    meaning: str
    tables: frozenset[str] | None = None

    def record(self) -> dict[str, object]:
        """The finding as a record."""
        at = self.place
        return {
            "grade": str(self.grade), "code": self.code, "file": at.file, "pos": at.pos,
            "end_pos": at.end_pos, "inner": at.inner, "event": at.event, "type": at.type,
            "gtid": at.gtid, "found": self.found, "meaning": self.meaning,
        }  # fmt: skip


def finding(code: str, place: Place, found: str, *, grade: Grade | None = None) -> Finding:
    """A finding of a code, with its usual grade and its meaning."""
    known = CODES[code]
    return Finding(grade or known.grade, code, place, found, known.meaning)


@dataclass(frozen=True, slots=True)
class Code:
    """The usual grade of a code, and what it means for the data."""

    grade: Grade
    meaning: str


_N, _W, _D = Grade.NOTE, Grade.WARNING, Grade.DAMAGE

CODES: dict[str, Code] = {
    "bad_checksum": Code(_D, "The event's bytes are not those that were written; what it changed"
        " is left out. The events behind it are not affected."),
    "broken_framing": Code(_D, "No event can be read in this range; whatever stood there is"
        " missing."),
    "bad_magic": Code(_D, "The file's first bytes are not a binary log's; what stood in the range"
        " is missing."),
    "cut_event": Code(_D, "The file ends inside an event: it and all that followed are missing."),
    "garbage_at_end": Code(_D, "Bytes that are no events stand up to the file's end: remains of"
        " something older, or a write that was torn. If events stood there, they are missing."),
    "zeros_at_end": Code(_W, "Space that was reserved and never written, or a write that did not"
        " reach the disk before a crash: the last transactions may be missing."),
    "malformed_event": Code(_D, "The event cannot be read as its type demands; what it changed is"
        " left out."),
    "damaged_carrier": Code(_D, "The compressed file cannot be unpacked from here on; the rest of"
        " the log is missing."),
    "missing_events": Code(_D, "What the transactions and tables named here changed in this range"
        " is missing or in doubt, and with it what later rows say of the state before."),
    "no_format_description": Code(_W, "The log does not begin with a description of itself (the"
        " file's beginning is missing): which server wrote it, and how, is inferred."),
    "no_events": Code(_W, "The server stopped before it wrote the log's first event, or all of it"
        " was cut off: what the log held, if anything, is missing."),
    "format_repeated": Code(_W, "Files were joined, or a part of another log stands here: positions"
        " and transactions before and behind it need not belong together."),
    "begins_later": Code(_N, "The server had logged more before: rows that were there, and what was"
        " done to them, cannot be known from here."),
    "in_use": Code(_N, "The server had the log open when it was copied, or crashed: later"
        " transactions may be missing."),
    "not_closed": Code(_N, "Neither STOP nor ROTATE ends the log: it is live, the server crashed,"
        " or its end is missing. What came after the last event cannot be known."),
    "events_after_end": Code(_W, "A server writes nothing behind STOP or ROTATE: what follows was"
        " joined to the log or left over from another one."),
    "no_checksums": Code(_N, "Without checksums changed bytes inside an event cannot be found"
        " unless they break its structure."),
    "no_file": Code(_N, "Not a log file, but events out of a text, a dump or packets: what those"
        " leave out is not here. mysqlbinlog prints GTIDs, BEGIN, COMMIT, ROLLBACK, XIDs,"
        " statements and table definitions as SQL and comments, which are not read back."),
    "rows_alone": Code(_N, "No GTID, BEGIN or end stands around these rows: each statement is taken"
        " as a transaction, and as committed. Whether it was, in which transaction, and who made it"
        " cannot be known from here."),
    "encrypted": Code(_N, "The log is encrypted without authentication (AES-CTR): who had the file"
        " could change bits of it; checksums find accidents, not intent."),
    "foreign_log": Code(_N, "Another product's log: its own events are kept unread, and what they"
        " changed is not shown; transactions are not checked."),
    "unknown_event": Code(_N, "Events of types that this version does not know are kept unread."),
    "unread_rows": Code(_N, "The rows cannot be read: the server is older than the format's final"
        " form."),
    "relay_log": Code(_N, "A replica's relay log: positions in event headers are the source's, and"
        " a transaction may go on in the next file."),
    "position_mismatch": Code(_W, "The header says that the event stood elsewhere: bytes were cut"
        " out or put in before it, or the file was put together. What was there is missing."),
    "cache_positions": Code(_N, "Servers before 5.1 counted positions inside a transaction from its"
        " beginning."),
    "rows_without_map": Code(_D, "The TABLE_MAP_EVENT of these rows is missing: their table and"
        " columns are not known, or taken from an earlier statement."),
    "map_changed": Code(_W, "A table map differs from the one of the same id before it in the"
        " statement: the rows in between may be read as another table's."),
    "statement_not_ended": Code(_W, "No row event ends the statement (STMT_END): rows of it may be"
        " missing."),
    "unfinished_transaction": Code(_W, "The transaction has no end in this log: the server would"
        " not have kept its changes unless its end is somewhere else."),
    "no_begin": Code(_W, "A part of a transaction whose beginning is missing: changes of it are"
        " missing."),
    "no_gtid": Code(_W, "The transaction has no GTID event where all others have one: events before"
        " it are missing, or it was put in."),
    "gtid_repeated": Code(_W, "A server executes a GTID once: one of the two is forged, or"
        " files were joined."),
    "gtid_copied": Code(_N, "Copies of transactions that were read before: each counts once, unless"
        " duplicates are kept, or the first is damaged."),
    "copies_differ": Code(_W, "Two copies of a transaction do not change the same: one of them was"
        " altered, or the servers' GTIDs began anew. The first intact one counts."),
    "sequence_gap": Code(_W, "Whole transactions are missing from the file."),
    "sequence_back": Code(_W, "Transactions stand in another order than the server wrote them, or"
        " come from another log."),
    "last_committed": Code(_W, "The transaction claims to depend on itself or a later one: it was"
        " changed or put in."),
    "length_mismatch": Code(_W, "The transaction is longer or shorter than its GTID event says:"
        " events are missing, or were put in."),
    "xa_unresolved": Code(_N, "Whether the prepared changes came to be is decided outside of these"
        " logs."),
    "xa_unprepared": Code(_N, "What was decided here was prepared outside of these logs."),
    "incident": Code(_W, "The server itself says that changes are missing from the log."),
    "time_goes_back": Code(_N, "Event times are statement starts, by one clock or several: order"
        " by position, not by time."),
    "several_servers": Code(_N, "Events of several servers stand in the log: their clocks and"
        " connection numbers differ."),
    "file_missing": Code(_W, "The changes in the files between are not here: rows seen behind the"
        " gap may have been changed in it."),
    "file_order": Code(_W, "The files were not given in the order in which they were written;"
        " states and outcomes that depend on the order are wrong."),
    "file_repeated": Code(_W, "The same file of a series was given twice: its changes count"
        " twice, but for transactions with a GTID."),
    "gtid_gap": Code(_W, "The transactions between the two files are not here."),
    "gtid_forgotten": Code(_W, "The later file does not know transactions of the earlier one: they"
        " are of different series, out of order, or the logs were reset."),
    "next_name": Code(_W, "The log went on in a file of another name: a file is missing, or files"
        " were renamed."),
    "server_changed": Code(_N, "Another server or version wrote the next file: an upgrade, a"
        " restore, or files of different origin."),
    "more": Code(_N, "Findings of the same kind were left out here; they are counted."),
}  # fmt: skip
