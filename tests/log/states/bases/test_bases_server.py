"""States that begin with a dump: real servers' tables, dumped by the real mysqldump, and SELECT."""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import zstandard

import binlogkit as bk
from binlogkit.errors import InputError, UsageError
from binlogkit_fixtures.servers import Server
from binlogkit_fixtures.servers.mysqldump import ensure
from binlogkit_fixtures.truth import read_tables
from tests.servers import GTIDS, each_server
from tests.truth.truth_checks import judge_state

pytestmark = pytest.mark.server

TYPES = (
    "CREATE TABLE u.t (id INT PRIMARY KEY, ti TINYINT UNSIGNED, bi BIGINT UNSIGNED, "
    "n DECIMAL(38,9), "
    "f FLOAT, fm FLOAT(7,3), g DOUBLE, b BIT(9), y YEAR, d DATE, dt DATETIME(3), ts TIMESTAMP(2) "
    "NULL, tm TIME(1), e ENUM('a','b'), s SET('x','y','z'), v VARCHAR(40) CHARSET latin1, "
    "u VARCHAR(40) CHARSET utf8mb4, k VARCHAR(40) CHARSET koi8r, x TEXT CHARSET utf8mb4, bl BLOB, "
    "vb VARBINARY(9), bn BINARY(4), j JSON, gm GEOMETRY, "
    "gs INT GENERATED ALWAYS AS (id * 2) STORED, gv INT GENERATED ALWAYS AS (id + 1) VIRTUAL)"
)
# Without the generated columns.
NAMES = "id, ti, bi, n, f, fm, g, b, y, d, dt, ts, tm, e, s, v, u, k, x, bl, vb, bn, j, gm"
ROWS = (
    f"INSERT INTO u.t ({NAMES}) VALUES "
    "(1, 255, 18446744073709551615, '12345678901234567890123456789.123456789', 0.1, 1.234, 0.1, "
    "b'100000001', 1999, '2020-01-02', '2020-01-02 03:04:05.678', '2020-01-02 03:04:05.67', "
    "'-838:59:59', 'a', 'x,z', 'é''\\\\\"\\n', '日😀 -- ; \\'', 'привет', '/* x */ ; `', "
    "x'00270a5c1a2261', x'ff00', x'0102', '{\"a\": [1, 2.5, \"x\\\\\"y\", null, 1.0]}', "
    "ST_GeomFromText('POINT(1 2)')), "
    "(2, 0, 0, -0.000000001, 16777217, 99.999, -1.7976931348623157e308, 0, 0, '0000-00-00', "
    "'0000-00-00 00:00:00', '0000-00-00', '0:0:0.5', 'zzz', '', '', '', '', '', '', '', '', '{}', "
    "NULL), "
    "(3, NULL, NULL, NULL, 0, NULL, 123456789.123456789, NULL, NULL, '2023-00-15', "
    "'2023-00-15 01:02:03.5', NULL, '-00:00:00.1', NULL, NULL, '?', '?', '?', NULL, NULL, NULL, "
    "NULL, 'null', NULL), "
    "(4, 1, 1, 1, -1.5, -1, 2.2250738585072014e-308, 1, 2155, '9999-12-31', '1000-01-01', "
    "'2038-01-19 03:14:07.99', '838:59:59', '', 'y', 'a', 'b', 'c', 'd', 'e', 'f', 'g', '1', NULL)"
)
KEYLESS = (
    "CREATE TABLE u.h (a INT, b VARCHAR(9), d DATE)",
    "INSERT INTO u.h VALUES (1, 'x', '0000-00-00'), (1, 'x', '0000-00-00'), (2, NULL, NULL)",
)
LATER: Sequence[str] = (
    "UPDATE u.t SET u = 'later', bi = 7 WHERE id = 1",
    "UPDATE u.t SET id = 20 WHERE id = 2",
    "DELETE FROM u.t WHERE id = 3",
    "INSERT INTO u.t (id, f) VALUES (5, 2.5), (6, NULL)",
    "UPDATE u.t SET dt = '2021-01-01', j = '[1]' WHERE id = 4",
    "DELETE FROM u.h WHERE a = 1 LIMIT 1",
    "UPDATE u.h SET b = 'y' WHERE a = 2",
    "INSERT INTO u.h VALUES (3, 'z', '2020-01-01')",
)


server = each_server(options=GTIDS)


def position(server: Server) -> tuple[str, int]:
    """Where the server's log ends."""
    which = "BINARY LOG" if server.version.startswith("9") else "MASTER"
    file, pos, *_ = server.query(f"SHOW {which} STATUS")[0]
    return file, int(pos)


