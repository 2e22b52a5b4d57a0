"""Writes TRANSACTION_PAYLOAD (layout: ``binlogkit.events.payload``), and packs one.

Servers write the compression's type, the uncompressed size, the payload's size, the end mark
(8.0.20+, ``codecs/binary.cpp``; real logs of 8.0.31 and 8.0.32 alike). Events inside have no
checksum and a ``log_pos`` of 0.
"""

from __future__ import annotations

from collections.abc import Iterable

import zstandard

from binlogkit.constants import EventType
from binlogkit.events.payload import Compression, TransactionPayload
from binlogkit_fixtures.writer.base import Target, writes
from binlogkit_fixtures.writer.packer import Packer
from binlogkit_fixtures.writer.typed_fields import packed_value, write_typed_fields

__all__ = ["pack"]

_SIZE, _TYPE, _UNCOMPRESSED = 1, 2, 3


def pack(
    events: Iterable[bytes], *, compression: Compression = Compression.ZSTD, level: int = 3
) -> TransactionPayload:
    """The payload event of whole events (header and body); ``level``: zstd's."""
    plain = b"".join(events)
    packed = plain
    if compression is Compression.ZSTD:
        packed = zstandard.ZstdCompressor(level=level).compress(plain)
    return TransactionPayload(len(packed), compression.name, len(plain), packed)


@writes(TransactionPayload, EventType.TRANSACTION_PAYLOAD_EVENT)
def _payload(packer: Packer, body: TransactionPayload, target: Target) -> None:
    if body.payload_size != len(body.payload):
        raise packer.fail("payload_size", f"the payload has {len(body.payload)} bytes")
    if body.compression in Compression.__members__:
        code = int(Compression[body.compression])
    elif body.compression.isdecimal():
        code = int(body.compression)
    else:
        raise packer.fail("compression", f"'{body.compression}' is not known")
    values = {_TYPE: code, _UNCOMPRESSED: body.uncompressed_size, _SIZE: body.payload_size}
    known = {
        kind: packed_value(packer, value, "field_value")
        for kind, value in values.items()
        if value is not None and (not body.order or kind in body.order)
    }
    write_typed_fields(packer, known, body.unknown, body.order)
    packer.raw(body.payload)
