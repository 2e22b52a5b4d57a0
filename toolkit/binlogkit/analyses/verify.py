"""What a verification gives: findings, each graded and with what it means for the data.

They are found while logs are read (``rows/soundness``).
"""

from __future__ import annotations

from binlogkit.analyses._declare import outputs

__all__ = ["FINDINGS"]

FINDINGS = outputs(
    ("grade", "string", "note, warning or damage"),
    ("code", "string", "a short stable name, see rows.soundness.CODES"),
    ("file", "string", "file, as given"),
    ("pos", "int64", "offset where it begins; null for what concerns the whole file"),
    ("end_pos", "int64", "offset behind it; of damage: where reading goes on"),
    ("inner", "int64", "number inside a compressed payload, null outside of one"),
    ("event", "int64", "number of the event in the file, from 0, payloads counted as one"),
    ("type", "string", "its type; null where there is no event"),
    ("gtid", "string", "GTID of the transaction it stands in, where that is known"),
    ("found", "string", "what was found"),
    ("meaning", "string", "what it means for the data"),
)
