"""``undo``, ``redo``, ``audit`` and ``conform`` from the command line."""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import binlogkit as bk
from binlogkit_fixtures import golden

Run = Callable[..., Any]


def statements(text: str) -> list[str]:
    """The statements of a script, comments left out."""
    lines = [line for line in text.splitlines() if not line.startswith("--")]
    return [s.strip() for s in "\n".join(lines).split(";\n") if s.strip()]


@pytest.mark.parametrize("command", ["undo", "redo"])
def test_a_script(run: Run, small: Path, command: str) -> None:
    done = run(command, small, "--table", "stmts.val")
    assert done.status == 0
    assert done.complaint.startswith(f"note: {small}: the log ends without STOP or ROTATE")
    text = done.out.decode("utf-8")
    rows = run("rows", small, "--table", "stmts.val", "--format", "jsonl").records
    verbs = {"insert": "DELETE FROM", "delete": "INSERT INTO", "update": "UPDATE"}
    if command == "redo":
        verbs |= {"insert": verbs["delete"], "delete": verbs["insert"]}
    found = [s for s in statements(text) if s.startswith(tuple(verbs.values()))]
    if command == "undo":
        rows.reverse()
    for statement, row in zip(found, rows, strict=True):
        assert statement.startswith(f"{verbs[row['op']]} `stmts`.`val`")
        key = (row["after"] or row["before"])["id"]
        assert re.search(rf"\b{key}\b", statement)


@pytest.mark.parametrize("mode", ["refuse", "skip", "force"])
def test_changes_that_later_ones_depend_on(run: Run, small: Path, mode: str) -> None:
    """By default they are refused; they are left out, or carried out, where that is asked for."""
    done = run("undo", small, "--op", "insert", "--table", "stmts.val", "--mode", mode, "--commit")
    text = done.out.decode("utf-8")
    inserts = text.count("delete stmts.val for ")
    carried = sum(s.startswith("DELETE FROM") for s in statements(text))
    refused, skipped = (text.count(f": {word}, no stat") for word in ("REFUSED", "SKIPPED"))
    assert carried + refused + skipped == inserts
    assert (refused > 0, skipped > 0) == (mode != "skip", mode == "skip")
    assert done.status == (mode != "skip")
    assert "-- later: " in text and "a later change depends on it (row deleted): " in text
    assert "nothing to commit" not in text
    verdict = re.findall(r"THEN '(committed .*?)'", text)
    left = "1 change was" if refused + skipped == 1 else f"{refused + skipped} changes were"
    how = "skipped" if mode == "skip" else "refused and not carried out"
    assert verdict[0] == f"committed {carried} statements; {left} {how}"


def test_undo_of_an_update_sets_what_it_changed(run: Run, log: Path) -> None:
    rows = run("rows", log, "--table", "keyed.pk", "--op", "update", "--format", "jsonl").records
    last = next(row for row in rows if row["after"]["name"] == "again x")
    changed = {c for c in last["after"] if last["after"][c] != last["before"][c]}
    assert changed == {"name"}
    at = f"{log.name}:{last['pos']}"
    text = run("undo", log, "--op", "update", "--at", at).out.decode("utf-8")
    (statement,) = [s for s in statements(text) if s.startswith("UPDATE")]
    setting = re.findall(r"SET (.*?)\s+WHERE", statement, re.S)[0]
    assert re.findall(r"`(\w+)` =", setting) == ["name"]


def test_what_cannot_be_taken_back(run: Run) -> None:
    case = golden.case("8.0-statement-full", "keys")
    done = run("undo", *case.binlogs)
    assert done.status == 1
    assert re.match(r"binlogkit: \d+ of \d+ changes could not be undone:\n", done.err)
    assert "logged as a statement" in done.out.decode("utf-8")
    count = done.out.decode("utf-8").count("REFUSED, no statement: the change is logged as a")
    told = f"{count} refused: the change is logged as a statement"
    assert f"binlogkit: {told}\n" in done.err and f"\n-- {told}\n" in done.out.decode("utf-8")


def test_a_script_goes_to_a_private_file(run: Run, small: Path, tmp_path: Path) -> None:
    path = tmp_path / "undo.sql"
    done = run("undo", small, "--op", "insert", "--output", path)
    assert done.out == b""
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "DELETE FROM" in path.read_text("utf-8")
    chosen = re.findall(r"note: (chosen: \d+ changes of .* connection)", done.err)
    assert chosen and f"-- {chosen[0]}" in path.read_text("utf-8")


def test_commit_is_asked_for(run: Run, small: Path) -> None:
    options = (small, "--op", "insert", "--table", "stmts.val")
    careful = statements(run("undo", *options).out.decode("utf-8"))
    bold = statements(run("undo", *options, "--commit").out.decode("utf-8"))
    assert careful != bold


def test_the_audit_as_a_report(run: Run, small: Path, tmp_path: Path) -> None:
    done = run("audit", small)
    assert (done.status, done.err) == (0, "")
    text = done.out.decode("utf-8")
    assert str(small) in text and "stmts.val" in text.replace("stmts  val", "stmts.val")
    path = tmp_path / "report.html"
    done = run("audit", small, "--html", path, "--title", "What <happened>")
    assert done.status == 0
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    html = path.read_text("utf-8")
    assert "What &lt;happened&gt;" in html and "<happened>" not in html


