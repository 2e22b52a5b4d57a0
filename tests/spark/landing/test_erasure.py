"""Rows that are erased are in no file of a landing, and the rest is as it was without them."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import binlogkit as bk
from binlogkit.errors import InputError, UsageError
from binlogkit.spark.landing import (
    Landing,
    compact,
    current,
    current_tables,
    erase,
    expire,
    keep_current,
    land,
    landed,
)
from binlogkit.spark.landing.dead_files import under_way
from binlogkit.spark.landing.erasure import _hit, _values
from binlogkit.spark.landing.store import place_of
from binlogkit_fixtures import golden
from tests.spark.landing.steps import STEPS, at_step
from tests.spark.landing.test_faults import Died, dies

CASE = golden.case("8.0-row-full", "incident")
[LOG] = CASE.binlogs
#: A customer: what no other row has of them.
VALUES = ("Chloé Schäfer", "c2@example.org")
ROW = ("shop.customers", {"id": "2"})
ORDERS = ("shop.orders", {"customer_id": "2"})


def lake_of(out: Path) -> Path:
    """A landing with current rows, compacted, with earlier versions."""
    land(None, LOG, out, current=True)
    compact(out)
    return out


def cells(value: Any) -> Iterator[bytes]:
    """What a value holds, as bytes."""
    if isinstance(value, dict):
        value = [*value.keys(), *value.values()]
    if isinstance(value, list):
        for one in value:
            yield from cells(one)
    elif value is not None:
        yield value if isinstance(value, bytes) else str(value).encode()


def contents(out: Path) -> Iterator[tuple[Path, bytes]]:
    """What each file holds, Parquet as its values and its footer."""
    for path in out.rglob("*"):
        if path.is_file():
            whole = path.read_bytes()
            if path.suffix == ".parquet":
                rows = pq.ParquetFile(path).read()
                whole += b"\0".join(v for row in rows.to_pylist() for v in cells(row))
                whole += str(pq.read_metadata(path).to_dict()).encode()
            yield path, whole


def holding(out: Path, values: Iterable[str]) -> set[Path]:
    texts = [value.encode() for value in values]
    return {path for path, whole in contents(out) if any(one in whole for one in texts)}


def rows_of(state: Any) -> list[Any]:
    """The records of a state."""
    return list(state.records())


def images(out: Path, table: str) -> list[tuple[Any, ...]]:
    rows = landed(out, table).to_pylist()
    return [(row["_sequence"], row["_change_type"]) for row in rows]


def test_no_file_has_them(tmp_path: Path) -> None:
    lake = lake_of(tmp_path)
    before = {t: landed(lake, t).to_pylist() for t in ("shop.customers", "shop.orders")}
    assert {path.parts[len(lake.parts)] for path in holding(lake, VALUES)} >= {
        "tables", "current", "ledger",
    }  # fmt: skip
    done = erase(lake, [ROW, ORDERS])
    assert not done.not_covered
    assert not holding(lake, VALUES)
    others = [row["_query"] for row in landed(lake, "shop.orders").to_pylist()]
    assert any("packed" in text for text in others if text)  # a label of erased orders
    for (table, key), count in zip((ROW, ORDERS), done.rows.values(), strict=True):
        [(column, value)] = key.items()
        left = landed(lake, table).to_pylist()
        wanted = [row for row in before[table] if row[column] != int(value)]
        assert len(before[table]) - len(left) == count > 0
        for row, was in zip(left, wanted, strict=True):
            assert {n: v for n, v in row.items() if n not in ("_query", "_change_type")} == {
                n: v for n, v in was.items() if n not in ("_query", "_change_type")
            }
        assert column not in ("id",) or all(row["id"] != int(value) for row in left)


def test_states_are_the_logs_without_them(tmp_path: Path) -> None:
    lake = lake_of(tmp_path)
    erase(lake, [ROW, ORDERS])
    log = bk.open(LOG)
    for table, key in (ROW, ORDERS, ("shop.order_items", {"id": "0"})):
        [(column, value)] = key.items()
        state = Landing(lake).state(table)
        assert state.determined
        wanted = [r for r in rows_of(log.state(table)) if r["values"].get(column) != int(value)]
        assert rows_of(state) == wanted
        now = current(lake, table)
        assert len(now) == len(wanted)
    assert {one.how for one in keep_current(lake)} == {"unchanged"}


def test_rows_that_were_merged_are_erased(tmp_path: Path) -> None:
    """Files that deltalake merged hold other types of Arrow than those that were written anew."""
    part, lake = tmp_path / LOG.name, tmp_path / "lake"
    part.write_bytes(LOG.read_bytes()[: CASE.manifest.marks[0].pos])
    land(None, part, lake, current=True)
    part.write_bytes(LOG.read_bytes())
    merged = land(None, part, lake, current=True).current
    assert {one.how for one in merged if one.table in ("shop.customers", "shop.orders")} == {
        "merged"
    }
    done = erase(lake, [ROW, ORDERS])
    assert not done.not_covered and done.current["shop.orders"] > 1
    assert not holding(lake, VALUES)
    for table, (column, value) in (
        ("shop.customers", ("id", 2)),
        ("shop.orders", ("customer_id", 2)),
    ):
        wanted = [r for r in rows_of(bk.open(LOG).state(table)) if r["values"][column] != value]
        assert rows_of(Landing(lake).state(table)) == wanted
        assert len(current(lake, table)) == len(wanted)


@pytest.mark.slow
def test_nothing_brings_them_back(tmp_path: Path) -> None:
    """The same log, a copy of it in another folder, a log that grew since."""
    part = tmp_path / LOG.name
    part.write_bytes(LOG.read_bytes()[: CASE.manifest.marks[0].pos])
    lake = tmp_path / "lake"
    land(None, part, lake, current=True, name="db")
    erase(lake, [ROW])
    (tmp_path / "copies").mkdir()
    for log in (part, shutil.copy(part, tmp_path / "copies" / part.name)):
        assert not land(None, log, lake, current=True, name="db").rows
        assert not holding(lake, VALUES)
    part.write_bytes(LOG.read_bytes())
    assert land(None, part, lake, current=True, name="db").rows
    assert not holding(lake, VALUES)
    assert {one.determined for one in keep_current(lake)} == {True}


@pytest.mark.slow
def test_an_update_of_which_one_image_goes(tmp_path: Path) -> None:
    """What stays of it is an insert or a delete."""
    case = golden.case("8.0-row-full", "keys")
    land(None, case.binlogs, tmp_path)
    log = bk.open([str(one) for one in case.binlogs])
    moved = [
        (r["db"], r["table"], r["before"], r["after"]) for r in log.row_records()
        if r["op"] == "update" and r["before"].get("id") != r["after"].get("id")
    ]  # fmt: skip
    db, name, was, now = moved[0]
    table = f"{db}.{name}"
    for key in (was["id"], now["id"]):
        erase(tmp_path, [(table, {"id": str(key)})])
        assert key not in landed(tmp_path, table)["id"].to_pylist()
        state, whole = Landing(tmp_path).state(table), log.state(table)
        gone = {was["id"]} if key == was["id"] else {was["id"], now["id"]}
        wanted = [r for r in rows_of(whole) if r["values"]["id"] not in gone]
        assert rows_of(state) == wanted


@pytest.mark.slow
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_killed_erasure_is_repeated(when: str, tmp_path: Path) -> None:
    whole = lake_of(tmp_path / "whole")
    shutil.copytree(whole, tmp_path / "counted")
    with at_step(0, when, dies, STEPS) as met:
        erase(tmp_path / "counted", [ROW, ORDERS])
    for number in range(1, len(met) + 1, max(1, len(met) // 7)):
        out = tmp_path / str(number)
        shutil.copytree(whole, out)
        with at_step(number, when, dies, STEPS), pytest.raises(Died):
            erase(out, [ROW, ORDERS])
        erase(out, [ROW, ORDERS])
        assert not holding(out, VALUES)
        for table in ("shop.customers", "shop.orders", "shop.order_items"):
            assert images(out, table) == images(tmp_path / "counted", table)
            rows = [current(one, table).to_pylist() for one in (out, tmp_path / "counted")]
            assert rows[0] == rows[1]
        assert {one.how for one in keep_current(out)} == {"unchanged"}


def test_what_cannot_be_decided_is_refused(tmp_path: Path) -> None:
    """MINIMAL images have the key alone: other columns do not say whose they are."""
    case = golden.case("8.0-row-minimal", "transactions")
    land(None, case.binlogs, tmp_path, current=True)
    before = landed(tmp_path, "bank.account").to_pylist()
    [told] = {row["owner"] for row in before if row["id"] == 1 and row["_change_type"] == "insert"}
    with pytest.raises(InputError, match=r"lack owner .* name rows by the key"):
        erase(tmp_path, [("bank.account", {"owner": told})])
    assert landed(tmp_path, "bank.account").to_pylist() == before
    assert holding(tmp_path, ["Ann B."])
    assert erase(tmp_path, [("bank.account", {"id": "1"})]).rows["bank.account"] > 5
    assert not holding(tmp_path, ["Ann B."])
    own = {row["_sequence"][:-1] for row in before if row["id"] == 1}
    assert landed(tmp_path, "bank.account").to_pylist() == [
        row for row in before if row["_sequence"][:-1] not in own
    ]
    whole = rows_of(bk.open(case.path).state("bank.account"))
    wanted = [row for row in whole if row["values"]["id"] != 1]
    assert rows_of(Landing(tmp_path).state("bank.account")) == wanted


def test_statements_with_their_values_go(tmp_path: Path) -> None:
    """However a statement writes a value's quotes."""
    statements = pa.array([
        "INSERT INTO t VALUES ('O''Brien')", r"INSERT INTO t VALUES ('O\'Brien')",
        'INSERT INTO t VALUES ("O\'Brien")', "INSERT INTO t VALUES ('O and Brien')",
        "DELETE FROM t", "UPDATE t SET a = 'two\\nlines'",
    ])  # fmt: skip
    hit = _hit(statements, {"DELETE FROM t"}, ["O'Brien", "two\nlines"])
    assert hit.to_pylist() == [statements[i].as_py() for i in (0, 1, 2, 4, 5)]


