"""Quoted names come out as they went in: manual, "Schema Object Names"."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from binlogkit.rows.ddl import Catalog
from binlogkit.rows.ddl.session import SqlMode
from binlogkit.rows.ddl.written import written_tables

# "Permitted characters in quoted identifiers include the full Unicode Basic Multilingual Plane
# (BMP), except U+0000"; "Database, table, and column names cannot end with space characters."
NAMES = st.text(
    st.characters(min_codepoint=1, max_codepoint=0xFFFF, exclude_categories=["Cs"]), min_size=1,
    max_size=64,
).filter(lambda name: not name.endswith(" "))  # fmt: skip

ANSI = int(SqlMode.ANSI_QUOTES)
BARE = int(SqlMode.NO_BACKSLASH_ESCAPES)
#: "unquoted: [0-9,a-z,A-Z$_] and U+0080 .. U+FFFF; identifiers may begin with a digit but unless
#: quoted may not consist solely of digits"
UNQUOTED = st.from_regex(r"[0-9]{0,3}[a-zA-Z$_\u00e0-\u00ff\u4e00-\u4e10][a-zA-Z0-9$_\u00ff]{0,20}",
                         fullmatch=True)  # fmt: skip


def quoted(name: str, sign: str) -> str:
    """ "If you quote the identifier with the character itself, double it." """
    return sign + name.replace(sign, sign * 2) + sign


@settings(deadline=None)
@given(NAMES, NAMES, NAMES, st.sampled_from([("`", 0), ("`", ANSI), ('"', ANSI), ("`", BARE),
                                             ('"', ANSI | BARE)]))  # fmt: skip
def test_quoted_names(db: str, table: str, column: str, quoting: tuple[str, int]) -> None:
    sign, mode = quoting
    d, t, c = (quoted(name, sign) for name in (db, table, column))
    catalog = Catalog("8.0.31")
    catalog.apply(
        f"CREATE TABLE {d} . {t}({c} INT,PRIMARY KEY({c}))", default_db=None, sql_mode=mode
    )
    found = catalog.table(db, table)
    assert found is not None
    assert found.columns[0].name == column
    assert found.primary_key == (column,)
    assert written_tables(f"INSERT INTO{d}.{t}VALUES(1)", None, mode) == [(db, table)]
    (change,) = catalog.apply(f"RENAME TABLE {d}.{t} TO{t}", default_db="x", sql_mode=mode)
    assert (change.new_db, change.new_table) == ("x", table)


@settings(deadline=None)
@given(UNQUOTED)
@example("0X")
@example("0B")
@example("0E$")
def test_unquoted_names(name: str) -> None:
    catalog = Catalog("8.0.31")
    catalog.apply(f"CREATE TABLE {name}_t ({name}_c INT, KEY ({name}_c))", default_db="d")
    found = catalog.table("d", f"{name}_t")
    assert found is not None
    assert found.columns[0].name == f"{name}_c"


@settings(deadline=None)
@given(st.lists(st.text(max_size=20), min_size=1, max_size=5), st.booleans())
def test_labels(labels: list[str], bare: bool) -> None:
    """Strings: "Within a string, … the escape sequences", and "two quotes" for a quote."""
    texts = [label.replace("'", "''") for label in labels]
    if not bare:
        texts = [text.replace("\\", "\\\\") for text in texts]
    listed = ",".join(f"'{text}'" for text in texts)
    catalog = Catalog("8.0.31")
    catalog.apply("CREATE DATABASE d CHARACTER SET utf8mb4", default_db=None)
    catalog.apply(
        f"CREATE TABLE t (c ENUM({listed}))", default_db="d", sql_mode=BARE if bare else 0
    )
    found = catalog.table("d", "t")
    assert found is not None
    assert found.columns[0].labels == tuple(label.rstrip(" ") for label in labels)
