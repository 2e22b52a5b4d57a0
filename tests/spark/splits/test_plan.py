"""Plans and splits without Spark: what the workers read together is what a Log reads alone."""

from __future__ import annotations

import json
import shutil
import socket
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark import cloudpickle

import binlogkit as bk
from binlogkit.errors import (
    DamageError,
    EmptyInputError,
    InputError,
    SchemaError,
    ServerError,
    TruncatedEventError,
    UsageError,
)
from binlogkit.spark import options
from binlogkit.spark.options import parse_options
from binlogkit.spark.splits import kinds
from binlogkit.spark.splits.decode import check_schema, decode, scan_schema
from binlogkit.spark.splits.plan import SplitPlan, make_plan
from binlogkit_fixtures import golden
from tests.answers.binlogkit_answers.inputs import committed
from tests.answers.binlogkit_answers.series import in_files
from tests.spark.as_written import frame_of, rows_of

TWO_FILES = golden.case("8.0-row-full", "transactions")


def plan_of(path: str | Path, **given: str) -> SplitPlan:
    return make_plan(parse_options({"path": str(path), **given}))


def records(plan: SplitPlan) -> list[dict[str, Any]]:
    schema = scan_schema(plan)
    return [
        record
        for split in plan.splits
        for batch in decode(plan.scan, split, schema)
        for record in batch.to_pylist()
    ]


def rows(source: Any, **keywords: Any) -> list[dict[str, Any]]:
    options = {k: keywords.pop(k) for k in ("schema", "on_damage", "charset") if k in keywords}
    found: list[dict[str, Any]] = rows_of(bk.open(source, **options), **keywords).to_pylist()
    return found


@pytest.mark.parametrize(
    ("cell", "scenario"),
    [
        ("5.7-row-full", "transactions"),
        ("8.0-row-compressed", "transactions"),
        ("8.0-row-minimal", "ddl"),
        ("8.0-row-partial-json", "json"),
        ("5.7-mixed-full", "transactions"),
    ],
)
def test_the_splits_together_hold_the_rows_of_the_log(cell: str, scenario: str) -> None:
    case = golden.case(cell, scenario)
    plan = plan_of(case.path)
    assert [split.files[0] for split in plan.splits] == [str(path) for path in case.binlogs]
    assert records(plan) == rows(case.path)


def test_a_split_knows_the_names_that_ddl_in_earlier_files_gave() -> None:
    plan = plan_of(TWO_FILES.path)
    first, second = plan.splits
    assert (first.position.known, first.first, first.last) == (None, True, False)
    assert (second.first, second.last) == (False, True)
    known = second.position.known
    assert known is not None and known.tracked
    wanted = [r for r in rows(TWO_FILES.path) if r["file"] == second.files[0]]
    schema = scan_schema(plan)
    assert [r for b in decode(plan.scan, second, schema) for r in b.to_pylist()] == wanted
    without = replace(second, position=replace(second.position, known=None))
    ignorant = decode(plan.scan, without, schema)
    names = [r["after"] for b in ignorant for r in b.to_pylist()]
    assert any('"@1"' in name for name in names if name)
    assert not any('"@1"' in (r["after"] or "") for r in wanted)


def test_order_and_transaction_numbers_are_those_of_the_log() -> None:
    paths = [*TWO_FILES.binlogs, *golden.case("8.0-row-compressed", "transactions").binlogs]
    names = [str(path) for path in paths]
    log = bk.open(names, duplicates="keep")
    table, given = log.table_names()[0], {"paths": json.dumps(names), "duplicates": "keep"}
    plan = make_plan(parse_options({**given, "table": table}))
    got, want = records(plan), log.changes(table)
    assert len({r["file"] for r in got}) > 2
    for column in ("seq", "tx", "file", "pos", "row", "before_state", "after_state"):
        assert [r[column] for r in got] == want.column(column).to_pylist()
    assert [r["seq"] for r in got] == sorted(r["seq"] for r in got)


@pytest.mark.parametrize(
    ("options", "keywords"),
    [
        ({"op": "update,delete"}, {"op": ["update", "delete"]}),
        ({"startPosition": "2073"}, {"start_position": 2073}),
        ({"stopPosition": "1341"}, {"stop_position": 1341}),
        ({"where": "id=1"}, {"where": "id=1"}),
        ({"gtid": "80808080-0080-11ee-8080-808080808080:8-12"},
         {"gtid": "80808080-0080-11ee-8080-808080808080:8-12"}),
    ],
)  # fmt: skip
def test_filters_are_those_of_the_log(options: dict[str, str], keywords: dict[str, Any]) -> None:
    wanted = rows(TWO_FILES.path, **keywords)
    assert 0 < len(wanted) < len(rows(TWO_FILES.path))
    assert records(plan_of(TWO_FILES.path, **options)) == wanted


