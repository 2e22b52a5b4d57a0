"""Dumps that are folders: what later versions write by their documentation, and what is refused.

Dumps of real servers: ``tests/log/states/bases/test_base_folders_server.py``.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from binlogkit.errors import BinlogKitError, InputError, LimitError, UsageError
from binlogkit.frames.snapshots.reading import read_snapshots
from binlogkit.frames.snapshots.snapshot import Snapshot

UUID = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
Files = dict[str, str | bytes]


def snapshot(folder: Path, files: Mapping[str, str | bytes], *wanted: str) -> Snapshot:
    """The snapshot of a folder with these files."""
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())

    def no_fields() -> Any:
        raise UsageError("not of a folder")

    (found,) = read_snapshots(folder, set(wanted) or None, no_fields)
    return found


def values(found: Snapshot, db: str, table: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = found.tables[db, table].rows["values"].to_pylist()
    return rows


# ---- mydumper ----------------------------------------------------------------------------

HEAD = "/*!40101 SET NAMES binary*/;\n/*!40014 SET FOREIGN_KEY_CHECKS=0*/;\n"
OLD = (
    "Started dump at: 2026-11-23 17:26:49\nSHOW MASTER STATUS:\n\tLog: binlog.000001\n"
    f"\tPos: 5396\n\tGTID:{UUID}:1-17\n\nSHOW SLAVE STATUS:\n\tHost: h\n\tLog: other.000009\n"
    "\tPos: 4\n\tGTID:\n\nFinished dump at: 2026-11-23 17:26:49\n"
)
# As docs/files.rst has it since 0.14.1, and `write_snapshot_info` of 1.0.3.
NEW = (
    "# Started dump at: 2023-06-09 11:47:18\n[config]\nquote-character = BACKTICK\n\n[master]\n"
    "# Channel_Name = '' # It can be use to setup replication FOR CHANNEL\nFile = bin.000017\n"
    f"Position = 241149225\nExecuted_Gtid_Set = {UUID}:1-5,{UUID}:7\n\n[replication]\n"
    "File = other.000001\nPosition = 4\n\n[`s`.`t`]\nRows = 2\ndata_checksum = 31\n\n"
    "[`s`.`mydumper_0`]\nreal_table_name=odd.name\nrows = 1\n\n[`s`]\nschema_checksum = FDF\n"
    "# Finished dump at: 2023-06-09 11:47:18\n"
)
COMMENTED = (
    "# Started dump at: 2026-09-19 18:15:36\n[source]\n# SOURCE_LOG_FILE = \"bin.000002\"\n"
    "# SOURCE_LOG_POS = 839\n#SOURCE_HOST = \"(null)\"\nexecuted_gtid_set = \"\"\n\n"
    "# Finished dump at: 2026-09-19 18:15:36\n"
)  # fmt: skip
FILES: Files = {
    "s-schema-create.sql": "CREATE DATABASE /*!32312 IF NOT EXISTS*/ `s`;\n",
    "s.t-schema.sql.gz": gzip.compress(
        f"{HEAD}CREATE TABLE `t` (\n  `a` int, `j` json, `c` varchar(9) CHARSET latin1\n);".encode()
    ),
    "s.t.00000.sql": (
        f"{HEAD}INSERT INTO `t` (`a`,`j`,`c`) VALUES".encode()
        + rb'(1,CONVERT("{\"k\": \"\\\"\"}" USING UTF8MB4),"' + b'\xe9"' + b')\n,(2,NULL,"'
        + rb"\'" + b"''" + b'""")\n;\n'
    ),
    "s.mydumper_0-schema.sql": f"{HEAD}CREATE TABLE `odd.name` (`b` int);\n",
    "s.mydumper_0.00000.00001.sql": f"{HEAD}INSERT INTO `odd.name` VALUES(3)\n;\n",
    "s.v-schema.sql": "CREATE TABLE `v` (`a` int) ENGINE=MyISAM;\n",
    "s.v-schema-view.sql": "CREATE VIEW `v` AS SELECT 1;\n",
    "s-schema-post.sql": "CREATE PROCEDURE p() SELECT 1;\n",
}  # fmt: skip


def test_mydumper(tmp_path: Path) -> None:
    found = snapshot(tmp_path / "d", FILES | {"metadata": NEW})
    assert (found.file, found.pos, str(found.gtids)) == ("bin.000017", 241149225, f"{UUID}:1-5:7")
    assert found.tables.keys() == {("s", "t"), ("s", "odd.name")}
    assert values(found, "s", "t") == [
        {"a": 1, "j": '{"k": "\\""}', "c": "é"},
        {"a": 2, "j": None, "c": "'''\""},
    ]
    assert values(found, "s", "odd.name") == [{"b": 3}]
    assert not any(table.doubts for table in found.tables.values())
    assert found.catalog is not None and len(found.catalog.tables()) == 2
    assert snapshot(tmp_path / "d", {}, "odd.name").tables.keys() == {("s", "odd.name")}


