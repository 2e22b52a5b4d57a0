"""Errors are put into a decoder's output one at a time: the judge by expected lines finds each.

With the bytes that the log has there, and, where a rule names the difference, by that rule.
"""

from __future__ import annotations

import base64
import copy
import json
import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

import binlogkit as bk
from binlogkit.analyses.conformance import (
    ConformanceResult,
    Verdict,
    against_golden,
    baseline_lines,
    read_baseline,
)
from binlogkit.analyses.conformance.cell import ColumnFacts
from binlogkit.analyses.conformance.expected_cell import ExpectedCell
from binlogkit.analyses.conformance.expected_rules import explain_expected
from binlogkit.log.stored_events import field_bytes
from binlogkit.sources.expected import expected_lines

GOLDEN = Path(__file__).parents[2] / "_data"
Record = dict[str, Any]
Change = Callable[[list[Record]], None]


class Logs:
    """A golden log with its records and expected lines, read once."""

    def __init__(self, story: str) -> None:
        self.folder = GOLDEN / story
        log = bk.open(str(self.folder / "binlog.000001"))
        self.events, self.rows = list(log.event_records()), list(log.row_records())
        self.schemas = list(log.table_schemas())
        self.expected_events = list(expected_lines(self.folder, "events", "binlog.000001"))
        self.expected_rows = list(expected_lines(self.folder, "rows", "binlog.000001"))
        self._log = log
        self._bytes: dict[tuple[int, int | None], dict[str, str]] = {}

    def bytes_of(self, pos: int, inner: int | None) -> dict[str, str]:
        if (pos, inner) not in self._bytes:
            found = field_bytes(self._log, self._log.carriers[0], pos, inner)
            self._bytes[pos, inner] = found
        return self._bytes[pos, inner]

    def judge(
        self, *, events: Iterable[Record] | None = None, rows: Iterable[Record] | None = None,
        **more: Any,
    ) -> ConformanceResult:  # fmt: skip
        return against_golden(
            events, rows, self.schemas, self.expected_events, self.expected_rows,
            field_bytes=self.bytes_of, **more,
        )  # fmt: skip

    def judge_at(self, pos: int, rows: Iterable[Record]) -> ConformanceResult:
        """The rows of one event, which is quicker than all."""
        mine = [row for row in rows if row["pos"] == pos]
        wanted = [row for row in self.expected_rows if row["pos"] == pos]
        return against_golden(None, mine, self.schemas, [], wanted)


@pytest.fixture(scope="module")
def types() -> Logs:
    return Logs("8.0-row-full/types")


@pytest.fixture(scope="module")
def modern() -> Logs:
    return Logs("9-row-full/modern")


@pytest.fixture(scope="module")
def story() -> Logs:
    return Logs("8.0-row-full-metadata/statements")


def differences(result: ConformanceResult) -> list[Record]:
    found: list[Record] = result.differences.to_pylist()
    return found


@pytest.mark.parametrize("name", ["types", "modern", "story"])
def test_our_decode_agrees(name: str, request: pytest.FixtureRequest) -> None:
    logs: Logs = request.getfixturevalue(name)
    result = logs.judge(events=logs.events, rows=logs.rows)
    assert differences(result) == []
    assert result.summary.verdict is Verdict.AGREE
    assert (result.summary.events, result.summary.rows) == (len(logs.events), len(logs.rows))
    assert result.summary.rows_not_judged == 0


# ---- events -----------------------------------------------------------------------------------


def _leaves(record: Record) -> list[tuple[str, ...]]:
    """The paths of an event record's values, those of its own fields to the last level."""
    found: list[tuple[str, ...]] = []

    def walk(value: Any, path: tuple[str, ...]) -> None:
        if isinstance(value, dict):
            for key, item in value.items():
                walk(item, (*path, key))
        else:
            found.append(path)

    walk({k: v for k, v in record.items() if k not in ("file", "source", "pos", "inner")}, ())
    return found


