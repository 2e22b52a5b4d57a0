"""The comparison: what agrees, what is found, and that it can fail."""

from __future__ import annotations

import copy
import random
import struct
from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from binlogkit.analyses import conformance
from binlogkit.analyses.conformance.cell import TableVersions
from binlogkit.analyses.conformance.mysqlbinlog_text import read_text
from binlogkit.analyses.conformance.printed import PrintedRow
from binlogkit.analyses.conformance.row_pair import compare_rows
from binlogkit.errors import OracleError, UsageError

Record = dict[str, Any]


def judge(case: Any, events: Any = None, rows: Any = None, **options: Any) -> Any:
    """The comparison of a case, with other events or rows than the decoder's where given."""
    return conformance.against_mysqlbinlog(
        case.events() if events is None else events,
        case.rows() if rows is None else rows,
        case.schemas(),
        case.lines(),
        file=case.log.name,
        **{"stored": case.stored(), **options},
    )


def failing(result: Any) -> list[Record]:
    """The differences that count."""
    found: list[Record] = result.differences.to_pylist()
    return [d for d in found if d["kind"] in ("ours", "unexplained")]


@pytest.fixture(scope="module")
def types(golden_case: Callable[..., Any]) -> Any:
    """Every type, ROW format, FULL images (8.0.31)."""
    return golden_case("8.0-row-full", "types")


@pytest.fixture(scope="module")
def several(golden_case: Callable[..., Any]) -> Any:
    """Transactions, statements over several events."""
    return golden_case("8.0-row-full", "transactions", "binlog.000002")


def test_a_real_log_agrees(types: Any) -> None:
    result = judge(types)
    assert failing(result) == []
    summary = result.summary
    assert summary.exit_status == 0
    assert summary.verdict == conformance.Verdict.EXPLAINED
    assert summary.events == len(types.events()) > 500
    assert summary.rows == len(types.rows())
    assert summary.rows_not_judged == 0
    assert summary.cells > 3000
    # GEOMETRY: mysqlbinlog prints none (docs/servers.md), the log's bytes judge.
    assert summary.rules["type-not-handled"] == 6
    assert summary.cells_by_bytes > 100
    assert summary.rules["year-zero"] == 1


def test_the_frame_has_its_declared_columns(types: Any) -> None:
    differences = judge(types).differences
    assert tuple(differences.column_names) == conformance.COLUMNS
    assert differences.schema == conformance.differences_schema()
    for difference in differences.to_pylist():
        assert difference["file"] == "binlog.000001"
        assert difference["reason"]
        assert difference["proof"].startswith("mysqlbinlog prints ")
        assert (difference["rule"] == "") == (difference["kind"] == "unexplained")


def test_hostile_texts_are_not_believed(hostile: Any) -> None:
    result = judge(hostile)
    assert failing(result) == []
    assert result.summary.rows == 3
    assert result.summary.verdict == conformance.Verdict.AGREE
    unsure = judge(hostile, stored=())
    rules = unsure.summary.rules
    assert rules["text-looks-like-syntax"] == 2
    assert rules["names-not-escaped"] == 1
    assert unsure.summary.verdict == conformance.Verdict.UNJUDGED


def test_what_can_be_read_in_two_ways_is_decided_by_the_bytes(hostile: Any) -> None:
    doubted = [d["pos"] for d in judge(hostile, stored=()).differences.to_pylist()]
    assert doubted == [2141, 2971, 3662]
    for index, event in enumerate(hostile.events()):
        if event["pos"] not in doubted[:2]:  # without the third's the text is read otherwise
            continue
        events = hostile.events()
        name = "table" if event["type"] == "TABLE_MAP_EVENT" else "query"
        events[index]["fields"][name] += "x"
        found = failing(judge(hostile, events=events))
        assert f"the event's {name} is not what the log stores" in [d["reason"] for d in found]


def test_rare_images_agree(absent: Any) -> None:
    assert failing(judge(absent)) == []


def test_a_log_of_5_7_agrees(golden_case: Callable[..., Any]) -> None:
    """That server wrote whole doubles of JSON otherwise, and says so only in the log's head."""
    result = judge(golden_case("5.7-row-full", "types"))
    assert failing(result) == []
    assert result.summary.rules["json-whole-double"] > 0


