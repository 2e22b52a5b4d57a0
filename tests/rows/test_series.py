"""Several servers' logs read together: nothing of one is taken for the other's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import binlogkit as bk
from binlogkit.events.gtid_set import GtidSet
from binlogkit.rows.series import AllSeries, Head
from tests.fuzz.binlogkit_fuzz import framing, seeds

FIRST = seeds.logs()["8.0-row-full/transactions/binlog.000001"]
SECOND = seeds.logs()["8.0-row-full/transactions/binlog.000002"]
UNSEALED = seeds.logs()["8.0-row-no-checksum/keys/binlog.000001"]
PLAIN = seeds.logs()["8.0-row-no-gtid/transactions/binlog.000001"]
UUID = bytes.fromhex("80808080008011ee8080808080808080")
OTHER = bytes.fromhex("81818181008111ee8181818181818181")
FORMAT_DESCRIPTION, WRITE_ROWS, GTID = 15, 30, 33
Place = Callable[[str, bytes], str]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """Write a log in a folder that is the working directory; its name there."""
    monkeypatch.chdir(tmp_path)

    def write(name: str, data: bytes) -> str:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return name

    return write


def changed(data: bytes, change: Callable[[framing.Part], framing.Part]) -> bytes:
    """A log whose events were changed."""
    pieces = framing.split(data)
    return framing.join(replace(pieces, parts=[change(part) for part in pieces.parts]))


def of_other(data: bytes) -> bytes:
    """The same as another server would write, whose table has other columns of the same types."""

    def change(part: framing.Part) -> framing.Part:
        body = part.body.replace(UUID, OTHER).replace(b"owner", b"payer").replace(b"memo", b"note")
        return replace(part, server_id=81, body=body)

    return changed(data, change)


def rows_of(source: Any, *unlike: str, **options: Any) -> dict[str, list[dict[str, Any]]]:
    """The rows of each source, without what counts over all logs."""
    found: dict[str, list[dict[str, Any]]] = {}
    rows = [r for b in bk.open(source, **options).batches() for r in b.batch.to_pylist()]
    for row in sorted(rows, key=lambda row: (row["seq"], row["row"])):
        kept = {k: v for k, v in row.items() if k not in ("seq", "tx", *unlike)}
        found.setdefault(row["source"], []).append(kept)
    return found


@pytest.fixture
def two(place: Place) -> list[str]:
    """The logs of two servers that are called the same, one after the other."""
    logs = [("a", FIRST), ("b", of_other(FIRST)), ("a", SECOND), ("b", of_other(SECOND))]
    return [place(f"{host}/binlog.{i // 2 + 1:06}", data) for i, (host, data) in enumerate(logs)]


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (0, 2, 1, 3), (1, 3, 0, 2), (1, 0, 3, 2)])
def test_two_servers_are_read_as_each_alone(two: list[str], order: tuple[int, ...]) -> None:
    alone = rows_of([two[0], two[2]]) | rows_of([two[1], two[3]])
    assert list(alone) == ["a/binlog", "b/binlog"]
    columns = {
        tuple(r["after"]) for r in alone["b/binlog"] if r["table"] == "account" and r["after"]
    }
    assert columns == {("id", "payer", "balance")}
    together = rows_of([two[i] for i in order])
    assert together == alone
    assert bk.verify([two[i] for i in order]).well


def test_every_record_names_its_source(two: list[str]) -> None:
    log = bk.open(two)
    files = log.audit()["files"].to_pandas()
    for frame in (log.transactions(), log.statements(), log.boundaries(), log.events(), files):
        of_file = {(str(f)[:-7], s) for f, s in zip(frame.file, frame.source, strict=True)}
        assert of_file == {("a/binlog", "a/binlog"), ("b/binlog", "b/binlog")}
    accounts = log.tables().query("table == 'account' and position == 2")
    of_column = set(zip(accounts.source, accounts.column, strict=True))
    assert of_column >= {("a/binlog", "owner"), ("b/binlog", "payer")}
    assert not of_column & {("a/binlog", "payer"), ("b/binlog", "owner")}
    named = bk.open(two[0], name="the source")
    assert set(named.transactions().source) == {"the source"}


def test_a_table_of_two_servers_is_two_tables(two: list[str]) -> None:
    log = bk.open(two)
    with pytest.raises(bk.errors.UsageError, match=r"a/binlog.*b/binlog"):
        log.state("bank.account")
    with pytest.raises(bk.errors.UsageError, match=r"a/binlog.*b/binlog"):
        log.undo(table="bank.account")
    for host, logs in (("a", [two[0], two[2]]), ("b", [two[1], two[3]])):
        state, alone = log.state("bank.account", source=f"{host}/binlog"), bk.open(logs)
        expected = alone.state("bank.account")
        assert list(state.records()) == list(expected.records())
        assert state.determined == expected.determined
        assert log.undo(source=f"{host}/binlog", table="bank.account") is not None
        rows = log.rows(source=f"{host}/binlog")
        assert len(rows) == len(alone.rows())
    assert log.rows(source="c").empty


# ---- copies -----------------------------------------------------------------------------------


def counted(log: bk.Log) -> tuple[Any, ...]:
    frames = (log.rows(), log.transactions(), log.statements(), log.boundaries())
    return tuple(len(frame) for frame in frames)


def test_a_file_given_twice_counts_once(place: Place) -> None:
    name = place("binlog.000001", FIRST)
    once, twice, kept = (
        bk.open([name]), bk.open([name, name]), bk.open([name] * 2, duplicates="keep"),
    )  # fmt: skip
    rows = rows_of([name])
    assert rows_of([name, name]) == rows
    assert [len(r) for r in rows_of([name, name], duplicates="keep").values()] == [
        2 * len(r) for r in rows.values()
    ]
    assert counted(once) == counted(twice) != counted(kept)
    a, b = once.state("bank.account"), twice.state("bank.account")
    assert list(a.records()) == list(b.records())
    assert a.determined and b.determined
    assert once.audit()["by_table"].equals(twice.audit()["by_table"])
    assert list(once.undo()) == list(twice.undo())
    assert twice.verify().well and not kept.verify().well


def of_replica(data: bytes) -> bytes:
    """A replica's log: the same GTIDs by another server, whose events are shared out otherwise."""
    return changed(
        data, lambda part: replace(part, server_id=90 if part.code in (15, 35, 4) else 80)
    )