def _other(value: Any) -> Any:
    if isinstance(value, bool) or value is None:
        return 7
    if isinstance(value, int):
        return value + 1
    return [*value, 1] if isinstance(value, list) else f"{value}x"


def test_every_field_of_every_type_is_compared(story: Logs) -> None:
    """The first event of each type, each of its values another one, one at a time.

    sid, gno, end_pos, size, flags, checksum, status variables, a table map's types …
    """
    firsts: dict[str, Record] = {}
    for event in story.events:
        key = event["type"] + str(sorted(event["fields"].get("status_vars") or ()))
        firsts.setdefault(key, event)
    seen = set()
    for event in firsts.values():
        (wanted,) = (e for e in story.expected_events if e["pos"] == event["pos"])
        for path in _leaves(event):
            changed = copy.deepcopy(event)
            place = changed
            for step in path[:-1]:
                place = place[step]
            place[path[-1]] = _other(place[path[-1]])
            result = against_golden([changed], None, [], [wanted], [], field_bytes=story.bytes_of)
            (found,) = differences(result)
            assert (found["column"], found["kind"]) == (".".join(path), "unexplained")
            assert "0x" in found["proof"]
            seen.add((event["type"], path[-1]))
    names = {name for _, name in seen}
    assert names >= {
        "sid", "gno", "end_pos", "size", "flags", "checksum", "timestamp", "sql_mode",
        "client_collation", "xid", "types", "metadata", "log_pos", "server_id", "thread_id",
        "last_committed", "immediate_commit_timestamp", "original_server_version", "query",
    }  # fmt: skip
    assert len(seen) > 100


def test_a_field_shows_its_own_bytes(story: Logs) -> None:
    events = copy.deepcopy(story.events)
    event = next(e for e in events if e["type"] == "QUERY_EVENT")
    event["fields"]["status_vars"]["sql_mode"] += 1
    (found,) = differences(story.judge(events=events))
    assert found["column"] == "fields.status_vars.sql_mode"
    assert found["proof"].endswith(f"sql_mode: {story.bytes_of(event['pos'], None)['sql_mode']}")


def test_events_that_are_lost_doubled_or_invented(story: Logs) -> None:
    shorter, longer = copy.deepcopy(story.events), copy.deepcopy(story.events)
    del shorter[7]
    longer.insert(9, longer[9])
    for events in (shorter, longer):
        (found,) = differences(story.judge(events=events))
        assert found["reason"] in ("ours lacks this event", "the log has no such event here")
    events = [{**e, "pos": e["pos"] + 1} if i == 5 else e for i, e in enumerate(story.events)]
    (found,) = differences(story.judge(events=events))
    assert found["column"] == "pos"


# ---- rows -------------------------------------------------------------------------------------


def _first(logs: Logs, fits: Callable[[Any], bool]) -> tuple[list[Record], Record, str]:
    """A copy of the rows, one of them with a value that fits in its after image, the column."""
    rows = copy.deepcopy(logs.rows)
    for row in rows:
        for column, value in (row["after"] or {}).items():
            if fits(value):
                return rows, row, column
    raise AssertionError("no such value")


def _seed(logs: Logs, fits: Callable[[Any], bool], other: Callable[[Any], Any]) -> Record:
    """The one difference that another value makes."""
    rows, row, column = _first(logs, fits)
    row["after"][column] = other(row["after"][column])
    (found,) = differences(logs.judge_at(row["pos"], rows))
    assert (found["column"], found["pos"], found["row"]) == (column, row["pos"], row["row"])
    assert "the log stores 0x" in found["proof"]
    return found


@pytest.mark.parametrize(
    "key",
    ["timestamp", "commit_timestamp", "xid", "gtid", "thread_id", "server_id", "db", "table",
     "end_pos", "query", "xa"],
)  # fmt: skip
def test_every_key_of_a_row_is_compared(types: Logs, key: str) -> None:
    rows = copy.deepcopy(types.rows)
    rows[40][key] = _other(rows[40][key])
    (found,) = differences(types.judge_at(rows[40]["pos"], rows))
    assert (found["column"], found["row"]) == (key, rows[40]["row"])