def test_texts_are_looked_for_in_bytes_and_documents() -> None:
    rows = pa.table({
        "_query": ["not of the row"], "mail": [b"ann@example.org"], "key": [b"\xff\xfe no text"],
        "doc": ['{"name": "Ann B\\u00e9", "n": [12345, {"tags": ["golfer", "abc"]}]}'],
        "text": ["{no document"], "short": ["abc"], "nothing": pa.nulls(1, pa.string()),
    })  # fmt: skip
    whole = rows["doc"][0].as_py()
    assert {*_values(rows)} == {"ann@example.org", whole, "Ann Bé", "golfer", "{no document"}


def test_other_names_of_the_table_are_told(tmp_path: Path) -> None:
    """Those that have landed, unless they are named, too."""
    case = golden.case("8.0-row-full", "ddl")
    land(None, case.binlogs, tmp_path, current=True)
    done = erase(tmp_path, [("evolve.item", {"id": 1})])
    assert done.not_covered == [
        "evolve.item was called evolve.other before: erase its rows there, too"
    ]
    done = erase(tmp_path, [("evolve.item", {"id": 1}), ("evolve.other", {"id": 1})])
    assert (done.not_covered, done.rows["evolve.other"] > 0) == ([], True)
    with pytest.raises(UsageError, match="has no column title in all of its versions"):
        erase(tmp_path, [("evolve.item", {"title": "x"})])