def test_a_replicas_log_beside_its_sources(place: Place) -> None:
    """What the source's logs do not have comes from the replica's: one history."""
    pieces = framing.split(FIRST)
    half = [i for i, part in enumerate(pieces.parts) if part.code == GTID][15]
    source = place("a/binlog.000001", framing.join(replace(pieces, parts=pieces.parts[:half])))
    replica = place("b/binlog.000001", of_replica(FIRST))
    log, whole = bk.open([source, replica]), bk.open([place("c/binlog.000001", FIRST)])
    assert log.transactions().gtid.tolist() == whole.transactions().gtid.tolist()
    assert set(log.transactions().source) == {"a/binlog", "b/binlog"}
    state, expected = log.state("bank.account"), whole.state("bank.account")
    assert list(state.records()) == list(expected.records())
    assert state.determined
    assert log.verify().well
    assert len(log.rows(source="b/binlog")) == len(whole.rows())


def test_a_transaction_that_is_cut_in_one_log_comes_from_the_other(place: Place) -> None:
    pieces = framing.split(FIRST)
    cut = next(i for i, part in enumerate(pieces.parts) if part.code == WRITE_ROWS) + 1
    source = place("a/binlog.000001", framing.join(replace(pieces, parts=pieces.parts[:cut])))
    log = bk.open([source, place("b/binlog.000001", of_replica(FIRST))])
    committed = log.transactions().query("outcome == 'committed'").gtid
    assert (
        committed.tolist()
        == bk.open(FIRST).transactions().query("outcome == 'committed'").gtid.tolist()
    )


def altered(data: bytes) -> bytes:
    """A log whose first inserted row ends otherwise."""
    done = False

    def change(part: framing.Part) -> framing.Part:
        nonlocal done
        if done or part.code != WRITE_ROWS:
            return part
        done = True
        return replace(part, body=part.body[:-1] + bytes([part.body[-1] ^ 1]))

    return changed(data, change)


def of_5_7(data: bytes) -> bytes:
    """A log as 5.7 writes it: a bit of an image's bitmap of NULLs that is of no column is set."""

    def change(part: framing.Part) -> framing.Part:
        if part.code == FORMAT_DESCRIPTION:
            return replace(part, body=part.body.replace(b"8.0.31", b"5.7.22"))
        if part.code != WRITE_ROWS or part.body[10] > 8:
            return part
        nulls = part.body[12] | (0xFF << part.body[10] & 0xFF)  # after the columns that it has
        return replace(part, body=part.body[:12] + bytes([nulls]) + part.body[13:])

    return changed(data, change)


