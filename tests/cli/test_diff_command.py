"""``binlogkit diff``: records, what is on standard error, the status."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from binlogkit_fixtures import golden

Run = Callable[..., Any]
CASE = golden.case("8.0-row-full", "keys")
(LOG,) = CASE.binlogs


def test_records(run: Run) -> None:
    marks = {mark.name: mark.pos for mark in CASE.manifest.marks}
    done = run("diff", LOG, "--table", "keyed.pk", "--from", marks["inserted"], "--to",
               marks["updated"], "--format", "jsonl")  # fmt: skip
    assert (done.status, done.err) == (0, "")
    assert done.records and {r["difference"] for r in done.records} == {"changed"}
    for record in done.records:
        before, after = record["before"], record["after"]
        assert record["changed"] == [n for n in before if before[n] != after[n]] != []
    shown = run("diff", LOG, "--table", "keyed.pk", "--from", marks["inserted"])
    assert shown.lines[0].split() == ["difference", "changes"]


def test_what_is_not_determined(run: Run) -> None:
    (log,) = golden.case("5.7-statement-full", "keys").binlogs
    done = run("diff", log, "--table", "keyed.pk", "--from", "4")
    assert done.status == 1
    assert "binlogkit: keyed.pk: The table was written by a statement" in done.err


@pytest.mark.parametrize("point", ["2024-13-01", "x:9", "a.b", "-4", "3E11FA47"])
def test_what_is_no_point(run: Run, point: str) -> None:
    done = run("diff", LOG, "--table", "keyed.pk", "--from", point)
    assert (done.status, done.out) == (2, b"") and done.complaint
