"""Events of real servers: what was done to each, and that the log's fields say it."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import binlogkit as bk
from binlogkit._kernel.charsets import charset_of
from binlogkit.events.base import Event, OpaqueEvent
from binlogkit.events.explain.fields import BITS
from binlogkit.events.gtid import Gtid, PreviousGtids
from binlogkit.events.query import ExecuteLoadQuery, Query, RowsQuery
from binlogkit.events.reader import read_events
from binlogkit.events.rows import RowsEvent
from binlogkit.events.table_map import TableMap
from binlogkit.events.variables import Intvar, Rand, UserVar
from binlogkit.sources.log_reader import LogReader
from binlogkit_fixtures.clock import start_server
from binlogkit_fixtures.servers import Server, ServerSpec, apt
from tests.servers import shared_server

pytestmark = pytest.mark.server

GTID = {"gtid-mode": "ON", "enforce-gtid-consistency": "ON", "log-slave-updates": "ON"}
STATEMENT = {"binlog-format": "STATEMENT"}


@contextmanager
def lent(series: str, options: Mapping[str, str | None]) -> Iterator[Server]:
    """A shared server of ``series``; 5.6 and 9 have no image: they run as local processes."""
    if series in ("5.6", "9") and (reason := apt.available()):
        pytest.skip(reason)
    with shared_server(ServerSpec(series, options)) as server:
        yield server


# The last one is lent to the module's end; tests of single versions want the others.
@pytest.fixture(scope="module", params=["9", "8.0", "5.7", "5.6"])
def statements(request: pytest.FixtureRequest) -> Iterator[Server]:
    with lent(request.param, STATEMENT) as server:
        server.query("CREATE DATABASE d")
        server.query("CREATE TABLE d.t (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(200))")
        yield server


def run(server: Server, tmp_path: Path, *script: str, **connection: Any) -> list[Event]:
    """The events of a log of its own that the statements leave, in one session."""
    session = server.connect(autocommit=True, **connection)
    with session.cursor() as cursor:
        cursor.execute("FLUSH BINARY LOGS")
        name = server.binlog_names()[-1]
        for text in script:
            cursor.execute(text)
        cursor.execute("FLUSH BINARY LOGS")
    session.close()
    with server.copy_binlog(name, tmp_path / name).open("rb") as file:
        events = list(read_events(LogReader(name, file)))
    assert not any(isinstance(event.body, OpaqueEvent) for event in events)
    assert not any(event.unread or event.unread_post_header for event in events)
    return events


def statement(events: list[Event], text: str) -> Event:
    (found,) = [
        e for e in events if isinstance(e.body, (Query, ExecuteLoadQuery)) and text in e.body.query
    ]
    return found


VARIABLES: list[tuple[str, str, object, bool]] = [
    ("'naïve ☃'", "STRING", "naïve ☃", False),
    ("_latin1 0xE9", "STRING", "é", False),
    ("_binary 0xFF00", "STRING", None, False),
    ("''", "STRING", "", False),
    ("-9223372036854775808", "INT", -(2**63), False),
    ("18446744073709551615", "INT", 2**64 - 1, True),
    ("-1.5e300", "REAL", -1.5e300, False),
    ("12345678901234.000000000012345", "DECIMAL", "12345678901234.000000000012345", False),
    ("-0.50", "DECIMAL", "-0.50", False),
]  # fmt: skip


def test_user_variables_of_every_type(statements: Server, tmp_path: Path) -> None:
    script = []
    for n, (value, *_) in enumerate(VARIABLES):
        script += [f"SET @`v {n}` = {value}", f"INSERT INTO d.t (v) VALUES (LENGTH(@`v {n}`))"]
    script += ["SET @empty = NULL", "INSERT INTO d.t (v) VALUES (@empty)"]
    events = run(statements, tmp_path, *script)
    for n, (_, kind, wanted, unsigned) in enumerate(VARIABLES):
        event = statement(events, f"(@`v {n}`)")
        (variable,) = (v for v in event.variables if isinstance(v, UserVar))
        shown = (variable.name, variable.var_type, variable.decoded, variable.unsigned)
        assert shown == (f"v {n}", kind, wanted, unsigned)
    *_, nothing = statement(events, "(@empty)").variables
    assert nothing == UserVar("empty", True)


@pytest.mark.gate(2)
def test_context_of_a_statement(statements: Server, tmp_path: Path) -> None:
    events = run(
        statements,
        tmp_path,
        "SET @a = 7",
        "INSERT INTO d.t (v) VALUES (CONCAT(@a, LAST_INSERT_ID(), RAND()))",
        "INSERT INTO d.t (v) VALUES ('plain')",
        "UPDATE d.t SET v = 'x' WHERE id = 1",
    )
    kinds = [type(v) for v in statement(events, "CONCAT").variables]
    assert sorted(k.__name__ for k in kinds) == ["Intvar", "Intvar", "Rand", "UserVar"]
    assert {
        v.intvar_type for v in statement(events, "CONCAT").variables if isinstance(v, Intvar)
    } == {"INSERT_ID", "LAST_INSERT_ID"}
    assert [type(v) for v in statement(events, "plain").variables] == [Intvar]
    assert statement(events, "UPDATE").variables == ()
    assert any(isinstance(e.body, Rand) for e in events)


def test_session_settings(statements: Server, tmp_path: Path) -> None:
    """Each setting by a SET in the session, read back from the status variables."""
    events = run(
        statements,
        tmp_path,
        "SET time_zone = '+05:30', lc_time_names = 'en_GB', foreign_key_checks = 0",
        "SET unique_checks = 0, sql_auto_is_null = 1, auto_increment_increment = 3",
        "SET auto_increment_offset = 2, sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES'",
        "SET NAMES latin1 COLLATE latin1_danish_ci",
        "SET timestamp = 1700000000.123456",
        "INSERT INTO d.t (v) VALUES (DATE_FORMAT(NOW(6), '%M %f'))",
    )
    found = statement(events, "DATE_FORMAT")
    assert isinstance(found.body, Query)
    status = found.body.status_vars
    assert status.time_zone == "+05:30" and status.lc_time_names == 1
    bits = {name: bit for bit, (name, _) in BITS["flags2"].items()}
    changed = ("AUTO_IS_NULL", "NO_FOREIGN_KEY_CHECKS", "RELAXED_UNIQUE_CHECKS")
    wanted = sum(bits[name] for name in changed)
    assert (status.flags2 or 0) & ~bits["NOT_AUTOCOMMIT"] == wanted
    assert (status.auto_increment_increment, status.auto_increment_offset) == (3, 2)
    assert status.sql_mode == 4 | 0x100000
    assert charset_of(status.client_collation or 0) == "latin1"
    assert status.connection_collation == 15
    assert (found.raw.header.timestamp, status.microseconds) == (1700000000, 123456)
    assert status.catalog == "std" and status.rest is None and status.repeated is None


def test_databases_that_a_statement_touches(statements: Server, tmp_path: Path) -> None:
    """Up to 16 are named; of more the count is 254 and none is (``updated_dbs``, 0x0c)."""
    names = [f"d{n}" for n in range(17)]
    script = [f"CREATE DATABASE {name}" for name in names]
    script += [f"CREATE TABLE {name}.t (a INT)" for name in names]
    some = ", ".join(f"{name}.t" for name in names[:2])
    many = ", ".join(f"{name}.t" for name in names)
    events = run(
        statements, tmp_path, *script, f"DROP TABLE {some}", "CREATE TABLE d0.t (a INT)",
        "CREATE TABLE d1.t (a INT)", f"DROP TABLE {many}",
        *(f"DROP DATABASE {name}" for name in names),
    )  # fmt: skip
    drops = [
        e.body
        for e in events
        if isinstance(e.body, Query) and e.body.query.startswith("DROP TABLE")
    ]
    assert [set(d.status_vars.updated_dbs or ()) for d in drops] == [{"d0", "d1"}, set()]
    assert drops[1].status_vars.updated_dbs == ()


def test_whom_current_user_means(statements: Server, tmp_path: Path) -> None:
    """Where the text does not say who CURRENT_USER() is, the invoker does (0x0b)."""
    events = run(
        statements,
        tmp_path,
        "GRANT SELECT ON d.t TO CURRENT_USER()",
        "CREATE TRIGGER d.tr BEFORE INSERT ON d.t FOR EACH ROW SET NEW.v = 'w'",
        "DROP TRIGGER d.tr",
    )
    queries = [e.body for e in events if isinstance(e.body, Query)]
    assert len(queries) == 3
    for query in queries:
        named = (query.status_vars.invoker_user, query.status_vars.invoker_host)
        assert named in ((None, None), ("root", "%"))
        if "CURRENT_USER" in query.query:
            assert named == ("root", "%")


def test_the_file_of_a_load_data(statements: Server, tmp_path: Path) -> None:
    """A file of several blocks: BEGIN_LOAD_QUERY, APPEND_BLOCK, EXECUTE_LOAD_QUERY."""
    lines = b"".join(b"%d\t%s\n" % (n, b"v" * 90) for n in range(10_000, 14_000))
    source = tmp_path / "load.txt"
    source.write_bytes(lines)
    statements.query("SET GLOBAL local_infile = 1")
    events = run(
        statements,
        tmp_path,
        f"LOAD DATA LOCAL INFILE '{source}' REPLACE INTO TABLE d.t",
        local_infile=True,
    )
    found = statement(events, "LOAD DATA")
    assert isinstance(found.body, ExecuteLoadQuery)
    text = found.body.query.encode()
    assert b"load" in text[found.body.name_start : found.body.name_end].lower()
    file: Any = found.file
    blocks = sum(e.type in ("BEGIN_LOAD_QUERY_EVENT", "APPEND_BLOCK_EVENT") for e in events)
    assert (file.size, file.blocks, file.whole) == (len(lines), blocks, True)
    assert blocks > 1
    log = bk.open(tmp_path / found.raw.file)
    (record,) = log.loaded_files(tmp_path / "out")
    assert Path(str(record["path"])).read_bytes() == lines
    assert record["outcome"] == "executed"


# ---- single versions ------------------------------------------------------------------------


def test_5_6_with_old_row_events(tmp_path: Path) -> None:
    options = {
        "log-bin": "binlog",
        "binlog-format": "ROW",
        "log-bin-use-v1-row-events": "1",
        **GTID,
    }
    if reason := apt.available():
        pytest.skip(reason)
    # Its own: root's password is changed.
    with start_server(ServerSpec("5.6", options), "local", "real")[0] as server:
        events = run(
            server, tmp_path, "CREATE DATABASE d",
            "CREATE TABLE d.t (a INT PRIMARY KEY, b TIME(2))",
            "INSERT INTO d.t VALUES (1, '-00:00:01.25')", "UPDATE d.t SET b = NULL",
            "DELETE FROM d.t", "SET PASSWORD = PASSWORD('secret')", "SET PASSWORD = PASSWORD('')",
        )  # fmt: skip
    rows = [e for e in events if isinstance(e.body, RowsEvent)]
    assert [e.type for e in rows] == [
        "WRITE_ROWS_EVENT_V1", "UPDATE_ROWS_EVENT_V1", "DELETE_ROWS_EVENT_V1",
    ]  # fmt: skip
    assert {e.body.extra for e in rows if isinstance(e.body, RowsEvent)} == {None}
    gtids = [e.body for e in events if isinstance(e.body, Gtid)]
    assert len(gtids) == 7 and {g.last_committed for g in gtids} == {None}
    assert [g.gno for g in gtids] == list(range(1, 8))
    secret = statement(events, "SET PASSWORD FOR 'root'@'%'='*")
    assert isinstance(secret.body, Query) and "secret" not in secret.body.query


@pytest.mark.parametrize("version", ["5.7", "8.0"])
def test_gtids_of_a_replicated_transaction(version: str, tmp_path: Path) -> None:
    """What an applier sets by hand: another server's GTID, timestamps and version."""
    options = {"log-bin": "binlog", "binlog-format": "ROW", **GTID}
    sid = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
    with lent(version, options) as server:
        script = ["CREATE DATABASE d", "CREATE TABLE d.t (a INT PRIMARY KEY)"]
        script.append(f"SET gtid_next = '{sid}:7'")
        if version == "8.0":
            script.append("SET original_commit_timestamp = 1600000000000001")
            script.append("SET original_server_version = 50744")
        script += ["INSERT INTO d.t VALUES (1)", "SET gtid_next = 'AUTOMATIC'"]
        events = run(server, tmp_path, *script)
        later = run(server, tmp_path, "INSERT INTO d.t VALUES (2)")
        executed = str(server.query("SELECT @@GLOBAL.gtid_executed")[0][0]).replace("\n", "")
    found = [e.body for e in events if isinstance(e.body, Gtid)][-1]
    assert found.gtid == f"{sid}:7"
    assert found.sequence_number == 3 and found.last_committed == 2
    if version == "8.0":
        assert found.original_commit_timestamp == 1600000000000001
        assert (found.immediate_commit_timestamp or 0) > 1_700_000_000_000_000
        assert (found.original_server_version, found.immediate_server_version) == (50744, 80031)
        at = next(i for i, e in enumerate(events) if e.body == found)
        whole = sum(e.raw.header.size for e in events[at:-1])
        assert found.transaction_length == whole
    else:
        assert found.immediate_commit_timestamp is None
    (previous,) = [e.body for e in later if isinstance(e.body, PreviousGtids)]
    assert not previous.tagged and f"{sid}:7" in previous.gtid_set
    assert {p.split(":")[0] for p in executed.split(",")} == {s for s, *_ in previous.entries}