def test_the_file_of_load_data_has_another_name(golden_case: Callable[..., Any]) -> None:
    case = golden_case("8.0-statement-full", "statements")
    result = judge(case)
    assert failing(result) == []
    assert result.summary.rules["load-file-name"] > 0
    events = case.events()
    load = next(e for e in events if e["type"] == "EXECUTE_LOAD_QUERY_EVENT")
    load["fields"]["query"] = load["fields"]["query"][:-1] + "?"
    assert [(d["pos"], d["column"]) for d in failing(judge(case, events=events))] == [
        (load["pos"], "query")
    ]


def test_types_and_tags_of_9_7_agree(vector: Any) -> None:
    assert failing(judge(vector)) == []


def test_a_forged_row_does_not_pass_for_one_of_ours(hostile: Any) -> None:
    """Rows alone, so that nothing tells where the statement ends: the forged row is no row."""
    result = conformance.against_mysqlbinlog(None, hostile.rows(), hostile.schemas(),
                                             hostile.lines())  # fmt: skip
    assert result.summary.rules["text-looks-like-syntax"] >= 1
    assert [d["reason"] for d in failing(result)] == ["ours lacks this row"]


# The judge can fail: each mutation of our side is found


def other(value: Any) -> Any:
    """Another value than ``value``, as like it as can be."""
    if value is None:
        return 0
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value ^ 1
    if isinstance(value, float):
        return value * 1.01 + 1
    if isinstance(value, dict):
        return None
    if isinstance(value, list):
        return [*value, "OTHER"]
    if value.startswith("0x"):
        return value[:2] + format(int(value[2:4] or "41", 16) ^ 1, "02X") + value[4:]
    return value[:-1] + ("x" if not value.endswith("x") else "y")


def pairs(case: Any) -> Iterator[tuple[Record, PrintedRow, TableVersions]]:
    """Our rows beside mysqlbinlog's, for a log without rows that it skips."""
    tables = TableVersions(case.schemas())
    printed = [r for r in read_text(case.lines()) if isinstance(r, PrintedRow)]
    ours = case.rows()
    assert len(ours) == len(printed)
    for mine, theirs in zip(ours, printed, strict=True):
        assert compare_rows(mine, theirs, tables).agrees
        yield mine, theirs, tables


@pytest.mark.parametrize("scenario", ["keys", "transactions", "incident"])
def test_every_changed_value_is_found(golden_case: Callable[..., Any], scenario: str) -> None:
    changed = 0
    for mine, theirs, tables in pairs(golden_case("8.0-row-full", scenario)):
        if random.Random(changed).random() < 0.6 and changed > 200:
            continue
        for which in ("before", "after"):
            for name, value in (mine[which] or {}).items():
                mutated = copy.deepcopy(mine)
                mutated[which][name] = other(value)
                pair = compare_rows(mutated, theirs, tables)
                assert not pair.agrees, (which, name, value, mutated[which][name])
                assert [d.column for d in pair.differences if d.counts] == [name]
                changed += 1
    assert changed > 100


def test_values_of_every_type_are_found_changed(types: Any) -> None:
    """One run over a mutated copy: a column of each row changed, each difference at its place."""
    rows = types.rows()
    wanted = set()
    chance = random.Random(7)
    for row in rows:
        if row["after"] is None:
            continue
        name = chance.choice(list(row["after"]))
        before = row["after"][name]
        row["after"] = {**row["after"], name: other(before)}
        wanted.add((row["pos"], row["row"], name))
    result = judge(types, rows=rows)
    found = {(d["pos"], d["row"], d["column"]) for d in failing(result)}
    assert found == wanted
    assert len(found) > 150


@pytest.mark.parametrize("index", [0, 7, 200, -1])
def test_a_dropped_row_is_found(several: Any, index: int) -> None:
    rows = several.rows()
    dropped = rows.pop(index)
    result = judge(several, rows=rows)
    found = failing(result)
    assert result.summary.exit_status == 1
    (missing,) = found
    assert missing["reason"] == "ours lacks this row"
    assert dropped["op"] in missing["theirs"]


@pytest.mark.parametrize("index", [0, 7, 200])
def test_an_invented_row_is_found(several: Any, index: int) -> None:
    rows = several.rows()
    invented = copy.deepcopy(rows[index])
    image = "after" if invented["after"] is not None else "before"
    name = next(iter(invented[image]))
    invented[image][name] = other(invented[image][name])
    rows.insert(index, invented)
    reasons = [d["reason"] for d in failing(judge(several, rows=rows))]
    assert reasons == ["mysqlbinlog does not print this row"]


