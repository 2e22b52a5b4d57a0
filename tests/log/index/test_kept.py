"""An index knows what the logs tell, and reads again what has changed."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import binlogkit as bk
from binlogkit.errors import WriteError
from binlogkit.frames.arrow_types import carried_schema
from binlogkit.frames.fields.field import arrow_schema
from binlogkit.frames.fields.ledger import INDEX
from binlogkit.log.index import Index, Joined, batches, kept, parts_of
from binlogkit.log.index.batches import VERSION
from binlogkit.log.index.stamps import stamp_of
from binlogkit.spark.options import parse_options
from binlogkit.spark.splits.decode import decode
from binlogkit.spark.splits.kinds import KINDS
from binlogkit.spark.splits.plan import Split, make_plan
from binlogkit_fixtures import golden
from tests.answers.binlogkit_answers.inputs import Input, committed
from tests.waiting import until

TWO_FILES = golden.case("8.0-row-full", "transactions")
INPUTS = committed()
_IN_USE_AT = 21


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    folder = tmp_path / "logs"
    folder.mkdir()
    for path in TWO_FILES.binlogs:
        shutil.copy(path, folder)
    return folder


def _facts(joined: Joined) -> list[Any]:
    places = [
        (p.part, p.segment, p.events, p.transactions, p.source, p.seen,
         p.known and (p.known.catalog.tables(), p.known.tracked))
        for p in joined.positions
    ]  # fmt: skip
    return [places, joined.gaps, joined.schemas, joined.decisions, joined.seen.to_set()]


@pytest.mark.sampled(10, 24)
@pytest.mark.parametrize("name", sorted(INPUTS))
def test_what_is_kept_is_what_was_read(name: str, written: Callable[[Input], list[str]]) -> None:
    item = INPUTS[name]
    log = bk.open(written(item), on_damage="report", **item.options)
    read = Joined(parts_of(log.carriers, log.options, counting=True), log.options)
    told = Index("index").update(log.carriers, log.options)
    again = Index("index")
    assert _facts(Joined(again.parts(log.carriers, log.options), log.options)) == _facts(read)
    assert told.read + len(told.left) == len(log.carriers)
    assert again.update(log.carriers, log.options).knew == told.read


def test_only_what_is_new_or_has_grown_is_read(
    logs: Path, tmp_path: Path, reads: Callable[[], list[str]]
) -> None:
    first, second = sorted(logs.iterdir())
    data = second.read_bytes()
    ends = [r["end_pos"] for r in bk.open(second).event_records()]
    index = tmp_path / "index"
    second.write_bytes(data[: ends[len(ends) // 2]])
    told = Index(index).update(bk.open(logs).carriers)
    assert (told.knew, told.read, told.left) == (0, 2, {})
    assert reads() == [first.name, second.name]
    assert Index(index).update(bk.open(logs).carriers).knew == 2
    assert reads() == []
    second.write_bytes(data)
    shutil.copy(first, logs / "binlog.000009")
    assert Index(index).update(bk.open(logs).carriers).knew == 1
    assert reads() == [second.name, "binlog.000009"]
    table = Index(index).table("logs").to_pylist()
    assert sorted((Path(r["file"]).name, r["stored_size"]) for r in table) == [
        (path.name, path.stat().st_size) for path in sorted(logs.iterdir())
    ]


def test_a_log_that_is_closed_since_is_not_read_again_for_its_flag_alone(
    logs: Path, tmp_path: Path, reads: Callable[[], list[str]]
) -> None:
    first = min(logs.iterdir())
    data = bytearray(first.read_bytes())
    Index(tmp_path / "index").update(bk.open(first).carriers)
    reads()
    data[_IN_USE_AT] ^= 1
    first.write_bytes(data)
    assert Index(tmp_path / "index").update(bk.open(first).carriers).knew == 1
    data[-30] ^= 1
    first.write_bytes(data)
    carriers = bk.open(first).carriers
    assert Index(tmp_path / "index").unknown(carriers) == list(carriers)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda folder: (folder / "index.json").write_text("{"),
        lambda folder: (folder / "index.json").write_text(
            f'{{"version": {VERSION}, "batches": [1]}}'
        ),
        lambda folder: (folder / "index.json").write_text(
            (folder / "index.json").read_text().replace(f'"version": {VERSION}', '"version": 1')
        ),
        lambda folder: next((folder / "definitions").iterdir()).unlink(),
        lambda folder: next((folder / "logs").iterdir()).write_bytes(b"PAR1 no more PAR1"),
    ],
)
def test_an_index_that_is_spoilt_knows_nothing(
    spoil: Callable[[Path], object], logs: Path, tmp_path: Path, reads: Callable[[], list[str]]
) -> None:
    carriers, folder = bk.open(logs).carriers, tmp_path / "index"
    Index(folder).update(carriers)
    whole = _facts(Joined(Index(folder).parts(carriers)))
    reads()
    spoil(folder)
    assert _facts(Joined(Index(folder).parts(carriers))) == whole
    assert len(reads()) == 2


def test_damaged_logs_are_kept_and_named_each_time(logs: Path, tmp_path: Path) -> None:
    first = min(logs.iterdir())
    data = bytearray(first.read_bytes())
    data[len(data) // 2] ^= 0xFF
    first.write_bytes(data)
    carriers = bk.open(logs).carriers
    for knew in (0, 2):
        told = Index(tmp_path / "index").update(carriers)
        assert (told.knew, told.left) == (knew, {})
        assert list(told.damaged) == [str(first)] and "CRC32" in told.damaged[str(first)]
    parts = list(Index(tmp_path / "index").parts(carriers))
    assert [bool(part.damages) for part in parts] == [True, False]
    assert parts[0].damages[0].offset <= len(data) // 2


def test_a_damaged_log_that_was_mended_is_read_again(logs: Path, tmp_path: Path) -> None:
    """Though it is as long as before, and its ends are the same."""
    log = logs / "binlog.000001"
    whole = log.read_bytes()
    middle = len(whole) // 2
    log.write_bytes(whole[:middle] + bytes(4) + whole[middle + 4 :])
    index, opened = Index(tmp_path / "index"), bk.open(log)
    assert index.update(opened.carriers).damaged
    assert index.update(opened.carriers).read == 0

    def mends() -> bool:
        log.write_bytes(whole)
        return index.update(opened.carriers).read == 1

    until(mends, "its time of change is after that of its reading")
    assert not index.update(opened.carriers).damaged
    assert Index(tmp_path / "index").update(opened.carriers).read == 0


def test_what_is_no_log_file_is_not_kept(logs: Path, tmp_path: Path) -> None:
    text = tmp_path / "events.txt"
    text.write_text("no log")
    carriers = [*bk.open([logs, text]).carriers]
    told = Index(tmp_path / "index").update(carriers)
    assert (told.read, list(told.left)) == (2, [str(text)])
    assert Index(tmp_path / "index").unknown(carriers) == carriers[2:]


def test_a_log_is_known_by_its_place_however_it_is_named(
    logs: Path, tmp_path: Path, reads: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(logs)
    names = sorted(path.name for path in logs.iterdir())
    bk.index(names, tmp_path / "index")
    reads()
    parts = list(Index(tmp_path / "index").parts(bk.open(logs).carriers))
    assert reads() == []
    assert [part.names for part in parts] == [(str(logs / name),) for name in names]
    assert [file.name for part in parts for file in part.alone.files] == bk.open(logs).files
    known = bk.open(logs, index=tmp_path / "index").transactions(engine="pyarrow")
    assert known == bk.open(logs).transactions(engine="pyarrow")
    assert reads() == []


@pytest.mark.slow
def test_many_updates_are_united(logs: Path, tmp_path: Path) -> None:
    source, folder = min(logs.iterdir()), tmp_path / "index"
    for i in range(40):
        shutil.copy(source, logs / f"other.{i:06}")
        Index(folder).update(bk.open(logs / f"other.{i:06}").carriers)
    batches = json.loads((folder / "index.json").read_text())["batches"]
    assert len(batches) < 20
    for name in INDEX:
        assert {path.name for path in (folder / name).iterdir()} == {
            f"{batch}.parquet" for batch in batches
        }
    assert Index(folder).table("logs").num_rows == 40


def test_a_batch_with_more_than_all_others_is_not_written_anew(
    logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "_MOST_SMALL", 3)
    monkeypatch.setattr(Index, "_size", lambda index, batch: len(index.known[batch]))
    index = Index(tmp_path / "index")
    source, many = min(logs.iterdir()), [logs / f"other.{i:06}" for i in range(16)]
    for path in many:
        shutil.copy(source, path)
    index.update(bk.open(many[:10]).carriers)
    (first,) = index.known
    for path in many[10:]:
        index.update(bk.open(path).carriers)
        assert first in index.known and len(index.known) <= 3
    assert index.table("logs").num_rows == 16


def test_updates_that_are_large_in_memory_stay_apart(
    logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "BATCH_BYTES", 1 << 10)
    for number in range(20):
        copy = shutil.copytree(logs, tmp_path / f"logs {number}")
        Index(tmp_path / "index").update(bk.open(copy).carriers)
    assert len(list((tmp_path / "index" / "logs").iterdir())) == 20
    assert Index(tmp_path / "index").table("logs").num_rows == 40


def test_full_batches_are_not_read_to_unite_others(
    logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full, read, table = set[str](), set[str](), Index.batch_table
    monkeypatch.setattr(batches, "_MOST_SMALL", 2)
    monkeypatch.setattr(
        Index, "_size", lambda _, batch: batches._SMALL_BATCH if batch in full else 1
    )

    def counted(index: Index, batch: str, name: str, *args: Any) -> Any:
        read.update([batch] if name == "transactions" else [])
        return table(index, batch, name, *args)

    monkeypatch.setattr(Index, "batch_table", counted)
    source, index = min(logs.iterdir()), Index(tmp_path / "index")
    for number in range(8):
        shutil.copy(source, logs / f"other.{number:06}")
        index.update(bk.open(logs / f"other.{number:06}").carriers)
        full.update(index.known if number == 1 else ())
    assert len(full) == 2 and full < index.known.keys() and len(index.known) <= 4
    assert read and read.isdisjoint(full)


def test_an_update_loads_what_others_or_a_failure_left(
    logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads, load = list[Path](), Index.load

    def counted(index: Index) -> None:
        loads.append(index.folder)
        load(index)

    def failed(_: Index) -> None:
        raise OSError(28, "No space left on device")

    first, second = sorted(logs.iterdir())
    Index(tmp_path / "index").update(bk.open(first).carriers)
    monkeypatch.setattr(Index, "load", counted)
    index = Index(tmp_path / "index")
    with monkeypatch.context() as patched:
        patched.setattr(Index, "_save", failed)
        with pytest.raises(WriteError, match="No space"):
            index.update(bk.open(second).carriers)
    assert len(loads) == 1  # nobody had changed it meanwhile
    shutil.copy(first, logs / "other.000001")
    index.update(bk.open(logs / "other.000001").carriers)
    assert len(loads) == 2
    names = Index(tmp_path / "index").table("logs")["file"].to_pylist()
    assert sorted(names) == [str(first), str(logs / "other.000001")]
    shutil.copy(first, logs / "other.000002")
    Index(tmp_path / "index").update(bk.open(second).carriers)
    index.update(bk.open(logs / "other.000002").carriers)
    assert Index(tmp_path / "index").table("logs").num_rows == 4


def test_updates_beside_each_other_keep_what_both_read(logs: Path, tmp_path: Path) -> None:
    """Each has looked at the index before the other's update counts."""
    first, second = sorted(logs.iterdir())
    one, other = (Index(tmp_path / "index") for _ in range(2))
    one.update(bk.open(first).carriers)
    other.update(bk.open([first, second]).carriers)
    files = Index(tmp_path / "index").table("logs").column("file").to_pylist()
    assert sorted(files) == [str(first), str(second)]
    assert pq.read_table(tmp_path / "index" / "logs").num_rows == 2