@pytest.mark.parametrize(
    "metadata, place",
    [(OLD, ("binlog.000001", 5396, f"{UUID}:1-17")), (COMMENTED, ("bin.000002", 839, "None"))],
)
def test_where_a_mydumper_belongs(
    tmp_path: Path, metadata: str, place: tuple[str, int, str]
) -> None:
    found = snapshot(tmp_path / "d", FILES | {"metadata": metadata})
    assert (found.file, found.pos, str(found.gtids)) == place
    assert found.unplaced is None


@pytest.mark.parametrize(
    "metadata, reason",
    [
        ("Started dump at: x\nFinished dump at: y\n", "it has no coordinates"),
        (COMMENTED.replace("839", "v"), "cannot be read"),
        (OLD.replace(UUID, "nonsense"), "cannot be read"),
    ],
)
def test_a_mydumper_that_belongs_nowhere(tmp_path: Path, metadata: str, reason: str) -> None:
    found = snapshot(tmp_path / "d", FILES | {"metadata": metadata})
    assert found.unplaced is not None and reason in found.unplaced
    assert (found.file, found.pos, found.gtids) == (None, None, None)


@pytest.mark.parametrize(
    "files, reason",
    [
        ({"metadata": NEW.replace("Finished", "Begun")}, "was not finished"),
        ({"metadata": NEW, "metadata.partial": ""}, "was not finished"),
        ({"metadata": NEW.replace("Rows = 2", "Rows = 3")}, "has 2 rows in it, and 3"),
        ({"metadata": NEW, "s.t.00001.sql": "INSERT INTO `t` VALUES (9,NULL,NULL);"}, "3 rows"),
        ({"metadata": OLD, "s.t.00001.sql": "INSERT INTO `t` VALUES (9,NULL,"}, "inside a state"),
        ({"metadata": OLD, "s.t.00001.sql.gz": gzip.compress(b"x" * 99)[:-9]}, "compress"),
        ({"metadata": OLD, "s.t.sql": "LOAD DATA LOCAL INFILE 'x' INTO TABLE `t`;"}, "changes s.t"),
        ({"metadata": OLD, "s.t.sql": "INSERT INTO `u` VALUES (1);"}, "no CREATE TABLE of s.u"),
        ({"metadata": OLD, "s.t.sql": 'SET SQL_MODE=\'ANSI\';INSERT INTO t VALUES (1,"j","c");'},
         "no literal"),
        ({"metadata": OLD, "s.t.sql": 'INSERT INTO t VALUES (1,CONVERT("j" USING latin1),"c");'},
         "no literal"),
        ({"metadata": OLD, "s.t-schema-create.sql": "CREATE DATABASE `s.t`;",
          "s.t.u-schema.sql": "CREATE TABLE u (a int);"}, "which database"),
    ],
)  # fmt: skip
def test_a_mydumper_that_is_refused(tmp_path: Path, files: Files, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        snapshot(tmp_path / "d", FILES | files)


def test_rows_that_may_be_missing(tmp_path: Path) -> None:
    """0.10 does not say how many there are."""
    found = snapshot(tmp_path / "d", FILES | {
        "metadata": OLD, "s.t.00002.sql": "", "s.empty-schema.sql": "CREATE TABLE empty (a int);",
    })  # fmt: skip
    assert "chunk" in found.tables["s", "t"].doubts[0]
    assert "no rows" in found.tables["s", "empty"].doubts[0]
    assert found.tables["s", "odd.name"].doubts == ()
    said = NEW.replace("[`s`]", "[`s`.`empty`]\nrows = 0\n\n[`s`]")
    found = snapshot(tmp_path / "d", {"metadata": said})
    assert not any(table.doubts for table in found.tables.values())


def test_a_table_that_is_called_like_a_chunk(tmp_path: Path) -> None:
    """The INSERTs say whose rows they are."""
    files: Files = {
        "metadata": OLD,
        "s-schema-create.sql": "CREATE DATABASE `s`;",
        "s.t-schema.sql": "CREATE TABLE t (a int);",
        "s.t.00001-schema.sql": "CREATE TABLE `t.00001` (a int);",
        "s.t.00001.sql": "INSERT INTO `t` VALUES (1);",
        "s.t.00001.00001.sql": "INSERT INTO `t.00001` VALUES (2);",
    }
    found = snapshot(tmp_path / "d", files)
    assert values(found, "s", "t") == [{"a": 1}] and values(found, "s", "t.00001") == [{"a": 2}]
    found = snapshot(tmp_path / "d", {}, "t.00001")
    assert values(found, "s", "t.00001") == [{"a": 2}]


# ---- MySQL Shell -------------------------------------------------------------------------

OPTIONS: dict[str, Any] = {
    "columns": ["a", "b", "c"], "decodeColumns": {"b": "FROM_BASE64"},
    "defaultCharacterSet": "utf8mb4", "fieldsTerminatedBy": "\t", "fieldsEnclosedBy": "",
    "fieldsOptionallyEnclosed": False, "fieldsEscapedBy": "\\", "linesTerminatedBy": "\n",
}  # fmt: skip
ABOUT = {"options": OPTIONS, "includesData": True, "extension": "tsv", "basenames": {}}
BEGUN = {
    "schemas": ["s"], "basenames": {"s": "s"}, "consistent": True, "tzUtc": True,
    "serverVersion": "8.0.31", "binlogFile": "bin.000001", "binlogPosition": 157,
    "gtidExecuted": f"{UUID}:1-3,\n{UUID}:5",
}  # fmt: skip
ROWS = b"1\tAP8=\ta\\tb\\\\\\n\n\\N\t\\N\t\\\\N\n"


def shell(about: Mapping[str, Any] = ABOUT, **changed: Any) -> Files:
    """A dump of one table, its files of JSON as given."""
    schema = {"tables": ["t"], "basenames": {"t": "s@t"}}
    files: dict[str, Any] = {
        "@.json": BEGUN, "@.done.json": {"chunkFileBytes": {}}, "s.json": schema,
        "s@t.json": about, **changed,
    }  # fmt: skip
    made: Files = {name: json.dumps(told) for name, told in files.items()}
    made["s@t.sql"] = (
        "-- Host: localhost    Database: s    Table: t\n-- Server version\t8.0.31\n"
        "CREATE TABLE IF NOT EXISTS `t` (a INT, b BLOB, c TEXT CHARSET utf8mb4);\n"
    )
    return made


def options(**changed: Any) -> dict[str, Any]:
    return {**ABOUT, "options": {**OPTIONS, **changed}}


def test_shell(tmp_path: Path) -> None:
    found = snapshot(tmp_path / "d", shell() | {"s@t.tsv": ROWS})
    expected = [
        {"a": 1, "b": b"\0\xff", "c": "a\tb\\\n"}, {"a": None, "b": None, "c": "\\N"},
    ]  # fmt: skip
    assert values(found, "s", "t") == expected
    assert (found.file, found.pos, str(found.gtids)) == ("bin.000001", 157, f"{UUID}:1-3:5")
    begun = {**BEGUN, "source": {"binlog": {"file": "x.1", "position": 4, "gtidExecuted": ""}}}
    found = snapshot(tmp_path / "d", shell(**{"@.json": begun}))
    assert (found.file, found.pos, found.gtids) == ("x.1", 4, None)
    nowhere = {k: v for k, v in BEGUN.items() if k[:4] not in ("binl", "gtid")}
    found = snapshot(tmp_path / "d", shell(**{"@.json": nowhere}))
    assert found.unplaced == "it has no coordinates"


def test_shell_partitions_and_chunks(tmp_path: Path) -> None:
    about = {**ABOUT, "basenames": {"p0": "s@t@p0", "p1": "s@t@p1"}}
    sizes = {"s@t@p0@0.tsv": 7, "s@t@p0@@1.tsv": 0, "s@t@p1@@0.tsv": 7}
    rows = {"s@t@p0@0.tsv": b"1\t\\N\ta\n", "s@t@p0@@1.tsv": b"", "s@t@p1@@0.tsv": b"2\t\\N\tb\n"}
    files = shell(about, **{"@.done.json": {"chunkFileBytes": sizes}}) | rows
    found = snapshot(tmp_path / "d", files)
    assert [row["a"] for row in values(found, "s", "t")] == [1, 2]
    for name in rows:
        (tmp_path / "d" / name).unlink()
        with pytest.raises(InputError, match="not whole"):
            snapshot(tmp_path / "d", {})
        snapshot(tmp_path / "d", rows)


CSV = {"fieldsTerminatedBy": ",", "fieldsEnclosedBy": '"', "linesTerminatedBy": "\r\n"}


@pytest.mark.parametrize(
    "dialect, rows, expected",
    [
        (CSV, b'1,\\N,"a\\,\\"\\\\"\r\n', 'a,"\\'),
        (CSV, b'"1",\\N,"\\N"\r\n', "N"),
        ({}, b'1\t\\N\ta\\\tb\\"\n', 'a\tb"'),
        ({"decodeColumns": {"b": "UNHEX", "c": "UNHEX"}}, b"1\t\t141\n", "\x01A"),
        ({"decodeColumns": {"c": "FROM_BASE64"}}, b"1\tx\tQU\\nJD\n", "ABC"),
    ],
)
def test_shell_dialects(
    tmp_path: Path, dialect: dict[str, Any], rows: bytes, expected: str
) -> None:
    found = snapshot(tmp_path / "d", shell(options(**dialect)) | {"s@t.tsv": rows})
    assert [row["c"] for row in values(found, "s", "t")] == [expected]


@pytest.mark.parametrize(
    "files, reason",
    [
        (shell(**{"@.json": {**BEGUN, "consistent": False}}), "not of one moment"),
        (shell(**{"@.json": {**BEGUN, "options": {"partitions": {"s.t": ["p"]}}}}), "left out"),
        (shell({**ABOUT, "where": "a > 1"}), "left out"),
        (shell({**ABOUT, "includesData": False}), "left out"),
        (shell({**ABOUT, "extension": "tsv.zst"}), "s@t@@0.tsv.zst is missing"),
        (shell({**ABOUT, "extension": "../../x"}), "is missing"),
        (shell(**{"s.json": {"tables": ["t"], "basenames": {"t": "../s@t"}}}), "is missing"),
        (shell(**{"s.json": {"tables": ["u"], "basenames": {"u": "s@t"}}}), "not make the table"),
        (shell(**{"s.json": {"tables": 5}}), "not as MySQL Shell"),
        (shell() | {"@.json": "5"}, "not as MySQL Shell"),
        (shell(**{"@.done.json": {"chunkFileBytes": {"s@t@0.tsv": 1}}}), "s@t@0.tsv is missing"),
        (shell() | {"s@t.tsv.idx": (1 << 20).to_bytes(8, "big")}, "another size"),
        (shell() | {"s@t.json": "{"}, "no JSON"),
        (shell() | {"s@t.json": "[" * 100_000}, "no JSON"),
        (shell() | {"s@t.tsv": ROWS[:-1]}, "ends inside a row"),
        (shell() | {"s@t.tsv": b"1\t\\N\n"}, "another number of values"),
        (shell() | {"s@t.tsv": b"1\t\\N\ta\\\n"}, "ends with a backslash"),
        (shell() | {"s@t.tsv": b"1\tA*==\ta\n"}, "not encoded"),
        (shell() | {"s@t.tsv": b"x\t\\N\ta\n"}, "no integer"),
        (shell(options(**CSV)), "another end"),
        (shell(options(fieldsEscapedBy="")), "dialect"),
        (shell(options(linesTerminatedBy="|")), "dialect"),
        (shell(options(columns=["a", "b"], decodeColumns={})), "leaves out column c"),
    ],
)
def test_a_shell_dump_that_is_refused(tmp_path: Path, files: Files, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        snapshot(tmp_path / "d", {"s@t.tsv": ROWS, **files})


# ---- hostile -----------------------------------------------------------------------------


def test_a_shell_dump_that_was_not_finished(tmp_path: Path) -> None:
    files = shell() | {"s@t.tsv": ROWS}
    del files["@.done.json"]
    with pytest.raises(InputError, match="was not finished"):
        snapshot(tmp_path / "d", files)


@pytest.mark.parametrize("name", ["s@t.tsv", "@.json", "s@t.sql"])
def test_links_are_not_followed(tmp_path: Path, name: str) -> None:
    files = shell() | {"s@t.tsv": ROWS}
    snapshot(tmp_path / "d", files)
    (tmp_path / "d" / name).rename(tmp_path / "elsewhere")
    (tmp_path / "d" / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="links are not followed"):
        snapshot(tmp_path / "d", {})


@pytest.mark.parametrize(
    "limit, change",
    [
        ("DUMP_METADATA", lambda files: files | {"@.done.json": gzip.compress(b" " * 5_000_000)}),
        ("DUMP_STATEMENT", lambda files: files | {"s@t.tsv": gzip.compress(b"x" * 5_000_000)}),
    ],
)
def test_what_is_too_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, change: Callable[[Files], Files]
) -> None:
    monkeypatch.setenv(f"BINLOGKIT_LIMIT_{limit}", "3000000")
    with pytest.raises(LimitError, match=limit):
        snapshot(tmp_path / "d", change(shell() | {"s@t.tsv": ROWS}))


@pytest.mark.parametrize(
    "make", [lambda: FILES | {"metadata": NEW}, lambda: shell() | {"s@t.tsv": ROWS}]
)
def test_every_byte_that_is_another(tmp_path: Path, make: Callable[[], Files]) -> None:
    """A snapshot, or an error that is documented."""
    files, folder = make(), tmp_path / "d"
    snapshot(folder, files)
    for name, content in files.items():
        data = content if isinstance(content, bytes) else content.encode()
        for at in range(0, len(data), 3):
            (folder / name).write_bytes(
                data[:at] + bytes([data[at] ^ (1 << at % 8)]) + data[at + 1 :]
            )
            try:
                snapshot(folder, {})
            except BinlogKitError:
                continue
        (folder / name).write_bytes(data)
