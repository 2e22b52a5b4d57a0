"""Event dataclasses into bytes: logs that no server at hand writes any more.

::

    from binlogkit_fixtures.writer import LogWriter

    log = LogWriter(StartV3(1, "3.23.58-log", 0))       # or "5.0.96-log", or a format description
    log.add(Query(thread_id=7, …), timestamp=1_000_000_000)
    Path("binlog.001").write_bytes(log.data)

Every event of ``binlogkit.events`` can be written, for v1, v3 and v4 logs and relay logs, with or
without checksums, after headers of any length. What a format cannot say is an
:class:`UnwritableError`. :class:`EventWriter` writes events that were read, byte by byte as they
stood. What no server writes is not kept: packed integers that are longer than they need be, a byte
other than NUL after a name, a truth value other than 0 and 1.
"""

from __future__ import annotations

from binlogkit_fixtures.writer.errors import UnwritableError
from binlogkit_fixtures.writer.event_writer import EventWriter
from binlogkit_fixtures.writer.format_description import format_description, post_header_lengths
from binlogkit_fixtures.writer.log_writer import LogWriter

__all__ = [
    "EventWriter",
    "LogWriter",
    "UnwritableError",
    "format_description",
    "post_header_lengths",
]
