"""Triggers in a script: they act on its statements, and no session can switch them off.

What they write in the statement's row is read back; what they write elsewhere the script cannot
know. The log shows neither all of them nor those that exist when the script is run, so the server
is asked (``information_schema.TRIGGERS``, which lists those for whose tables the account has the
privilege TRIGGER; manual, "The INFORMATION_SCHEMA TRIGGERS Table").
"""

from __future__ import annotations

from collections.abc import Collection

from binlogkit.reports._literals import among, prepared

#: Database, table, insert, update or delete, and a column that an update sets, else nothing.
Acted = tuple[str, str, str, str]
_EVENT = ("EVENT_OBJECT_SCHEMA", "EVENT_OBJECT_TABLE", "EVENT_MANIPULATION")


def trigger_lines(acted: Collection[Acted]) -> str:
    """The lines that look for triggers that these statements fire."""
    if not acted:
        return ""
    events = ((db, table, kind.upper()) for db, table, kind in sorted({one[:3] for one in acted}))
    name = "CONCAT_WS('.', TRIGGER_SCHEMA, TRIGGER_NAME)"
    found = (
        f"SET @bk_triggers = (SELECT GROUP_CONCAT({name} ORDER BY 1 SEPARATOR ', ') FROM "
        f"information_schema.TRIGGERS WHERE {among(_EVENT, events)})"
    )
    lines = "".join(f"{line};\n" for line in prepared(found))
    return f"-- Triggers that these statements set off\n{lines}"
