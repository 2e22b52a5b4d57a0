"""Logs of 3.23 to 5.0, and of the first row-based servers.

Sources: the server's sources of 3.23, 4.0, 4.1, 5.0 and 5.1, ``log_event.cc`` and ``log_event.h``.
"""

from __future__ import annotations

from dataclasses import replace

from binlogkit.constants import EventFlag, EventType
from binlogkit.events.control import Rotate, Slave, Stop, Xid
from binlogkit.events.early import EarlyRows
from binlogkit.events.format_description import StartV3
from binlogkit.events.load import CreateFile, DeleteFile, ExecLoad, Load
from binlogkit.events.query import ExecuteLoadQuery, LoadBlock
from binlogkit.events.status_vars import StatusVars
from binlogkit.events.table_map import TableMap
from binlogkit.events.variables import Intvar, Rand, UserVar
from binlogkit_fixtures.writer.format_description import format_description
from binlogkit_fixtures.writer.log_writer import LogWriter
from binlogkit_fixtures.writer.rare.model import START, query, row, rows, table

__all__ = ["drop6", "pre_ga", "v1", "v1_rows", "v3", "v4_early", "v4_load"]

_CREATE = "CREATE TABLE t (id INT NOT NULL, note VARCHAR(20))"
_LOAD = Load(
    thread_id=7, exec_time=0, skip_lines=1, db="rare", table="t", fields=("id", "note"),
    file_name="/data/rows.txt", terminated=b"\t", enclosed=b'"', lines_terminated=b"\n",
    lines_starting=b"", escaped=b"\\", options=("opt_enclosed", "replace"),
)  # fmt: skip
_STATUS = StatusVars(
    flags2=0, sql_mode=0, catalog="std", client_collation=8, connection_collation=8,
    server_collation=8,
)  # fmt: skip


def v1() -> LogWriter:
    """3.23: headers of 13 bytes, no positions, no flags; LOAD_EVENT names a file outside."""
    log = LogWriter(StartV3(1, "3.23.58-log", START), name="old-bin.001", timestamp=START)
    log.add(query("CREATE DATABASE rare", schema=""))
    log.add(query(_CREATE))
    log.add(Intvar("INSERT_ID", 1), timestamp=START + 1)
    log.add(query("INSERT INTO t VALUES (NULL, 'one')"), timestamp=START + 1)
    log.add(_LOAD, EventType.LOAD_EVENT, timestamp=START + 2)
    log.add(Rotate(4, "old-bin.002"), timestamp=START + 3)
    return log


def v3() -> LogWriter:
    """4.0 and 4.1: positions are the event's own start; the whole LOAD family; SLAVE_EVENT."""
    log = LogWriter(StartV3(3, "4.1.22-log", START), name="old-bin.000001", timestamp=START)
    log.add(query(_CREATE))
    log.add(UserVar("note", False, "STRING", 8, b"by variable"))
    log.add(Rand(771, 772))
    log.add(query("INSERT INTO t VALUES (RAND() * 100, @note)"))
    log.add(CreateFile(_LOAD, 1, b"id\tnote\n1\tone\n"), timestamp=START + 1)
    log.add(LoadBlock(1, b"2\ttwo\n"), timestamp=START + 1)
    log.add(ExecLoad(1), timestamp=START + 1)
    log.add(CreateFile(_LOAD, 2, b"id\tnote\nx\tfails\n"), timestamp=START + 2)
    log.add(DeleteFile(2), timestamp=START + 2)
    log.add(replace(_LOAD, terminated=b"<=>", options=("ignore",)), timestamp=START + 3)
    log.add(Slave(79, 3306, "source.example", "source-bin.000003"), timestamp=START + 4)
    log.timestamp = START + 5
    log.add(query("CREATE TEMPORARY TABLE x (a INT)"), flags=EventFlag.THREAD_SPECIFIC)
    log.add(Stop())
    return log