def test_swapped_columns_are_found(types: Any) -> None:
    rows = types.rows()
    row = next(r for r in rows if r["table"] == "integers" and r["op"] == "insert")
    names = list(row["after"])
    first, second = next(
        (a, b) for a in names for b in names
        if None not in (row["after"][a], row["after"][b]) and row["after"][a] != row["after"][b]
    )  # fmt: skip
    row["after"][first], row["after"][second] = row["after"][second], row["after"][first]
    found = failing(judge(types, rows=rows))
    assert {d["column"] for d in found} == {first, second}


@pytest.mark.parametrize(
    ("field", "value"),
    [("server_id", 99), ("timestamp", 1), ("type", "STOP_EVENT"), ("checksum", "none")],
)
def test_a_wrong_event_header_is_found(several: Any, field: str, value: Any) -> None:
    events = several.events()
    events[3] = {**events[3], field: value}
    found = failing(judge(several, events=events))
    assert {(d["pos"], d["column"], d["row"]) for d in found} == {(events[3]["pos"], field, None)}


def test_a_wrong_position_is_found(several: Any) -> None:
    events = several.events()
    right = events[3]["pos"]
    events[3] = {**events[3], "pos": right + 1}
    found = {(d["pos"], d["reason"]) for d in failing(judge(several, events=events))}
    assert found == {
        (right, "ours lacks this event"),
        (right + 1, "mysqlbinlog prints no event here"),
    }


def test_a_wrong_end_is_found(several: Any) -> None:
    events = several.events()
    events[3]["fields"]["log_pos"] += 1
    assert [d["column"] for d in failing(judge(several, events=events))] == ["end_log_pos"]


def test_a_missing_event_is_found(several: Any) -> None:
    events = several.events()
    del events[2]
    assert [d["reason"] for d in failing(judge(several, events=events))] == [
        "ours lacks this event"
    ]


def test_missing_events_at_the_end_are_found(several: Any) -> None:
    lines = list(several.lines())
    ours = several.events()
    last = max(i for i, line in enumerate(lines) if line.startswith(b"# at "))
    result = conformance.against_mysqlbinlog(ours, several.rows(), several.schemas(), lines[:last])
    assert [d["pos"] for d in failing(result)] == [ours[-1]["pos"]]


@pytest.mark.parametrize(
    ("kind", "field", "value"),
    [
        ("QUERY_EVENT", "query", "BEGIN "),
        ("QUERY_EVENT", "thread_id", 1),
        ("QUERY_EVENT", "error_code", 1062),
        ("XID_EVENT", "xid", 1),
        ("TABLE_MAP_EVENT", "table_id", 1),
        ("TABLE_MAP_EVENT", "table", "other"),
        ("GTID_LOG_EVENT", "sequence_number", 77),
        ("GTID_LOG_EVENT", "immediate_commit_timestamp", 1),
        ("FORMAT_DESCRIPTION_EVENT", "server_version", "8.0.30"),
        ("WRITE_ROWS_EVENT", "flags", []),
    ],
)
def test_a_wrong_field_is_found(types: Any, kind: str, field: str, value: Any) -> None:
    events = types.events()
    event = next(e for e in events if e["type"] == kind)
    event["fields"][field] = value
    found = failing(judge(types, events=events))
    name = "STMT_END" if field == "flags" else field
    assert [(d["pos"], d["column"]) for d in found] == [(event["pos"], name)]


def test_a_wrong_gtid_is_found_in_the_event_and_in_its_rows(several: Any) -> None:
    events, rows = several.events(), several.rows()
    start = next(e for e in events if e["type"] == "GTID_LOG_EVENT")
    right = start["gtid"]
    for record in [start, *(r for r in rows if r["gtid"] == right)]:
        record["gtid"] = "80808080-0080-11ee-8080-808080808080:999"
    found = failing(judge(several, events=events, rows=rows))
    assert {d["column"] for d in found} == {"gtid"}
    assert {d["row"] for d in found} >= {None, 0}


@pytest.mark.parametrize(
    ("field", "value"), [("db", "x"), ("table", "x"), ("op", "delete"), ("row", 5), ("pos", 1)]
)
def test_a_wrong_row_header_is_found(several: Any, field: str, value: Any) -> None:
    rows = several.rows()
    rows[0] = {**rows[0], field: value}
    assert judge(several, rows=rows).summary.exit_status == 1