def test_copies_of_servers_of_several_versions(place: Place) -> None:
    """What differs is of no column, or a value does."""
    a = place("a/binlog.000001", of_5_7(FIRST))
    b = place("b/binlog.000001", of_replica(FIRST))
    assert "copies_differ" not in {one.code for one in bk.verify([a, b]).findings}
    assert bk.open([a, b]).state("bank.account").determined
    c = place("c/binlog.000001", of_replica(altered(FIRST)))
    [found] = [one for one in bk.verify([a, c]).findings if one.code == "copies_differ"]
    assert found.place.file == c
    d = place("d/binlog.000001", of_replica(of_5_7(altered(FIRST))))
    assert "copies_differ" in {one.code for one in bk.verify([place("e/x", FIRST), d]).findings}


def test_copies_that_differ_are_a_finding(place: Place) -> None:
    a, b = place("a/binlog.000001", FIRST), place("b/binlog.000001", of_replica(altered(FIRST)))
    found = [f for f in bk.verify([a, b]).findings if f.code == "copies_differ"]
    assert [f.place.file for f in found] == [b]
    assert str(found[0].place.gtid) in found[0].found and "a/binlog.000001" in found[0].found
    log = bk.open([a, b])
    assert not log.state("bank.account").determined
    assert [gap.code for gap in log.gaps] == ["copies_differ"]
    assert log.state("bank.digit").determined == bk.open(a).state("bank.digit").determined
    with pytest.raises(bk.errors.GapError):
        log.undo(table="bank.account")


def test_the_same_log_under_two_names_is_noticed_without_gtids(place: Place) -> None:
    names = [place(f"{folder}/binlog.000001", PLAIN) for folder in "ab"]
    found = bk.verify(names)
    assert [f.code for f in found.findings if f.grade != "note"] == ["file_repeated"]
    assert bk.verify(names[:1]).well


def test_logs_of_a_history_are_read_in_its_order(place: Place) -> None:
    """A replica's later log says that what the source's holds came before."""
    first, second = place("a/binlog.000001", FIRST), place("b/binlog.000002", of_replica(SECOND))
    assert bk.verify([first, second]).well
    codes = [f.code for f in bk.verify([second, first]).findings if f.grade != "note"]
    assert codes == ["file_order"]


# ---- which logs belong together ---------------------------------------------------------------


def head(name: str, **facts: Any) -> Head:
    known: dict[str, Any] = {"source": None, "server_id": 1, "relay": False, "begun": 0}
    return Head(name, **(known | facts))


def names(*heads: Head) -> list[str]:
    series = AllSeries(None)
    return [series.of(one).source.name for one in heads]


@pytest.mark.parametrize(
    ("heads", "expected"),
    [
        ([head("binlog.000001"), head("binlog.000002")], ["binlog", "binlog"]),
        ([head("/a/x.000001.gz"), head("/a/x.000003")], ["/a/x", "/a/x"]),
        ([head("a/x.000001"), head("b/x.000001")], ["a/x", "b/x"]),
        ([head("a/x.000001"), head("b/x.000002")], ["a/x", "b/x"]),
        ([head("x.000001"), head("x.000002", server_id=2)], ["x", "x.000002"]),
        ([head("x.000001"), head("x.000002", relay=True)], ["x", "x.000002"]),
        ([head("x.000001", source="s"), head("y", source="s", server_id=2)], ["s", "s"]),
        ([head("one"), head("other")], ["one", "other"]),
        ([head("<bytes>"), head("<bytes>")], ["<bytes>", "<bytes>"]),
        ([head("<bytes>"), head("<bytes>", server_id=2)], ["<bytes>", "<bytes> (2)"]),
    ],
)  # fmt: skip
def test_what_names_and_server_ids_tell(heads: list[Head], expected: list[str]) -> None:
    assert names(*heads) == expected


def test_what_gtids_prove() -> None:
    series, known = AllSeries(None), GtidSet.parse(f"{UUID.hex()}:1-5")
    assert known
    first = series.of(head("day1/x.000001", previous=GtidSet()))
    first.gtids.add_set(known)
    assert series.of(head("day2/x.000002", previous=known)) is first
    assert (
        series.of(head("day3/x.000003", previous=GtidSet.parse(f"{UUID.hex()}:1-4"))) is not first
    )