def test_a_columns_name_is_compared(types: Logs) -> None:
    rows = copy.deepcopy(types.rows)
    image = rows[40]["after"]
    name = next(iter(image))
    rows[40]["after"] = {"other": image.pop(name), **image}
    (found,) = differences(types.judge(rows=rows))
    assert (found["column"], found["theirs"]) == ("other", name)
    rows = copy.deepcopy(types.rows)
    for row in rows:
        row["after"] = row["after"] and {f"{name}_": value for name, value in row["after"].items()}
    every = differences(types.judge(rows=rows))
    assert {d["reason"] for d in every} == {"the log calls this column otherwise"}
    assert len(every) == len({(row["table"], c) for row in rows for c in row["after"] or ()})


def test_another_op_or_image_is_found(types: Logs) -> None:
    rows = copy.deepcopy(types.rows)
    rows[40].update(op="delete", before=rows[40]["after"], after=None)
    assert {d["column"] for d in differences(types.judge(rows=rows))} == {"op", "before", "after"}


def test_a_vector_of_one_other_bit(modern: Logs) -> None:
    """Of which mysqlbinlog prints six digits."""
    vector = next(
        (c.name, s.table) for s in modern.schemas for c in s.columns if c.type.name == "VECTOR"
    )
    rows = copy.deepcopy(modern.rows)
    row = next(r for r in rows if r["table"] == vector[1] and (r["after"] or {}).get(vector[0]))
    value = row["after"][vector[0]]
    row["after"][vector[0]] = "0x" + f"{int(value[2:4], 16) ^ 1:02X}" + value[4:]
    (found,) = differences(modern.judge(rows=rows))
    assert (found["column"], found["kind"]) == (vector[0], "unexplained")
    assert value in found["proof"]
    row["after"][vector[0]] = []  # nothing of it
    assert differences(modern.judge(rows=rows))[0]["kind"] == "unexplained"


def _negative_zero(value: Any) -> bool:
    return isinstance(value, float) and value == 0 and math.copysign(1, value) < 0


#: The rule, its kind, which value of the log, what a decoder makes of it.
NAMED: list[tuple[str, str, Callable[[Any], bool], Callable[[Any], Any]]] = [
    ("negative-zero", "ours", _negative_zero, lambda _: 0.0),
    ("negative-zero", "ours", _negative_zero, lambda _: 0),
    ("number-as-text", "representation", _negative_zero, lambda _: "-0"),
    ("number-as-text", "representation", lambda v: v == 1e23, lambda _: "1E23"),
    ("double-written-out", "representation", lambda v: v == 1e23, lambda _: 10**23),
    ("time-otherwise", "representation", lambda v: v == "838:59:59",
     lambda _: "34 days, 22:59:59"),
    ("time-otherwise", "representation", lambda v: v == "838:59:59", lambda _: 3_020_399_000_000),
    ("time-otherwise", "representation", lambda v: v == "-838:59:59", lambda _: -3_020_399),
    ("time-otherwise", "representation", lambda v: v == "838:59:59", lambda _: "PT838H59M59S"),
    ("unsigned-shown-negative", "ours", lambda v: v == (1 << 64) - 1, lambda _: -1),
    ("moment-otherwise", "representation",
     lambda v: isinstance(v, str) and v.startswith("2001-09-09 01:46:40.1"),
     lambda v: v.replace(" ", "T") + "Z"),
    ("zero-date-as-null", "ours", lambda v: v == "0000-00-00 00:00:00", lambda _: None),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "kind", "fits", "other"), NAMED, ids=[
    f"{n}-{entry[0]}" for n, entry in enumerate(NAMED)
])  # fmt: skip
def test_what_decoders_write_otherwise_has_a_name(
    types: Logs, rule: str, kind: str, fits: Any, other: Any
) -> None:
    try:
        found = _seed(types, fits, other)
    except AssertionError as error:
        if "no such value" not in str(error):
            raise
        pytest.fail(f"the log has no value for {rule}")
    assert (found["rule"], found["kind"]) == (rule, kind)


