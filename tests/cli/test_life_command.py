"""``binlogkit life``: records, what is on standard error, the status."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from binlogkit_fixtures import golden
from tests.analyses.verify.conftest import write_series

Run = Callable[..., Any]
(LOG,) = golden.case("8.0-row-full", "keys").binlogs


def test_a_row_that_changed_its_key(run: Run) -> None:
    """Either key tells the same story."""
    rows = run("rows", LOG, "--table", "keyed.pk", "--op", "update", "--format", "jsonl").records
    moved = next(r for r in rows if r["before"]["id"] != r["after"]["id"])
    stories = [
        run("life", LOG, "--table", "keyed.pk", "--key", moved[image]["id"], "--format", "jsonl")
        for image in ("before", "after")
    ]
    assert [(done.status, done.err) for done in stories] == [(0, "")] * 2
    assert stories[0].records == stories[1].records
    assert moved["pos"] in [r["pos"] for r in stories[0].records]
    shown = run("life", LOG, "--table", "keyed.pk", "--key", moved["after"]["id"])
    assert shown.lines[0].split() == ["pos", "timestamp", "thread_id", "life", "op", "changes"]


def test_a_row_that_is_not_there(run: Run) -> None:
    done = run("life", LOG, "--table", "keyed.pk", "--key", "987654", "--format", "jsonl")
    assert (done.status, done.out) == (0, b"")
    assert done.complaint == "note: keyed.pk: No change that counts has a row with this key."


@pytest.mark.parametrize(
    ("table", "key", "told"),
    [
        ("keyed.nokey", "1", "rows cannot be distinguished"),
        ("keyed.pk", "one", "compared with a number"),
        ("keyed.composite", "1", "give 2 values, not 1"),
        ("nothing", "1", "no table of this name"),
    ],
)
def test_what_is_refused(run: Run, table: str, key: str, told: str) -> None:
    done = run("life", LOG, "--table", table, "--key", key)
    assert (done.status, done.out) == (2, b"") and told in done.complaint


def test_what_a_missing_file_leaves_open(run: Run, tmp_path: Any) -> None:
    series = write_series(tmp_path)
    key = next(iter(run("rows", series[0], "--table", "keyed.pk", "--format", "jsonl").records))
    command = ("--table", "keyed.pk", "--key", key["after"]["id"], "--format", "jsonl")
    done = run("life", series[0], series[2], *command)
    assert done.status == 1 and "missing" in done.err
    assert "missing" not in run("life", *series, *command).err


def test_writes_that_are_logged_as_statements(run: Run) -> None:
    (log,) = golden.case("5.7-statement-full", "keys").binlogs
    done = run("life", log, "--table", "keyed.pk", "--key", "1")
    assert done.status == 1
    assert "binlogkit: keyed.pk: The table was written by a statement" in done.err
