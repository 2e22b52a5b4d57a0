"""What lands is the changelog, whatever the order, pieces and folders in which logs come."""

from __future__ import annotations

import shutil
from collections import Counter
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

import binlogkit as bk
from binlogkit.errors import DamageError, InputError, SchemaError, UsageError
from binlogkit.frames.fields.rows import CHANGELOG
from binlogkit.log.index import Joined
from binlogkit.rows.filters import written_table_name
from binlogkit.spark.landing import landing
from binlogkit.spark.landing.landing_path import Folder
from binlogkit.spark.landing.ledger import Ledger
from binlogkit.spark.landing.reading import landed as landed_table
from binlogkit.spark.landing.reading import read
from binlogkit.spark.landing.restoring import Landing
from binlogkit.spark.landing.shape import folder_of
from binlogkit.spark.landing.terms import Terms
from binlogkit.spark.masks import parse_masks
from binlogkit_fixtures import golden
from tests.analyses.verify.conftest import (
    Piece,
    joined,
    keys_log,
    of_server,
    pieces_of,
    previous_gtids,
    said,
)
from tests.fuzz.binlogkit_fuzz.framing import join, places, split
from tests.spark.landing.landings import land, landed
from tests.spark.splits.test_splits import plan_of
from tests.spark.splits.test_splits import read as read_plan

TRANSACTIONS = golden.case("8.0-row-full", "transactions")
KEYS = golden.case("8.0-row-minimal", "keys")
CASES = [
    golden.case(cell, scenario)
    for cell, scenario in (
        ("5.6-row-full", "transactions"),
        ("5.7-row-full", "types"),
        ("5.7-row-no-gtid", "transactions"),
        ("8.0-row-compressed", "transactions"),
        ("8.0-row-full", "ddl"),
        ("8.0-row-full", "types"),
        ("8.0-row-minimal", "keys"),
        ("8.0-row-partial-json", "json"),
        ("9-row-full", "modern"),
    )
]
NO_GTIDS = golden.case("5.7-row-no-gtid", "transactions")
PLACES = ("_file", "_source")
ORDER = ("_commit_version", "_sequence")


def ident(case: golden.GoldenCase) -> str:
    return f"{case.path.parent.name}/{case.path.name}"


def without(rows: list[dict[str, Any]], *names: str) -> list[dict[str, Any]]:
    return [{k: v for k, v in row.items() if k not in names} for row in rows]


def changelog_of(source: Any, table: str) -> list[dict[str, Any]]:
    """The changelog in the types of landed tables."""
    rows = read_plan(plan_of(source, 1 << 20, records="changelog", table=table)).to_pylist()
    for row in rows:
        for name, value in row.items():
            if hasattr(value, "total_seconds"):
                row[name] = round(value.total_seconds() * 1_000_000)
    return sorted(rows, key=lambda row: row["_sequence"])


def folder(table: str) -> str:
    db, _, name = table.partition(".")
    return folder_of((db, name.strip("`").replace("``", "`"))).removeprefix("tables/")


@pytest.mark.sampled(0, 3)
@pytest.mark.parametrize("case", CASES, ids=ident)
def test_the_rows_of_a_landing_are_the_changelogs(case: golden.GoldenCase, tmp_path: Path) -> None:
    arrived = land(case.path, tmp_path, task_bytes=3000, batch_bytes=10_000)
    assert arrived.batches >= len(case.binlogs) - 1
    found = landed(tmp_path)
    several = {name for name in found if "-" in name}
    total = 0
    for table in bk.open(case.path).table_names():
        rows = without(found.get(folder(table), []), "_day")
        try:
            expected = changelog_of(case.path, table)
        except SchemaError:  # versions that do not unite are in folders of their own
            assert f"{folder(table)}-2" in several
            continue
        assert [str(sorted(row.items())) for row in rows] == [
            str(sorted(row.items())) for row in expected
        ], table
        assert arrived.rows.get(table, 0) == len(rows)
        total += len(rows)
    assert total
    assert land(case.path, tmp_path).batches == 0


