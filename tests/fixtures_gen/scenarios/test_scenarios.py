"""The scenarios that come with the package, as texts: what they promise to hold."""

from __future__ import annotations

import pytest

from binlogkit.errors import UsageError
from binlogkit_fixtures.scenarios import NAMES, load
from binlogkit_fixtures.scenarios.column_types import FAMILIES
from binlogkit_fixtures.scenarios.incident import BAD_STATEMENT
from binlogkit_fixtures.scenarios.model import Mark, Sql


@pytest.mark.parametrize("name", NAMES)
def test_each_scenario_loads_and_is_repeatable(name: str) -> None:
    scenario = load(name)
    assert scenario.name == name
    assert len(scenario.story) > 100
    assert scenario.steps
    for step in scenario.steps:
        if isinstance(step, Sql) and not step.text.startswith("DO SLEEP("):  # which logs nothing
            assert step.time > 1_700_000_000_000_000
            for word in ("UUID()", "SYSDATE(", "SLEEP(", "CONNECTION_ID(", "RAND() *"):
                assert word not in step.text.upper(), f"{name} cannot repeat: {step.text}"


@pytest.mark.parametrize("name", NAMES)
def test_each_scenario_ends_with_a_mark(name: str) -> None:
    assert isinstance(load(name).steps[-1], Mark)


def test_an_unknown_scenario() -> None:
    with pytest.raises(UsageError, match="there is no scenario 'nothing'; there are types"):
        load("nothing")


def test_types_has_every_type_of_both_servers() -> None:
    declared = " ".join(column.type for family in FAMILIES for column in family.columns).upper()
    words = set(declared.replace("(", " ").replace(")", " ").split())
    wanted = (
        "TINYINT SMALLINT MEDIUMINT INT BIGINT BOOLEAN FLOAT DOUBLE DECIMAL NUMERIC BIT DATE TIME "
        "DATETIME TIMESTAMP YEAR CHAR VARCHAR BINARY VARBINARY TINYTEXT TEXT MEDIUMTEXT LONGTEXT "
        "TINYBLOB BLOB MEDIUMBLOB LONGBLOB ENUM SET JSON GEOMETRY POINT LINESTRING POLYGON "
        "MULTIPOINT MULTILINESTRING MULTIPOLYGON GEOMETRYCOLLECTION UNSIGNED ZEROFILL"
    )
    assert set(wanted.split()) <= words
    assert all(f"BIT({width})" in declared for width in range(1, 65))
    for kind in ("TIME", "DATETIME", "TIMESTAMP"):
        assert all(f"{kind}({digits})" in declared for digits in range(7))


def test_the_incident_has_its_story() -> None:
    scenario = load("incident")
    texts = [step.text for step in scenario.steps if isinstance(step, Sql)]
    at = texts.index(BAD_STATEMENT)
    assert sum(text == "COMMIT" for text in texts[:at]) > 10
    assert sum(text == "COMMIT" for text in texts[at:]) > 5
    assert scenario.end - scenario.begin > 20 * 60 * 1_000_000
    assert [s.name for s in scenario.steps if isinstance(s, Mark)] == [
        "loaded", "before", "after", "end",
    ]  # fmt: skip