def test_a_checksum_that_nobody_printed_is_found(golden_case: Callable[..., Any]) -> None:
    """Only of a format description and of events inside a payload may the two say different."""
    case = golden_case("8.0-row-no-checksum", "keys")
    events = case.events()
    assert (events[0]["checksum"], {e["checksum"] for e in events[1:]}) == ("ok", {"none"})
    assert failing(judge(case, events=events)) == []
    for event in events:
        event["checksum"] = "ok"
    found = failing(judge(case, events=events))
    assert {(d["column"], d["theirs"]) for d in found} == {("checksum", "none")}
    assert [d["pos"] for d in found] == [e["pos"] for e in events[1:]]


@pytest.mark.parametrize(("op", "which"), [("insert", "before"), ("delete", "after")])
def test_an_image_that_only_ours_has_is_found(several: Any, op: str, which: str) -> None:
    rows = several.rows()
    row = next(r for r in rows if r["op"] == op)
    row[which] = dict(row["after"] or row["before"])
    found = failing(judge(several, rows=rows))
    assert [(d["pos"], d["column"], d["reason"]) for d in found] == [
        (row["pos"], which, "mysqlbinlog prints no such image")
    ]


@pytest.mark.parametrize(("op", "which"), [("update", "before"), ("update", "after")])
def test_an_image_that_ours_lacks_is_found(several: Any, op: str, which: str) -> None:
    rows = several.rows()
    row = next(r for r in rows if r["op"] == op)
    row[which] = None
    found = failing(judge(several, rows=rows))
    assert (row["pos"], which, "ours has no such image") in [
        (d["pos"], d["column"], d["reason"]) for d in found
    ]


def test_null_for_what_is_not_in_the_image_is_ours(golden_case: Callable[..., Any]) -> None:
    """docs/traps.md, Partial images."""
    case = golden_case("8.0-row-minimal", "keys")
    rows = case.rows()
    names = [c.name for s in case.schemas() if s.table == rows[0]["table"] for c in s.columns]
    row = next(r for r in rows if r["op"] == "update" and len(r["after"]) < len(names))
    columns = [c.name for s in case.schemas() if (s.db, s.table) == (row["db"], row["table"])
               for c in s.columns]  # fmt: skip
    absent = next(name for name in columns if name not in row["after"])
    row["after"][absent] = None
    found = failing(judge(case, rows=rows))
    assert [(d["kind"], d["rule"], d["column"]) for d in found] == [
        ("ours", "absent-as-null", absent)
    ]


# What mysqlbinlog does not print, or not wholly: the log's own bytes decide


def geometries(rows: list[Record]) -> list[Record]:
    """The rows of tables with GEOMETRY, which mysqlbinlog gives up."""
    return [row for row in rows if row["table"] == "geometries"]


def test_other_geometries_are_found(types: Any) -> None:
    rows = types.rows()
    changed = set()
    for row in geometries(rows):
        for which in ("before", "after"):
            for name, value in (row[which] or {}).items():
                if isinstance(value, str) and value.startswith("0x"):
                    row[which][name] = value[:-2] + ("00" if value[-2:] != "00" else "01")
                    changed.add((row["pos"], row["row"], name))
    result = judge(types, rows=rows)
    assert len(changed) > 20
    assert {(d["pos"], d["row"], d["column"]) for d in failing(result)} == changed
    assert all(d["proof"].startswith("the log stores 0x") for d in failing(result))


@pytest.mark.parametrize("keep", [0, 1])
def test_rows_behind_a_geometry_cannot_be_dropped(types: Any, keep: int) -> None:
    """Of each event that mysqlbinlog gives up only the first row is left, or none."""
    rows = types.rows()
    given_up = {r["pos"] for r in geometries(rows)}
    left = [r for r in rows if r["pos"] not in given_up or r["row"] < keep]
    assert len(rows) - len(left) > 5
    result = judge(types, rows=left)
    assert result.summary.exit_status == 1
    missing = [d for d in failing(result) if "ours lacks this row" in d["reason"]]
    assert len(missing) == len(rows) - len(left)


def test_rows_behind_a_geometry_cannot_be_invented(types: Any) -> None:
    rows = types.rows()
    last = max(i for i, row in enumerate(rows) if row in geometries(rows))
    rows.insert(last, {**rows[last], "row": rows[last]["row"] + 1})
    reasons = {d["reason"] for d in failing(judge(types, rows=rows))}
    assert "the log does not store this row" in reasons


def test_without_the_bytes_rows_that_are_not_printed_are_not_judged(types: Any) -> None:
    result = judge(types, stored=())
    summary = result.summary
    assert failing(result) == []
    assert summary.rows_not_judged == len(geometries(types.rows())) > 10
    assert summary.rules["rows-not-judged"] == summary.rules["type-not-handled"] == 6
    assert (summary.verdict, summary.exit_status) == (conformance.Verdict.UNJUDGED, 1)
    known = judge(types, stored=(), baseline=[{"kind": "under_determined"}])
    assert known.summary.exit_status == 0