def test_versions_that_do_not_unite_lose_no_row(tmp_path: Path) -> None:
    case = golden.case("8.0-row-full", "ddl")
    land(case.path, tmp_path)
    found = landed(tmp_path, "evolve/item*")
    assert len(found) > 1
    rows = sorted((r for rows in found.values() for r in rows), key=lambda row: row["_sequence"])
    own = [
        r for r in bk.open(case.path).row_records() if (r["db"], r["table"]) == ("evolve", "item")
    ]
    assert [(r["_pos"], r["_row"]) for r in rows if r["_change_type"] != "update_preimage"] == [
        (r["pos"], r["row"]) for r in own
    ]
    # What a version calls its columns is what its rows have there.
    by_place = {(r["pos"], r["row"]): r for r in own}
    for row in rows:
        record = by_place[row["_pos"], row["_row"]]
        image = record[
            "before" if row["_change_type"] in ("delete", "update_preimage") else "after"
        ]
        known = {name for name in row if not name.startswith("_")}
        assert set(image) <= known
        assert all(row[name] is None for name in known - set(image))


@pytest.mark.slow
def test_the_name_of_a_landing_is_the_source_of_all_that_it_says(tmp_path: Path) -> None:
    """Of rows, transactions and lives; logs without a row have it, too."""
    for log in TRANSACTIONS.binlogs:
        land(log, tmp_path, name="shop-a")
    landing, read = Landing(tmp_path), bk.open(TRANSACTIONS.path, name="shop-a")
    wanted = read.transactions(source="shop-a", engine="pyarrow").num_rows
    assert landing.transactions(source="shop-a").num_rows == wanted > 0
    assert landing.transactions(source="another").num_rows == 0
    rows = [row for rows in landed(tmp_path).values() for row in rows]
    assert {row["_source"] for row in rows} == {"shop-a"}
    life = landing.life("bank.account", 3)
    assert {one["source"] for one in life.records()} == {"shop-a"}
    named = landing.undo(table="bank.account", source="shop-a")
    assert str(named.script()) == str(landing.undo(table="bank.account").script())