@pytest.mark.parametrize("case", ["8.0-row-full/ddl", "5.7-mixed-full/statements"])
def test_the_report_names_what_has_no_row_events(run: Run, golden_log: Any, case: str) -> None:
    """Who dropped it, and who deleted: in its own table, whatever else changed rows."""
    log = golden_log(case)
    report = run("audit", log).out.decode("utf-8")
    texts = [s["query"] for s in bk.open(str(log)).audit()["statements"].to_pylist()]
    dropped = [text for text in texts if text.startswith(("DROP TABLE", "TRUNCATE", "DELETE"))]
    assert dropped and all(" ".join(text.split()) in report for text in dropped)


def test_the_audits_records(run: Run, small: Path) -> None:
    done = run("audit", small, "--format", "jsonl")
    assert done.status == 0
    expected = list(bk.open(str(small)).audit().records())
    assert done.records == json.loads(json.dumps(expected))
    by_table = [r for r in done.records if r["section"] == "by_table"]
    rows = run("rows", small, "--format", "jsonl").records
    assert sum(r["rows"] for r in by_table) == len(rows)


def test_observations_are_no_findings_but_damage_is(
    run: Run, small: Path, tmp_path: Path, frames_of: Any
) -> None:
    data = small.read_bytes()
    path = tmp_path / "cut"
    path.write_bytes(data[:-1])
    done = run("audit", path, "--section", "integrity", "--format", "jsonl")
    assert done.status == 1
    finding, lost = done.records
    assert (finding["code"], lost["code"]) == ("cut_event", "missing_events")
    assert finding["grade"] == "damage"
    assert finding["pos"] == frames_of(data)[-1].pos
    assert done.complaint == f"binlogkit: {path} at {finding['pos']}: {finding['found']}"


@pytest.mark.oracle
@pytest.mark.gate
def test_conform(run: Run, small: Path) -> None:
    done = run("conform", small, "--format", "jsonl")
    assert done.status == 0
    assert done.err.startswith("note: agree: ") and "compared with mysqlbinlog" in done.err
    assert {r["kind"] for r in done.records} <= {"representation", "theirs", "under_determined"}


@pytest.mark.oracle
@pytest.mark.gate
def test_conform_finds_a_wrong_decoder(run: Run, small: Path, tmp_path: Path) -> None:
    """Our own output with one value changed: status 1, unless that is known."""
    rows = run("rows", small, "--format", "jsonl").records
    changed = rows[3]
    column = next(iter(changed["after"]))
    changed["after"][column] = 987654321
    out, baseline = tmp_path / "decoded.jsonl", tmp_path / "known.jsonl"
    out.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    options = (small, "--decoded", out, "--as", "binlogkit", "--format", "jsonl")
    done = run("conform", *options, "--write-baseline", baseline)
    assert done.status == 1
    (odd,) = [r for r in done.records if r["kind"] in ("ours", "unexplained")]
    assert (odd["pos"], odd["row"], odd["column"]) == (changed["pos"], changed["row"], column)
    again = run("conform", *options, "--baseline", baseline)
    assert again.status == 0
    assert not [r for r in again.records if r["kind"] in ("ours", "unexplained")]


@pytest.mark.oracle
def test_conform_does_not_pass_what_nobody_judged(
    run: Run, golden_log: Any, tmp_path: Path
) -> None:
    """A document in place of a diff whose document the log does not hold: nothing decides it."""
    log = golden_log("8.0-row-minimal-partial-json/json")
    rows = run("rows", log, "--format", "jsonl").records
    row, name = next(
        (row, name)
        for row in rows
        for name, value in (row["after"] or {}).items()
        if isinstance(value, dict) and "json_diff" in value
    )
    row["after"][name] = "{}"
    out = tmp_path / "decoded.jsonl"
    out.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    options = (log, "--decoded", out, "--as", "binlogkit", "--format", "jsonl")
    done = run("conform", *options)
    assert done.status == 1
    verdict = done.err.splitlines()[0]
    assert "unjudged: " in verdict and "1 under_determined" in verdict
    assert run("conform", *options, "--allow-unjudged").status == 0
    rows[0]["op"] = "truncate"
    out.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    assert run("conform", *options, "--allow-unjudged").status == 1


@pytest.mark.oracle
def test_conform_judges_by_the_bytes_what_mysqlbinlog_does_not_print(
    run: Run, golden_log: Any, tmp_path: Path
) -> None:
    log = golden_log("8.0-row-full/types")
    done = run("conform", log, "--format", "jsonl")
    assert done.status == 0
    assert "cells decided by the log's bytes" in done.err
    rows = run("rows", log, "--format", "jsonl").records
    out = tmp_path / "decoded.jsonl"
    kept = [r for r in rows if r["table"] != "geometries" or not r["row"]]
    assert len(kept) < len(rows)
    out.write_text("".join(json.dumps(row) + "\n" for row in kept), "utf-8")
    assert run("conform", log, "--decoded", out, "--as", "binlogkit").status == 1


def test_conform_without_a_judge_never_falls_back(run: Run, small: Path, tmp_path: Path) -> None:
    done = run("conform", small, "--mysqlbinlog", tmp_path / "no-such-program")
    assert done.status == 2
    assert done.out == b"" and "mysqlbinlog" in done.complaint