def floats(row: Record) -> Iterator[tuple[str, float]]:
    """The FLOAT columns of a row with numbers that six digits do not tell."""
    for name, value in (row["after"] or {}).items():
        if name.startswith("f") and isinstance(value, float) and len(f"{value:.9g}") > 8:
            yield name, value


def test_a_float_is_judged_by_all_of_its_digits(types: Any) -> None:
    """16777218 for 16777216: mysqlbinlog prints 1.67772e+07 for both."""
    checked = 0
    for index, row in enumerate(types.rows()):
        for name, value in floats(row) if row["table"] == "floats" else ():
            (bits,) = struct.unpack("<i", struct.pack("<f", value))
            (near,) = struct.unpack("<f", struct.pack("<i", bits + 1))
            rows = types.rows()
            rows[index]["after"][name] = near
            checked += 1
            if f"{near:g}" != f"{value:g}" or checked > 4:
                continue
            found = failing(judge(types, rows=rows))
            assert [(d["row"], d["column"]) for d in found] == [(row["row"], name)]
    assert checked > 3


def test_without_the_bytes_a_float_is_not_judged(vector: Any) -> None:
    result = judge(vector, stored=())
    assert result.summary.rules["digits-not-judged"] == 5  # three FLOAT, two VECTOR
    assert result.summary.verdict == conformance.Verdict.UNJUDGED


def test_bytes_that_do_not_fit_the_text_judge_nothing(types: Any, several: Any) -> None:
    """Another log's bytes: what is printed is judged, the rest by nobody."""
    result = judge(types, stored=several.stored())
    assert failing(result) == []
    assert result.summary.cells_by_bytes == 0
    assert result.summary.verdict == conformance.Verdict.UNJUDGED


@pytest.mark.parametrize(
    "name",
    ["end_pos", "size", "timestamp", "type", "code", "server_id", "flags", "checksum", "gtid",
     "fields.sid", "fields.gno", "fields.tag", "fields.anonymous", "fields.thread_id",
     "fields.original_server_version", "fields.immediate_server_version"],
)  # fmt: skip
def test_every_event_is_held_to_its_header(golden_case: Callable[..., Any], name: str) -> None:
    """One field of all events at once: each of them is found."""
    case = golden_case("8.0-row-compressed", "transactions")
    events, changed = case.events(), set()
    for event in events:
        inside = event["fields"] if "." in name else event
        field = name.removeprefix("fields.")
        if field in inside:
            inside[field] = other(inside[field]) if inside[field] is not None else "x:7"
            changed.add((event["pos"], event["inner"]))
    found = failing(judge(case, events=events))
    called = name.removeprefix("fields.")
    assert {(d["pos"], d["inner"]) for d in found if d["column"] == called} == changed != set()


@pytest.mark.parametrize(
    "name",
    ["end_pos", "timestamp", "commit_timestamp", "server_id", "gtid", "thread_id", "xid", "xa",
     "query", "row"],
)  # fmt: skip
@pytest.mark.parametrize("cell", ["8.0-row-rows-query", "5.7-row-full", "8.0-row-compressed"])
def test_every_row_is_held_to_its_event_and_transaction(
    golden_case: Callable[..., Any], cell: str, name: str
) -> None:
    """What only one row says otherwise is found, the first of its event or a later one."""
    case = golden_case(cell, "transactions")
    rows = case.rows()
    for at in (0, next(i for i, row in enumerate(rows) if row["row"]), len(rows) - 1):
        said = [dict(row) for row in rows]
        said[at][name] = other(said[at][name]) if said[at][name] is not None else 7
        (found,) = failing(judge(case, rows=said))
        assert (found["pos"], found["column"]) == (rows[at]["pos"], name)


def test_columns_are_called_as_the_log_calls_them(golden_case: Callable[..., Any]) -> None:
    case = golden_case("8.0-row-full-metadata", "keys")
    schemas = [
        replace(s, columns=tuple(replace(c, name=f"{c.name}_") for c in s.columns))
        for s in case.schemas()
    ]
    rows = case.rows()
    for row in rows:
        for image in ("before", "after"):
            row[image] = row[image] and {f"{name}_": v for name, v in row[image].items()}
    result = conformance.against_mysqlbinlog(
        case.events(), rows, schemas, case.lines(), stored=case.stored()
    )
    found = failing(result)
    assert {d["reason"] for d in found} == {"the table map has another name for this column"}
    assert {(d["column"], d["theirs"]) for d in found} >= {("id_", "id")}