def test_a_log_that_grows_lands_in_pieces(tmp_path: Path) -> None:
    """Cut after any event, the log lands up to the last transaction that has ended by then; XA
    transactions land when they are committed."""
    first, second = TRANSACTIONS.binlogs
    logs, out = tmp_path / "logs", tmp_path / "out"
    logs.mkdir()
    batches = 0
    for log in (first, second):
        data = log.read_bytes()
        ends = [*places(data)[1:], len(data)]
        for end in [*ends[:: max(1, len(ends) // 25)], len(data)]:
            (logs / log.name).write_bytes(data[:end])
            batches += land(logs, out).batches
    assert batches > 20
    land(TRANSACTIONS.path, tmp_path / "whole")
    found, whole = landed(out), landed(tmp_path / "whole")
    assert found.keys() == whole.keys()
    for name, rows in found.items():
        assert without(rows, *PLACES) == without(whole[name], *PLACES)


def test_logs_that_come_late_copies_and_other_names(tmp_path: Path) -> None:
    first, second = TRANSACTIONS.binlogs
    out, other = tmp_path / "out", tmp_path / "other"
    other.mkdir()
    land(TRANSACTIONS.path, tmp_path / "whole")
    # Without the log before it nothing tells the names of its columns: its rows wait.
    late = land(second, out)
    assert late.batches == 1 and not late.rows and late.waiting
    with pytest.raises(InputError, match="wait and have not landed: the names of its columns"):
        Landing(out).state("bank.account")
    early = land([first, second], out)
    assert [(span.file, span.again) for span in early.spans] == [
        (str(first), None),
        (str(second), 1),
    ]
    assert not early.waiting
    # With what the first log prepared and the second one, which came before it, committed.
    assert prepared_before()
    assert without_places(landed(out)) == without_places(landed(tmp_path / "whole"))
    for log in (first, second):
        shutil.copy(log, other / f"copy-of-{log.name}")
    assert land(other, out).batches == 0


def test_logs_alike_of_one_second(tmp_path: Path) -> None:
    """Logs of a server without GTIDs, each with a transaction like those of the others but for a
    value, or but for nothing; an engine that has no XIDs gives all the same, too."""
    events, (database, create, *told) = keys_log()
    filled = next(one for one in told if any(b"three" in piece.data for piece in one))
    logs = list[Path]()
    for n, name in enumerate((b"three", b"seven", b"eight", b"eight", b"three"), 1):
        own = [*database[1:], *create[1:]] * (n == 1) + said(filled[1:], b"three", name)
        previous = Piece(events[1].data[:19] + previous_gtids(0), events[1].type)
        rotate = Piece(events[-1].data[:27] + f"binlog.{n + 1:06}".encode(), "ROTATE_EVENT")
        logs.append(tmp_path / f"binlog.{n:06}")
        logs[-1].write_bytes(joined([events[0], previous, *own, rotate]))
    together, alone = tmp_path / "together", tmp_path / "alone"
    assert len(land(logs, together).spans) == len(logs)
    assert [len(land(logs[:n], alone).spans) for n in range(1, len(logs) + 1)] == [1] * len(logs)
    copies = [tmp_path / "copies" / f"copy-of-{log.name}" for log in logs]
    copies[0].parent.mkdir()
    for log, copy in zip(logs, copies, strict=True):
        shutil.copy(log, copy)
    of_four = [str(log) for log in logs for _ in range(4)]
    for out in (together, alone):
        assert [row["_file"] for row in landed(out)["keyed/pk"]] == of_four
    for order in (
        [*logs, *copies],
        [*copies, *logs],
        [one for two in zip(logs, copies, strict=True) for one in two],
    ):
        out = tmp_path / f"both-{len(list(tmp_path.iterdir()))}"
        land(order, out)
        assert len(landed(out)["keyed/pk"]) == len(of_four)
    for out in (together, alone):
        assert land([*logs, *copies], out).batches == 0
        state = Landing(out).state("keyed.pk")
        assert [one["finding"] for one in state.findings.to_pylist()] == ["duplicate"]


def test_a_log_alone_lands_what_later_logs_that_have_landed_committed(tmp_path: Path) -> None:
    """An XA transaction that it prepared, and that a log committed that landed before it."""
    first, second = TRANSACTIONS.binlogs
    out = tmp_path / "out"
    land(TRANSACTIONS.path, tmp_path / "whole")
    land(second, out)
    early = land(first, out)
    assert len(early.spans) == 1 and not early.lost
    land([first, second], out)
    assert prepared_before()
    assert without_places(landed(out)) == without_places(landed(tmp_path / "whole"))


@pytest.mark.parametrize(("gone", "copied"), [(False, True), (True, True), (False, False)])
def test_what_one_server_prepared_and_another_one_that_took_over_committed(
    gone: bool, copied: bool, tmp_path: Path
) -> None:
    """Once, whether or not the first server's log is there then; or its copy, in the other's."""
    first, second = TRANSACTIONS.binlogs
    old, new, out = tmp_path / "old", tmp_path / "new", tmp_path / "out"
    old.mkdir()
    new.mkdir()
    shutil.copy(first, old)
    for number, one in enumerate((first, second) if copied else (second,), 7 if copied else 8):
        (new / f"other.{number:06}").write_bytes(of_server(one.read_bytes(), 99))
    land(TRANSACTIONS.path, tmp_path / "whole")
    assert prepared_before()
    named: dict[str, Any] = {} if copied else {"name": "s"}  # one server's tables are the other's
    land(old, out, **named)
    if gone:
        shutil.rmtree(old)
    for _ in range(2):
        assert not land([new] if gone else [old, new], out, **named).lost
    found, whole = (
        {
            table: Counter(map(repr, without(rows, *PLACES, *ORDER)))
            for table, rows in landed(folder).items()
        }
        for folder in (out, tmp_path / "whole")
    )
    assert found == whole
    landing, original = Landing(out), bk.open([*TRANSACTIONS.binlogs])
    for table in landing.tables():
        mine, theirs = landing.state(table), original.state(table)
        assert mine.determined == theirs.determined
        values = ([one["values"] for one in state.records()] for state in (mine, theirs))
        assert next(values) == next(values), table
    changes = [] if gone else bk.open([old, new]).transaction_records()
    assert gone or prepared_before() == [
        one["gtid"] for one in changes
        if one["outcome"] == "committed" and one["resolved_file"] not in (None, one["file"])
    ]  # fmt: skip


@pytest.mark.parametrize(
    "order",
    ["b2;a1;a2", "a2;b1;b2", "b2;a1;b1;a2", "b2;a1,a2", "a1;b2,a2", "b2;a2;b1;a1", "a1,b2;a2,b1"],
)
def test_a_commit_of_which_two_servers_logs_have_copies_counts_once(
    order: str, tmp_path: Path
) -> None:
    """Whichever lands first, before what it commits or after it, each log in a batch of its own."""
    for name, server in (("a", None), ("b", 99)):
        for number, one in enumerate(TRANSACTIONS.binlogs, 1):
            data = one.read_bytes()
            copy = tmp_path / name / f"{name}.{number:06}"
            copy.parent.mkdir(exist_ok=True)
            copy.write_bytes(data if server is None else of_server(data, server))
    out = tmp_path / "out"
    for step in order.split(";"):
        logs = [tmp_path / log[0] / f"{log[0]}.{int(log[1]):06}" for log in step.split(",")]
        assert not land(logs, out, name="s", batch_bytes=1).lost
    assert not land([tmp_path / "a", tmp_path / "b"], out, name="s").waiting
    land(TRANSACTIONS.path, tmp_path / "whole", name="s")
    assert prepared_before()
    found, whole = (
        {
            table: Counter(map(repr, without(rows, *PLACES, *ORDER)))
            for table, rows in landed(folder).items()
        }
        for folder in (out, tmp_path / "whole")
    )
    assert found == whole
    first = TRANSACTIONS.binlogs[0]
    *_, last = bk.open(first).transaction_records()  # what is prepared is open after it
    landing, original = Landing(out), bk.open([*TRANSACTIONS.binlogs])
    own = tmp_path / "a" / "a.000001"
    for table in landing.tables():
        mine = landing.state(table, at=(str(own), last["end_pos"]))
        theirs = original.state(table, at=(str(first), last["end_pos"]))
        values = ([one["values"] for one in state.records()] for state in (mine, theirs))
        assert next(values) == next(values), table


def test_what_one_log_decides_itself_is_not_decided_again(tmp_path: Path) -> None:
    """By a third server, of a second one whose log only prepares it."""
    logs = golden.case("8.0-row-full-metadata", "transactions").binlogs
    first, second = (pieces_of(log.read_bytes()) for log in logs)
    starts = [i for i, piece in enumerate(first) if piece.type == "GTID_LOG_EVENT"]
    prepared = next(i for i, one in enumerate(first) if one.type == "XA_PREPARE_LOG_EVENT")
    number = sum(start < prepared for start in starts)  # of its GTID

    def since(n: int, *pieces: Piece) -> bytes:
        """A log of what comes from a transaction on."""
        before = Piece(first[1].data[:19] + previous_gtids(n - 1), first[1].type)
        return joined([first[0], before, *pieces])

    made = {
        "source.000001": joined(first[: starts[number - 2]]),
        "source.000002": since(number - 1, *first[starts[number - 2] : -1], *second[2:]),
        "replica.000001": of_server(since(number, *first[starts[number - 1] :]), 99),
        "third.000001": of_server(joined([*first[:-1], *second[2:]]), 98),
    }
    for name, data in made.items():
        (tmp_path / name).write_bytes(data)
    land([tmp_path / name for name in made if "source" in name], tmp_path / "one")
    land([tmp_path / name for name in made], tmp_path / "all")
    assert without_places(landed(tmp_path / "all")) == without_places(landed(tmp_path / "one"))


def test_rows_from_a_copy_of_what_is_inside_an_earlier_log(tmp_path: Path) -> None:
    """``_sequence``, which is by the logs, does not order these."""
    logs = golden.case("8.0-row-full-metadata", "transactions").binlogs
    first, second = (pieces_of(log.read_bytes()) for log in logs)
    whole, copy = tmp_path / "whole.000001", tmp_path / "copy.000001"
    whole.write_bytes(joined([*first[:-1], *second[2:]]))
    copy.write_bytes(of_server(joined(second), 99))
    land([copy], tmp_path / "out", name="s")
    land([whole, copy], tmp_path / "out", name="s")
    assert not Ledger(Folder(tmp_path / "out")).in_sequence
    land([whole], tmp_path / "other")
    land([whole, copy], tmp_path / "other")
    assert Ledger(Folder(tmp_path / "other")).in_sequence
    mine, theirs = Landing(tmp_path / "out"), bk.open(whole)
    for table in mine.tables():
        values = (
            [one["values"] for one in state.records()]
            for state in (mine.state(table), theirs.state(table))
        )
        assert next(values) == next(values), table


@pytest.mark.parametrize("order", ["ab", "ba", "b;a"])
def test_a_server_that_was_made_from_a_dump_comes_after_its_source(
    order: str, tmp_path: Path
) -> None:
    """Its PREVIOUS_GTIDS lacks what the dump brought; that it has none of the source's own
    transactions is shown by their numbers."""
    first, second = TRANSACTIONS.binlogs
    pieces = pieces_of(of_server(second.read_bytes(), 99))
    pieces[1].data[19:] = previous_gtids(0)
    logs = {"a": tmp_path / "a.000007", "b": tmp_path / "b.000001"}
    shutil.copy(first, logs["a"])
    logs["b"].write_bytes(joined(pieces))
    out = tmp_path / "out"
    for step in (*order.split(";"), "ab"):
        land([logs[name] for name in step], out, name="s")
    landing, original = Landing(out), bk.open([first, second])
    for table in landing.tables():
        mine, theirs = landing.state(table), original.state(table)
        assert mine.determined == theirs.determined
        values = ([one["values"] for one in state.records()] for state in (mine, theirs))
        assert next(values) == next(values), table


def test_rows_that_waited_land_without_the_other_logs_of_their_batch(tmp_path: Path) -> None:
    first, second = TRANSACTIONS.binlogs
    [besides] = golden.case("9-row-full", "json").binlogs
    together = land([second, besides], tmp_path / "out")
    assert together.batches == 1 and len(together.spans) == 2 and together.waiting
    rest = land([first, second], tmp_path / "out")
    assert [span.file for span in rest.spans] == [str(first), str(second)] and not rest.waiting
    land(TRANSACTIONS.path, tmp_path / "whole")
    found, whole = (without_places(landed(tmp_path / n, "bank/*")) for n in ("out", "whole"))
    assert found == whole
    # The log that was besides has landed, and nothing of it comes again.
    assert land([first, second, besides], tmp_path / "out").batches == 0


def test_rows_that_still_wait_when_others_of_their_batch_have_landed(tmp_path: Path) -> None:
    """Each once its own server's first log is there."""
    first, second = TRANSACTIONS.binlogs
    before, besides, _ = golden.case("9-row-durable", "restarts").binlogs
    out, whole = tmp_path / "out", tmp_path / "whole"
    assert {one.table for one in land([second, besides], out).waiting} > {"lives.heap", "lives.t"}
    assert {one.table for one in land([first, second], out).waiting} == {"lives.heap", "lives.t"}
    assert not land([before, besides], out).waiting
    for logs in ([first, second], [before, besides]):
        land(logs, whole)
    assert without_places(landed(out)) == without_places(landed(whole))


@pytest.mark.slow
def test_transactions_of_two_sources_land_once(tmp_path: Path) -> None:
    """A replica's log, as it were: the same GTIDs, begun at another time by another server."""
    case = golden.case("8.0-row-full", "keys")
    replica = tmp_path / "replica"
    replica.mkdir()
    pieces = split(case.binlogs[0].read_bytes())
    first = replace(pieces.parts[0], timestamp=pieces.parts[0].timestamp + 7, server_id=99)
    again = join(replace(pieces, parts=[first, *pieces.parts[1:]]))
    (replica / "replica-bin.000009").write_bytes(again)
    both = land([case.binlogs[0], replica / "replica-bin.000009"], tmp_path / "both")
    alone = land(case.path, tmp_path / "alone")
    assert both.rows == alone.rows
    after = tmp_path / "after"
    land(case.path, after)
    repeated = land(replica, after)
    assert repeated.batches == 1 and not repeated.rows
    keep = ("_sequence", "_gtid", "_pos")
    for name, rows in landed(after).items():
        assert [[r[k] for k in keep] for r in rows] == [
            [r[k] for k in keep] for r in landed(tmp_path / "alone")[name]
        ]


def test_names_outlive_the_logs_that_told_them(tmp_path: Path) -> None:
    """The log with CREATE TABLE was purged when the next one came."""
    logs, out = tmp_path / "logs", tmp_path / "out"
    logs.mkdir()
    for log in TRANSACTIONS.binlogs:
        shutil.copy(log, logs)
        arrived = land(logs, out)
        assert arrived.rows
        (logs / log.name).unlink()
    found = landed(out, "bank/account")["bank/account"]
    assert not [name for name in found[0] if name.startswith("@")]
    # One was prepared in the first log and committed in the second: its rows cannot be had.
    assert prepared_before()
    assert {one.file for one in arrived.lost} == {str(logs / TRANSACTIONS.binlogs[0].name)}


def prepared_before() -> list[str]:
    """The transactions that another log prepared than the one that commits them."""
    return [
        t["gtid"] for t in bk.open(TRANSACTIONS.path).transaction_records()
        if t["outcome"] == "committed" and t["resolved_file"] not in (None, t["file"])
    ]  # fmt: skip


def test_a_table_or_a_mask_that_is_in_no_log(tmp_path: Path) -> None:
    """The log does not count as landed then."""
    for terms, text in (
        (Terms(tables=("bank.acount",)), "no log has a table bank.acount: nothing of it can land"),
        (Terms(exclude=("bank.acount",)), "no log has a table bank.acount: it is not excluded"),
        (Terms(masks=parse_masks(["bank.acount.owner=drop"])), "is for no table in these logs"),
        (Terms(masks=parse_masks(["bank.account.ownr=drop"])), "is for no column in these logs"),
    ):
        with pytest.raises(UsageError, match=text):
            land(TRANSACTIONS.path, tmp_path / text, terms)
        assert not landed(tmp_path / text)


# ---- what lands, and how ----------------------------------------------------------------------


def test_some_tables(tmp_path: Path) -> None:
    assert land(TRANSACTIONS.path, tmp_path / "a", Terms(tables=("bank.account",))).rows.keys() == {
        "bank.account"
    }
    every = set(land(TRANSACTIONS.path, tmp_path / "b").rows)
    others = land(TRANSACTIONS.path, tmp_path / "c", Terms(exclude=("bank.account",))).rows
    assert others.keys() == every - {"bank.account"}
    with pytest.raises(UsageError, match=r"has --table bank\.account, not none: give"):
        land(TRANSACTIONS.path, tmp_path / "a")


def test_masked_values_are_in_no_file(tmp_path: Path) -> None:
    case = golden.case("8.0-row-rows-query", "transactions")
    key = tmp_path / "key"
    key.write_bytes(b"0123456789abcdef\n")
    masks = ["bank.account.owner=hash", "account.balance=drop", "bank.note.body=truncate:2"]
    columns = {row["column"] for row in bk.open(case.path).tables().to_dict("records")
               if row["table"] == "note"}  # fmt: skip
    text = next(name for name in columns if name not in ("id",))
    masks[2] = f"bank.note.{text}=truncate:2"
    out = tmp_path / "out"
    land(case.path, out, Terms(masks=parse_masks(masks, key)))
    rows = landed(out)
    account, notes = rows["bank/account"], rows["bank/note"]
    assert "balance" not in account[0]
    assert {len(row["owner"]) for row in account} == {64}
    plain = {r["owner"] for r in changelog_of(case.path, "bank.account")}
    assert len({row["owner"] for row in account}) == len(plain)
    assert all(row[text] is None or len(str(row[text])) <= 2 for row in notes)
    assert all(row["_query"] is None for found in rows.values() for row in found)
    owners = {owner.encode() for owner in plain if len(owner) > 4}
    assert owners
    for path in out.rglob("*.parquet"):
        if path.parent.name in ("definitions",):  # statements on tables, not on rows
            continue
        whole = str(pa.parquet.read_table(path).to_pydict()).encode()
        assert not [owner for owner in owners if owner in whole], path
    with pytest.raises(UsageError, match=r"has --mask .*, not none: give"):
        land(case.path, out)
    key.write_bytes(b"another key of 16")
    with pytest.raises(UsageError, match=r"has the mask key .*: give"):
        land(case.path, out, Terms(masks=parse_masks(masks, key)))


def test_where_all_has_landed_nothing_of_the_ledger_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until a log comes or grows, others are named, or damage is taken otherwise."""
    logs, out, read = tmp_path / "logs", tmp_path / "out", list[int]()
    logs.mkdir()
    first, *others = TRANSACTIONS.binlogs
    shutil.copy(first, logs)

    def noted(*given: Any, **options: Any) -> Joined:
        read.append(1)
        return Joined(*given, **options)

    monkeypatch.setattr(landing, "Joined", noted)

    def again(**options: Any) -> tuple[int, int]:
        read.clear()
        return land(logs, out, **options).batches, len(read)

    assert again() == (1, 1)
    assert again() == (0, 0)
    assert again(on_damage="report") == (0, 1)
    assert again() == (0, 1)
    assert again() == (0, 0)
    for log in others:
        shutil.copy(log, logs)
    assert again() == (1, 1)
    assert again() == (0, 0)
    data = others[-1].read_bytes()
    (logs / others[-1].name).write_bytes(data[: len(data) // 2])
    assert again(on_damage="report")[1] == 1
    (logs / others[-1].name).write_bytes(data)
    assert again()[1] == 1
    assert again() == (0, 0)
    (out / "ledger" / "complete").write_bytes(b"\xff")
    assert again() == (0, 1)
    expected = tmp_path / "expected"
    land(TRANSACTIONS.path, expected)
    assert without_places(landed(out)) == without_places(landed(expected))


@pytest.mark.slow
@pytest.mark.parametrize("case", [TRANSACTIONS, NO_GTIDS], ids=ident)
def test_a_log_that_is_cut_short_after_it_landed(case: golden.GoldenCase, tmp_path: Path) -> None:
    """Also one that commits an XA transaction of the log before it."""
    logs, out, expected = tmp_path / "logs", tmp_path / "out", tmp_path / "expected"
    shutil.copytree(case.path, logs)
    land(logs, out)
    land(logs, expected)
    for log in sorted(logs.glob("binlog.0*")):
        whole = log.read_bytes()
        for cut in range(len(whole) // 7, len(whole), len(whole) // 7):
            log.write_bytes(whole[:cut])
            with suppress(InputError) if case is NO_GTIDS else nullcontext():
                land(logs, out, on_damage="report")
        log.write_bytes(whole)
        land(logs, out)
        assert landed(out) == landed(expected)


def without_places(found: dict[str, list[dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    return {name: without(rows, *PLACES) for name, rows in found.items()}


@pytest.mark.parametrize(
    ("mask", "said"),
    [
        ("owner=drop", "a mask is"),
        ("a.b.c.d=drop", "a mask is"),
        ("t.c=remove", "a mask is"),
        ("t.c=truncate", "a mask is"),
        ("t.c=hash", "hash needs a key"),
    ],
)
def test_masks_that_mean_nothing(mask: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        parse_masks([mask])


def test_names_with_dots_and_quotes_can_be_masked() -> None:
    (mask,) = parse_masks(["`a.b`.`c``d`.`E.f`=truncate:3"]).masks
    assert mask.text == "`a.b`.`c``d`.`e.f`=truncate:3"
    assert parse_masks([mask.text]).masks == (mask,)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (("shop", "orders"), "tables/shop/orders"),
        (("..", "../../etc"), "tables/@002e@002e/@002e@002e@002f@002e@002e@002fetc"),
        (("_delta_log", "x-2"), "tables/@005fdelta_log/x@002d2"),
        (("bücher", "a b"), "tables/b@00fccher/a@0020b"),
    ],
)
def test_no_name_leads_out_of_the_folder(name: tuple[str, str], expected: str) -> None:
    assert folder_of(name) == expected
    assert folder_of(name, 1) == f"{expected}-2"


def test_partitions_and_bounds_are_what_the_rows_say(tmp_path: Path) -> None:
    land(TRANSACTIONS.path, tmp_path)
    table = DeltaTable(tmp_path / "tables/bank/account")
    assert table.metadata().partition_columns == ["_day", "_source"]
    rows = read(Folder(tmp_path / "tables/bank/account"))
    assert {str(day) for day in rows["_day"].to_pylist()} == {
        moment.date().isoformat() for moment in rows["_commit_timestamp"].to_pylist()
    }
    actions = pa.table(table.get_add_actions(flatten=True))
    versions = rows["_commit_version"].to_pylist()
    assert min(actions["min._commit_version"].to_pylist()) == min(versions)
    assert max(actions["max._commit_version"].to_pylist()) == max(versions)
    assert sum(actions["num_records"].to_pylist()) == len(versions)
    own = [field.name for field in CHANGELOG]
    assert rows.column_names[: len(own)] == own


# ---- damage -----------------------------------------------------------------------------------


def test_damage_stops_a_landing_before_anything_lands(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    shutil.copytree(TRANSACTIONS.path, logs)
    data = bytearray((logs / "binlog.000001").read_bytes())
    data[len(data) // 2] ^= 0xFF
    (logs / "binlog.000001").write_bytes(data)
    with pytest.raises(DamageError, match=r"binlog\.000001"):
        land(logs, tmp_path / "out")
    assert not landed(tmp_path / "out")
    arrived = land(logs, tmp_path / "out", on_damage="report")
    assert arrived.rows and arrived.updated.damaged


def test_a_log_that_is_cut_inside_its_last_event_lands_up_to_there(tmp_path: Path) -> None:
    """As a server's active log is when it is copied."""
    logs = tmp_path / "logs"
    logs.mkdir()
    data = TRANSACTIONS.binlogs[0].read_bytes()
    (logs / "binlog.000001").write_bytes(data[: places(data)[-3] + 7])
    assert land(logs, tmp_path / "out").rows


def test_a_log_of_a_batch_that_was_begun_is_needed(tmp_path: Path) -> None:
    def fails(*_: Any) -> Any:
        raise KeyboardInterrupt

    out = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        land(TRANSACTIONS.path, out, run=fails)
    with pytest.raises(InputError, match="an earlier landing has begun with it"):
        land(KEYS.path, out)
    assert land([*TRANSACTIONS.binlogs, *KEYS.binlogs], out).batches == 2
    assert written_table_name("keyed", "pk") in bk.open(KEYS.path).table_names()


# ---- read again ---------------------------------------------------------------------------------


def test_a_table_whose_versions_do_not_unite_is_read_as_one(tmp_path: Path) -> None:
    """A column that was a number and then a text is text, exact in both."""
    case = golden.case("8.0-row-full", "ddl")
    land(case.path, tmp_path)
    whole = landed_table(tmp_path, "evolve.item").to_pylist()
    rows = [row for found in landed(tmp_path, "evolve/item*").values() for row in found]
    assert len(whole) == len(rows)
    assert [row["_sequence"] for row in whole] == sorted(row["_sequence"] for row in rows)
    by_place = {row["_sequence"]: row for row in rows}
    for row in whole:
        for name, value in by_place[row["_sequence"]].items():
            own = row[name]
            assert own == value or type(value)(own) == value, name


def test_what_has_not_landed_is_told(tmp_path: Path) -> None:
    land(TRANSACTIONS.path, tmp_path)
    with pytest.raises(InputError, match=r"bank\.nothing has not landed"):
        landed_table(tmp_path, "bank.nothing")
    with pytest.raises(UsageError, match="names no database"):
        landed_table(tmp_path, "account")
