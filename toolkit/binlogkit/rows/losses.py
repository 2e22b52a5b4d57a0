"""What may be missing where a damaged range was skipped.

The transactions before and after a range show it: GTIDs of one source are given without gaps, and a
server's own log numbers its transactions 1, 2, 3 … (``sequence_number``, 5.7+). Where neither is
logged, how many are missing cannot be known.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass, field
from functools import reduce
from operator import xor

from binlogkit.constants import event_type_name
from binlogkit.events.gtid import Gtid
from binlogkit.sources.raw import RawEvent

# Events that change no rows and no tables.
_HARMLESS = (
    "ROWS_QUERY_LOG_EVENT", "PREVIOUS_GTIDS_LOG_EVENT", "ROTATE_EVENT", "STOP_EVENT",
    "HEARTBEAT_LOG_EVENT", "IGNORABLE_LOG_EVENT",
)  # fmt: skip
# Events that concern no other tables than those of their transaction.
_OF_TRANSACTION = (
    "WRITE_ROWS_EVENT", "UPDATE_ROWS_EVENT", "DELETE_ROWS_EVENT", "PARTIAL_UPDATE_ROWS_EVENT",
    "WRITE_ROWS_EVENT_V1", "UPDATE_ROWS_EVENT_V1", "DELETE_ROWS_EVENT_V1", "XID_EVENT",
    "XA_PREPARE_LOG_EVENT",
    "TABLE_MAP_EVENT",  # the rows of its own table stand without a map, which is found elsewhere
)  # fmt: skip
GTID_EVENTS = ("GTID_LOG_EVENT", "ANONYMOUS_GTID_LOG_EVENT", "GTID_TAGGED_LOG_EVENT")


@dataclass(slots=True)
class Loss:
    """Ranges between two transactions that are known, and what may have stood in them.

    ``event``: the type of the one event that cannot be read, by its header; None where the framing
    was lost, too; ``sure``: whether a checksum vouches for that type; ``first``: whether the event
    stands right after its transaction's GTID; ``goes_on``: whether others of the transaction stand
    after the range; ``cut``: the transaction that a range begins in, by GTID or position;
    ``tables``: those that it names; ``headless``: whether events after a range lack their
    transaction's start; ``missing``: whole transactions, None where that cannot be known;
    ``gtids``: theirs, in words; ``ordinal``: the place in the reading of the first event after the
    range, or in it.
    """

    file: str
    pos: int
    end_pos: int
    event: str | None = None
    cut: str | None = None
    tables: list[str] = field(default_factory=list)
    headless: bool = False
    missing: int | None = None
    gtids: str = ""
    ordinal: int = 0
    sure: bool = False
    first: bool = False
    goes_on: bool = False

    def __str__(self) -> str:
        where = f"{self.file} from {self.pos} to {self.end_pos}"
        return f"{where}: {self.sentence}"

    @property
    def concerns(self) -> list[str] | None:
        """The tables (``db.table``) of which changes may be missing; None: of any.

        A rows event changes tables whose maps stand before it in its transaction; the end of a
        transaction decides what became of its own. A statement right after a GTID with which the
        transaction does not end is its BEGIN. Without its GTID a transaction can still be read.
        """
        if self.headless or not self.sure:
            return None
        if self.event in GTID_EVENTS and self.cut is None and self.missing == 1:
            return self.tables or None
        if self.missing != 0:
            return None
        if self.event in _HARMLESS:
            return []
        begin = self.event == "QUERY_EVENT" and self.first and self.goes_on
        return self.tables if (begin or self.event in _OF_TRANSACTION) and self.cut else None

    @property
    def altered(self) -> bool:
        """Whether tables may have been altered in it.

        A statement that alters tables is a transaction of its own: where all GTIDs are known, it
        stands right after one and is all that the transaction has.
        """
        if self.event in GTID_EVENTS:
            return (self.missing or 0) > 1
        if self.missing == 0:
            return self.first and not self.goes_on and self.event != "TRANSACTION_PAYLOAD_EVENT"
        return self.missing is not None or self.event not in (*_HARMLESS, *_OF_TRANSACTION)

    @property
    def sentence(self) -> str:
        """What may be missing."""
        parts = []
        if self.event is not None:
            parts.append(f"one {self.event} cannot be read")
        if self.cut is not None:
            of = f" (tables {', '.join(self.tables)})" if self.tables else ""
            parts.append(f"events of transaction {self.cut}{of} are missing or uncertain")
        if self.headless:
            parts.append("the transaction that continues after it lacks its beginning")
        if self.missing:
            which = f", {self.gtids}" if self.gtids else ""
            counted = "transaction" if self.missing == 1 else "transactions"
            parts.append(f"the start of {self.missing} {counted}{which} is missing")
        elif self.missing == 0:
            parts.append("no whole transaction is missing")
        elif self.event is None:
            parts.append("any number of transactions may be missing")
        if self.altered:
            parts.append("tables may have been altered in the missing part")
        return "; ".join(parts)

    def count(self, last: Gtid, following: Gtid) -> None:
        """Note how many transactions stood between two, by their numbers in the log, else GTIDs."""
        between, origins = 0, [(gtid.sid, gtid.tag) for gtid in (last, following)]
        same = last.gtid and following.gtid and origins[0] == origins[1]
        if same:
            between = following.gno - last.gno - 1
            source = ":".join(filter(None, (last.sid, last.tag)))
            if between == 1:
                self.gtids = f"{source}:{last.gno + 1}"
            elif between > 1:
                self.gtids = f"{source}:{last.gno + 1}-{following.gno - 1}"
        if last.sequence_number and following.sequence_number:
            by_log = following.sequence_number - last.sequence_number - 1
            if by_log >= 0:
                self.missing = by_log
                if by_log != between:
                    self.gtids = ""
                return
        if same and between >= 0:
            self.missing = between or None  # other sources' transactions may have stood between


# ---- the type of an event whose bytes do not match its checksum ----------------------------

_BITS = 8
_CHUNK = bytes(1 << 20)
_HEADER = struct.Struct("<IBIIIH")
_BEFORE_TYPE = 4


def type_of(raw: RawEvent) -> str:
    """The type by which the checksum is right, if there is another; else the one it claims.

    Damage may have hit the type in the header: then an ALTER TABLE would pass for an event that
    changes nothing. CRC32 is linear: the difference that a changed byte makes depends on how many
    bytes stand after it alone, so each other type can be tried without the event's bytes.
    """
    header = raw.header
    claimed = event_type_name(header.type_code)
    if raw.checksum != "bad" or raw.version < 4:
        return claimed
    fields = header.timestamp, header.type_code, header.server_id, header.size, header.log_pos
    start = _HEADER.pack(*fields, header.flags) + raw.extra_header
    wrong = zlib.crc32(raw.body, zlib.crc32(start)) ^ int.from_bytes(raw.stored_checksum, "little")
    size = len(start) + len(raw.body)
    nothing = _crc(0, size)
    bits = [_crc(1 << k, size) ^ nothing for k in range(_BITS)]
    for mask in range(1, 1 << _BITS):
        if wrong == reduce(xor, (bits[k] for k in range(_BITS) if mask >> k & 1)):
            return event_type_name(header.type_code ^ mask)
    return claimed


def _crc(type_code: int, size: int) -> int:
    """Of an event of zeros but for its type."""
    start = bytes(_BEFORE_TYPE) + bytes([type_code])
    crc, left = zlib.crc32(start), size - len(start)
    while left:
        crc = zlib.crc32(_CHUNK[:left], crc)
        left -= min(left, len(_CHUNK))
    return crc
