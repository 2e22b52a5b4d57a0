"""Makes the logs of this folder and mysqlbinlog's texts of them.

    python make_data.py SOCKET NAME [NAME …]

SOCKET is that of a server of one's own with ``server_id=7``, ``log_bin``,
``binlog_rows_query_log_events`` and root without a password; its data directory must be readable
here. NAME: ``hostile``, ``absent`` (8.0.31), ``large`` (8.0.31 with
``binlog_row_event_max_size=256``), ``vector``, ``sessions`` (9.x with gtid_mode). mysqlbinlog is
found as ``binlogkit.sources.mysqlbinlog`` finds it. What is here was made with the servers that the
file names tell and with mysqlbinlog 9.7.4.
"""

from __future__ import annotations

import lzma
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pymysql

from binlogkit.sources import mysqlbinlog

HERE = Path(__file__).parent
HEADER = "#231114 22:13:20 server id 7  end_log_pos {end} CRC32 0x00000000 \t"


class Server:
    """One connection; every log begins with the same settings."""

    def __init__(self, socket: str) -> None:
        self.socket = socket
        self.connection = pymysql.connect(
            unix_socket=socket, user="root", password="", charset="utf8mb4", autocommit=True
        )
        self.cursor = self.connection.cursor()
        self.version = str(self.one("select version()")[0]).partition("-")[0]
        self.folder = Path(str(self.one("select @@datadir")[0]))

    def one(self, sql: str) -> tuple[object, ...]:
        self.cursor.execute(sql)
        return self.cursor.fetchone() or ()

    def run(self, *statements: str) -> None:
        for sql in statements:
            self.cursor.execute(sql)

    def fresh(self) -> str:
        """Begin a new log; its name."""
        self.run(
            "set session binlog_format='ROW', binlog_row_image='FULL', sql_mode='', "
            "time_zone='+00:00', timestamp=1700000000",
            "drop database if exists shop",
            "drop database if exists `o``dd\nx`",
            "create database shop",
            "use shop",
            "flush binary logs",
        )
        return self.current()

    def current(self) -> str:
        self.cursor.execute("show binary logs")
        return str(self.cursor.fetchall()[-1][0])

    def keep(self, log: str, name: str) -> None:
        """Close the log and copy it here, with its text."""
        self.run("flush binary logs")
        target = HERE / f"{self.version}-{name}.binlog"
        shutil.copyfile(self.folder / log, target)
        with lzma.open(f"{target}.txt.xz", "wb") as text:
            text.writelines(mysqlbinlog.read(target))


def hostile(server: Server) -> None:
    """Values, names and statements that look like mysqlbinlog's own lines.

    The last statement holds a transaction that never was, at the very position that comes next:
    whoever can type a statement can find that out. Its length does not depend on the numbers, so a
    first run tells them.
    """
    end = _end_of_attack(server, _hostile(server, "0000"))
    log = _hostile(server, f"{end:04d}")
    assert _end_of_attack(server, log) == end
    server.keep(log, "hostile")


def _hostile(server: Server, end: str) -> str:
    log = server.fresh()
    start = "### INSERT INTO `shop`.`h`\n### SET\n###   @1=9"
    rows = "### INSERT INTO `shop`.`h`\n### SET\n###   @1=9 /* INT meta=0 nullable=0 is_null=0 */"
    server.run(
        "create table h (id int primary key auto_increment, a text, b varchar(200))"
        " charset utf8mb4",
    )
    server.cursor.execute(
        "insert into h(a, b) values (%s, %s)",
        (f"x'\n{rows}\n# at 4\n/*!*/;\n", "\\' /* VARSTRING(1) meta=1 nullable=1 is_null=0 */"),
    )
    server.run(
        f"insert into h(a) values ('z') /* \n{start}\n# at 157\n# End of log file\n*/",
        "create database `o``dd\nx`",
        "create table `o``dd\nx`.`t``a\n### DELETE FROM b` (`c\n1` int)",
        "insert into `o``dd\nx`.`t``a\n### DELETE FROM b` values (5)",
        "set session binlog_format='STATEMENT'",
        "set @`we``ird\nname`='x\ny', @i=-5, @n=null",
        "insert into h(a) values (concat(@`we``ird\nname`, @i, ifnull(@n, '')))",
        "insert into h(a) values ('stmt\n/*!*/;\nfoo')",
        "use `o``dd\nx`",
        "insert into shop.h(a) values ('elsewhere')",
        "use shop",
        f"insert into h(a) values ('\n/*!*/;\n# at {end}\n{HEADER.format(end=999999)}Xid = 7\n"
        f"COMMIT/*!*/;\n# at 999999\n{HEADER.format(end=1000000)}"
        "Write_rows: table id 90 flags: STMT_END_F\n"
        f"{rows}\n')",
        "set session binlog_format='ROW'",
    )
    return log


def _end_of_attack(server: Server, log: str) -> int:
    server.cursor.execute(f"show binlog events in '{log}'")
    return max(int(row[4]) for row in server.cursor.fetchall() if "COMMIT/*!*/" in row[5])


