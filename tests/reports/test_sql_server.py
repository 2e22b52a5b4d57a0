"""SQL scripts on real servers: every literal comes back, every statement hits its row alone.

The ``mysql`` client is PATH's when it is MySQL's, else Debian's newest in the cache.
"""

from __future__ import annotations

import os
import re
import string
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pymysql
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from binlogkit._kernel.charsets import decode, encode
from binlogkit.reports.sql import SqlOptions, identifier, literal, script, statement
from binlogkit_fixtures.servers import Server, ServerSpec
from tests.mysql_client import client
from tests.servers import shared_server

pytestmark = pytest.mark.server

MODES = (
    "",
    "NO_BACKSLASH_ESCAPES",
    "ANSI_QUOTES",
    "STRICT_ALL_TABLES,NO_BACKSLASH_ESCAPES,ANSI_QUOTES,PIPES_AS_CONCAT,HIGH_NOT_PRECEDENCE",
)
CLIENTS = ("utf8mb4", "latin1", "gbk", "sjis", "big5", "cp932", "gb18030", "euckr")
#: Python's codecs for the server's character sets of that name.
CODECS = {
    "utf8mb4": "utf-8", "latin1": "cp1252", "gbk": "gb2312", "sjis": "shift_jis",
    "big5": "big5", "ucs2": "utf-16-be", "utf8": "utf-8",
}  # fmt: skip
REAL = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)

#: What ends literals elsewhere: quotes, backslashes, lead bytes in front of them, line ends, NUL.
TRICKY = st.text(
    st.sampled_from("'\"`\\\0\n\r\x1a%_;#-/*é誠表ソ能\u00bf\u2028😀 aA")
    | st.characters(codec="utf-8"),
    max_size=30,
)


@pytest.fixture(scope="module", params=["5.7", "8.0"])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    with shared_server(ServerSpec(request.param)) as running:
        running.query("CREATE DATABASE shop CHARACTER SET utf8mb4")
        yield running


def run(session: Any, sql: str) -> list[tuple[Any, ...]]:
    with session.cursor() as cursor:
        cursor.execute(sql)
        return list(cursor.fetchall())


def plan(kind: str, table: str, **parts: Any) -> dict[str, Any]:
    origin = {"file": "binlog.000001", "pos": 4, "inner": None, "row": 0, "gtid": None}
    rest = {"timestamp": 0, "note": None, "limit_one": False, "refused": None}
    empty: dict[str, Any] = {"set": [], "where": []}
    return origin | rest | empty | {"db": "shop", "table": table, "kind": kind} | parts


def items(values: dict[str, Any], kinds: dict[str, str]) -> list[dict[str, Any]]:
    return [{"column": c, "value": v, "type": kinds[c]} for c, v in values.items()]


def execute(session: Any, lines: Iterator[str]) -> tuple[Any, ...]:
    """Run a script line by line, as its promise allows; returns the verdict's row."""
    verdict: tuple[Any, ...] = ()
    for line in lines:
        if not line.startswith("--"):
            rows = run(session, line.rstrip(";\n"))
            verdict = rows[0] if rows else verdict
    return verdict