def test_rows_that_wait_are_told(tmp_path: Path) -> None:
    case = golden.case("5.7-row-no-gtid", "transactions")
    land(None, case.binlogs[1], tmp_path)
    with pytest.raises(InputError, match=r"changes of bank\.account wait and have not landed"):
        erase(tmp_path, [("bank.account", {"id": 1})])
    land(None, case.binlogs, tmp_path)
    assert erase(tmp_path, [("bank.account", {"id": 1})]).rows["bank.account"]


def test_current_rows_whose_changes_have_expired(tmp_path: Path) -> None:
    expire(lake_of(tmp_path), 0)
    done = erase(tmp_path, [ROW, ORDERS])
    assert (done.rows["shop.customers"], done.current["shop.customers"]) == (0, 1)
    assert done.current["shop.orders"] > 1
    assert not holding(tmp_path, VALUES)


def test_nobody_erases_while_rows_are_merged(tmp_path: Path) -> None:
    """They have been read, and would be written afterwards."""
    land(None, LOG, tmp_path)
    met = []

    def merging(*_: object) -> None:
        with pytest.raises(InputError, match="a landing is under way"):
            erase(tmp_path, [ROW])
        met.append(1)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(current_tables, "write_anew", merging)
        keep_current(tmp_path, ["shop.customers"])
    assert met