def test_a_schema_file_completes_what_the_log_does_not_tell(tmp_path: Path) -> None:
    second = shutil.copy(TWO_FILES.binlogs[1], tmp_path)
    tables = TWO_FILES.manifest.marks[0].tables
    statements = [
        f"USE `{name.partition('.')[0]}`;\n{table.create};\n" for name, table in tables.items()
    ]
    file = tmp_path / "schema.sql"
    file.write_text("".join(statements))
    plan = plan_of(second, schema=str(file))
    assert records(plan) == rows(second, schema=str(file))
    assert records(plan) != rows(second)


@pytest.mark.parametrize("kind", ["events", "transactions", "statements", "boundaries"])
def test_the_other_frames_are_those_of_the_log(kind: str) -> None:
    paths = [*TWO_FILES.binlogs, *golden.case("8.0-row-compressed", "transactions").binlogs]
    names = [str(path) for path in paths]
    given = {"paths": json.dumps(names), "name": "db1", "duplicates": "keep"}
    plan = make_plan(parse_options({**given, "records": kind}))
    frame = frame_of(bk.open(names, name="db1", duplicates="keep"), kind)
    got = records(plan)
    assert got == frame.to_pylist()
    assert len({r["file"] for r in got}) > 1
    wanted = {"server_id": 80, "start_position": 3013, "table": "bank.account"}
    scan = parse_options(
        {"paths": json.dumps(names), "records": kind, "name": "db1"}
        | {key: str(value) for key, value in wanted.items()}
    )
    filtered = frame_of(bk.open(names, name="db1"), kind, **wanted)
    assert records(make_plan(scan)) == filtered.to_pylist()
    assert filtered.num_rows < frame.num_rows


def test_prepared_transactions_are_decided_by_later_files() -> None:
    got = records(plan_of(TWO_FILES.path, records="transactions"))
    later = [t for t in got if t["resolved_file"] not in (None, t["file"])]
    assert [t["outcome"] for t in later] == ["committed"]
    (alone,) = [
        t for t in records(plan_of(TWO_FILES.binlogs[0], records="transactions"))
        if t["tx"] == later[0]["tx"]
    ]  # fmt: skip
    assert (alone["outcome"], alone["resolved_file"]) == ("prepared", None)


def test_changes_are_the_rows_in_a_known_order() -> None:
    plan = plan_of(TWO_FILES.path, records="changes", name="db1")
    got = records(plan)
    order = [(r.pop("source"), r.pop("seq"), r.pop("tx")) for r in got]
    assert got == rows(TWO_FILES.path)
    assert [seq for _, seq, _ in order] == sorted({seq for _, seq, _ in order})
    log = bk.open(TWO_FILES.path, name="db1")
    known = {
        seq: (source, seq, tx)
        for b in log.batches()
        for source, seq, tx in zip(
            *(b.batch.column(n).to_pylist() for n in ("source", "seq", "tx")), strict=True
        )
    }
    assert order == [known[seq] for seq in sorted(known)]


def test_every_kind_has_an_option_and_stops_at_damage(tmp_path: Path) -> None:
    assert tuple(kinds.KINDS) == options.KINDS
    file = Path(shutil.copy(TWO_FILES.binlogs[0], tmp_path))
    file.write_bytes(file.read_bytes()[:-10])
    for kind in options.KINDS:
        if kind in ("damages", "gaps"):
            continue
        table = {"table": "bank.account"} if kind == "changelog" else {}
        plan = plan_of(file, records=kind, **table)
        delivered = []
        with pytest.raises(TruncatedEventError) as caught:
            for batch in decode(plan.scan, plan.splits[0], scan_schema(plan)):
                delivered += batch.to_pylist()
        assert caught.value.file == str(file)
        assert delivered