class TestLiterals:
    @pytest.mark.parametrize("client", CLIENTS)
    @pytest.mark.parametrize("mode", MODES)
    @pytest.mark.gate(8)
    def test_text_and_binary_come_back_in_every_session(
        self, server: Server, mode: str, client: str
    ) -> None:
        with server.connect() as session:
            run(session, f"SET NAMES {client}")
            run(session, f"SET SESSION sql_mode = '{mode}'")

            @settings(REAL, max_examples=25)
            @given(st.lists(TRICKY, min_size=1, max_size=30), st.binary(max_size=30))
            def check(texts: list[str], data: bytes) -> None:
                hexed = [f"HEX(CONVERT({literal(t, 'text')} USING utf8mb4))" for t in texts]
                binary = literal(f"0x{data.hex()}", "binary")
                (row,) = run(session, f"SELECT {', '.join(hexed)}, HEX({binary})")
                assert list(row) == [v.hex().upper() for v in (*map(str.encode, texts), data)]

            check()

    def test_numbers_come_back(self, server: Server) -> None:
        server.query("CREATE TABLE shop.n (f FLOAT, d DOUBLE, i BIGINT UNSIGNED, s BIGINT)")
        finite = st.floats(allow_nan=False, allow_infinity=False)
        single = st.floats(allow_nan=False, allow_infinity=False, width=32)
        with server.connect(database="shop") as session:
            run(session, "SET SESSION sql_mode = 'STRICT_ALL_TABLES'")

            @REAL
            @given(
                st.lists(
                    st.tuples(
                        single, finite, st.integers(0, 2**64 - 1), st.integers(-(2**63), 2**63 - 1)
                    ),
                    min_size=1,
                    max_size=20,
                )
            )
            def check(rows: list[tuple[float, float, int, int]]) -> None:
                run(session, "DELETE FROM n")
                kinds = ("float", "double", "integer", "integer")
                values = [
                    f"({', '.join(map(literal, (shortest(r[0]), *r[1:]), kinds))})" for r in rows
                ]
                run(session, f"INSERT INTO n VALUES {', '.join(values)}")
                back = run(
                    session, "SELECT CAST(f AS DECIMAL(65, 30)), f + 0e0, d + 0e0, i, s FROM n"
                )
                for (f, d, i, s), (_, f_back, d_back, i_back, s_back) in zip(
                    rows, back, strict=True
                ):
                    assert (i_back, s_back) == (i, s)
                    assert float(d_back) == d
                    assert float(f_back) == f

            check()


def shortest(value: float) -> float:
    """A FLOAT as the contract writes it: the shortest digits that read back to its 32 bits."""
    for digits in range(6, 10):
        text = float(f"{value:.{digits}g}")
        try:
            if struct.pack("<f", text) == struct.pack("<f", value):
                return text
        except OverflowError:
            continue
    return value


TYPES: dict[str, tuple[str, str, list[Any]]] = {
    # column: SQL type, kind, values in the contract's form
    "i": ("INT", "integer", [-5, 0, None]),
    "u": ("BIGINT UNSIGNED", "integer", [2**64 - 1, 2**53 + 1]),
    "bt": ("BIT(64)", "bit", [2**64 - 1, 0]),
    "y": ("YEAR", "year", [0, 1901, 2155, None]),
    "de": ("DECIMAL(65, 30)", "decimal", ["-" + "9" * 35 + "." + "9" * 30, "0." + "0" * 29 + "1"]),
    "d": ("DATE", "date", ["0000-00-00", "2023-00-15", "2023-02-31", "9999-12-31", None]),
    "t": ("TIME(6)", "time", ["-838:59:59.000000", "-00:00:00.000001", "838:59:59.000000"]),
    "dt": ("DATETIME(3)", "datetime", ["0000-00-00 00:00:00.500", "2023-02-31 23:59:59.999"]),
    "ts": (
        "TIMESTAMP(6) NULL",
        "timestamp",
        ["0000-00-00 00:00:00.000000", "1970-01-01 00:00:01.000000", "2038-01-19 03:14:07.999999"],
    ),
    "b": ("BINARY(4)", "binary", ["0x00FF0000", "0x27005C60", None]),
    "bl": ("BLOB", "binary", ["0x", "0xBF27", "0xBF5C27"]),
    "e": ("ENUM('a', 'it''s', '誠') CHARACTER SET utf8mb4", "enum", ["it's", "誠", 1, None]),
    "st": ("SET('x', 'y', 'é') CHARACTER SET latin1", "set", ["x,é", "", 3]),
    "g": (
        "GEOMETRY",
        "geometry",
        ["0x000000000101000000000000000000F03F0000000000000040", None],
    ),
    "vc": ("VARCHAR(20) CHARACTER SET gbk", "text", ["", "誠'", "\\' OR 1 -- ", " x ", None]),
    "c": ("CHAR(20) CHARACTER SET sjis", "text", ["ソ\\", "表'", "A"]),
    "tx": ("TEXT CHARACTER SET utf8mb4", "text", ["😀'\0\x1a\n", "x" * 4000]),
    "uc": ("VARCHAR(9) CHARACTER SET ucs2", "text", ["é", "'"]),
}
KINDS = {column: kind for column, (_, kind, _) in TYPES.items()}