@pytest.mark.gate
def test_xa_transactions_on_8_0(tmp_path: Path) -> None:
    with lent("8.0", {"log-bin": "binlog", "binlog-format": "ROW"}) as server:
        events = run(
            server, tmp_path, "CREATE DATABASE d", "CREATE TABLE d.t (a INT PRIMARY KEY)",
            "XA START 'g\\'', X'00FF', 4294967295", "INSERT INTO d.t VALUES (1)",
            "XA END 'g\\'', X'00FF', 4294967295", "XA PREPARE 'g\\'', X'00FF', 4294967295",
            "XA COMMIT 'g\\'', X'00FF', 4294967295", "XA START 'one'", "INSERT INTO d.t VALUES (2)",
            "XA END 'one'", "XA COMMIT 'one' ONE PHASE",
        )  # fmt: skip
    two, one = (e.body for e in events if e.type == "XA_PREPARE_LOG_EVENT")
    two_phase: Any = two
    one_phase: Any = one
    shown = (two_phase.one_phase, two_phase.gtrid, two_phase.bqual)
    assert shown == (False, b"g'", b"\x00\xff")
    assert two_phase.format_id == 4294967295
    outcomes = [t["outcome"] for t in bk.open(tmp_path / events[0].raw.file).transaction_records()]
    assert outcomes == ["committed"] * len(outcomes) and len(outcomes) == 5
    assert (one_phase.one_phase, one_phase.gtrid, one_phase.format_id) == (True, b"one", 1)