# Options, and what mysqlbinlog cannot do


def test_a_baseline_leaves_known_differences_out(several: Any) -> None:
    rows = several.rows()
    name = next(iter(rows[0]["after"] or rows[0]["before"]))
    image = "after" if rows[0]["after"] else "before"
    rows[0][image] = {**rows[0][image], name: other(rows[0][image][name])}
    first = judge(several, rows=rows)
    assert first.summary.exit_status == 1
    known = conformance.read_baseline(conformance.baseline_lines(first))
    again = judge(several, rows=rows, baseline=known)
    assert again.summary.exit_status == 0
    assert again.summary.baselined == len(known) == 1
    assert failing(again) == []
    partly = judge(several, rows=rows, baseline=[{"column": name, "kind": "unexplained"}])
    assert partly.summary.baselined == 1
    not_it = judge(several, rows=rows, baseline=[{"column": "other"}])
    assert not_it.summary.exit_status == 1


@pytest.mark.parametrize("line", ["x", "[]", "{}", '{"what": 1}', "1"])
def test_a_bad_baseline_is_refused(line: str) -> None:
    with pytest.raises(UsageError, match="baseline line 2"):
        conformance.read_baseline(['{"rule": "year-zero"}', line])


def test_all_is_counted_and_little_is_kept(types: Any) -> None:
    rows = types.rows()
    for row in rows:
        row["db"] = "elsewhere"
    result = judge(types, rows=rows, keep=10)
    assert result.summary.kinds["unexplained"] > 200
    assert sum(d["kind"] == "unexplained" for d in result.differences.to_pylist()) == 10


def test_mysqlbinlog_gives_up(golden_case: Callable[..., Any]) -> None:
    """9.7.4 reads no V1 rows events: what comes before is judged, the rest is said not to be."""
    case = golden_case("5.7-row-v1-events", "keys")
    assert case.failure
    result = judge(case)
    summary = result.summary
    assert summary.verdict == conformance.Verdict.INCOMPLETE
    assert summary.exit_status == 1
    assert "Could not read entry" in (summary.problem or "")
    assert summary.rules == {"oracle-stopped": 1}
    assert summary.events > 20
    assert summary.rows == 0
    assert summary.rows_not_judged == len(case.rows())


def test_other_errors_of_the_lines_are_not_swallowed(several: Any) -> None:
    def lines() -> Iterator[bytes]:
        yield from ()
        raise ValueError("the caller's own")

    with pytest.raises(ValueError, match="own"):
        conformance.against_mysqlbinlog([], [], [], lines())


def test_an_oracle_that_says_nothing_is_no_agreement(several: Any) -> None:
    def lines() -> Iterator[bytes]:
        yield from ()
        raise OracleError("no mysqlbinlog")

    result = conformance.against_mysqlbinlog(several.events(), several.rows(), [], lines())
    assert result.summary.verdict == conformance.Verdict.INCOMPLETE
    empty = conformance.against_mysqlbinlog(several.events(), several.rows(), [], [])
    assert empty.summary.verdict == conformance.Verdict.DIFFER


def test_a_statement_without_its_end(absent: Any) -> None:
    """mysqlbinlog keeps the rows of a statement back until its last rows event."""
    lines = list(absent.lines())
    open_ended = [i for i, line in enumerate(lines) if b"Write_rows: table id" in line
                  and b"STMT_END_F" not in line]  # fmt: skip
    lines = lines[: open_ended[-1] + 1]
    last = next(int(x.split()[-1]) for x in reversed(lines) if x.startswith(b"# at "))
    rows = [r for r in absent.rows() if r["pos"] <= last]
    held = {int(lines[i - 1].split()[-1]) for i in open_ended}
    kept = sum(r["pos"] in held for r in rows)

    def judged(rows: list[Record], stored: Any) -> Any:
        schemas = absent.schemas()
        return conformance.against_mysqlbinlog(None, rows, schemas, lines, stored=stored)

    result = judged(rows, ())
    assert result.summary.rules["statement-not-ended"] == 1
    assert result.summary.rules["rows-not-judged"] == 1
    assert result.summary.rows_not_judged == kept > 10
    assert (result.summary.verdict, result.summary.exit_status) == ("unjudged", 1)
    by_bytes = judged(rows, absent.stored()).summary
    assert "rows-not-judged" not in by_bytes.rules
    assert (by_bytes.rows, by_bytes.exit_status) == (len(rows), 0)
    wrong = copy.deepcopy(rows)
    wrong[-1]["after"]["a"] = other(wrong[-1]["after"]["a"])
    found = failing(judged(wrong, absent.stored()))
    assert [(d["pos"], d["column"]) for d in found] == [(wrong[-1]["pos"], "a")]
    assert len(failing(judged(rows[:-1], absent.stored()))) == 1