def test_what_rotate_proves() -> None:
    series = AllSeries(None)
    first = series.of(head("day1/x.000001"))
    first.next_name, first.rotated = "x.000002", 100
    assert series.of(head("day2/x.000002", begun=101)) is first
    first.next_name, first.rotated = "x.000003", 200
    assert series.of(head("day3/x.000003", begun=300)) is not first


def test_a_copy_begins_with_the_tables_before_its_log() -> None:
    """What it says again changes no table of other logs, which go on beside those that they lie
    beside."""
    logs = [
        head(name, source="s", begun=begun)
        for name, begun in (
            ("a/x.000001", 1), ("a/x.000002", 5), ("b/x.000002", 5), ("a/x.000003", 9),
        )
    ]  # fmt: skip
    series = AllSeries(None, names=[one.name for one in logs])
    first = series.of(logs[0])
    first.source.catalog.apply("CREATE TABLE t (a INT)", default_db="d")
    assert series.of(logs[1]) is first
    first.source.catalog.apply("ALTER TABLE t ADD b INT", default_db="d")
    first.next_name, first.rotated = "x.000003", 9
    copy = series.of(logs[2])
    assert copy is not first and not copy.broken
    (table,) = copy.source.catalog.tables()
    assert [column.name for column in table.columns] == ["a"]
    copy.next_name, copy.rotated = "x.000003", 9
    assert series.of(logs[3]) is first and not first.broken
    (table,) = series.definitions(["s"])
    assert [column.name for column in table.columns] == ["a", "b"]


@pytest.mark.parametrize(("rotated", "broken"), [(9, False), (None, True)])
def test_a_log_of_another_folder_follows_only_if_the_last_one_proves_it(
    rotated: int | None, broken: bool
) -> None:
    series = AllSeries(None)
    first = series.of(head("a/x.000001", source="s"))
    if rotated is not None:
        first.next_name, first.rotated = "x.000002", rotated
    found = series.of(head("b/x.000002", source="s", begun=9, server_id=2))
    assert found is not first and found.source.name == first.source.name
    assert found.broken is broken


def test_servers_of_one_name_have_tables_of_their_own() -> None:
    """Since a replica's log says again what its source's says: a column would be there twice."""
    series, told = AllSeries(None), GtidSet.parse(f"{UUID.hex()}:1-2")
    source = series.of(head("a/x.000001", source="s", previous=GtidSet()), own=told)
    source.source.catalog.apply("CREATE TABLE t (a INT)", default_db="d")
    source.source.catalog.apply("ALTER TABLE t ADD b INT", default_db="d")
    source.end(told, None, 0)
    replica = series.of(head("b/x.000001", source="s", server_id=2, previous=GtidSet()), own=told)
    replica.source.catalog.apply("CREATE TABLE t (a INT)", default_db="d")
    replica.source.catalog.apply("ALTER TABLE t ADD b INT", default_db="d")
    replica.end(told, None, 0)
    for one in (source, replica):
        [table] = one.source.catalog.tables()
        assert [column.name for column in table.columns] == ["a", "b"]


@pytest.mark.parametrize("logs_it", [True, False])
def test_what_a_server_replicated_without_logging_it(logs_it: bool) -> None:
    """log_slave_updates=OFF: DDL of the server that had taken over holds in its logs, too."""
    mine, other, back = (GtidSet.parse(f"{UUID.hex()[:-1]}{n}:1-2") for n in "123")
    series = AllSeries(None)
    first = series.of(head("a/x.000001", source="s", begun=1, previous=GtidSet()), own=mine)
    first.source.catalog.apply("CREATE TABLE t (a INT)", default_db="d")
    first.end(mine, None, 0)
    after = head("b/x.000004", source="s", server_id=2, begun=2, previous=mine)
    second = series.of(after, own=other)
    assert second is not first and not second.broken
    second.source.catalog.apply("ALTER TABLE t ADD b INT", default_db="d")
    second.end(other, None, 0)
    own = back.union(other) if logs_it else back
    again = series.of(head("a/x.000002", source="s", begun=3, previous=mine), own=own)
    assert again is first
    [table] = again.source.catalog.tables()
    assert [column.name for column in table.columns] == (["a"] if logs_it else ["a", "b"])