@pytest.fixture(scope="module")
def everything(server: Server) -> Server:
    columns = ", ".join(f"`{column}` {sql}" for column, (sql, _, _) in TYPES.items())
    server.query("SET SESSION sql_mode = ''")
    server.query(f"CREATE TABLE shop.everything (id INT, {columns}, j JSON)")
    return server


class TestRows:
    @pytest.mark.parametrize("column", TYPES)
    @pytest.mark.gate(4)
    def test_each_value_is_written_and_found_again_alone(
        self, everything: Server, column: str
    ) -> None:
        """INSERT, then DELETE by the same value: one row each, and the others stay."""
        values = TYPES[column][2]
        one = [
            plan("insert", "everything", set=items({"id": n, column: v}, KINDS | {"id": "integer"}))
            for n, v in enumerate(values)
        ]
        gone = [
            plan("delete", "everything", where=items({column: v}, KINDS), note="its value alone")
            for v in values
        ]
        with everything.connect() as session:
            verdict = execute(session, script([*one, *gone]))
            assert verdict[:5] == (len(values) * 2, 0, 0, 0, "")
            assert "all well" in verdict[-1]
            assert run(session, "SELECT COUNT(*) FROM shop.everything") == [(0,)]

    def test_a_value_reads_as_it_was_written(self, everything: Server) -> None:
        written = {column: values[0] for column, (_, _, values) in TYPES.items()}
        kinds = KINDS | {"j": "json"}
        values = written | {"j": '{"é": [1, "\\"\'"]}'}
        with everything.connect() as session:
            one = plan("insert", "everything", set=items(values, kinds))
            execute(session, script([one], SqlOptions(commit=True)))
            run(session, "SET time_zone = '+00:00'")
            binary = [c for c, kind in KINDS.items() if kind in ("binary", "geometry")]
            columns = ", ".join(
                f"CONCAT('0x', HEX(`{c}`))" if c in binary else f"CAST(`{c}` AS CHAR)"
                for c in values
                if c != "bt"
            )
            (row,) = run(session, f"SELECT {columns}, `bt` + 0 FROM shop.everything")
            expected = {c: v if isinstance(v, str) else str(v) for c, v in values.items()}
            expected |= {"y": "0000", "vc": ""}
            assert row[:-1] == tuple(v for c, v in expected.items() if c != "bt")
            assert row[-1] == 2**64 - 1
            execute(
                session,
                script(
                    [plan("delete", "everything", where=items(written, KINDS))],
                    SqlOptions(commit=True),
                ),
            )
            assert run(session, "SELECT COUNT(*) FROM shop.everything") == [(0,)]

    @pytest.mark.parametrize("charset", CODECS)
    def test_text_is_matched_to_the_byte(self, server: Server, charset: str) -> None:
        table = f"t_{charset}"
        server.query(f"CREATE TABLE shop.{table} (c VARCHAR(40), KEY (c)) CHARACTER SET {charset}")
        codec = CODECS[charset]
        most = 0xFFFF if charset in ("ucs2", "utf8") else 0x10FFFF
        alphabet = st.sampled_from("aAéÉ誠ソ表能'\"\\` \n\0") | st.characters(max_codepoint=most)

        def holds(character: str) -> bool:
            try:
                kept = decode(charset, encode(charset, character))
                return character.encode(codec).decode(codec) == kept == character
            except UnicodeError:
                return False

        with server.connect() as session:

            @REAL
            @given(st.text(alphabet.filter(holds), max_size=12))
            def check(text: str) -> None:
                kinds = {"c": "text"}
                others = sorted({text + " ", text.swapcase(), text + "\0"} - {text})
                others = [t for t in others if all(map(holds, t))]
                rows = [plan("insert", table, set=items({"c": t}, kinds)) for t in [text, *others]]
                gone = [
                    plan("delete", table, where=items({"c": t}, kinds)) for t in [text, *others]
                ]
                verdict = execute(session, script([*rows, *gone]))
                assert verdict[1:5] == (0, 0, 0, "")

            check()


