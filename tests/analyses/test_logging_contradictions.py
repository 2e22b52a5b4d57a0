"""Logs against the logging rules: golden logs contradict none, planted contradictions are found."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import binlogkit as bk
from binlogkit.analyses.logging_rules.contradictions import CONTRADICTIONS, judgement
from binlogkit.errors import UsageError
from binlogkit_fixtures import golden

#: Scenarios whose sessions change these settings themselves, in this table and no other.
SWITCHED = ("stmts", "switched")


def declared(case: golden.GoldenCase) -> dict[str, str]:
    """The settings of a golden log's server."""
    words = str(case).partition("/")[0].split("-")
    formats = [word for word in words if word in ("row", "statement", "mixed")]
    images = [word for word in words if word in ("full", "minimal", "noblob")]
    return {"binlog_format": formats[0], "binlog_row_image": (images or ["full"])[0]}


def events(case: golden.GoldenCase) -> Iterator[dict[str, Any]]:
    for path in case.binlogs:
        yield from bk.open(path).event_records()


@pytest.mark.sampled(5, 16)
@pytest.mark.parametrize("case", golden.cases(), ids=str)
def test_no_false_alarm(case: golden.GoldenCase) -> None:
    told = list(events(case))
    judge = judgement({})
    assert not list(judge.of(told))
    found = list(judgement(declared(case)).of(told))
    switched = {SWITCHED} if str(case).endswith("/statements") else set()
    assert {(f["db"], f["table"]) for f in found if f["table"]} <= switched
    texts = [bytes.fromhex(f["bytes"][2:]) for f in found if not f["table"]]
    assert all(b"switched" in text for text in texts) and bool(texts) <= bool(switched)


KEYS = golden.case("8.0-row-minimal", "keys")


def planted(
    kind: str, table: str | None, change: Callable[[dict[str, Any]], dict[str, Any]]
) -> list[dict[str, Any]]:
    """The events of KEYS with one of this kind, of the table's, changed."""
    told, done, name = [], False, None
    for event in events(KEYS):
        if event["type"] == "TABLE_MAP_EVENT":
            name = event["fields"]["table"]
        if event["type"] == kind and name == (table or name) and not done:
            event, done = {**event, "fields": {**event["fields"], **change(event["fields"])}}, True
        told.append(event)
    assert done
    return told


MINIMAL = {"binlog_format": "row", "binlog_row_image": "minimal"}
#: Of each contradiction: the event that is changed, what is declared, the rule that it contradicts.
PLANTED: list[tuple[str, str | None, dict[str, str], dict[str, str], str]] = [
    ("DELETE_ROWS_EVENT", "pk", {"before_columns": "0x02"}, {}, "image-delete-full"),
    ("DELETE_ROWS_EVENT", "pk", {"before_columns": "0x0F"}, MINIMAL, "image-delete-minimal"),
    ("UPDATE_ROWS_EVENT", "pk", {"before_columns": "0x03"}, MINIMAL, "image-update-minimal"),
    ("UPDATE_ROWS_EVENT", "unique_two", {"before_columns": "0x01"}, {}, "image-update-full"),
    ("UPDATE_ROWS_EVENT", "nokey", {"before_columns": "0x01"}, {}, "image-update-full"),
    ("WRITE_ROWS_EVENT", "pk_auto", {"after_columns": "0x02"}, {}, "image-insert-full"),
    ("WRITE_ROWS_EVENT", "pk", {"after_columns": "0x01"}, {"binlog_row_image": "full"},
     "image-insert-full"),
    ("XID_EVENT", None, {}, {"binlog_format": "statement"}, "statement-format"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "table", "change", "settings", "rule"), PLANTED)
def test_a_planted_contradiction(
    kind: str, table: str | None, change: dict[str, str], settings: dict[str, str], rule: str
) -> None:
    found = list(judgement(settings).of(planted(kind, table, lambda _: change)))
    assert {f["rule"] for f in found} >= {rule}
    assert all(
        list(f) == [field.name for field in CONTRADICTIONS] and f["bytes"][:2] == "0x"
        for f in found
    )
    if change and settings in ({}, MINIMAL):
        (one,) = found
        assert one["table"] == table and next(iter(change.values())) in one["bytes"].split()


@pytest.mark.parametrize(
    ("text", "settings", "rule"),
    [
        ("INSERT INTO pk (id) VALUES (1)", "row", "row-format"),
        ("UPDATE pk SET name = UUID()", "mixed", "row-format-mixed"),
        ("DELETE FROM pk LIMIT 1", "mixed", "row-format-mixed"),
        ("UPDATE pk SET name = 'UUID()'", "mixed", None),
        ("UPDATE pk SET name = UUID()", "statement", None),
        ("DELETE FROM `keyed`.`pk`", "row", "row-format"),
    ],
)
def test_a_planted_statement(text: str, settings: str, rule: str | None) -> None:
    def change(_: dict[str, Any]) -> dict[str, Any]:
        return {"query": text}

    told = planted("QUERY_EVENT", None, lambda fields: change(fields))
    made = [e for e in told if e["type"] != "TABLE_MAP_EVENT" and "ROWS" not in e["type"]]
    found = list(judgement({"binlog_format": settings}).of(made))
    assert [f["rule"] for f in found] == ([] if rule is None else [rule])


def test_a_memory_table_that_a_restart_emptied() -> None:
    """Servers log it as DELETE FROM, whatever the format."""
    case = golden.case("8.0-row-full", "keys")
    told = [event for event in events(case) if event["type"] == "FORMAT_DESCRIPTION_EVENT"]
    head = {**told[0], "type": "QUERY_EVENT"}
    texts = ["CREATE TABLE d.m (a INT) ENGINE=MEMORY", "DELETE FROM `d`.`m`"]
    made = [{**head, "fields": {"query": text, "schema": "", "status_vars": {}}} for text in texts]
    assert not list(judgement({"binlog_format": "row"}).of([*told, *made]))


def test_what_a_log_is_not_judged_by() -> None:
    with pytest.raises(UsageError, match="autocommit"):
        judgement({"autocommit": "1"})
