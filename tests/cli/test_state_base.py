"""``binlogkit state --base``: every form that state writes, and what is reported of a base."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import binlogkit as bk
from binlogkit.errors import InputError
from binlogkit_fixtures import golden
from tests.analyses.verify.conftest import write_series

Run = Callable[..., Any]
KEYS = golden.case("8.0-row-full", "keys")


TYPES = golden.case("8.0-row-full", "types")


def written(run: Run, table: str, mark: Any, form: str, path: Path) -> None:
    at = f"{TYPES.binlogs[0]}:{mark.pos}"
    done = run("state", TYPES.binlogs[0], "--table", table, "--at", at, "--format", form,
               "--output", path)  # fmt: skip
    assert done.status == 0, done.err


@pytest.mark.parametrize(
    "form",
    [
        pytest.param("parquet", marks=pytest.mark.slow),
        pytest.param("arrow", marks=pytest.mark.campaign),
        "jsonl",
    ],
)
@pytest.mark.slow
def test_every_form_that_state_writes(form: str, run: Run, tmp_path: Path) -> None:
    """Every type of column; JSON lines need the position beside them."""
    log, marks = bk.open([str(path) for path in TYPES.binlogs]), TYPES.manifest.marks
    mark = marks[len(marks) // 2]
    for i, table in enumerate(sorted(mark.tables)):
        direct = log.state(table, at=f"{mark.file}:{mark.pos}")
        if not direct.determined:
            continue
        path = tmp_path / f"{i}.{form}"
        written(run, table, mark, form, path)
        place = {} if form in ("parquet", "arrow") else {"base_at": f"{mark.file}:{mark.pos}"}
        found, whole = log.state(table, base=str(path), **place), log.state(table)  # type: ignore[arg-type]
        assert list(found.records()) == list(whole.records()), table
        assert found.determined == whole.determined
        if place:
            with pytest.raises(InputError, match="does not say at which position"):
                log.state(table, base=str(path))


@pytest.mark.parametrize("name", ["pk.parquet", "pk", "pk.2024-05-14"])
def test_the_command(name: str, run: Run, tmp_path: Path) -> None:
    """Also of a base whose file's name does not say what it is."""
    (log,) = KEYS.binlogs
    base = tmp_path / name
    asked = ("state", log, "--table", "keyed.pk")
    first = run(*asked, "--at", "11000", "--format", "parquet", "--output", base)
    whole = run(*asked, "--format", "jsonl")
    again = run(*asked, "--base", base, "--format", "jsonl")
    assert (first.status, again.status, again.out, again.err) == (0, 0, whole.out, whole.err)
    gap = run(*asked, "--base", base, "--base-at", "binlog.000009:4", "--format", "jsonl")
    assert gap.status == 1 and "which is not among" in gap.err
    assert "0 of " in gap.err and "rows" in gap.err
    for wrong in (["--base", log], ["--base", tmp_path / "x"], ["--base-at", "binlog.000001:4"]):
        done = run(*asked, *wrong)
        assert (done.status, done.out) == (2, b"") and done.err.count("\n") == 1, done.err


def test_what_is_missing_before_the_base_is_in_it(run: Run, tmp_path: Path) -> None:
    """Neither a finding nor a status, of `state` and of `diff`; damage that ends the reading is."""
    series, base = write_series(tmp_path), tmp_path / "pk.parquet"
    last = bk.open(series[1]).transactions(engine="pyarrow").to_pylist()[-1]
    asked = ("--table", "keyed.pk", "--format", "jsonl")
    end = f"{series[1]}:{last['end_pos']}"
    bk.open(series).state("keyed.pk", at=end).to_parquet(base)
    whole = run("state", *series, *asked)
    compared = run("diff", *series, *asked, "--from", end)
    assert whole.status == compared.status == 0 and whole.out and compared.out
    for logs in (series, [series[0], series[2]], series[2:]):
        done = run("state", *logs, *asked, "--base", base)
        assert (done.status, done.out) == (0, whole.out), done.err
        assert "binlogkit:" not in done.err
        done = run("diff", *logs, *asked, "--base", base, "--from", f"{series[2]}:4")
        assert (done.status, done.out) == (0, compared.out), done.err
    data = bytearray(series[0].read_bytes())
    data[len(data) // 2] ^= 1
    series[0].write_bytes(data)
    at = ("--base-at", f"{series[1]}:{last['end_pos']}")
    for place in ((), at):
        done = run("state", *series, *asked, "--base", base, *place)
        assert done.status == 1 and "0 of 5 rows" in done.err and "checksum" in done.err
    done = run("state", *series, *asked, "--base", base, "--on-damage", "report")
    assert (done.status, done.out) == (0, whole.out), done.err
    newer = run("diff", *series[1:], *asked, "--base", base, "--from", f"{series[1]}:4")
    assert newer.status == 2 and "newer than the point" in newer.err


@pytest.mark.slow
def test_the_difference_from_a_base(run: Run, tmp_path: Path) -> None:
    """Every type's rows, without the log that made them, as with it."""
    base, marks = tmp_path / "base.parquet", KEYS.manifest.marks
    (log,) = KEYS.binlogs
    compared = 0
    for name in sorted(marks[0].tables):
        first = f"{log}:{marks[0].pos}"
        state = bk.open(log).state(name, at=first)
        state.to_parquet(base)
        asked = ("diff", log, "--table", name, "--from", first, "--format", "jsonl")
        whole, found = run(*asked), run(*asked, "--base", base)
        assert (found.status, found.out) == (whole.status, whole.out), found.err
        compared += len(found.records)
    assert compared
