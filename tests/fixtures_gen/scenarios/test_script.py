"""Scenarios written as SQL files."""

from __future__ import annotations

import pytest

from binlogkit.errors import UsageError
from binlogkit_fixtures.scenarios.model import ALWAYS, Condition, Failure, Leave, Mark, Sql
from binlogkit_fixtures.scenarios.script import parse_script

SECOND = 1_000_000
NINE = 1_714_554_000 * SECOND  # 2024-05-01T09:00:00Z

SCRIPT = """\
--@ story A line,
--@ story and another.
--@ databases bank audit
--@ requires version>=5.7
--@ ends stop
--@ start 2024-05-01T09:00:00
CREATE TABLE bank.t (
  -- a comment inside stays
  id INT PRIMARY KEY);

-- a comment outside goes
--@ session bob
--@ fails 1062 gtid=ON
--@ fails 1064
INSERT INTO bank.t VALUES (1), ('; ');
--@ mark first
--@ wait 0.5
--@ if version>=8
--@ if format=ROW
DROP TABLE bank.t;
--@ end
--@ mark inner
--@ end
--@ leave bob
--@ at 2024-05-01T11:00:00+02:00
SELECT 1;
"""


def test_a_script_is_read() -> None:
    scenario = parse_script("s", SCRIPT)
    new = Condition.parse("version>=8")
    assert scenario.name == "s"
    assert scenario.story == "A line, and another."
    assert scenario.databases == ("bank", "audit")
    assert scenario.ending == "stop"
    assert scenario.when == Condition.parse("version>=5.7")
    created = "CREATE TABLE bank.t (\n  -- a comment inside stays\n  id INT PRIMARY KEY)"
    fails = (Failure(1062, Condition.parse("gtid=ON")), Failure(1064, ALWAYS))
    assert scenario.steps == (
        Sql(created, "main", NINE),
        Sql("INSERT INTO bank.t VALUES (1), ('; ')", "bob", NINE + SECOND, fails),
        Mark("first", NINE + 2 * SECOND),
        Sql(
            "DROP TABLE bank.t",
            "bob",
            NINE + 2 * SECOND + SECOND // 2,
            when=new & Condition.parse("format=ROW"),
        ),
        Mark("inner", NINE + 3 * SECOND + SECOND // 2, new),
        Leave("bob"),
        Sql("SELECT 1", "bob", NINE),
    )


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("line 3: there is no directive 'nonsense'", "--@ nonsense"),
        ("line 3: 'never' is not a time", "--@ at never"),
        ("line 3: 'soon' is not a number of seconds", "--@ wait soon"),
        ("line 3: 'x' is not an error number", "--@ fails x"),
        ("line 3: 'a>1' is no condition", "--@ if a>1"),
        ("line 3: an end without its if", "--@ end"),
        ("line 4: a directive inside a statement", "SELECT\n--@ mark a"),
        ("the script ends inside", "SELECT 1"),
        ("the script ends inside", "--@ fails 1062"),
        ("the script ends inside", "--@ if gtid=ON\nSELECT 1;"),
        ("'Not a name' cannot name", "--@ mark Not a name"),
    ],
)
def test_a_wrong_script_names_its_line(line: str, text: str) -> None:
    with pytest.raises(UsageError, match=f"scenario s.*{line}"):
        parse_script("s", f"--@ databases d\n--@ start 2024-05-01T09:00:00\n{text}\n")


def test_a_script_names_its_databases() -> None:
    with pytest.raises(UsageError, match="names no databases"):
        parse_script("s", "SELECT 1;\n")
