"""Writes TRANSACTION_CONTEXT and VIEW_CHANGE (layouts: ``binlogkit.events.group``)."""

from __future__ import annotations

from binlogkit.constants import EventType
from binlogkit.events.group import TransactionContext, ViewChange
from binlogkit_fixtures.writer.base import Target, writes
from binlogkit_fixtures.writer.packer import Packer

__all__: list[str] = []

_VIEW_ID = 40


@writes(TransactionContext, EventType.TRANSACTION_CONTEXT_EVENT)
def _context(packer: Packer, body: TransactionContext, target: Target) -> None:
    uuid = packer.text(body.server_uuid)
    packer.uint(1, len(uuid), "uuid_length")
    packer.uint(4, body.thread_id, "thread_id")
    packer.flag(body.gtid_specified, "gtid_specified")
    packer.uint(4, len(body.snapshot_version), "snapshot_length")
    packer.uint(4, len(body.write_set), "write_count")
    packer.uint(4, len(body.read_set), "read_count")
    packer.end_post_header()
    packer.raw(uuid)
    packer.raw(body.snapshot_version)
    for name in ("write_set", "read_set"):
        for item in getattr(body, name):
            packer.sized(2, item, name)


@writes(ViewChange, EventType.VIEW_CHANGE_EVENT)
def _view_change(packer: Packer, body: ViewChange, target: Target) -> None:
    packer.fill(_VIEW_ID, packer.text(body.view_id), "view_id")
    packer.uint(8, body.seq_number, "seq_number")
    packer.uint(4, len(body.certification_info), "count")
    packer.end_post_header()
    for key, value in body.certification_info:
        packer.sized(2, packer.text(key), "key")
        packer.sized(4, value, "value")