def test_a_damaged_file_fails_its_split_and_no_other(tmp_path: Path) -> None:
    first, second = (Path(shutil.copy(path, tmp_path)) for path in TWO_FILES.binlogs)
    data = bytearray(second.read_bytes())
    data[len(data) // 2] ^= 0xFF
    second.write_bytes(data)
    plan = plan_of(tmp_path)
    whole = list(decode(plan.scan, plan.splits[0], scan_schema(plan)))
    assert sum(b.num_rows for b in whole) == len(rows(first))
    delivered = []
    with pytest.raises(DamageError) as caught:
        for batch in decode(plan.scan, plan.splits[1], scan_schema(plan)):
            delivered += batch.to_pylist()
    assert caught.value.file == str(second)
    assert 0 < caught.value.offset <= len(data) // 2
    assert delivered and all(r["pos"] < caught.value.offset for r in delivered)

    log = bk.open(tmp_path, on_damage="report")
    wanted = rows_of(log).to_pylist()
    assert records(plan_of(tmp_path, onDamage="report")) == wanted
    for mode in ("stop", "report"):
        (damage,) = records(plan_of(tmp_path, onDamage=mode, records="damages"))
        assert damage.pop("end_pos") > caught.value.offset
        assert damage == {
            "file": str(second),
            "pos": caught.value.offset,
            "error": "ChecksumError",
            "field": "checksum",
            "reason": caught.value.reason,
        }


def test_the_damage_of_a_cut_file_is_told_whichever_file_it_is(tmp_path: Path) -> None:
    first, second = (Path(shutil.copy(path, tmp_path)) for path in TWO_FILES.binlogs)
    for file in (first, second):
        file.write_bytes(file.read_bytes()[:-10])
    for given in ({}, {"op": "insert"}):
        found = records(plan_of(tmp_path, onDamage="report", records="damages", **given))
        assert [(d["file"], d["error"]) for d in found] == [
            (str(first), "TruncatedEventError"),
            (str(second), "TruncatedEventError"),
        ]


def test_nothing_behind_damage_is_planned_but_all_behind_an_unreadable_file_is(
    tmp_path: Path,
) -> None:
    for i, path in enumerate([*TWO_FILES.binlogs, TWO_FILES.binlogs[1]]):
        shutil.copy(path, tmp_path / f"binlog.{i:06}")
    paths = json.dumps([str(tmp_path / f"binlog.{i:06}") for i in range(3)])
    sound = make_plan(parse_options({"paths": paths}))
    (tmp_path / "binlog.000001").write_bytes(b"no log")
    unreadable = make_plan(parse_options({"paths": paths}))
    for plan in (sound, unreadable):
        assert [bool(split.position.known) for split in plan.splits] == [False, True, True]
    with pytest.raises(InputError, match=r"binlog\.000001: not a binary log"):
        list(decode(unreadable.scan, unreadable.splits[1], scan_schema(unreadable)))
    assert list(decode(unreadable.scan, unreadable.splits[2], scan_schema(unreadable)))


def test_what_a_live_log_got_after_planning_is_left_for_the_next_plan(tmp_path: Path) -> None:
    source = TWO_FILES.binlogs[0]
    data = source.read_bytes()
    log = bk.open(source)
    table = log.table_names()[0]
    ends = [record["end_pos"] for record in log.event_records()]
    cut = ends[len(ends) // 2]
    assert isinstance(cut, int)
    live = tmp_path / "binlog.000001"
    live.write_bytes(data[:cut])
    plan = plan_of(live, table=table)
    assert plan.splits[0].stop == cut
    wanted = records(plan)
    for mode in ("stop", "report"):
        plan = plan_of(live, table=table, onDamage=mode)
        for more in (data[: cut + 30], data):  # an event half written, then all of it
            live.write_bytes(more)
            assert records(plan) == wanted
        live.write_bytes(data[:cut])
    live.write_bytes(data)
    assert len(records(plan_of(live, table=table))) > len(wanted)


def test_relay_logs_that_go_on_inside_a_transaction_are_one_split(tmp_path: Path) -> None:
    """A replica of 5.6 begins a new relay log wherever it stands (docs/traps.md)."""
    files = committed()["rows/5.6.24-relay"].files()
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    names = [str(tmp_path / name) for name in files]
    plan = make_plan(parse_options({"paths": json.dumps(names), "splitBytes": "1"}))
    assert [split.files for split in plan.splits] == [tuple(names)]
    assert records(plan) == rows(names)


@pytest.mark.slow
def test_what_a_task_is_sent_does_not_grow_with_the_logs() -> None:
    """The scan goes to every task, and a split to its own: with what its log touches."""
    case = golden.case("8.0-row-full", "ddl")
    few, many = ([str(path) for path in case.binlogs] * n for n in (1, 20))
    shipped: Any = cloudpickle
    sizes = []
    for names in (few, many):
        plan = make_plan(parse_options({"paths": json.dumps(names), "duplicates": "keep"}))
        sizes.append([len(shipped.dumps(x)) for x in (plan.scan, *plan.splits)])
    assert len(sizes[1]) - 1 == 20 * (len(sizes[0]) - 1)
    assert max(sizes[1]) < 50_000


def test_versions_that_do_not_unite_need_a_schema_from_the_user() -> None:
    case = golden.case("8.0-row-full", "ddl")
    scan = parse_options({"path": str(case.path), "table": "evolve.item"})
    with pytest.raises(SchemaError, match="price is decimal128"):
        make_plan(scan)
    plan = make_plan(scan, unite=False)
    image = pa.struct({"id": pa.decimal128(20, 0), "price": pa.string()})
    schema = pa.schema({"pos": pa.int64(), "after": image})
    check_schema(plan, schema)
    got = [r for s in plan.splits for b in decode(plan.scan, s, schema) for r in b.to_pylist()]
    wanted = list(bk.open(case.path).row_records(table="evolve.item"))
    assert [r["pos"] for r in got] == [r["pos"] for r in wanted]
    prices = [(r["after"] or {}).get("price") for r in got]
    known = [after.get("price") if isinstance(after := r["after"], dict) else None for r in wanted]
    assert {type(price) for price in known} > {str, float}
    for price, value in zip(prices, known, strict=True):
        same = float(price) if isinstance(value, float) and price is not None else price
        assert same == value
    assert sum(price is not None for price in prices) > 10


def test_a_table_without_changes_has_no_known_columns() -> None:
    plan = plan_of(TWO_FILES.path, table="no.such")
    with pytest.raises(UsageError, match=r"no row change of no\.such"):
        scan_schema(plan)


@pytest.mark.parametrize(
    ("options", "fields", "message"),
    [
        ({}, {"pos": "int64", "nonesuch": "string"}, "no column nonesuch; there are file, pos"),
        ({"records": "damages"}, {"db": "string"}, "no column db; there are file, pos, error"),
        ({"table": "T"}, {"seq": "int64", "nonesuch": "string"}, "no column nonesuch"),
        ({"table": "T"}, {"before": "string"}, "before is a struct"),
    ],
)
def test_a_users_schema_can_only_name_what_is_there(
    options: dict[str, str], fields: dict[str, str], message: str
) -> None:
    if "table" in options:
        options = {"table": bk.open(TWO_FILES.path).table_names()[0]}
    plan = plan_of(TWO_FILES.path, **options)
    schema = pa.schema([(name, getattr(pa, kind)()) for name, kind in fields.items()])
    with pytest.raises(UsageError, match=message):
        check_schema(plan, schema)


def test_images_can_only_have_the_tables_columns() -> None:
    table = bk.open(TWO_FILES.path).table_names()[0]
    plan = plan_of(TWO_FILES.path, table=table)
    schema = pa.schema({"after": pa.struct({"nonesuch": pa.int64()})})
    with pytest.raises(UsageError, match="no column nonesuch; there are"):
        check_schema(plan, schema)
    check_schema(plan, pa.schema({"after": pa.struct({plan.scan.columns[0]: pa.int64()})}))


def test_a_server_that_is_not_there_is_an_error_of_the_plan() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(ServerError, match=r"127\.0\.0\.1"):
        plan_of(TWO_FILES.path, schemaFrom=f"mysql://root@127.0.0.1:{port}")


def test_what_names_no_log_is_an_error_of_the_plan(tmp_path: Path) -> None:
    with pytest.raises(EmptyInputError):
        plan_of(tmp_path)
    with pytest.raises(EmptyInputError):
        plan_of(tmp_path / "binlog.*")
    plan = plan_of(tmp_path / "nothing")
    with pytest.raises(InputError, match="no such file"):
        records(plan)


@pytest.mark.parametrize("table", [{}, {"table": "keyed.pk_int"}, {"records": "transactions"}])
def test_a_plan_has_the_gaps_of_the_log(tmp_path: Path, table: dict[str, str]) -> None:
    [log] = golden.case("8.0-row-full", "keys").binlogs
    for name, data in in_files(log.read_bytes(), 3).items():
        (tmp_path / name).write_bytes(data)
    assert plan_of(tmp_path, **table).gaps == ()
    (tmp_path / "binlog.000002").unlink()
    expected = bk.open(str(tmp_path))
    expected.transactions()
    assert {gap.code for gap in expected.gaps} >= {"file_missing", "gtid_gap"}
    assert list(plan_of(tmp_path, **table).gaps) == expected.gaps