def test_results_of_several_files(several: Any, types: Any) -> None:
    one, two = judge(several), judge(types)
    both = conformance.merge([one, two])
    assert both.summary.events == one.summary.events + two.summary.events
    assert both.summary.verdict == conformance.Verdict.EXPLAINED
    assert both.differences.num_rows == one.differences.num_rows + two.differences.num_rows
    assert conformance.merge([]).summary.verdict == conformance.Verdict.AGREE


def test_schemas_as_plain_records(several: Any) -> None:
    plain = [
        {
            "db": s.db, "table": s.table,
            "columns": [
                {"name": c.name, "type": c.type.name, "unsigned": c.unsigned,
                 "charset": c.charset, "labels": c.labels, "length": c.length}
                for c in s.columns
            ],
        }
        for s in several.schemas()
    ]  # fmt: skip
    result = conformance.against_mysqlbinlog(
        several.events(), several.rows(), plain, several.lines()
    )
    assert failing(result) == []
    assert result.summary.rows == len(several.rows())
    wrong = {"db": "a", "table": "b", "columns": [{"name": "c", "type": "varchar(3)"}]}
    with pytest.raises(UsageError, match="no column type"):
        conformance.against_mysqlbinlog([], [], [wrong], [])


def test_a_decoders_wrong_name_is_one_difference(golden_case: Callable[..., Any]) -> None:
    """With FULL metadata: of one row or of all."""
    case = golden_case("8.0-row-full-metadata", "keys")
    table = case.rows()[40]["table"]
    for only in (True, False):
        rows = case.rows()
        for at, row in enumerate(rows):
            for which in ("before", "after"):
                if row["table"] == table and row[which] and (at == 40 or not only):
                    first, *others = row[which].items()
                    row[which] = {"wrong": first[1], **dict(others)}
        (found,) = failing(judge(case, rows=rows))
        assert (found["column"], found["ours"], found["theirs"]) == ("wrong", "wrong", first[0])


#: Fields of events that mysqlbinlog does not print, or not so that they can be read: the log's
#: bytes decide. Of which type, the field, another value, the bytes that are there.
SEEDED: list[tuple[str, str, Any, str]] = [
    ("QUERY_EVENT", "schema", "other", "0x73746D7473"),
    ("QUERY_EVENT", "status_vars.flags2", 1, "0x00000000"),
    ("QUERY_EVENT", "status_vars.sql_mode", 0, "0x0000004000000000"),
    ("QUERY_EVENT", "status_vars.catalog", "odd", "0x03737464"),
    ("QUERY_EVENT", "status_vars.client_collation", 45, "0xFF00"),
    ("QUERY_EVENT", "status_vars.updated_dbs", ["a", "b"], "0x01"),
    ("QUERY_EVENT", "status_vars.ddl_xid", None, "0x"),
    ("QUERY_EVENT", "status_vars.time_zone", "SYSTEM", "0x"),
    ("QUERY_EVENT", "status_vars.table_map_for_update", "1", "0x"),
    ("TABLE_MAP_EVENT", "flags", 0, "0x0100"),
    ("TABLE_MAP_EVENT", "types", "0x0303", "0x03"),
    ("TABLE_MAP_EVENT", "metadata", "0xFF", "0x"),
    ("TABLE_MAP_EVENT", "nullable", "0xFF", "0x"),
    ("GTID_LOG_EVENT", "flags", 7, "0x0"),
    ("USER_VAR_EVENT", "collation", 8, "0xFF000000"),
    ("USER_VAR_EVENT", "var_type", "REAL", "0x02"),
]


def _of_events(case: Any, events: list[Record]) -> Any:
    return conformance.against_mysqlbinlog(events, None, [], case.lines(), stored=case.stored())


@pytest.fixture(scope="module")
def statements(golden_case: Callable[..., Any]) -> dict[str, tuple[Any, list[Record]]]:
    """By event type: a log that has it, and its events."""
    found: dict[str, tuple[Any, list[Record]]] = {}
    for cell in ("8.0-row-full-metadata", "8.0-statement-full"):
        case = golden_case(cell, "statements")
        events = case.events()
        assert failing(_of_events(case, events)) == []
        for event in events:
            found.setdefault(event["type"], (case, events))
    return found


