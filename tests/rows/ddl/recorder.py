"""Run steps.sql on a real server and tell what its log says and what information_schema shows.

``python -m tests.rows.ddl.recorder`` writes recorded_5.7.json, recorded_8.0.json and
recorded_9.json beside it (or those of the series given; 9 needs ``BINLOGKIT_MYSQLD_9``):
for each statement that stands in the log, with the session settings of its Query event, the
tables whose definitions it changed, as information_schema has them; and shown_5.7.json … with what
the server replies at the end to the statements by which ``from_server`` asks for all tables.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from binlogkit._kernel.charsets import COLLATIONS
from binlogkit.events.query import Query
from binlogkit.events.reader import read_events
from binlogkit.rows.ddl import Catalog
from binlogkit.rows.ddl.server import from_server
from binlogkit.rows.schema import ColumnDefinition, ForeignKey, TableDefinition
from binlogkit.sources.log_reader import LogReader
from binlogkit_fixtures.clock import start_server
from binlogkit_fixtures.servers import Server, ServerSpec
from tests.rows.ddl import information_schema

HERE = Path(__file__).parent
SERIES = ("5.7", "8.0", "9")
Tables = dict[str, dict[str, Any]]


@dataclass
class Step:
    """One statement of steps.sql. ``only``: the series that takes it; ``settings``: its own."""

    sql: str
    only: str | None = None
    db: str = "ddl"
    settings: list[tuple[str, str]] = field(default_factory=list)

    def runs_on(self, series: str) -> bool:
        """Whether that series takes the statement: 8.0 stands for what came after it too."""
        if self.only == "8.0":
            return series != "5.7"
        return self.only in (None, series)


def script() -> str:
    """The text of steps.sql."""
    return (HERE / "steps.sql").read_text("utf-8")


def fingerprint() -> str:
    """Which steps.sql a recording was made with."""
    return hashlib.sha256(script().encode()).hexdigest()


def steps(text: str) -> Iterator[Step]:
    """The blocks of steps.sql."""
    for block in re.split(r"\n[ \t]*\n", text):
        lines = block.strip("\n").split("\n")
        directives = [line[4:].strip() for line in lines if line.startswith("--@")]
        sql = "\n".join(line for line in lines if not line.startswith("--@"))
        if not re.sub(r"(?m)^-- .*$", "", sql).strip():
            continue
        step = Step(sql)
        for directive in directives:
            word, _, value = directive.partition(" ")
            if word == "only":
                step.only = value
            elif word == "db":
                step.db = value
            else:
                name, _, setting = value.partition("=")
                step.settings.append((name.strip(), setting.strip()))
        yield step


def spec(series: str) -> ServerSpec:
    """The server that the steps run on: an old default, so that character sets show."""
    options = {
        "binlog-format": "ROW",
        "character-set-server": "latin1",
        "collation-server": "latin1_swedish_ci",
        "sql-mode": "NO_ENGINE_SUBSTITUTION",
        "gtid-mode": "OFF",
        "enforce-gtid-consistency": "OFF",
    }
    return ServerSpec(series, options)


def run(server: Server, series: str) -> Iterator[tuple[int, Tables]]:
    """Run the steps; after each the log's position and all tables."""
    connection = server.connect()
    status = "BINARY LOG" if series == "9" else "MASTER"  # its name since 8.2
    with connection.cursor() as cursor:

        def query(sql: str) -> list[tuple[Any, ...]]:
            cursor.execute(sql)
            return list(cursor.fetchall())

        for step in steps(script()):
            if not step.runs_on(series):
                continue
            if not step.sql.lstrip("#-/* ").startswith("CREATE DATABASE"):
                query(f"USE `{step.db}`")
            for name, value in step.settings:
                query(f"SET {name} = {value}")
            query(step.sql)
            for name, _ in step.settings:
                query(f"SET {name} = DEFAULT")
            position = query(f"SHOW {status} STATUS")[0][1]
            yield int(position), tables(information_schema.from_server(query))


