"""The fields of what a log holds besides rows: events, transactions, statements, tables, files."""

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
#: ``audit["integrity"]``: findings of the verification but notes, and what else cannot be read.
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
#: The journal of a landing (spark/landing/journal.py).
LANDING = fields_of("landing")
LANDED = fields_of("landed")
TERMS = fields_of("terms")
WAITING = fields_of("waiting")
GIVEN = fields_of("given")
EXPIRED = fields_of("expired")
ERASURES = fields_of("erasures")
#: Where a landing stands (spark/landing/standing.py), by section.
STATUS = {
    "landing": fields_of("status_landing"),
    "sources": fields_of("status_source"),
    "tables": fields_of("status_table"),
    "waiting": fields_of("status_waiting"),
}
#: Rows events of statements with foreign_key_checks off.
UNCHECKED = fields_of("unchecked")
#: Which logs changed what, from an index.
TOUCHED = fields_of("touched")
#: What an index keeps of a transaction.
INDEXED_TRANSACTION = (*TRANSACTION, *fields_of("index_transaction"))
#: The tables of an index (log/index/stored.py), by the folders that they lie in.
INDEX = {
    "logs": fields_of("index_log"),
    "segments": fields_of("index_segment"),
    "definitions": fields_of("index_definition"),
    "writes": fields_of("index_write"),
    "findings": fields_of("index_finding"),
    "losses": fields_of("index_loss"),
    "unread": fields_of("index_unread"),
    "damages": (*fields_of("index_part"), *DAMAGE),
    "xa": fields_of("index_xa"),
    "transactions": (*fields_of("index_part"), *INDEXED_TRANSACTION),
    "statements": (*fields_of("index_part"), *STATEMENT),
    "changes": fields_of("index_change"),
    "totals": fields_of("index_total"),
    "filters": fields_of("index_filter"),
    "unchecked": (*fields_of("index_part"), *UNCHECKED),
}
