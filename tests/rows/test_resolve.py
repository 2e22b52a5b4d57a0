"""Facts of columns from optional metadata: whose bit and whose character set is whose."""

from __future__ import annotations

import pytest

import binlogkit as bk
from binlogkit._kernel.cursor import Cursor
from binlogkit.constants import ColumnType as T
from binlogkit.events.query import Query
from binlogkit.events.status_vars import StatusVars
from binlogkit.events.table_map import OptionalMetadata, TableMap
from binlogkit.rows.ddl import Catalog
from binlogkit.rows.options import ReadOptions
from binlogkit.rows.resolve import key_of, read_columns, resolve_schema, signed_columns
from binlogkit.rows.table_history import TableHistory
from binlogkit_fixtures.golden import case


def columns(cell: str, scenario: str) -> dict[tuple[str, str], dict[str, object]]:
    golden = case(cell, scenario)
    tables = bk.open([str(path) for path in golden.binlogs]).tables(engine="pyarrow")
    return {(r["table"], r["column"]): r for r in tables.to_pylist()}


def test_a_vector_has_a_place_among_the_character_sets() -> None:
    """9.7.4 counts VECTOR, so that a text column behind one has the second character set."""
    found = columns("9-row-full", "modern")
    vectors = [key for key, column in found.items() if column["kind"] == "vector"]
    assert vectors
    truth = {
        (name.partition(".")[2], column.name): column.charset
        for name, table in case("9-row-full", "modern").manifest.marks[-1].tables.items()
        for column in table.columns
        if column.charset is not None
    }
    checked = {key: found[key]["charset"] for key in truth if key in found}
    assert checked and checked == {key: truth[key] for key in checked}


@pytest.mark.parametrize("cell", ["8.0-row-full", "8.0-row-full-metadata", "5.7-row-full"])
def test_types_are_those_of_information_schema(cell: str) -> None:
    """Signs, lengths, scales, labels: as COLUMN_TYPE says, display widths of 5.7 aside."""
    import re

    golden = case(cell, "types")
    found = columns(cell, "types")
    checked = 0
    for name, table in golden.manifest.marks[-1].tables.items():
        for column in table.columns:
            ours = found.get((name.partition(".")[2], column.name))
            if ours is None or ours["kind"] in ("geometry", "set", "enum"):
                continue
            theirs = re.sub(r"\b(tiny|small|medium|big)?int\(\d+\)", r"\1int", column.type)
            theirs = re.sub(r"year\(\d\)| zerofill|\(\d+,\d+\)(?= unsigned$|$)", _kept, theirs)
            assert ours["unsigned"] == ("unsigned" in column.type)
            assert str(ours["mysql_type"]).split("(")[0] == theirs.split("(")[0], column
            checked += 1
    assert checked > 50


def _kept(match: object) -> str:
    text = match.group(0)  # type: ignore[attr-defined]
    return "year" if text.startswith("year") else "" if "zerofill" in text else text


@pytest.mark.parametrize(
    ("definition", "key", "kind"),
    [
        ("a INT PRIMARY KEY, b INT NOT NULL UNIQUE", ("a",), "primary"),
        ("a INT, b INT NOT NULL, UNIQUE (a), UNIQUE (b)", ("b",), "unique"),
        ("a INT NOT NULL, b INT, UNIQUE (a, b)", (), "none"),
        ("a INT NOT NULL, b INT NOT NULL, UNIQUE (b, a), UNIQUE (a)", ("b", "a"), "unique"),
        ("a INT UNIQUE", (), "none"),
        ("a INT NOT NULL, KEY (a)", (), "none"),
    ],
)
def test_the_key_of_a_table(definition: str, key: tuple[str, ...], kind: str) -> None:
    """A unique key that may hold NULL identifies no row: NULLs are never equal."""
    catalog = Catalog("8.0.31")
    catalog.apply(f"CREATE TABLE t ({definition})", default_db="d")
    table = catalog.table("d", "t")
    assert table is not None
    assert key_of(table) == (key, kind)


@pytest.mark.parametrize("drop", ["DROP CONSTRAINT b", "DROP INDEX b", "DROP KEY `B`"])
def test_a_unique_key_that_was_dropped_is_none(drop: str) -> None:
    """8.0.19 on: DROP CONSTRAINT drops a unique key, too."""
    catalog = Catalog("8.0.31")
    catalog.apply("CREATE TABLE t (a INT, b INT NOT NULL, UNIQUE KEY b (b))", default_db="d")
    before = catalog.table("d", "t")
    catalog.apply(f"ALTER TABLE t {drop}", default_db="d")
    after = catalog.table("d", "t")
    assert before is not None and after is not None
    assert (key_of(before), key_of(after)) == ((("b",), "unique"), ((), "none"))


