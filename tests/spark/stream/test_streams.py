"""A stream gives what a batch gives of the same logs, however they grow and however often it is
begun again; the same two offsets give the same rows for ever."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import binlogkit as bk
from binlogkit.errors import BinlogKitError, DamageError, InputError, UsageError
from binlogkit.spark.stream.reach import Limit
from binlogkit_fixtures import golden
from tests.analyses.verify.conftest import (
    SID,
    joined,
    of_server,
    pieces_of,
    previous_gtids,
    write_series,
)
from tests.spark.splits.test_splits import SERIES
from tests.spark.stream.streams import Query, batch_of

KINDS = ("rows", "changes", "events", "transactions", "statements", "boundaries")
TRANSACTIONS = golden.case("8.0-row-full", "transactions")
NO_GTIDS = golden.case("5.7-row-no-gtid", "transactions")
_RESOLVED = ("outcome", "resolved_file", "resolved_pos")


def known_then(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Transactions without what became of those that were prepared: it may have come later."""
    return [
        {k: v for k, v in row.items() if k not in _RESOLVED}
        if row.get("resolved_file") or row.get("outcome") == "prepared"
        else row
        for row in rows
    ]


def grown(binlogs: Iterable[Path], logs: Path, seed: int, cuts: int = 3) -> Iterator[None]:
    """Let logs grow in a folder, cut anywhere; yields after each piece."""
    chosen = random.Random(seed)
    for binlog in binlogs:
        data = binlog.read_bytes()
        for cut in [*sorted(chosen.randrange(len(data)) for _ in range(cuts)), len(data)]:
            (logs / binlog.name).write_bytes(data[:cut])
            yield


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    made = tmp_path / "logs"
    made.mkdir()
    return made


def query(logs: Path, **options: str) -> Query:
    return Query(logs, schema=batch_of(*TRANSACTIONS.binlogs, **options)[1], **options)


# ---- what a batch gives --------------------------------------------------------------------------


@pytest.mark.sampled(0, 6)
@pytest.mark.parametrize(("cell", "scenario"), SERIES)
@pytest.mark.parametrize("kind", KINDS)
def test_logs_that_grow(kind: str, cell: str, scenario: str, logs: Path, tmp_path: Path) -> None:
    case = golden.case(cell, scenario)
    _, schema = batch_of(*case.binlogs, records=kind)
    one = Query(logs, schema=schema, records=kind)
    indexed = Query(logs, schema=schema, records=kind, index=str(tmp_path / "index"))
    for _ in grown(case.binlogs, logs, seed=len(kind)):
        one.all()
        indexed.restart()
        indexed.all(Limit(logs=1))
    want, _ = batch_of(logs, records=kind)
    assert len(one.rows) > len(case.binlogs)
    for made in (one, indexed):
        assert known_then(made.all()) == known_then(want)


