"""Logs that no server at hand writes any more, small ones, each with where its format is published.

::

    from binlogkit_fixtures.writer.rare import RARE

    RARE["3.23-v1"].data

``binlogkit fixtures write`` writes them as files.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from binlogkit.errors import UsageError, printable
from binlogkit_fixtures.writer.rare import modern, old
from binlogkit_fixtures.writer.rare.model import RareLog

__all__ = ["RARE", "RareLog", "write_files"]

_LOG_EVENT = "sql/log_event.cc"

RARE: dict[str, RareLog] = {
    log.name: log
    for log in (
        RareLog(
            "3.23-v1",
            "a v1 log: 13-byte headers, LOAD_EVENT, a ROTATE without position",
            f"MySQL 3.23, {_LOG_EVENT}",
            old.v1,
        ),
        RareLog(
            "4.1-v3",
            "a v3 log: the LOAD family, SLAVE_EVENT, user variables, temporary tables",
            f"MySQL 4.0 and 4.1, {_LOG_EVENT}",
            old.v3,
        ),
        RareLog(
            "5.0.2-short-query",
            "a v4 log whose QUERY events have the short post-header",
            f"MySQL 5.0.0 to 5.0.3, {_LOG_EVENT}",
            old.v4_early,
        ),
        RareLog(
            "5.0-load",
            "LOAD DATA as a statement with its blocks, and one that failed; the log in use",
            f"MySQL 5.0, {_LOG_EVENT}",
            old.v4_load,
        ),
        RareLog(
            "5.1.15-pre-ga-rows",
            "rows events 20 to 22",
            f"MySQL 5.1, {_LOG_EVENT}, sql/log_event_old.cc",
            old.pre_ga,
        ),
        RareLog(
            "5.1.4-drop6",
            "types that are numbered otherwise, 4-byte table ids, table maps without metadata",
            f"MySQL 5.1, {_LOG_EVENT}, event_type_permutation",
            old.drop6,
        ),
        RareLog("5.1-v1-rows", "V1 rows events", f"MySQL 5.1, {_LOG_EVENT}", old.v1_rows),
        RareLog(
            "5.1-long-header",
            "common headers of 27 bytes",
            "the format description's header length, as a patched 5.1.63 used it",
            modern.long_header,
        ),
        RareLog(
            "5.6-incident",
            "INCIDENT_EVENT",
            "MySQL 5.6, control_events.h, Incident_event",
            modern.incident,
        ),
        RareLog(
            "8.0-extra-data",
            "rows with extra data: NDB's, partitions', both, unknown",
            "MySQL 8.0, rows_event.h, Rows_event",
            modern.extra_data,
        ),
        RareLog(
            "8.0-group-replication",
            "TRANSACTION_CONTEXT_EVENT and VIEW_CHANGE_EVENT",
            "MySQL 8.0, control_events.h",
            modern.group_replication,
        ),
        RareLog(
            "8.0-stream",
            "HEARTBEAT_LOG_EVENT, its V2, IGNORABLE_LOG_EVENT, an artificial ROTATE first",
            "MySQL 8.0, control_events.h, Heartbeat_event_v2",
            modern.stream,
        ),
        RareLog(
            "8.0-payloads",
            "payloads with zstd and without compression",
            "MySQL 8.0, codecs/binary.cpp, Transaction_payload",
            modern.payloads,
        ),
        RareLog(
            "8.0-relay",
            "a relay log: its own start, the source's, the source's positions",
            "MySQL 8.0, sql/rpl_replica.cc",
            modern.relay,
        ),
        RareLog(
            "10.5-mariadb",
            "MariaDB's own event types, and an unknown one",
            "MariaDB 10.5, sql/log_event.h",
            modern.foreign,
        ),
    )
}


def write_files(folder: Path, names: Sequence[str] = ()) -> list[tuple[RareLog, Path]]:
    """Write these logs, or all, as ``NAME.binlog``; the folder is made if it is not there.

    UsageError: no such log, or a file of that name is there.
    """
    unknown = [name for name in names if name not in RARE]
    if unknown:
        known = ", ".join(RARE)
        raise UsageError(f"there is no rare log '{printable(unknown[0])}', only {known}")
    paths = {name: folder / f"{name}.binlog" for name in names or RARE}
    there = [path for path in paths.values() if path.exists()]
    if there:
        raise UsageError(f"{printable(str(there[0]))} is there already")
    folder.mkdir(parents=True, exist_ok=True)
    for name, path in paths.items():
        path.write_bytes(RARE[name].data)
    return [(RARE[name], path) for name, path in paths.items()]
