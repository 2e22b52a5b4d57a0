"""Writes START_EVENT_V3 and FORMAT_DESCRIPTION (layouts: ``binlogkit.events.format_description``),
and knows the post-header lengths that servers announce.

The lengths are those of real logs: 5.0.58, 5.1.23, 5.6.24, 5.7.22, 8.0.22, 8.0.31, 9.7.4; what the
sources of these versions call ``post_header_len``. 8.0 set those of the types that it dropped to 0,
and 9.0 those of the V1 rows events.
"""

from __future__ import annotations

from dataclasses import replace

from binlogkit._kernel.cursor import stored_bytes
from binlogkit.constants import EventType
from binlogkit.events.base import Event, ParseContext
from binlogkit.events.early import final_codes
from binlogkit.events.format_description import ChecksumAlgorithm, FormatDescription, StartV3
from binlogkit.sources.log_format import is_mariadb, version_tuple
from binlogkit.sources.raw import V1_HEADER_LENGTH
from binlogkit_fixtures.writer.base import Target, writes
from binlogkit_fixtures.writer.packer import Packer

__all__ = ["context_after", "format_description", "post_header_lengths"]

_VERSION_LENGTH = 50
_FORMAT_FIXED = 2 + _VERSION_LENGTH + 4 + 1
_FIRST_CHECKSUM, _FIRST_CHECKSUM_MARIADB = (5, 6, 1), (5, 3, 0)

# Types 1 to 42, of the newest server before the ones that dropped types.
_LENGTHS = (
    56, 13, 0, 8, 0, 18, 0, 4, 4, 4, 4, 18, 0, 0, 0, 0, 4, 26, 8, 0, 0, 0, 8, 8, 8, 2, 0, 0, 0, 10,
    10, 10, 42, 42, 0, 18, 52, 0, 10, 40, 0, 0,
)  # fmt: skip
_COUNTS = (
    ((9, 0, 0), 42), ((8, 3, 0), 42), ((8, 0, 26), 41), ((8, 0, 20), 40), ((8, 0, 3), 39),
    ((5, 7, 7), 38), ((5, 6, 2), 35), ((5, 1, 17), 26), ((5, 0, 3), 18), ((5, 0, 0), 16),
)  # fmt: skip
_DROPPED = {
    (8, 0, 0): {1: 0, 6: 0, 8: 0, 10: 0, 12: 0},
    (9, 0, 0): {23: 0, 24: 0, 25: 0},
}
_OF_5_6 = {33: 25, 34: 25}


def post_header_lengths(server_version: str) -> tuple[int, ...]:
    """What a server of this version writes into its format description, types 1 and on."""
    version = version_tuple(server_version)
    count = next((n for first, n in _COUNTS if version >= first), _COUNTS[-1][1])
    lengths = dict(enumerate(_LENGTHS[:count], 1))
    for first, changed in _DROPPED.items():
        if version >= first:
            lengths |= {code: length for code, length in changed.items() if code in lengths}
    if version < (5, 7, 0):
        lengths |= {code: length for code, length in _OF_5_6.items() if code in lengths}
    lengths[EventType.FORMAT_DESCRIPTION_EVENT] = _FORMAT_FIXED + count
    return tuple(lengths.values())


def format_description(server_version: str, **fields: object) -> FormatDescription:
    """The format description that a server of this version writes.

    ``fields``: what is to be otherwise. Servers from 5.6.1 on have CRC32 checksums.
    """
    has_checksum = version_tuple(server_version) >= _FIRST_CHECKSUM
    checksum = ChecksumAlgorithm.CRC32 if has_checksum else None
    usual = FormatDescription(
        4, server_version, 0, 19, post_header_lengths(server_version), checksum
    )
    return replace(usual, **fields)  # type: ignore[arg-type]


def context_after(event: Event) -> ParseContext:
    """What a start event says about the layout of the events after it.

    As a reader does, it goes by the header of a START_EVENT_V3: 13 bytes mean v1, else v3.
    """
    body = event.body
    if isinstance(body, StartV3):
        version = 1 if event.raw.header.length == V1_HEADER_LENGTH else 3
        return ParseContext(version, body.server_version)
    assert isinstance(body, FormatDescription)
    final = final_codes(body.server_version)
    lengths = {final.get(i, i): n for i, n in enumerate(body.post_header_lengths, 1)}
    return ParseContext(body.binlog_version, body.server_version, lengths, final)


def _start_fields(packer: Packer, body: StartV3 | FormatDescription) -> None:
    packer.uint(2, body.binlog_version, "binlog_version")
    version = stored_bytes(body.server_version, "ascii")
    packer.fill(_VERSION_LENGTH, version, "server_version")
    packer.uint(4, body.created, "created")


@writes(StartV3, EventType.START_EVENT_V3)
def _start(packer: Packer, body: StartV3, target: Target) -> None:
    _start_fields(packer, body)


@writes(FormatDescription, EventType.FORMAT_DESCRIPTION_EVENT)
def _format(packer: Packer, body: FormatDescription, target: Target) -> None:
    _start_fields(packer, body)
    first = _FIRST_CHECKSUM_MARIADB if is_mariadb(body.server_version) else _FIRST_CHECKSUM
    if (version_tuple(body.server_version) >= first) is (body.checksum_algorithm is None):
        raise packer.fail("checksum_algorithm", "servers from 5.6.1 on have one, earlier ones none")
    packer.uint(1, body.event_header_length, "event_header_length")
    for length in body.post_header_lengths:
        packer.uint(1, length, "post_header_lengths")
    if body.checksum_algorithm is not None:
        packer.uint(1, body.checksum_algorithm, "checksum_algorithm")