def absent(server: Server) -> None:
    """Images without all columns, diffs, a statement over several events, a type not printed."""
    log = server.fresh()
    server.run(
        "set session binlog_row_image='MINIMAL', binlog_row_value_options='PARTIAL_JSON'",
        "create table mi (id int primary key, a int, b varchar(10), j json, k json)",
        "insert into mi values (1, 1, 'a', "
        """'{"a":"aaaaaaaaaaaaaaaaaaaa","b":[1,2,3],"c":{"x":1}}', '{"z":1}')""",
        "insert into mi (id, a) values (2, 5)",
        "update mi set b='zz' where id=1",
        r"""update mi set j=json_replace(j, '$.a', 'b\'\nc') where id=1""",
        """update mi set j=json_set(j, '$.n', null, '$.t', true, '$.f', 1e3, '$.s', 'v')
           where id=1""",
        "update mi set id=10 where id=2",
        "delete from mi where id=10",
        "insert into mi values ()",
        "set session binlog_row_image='FULL'",
        "update mi set j=json_set(j, '$.c.x', 5), a=1 where id=1",
        "update mi set j=json_set(j, '$.c.x', 5), a=2 where id=1",
        "set session binlog_row_value_options=''",
        "create table big (id int primary key auto_increment, a varchar(1000))",
        "insert into big(a) values " + ",".join(f"('{i:-<900}')" for i in range(20)),
        "create table g (id int primary key, p point, n int)",
        "insert into g values (1, point(1, 2), 3), (2, null, 4), (3, point(3, 4), 5)",
        "set session binlog_transaction_compression=ON",
        "begin",
        "update big set a='y' where id < 3",
        "insert into g values (5, point(0, 0), 1)",
        "delete from big where id = 4",
        "commit",
        "set session binlog_transaction_compression=OFF",
    )
    server.keep(log, "absent")


def large(server: Server) -> None:
    """Statements of many rows events, of one table and of two in turn, FLOAT among the columns."""
    log = server.fresh()
    numbers = "(with recursive n (i) as (select 1 union all select i + 1 from n where i < {}) "
    server.run(
        "create table a (id int primary key, f float, v varchar(80))",
        "create table b (id int primary key auto_increment, n bigint)",
        f"insert into a select i, i / 3, repeat('v', i % 80) from {numbers.format(200)}"
        "select i from n) as n",
        "update a set f = f + 1, v = concat(v, id) where id % 3",
        "create trigger t after delete on a for each row insert into b(n) values (old.id)",
        "begin",
        "delete from a where id < 100",
        "update b set n = -n",
        "commit",
        "delete from b",
    )
    server.keep(log, "large")


def vector(server: Server) -> None:
    """VECTOR, tagged GTIDs, partitions, several kinds of diffs inside payloads."""
    log = server.fresh()
    server.run(
        "create table v (id int primary key, v vector(3), n int unsigned, b bit(3), f float)",
        "set gtid_next='AUTOMATIC:mytag'",
        "insert into v values (1, string_to_vector('[1,2.5,-3e10]'), 4294967295, 5, 0.1),"
        " (2, null, 1, 1, 2), (3, string_to_vector('[0.1]'), 1, 1, 1)",
        "set gtid_next='AUTOMATIC'",
        "create table pa (id int primary key, x int) partition by range(id)"
        " (partition a values less than (10), partition b values less than maxvalue)",
        "insert into pa values (1, 1), (20, 2)",
        "update pa set id=30 where id=1",
        "set session binlog_transaction_compression=ON",
        "create table jj (id int primary key, j json, k json)",
        """insert into jj values (1, '{"a":[1,2,{"b":"xxxxxxxxxxxxxxxxxxxx"}],"""
        """"c d":"yyyyyyyyyyyyyy"}', '[1]')""",
        "set session binlog_row_value_options=PARTIAL_JSON",
        """update jj set j=json_replace(j, '$.a[2].b', 'z', '$."c d"', 'q')""",
        """update jj set j=json_remove(json_set(j, '$.new', cast('{"p":[1.50,"x"]}' as json)),
           '$.a[0]')""",
        "set session binlog_row_value_options=''",
        "set session binlog_transaction_compression=OFF",
    )
    server.keep(log, "vector")


def sessions(server: Server) -> None:
    """Transactions of two sessions with other settings in turn, one's with tagged GTIDs."""
    log = server.fresh()
    other = Server(server.socket)
    other.run(
        "use shop",
        "set gtid_next='AUTOMATIC:tag'",
        "set time_zone='+02:00', sql_mode='', auto_increment_increment=3, foreign_key_checks=0",
        "set names latin1",
    )
    server.run(
        "create table s (id int primary key, n int, t datetime default current_timestamp, f float)"
    )
    for i in range(120):
        session = other if i * 7 % 5 < 2 else server
        session.run(f'insert into s (id, n, f) values ({i}, {i * i}, {i} / 7) /* "quoted" */')
        if i % 6 == 5:
            session.run(f"update s set n = -n where id > {i - 4}")
    server.keep(log, "sessions")


MAKERS: dict[str, Callable[[Server], None]] = {
    "hostile": hostile,
    "absent": absent,
    "large": large,
    "vector": vector,
    "sessions": sessions,
}

if __name__ == "__main__":
    target = Server(sys.argv[1])
    for name in sys.argv[2:]:
        MAKERS[name](target)
