"""What must be known of MariaDB's own events although they are kept unread: where transactions
begin.

MARIADB_GTID_EVENT (its ``log_event.h``, ``Gtid_log_event``): ``sequence:8 domain:4 flags:1``; bit 0
of the flags: no COMMIT and no XID follows, one statement alone does.
"""

from __future__ import annotations

from binlogkit.events.base import OpaqueEvent

__all__ = ["MARIADB_GTID_EVENT", "opens_transaction"]

MARIADB_GTID_EVENT = 162
_FLAGS_AT = 12
_STANDALONE = 1


def opens_transaction(type_code: int, body: object) -> bool:
    """Whether the event is a MARIADB_GTID_EVENT with which a transaction begins as with BEGIN."""
    if type_code != MARIADB_GTID_EVENT or not isinstance(body, OpaqueEvent):
        return False
    return len(body.body) > _FLAGS_AT and not body.body[_FLAGS_AT] & _STANDALONE