def run(server: Server, statements: Sequence[str], image: str = "FULL") -> None:
    """Each by itself, in a session that lets zero dates in."""
    with server.connect(autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute(f"SET sql_mode = '', time_zone = '+05:00', binlog_row_image = {image}")
        for statement in statements:
            cursor.execute(statement)


def begin(server: Server) -> None:
    """The tables anew, in a log that comes before the one that is written next."""
    run(server, ("DROP DATABASE IF EXISTS u", "CREATE DATABASE u CHARSET utf8mb4", TYPES, ROWS))
    run(server, (*KEYLESS, "INSERT INTO u.t (id, f, u) VALUES (8, 0.1, 'kept')"))


def dumped(server: Server, *options: str) -> bytes:
    """A dump of the database, with coordinates where this mysqldump can ask for them."""
    more = () if server.version.startswith("8.0") else ("--source-data=2",)
    return ensure().dump(server, "--single-transaction", *more, *options)


def truth(server: Server, table: str, statements: str = "SET sql_mode = ''") -> object:
    """The server's own SELECT."""
    with server.connect(autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("SET time_zone = '+00:00'")
        cursor.execute(statements)
        return read_tables(connection, ["u"])[table]


def complaints(server: Server, log: bk.Log, notes: Counter[str], **base: object) -> list[str]:
    """What states that begin with the base say, and the server does not."""
    found: list[str] = []
    for name in ("u.t", "u.h"):
        state = log.state(name, **base)  # type: ignore[arg-type]
        found += judge_state(state, truth(server, name), name, notes)  # type: ignore[arg-type]
    return found


@pytest.mark.parametrize("image", ["FULL", "MINIMAL"])
@pytest.mark.parametrize("how", [(), ("--hex-blob", "--skip-extended-insert")])
@pytest.mark.sampled(7, 7)
@pytest.mark.gate(3)
def test_a_dump_and_what_came_after_it(
    server: Server, how: tuple[str, ...], image: str, tmp_path: Path
) -> None:
    """Only the logs from its coordinates on, and all of them."""
    begin(server)
    rotated = server.binlog_names()[-1]
    server.query("FLUSH BINARY LOGS")
    run(server, ("INSERT INTO u.t (id) VALUES (100)",))  # in the log that the dump is in
    text = dumped(server, "--databases", "u", *how)
    run(server, LATER, image)
    server.query("FLUSH BINARY LOGS")
    run(server, ("DELETE FROM u.t WHERE id = 100",), image)
    dump = tmp_path / "dump.sql"
    dump.write_bytes(text)
    names = server.binlog_names()
    paths = [str(server.copy_binlog(name, tmp_path)) for name in names]
    last = paths[names.index(rotated) + 1 :]
    for given in (last, paths):
        notes: Counter[str] = Counter()
        assert complaints(server, bk.open(given), notes, base=str(dump)) == []
        assert notes["rows determined"] == notes["rows"] == 9, notes
        # FLOAT has six digits in a dump, generated columns are not in it.
        assert notes["base_unknown determined=True"] == 2
        assert notes["unknown cells"] == (3 if image == "FULL" else 10)
    packed = tmp_path / "dump.sql.gz"
    packed.write_bytes(gzip.compress(text))
    zstd = tmp_path / "dump.sql.zst"
    zstd.write_bytes(zstandard.compress(text))
    expected = bk.open(last).state("u.t", base=str(dump)).rows
    for path in (packed, zstd):
        assert bk.open(last).state("u.t", base=str(path)).rows.equals(expected)


def test_a_position_that_is_given(server: Server, tmp_path: Path) -> None:
    """Without GTIDs in the dump; and wrong ones are not taken for right."""
    begin(server)
    server.query("FLUSH BINARY LOGS")
    file, pos = position(server)
    dump = tmp_path / "dump.sql"
    dump.write_bytes(
        ensure().dump(server, "--single-transaction", "--set-gtid-purged=OFF", "--databases", "u")
    )
    run(server, LATER)
    log = bk.open(str(server.copy_binlog(file, tmp_path)))
    notes: Counter[str] = Counter()
    at = {"base": str(dump), "base_at": f"{file}:{pos}"}
    assert complaints(server, log, notes, **at) == []
    assert notes["rows determined"] == notes["rows"]
    with pytest.raises(InputError, match="no coordinates"):
        log.state("u.t", base=str(dump))
    with pytest.raises(UsageError, match="no base has"):
        log.state("u.other", base=str(dump), base_at=(file, pos))
    for elsewhere in ((file, 1 << 40), ("binlog.000999", 4), ("other.000001", 4)):
        state = log.state("u.t", base=str(dump), base_at=elsewhere)
        assert not state.determined
        assert "base_gap" in state.findings["finding"].to_pylist(), elsewhere
    with pytest.raises(UsageError, match="newer than the point"):
        log.state("u.t", at=pos, base=str(dump), base_at=(file, position(server)[1]))


def test_logs_that_begin_after_the_dump(server: Server, tmp_path: Path) -> None:
    """What lies between is a gap, by GTIDs and by positions."""
    begin(server)
    dump = tmp_path / "dump.sql"
    dump.write_bytes(dumped(server, "--databases", "u"))
    run(server, LATER)
    server.query("FLUSH BINARY LOGS")
    run(server, ("INSERT INTO u.h VALUES (9, 'q', NULL)",))
    name = server.binlog_names()[-1]
    log = bk.open(str(server.copy_binlog(name, tmp_path)))
    for state in log.states(["u.t", "u.h"], base=str(dump)):
        assert not state.determined
        (gap,) = (f for f in state.findings.to_pylist() if f["finding"] == "base_gap")
        assert "neither in the base nor in these logs" in gap["meaning"]
    assert state.determined_rows <= 1


def test_states_go_on_from_states(server: Server, tmp_path: Path) -> None:
    """dump -> state -> Parquet -> state is what dump -> state is; after a rename, too."""
    begin(server)
    server.query("FLUSH BINARY LOGS")
    dump = tmp_path / "dump.sql"
    dump.write_bytes(dumped(server, "--databases", "u"))
    run(server, LATER[:4], "MINIMAL")
    server.query("FLUSH BINARY LOGS")
    run(server, (*LATER[4:], "RENAME TABLE u.h TO u.h2", "DELETE FROM u.h2 WHERE a = 3"))
    first, second = (str(server.copy_binlog(n, tmp_path)) for n in server.binlog_names()[-2:])
    for before, after in (("u.t", "u.t"), ("u.h", "u.h2")):
        expected = bk.open([first, second]).state(after, base=str(dump))
        middle = bk.open(first).state(before, base=str(dump))
        path = tmp_path / f"{before}.parquet"
        middle.to_parquet(path)
        for base in (middle, path):
            found = bk.open(second).state(after, base=base)
            assert list(found.records()) == list(expected.records())
            assert found.rows_determined and expected.rows_determined
            assert (found.position, found.gtids) == (expected.position, expected.gtids)
            notes: Counter[str] = Counter()
            assert list(judge_state(found, truth(server, after), after, notes)) == []  # type: ignore[arg-type]


def test_xa_transactions_that_the_base_saw_prepared(server: Server, tmp_path: Path) -> None:
    """They count where their COMMIT is after the base, if the logs have their rows."""
    begin(server)
    server.query("FLUSH BINARY LOGS")
    with server.connect(autocommit=True) as connection, connection.cursor() as cursor:
        for statement in ("XA START 'x'", "INSERT INTO u.h VALUES (7, 'xa', NULL)", "XA END 'x'"):
            cursor.execute(statement)
        cursor.execute("XA PREPARE 'x'")
        file, pos = position(server)
        more = ("--single-transaction", "--skip-lock-tables", "--set-gtid-purged=OFF")
        text = ensure().dump(server, *more, "--databases", "u")
        server.query("FLUSH BINARY LOGS")
        cursor.execute("XA COMMIT 'x'")
    dump = tmp_path / "dump.sql"
    dump.write_bytes(text)
    paths = [str(server.copy_binlog(name, tmp_path)) for name in server.binlog_names()[-2:]]
    at = {"base": str(dump), "base_at": (file, pos)}
    notes: Counter[str] = Counter()
    state = bk.open(paths).state("u.h", **at)  # type: ignore[arg-type]
    assert state.determined and state.rows.num_rows == 4
    assert list(judge_state(state, truth(server, "u.h"), "u.h", notes)) == []  # type: ignore[arg-type]
    without = bk.open(paths[1:]).state("u.h", base=str(dump), base_at=(paths[1], 4))
    assert not without.determined
    gaps = [f["meaning"] for f in without.findings.to_pylist() if f["finding"] == "base_gap"]
    assert any("which was prepared before" in gap for gap in gaps), gaps


#: What is done between the log's beginning and the base, and after the base.
IN_THE_LOG: dict[str, tuple[Sequence[str], Sequence[str]]] = {
    "added": (["ALTER TABLE u.p ADD n INT DEFAULT 4 FIRST"],
              ["ALTER TABLE u.p ADD z INT", "UPDATE u.p SET n = 9 WHERE id = 3"]),
    "dropped": (["ALTER TABLE u.p DROP w"], ["DELETE FROM u.p WHERE v = 2"]),
    "renamed": (["ALTER TABLE u.p CHANGE id k INT"],
                ["DELETE FROM u.p WHERE k = 2", "RENAME TABLE u.p TO u.q"]),
    "converted": (["ALTER TABLE u.p MODIFY v VARCHAR(9)"], ["DELETE FROM u.p WHERE v = '2'"]),
    "another key": (["ALTER TABLE u.p DROP PRIMARY KEY, ADD PRIMARY KEY (id, v), ADD UNIQUE (id)"],
                    ["UPDATE u.p SET v = 9 WHERE id = 3", "DELETE FROM u.p WHERE id = 2"]),
    "the table renamed": (["RENAME TABLE u.p TO u.x, u.x TO u.q"],
                          ["DELETE FROM u.q WHERE id = 2"]),
    "the child renamed": (["RENAME TABLE u.c TO u.d"],
                          ["ALTER TABLE u.d DROP FOREIGN KEY d_ibfk_1",
                           "DELETE FROM u.p WHERE id = 2"]),
    "the parent's name given to another": (
        ["CREATE TABLE u.s (id INT PRIMARY KEY)",
         "RENAME TABLE u.p TO u.x, u.s TO u.p, u.x TO u.s"],
        ["ALTER TABLE u.c DROP PRIMARY KEY, ADD PRIMARY KEY (id)",
         "DELETE FROM u.s WHERE id = 2"]),
    "made again": (["ALTER TABLE u.p ADD n INT", "DROP TABLE u.c, u.p", "CREATE TABLE u.p (id INT "
                    "PRIMARY KEY, w INT)", "INSERT INTO u.p VALUES (1, 1), (2, 2)"],
                   ["UPDATE u.p SET w = 9 WHERE id = 2"]),
    "more of them": (["ALTER TABLE u.p ADD n INT, DROP w", "INSERT INTO u.p VALUES (4, 4, 4)",
                      "ALTER TABLE u.p CHANGE n w BIGINT"],
                     ["ALTER TABLE u.p DROP v", "DELETE FROM u.p WHERE id = 2"]),
}  # fmt: skip


@pytest.mark.parametrize("case", IN_THE_LOG)
@pytest.mark.parametrize("image", ["FULL", "MINIMAL"])
@pytest.mark.sampled(8, 48)
@pytest.mark.gate(3)
def test_a_base_after_ddl_of_the_log(server: Server, image: str, case: str, tmp_path: Path) -> None:
    """The base tells the tables as they are at its place, which its GTIDs alone tell as well, and
    the DDL before it is done already; a foreign key follows a parent of another name."""
    before, after = IN_THE_LOG[case]
    server.query("DROP DATABASE IF EXISTS u")
    server.query("FLUSH BINARY LOGS")
    run(server, ["CREATE DATABASE u", "CREATE TABLE u.p (id INT "
                 "PRIMARY KEY, v INT, w VARCHAR(9))", "CREATE TABLE u.c (id INT PRIMARY KEY, up "
                 "INT, FOREIGN KEY (up) REFERENCES u.p (id) ON DELETE CASCADE)",
                 "INSERT INTO u.p VALUES (1, 1, 'a'), (2, 2, 'b'), (3, 3, 'c')",
                 "INSERT INTO u.c VALUES (1, 1), (2, 2), (3, 3)", "FLUSH BINARY LOGS"])  # fmt: skip
    run(server, before, image)
    logs = [str(server.copy_binlog(name, tmp_path)) for name in server.binlog_names()[-2:]]
    bases, by_gtids = [], []
    for state in bk.open(logs).states():
        if state.table[0] == "u" and state.rows_determined:
            bases.append(str(tmp_path / f"{state.table[1]}.parquet"))
            state.to_parquet(bases[-1])
            by_gtids.append(replace(state, position=None))
    run(server, after, image)
    log = bk.open(str(server.copy_binlog(server.binlog_names()[-1], tmp_path)))
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SET time_zone = '+00:00'")
        tables = read_tables(connection, ["u"])
    notes: Counter[str] = Counter()
    for base in (bases, by_gtids):
        left = dict(tables)
        for state in log.states(base=base):
            assert state.determined, list(state.findings.to_pylist())
            name = ".".join(state.table)
            assert list(judge_state(state, left.pop(name, None), name, notes)) == []
        assert not left