def test_status_variables_of_8_0_and_9(tmp_path: Path) -> None:
    for version in ("8.0", "9"):
        with lent(version, STATEMENT) as server:
            script = [
                "CREATE DATABASE d",
                "SET sql_require_primary_key = 1, explicit_defaults_for_timestamp = 0",
                "CREATE TABLE d.t (a INT PRIMARY KEY, b TIMESTAMP, c INT REFERENCES d.t (a))",
                "SET explicit_defaults_for_timestamp = 1",
                "SET default_collation_for_utf8mb4 = utf8mb4_general_ci",
                "CREATE TABLE d.u (a INT PRIMARY KEY, b TIMESTAMP)",
                "CREATE DATABASE e",
            ]
            if version == "9":
                script += [
                    "SET enable_cascade_triggers = 1",
                    "CREATE TABLE d.v (a INT PRIMARY KEY)",
                ]
                script += ["INSERT INTO d.v VALUES (1)"]
            events = run(server, tmp_path, *script)
        one, two = (statement(events, f"CREATE TABLE d.{name}").body for name in "tu")
        database = statement(events, "CREATE DATABASE e").body
        assert isinstance(one, Query) and isinstance(two, Query) and isinstance(database, Query)
        assert one.status_vars.explicit_defaults_for_timestamp is False
        assert two.status_vars.explicit_defaults_for_timestamp is True
        assert one.status_vars.sql_require_primary_key is True
        assert (one.status_vars.utf8mb4_collation, two.status_vars.utf8mb4_collation) == (255, 45)
        assert database.status_vars.default_table_encryption is False
        assert 0 < (one.status_vars.ddl_xid or 0) < (two.status_vars.ddl_xid or 0)
        if version == "9":
            states = {
                e.body.status_vars.enable_cascade_triggers
                for e in events
                if isinstance(e.body, Query)
            }
            assert True in states