class TestScript:
    @pytest.mark.gate
    def test_it_keeps_nothing_unless_every_statement_hit_one_row(self, server: Server) -> None:
        server.query("CREATE TABLE shop.guard (id INT, v INT)")
        server.query("INSERT INTO shop.guard VALUES (1, 1), (2, 2), (2, 2), (3, 3)")

        def change(number: int, **more: Any) -> dict[str, Any]:
            kinds = {"id": "integer", "v": "integer"}
            return plan(
                "update", "guard",
                set=items({"v": 9}, kinds), where=items({"id": number, "v": number}, kinds), **more,
            )  # fmt: skip

        plans = [change(1), change(2), change(3), change(4)]
        with server.connect() as session:
            verdict = execute(session, script(plans, SqlOptions(commit=True)))
            assert verdict[:5] == (4, 0, 2, 2, "2 4")
            assert verdict[-1].startswith("rolled back: not every statement")
            assert run(session, "SELECT SUM(v) FROM shop.guard") == [(8,)]
            good = [change(1), change(2, limit_one=True), plan("delete", "guard", refused="x")]
            assert execute(session, script(good))[:5] == (2, 1, 0, 0, "")
            assert run(session, "SELECT SUM(v) FROM shop.guard") == [(8,)]
            verdict = execute(session, script(good, SqlOptions(commit=True)))
            assert verdict[-1].startswith("rolled back: 1 change was refused and not carried out;")
            assert run(session, "SELECT SUM(v) FROM shop.guard") == [(8,)]
            options = SqlOptions(commit=True, despite_refused=True)
            nothing = execute(session, script(good[2:], options))
            assert nothing[-1] == "nothing to commit: 1 change was refused and not carried out"
            verdict = execute(session, script(good, options))
            told = "committed 2 statements; 1 change was refused and not carried out"
            assert verdict[-1] == told
        assert server.query("SELECT SUM(v) FROM shop.guard") == [(9 + 9 + 2 + 3,)]

    def test_an_error_counts_also_where_the_client_goes_on(self, server: Server) -> None:
        server.query("CREATE TABLE shop.uniq (id INT PRIMARY KEY)")
        one = plan("insert", "uniq", set=items({"id": 1}, {"id": "integer"}))
        with server.connect() as session:
            for line in script([one, one], SqlOptions(commit=True)):
                if not line.startswith("--"):
                    try:
                        rows = run(session, line.rstrip(";\n"))
                    except pymysql.err.IntegrityError:
                        continue
                    verdict = rows[0] if rows else ()
                    if verdict:
                        assert verdict[2:5] == (1, 0, "2")
        assert server.query("SELECT COUNT(*) FROM shop.uniq") == [(0,)]

    def test_the_session_is_as_before(self, server: Server) -> None:
        shown = (
            "SELECT @@character_set_client, @@character_set_connection, @@collation_connection, "
            "@@time_zone, @@sql_mode, @@unique_checks, @@sql_safe_updates, @@sql_auto_is_null, "
            "@@autocommit, @@foreign_key_checks, @@character_set_results"
        )
        with server.connect() as session:
            run(session, "SET NAMES gbk COLLATE gbk_bin")
            run(session, "SET time_zone = '+05:30', sql_safe_updates = 1, sql_auto_is_null = 1")
            run(session, "SET sql_mode = 'ANSI', foreign_key_checks = 0, unique_checks = 0")
            before = run(session, shown)
            execute(session, script([]))
            assert run(session, shown) == before

    def test_on_update_current_timestamp_keeps_its_value(self, server: Server) -> None:
        server.query(
            "CREATE TABLE shop.stamp (id INT, v INT, at TIMESTAMP NULL DEFAULT NULL "
            "ON UPDATE CURRENT_TIMESTAMP)"
        )
        server.query("INSERT INTO shop.stamp VALUES (1, 1, '2020-01-01 00:00:00')")
        kinds = {"id": "integer", "v": "integer", "at": "timestamp"}
        where = items({"id": 1, "v": 1, "at": "2020-01-01 00:00:00"}, kinds)
        one = plan("update", "stamp", set=items({"v": 2}, kinds), where=where, keep=["at"])
        with server.connect() as session:
            assert execute(session, script([one], SqlOptions(commit=True)))[-1] == "committed"
        assert server.query("SELECT v, at + 0 FROM shop.stamp") == [(2, 20200101000000)]

    def test_the_enum_error_value_is_what_a_strict_server_refuses(self, server: Server) -> None:
        server.query("CREATE TABLE shop.errval (e ENUM('a'))")
        with server.connect() as session:
            run(session, "SET SESSION sql_mode = 'STRICT_ALL_TABLES'")
            with pytest.raises(pymysql.err.MySQLError, match="1265"):
                run(session, "INSERT INTO shop.errval VALUES (0)")

    def test_an_index_is_used(self, server: Server) -> None:
        server.query("CREATE TABLE shop.idx (k VARCHAR(40) CHARACTER SET gbk PRIMARY KEY, v INT)")
        rows = ", ".join(f"('{a}{b}', 1)" for a in string.digits for b in string.digits)
        server.query(f"INSERT INTO shop.idx VALUES {rows}, (_utf8mb4 X'E8AAA0', 1)")
        for value in ("42", "誠"):
            text = statement(plan("delete", "idx", where=items({"k": value}, {"k": "text"})))
            with server.connect() as session, session.cursor(pymysql.cursors.DictCursor) as cursor:
                cursor.execute(f"EXPLAIN {text}")
                (row,) = cursor.fetchall()
            assert (row["key"], row["rows"]) == ("PRIMARY", 1)