def test_logs_in_another_order_do_not_follow_each_other() -> None:
    series = AllSeries(None)
    broken = [series.of(head(f"binlog.{n:06}")).broken for n in (3, 2, 4, 5, 7, 6)]
    assert broken == [False, True, True, False, True, True]


def test_an_intact_copy_counts_after_a_damaged_one(place: Place) -> None:
    at = FIRST.index(b"Ann") + 1
    damaged = FIRST[:at] + bytes([FIRST[at] ^ 1]) + FIRST[at + 1 :]
    a, b = place("a/binlog.000001", damaged), place("b/binlog.000001", of_replica(FIRST))
    log, alone = bk.open([a, b, b], on_damage="report"), bk.open(b)
    gtid = max((r["pos"], r["gtid"]) for r in alone.row_records() if r["pos"] < at)[1]
    [again] = {r["gtid"] for r in log.row_records() if r["file"] == b}
    assert again == gtid
    kept = [r["pos"] for r in log.row_records() if r["file"] == b]
    assert kept == [r["pos"] for r in alone.row_records() if r["gtid"] == gtid]
    assert log.transactions().gtid.tolist().count(gtid) == 2
    assert bk.open([b, a], on_damage="report").transactions().gtid.tolist().count(gtid) == 1


def test_rows_that_only_fail_to_decode_are_reported_beside_their_copy(place: Place) -> None:
    """Nothing vouches for their bytes, so the first copy was taken for intact when the second came:
    the answers without its rows say so, and which transaction another log has otherwise."""
    whole = list(bk.open(UNSEALED).row_records())
    row = next(r for r in whole if r["op"] == "insert")
    damaged = UNSEALED[: row["end_pos"] - 3] + b"\xff" * 3 + UNSEALED[row["end_pos"] :]
    a, b = place("a/binlog.000001", damaged), place("b/binlog.000001", of_replica(UNSEALED))
    log, table = bk.open([a, b], on_damage="report"), f"{row['db']}.{row['table']}"
    assert [r["file"] for r in log.row_records()] == [a] * (len(whole) - 1)
    assert [damage.offset for damage in log.damages] == [row["pos"]]
    assert [(gap.code, gap.tables) for gap in log.gaps] == [
        (code, frozenset([table])) for code in ("damage", "copies_differ")
    ]
    assert not log.state(table).determined
    with pytest.raises(bk.errors.GapError):
        log.undo(table=table)
    found = bk.verify([a, b]).findings
    assert "copies_differ" in {f.code for f in found}
    [at] = [f.place for f in found if f.code == "malformed_event"]
    places = [event["pos"] for event in bk.open(UNSEALED).event_records()]
    assert (at.pos, at.event) == (row["pos"], places.index(row["pos"]))
    with pytest.raises(bk.errors.DamageError):
        list(bk.open([a, b]).row_records())


@pytest.mark.parametrize("between", [0, 5])
def test_a_transaction_of_another_length_is_no_copy(place: Place, between: int) -> None:
    """A GTID event stands alone, before another's events: what it announced comes later."""
    parts = framing.split(FIRST).parts
    starts = [i for i, part in enumerate(parts) if part.code == GTID]
    lone, to = starts[8 + between], starts[8] + 1
    data = framing.join(framing.Pieces([*parts[:to], parts[lone], *parts[to:]]))
    log, gtids = bk.open(place("binlog.000001", data)), bk.open(FIRST).transactions().gtid.tolist()
    found = log.transactions().gtid.tolist()
    assert sorted(found) == sorted([*gtids, gtids[8 + between]])
    values = [(r["op"], r["before"], r["after"]) for r in log.row_records()]
    assert values == [(r["op"], r["before"], r["after"]) for r in bk.open(FIRST).row_records()]


def gtids(last: int) -> GtidSet:
    return GtidSet.parse(f"{'8' * 8}-0080-11ee-8080-808080808080:1-{last}" if last else "")


@pytest.mark.parametrize(
    ("number", "previous", "wanted"),
    [(2, 4, False), (2, 5, True), (3, 4, True), (2, 0, False), (3, 0, True)],
)
def test_whether_something_is_missing_before_a_log(
    number: int, previous: int, wanted: bool
) -> None:
    every = AllSeries(None)
    first = every.of(Head("binlog.000001", None, 1, False, 100, gtids(0)))
    assert not first.broken
    first.end(gtids(previous and 4), None, 0)
    head = Head(f"binlog.{number:06}", None, 1, False, 200, gtids(previous))
    assert every.of(head) is first and first.broken is wanted
