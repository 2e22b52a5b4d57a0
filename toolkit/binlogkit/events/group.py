"""What group replication writes (5.7.17+): TRANSACTION_CONTEXT_EVENT and VIEW_CHANGE_EVENT.

TRANSACTION_CONTEXT: ``uuid_length:1 thread_id:4 gtid_specified:1 snapshot_length:4 write_count:4
read_count:4``, then the UUID, the snapshot version (a GTID set in its wire form) and the hashes of
both sets, each ``length:2 bytes``. VIEW_CHANGE: ``view_id:40 seq_number:8 count:4``, then the
certification info: per entry ``key_length:2 key value_length:4 value`` (server's sources,
``control_events.cpp``).
"""

from __future__ import annotations

from dataclasses import dataclass

from binlogkit._kernel.cursor import Cursor
from binlogkit.constants import EventType
from binlogkit.errors import MalformedEventError
from binlogkit.events.base import ParseContext, padded_text, reads
from binlogkit.events.gtid_set import GtidSet
from binlogkit.sources.raw import RawEvent

_VIEW_ID = 40


@dataclass(frozen=True, slots=True)
class TransactionContext:
    """What certification needs of the transaction that follows.

    ``snapshot_version``: the GTID set that it saw, in its wire form; sets: hashes as stored.
    """

    server_uuid: str
    thread_id: int
    gtid_specified: bool
    snapshot_version: bytes
    write_set: tuple[bytes, ...]
    read_set: tuple[bytes, ...]

    @property
    def snapshot_gtids(self) -> str | None:
        """``snapshot_version`` as the text of a GTID set; None where it is none."""
        try:
            return str(GtidSet.read(Cursor(self.snapshot_version)))
        except MalformedEventError:
            return None


@dataclass(frozen=True, slots=True)
class ViewChange:
    """The group's members changed; ``certification_info``: (key, value) as stored."""

    view_id: str
    seq_number: int
    certification_info: tuple[tuple[str, bytes], ...]


def _items(cursor: Cursor, count: int, field: str) -> tuple[bytes, ...]:
    if count * 2 > cursor.left:
        raise cursor.fail(field, f"{count} items in {cursor.left} bytes")
    return tuple(cursor.read(cursor.uint(2, f"{field}_length"), field) for _ in range(count))


@reads(EventType.TRANSACTION_CONTEXT_EVENT)
def _context(cursor: Cursor, raw: RawEvent, context: ParseContext) -> TransactionContext:
    uuid_length = cursor.uint(1, "uuid_length")
    thread_id = cursor.uint(4, "thread_id")
    specified = bool(cursor.uint(1, "gtid_specified"))
    snapshot_length = cursor.uint(4, "snapshot_length")
    writes, reads_ = cursor.uint(4, "write_count"), cursor.uint(4, "read_count")
    context.end_post_header(cursor, raw.header.type_code)
    uuid = cursor.text(uuid_length, "server_uuid")
    snapshot = cursor.read(snapshot_length, "snapshot_version")
    return TransactionContext(
        uuid, thread_id, specified, snapshot, _items(cursor, writes, "write_set"),
        _items(cursor, reads_, "read_set"),
    )  # fmt: skip


@reads(EventType.VIEW_CHANGE_EVENT)
def _view_change(cursor: Cursor, raw: RawEvent, context: ParseContext) -> ViewChange:
    view_id = padded_text(cursor, _VIEW_ID, "view_id")
    number, count = cursor.uint(8, "seq_number"), cursor.uint(4, "count")
    context.end_post_header(cursor, raw.header.type_code)
    if count * 6 > cursor.left:
        raise cursor.fail("count", f"{count} entries in {cursor.left} bytes")
    entries = []
    for _ in range(count):
        key = cursor.text(cursor.uint(2, "key_length"), "key")
        entries.append((key, cursor.read(cursor.uint(4, "value_length"), "value")))
    return ViewChange(view_id, number, tuple(entries))