@pytest.mark.parametrize(("kind", "field", "value", "stored"), SEEDED, ids=[
    f"{kind}-{name}" for kind, name, *_ in SEEDED
])  # fmt: skip
def test_what_is_not_printed_of_an_event_is_held_to_its_bytes(
    statements: dict[str, tuple[Any, list[Record]]], kind: str, field: str, value: Any, stored: str
) -> None:
    case, events = statements[kind]
    place, _, name = field.rpartition(".")
    at = next(
        i for i, e in enumerate(events)
        if e["type"] == kind and (e["fields"]["status_vars"] if place else e["fields"]).get(name, 0)
        is not None
    )  # fmt: skip
    seeded = copy.deepcopy(events[at])
    (seeded["fields"]["status_vars"] if place else seeded["fields"])[name] = value
    (found,) = failing(_of_events(case, [*events[:at], seeded, *events[at + 1 :]]))
    assert (found["pos"], found["column"]) == (events[at]["pos"], field)
    assert found["proof"].startswith(f"the log stores {stored}")


def _bytes_of(value: str) -> bytes:
    return bytes.fromhex(value[2:])


#: Values as other decoders write them: the rule, its kind, the column, a value of it, the other.
OTHERWISE: list[tuple[str, str, str, Callable[[Any], bool], Callable[[Any], Any]]] = [
    ("negative-zero", "ours", "DOUBLE", lambda v: repr(v) == "-0.0", lambda _: 0),
    ("negative-zero", "ours", "FLOAT", lambda v: repr(v) == "-0.0", lambda _: 0.0),
    ("number-as-text", "representation", "FLOAT", lambda v: v == 1.1754944e-38,
     lambda _: "1.17549435E-38"),
    ("number-as-text", "representation", "DOUBLE", lambda v: v == 1e23, lambda _: "1e+23"),
    ("time-otherwise", "representation", "TIME2", lambda v: v == "838:59:59",
     lambda _: 3_020_399_000_000),
    ("time-otherwise", "representation", "TIME2", lambda v: v == "-838:59:59",
     lambda _: "-PT838H59M59S"),
    ("unsigned-shown-negative", "ours", "BIT", lambda v: v == (1 << 64) - 1, lambda _: -1),
    ("unsigned-shown-negative", "ours", "SET", lambda v: v and v.count(",") == 63, lambda _: -1),
    ("bytes-as-hex", "representation", "VARCHAR", lambda v: v and not v.startswith("0x"),
     lambda v: "0x" + v.encode().hex().upper()),
    ("bytes-as-base64", "representation", "STRING", lambda v: v and v.startswith("0x"),
     lambda v: b64encode(_bytes_of(v)).decode()),
    ("decimal-as-number", "representation", "NEWDECIMAL",
     lambda v: v and repr(float(v)) == v, float),
    ("moment-otherwise", "representation", "DATETIME2", lambda v: v and v.startswith("2024-02-29 "),
     lambda v: v.replace(" ", "T") + "Z"),
    ("number-as-boolean", "representation", "TINY", lambda v: v == 1, lambda _: True),
]  # fmt: skip


def test_what_any_decoder_writes_otherwise_has_its_name(types: Any) -> None:
    """By the text and the cell's bytes, the same rule as the expected rows give; in one run."""
    families = {(s.table, c.name): c.type.name for s in types.schemas() for c in s.columns}
    rows = types.rows()
    wanted: dict[Any, tuple[str, str]] = {}
    for rule, kind, family, fits, written in OTHERWISE:
        row, name = next(
            (row, name) for row in rows for name, value in (row["after"] or {}).items()
            if families[row["table"], name] == family and fits(value)
            and (row["pos"], row["row"], name) not in wanted
        )  # fmt: skip
        row["after"] = {**row["after"], name: written(row["after"][name])}
        wanted[row["pos"], row["row"], name] = (rule, kind)
    result = judge(types, events=[], rows=rows, keep=100_000)
    places = [(d["pos"], d["row"], d["column"]) for d in result.differences.to_pylist()]
    named = [(d["rule"], d["kind"]) for d in result.differences.to_pylist()]
    assert {at: found for at, found in zip(places, named, strict=True) if at in wanted} == wanted
    assert sum(place in wanted for place in places) == len(OTHERWISE)