def year_map(bits: str) -> TableMap:
    """INT, YEAR, MEDIUMINT UNSIGNED, TINYINT with these bits of signedness."""
    types = bytes((T.LONG, T.YEAR, T.INT24, T.TINY))
    unsigned = tuple(bit == "1" for bit in bits.ljust(8, "0"))
    optional = OptionalMetadata(unsigned=unsigned, order=(1,))
    return TableMap(7, 1, "d", "t", types, b"", b"\x0f", optional)


@pytest.mark.parametrize(
    ("server_version", "bits"),
    [
        ("8.0.15", "010"), ("8.0.20", "010"), ("8.0.20-log", "010"),
        ("8.0.21", "0110"), ("8.0.31", "0110"), ("9.7.4", "0110"),
        ("10.6.12-MariaDB-log", "0110"), ("", "0110"),
    ],
)  # fmt: skip
def test_year_has_a_bit_of_signedness_since_a_release_of_8_0(
    server_version: str, bits: str
) -> None:
    """None in 8.0.15, where the column behind a YEAR took the sign of the one behind it."""
    found = resolve_schema(year_map(bits), 0, server_version=server_version)
    signs = [column.unsigned for column in found.columns]
    assert signs == [False, False, True, False]


def test_the_bits_of_a_year_tell_whether_it_has_one() -> None:
    columns = list(read_columns(year_map(""), Cursor(b"")))
    old, new = [0, 2, 3], [0, 1, 2, 3]
    for version, bits, indexes in (
        ("8.0.20", (True,) * 8, old), ("8.0.25", (True,) * 8, new),
        ("8.0.25", (True, False) * 4, old), ("8.0.25", (), old), ("9.7.4", (True,), old),
    ):  # fmt: skip
        assert [c.index for c in signed_columns(columns, bits, version)] == indexes


def test_the_same_table_map_of_another_server_has_other_signs() -> None:
    """Logs from before and behind an upgrade are read together."""
    history = TableHistory(ReadOptions())
    found = []
    for version in ("8.0.15", "8.0.31", "8.0.15"):
        history.catalog.server_version = version
        schema = history.schema(year_map("0110"), "binlog.000001", 4)
        found.append([column.unsigned for column in schema.columns])
    assert found == [[False, False, True, True], [False, False, True, False], found[0]]


@pytest.mark.parametrize(
    ("sql", "tracked"),
    [
        ("CREATE TABLE t (c INT)", {("d", "t")}),
        ("DROP TABLE t", {("d", "t")}),
        ("RENAME TABLE t TO e.u", {("d", "t"), ("e", "u")}),
        ("TRUNCATE TABLE t", {("d", "t")}),
        ("INSERT INTO t VALUES (1)", set()),
    ],
)
def test_what_changes_tables_makes_maps_that_come_others(sql: str, tracked: set[object]) -> None:
    history = TableHistory(ReadOptions())
    history.apply(Query(1, 0, 0, "d", StatusVars(), sql))
    assert history.generation == len([name for name in tracked if name != ("e", "u")])
    assert {name for name in history.tracked if name[1]} == tracked


@pytest.mark.parametrize(
    "sql",
    ["ALTER TABLE t ADD n INT", "RENAME TABLE t TO x, x TO t", "DROP DATABASE d", "DROP TABLE t"],
)
def test_a_catalog_that_was_taken_later_is_not_changed_before(sql: str) -> None:
    """What such a statement did is in it."""
    catalog = Catalog()
    catalog.apply("CREATE TABLE t (id INT PRIMARY KEY, n INT)", default_db="d")
    history = TableHistory(ReadOptions(catalog=catalog, taken_at=(("binlog.000001", 500),)))
    known = history.catalog.table("d", "t")
    for statement in ("CREATE TABLE u (c INT)", sql):
        history.apply(Query(1, 0, 0, "d", StatusVars(), statement), "binlog.000001", 400)
    assert history.catalog.table("d", "t") == known
    assert ("d", "t") not in history.tracked
    history.apply(Query(1, 0, 0, "d", StatusVars(), "ALTER TABLE t DROP n"), "binlog.000001", 500)
    definition = history.catalog.table("d", "t")
    assert definition is not None
    assert [column.name for column in definition.columns] == ["id"]
    assert ("d", "t") in history.tracked