def tables(catalog: Catalog) -> Tables:
    """Every table by ``db.table``, as plain data."""
    return {f"{t.db}.{t.table}": plain(t) for t in catalog.tables()}


def plain(table: TableDefinition) -> dict[str, Any]:
    """A definition as JSON keeps it; what has its default value is left out."""
    found = _told(replace(table, version=0))
    keys = sorted(table.foreign, key=lambda key: key.name or "")
    if keys:
        found["foreign"] = [_told(key) | {"columns": key.columns} for key in keys]
    told: dict[str, Any] = json.loads(json.dumps(found))
    told["columns"] = [json.loads(json.dumps(_told(column))) for column in table.columns]
    return told


#: What information_schema spells otherwise than the statement.
_NOT_TOLD = (
    "columns", "expression_keys", "default", "computed", "foreign", "index",
    # What row images depend on is held to servers in tests/analyses/test_row_image_server.py.
    "evaluated", "default_now", "on_update_now", "reads", "expression", "partial_keys", "indexed",
    "supposed", "charset_of_database",
)  # fmt: skip


def _told(record: TableDefinition | ColumnDefinition | ForeignKey) -> dict[str, Any]:
    values = {f.name: (getattr(record, f.name), f.default) for f in fields(record)}
    return {
        name: value
        for name, (value, default) in values.items()
        if value != default and name not in _NOT_TOLD
    }


def queries(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Position and arguments of ``Catalog.apply`` of each Query event in a log."""
    with path.open("rb") as file:
        for event in read_events(LogReader(path.name, file)):
            if isinstance(event.body, Query):
                yield event.raw.pos, arguments(event.body)


def arguments(query: Query) -> dict[str, Any]:
    """What ``Catalog.apply`` takes of a Query event."""
    status = query.status_vars

    def collation(number: int | None) -> str | None:
        return None if number is None else COLLATIONS[number][1]

    told = {
        "sql": query.query,
        "default_db": query.schema or None,
        "sql_mode": status.sql_mode,
        "collation_server": collation(status.server_collation),
        "collation_database": collation(status.database_collation),
        "explicit_defaults_for_timestamp": status.explicit_defaults_for_timestamp,
        "default_collation_for_utf8mb4": collation(status.utf8mb4_collation),
        "thread_id": query.thread_id,
    }
    return {name: value for name, value in told.items() if value is not None}


def record(series: str) -> dict[str, Any]:
    """All statements of the log with the tables that each group of them changed; the replies."""
    replies: dict[str, Any] = {}
    with start_server(spec(series), clock="real")[0] as server:
        version = server.version
        snapshots = list(run(server, series))
        log = server.binlog_names()[-1]
        with tempfile.TemporaryDirectory() as folder:
            events = list(queries(server.copy_binlog(log, Path(folder))))
        with server.connect().cursor() as cursor:

            def query(sql: str) -> list[tuple[Any, ...]]:
                cursor.execute(sql)
                replies[sql] = found = list(cursor.fetchall())
                return found

            from_server(query)
    records = []
    before: Tables = {}
    at = 0
    for position, after in snapshots:
        group = [arguments for pos, arguments in events if at <= pos < position]
        changed = {name: table for name, table in after.items() if before.get(name) != table}
        dropped = sorted(set(before) - set(after))
        if group:
            records.append({"statements": group, "changed": changed, "dropped": dropped})
        before, at = after, position
    return {"version": version, "steps": records, "replies": replies}


def main() -> None:
    for series in sys.argv[1:] or SERIES:
        told = record(series)
        lines = ",\n".join(json.dumps(step, ensure_ascii=False) for step in told["steps"])
        head = json.dumps({"version": told["version"], "script": fingerprint()})
        text = f'{head[:-1]}, "steps": [\n{lines}\n]}}\n'
        (HERE / f"recorded_{series}.json").write_text(text, "utf-8")
        lines = ",\n".join(json.dumps(item, ensure_ascii=False) for item in told["replies"].items())
        (HERE / f"shown_{series}.json").write_text(f"[\n{lines}\n]\n", "utf-8")


if __name__ == "__main__":
    main()
