"""Current-state tables hold what the server's SELECT gave at every mark."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest
from deltalake import DeltaTable
from deltalake.table import TableMerger

from binlogkit.errors import InputError, UsageError
from binlogkit.spark.landing import Landing, current, current_tables, keep_current
from binlogkit.spark.landing.current_rows import net_rows
from binlogkit.spark.landing.landing_path import Folder
from binlogkit.spark.landing.merging import merge_here, write_anew
from binlogkit.spark.landing.reading import read
from binlogkit.spark.landing.restored import by_change
from binlogkit.spark.landing.terms import Terms
from binlogkit.spark.masks import parse_masks
from binlogkit.spark.splits.changelog import SEQUENCE_BYTES
from binlogkit_fixtures import golden
from tests.analyses.verify.conftest import joined, of_server, pieces_of
from tests.spark.landing.currents import check, growing, ident, tables_at_every_mark
from tests.spark.landing.landings import failed_over, land, third_of
from tests.spark.landing.steps import at_step
from tests.spark.landing.test_faults import Died, dies

CASES = [
    golden.case(cell, scenario)
    for cell, scenario in (
        ("8.0-row-minimal-partial-json", "json"),  # images of changed columns alone
        ("5.7-row-full", "json"),
        ("5.7-row-full", "incident"),
        ("9-row-full", "modern"),
    )
]
ACCOUNTS = golden.case("8.0-row-full", "transactions")
#: Where a current-state table is written.
STEPS: list[tuple[Any, str]] = [(TableMerger, "execute"), (deltalake, "write_deltalake")]


@pytest.mark.sampled(0)
@pytest.mark.parametrize("case", CASES, ids=ident)
def test_tables_are_the_servers_at_every_mark(case: golden.GoldenCase, tmp_path: Path) -> None:
    hows = tables_at_every_mark(case, tmp_path, 1)
    assert hows["merged"] and hows["replayed"] and not hows["refused"]


def test_writes_of_statements_are_told(tmp_path: Path) -> None:
    case = golden.case("5.7-mixed-full", "statements")
    land(case.path, tmp_path)
    kept = keep_current(tmp_path)
    doubtful = [k for k in kept if not k.determined]
    assert doubtful
    assert "statement_write" in {f["finding"] for k in doubtful for f in k.findings}
    check(tmp_path, Landing(tmp_path), kept)


def test_logs_that_come_late_are_put_in_their_place(tmp_path: Path) -> None:
    first, second = ACCOUNTS.binlogs[:2]
    land(second, tmp_path)
    assert not keep_current(tmp_path)  # all rows wait for the names of their columns
    land([str(first), str(second)], tmp_path)
    kept = keep_current(tmp_path)
    assert "merged" not in {k.how for k in kept}
    check(tmp_path, Landing(tmp_path), kept)


def test_what_is_masked(tmp_path: Path) -> None:
    case = golden.case("8.0-row-full", "incident")
    masks = parse_masks(["shop.orders.status=drop"])
    land(case.path, tmp_path / "a", Terms(masks=masks))
    keep_current(tmp_path / "a", ["shop.orders"])
    found = current(tmp_path / "a", "shop.orders")
    assert "status" not in found.column_names and len(found) > 100
    land(case.path, tmp_path / "b", Terms(masks=parse_masks(["orders.id=drop"])))
    told = {k.table: k for k in keep_current(tmp_path / "b")}["shop.orders"]
    assert told.how == "refused" and "its key is masked" in told.reason


def test_names_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nothing has landed there"):
        keep_current(tmp_path)
    land(ACCOUNTS.path, tmp_path)
    with pytest.raises(UsageError, match="names no database"):
        keep_current(tmp_path, ["account"])
    with pytest.raises(InputError, match="has no current state there"):
        current(tmp_path, "bank.account")


def test_two_servers_with_a_table_of_one_name_are_not_mixed(tmp_path: Path) -> None:
    logs = [golden.case(cell, "incident").path for cell in ("5.7-row-full", "8.0-row-full")]
    for name, log in zip("ab", logs, strict=True):
        land(log, tmp_path, name=name)
    [told] = keep_current(tmp_path, ["shop.orders"])
    assert told.how == "refused" and "several servers (a, b)" in told.reason


def test_a_server_that_no_gtid_joins_is_not_mixed_with_the_first(tmp_path: Path) -> None:
    """Its changes are like those that follow in the first one's logs."""
    pieces = pieces_of(golden.case("8.0-row-full-metadata", "transactions").binlogs[0].read_bytes())
    starts = [i for i, piece in enumerate(pieces) if piece.type == "GTID_LOG_EVENT"]
    maps = (
        [a, b] for a, b in pairwise([*starts, len(pieces)])
        if any(b"note" in one.data for one in pieces[a:b] if one.type == "TABLE_MAP_EVENT")
    )  # fmt: skip
    *_, (last, end) = maps
    log, other = tmp_path / "binlog.000001", tmp_path / "other.000007"
    log.write_bytes(joined(pieces[:last]))
    own = pieces_of(of_server(joined([*pieces[:2], *pieces[last:end]]), 99))
    own[2].data[45:61] = (0).to_bytes(8, "little") + (1).to_bytes(8, "little")
    sid = bytes(own[2].data[20:36])
    for piece in own:
        piece.data = piece.data.replace(sid, sid[::-1])
    other.write_bytes(joined(own))
    land(log, tmp_path / "out")
    [kept] = keep_current(tmp_path / "out", ["bank.note"])
    assert kept.how == "replayed" and kept.determined
    land([log, other], tmp_path / "out")
    [kept] = keep_current(tmp_path / "out", ["bank.note"])
    assert kept.how == "refused" and "several servers" in kept.reason