def test_partitions_tags_and_vectors_of_9(tmp_path: Path) -> None:
    options = {
        "log-bin": "binlog", "binlog-format": "ROW", "binlog-row-metadata": "FULL",
        "binlog-rows-query-log-events": "ON", **GTID,
    }  # fmt: skip
    with lent("9", options) as server:
        events = run(
            server, tmp_path, "CREATE DATABASE d",
            "CREATE TABLE d.p (a INT PRIMARY KEY) PARTITION BY RANGE (a) "
            "(PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN (20))",
            "CREATE TABLE d.v (a INT PRIMARY KEY, v VECTOR(3), w VECTOR(2000) INVISIBLE)",
            "SET gtid_next = 'AUTOMATIC:mytag'",
            "INSERT INTO d.p VALUES (15)", "UPDATE d.p SET a = 5", "DELETE FROM d.p",
            "INSERT INTO d.v (a, v) VALUES (1, STRING_TO_VECTOR('[1,2,-0.5]'))",
        )  # fmt: skip
        later = run(server, tmp_path, "INSERT INTO d.p VALUES (1)")
    tagged = [e for e in events if e.type == "GTID_TAGGED_LOG_EVENT"]
    assert [e.body.tag for e in tagged if isinstance(e.body, Gtid)] == ["mytag"] * 4
    for event in tagged:
        at = events.index(event)
        size = 0
        for following in events[at:]:
            size += following.raw.header.size
            if following.type == "XID_EVENT":
                break
        assert isinstance(event.body, Gtid) and event.body.transaction_length == size
    extras = [e.body.extra for e in events if isinstance(e.body, RowsEvent)]
    parts = [(x.partition_id, x.source_partition_id) if x else None for x in extras]
    assert parts == [(1, None), (0, 1), (0, None), None]
    vectors = next(e.body for e in events if isinstance(e.body, TableMap) and e.body.table == "v")
    assert vectors.optional is not None
    assert vectors.optional.vector_dimensions == (3, 2000)
    assert (vectors.optional.visible or ())[:3] == (True, True, False)
    assert vectors.optional.unknown is None
    texts = [e.body.query for e in events if isinstance(e.body, RowsQuery)]
    assert texts[:2] == ["INSERT INTO d.p VALUES (15)", "UPDATE d.p SET a = 5"]
    inserted = [e.body.data for e in events if isinstance(e.body, RowsEvent)][-1]
    assert struct.pack("<3f", 1, 2, -0.5) in inserted
    (previous,) = [e.body for e in later if isinstance(e.body, PreviousGtids)]
    assert previous.tagged and ":mytag:1-4" in previous.gtid_set
    assert len(previous.entries) == 2
