"""The fields of what a log tells besides rows: events, transactions, statements, tables, files."""

from __future__ import annotations

from binlogkit.frames.fields.field import fields_of

EVENT = fields_of("event")
EXPLAIN = fields_of("explain")
TRANSACTION = fields_of("transaction")
STATEMENT = fields_of("statement")
BOUNDARY = fields_of("boundary")
#: ``log.tables()``: one row per column of each version of a table.
COLUMN = fields_of("column")
#: ``audit["files"]``.
FILE = fields_of("file")
#: ``audit["continuity"]``: one row per pair of files that follow each other.
CONTINUITY = fields_of("continuity")
#: ``audit["findings"]``: those of the verification but notes, and what else cannot be read.
AUDIT_FINDING = fields_of("audit_finding")
#: ``audit["assumes"]``.
ASSUMPTION = fields_of("assumption")
FINDING = fields_of("finding")
#: What Spark gives as ``records=damages``.
DAMAGE = fields_of("damage")
#: What Spark gives as ``records=gaps``.
GAP = fields_of("gap")
#: ``log.loaded_files()``.
LOADED_FILE = fields_of("loaded_file")