def v4_early() -> LogWriter:
    """5.0.0 to 5.0.3: a format description that announces QUERY events without status variables."""
    start = format_description("5.0.2-alpha-log", created=START)
    lengths = list(start.post_header_lengths)
    lengths[EventType.QUERY_EVENT - 1] = 11
    log = LogWriter(replace(start, post_header_lengths=tuple(lengths)), timestamp=START)
    log.add(query(_CREATE))
    log.add(query("INSERT INTO t VALUES (1, 'one')"))
    log.add(Xid(11))
    log.add(Stop())
    return log


def v4_load() -> LogWriter:
    """5.0.3 and on: LOAD DATA as a statement with its file's blocks before it."""
    log = LogWriter("5.0.96-log", timestamp=START, in_use=True)
    text = "LOAD DATA INFILE 'rows.txt' INTO TABLE `t` (id, note)"
    name_start, name_end = text.index(" INFILE"), text.index("INTO") + len("INTO")
    log.add(query(_CREATE, status=_STATUS))
    log.add(LoadBlock(1, b"1\tone\n"), EventType.BEGIN_LOAD_QUERY_EVENT)
    log.add(LoadBlock(1, b"2\ttwo\n"))
    log.add(ExecuteLoadQuery(7, 0, 0, "rare", 1, name_start, name_end, 0, _STATUS, text))
    log.add(LoadBlock(2, b"x\tfails\n"), EventType.BEGIN_LOAD_QUERY_EVENT)
    log.add(DeleteFile(2))
    return log


def pre_ga() -> LogWriter:
    """5.1.5 to 5.1.17: rows events 20 to 22; no event says how their rows are laid out."""
    start = format_description("5.1.15-beta-log", created=START)
    lengths = list(start.post_header_lengths[:22])
    lengths[EventType.PRE_GA_WRITE_ROWS_EVENT - 1 :] = [8, 8, 8]
    lengths[EventType.FORMAT_DESCRIPTION_EVENT - 1] = 57 + len(lengths)
    log = LogWriter(replace(start, post_header_lengths=tuple(lengths)), timestamp=START)
    log.add(query(_CREATE, status=_STATUS))
    _early_rows(log, table(5))
    log.add(Stop())
    return log


def drop6() -> LogWriter:
    """A tree of 2006: other numbers for types, 4-byte table ids, table maps without metadata."""
    lengths = (56, 13, 0, 8, 0, 18, 0, 4, 4, 4, 4, 18, 0, 0, 79, 6, 6, 6, 6, 0, 4, 26)
    start = format_description(
        "5.1.4-a_drop6p2-log", created=START, post_header_lengths=lengths, checksum_algorithm=None
    )
    log = LogWriter(start, timestamp=START)
    log.add(query(_CREATE, status=_STATUS))
    _early_rows(log, replace(table(5), metadata=b"", nullable=b""))
    log.add(Xid(12))
    return log


def _early_rows(log: LogWriter, table_map: TableMap) -> None:
    one, two = b"\x01\0\0\0\x03one", b"\x02\0\0\0\x03two"
    for op, images in (("insert", one), ("update", one + two), ("delete", two)):
        log.add(table_map)
        log.add(EarlyRows(table_map.table_id, 1, op, 2, b"\x03", images))


def v1_rows() -> LogWriter:
    """5.1.18 to 5.6.1: V1 rows events, no checksums."""
    log = LogWriter("5.1.73-log", timestamp=START)
    log.add(query(_CREATE, status=_STATUS))
    log.add(query("BEGIN", status=_STATUS))
    one, two = row(1, "one"), row(2, None)
    for op, images, code in (
        ("insert", (one,), EventType.WRITE_ROWS_EVENT_V1),
        ("update", (one, two), EventType.UPDATE_ROWS_EVENT_V1),
        ("delete", (two,), EventType.DELETE_ROWS_EVENT_V1),
    ):
        log.add(table(15))
        log.add(rows(15, op, *images), code)
    log.add(Xid(13))
    log.add(Rotate(4, "binlog.000002"))
    return log
