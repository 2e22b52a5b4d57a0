"""The rules as data: each sentence of the document with its case, and the servers' own rules."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

SOURCE = 'the MySQL internals manual, "Logging Rules"'
_HERE = Path(__file__)

#: What servers do of which the document says nothing, by the id of the decision's rule.
SERVERS_OWN: Mapping[str, str] = {
    "no-change": "the statement changes nothing that is logged",
    "server-unlogged": "the server commits what is open and logs nothing of the statement itself",
    "server-unreplicated": "what it writes are the server's own tables, which replicas do not get",
    "server-blackhole": "in row format UPDATE and DELETE of a BLACKHOLE table find no row to log",
    "server-exists": "what CREATE TABLE IF NOT EXISTS … SELECT makes is there: nothing is done",
    "server-expression": "what a procedure evaluates outside of a statement is written directly, a "
    "SELECT of each function that changes data; ROLLBACK does not take it back",
    "server-stays-rows": "in MIXED the statements of a CALL stay rows after one that is; up to 5.7 "
    "so do all while the session has temporary tables",
    "server-sql-log-bin": "sql_log_bin is off",
}


@dataclass(frozen=True, slots=True)
class Sentence:
    """A rule of the document: see the head of ``document.toml``."""

    id: str
    topic: str
    text: str
    format: str = "ROW"
    row_image: str = "full"
    isolation: str = "REPEATABLE-READ"
    play: str = ""
    gives: str = ""
    shows: str = "outcome"
    fails: str = ""
    finding: str = ""
    not_played: str = ""


@cache
def sentences() -> tuple[Sentence, ...]:
    """Every rule of the document, in its order."""
    document = tomllib.loads(_HERE.with_name("document.toml").read_text("utf-8"))
    return tuple(Sentence(**rule) for rule in document["rule"])


@cache
def results() -> dict[str, dict[str, str]]:
    """What the servers gave when each case was played: by rule and version."""
    text = _HERE.with_name("results.json").read_text("utf-8")
    found: dict[str, dict[str, str]] = json.loads(text)
    return found


def sentence_of(rule: str) -> str:
    """The sentence of a rule of the decision, by its id."""
    found = next((one.text for one in sentences() if one.id == rule), None)
    return found or SERVERS_OWN.get(rule, rule)