def test_what_was_written_and_never_counted_is_not_seen(logs: Path, tmp_path: Path) -> None:
    """Another process ended before its update did."""
    carriers, folder = bk.open(logs).carriers, tmp_path / "index"
    stamps = {carrier.name: stamp_of(carrier) for carrier in carriers}
    Index(folder).write(parts_of(carriers, counting=True), stamps)
    left = list((folder / "logs").iterdir())
    assert len(left) == 1 and Index(folder).unknown(carriers) == list(carriers)
    Index(folder).update(carriers)
    assert Index(folder).table("logs").num_rows == 2
    assert left[0] in (folder / "logs").iterdir()
    os.utime(left[0], (0, 0))
    (folder / "logs" / "of-an-older-update.parquet").write_bytes(b"")
    Index(folder).commit({}, {"nowhere"})
    assert len(list((folder / "logs").iterdir())) == 1


def test_a_batch_has_a_bounded_size(
    logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "BATCH_BYTES", 1)
    told = Index(tmp_path / "index").update(bk.open(logs).carriers)
    assert told.read == len(list((tmp_path / "index" / "logs").iterdir())) == 2


@pytest.mark.parametrize("most", [1, 2], ids=lambda most: f"{most} at a time")
def test_parts_are_united_in_memory(
    most: int, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, log = Index(tmp_path / "plain"), bk.open(logs)
    plain.update(log.carriers)
    monkeypatch.setattr(kept, "_UNITED", most)
    index = Index(tmp_path / "index")
    assert index.update(log.carriers).read == 2
    assert len(list((index.folder / "logs").iterdir())) == 1
    for name in INDEX:
        own = [c for c in INDEX[name] if c.name not in ("part", "read_at")]
        columns = [c.name for c in own]
        assert index.table(name, (), columns).equals(plain.table(name, (), columns)), name


def test_other_programs_read_the_tables(logs: Path, tmp_path: Path) -> None:
    """DuckDB, pandas, and Arrow without us: all that lies there counts."""
    log, folder = bk.open(logs), tmp_path / "index"
    Index(folder).update(log.carriers)
    for name in INDEX:
        found = pq.read_table(folder / name)
        assert found.schema.equals(arrow_schema(INDEX[name]), check_metadata=False), name
        assert len(pd.read_parquet(folder / name)) == found.num_rows, name
    with duckdb.connect() as connection:
        counted = connection.sql(
            f"select op, sum(rows) from '{folder}/changes/*.parquet' group by op order by op"
        ).fetchall()
        (transactions,) = connection.sql(
            f"select count(*), sum(inserts) from '{folder}/transactions/*.parquet'"
        ).fetchall()
        totals = connection.sql(
            f"select op, sum(rows) from '{folder}/totals/*.parquet' group by op order by op"
        ).fetchall()
    rows = log.rows(engine="pyarrow")
    counts = rows.group_by("op").aggregate([("op", "count")]).to_pylist()
    assert counted == totals == sorted((c["op"], c["op_count"]) for c in counts)
    inserts = pc.sum(pc.equal(rows["op"], "insert")).as_py()
    assert transactions == (log.transactions(engine="pyarrow").num_rows, inserts)


def test_a_plan_through_an_index_reads_no_log(
    logs: Path, tmp_path: Path, reads: Callable[[], list[str]]
) -> None:
    given = {"path": str(logs), "table": "bank.account"}
    plain = make_plan(parse_options(given))
    Index(tmp_path / "index").update(bk.open(logs).carriers)
    reads()
    plan = make_plan(parse_options({**given, "index": str(tmp_path / "index")}))
    assert reads() == []
    assert plan.changes == plain.changes and plan.scan.columns == plain.scan.columns
    known = {(s.files, s.start): _unknowing(s) for s in plain.splits}
    assert all(_unknowing(s) == known[s.files, s.start] for s in plan.splits)


def _unknowing(split: Split) -> Split:
    return replace(split, position=replace(split.position, known=None))


@pytest.mark.parametrize(
    "options",
    [
        {"table": "Bank.Account"},
        {"table": "keyed.pk", "duplicates": "keep"},
        {"table": "keyed.pk", "op": "delete", "duplicates": "keep"},
        {"op": "delete"},
        {"gtid": "80808080-0080-11ee-8080-808080808080:8-12", "duplicates": "keep"},
        {"table": "no.such"},
    ],
)
@pytest.mark.slow
def test_only_splits_that_matter_are_planned(
    options: dict[str, str], logs: Path, tmp_path: Path
) -> None:
    shutil.copy(golden.case("8.0-row-full", "keys").binlogs[0], logs / "keys.000001")
    Index(tmp_path / "index").update(bk.open(logs).carriers)
    given = {"path": str(logs), "splitBytes": "1", **options}
    plain = make_plan(parse_options(given), unite=False)
    plan = make_plan(parse_options({**given, "index": str(tmp_path / "index")}), unite=False)
    assert len(plan.splits) < len(plain.splits)
    if "no.such" in options.values():
        return
    schema = carried_schema(KINDS["changes"].schema())
    scan = replace(plan.scan, asked=replace(plan.scan.asked, table=None, kind="changes"))
    wanted = plan.scan.asked.wanted()
    read = [
        [r for s in p.splits for b in decode(scan, s, schema) for r in b.to_pylist()]
        for p in (plan, plain)
    ]
    kept, all_there = (
        [r for r in found if wanted.wants_table(r["db"], r["table"])] for found in read
    )
    assert kept == all_there
    assert kept or options["table"] == "Bank.Account"


def test_a_damaged_log_always_matters(logs: Path, tmp_path: Path) -> None:
    first = min(logs.iterdir())
    data = bytearray(first.read_bytes())
    data[len(data) // 2] ^= 0xFF
    first.write_bytes(data)
    Index(tmp_path / "index").update(bk.open(logs).carriers)
    given = {"path": str(logs), "table": "no.such", "index": str(tmp_path / "index")}
    plan = make_plan(parse_options(given))
    assert [split.files for split in plan.splits] == [(str(first),)]


def test_a_folder_that_cannot_be_written(logs: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(WriteError, match="file"):
        Index(tmp_path / "file" / "index").update(bk.open(logs).carriers)
