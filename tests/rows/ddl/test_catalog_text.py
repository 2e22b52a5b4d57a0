"""A catalog's text is the catalog again."""

from __future__ import annotations

import pytest

from binlogkit.errors import SchemaError
from binlogkit.log import open_log
from binlogkit.log.index import Joined, parts_of
from binlogkit.rows.ddl import Catalog
from binlogkit.rows.ddl.catalog_text import catalog_of_text, catalog_text
from binlogkit.rows.ddl.dump import load_schema
from binlogkit_fixtures import golden

SCHEMA = """
CREATE DATABASE d DEFAULT CHARACTER SET latin1; USE d;
CREATE TABLE parent (id INT PRIMARY KEY, u VARCHAR(9), UNIQUE KEY named (u(3)));
CREATE TABLE child (
  id BIGINT UNSIGNED ZEROFILL AUTO_INCREMENT, p INT, e ENUM('a','ä'), b BINARY(2) DEFAULT x'00ff',
  g INT AS (p + 1) STORED, t TIMESTAMP DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
  KEY (p), UNIQUE KEY (e, p), PRIMARY KEY (id),
  FOREIGN KEY (p) REFERENCES parent (id) ON DELETE CASCADE
) ENGINE=InnoDB;
"""


def same(catalog: Catalog) -> None:
    text = catalog_text(catalog)
    found = catalog_of_text(text)
    assert catalog_text(found) == text
    assert found.tables() == catalog.tables() and found.databases == catalog.databases
    assert [found.tracked(n) for n in found.names()] == [catalog.tracked(n) for n in found.names()]
    for change in (
        "DROP INDEX p ON d.child",
        "ALTER TABLE d.child ADD c TEXT, RENAME COLUMN p TO q",
    ):
        one, other = (each.copy() for each in (found, catalog))
        assert one.apply(change, default_db=None) == other.apply(change, default_db=None)


@pytest.mark.parametrize("fold", [0, 1, 2])
def test_of_a_schema_file(fold: int) -> None:
    catalog = load_schema(SCHEMA)
    catalog.fold = fold
    catalog.lose(("d", "broken"), "it is gone")
    same(catalog)


@pytest.mark.parametrize("scenario", ["ddl", "keys", "types", "cascades"])
def test_of_logs(scenario: str) -> None:
    joined = Joined(
        parts_of(open_log(list(golden.case("8.0-row-full", scenario).binlogs)).carriers)
    )
    catalog = Catalog("8.0.31")
    for one in joined.series.definitions({p.source for p in joined.positions if p.source}):
        catalog.enter(one)
    assert catalog.tables()
    same(catalog)


@pytest.mark.parametrize("text", ["", "[]", '{"lower_case_table_names": 0}', "{}"])
def test_other_texts_are_errors(text: str) -> None:
    with pytest.raises(SchemaError, match="cannot be read"):
        catalog_of_text(text)