HOSTILE = (
    "plain",
    "a`b",
    "a;'\"--/*#",
    "订单",  # its last byte and the backquote are one letter in gbk
    "a\\! touch /tmp/binlogkit-was-here",
    "x\n\\! id\ndelimiter ;",
    "sp ace$",
)


@pytest.mark.parametrize("charset", ["utf8mb4", "gbk", "sjis", "latin1"])
@pytest.mark.gate(1)
def test_the_plain_client_runs_it(server: Server, charset: str, tmp_path: Path) -> None:
    """Hostile names, values and notes through ``mysql --batch``, whatever its character set."""
    plans = []
    for name in HOSTILE:
        table = identifier(name)
        server.query(f"DROP TABLE IF EXISTS shop.{table}")
        server.query(f"CREATE TABLE shop.{table} (id INT, {table} VARCHAR(80))")
        values = {"id": 1, name: name + "\x1a\0'\\"}
        kinds = {"id": "integer", name: "text"}
        changed = items({name: "誠';"}, kinds)
        note = f"{name}\n; DROP TABLE x; -- \\! touch {tmp_path}/note\n"
        plans += [
            plan("insert", name, set=items(values, kinds), note=note),
            plan("update", name, set=changed, where=items(values, kinds), gtid=note),
        ]
    path = tmp_path / "undo.sql"
    path.write_text("".join(script(plans, SqlOptions(commit=True, title=HOSTILE[5]))), "ascii")
    with path.open("rb") as source:
        done = subprocess.run(
            [
                *client(), f"--default-character-set={charset}", "--protocol=tcp", "--user=root",
                f"--host={server.host}", f"--port={server.port}", "--batch",
            ],
            stdin=source, capture_output=True, text=True, cwd=tmp_path,
            env=os.environ | {"MYSQL_PWD": server.password},
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    verdict = done.stdout.splitlines()[-1].split("\t")
    assert verdict == [str(len(plans)), "0", "0", "0", "", "committed"]
    assert not re.search("uid=", done.stdout)
    assert not (tmp_path / "note").exists() and not Path("/tmp/binlogkit-was-here").exists()
    for name in HOSTILE:
        rows = server.query(f"SELECT id, {identifier(name)} FROM shop.{identifier(name)}")
        assert rows == [(1, "誠';")]