@pytest.mark.sampled(0, 3)
@pytest.mark.parametrize(("cell", "scenario"), SERIES)
def test_tables_of_logs_that_grow(cell: str, scenario: str, logs: Path) -> None:
    case = golden.case(cell, scenario)
    names = bk.open(case.path).table_names()
    for table in names[:: max(1, len(names) // 2)]:
        for kind in ("changelog", "changes"):
            options = {"records": kind, "table": table}
            try:
                _, schema = batch_of(*case.binlogs, **options)
            except BinlogKitError:  # its versions do not unite
                continue
            shutil.rmtree(logs)
            logs.mkdir()
            made = Query(logs, schema=schema, **options)
            for _ in grown(case.binlogs, logs, seed=len(table)):
                made.all(Limit(size=4000))
            want, _ = batch_of(logs, **options)
            got = made.all()
            if kind == "changelog":  # a commit of what was prepared before comes as it is committed
                got = sorted(got, key=lambda row: row["_sequence"])
                want = sorted(want, key=lambda row: row["_sequence"])
            assert got == want, (table, kind)


@pytest.mark.sampled(0, 2)
@pytest.mark.parametrize("kind", ["rows", "events", "transactions"])
def test_a_batch_that_is_done_again_gives_the_same_rows(
    kind: str, logs: Path, tmp_path: Path
) -> None:
    for index in (str(tmp_path / "index"), None):
        made = query(logs, records=kind, **({"index": index} if index else {}))
        offsets = [made.offset]
        for _ in grown(TRANSACTIONS.binlogs, logs, seed=5):
            while made.batch(Limit(size=500)):
                offsets.append(made.offset)
        assert len(offsets) > 12
        for (start, end), rows in zip(pairwise(offsets), made.rows, strict=True):
            made.restart()
            assert made.read(start, end) == rows
        shutil.rmtree(logs)
        logs.mkdir()


@pytest.mark.slow
def test_a_changelog_is_that_of_the_batches_that_commit(logs: Path) -> None:
    case = golden.case("9-row-full", "transactions")
    table = next(t for t in bk.open(case.path).table_names() if t.endswith("account"))
    options = {"records": "changelog", "table": table}
    want, schema = batch_of(*case.binlogs, **options)
    made = Query(logs, schema=schema, **options)
    offsets = [made.offset]
    for binlog in case.binlogs:
        shutil.copy(binlog, logs)
        while made.batch(Limit(size=1)):
            offsets.append(made.offset)
    for (start, end), rows in zip(pairwise(offsets), made.rows, strict=True):
        made.restart()
        assert made.read(start, end) == rows
        assert len({row["_commit_version"] for row in rows}) <= 1
    fields = [name for name in want[0] if name not in ("_file", "_source")]
    got = [tuple(str(row[n]) for n in fields) for rows in made.rows for row in rows]
    assert sorted(got) == sorted(tuple(str(row[n]) for n in fields) for row in want)


# ---- several servers -----------------------------------------------------------------------------


@pytest.mark.slow
def test_what_two_sources_have_comes_once(logs: Path) -> None:
    """Whichever of them is read first, transaction by transaction."""
    (logs / "a").mkdir()
    (logs / "b").mkdir()
    whole, schema = batch_of(*TRANSACTIONS.binlogs, records="rows")
    want = sorted(str(row["gtid"]) + str(row["after"]) for row in whole)
    for seed in range(3):
        chosen, made = random.Random(seed), Query(logs, schema=schema, records="rows")
        left = {"a": list(TRANSACTIONS.binlogs), "b": list(TRANSACTIONS.binlogs)}
        while any(left.values()):
            folder = chosen.choice([name for name in left if left[name]])
            log = left[folder][0]
            data, has = log.read_bytes(), logs / folder / log.name
            size = (has.stat().st_size if has.exists() else 0) + chosen.randrange(1, 6000)
            has.write_bytes(data[:size])
            if size >= len(data):
                left[folder].pop(0)
            made.all(Limit(size=chosen.choice([1, 3000])))
            if chosen.random() < 0.3:
                made.restart()
        got = [str(row["gtid"]) + str(row["after"]) for rows in made.rows for row in rows]
        assert sorted(got) == want
        for path in logs.glob("*/*"):
            path.unlink()


@pytest.mark.slow
def test_another_server_goes_on_by_gtids_where_one_has_failed(tmp_path: Path) -> None:
    """Its logs have all transactions, in other places; the first server's are gone."""
    first, second = TRANSACTIONS.binlogs
    options = {"records": "rows", "index": str(tmp_path / "index")}
    whole, schema = batch_of(first, second, records="rows")
    want = sorted((str(row["gtid"]), str(row["after"])) for row in whole)
    for size in (2000, 6000, len(first.read_bytes()) - 1):
        (tmp_path / "old").mkdir()
        (tmp_path / "new").mkdir()
        (tmp_path / "old" / first.name).write_bytes(first.read_bytes()[:size])
        old = Query(tmp_path / "old", schema=schema, **options)
        rows = old.all()
        shutil.rmtree(tmp_path / "old")
        new = Query(tmp_path / "new", schema=schema, **options)
        new.offset = old.offset
        shutil.copy(first, tmp_path / "new" / "other.000007")
        shutil.copy(second, tmp_path / "new" / "other.000008")
        rows += new.all(Limit(size=1))
        assert sorted((str(row["gtid"]), str(row["after"])) for row in rows) == want
        shutil.rmtree(tmp_path / "new")
        shutil.rmtree(tmp_path / "index")


def test_a_server_that_took_over_lacks_logs_that_were_not_read(tmp_path: Path) -> None:
    """It purged them, or its first one is not there: what no log has any more is an error."""
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    new.mkdir()
    read, unread, rest = write_series(old)
    rest.rename(new / "other.000007")
    unread.rename(tmp_path / "unread")
    options = {"records": "rows", "index": str(tmp_path / "index")}
    _, schema = batch_of(read, records="rows")
    first = Query(old, schema=schema, **options)
    first.all()
    again = Query(new, old, schema=schema, **options)
    again.offset = first.offset
    for _ in range(2):  # another attempt ends likewise
        with pytest.raises(InputError, match=r"neither the stream nor the logs have .*:21-40"):
            again.all()
    for attempt in ({}, {"index": str(tmp_path / "fresh")}):  # another stream does, too
        fresh = Query(new, old, schema=schema, records="rows", **attempt)
        with pytest.raises(InputError, match=r"neither the stream nor the logs have .*:21-40"):
            fresh.all()
    skipped = Query(new, old, schema=schema, **options, onDamage="report")
    skipped.offset = first.offset
    assert {int(row["gtid"].split(":")[1]) for row in skipped.all()} <= {*range(41, 61)}
    (tmp_path / "unread").rename(new / "other.000006")
    found = {int(row["gtid"].split(":")[1]) for row in again.all()}
    assert found and found <= {*range(21, 61)} and min(found) < 41 <= max(found)


def test_a_server_of_its_own_may_have_purged_its_logs(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    new.mkdir()
    read, unread, rest = write_series(old)
    sid = bytes.fromhex(SID.replace("-", ""))
    pieces = pieces_of(rest.read_bytes())
    for piece in pieces:
        piece.data = piece.data.replace(sid, sid[::-1])
    rest.unlink()
    unread.unlink()
    (new / "other.000007").write_bytes(joined(pieces))
    _, schema = batch_of(read, records="rows")
    first = Query(old, schema=schema, records="rows")
    first.all()
    both = Query(old, new, schema=schema, records="rows")
    both.offset = first.offset
    assert both.all()


@pytest.mark.parametrize("dumped", [False, True])
@pytest.mark.parametrize("limit", [None, Limit(logs=1)])
def test_logs_that_begin_later_wait_for_those_before(
    dumped: bool, limit: Limit | None, tmp_path: Path
) -> None:
    """Those of a server that purged the others, or was made from a dump: its PREVIOUS_GTIDS lacks
    what that brought. Their names would come first."""
    source, replica = tmp_path / "source", tmp_path / "replica"
    source.mkdir()
    replica.mkdir()
    *_, third = write_series(source)
    pieces = pieces_of(of_server(third.read_bytes(), 99))
    if dumped:
        pieces[1].data[19:] = previous_gtids(0)
    (replica / "other.000001").write_bytes(joined(pieces))
    _, schema = batch_of(source, records="rows")
    rows = Query(replica, source, schema=schema, records="rows").all(limit)
    numbers = [int(row["gtid"].split(":")[1]) for row in rows]
    assert numbers == sorted(numbers) and numbers[0] <= 20 and numbers[-1] > 40
    assert len(rows) == len(batch_of(source, records="rows")[0])


@pytest.mark.parametrize("first", ["source", "replica"])
def test_a_replica_s_logs_named_beside_bring_nothing_again(first: str, tmp_path: Path) -> None:
    """XA transactions, whose commit a stream has read in the logs of either, among them."""
    for name, server in (("source", None), ("replica", 99)):
        (tmp_path / name).mkdir()
        for log in TRANSACTIONS.binlogs:
            data = log.read_bytes()
            (tmp_path / name / log.name).write_bytes(
                data if server is None else of_server(data, server)
            )
    options = {"records": "changelog", "table": "bank.account"}
    whole, schema = batch_of(tmp_path / "source", **options)
    for limit in (None, Limit(size=1)):
        one = Query(tmp_path / first, schema=schema, **options)
        rows = one.all(limit)
        both = Query(tmp_path / "replica", tmp_path / "source", schema=schema, **options)
        both.offset = one.offset
        rows += both.all(limit)
        assert len(rows) == len(whole)
        assert {repr(row["_gtid"]) for row in rows} == {repr(row["_gtid"]) for row in whole}
        assert any(row["_xa"] is not None for row in rows)


def test_each_source_has_its_turn(logs: Path) -> None:
    for folder, case in (("a", TRANSACTIONS), ("b", NO_GTIDS)):
        (logs / folder).mkdir()
        for log in case.binlogs:
            shutil.copy(log, logs / folder)
    made = query(logs, records="events")
    while made.batch(Limit(logs=1)):
        pass
    folders = [Path(rows[0]["file"]).parent.name for rows in made.rows if rows]
    assert folders == ["a", "b", "a", "b"]


# ---- logs that go, and other ones ----------------------------------------------------------------


def test_logs_that_were_read_may_go_where_an_index_keeps_what_they_told(
    logs: Path, tmp_path: Path
) -> None:
    first, second = TRANSACTIONS.binlogs
    want, _ = batch_of(*TRANSACTIONS.binlogs, records="rows")
    for index in (str(tmp_path / "index"), None):
        made = query(logs, records="rows", **({"index": index} if index else {}))
        shutil.copy(first, logs)
        made.all()
        shutil.copy(second, logs)
        (logs / second.name).write_bytes(second.read_bytes()[:3000])
        made.all()
        (logs / first.name).unlink()
        shutil.copy(second, logs)
        made.restart()
        if index is None:
            with pytest.raises(InputError, match=r"000001: is gone.*the option index"):
                made.all()
        else:
            rows = made.all()
            for row in (*rows, *want):
                row["file"] = row["source"] = None
            assert rows == want
        shutil.rmtree(logs)
        logs.mkdir()


@pytest.mark.parametrize("gone", [(0,), (1,), (2,), (0, 1), (1, 2), (0, 1, 2)])
def test_any_log_that_was_read_may_go_where_an_index_keeps_it(
    gone: tuple[int, ...], logs: Path, tmp_path: Path
) -> None:
    """Also one between others, which are there."""
    folder = tmp_path / "all"
    folder.mkdir()
    *first, last = write_series(folder, 4, 10)
    for index in (str(tmp_path / "index"), None):
        for log in first:
            shutil.copy(log, logs)
        made = query(logs, records="rows", **({"index": index} if index else {}))
        made.all()
        for i in gone:
            (logs / first[i].name).unlink()
        shutil.copy(last, logs)
        made.restart()
        if index is None:
            with pytest.raises(InputError, match=r"\d{6}: is gone"):
                made.all()
        else:
            rows, (want, _) = made.all(), batch_of(*first, last, records="rows")
            for row in (*rows, *want):
                row["file"] = row["source"] = None
            assert rows == want
        shutil.rmtree(logs)
        logs.mkdir()


def test_logs_that_go_before_they_are_read(logs: Path, tmp_path: Path) -> None:
    """Purged too early, overwritten by RESET MASTER, cut short, another server's."""
    first, second = TRANSACTIONS.binlogs
    data = first.read_bytes()
    index = str(tmp_path / "index")

    def begun(name: str = first.name) -> Query:
        shutil.rmtree(logs)
        logs.mkdir()
        (logs / name).write_bytes(data[:5000])
        made = query(logs, records="rows", index=index)
        assert made.all()
        return made

    made = begun()
    (logs / first.name).unlink()
    assert not made.batch()  # they may come back
    shutil.copy(second, logs)
    with pytest.raises(InputError, match=r"000001: is gone \(purged\), and it is not known"):
        made.batch()

    made = begun()
    (logs / first.name).write_bytes(data)
    made.all()
    (logs / second.name).with_name("binlog.000004").write_bytes(second.read_bytes())
    assert made.batch()  # the end of the first
    with pytest.raises(InputError, match=r"000004: is not the log after binlog.000001"):
        made.batch()
    with pytest.raises(InputError, match="000004"):
        made.batch()

    made = begun("binlog.000009")
    (logs / "binlog.000009").unlink()
    (logs / "binlog.000001").write_bytes(data)
    with pytest.raises(InputError, match=r"000009: is gone, and binlog.000001 is not after it"):
        made.batch()

    made = begun()
    (logs / first.name).write_bytes(data[:2000])
    with pytest.raises(InputError, match="has become shorter"):
        made.batch()

    made = begun()
    shutil.copy(NO_GTIDS.binlogs[0], logs / first.name)
    with pytest.raises(InputError, match="is another log than the one of this name"):
        made.batch()


def test_logs_between_that_are_gone_are_gone_past_if_that_is_asked_for(logs: Path) -> None:
    first, second = TRANSACTIONS.binlogs
    shutil.copy(first, logs)
    made = query(logs, records="transactions", onDamage="report")
    before = len(made.all())
    shutil.copy(second, logs / "binlog.000004")
    assert len(made.all()) > before > 0


def test_a_folder_without_logs_is_one_to_which_they_come(logs: Path) -> None:
    made = query(logs, records="rows")
    assert not made.batch()
    (logs / "binlog.000001").write_bytes(b"")
    assert not made.batch()
    (logs / "binlog.000001").write_bytes(TRANSACTIONS.binlogs[0].read_bytes()[:4])
    assert not made.batch()
    shutil.copy(TRANSACTIONS.binlogs[0], logs / "binlog.000001")
    assert made.batch()


def test_a_folder_without_logs_beside_another_one(logs: Path, tmp_path: Path) -> None:
    for log in TRANSACTIONS.binlogs:
        shutil.copy(log, logs)
    empty = tmp_path / "empty"
    empty.mkdir()
    _, schema = batch_of(logs, records="rows")
    made = Query(empty, logs, schema=schema, records="rows")
    assert made.all()
    for log in NO_GTIDS.binlogs:
        shutil.copy(log, empty)
    assert made.batch()


# ---- damage --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["rows", "events", "transactions"])
def test_damage_is_told_once_all_before_it_has_come(kind: str, logs: Path) -> None:
    first, second = TRANSACTIONS.binlogs
    data = bytearray(first.read_bytes())
    data[len(data) // 2] ^= 0xFF
    (logs / first.name).write_bytes(data)
    shutil.copy(second, logs)
    made = query(logs, records=kind)
    assert made.batch()
    for _ in range(2):
        with pytest.raises(DamageError) as told:
            made.batch()
        made.restart()
    assert told.value.offset <= len(data) // 2
    whole, _ = batch_of(first, records=kind)
    (rows,) = made.rows
    ends = [row.get("end_pos") or row["pos"] for row in rows]
    assert max(ends) <= told.value.offset
    assert len(rows) >= sum(
        (row.get("end_pos") or row["pos"]) <= told.value.offset for row in whole
    ) - (5 if kind != "transactions" else 0)  # those of the transaction that is damaged
    past = query(logs, records=kind, onDamage="report")
    want, _ = batch_of(logs, records=kind, onDamage="report")
    assert known_then(past.all()) == known_then(want)


def test_what_a_server_is_writing_is_no_damage_until_the_next_log_has_begun(logs: Path) -> None:
    first, second = NO_GTIDS.binlogs
    transactions, _ = batch_of(first, records="transactions")
    last = transactions[-3]
    (logs / first.name).write_bytes(first.read_bytes()[: last["pos"] + 100])
    made = Query(logs, schema=batch_of(first, records="transactions")[1], records="transactions")
    assert len(made.all()) == len(transactions) - 3
    shutil.copy(second, logs)
    with pytest.raises(DamageError):
        made.all()


def test_a_transaction_that_a_crash_cut_off_comes_once_the_next_log_has_begun(logs: Path) -> None:
    first, second = NO_GTIDS.binlogs
    events, _ = batch_of(first, records="events")
    inside = next(event for event in reversed(events) if event["type"] == "TABLE_MAP_EVENT")
    (logs / first.name).write_bytes(first.read_bytes()[: inside["end_pos"]])
    for kind in ("events", "transactions", "rows"):
        (logs / second.name).unlink(missing_ok=True)
        made = Query(logs, schema=batch_of(first, records=kind)[1], records=kind)
        made.all()
        before, _ = batch_of(logs, records=kind)
        assert made.all() == before[: len(made.all())]
        assert len(made.all()) < len(before) or kind == "rows"
        shutil.copy(second, logs)
        want, _ = batch_of(logs, records=kind)
        assert known_then(made.all()) == known_then(want)


def test_a_log_that_is_still_copied_while_the_next_one_is_there(logs: Path) -> None:
    first, second = TRANSACTIONS.binlogs
    transactions, schema = batch_of(first, records="transactions")
    data = first.read_bytes()
    made = Query(logs, schema=schema, records="transactions")
    for at in (5, 9):
        (logs / first.name).write_bytes(data[: transactions[at]["pos"]])
        shutil.copy(second, logs)
        assert made.batch()
        with pytest.raises(
            InputError, match=r"000001: is not whole \(still copied\?\): .*:\d+-30 came"
        ):
            made.batch() or made.batch()
    past = Query(logs, schema=schema, records="transactions", onDamage="report")
    assert len(past.all()) == len(batch_of(logs, records="transactions")[0])
    shutil.copy(first, logs)
    want, _ = batch_of(logs, records="transactions")
    assert known_then(made.all()) == known_then(want)


def test_what_is_wrong_with_one_server_is_told_while_others_go_on(logs: Path) -> None:
    for folder, case in (("a", TRANSACTIONS), ("b", NO_GTIDS)):
        (logs / folder).mkdir()
        shutil.copy(case.binlogs[0], logs / folder)
    data = bytearray((logs / "a" / "binlog.000001").read_bytes())
    data[len(data) // 2] ^= 0xFF
    (logs / "a" / "binlog.000001").write_bytes(data)
    made = query(logs, records="transactions")
    assert made.batch()
    shutil.copy(NO_GTIDS.binlogs[1], logs / "b")
    with pytest.raises(DamageError, match="/a/binlog"):
        made.batch()


# ---- options -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"startingOffset": "first"}, "startingOffset is earliest or latest"),
        ({"maxFilesPerTrigger": "0"}, "maxFilesPerTrigger is 1 or more"),
        ({"maxBytesPerTrigger": "x"}, "maxBytesPerTrigger is an integer"),
    ],
)
def test_options_of_streams(options: dict[str, str], told: str, logs: Path) -> None:
    with pytest.raises(UsageError, match=told):
        Query(logs, schema=pa.schema([]), **options)