def test_a_batch_that_has_not_ended_is_told(tmp_path: Path) -> None:
    with at_step(0, "before", dies, STEPS) as met:
        land(None, LOG, tmp_path / "counted")
    tables = [i for i, name in enumerate(met) if name == "create_write_transaction"]
    with at_step(tables[-1] + 1, "before", dies), pytest.raises(Died):
        land(None, LOG, tmp_path / "lake")
    done = erase(tmp_path / "lake", [ROW])
    assert done.not_covered == ["a landing has not ended: land again, and then erase again"]
    land(None, LOG, tmp_path / "lake")
    assert not erase(tmp_path / "lake", [ROW]).not_covered
    assert not holding(tmp_path / "lake", VALUES)


def test_what_is_asked_wrongly(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nothing has landed there"):
        erase(tmp_path, [ROW])
    land(None, LOG, tmp_path, masks=["shop.customers.email=drop"])
    for row, told in (
        (("shop.nothing", {"id": "1"}), "shop.nothing has not landed there"),
        (("shop.customers", {}), "no column is named"),
        (("shop.customers", {"nothing": "1"}), "has no column nothing"),
        (("shop.customers", {"id": "x"}), "id=x: id is int unsigned, compared with a number"),
        (("shop.customers", {"email": "x"}), "email is masked"),
        (("customers", {"id": "1"}), "names no database"),
    ):
        with pytest.raises((UsageError, InputError), match=told):
            erase(tmp_path, [row])
    with under_way(place_of(tmp_path)), pytest.raises(InputError, match="a landing is under way"):
        erase(tmp_path, [ROW])
    assert not (tmp_path / "erasures").exists()


def test_rows_are_named_by_dates_that_no_calendar_has(tmp_path: Path) -> None:
    """Those with other dates stay, and none is one that cannot be compared."""
    case = golden.case("8.0-row-full", "types")
    land(None, case.binlogs, tmp_path, current=True)
    before = landed(tmp_path, "types.dates").to_pylist()
    zero = {row["_sequence"] for row in before if "0000-00-00" in texts_of(row, "needed")}
    done = erase(tmp_path, [("types.dates", {"needed": "0000-00-00"})])
    after = landed(tmp_path, "types.dates").to_pylist()
    assert zero and {row["_sequence"] for row in before} - {r["_sequence"] for r in after} == zero
    assert done.rows["types.dates"] == len(zero) and not done.not_covered
    assert not any("0000-00-00" in texts_of(row, "needed") for row in after)
    assert any("0000-01-01" in texts_of(row, "d") for row in after)
    assert erase(tmp_path, [("types.datetimes", {"f3": "0000-00-00 00:00:00.0"})]).rows[
        "types.datetimes"
    ]


def texts_of(row: dict[str, Any], column: str) -> list[str]:
    return [cell["text"] for cell in row["_cells"] or () if cell["column"] == column]