@pytest.mark.parametrize(
    ("family", "ours", "expected", "raw", "rule"),
    [
        ("DOUBLE", 10**100, 1e100, None, "double-written-out"),
        ("DOUBLE", "1e+100", 1e100, None, "number-as-text"),
        ("DOUBLE", "1e+101", 1e100, None, None),
        ("FLOAT", 0.10000000149011612, 0.1, "CDCCCC3D", "float-widened"),
        ("FLOAT", 1.17549435e-38, 1.1754944e-38, "00008000", "float-widened"),
        ("FLOAT", "1.17549435E-38", 1.1754944e-38, "00008000", "number-as-text"),
        ("FLOAT", 1.1754945e-38, 1.1754944e-38, "00008000", None),
        ("FLOAT", 1e300, 1.1754944e-38, "00008000", None),
        ("INT", True, 1, "01", "number-as-boolean"),
        ("INT", False, 0, "00", "number-as-boolean"),
        ("INT", True, 2, "02", "boolean-of-number"),
        ("INT", True, 0, "00", None),
        ("INT", True, None, None, None),
        ("ENUM", "2", "b", "02", "set-or-enum-as-number"),
        ("SET", "3", "a,b", "03", "set-or-enum-as-number"),
        ("ENUM", "3", "b", "02", None),
        ("ENUM", "a\\,b", "a,b", "01", "label-escaped"),
        ("ENUM", "a\\b", "ab", "01", None),
        ("BIT", -1, (1 << 64) - 1, "FF" * 8, "unsigned-shown-negative"),
        ("SET", -1, "a,b", "FF" * 8, "unsigned-shown-negative"),
        ("SET", ["a", "b"], "a,b", "03", "set-as-list"),
        ("INT", 5.0, 5, "05000000", "integer-as-double"),
        ("INT", 4, 5, "05000000", None),
        ("DECIMAL", "1.5", "1.50", None, "decimal-scale"),
        ("DECIMAL", 1.5, "1.50", None, "decimal-as-number"),
        ("DATE", 19723, "2024-01-01", None, "moment-otherwise"),
        ("DATE", 1704067200000, "2024-01-01", None, "moment-otherwise"),
        ("DATETIME", "2024-01-01T00:00:00", "2024-01-01 00:00:00.000", None, "moment-otherwise"),
        ("TIMESTAMP", "2024-01-01 02:00:00", "2024-01-01 00:00:00", None, "timestamp-zone"),
        ("TIME", "838:59:58", "838:59:59", None, None),
        ("VECTOR", [1.0, -2.5], "0x", "0000803F000020C0", "vector-as-list"),
        ("STRING", "aÃ©", "aé", "61C3A9", "charset-mistaken"),
        ("STRING", "aÃª", "aé", "61C3A9", None),
        ("STRING", "a\ufffd", "aé", "61C3A9", "charset-damage"),
        ("STRING", 7, "aé", "61C3A9", None),
        ("JSON", '{"a": "1.50"}', '{"a": 1.50}', None, "json-decimal-as-text"),
        ("JSON", '{"a": 1.5}', '{"a": 1.50}', None, "json-rewritten"),
        ("JSON", '{"a": 2}', '{"a": 1.50}', None, None),
        ("JSON", str(10**100), "1e100", None, "json-rewritten"),
        ("JSON", str(int(1e100)), "1e100", None, "json-rewritten"),
        ("JSON", "1.0E100", "1e100", None, "json-rewritten"),
        ("JSON", "0.30000000000000001", "0.3", None, "json-rewritten"),
        ("JSON", "0.1234567890123456789", "0.1234567890123456788", None, None),
        ("JSON", '["1"]', "[1]", None, "json-decimal-as-text"),
        ("JSON", '{"a"": 1}', '{"a\\"": 1}', None, "json-broken"),
        ("JSON", '["a"]', '["a\\u0000b"]', None, "json-text-cut"),
        ("JSON", '["ab"]', '["a\\u0000b"]', None, None),
        ("JSON", '"631:0-60:0-59"', '"-630:59:59.000000"', None, "json-opaque-otherwise"),
        ("JSON", '"631:0-60:0-59"', '"630:59:59.000000"', None, None),
        ("JSON", '"12:00:00"', '"12:00:00.000000"', None, "json-opaque-otherwise"),
        ("JSON", '"AP8Q"', '"base64:type15:AP8Q"', None, "json-opaque-otherwise"),
        ("JSON", {"a": "1.50"}, '{"a": 1.50}', None, "json-decimal-as-text"),
        ("JSON", {"json_diff": []}, '{"a": 1}', None, "json-diff-not-applied"),
        ("JSON", "scalar", '"scalar"', None, "json-as-value"),
        ("JSON", '["2024-01-01 00:00:00.000000"]', '["2024-01-01"]', None,
         "json-opaque-otherwise"),
        ("JSON", '["\ufffd", 1]', '["base64:type16:qw==", 1]', None, "json-opaque-otherwise"),
        ("JSON", '["\ufffd", 2]', '["base64:type16:qw==", 1]', None, None),
        ("TIME", "-1 day, 11:25:03.780000", "-12:34:56.78", None, "negative-time-fraction"),
        ("TIME", "-1 day, 11:25:03.220000", "-12:34:56.78", None, "time-otherwise"),
        ("TIMESTAMP", "1970-01-01 00:00:00", "0000-00-00 00:00:00", "00000000",
         "zero-date-as-1970"),
        ("DATE", 0, "0000-00-00", "000000", "zero-date-as-1970"),
        ("DATE", 1, "0000-00-00", "000000", None),
        ("DATE", 0, None, None, None),
        ("DATE", 0, {"undecodable": "0x00"}, "00", None),
        ("DATE", 11323, "0001-01-01", "210200", "year-below-100-moved"),
        ("DATE", "1999-01-01", "0099-01-01", "21C600", "year-below-100-moved"),
        ("DATETIME", 978307200000, "0001-01-01 00:00:00", None, "year-below-100-moved"),
        ("DATE", "2001-01-02", "0001-01-01", "210200", None),
        ("YEAR", 1900, 0, "00", "year-zero"),
        ("BIT", "0101", 5, "05", "bits-as-text"),
        ("INT", None, 5, "05000000", "value-as-null"),
        ("INT", None, None, None, None),
    ],
)  # fmt: skip
def test_rules_for_values(
    family: str, ours: Any, expected: Any, raw: str | None, rule: str | None
) -> None:
    column = ColumnFacts("c", family, charset="utf8mb4" if family == "STRING" else None)
    content = None if raw is None else bytes.fromhex(raw)
    found = explain_expected(ExpectedCell(ours, expected, content, column))
    assert (found and found.id) == rule


