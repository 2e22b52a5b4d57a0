"""Scenarios written as SQL files."""

from __future__ import annotations

from pathlib import Path

import pytest

from binlogkit.errors import InputError, UsageError
from binlogkit_fixtures.scenarios import load_file
from binlogkit_fixtures.scenarios.model import (
    ALWAYS,
    Await,
    Condition,
    Failure,
    Follow,
    Kept,
    Leave,
    Mark,
    Restart,
    Sql,
    StoryServer,
)
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
--@ restart kill
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
        Restart("kill"),
        Sql("SELECT 1", "bob", NINE),
    )


SEVERAL = """\
-- @ databases d
-- @ server a
-- @ server b loose_max_relay_log_size=4096 replicate-do-db=d
"""


def test_a_story_of_several_servers() -> None:
    text = f"""{SEVERAL}\
-- @ keep b relay
-- @ keep a
-- @ follow b of a
SELECT 1;
-- @ session bob on b
SELECT 2;
-- @ session main
-- @ session bob
-- @ if version>=8
-- @ await b
-- @ end
-- @ unfollow b
"""
    scenario = parse_script("s", text)
    options = {"max-relay-log-size": "4096", "replicate-do-db": "d"}
    assert scenario.servers == (StoryServer("a"), StoryServer("b", options))
    assert scenario.keeps == (Kept("b", relay=True), Kept("a"))
    assert [kept.folder for kept in scenario.keeps] == ["b-relay", "a"]
    assert scenario.places == {"bob": "b"}
    assert [step for step in scenario.steps if not isinstance(step, Sql)] == [
        Follow("b", "a"),
        Await("b", Condition.parse("version>=8")),
        Follow("b", None),
    ]
    assert parse_script("s", f"{SEVERAL}SELECT 1;\n").keeps == (Kept("a"), Kept("b"))


@pytest.mark.parametrize(
    ("error", "text"),
    [
        ("line 4: 'A' cannot name a server", "-- @ server A"),
        ("line 4: '' cannot name a server", "-- @ server"),
        ("line 4: 'x' is not an option=value", "-- @ server c x"),
        ("line 4: option port is set by the runner", "-- @ server c port=1"),
        ("line 4: relay-log must be a base name", "-- @ server c relay-log=/tmp/x"),
        ("line 5: servers are named before", "SELECT 1;\n-- @ server c"),
        ("two servers have one name", "-- @ server a\nSELECT 1;"),
        ("line 4: there is no server 'c'", "-- @ keep c"),
        ("line 4: of a server its binary logs are kept, or", "-- @ keep a relays"),
        ("each server's logs are kept once", "-- @ keep a\n-- @ keep a\nSELECT 1;"),
        ("each server's logs are kept once",
         "-- @ server a-relay\n-- @ keep a relay\n-- @ keep a-relay\nSELECT 1;"),
        ("line 4: there is no server 'c'", "-- @ follow b of c"),
        ("line 4: there is no server ''", "-- @ follow b"),
        ("line 4: a server does not follow itself", "-- @ follow b of b"),
        ("line 4: server 'b' follows none", "-- @ await b"),
        ("line 4: server 'b' follows none", "-- @ unfollow b"),
        ("line 4: there is no server 'c'", "-- @ session x on c"),
        ("line 6: session 'x' is on another server",
         "-- @ session x on b\nSELECT 1;\n-- @ session x on a"),
        ("line 5: session 'main' is on another server", "SELECT 1;\n-- @ session main on b"),
        ("neither restarts nor ends one", "SELECT 1;\n-- @ restart stop"),
        ("neither restarts nor ends one", "-- @ ends kill\nSELECT 1;"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_several_servers(error: str, text: str) -> None:
    with pytest.raises(UsageError, match=error):
        parse_script("s", f"{SEVERAL}{text}\n")


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("line 3: there is no directive 'nonsense'", "--@ nonsense"),
        ("line 3: 'never' is not a time", "--@ at never"),
        ("line 3: 'soon' is not a number of seconds", "--@ wait soon"),
        ("line 3: nobody waits 'NaN' seconds", "--@ wait NaN"),
        ("line 3: nobody waits '-1' seconds", "--@ wait -1"),
        ("line 3: nobody waits '1e99' seconds", "--@ wait 1e99"),
        ("line 3: session 'bob' has run nothing", "--@ leave bob"),
        ("line 3: 'mysql' is the server's own database", "--@ databases shop mysql"),
        ("the script has no statement", "--@ mark a"),
        ("line 3: a server is restarted with stop or kill", "--@ restart now"),
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


def test_directives_are_comments_of_sql_too() -> None:
    assert parse_script("s", SCRIPT.replace("--@", "-- @")) == parse_script("s", SCRIPT)


def test_a_delimiter_as_clients_have_it() -> None:
    body = "CREATE PROCEDURE d.p()\nBEGIN\n  SELECT 1;\nEND"
    text = f"--@ databases d\nDELIMITER //\n{body} //\ndelimiter ;\nCALL d.p();\n"
    scenario = parse_script("s", text)
    assert [step.text for step in scenario.steps if isinstance(step, Sql)] == [
        f"{body} ",
        "CALL d.p()",
    ]
    assert scenario.begin == 1_704_067_200 * SECOND  # 2024-01-01, where no start is given


def test_a_file_is_called_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "orders-1.sql"
    path.write_bytes(b"\xef\xbb\xbf--@ databases d\r\nSELECT 1;\r\n")
    assert load_file(path).name == "orders-1"
    path.write_bytes(b"SELECT '\xff';\n")
    with pytest.raises(InputError, match="not UTF-8 at byte 8"):
        load_file(path)
    with pytest.raises(InputError, match="unreadable"):
        load_file(tmp_path / "none.sql")
    other = path.rename(tmp_path / "Orders.sql")
    other.write_text("--@ databases d\nSELECT 1;\n", "utf-8")
    with pytest.raises(UsageError, match="'Orders' cannot name a scenario"):
        load_file(other)
