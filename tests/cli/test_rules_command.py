"""``binlogkit rules`` and ``conform --rules``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from binlogkit.cli import run
from binlogkit_fixtures import golden

SCHEMA = "CREATE TABLE d.t (id INT PRIMARY KEY, a INT, b TEXT);"


def records(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, object]]:
    """The records of a command that ends well."""
    assert run([*arguments, "--format", "jsonl"]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_a_statement(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    schema = tmp_path / "schema.sql"
    schema.write_text(SCHEMA)
    found = records(
        capsys, "rules", "UPDATE t SET a = 1 LIMIT 1", "--schema", str(schema), "--database", "d",
        "--set", "binlog_format=MIXED", "--set", "binlog_row_image=minimal", "--server", "8.0",
    )  # fmt: skip
    told = {record["step"]: record["result"] for record in found}
    assert told["format"] == "rows" and told["unsafe"] == "limit"
    assert told["image"] == "update of d.t: id > a"
    assert all(record["holds"] for record in found)


def test_several_statements(capsys: pytest.CaptureFixture[str]) -> None:
    script = "CREATE TABLE d.n (a INT) ENGINE=MyISAM; BEGIN; INSERT INTO d.n VALUES (1); COMMIT"
    found = records(capsys, "rules", script, "--set", "binlog_format=ROW", "--all")
    written = [r["result"] for r in found if str(r["result"]).startswith("written: ")]
    assert written == [
        "written: CREATE TABLE d.n (a INT) ENGINE=MyISAM",
        "written: BEGIN | rows of d.n | COMMIT",
    ]
    assert any(not record["holds"] for record in found)


def test_the_table_says_which_statement_of_several(capsys: pytest.CaptureFixture[str]) -> None:
    script = "PREPARE s FROM 'DELETE FROM d.n'; EXECUTE s"
    assert run(["rules", script, "--set", "binlog_format=STATEMENT"]) == 0
    assert "DELETE FROM d.n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["INSERT INTO"], "not understood"),
        (["DELETE FROM t", "--set", "binlog_format"], "NAME=VALUE"),
        (["DELETE FROM t", "--set", "port=1"], "no rule asks"),
        (["DELETE FROM t", "--schema", "nothing.sql"], "cannot be read"),
        (["CALL d.p()"], "not defined"),
        (["EXECUTE s"], "no text of the prepared statement s"),
        (["GARBAGE"], "no statement begins with GARBAGE"),
        ([" ; "], "there is no statement"),
    ],
)
def test_what_is_wrong(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["rules", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_a_log(capsys: pytest.CaptureFixture[str]) -> None:
    log = str(golden.case("8.0-row-minimal", "keys").binlogs[0])
    assert not records(capsys, "conform", "--rules", log, "--set", "binlog_row_image=minimal")
    assert run(["conform", "--rules", log, "--set", "binlog_row_image=full"]) == 1
    told = capsys.readouterr()
    assert "contradict the rules" in told.err and "image-insert-full" in told.out


@pytest.mark.parametrize(
    "arguments", [["--rules", "--decoded", "x", "--as", "debezium"], ["--set", "binlog_format=row"]]
)
def test_options_that_do_not_go_together(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    log = str(golden.case("8.0-row-minimal", "keys").binlogs[0])
    assert run(["conform", log, *arguments]) == 2
    assert "--rules" in capsys.readouterr().err