def _of_type(
    logs: Logs, wanted: Callable[[Any], bool], fits: Callable[[Any], bool]
) -> tuple[list[Record], Record, str]:
    """A row with a value of a column that its schema says is wanted."""
    columns = {(s.table, c.name) for s in logs.schemas for c in s.columns if wanted(c)}
    rows = copy.deepcopy(logs.rows)
    for row in rows:
        for column, value in (row["after"] or {}).items():
            if (row["table"], column) in columns and value is not None and fits(value):
                return rows, row, column
    raise AssertionError("no such column")


@pytest.mark.parametrize(
    ("rule", "wanted", "other"),
    [
        ("bytes-as-hex", lambda c: c.charset == "utf8mb4",
         lambda value: "0x" + value.encode().hex().upper()),
        ("bytes-as-base64", lambda c: c.charset == "binary",
         lambda value: base64.b64encode(bytes.fromhex(value[2:])).decode()),
        ("wrong-byte-order", lambda c: c.charset in ("utf16", "ucs2", "utf32"), None),
        ("set-or-enum-as-number", lambda c: c.type.name == "ENUM", None),
        ("decimal-as-number", lambda c: c.type.name == "NEWDECIMAL", None),
    ],
)  # fmt: skip
def test_rules_that_need_the_columns_type(types: Logs, rule: str, wanted: Any, other: Any) -> None:
    def fits(value: Any) -> bool:
        if rule == "decimal-as-number":
            return bool(repr(float(value)) == value)
        if rule == "set-or-enum-as-number":
            return bool(value)
        return isinstance(value, str) and 4 < len(value) < 60

    rows, row, column = _of_type(types, wanted, fits)
    expected = next(
        e for e in types.expected_rows if (e["pos"], e["row"]) == (row["pos"], row["row"])
    )
    raw = bytes.fromhex(expected["raw"]["after"][column][2:])
    value = row["after"][column]
    if rule == "wrong-byte-order":
        charset = next(
            c.charset for s in types.schemas if s.table == row["table"]
            for c in s.columns if c.name == column
        )  # fmt: skip
        codec = "utf-32-le" if charset == "utf32" else "utf-16-le"
        made: Any = raw.decode(codec, "surrogatepass")
    elif rule == "set-or-enum-as-number":
        made = int.from_bytes(raw, "little")
    elif rule == "decimal-as-number":
        made = float(value)
    else:
        made = other(value)
    row["after"][column] = made
    (found,) = differences(types.judge_at(row["pos"], rows))
    assert (found["rule"], found["column"]) == (rule, column)