def test_new_changes_of_two_servers_are_not_merged(tmp_path: Path) -> None:
    """By ``_sequence`` the replica's come first, whose log was begun before the source's."""
    [log] = golden.case("8.0-row-minimal", "keys").binlogs
    source, replica = failed_over(log, tmp_path)
    whole = source.read_bytes()
    source.write_bytes(third_of(log))
    land([source], tmp_path / "lake", name="s")
    keep_current(tmp_path / "lake")
    source.write_bytes(whole)
    land([source, replica], tmp_path / "lake", name="s")
    assert "merged" not in {one.how for one in keep_current(tmp_path / "lake")}
    land([log], tmp_path / "one")
    keep_current(tmp_path / "one")
    for table in Landing(tmp_path / "one").tables():
        found = [current(tmp_path / out, table) for out in ("lake", "one")]
        own = [name for name in found[0].column_names if not name.startswith("_")]
        mine, theirs = (sorted(map(repr, one.select(own).to_pylist())) for one in found)
        assert mine == theirs, table


@pytest.mark.parametrize("files", [["a", "a"], ["a", "b"], ["b", "a"]])
def test_changes_of_one_sequence_are_told_apart_by_their_logs(files: list[str]) -> None:
    """Two servers' logs, begun in one second, with one number; each change is an update."""
    logs = [one for one in files for _ in range(2)] if files[0] != files[1] else files
    ends = [n % 2 for n in range(len(logs))]
    rows = pa.table({
        "_file": pa.array(logs).dictionary_encode(),
        "_sequence": [bytes(SEQUENCE_BYTES - 1) + bytes([end]) for end in ends],
        "_change_type": ["update_postimage" if end else "update_preimage" for end in ends],
    })  # fmt: skip
    ordered, second = by_change(rows)
    assert second.tolist() == [bool(end) for end in ends]
    assert ordered["_file"].to_pylist() == sorted(logs)


def test_keys_that_the_library_misses_are_merged(tmp_path: Path) -> None:
    """Its bounds of decimals are floats (:func:`merge_here`)."""
    kind = pa.decimal128(20, 0)
    keys = [Decimal(n) for n in (1, 2**53 + 1, 2**63, 2**64 - 1)]
    whole = pa.table({"id": pa.array(keys, kind), "n": pa.array(range(4))})
    write_anew(Folder(tmp_path), whole, 1, {})
    for number, key in enumerate(keys, 2):
        touched = pa.table({"id": pa.array([key], kind)})
        net = net_rows(whole.slice(0, 0), touched, ["id"])
        assert net is not None
        table = DeltaTable(tmp_path)
        assert merge_here(table, Folder(tmp_path), net, ["id"], number, {}) == (0, 0, 1)
    assert not len(read(Folder(tmp_path)))


# ---- whatever ends it, or runs beside it -----------------------------------------------------


def halves(folder: Path) -> tuple[Path, Path]:
    """A landing whose tables are behind; what changes then is merged and replayed."""
    logs, out = folder / "logs", folder / "lake"
    for i, _ in enumerate(growing(ACCOUNTS, logs, 4)):
        if i == 3:
            land(logs, out)
            keep_current(out)
    land(logs, out)
    return logs, out


def whole(out: Path) -> dict[str, list[Any]]:
    tables = Landing(out).tables()
    found = {t: current(out, t).drop_columns(["_file", "_source"]) for t in tables}
    return {t: sorted(map(str, rows.to_pylist())) for t, rows in found.items()}


def at_each_step(folder: Path, happens: Callable[[Path], object]) -> None:
    """Something happens before, or after, each write of a table."""
    _, out = halves(folder / "counted")
    with at_step(0, "before", dies, STEPS) as met:
        keep_current(out)
    assert {"execute", "write_deltalake"} <= set(met)
    expected = whole(out)
    for number in range(1, len(met) + 1):
        for when in ("before", "after"):
            _, out = halves(folder / f"{when}-{number}")
            with at_step(number, when, lambda out=out: happens(out), STEPS):  # type: ignore[misc]
                try:
                    keep_current(out)
                except Died:
                    keep_current(out)
            assert whole(out) == expected
            assert {k.how for k in keep_current(out)} == {"unchanged"}


@pytest.mark.slow
def test_one_that_ends_at_a_step(tmp_path: Path) -> None:
    at_each_step(tmp_path, lambda out: dies())


@pytest.mark.slow
def test_another_one_beside_it_at_a_step(tmp_path: Path) -> None:
    at_each_step(tmp_path, keep_current)


@pytest.mark.slow
def test_a_landing_beside_it(tmp_path: Path) -> None:
    """Rows of a batch that begins meanwhile are not taken for older ones."""
    logs, out = tmp_path / "logs", tmp_path / "lake"
    steps = growing(ACCOUNTS, logs, 4)
    for _ in zip(range(4), steps, strict=False):
        land(logs, out)
    keep_current(out)
    next(steps)
    land(logs, out)
    next(steps)
    with at_step(1, "before", lambda: land(logs, out), [(current_tables, "flat_rows")]):
        keep_current(out)
    kept = keep_current(out)
    check(out, Landing(out), kept)
    for _ in steps:
        land(logs, out)
    check(out, Landing(out), keep_current(out))