def test_json_of_another_text_or_with_decimals_as_text() -> None:
    logs = Logs("8.0-row-full/json")
    rows = copy.deepcopy(logs.rows)
    seen = set()
    for row in rows:
        for column, value in (row["after"] or {}).items():
            if not isinstance(value, str) or value[:1] not in "[{":
                continue
            document = json.loads(value)
            compact = json.dumps(document, separators=(",", ":"), ensure_ascii=False)
            for other in (compact, document):
                if other == value:
                    continue
                seeded = copy.deepcopy(logs.rows)
                target = next(r for r in seeded if (r["pos"], r["row"]) == (row["pos"], row["row"]))
                target["after"][column] = other
                found = differences(logs.judge_at(row["pos"], seeded))
                seen |= {d["rule"] for d in found}
                assert all(d["kind"] != "unexplained" for d in found), found
        if {"json-rewritten", "json-as-value"} <= seen:
            break
    assert seen >= {"json-rewritten", "json-as-value"}


def test_rows_without_a_place_are_judged_in_their_order(types: Logs) -> None:
    def bare(row: Record) -> Record:
        return {key: row[key] for key in ("db", "table", "op", "before", "after")}

    rows = [bare(row) for row in types.rows]
    assert differences(types.judge(rows=rows)) == []
    del rows[100]
    (found,) = differences(types.judge(rows=rows))
    assert found["reason"] == "ours lacks this row"
    rows.insert(20, rows[20])
    assert len(differences(types.judge(rows=rows))) == 2


def test_the_decoder_is_called_by_its_name(types: Logs) -> None:
    (found,) = differences(types.judge(rows=types.rows[1:], decoder="debezium"))
    assert found["reason"] == "debezium lacks this row"


def test_a_baseline_does_not_know_paths(types: Logs) -> None:
    rows = types.rows[1:]
    lines = baseline_lines(types.judge(rows=rows, file="/one/machine/binlog.000001"))
    assert json.loads(lines[0])["file"] == "binlog.000001"
    known = read_baseline(lines)
    for file in ("/other/binlog.000001", "binlog.000001", "C:\\logs\\binlog.000001"):
        result = types.judge(rows=rows, file=file, baseline=known)
        assert (result.summary.verdict, result.summary.baselined) == (Verdict.AGREE, 1)
    other = types.judge(rows=rows, file="/one/machine/binlog.000002", baseline=known)
    assert other.summary.verdict is Verdict.DIFFER
