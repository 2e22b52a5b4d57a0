"""Every filter option keeps what the Python keyword of its name keeps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import binlogkit as bk
from binlogkit.cli.options import FILTERS

Run = Callable[..., Any]

# Options and keywords; each leaves some and not all of the log's row changes.
CASES: list[tuple[list[str], dict[str, Any]]] = [
    (["--table", "keyed.pk"], {"table": "keyed.pk"}),
    (["--table", "pk"], {"table": "pk"}),
    (["--table", "`keyed`.`pk`"], {"table": "`keyed`.`pk`"}),
    (["--table", "keyed.pk", "--table", "keyed.nokey"], {"table": ["keyed.pk", "keyed.nokey"]}),
    (["--exclude-table", "keyed.pk"], {"exclude_table": "keyed.pk"}),
    (["--op", "update"], {"op": "update"}),
    (["--op", "insert", "--op", "delete"], {"op": ["insert", "delete"]}),
    (["--where", "id=3"], {"where": "id=3"}),
    (["--where", "body=NULL"], {"where": "body=NULL"}),
    (["--where", "id=1", "--where", "name=one"], {"where": ["id=1", "name=one"]}),
    (["--gtid", "{uuid}:1-25"], {"gtid": "{uuid}:1-25"}),
    (["--at", "{middle}"], {"at": "{middle}"}),
    (["--at", "{name}:{middle}"], {"at": "{name}:{middle}"}),
    (["--start-position", "{middle}"], {"start_position": "{middle}"}),
    (["--stop-position", "{middle}"], {"stop_position": "{middle}"}),
    (["--start-time", "{moment}"], {"start_time": "{moment}"}),
    (["--stop-time", "{moment}"], {"stop_time": "{moment}"}),
    (
        ["--start-time", "{berlin}", "--timezone", "Europe/Berlin"],
        {"start_time": "{berlin}", "timezone": "Europe/Berlin"},
    ),
    (["--stop-time", "{offset}"], {"stop_time": "{offset}"}),
]


@pytest.fixture(scope="module")
def everything(log: Path) -> list[dict[str, Any]]:
    """All row changes of the log."""
    return list(bk.open(str(log)).row_records())


@pytest.fixture(scope="module")
def names(everything: list[dict[str, Any]]) -> dict[str, Any]:
    """What stands for the words in braces: a point in the middle of the log."""
    from datetime import UTC, datetime, timedelta, timezone
    from zoneinfo import ZoneInfo

    middle = everything[len(everything) // 2]
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=middle["commit_timestamp"])
    east = timezone(timedelta(hours=5, minutes=30))
    return {
        "uuid": middle["gtid"].split(":")[0],
        "middle": middle["pos"],
        "name": middle["file"].rsplit("/", 1)[-1],
        "moment": moment.replace(tzinfo=None).isoformat(),
        "berlin": moment.astimezone(ZoneInfo("Europe/Berlin")).replace(tzinfo=None).isoformat(" "),
        "offset": moment.astimezone(east).isoformat(),
    }


def filled(value: Any, names: dict[str, Any]) -> Any:
    if isinstance(value, list):
        return [filled(item, names) for item in value]
    text = value.format(**names)
    return int(text) if text.isdecimal() else text


@pytest.mark.sampled(8)
@pytest.mark.parametrize(("options", "keywords"), CASES, ids=lambda v: " ".join(map(str, v)))
def test_rows(
    run: Run,
    log: Path,
    everything: list[dict[str, Any]],
    names: dict[str, Any],
    options: list[str],
    keywords: dict[str, Any],
) -> None:
    arguments = [option.format(**names) for option in options]
    done = run("rows", log, "--format", "jsonl", *arguments)
    keywords = {name: filled(value, names) for name, value in keywords.items()}
    expected = list(bk.open(str(log)).row_records(**keywords))
    assert done.status == 0
    assert done.records == expected
    kept = [r for r in everything if r in expected]
    assert kept == expected
    assert 0 < len(expected) < len(everything)


def test_threads_and_servers(run: Run, log: Path, everything: list[dict[str, Any]]) -> None:
    thread, server = everything[0]["thread_id"], everything[0]["server_id"]
    for option, value, key in (
        ("--thread", thread, "thread_id"),
        ("--server-id", server, "server_id"),
    ):
        expected = [r for r in everything if r[key] == value]
        assert run("rows", log, "--format", "jsonl", option, value).records == expected
        assert run("rows", log, "--format", "jsonl", option, value + 1).records == [
            r for r in everything if r[key] == value + 1
        ]


def test_stop_and_start_part_the_log(run: Run, log: Path, names: dict[str, Any]) -> None:
    """Stop is exclusive, start inclusive: nothing twice, nothing lost."""
    for kind, point in (("position", names["middle"]), ("time", names["moment"])):
        for command in ("rows", "transactions"):
            parts = [
                run(command, log, "--format", "jsonl", f"--{end}-{kind}", point).records
                for end in ("stop", "start")
            ]
            assert all(parts)
            assert parts[0] + parts[1] == run(command, log, "--format", "jsonl").records


def test_positions_count_in_the_first_and_the_last_file(run: Run, golden_log: Any) -> None:
    folder = golden_log("8.0-row-full/transactions").parent
    files = sorted(path for path in folder.iterdir() if path.suffix[1:].isdecimal())
    assert len(files) > 1
    events = run("events", *files, "--format", "jsonl").records
    first = [e for e in events if e["file"] == str(files[0])]
    last = [e for e in events if e["file"] == str(files[-1])]
    start, stop = first[5]["pos"], last[4]["pos"]
    between = run(
        "events", *files, "--format", "jsonl", "--start-position", start, "--stop-position", stop
    ).records
    assert between == first[5:] + events[len(first) : -len(last)] + last[:4]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("command", ["events", "rows", "transactions", "audit", "undo", "redo"])
def test_positions_behind_the_end_are_noted(run: Run, log: Path, command: str) -> None:
    """No finding: the status is that of the log's end."""
    size = log.stat().st_size
    whole = run(command, log)
    at_end, behind = (run(command, log, "--stop-position", size + n) for n in (0, 1))
    assert at_end.err == whole.err
    note = (
        f"note: {log} ends at {size}, before the stop position {size + 1}: it is read to its end\n"
    )
    assert note in behind.err
    assert behind.err.replace(note, "") == whole.err
    assert behind.status == at_end.status == whole.status
    none = run(command, log, "--start-position", size + 1)
    assert f"note: {log} ends at {size}, before the start position {size + 1}" in none.err


@pytest.mark.sampled(3)
@pytest.mark.parametrize("command", ["events", "rows", "transactions", "audit", "undo", "redo"])
def test_a_time_outside_the_log_is_noted(run: Run, log: Path, command: str) -> None:
    told = run(command, log, "--start-time", "2200-01-01", "--columns", "pos").err if command in (
        "events", "rows", "transactions"
    ) else run(command, log, "--start-time", "2200-01-01").err  # fmt: skip
    assert "before the start time 2200-01-01 00:00:00 UTC" in told
    assert "the start time" not in run(command, log, "--start-time", "1999-01-01").err


def test_expressions(run: Run, log: Path, everything: list[dict[str, Any]]) -> None:
    condition = "op = 'update' AND before.id <> after.id"
    moved = [
        r for r in everything
        if r["op"] == "update" and r["before"].get("id") != r["after"].get("id")
    ]  # fmt: skip
    done = run("rows", log, "--where", condition, "--format", "jsonl")
    assert done.status == 0 and done.records == moved != []
    both = run("rows", log, "--where", condition, "--where", "table=x", "--format", "jsonl")
    assert both.status == 2 and "there is no column table" in both.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--where", "boddy=1"], "there is no column boddy; did you mean body"),
        (["--where", "id=x", "--table", "keyed.pk"], "compared with a number"),
        (["--where", "id > 1"], "A column is written after.id or before.id"),
        (["--where", "after.id >"], "not a condition: 'after.id >'"),
    ],
    ids=str,
)
def test_a_condition_that_no_row_can_meet(
    run: Run, log: Path, arguments: list[str], told: str
) -> None:
    done = run("rows", log, *arguments)
    assert done.status == 2 and told in done.err and not done.out.strip()


def test_events_have_no_values(run: Run, log: Path) -> None:
    done = run("events", log, "--where", "id=1")
    assert done.status == 2
    assert "where chooses row changes by their values, and events have none" in done.err


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--thread", "9999999"], "no transaction of thread 9999999 was read; there are those of "),
        (["--gtid", "{uuid}:1-9999999"], "-9999999 was read; there are {uuid}:"),
        (["--at", "5"], "no transaction begins at or contains position 5 of "),
        (["--at", "{middle}0000"], "no transaction begins at or contains position {middle}0000"),
    ],
    ids=str,
)
def test_a_transaction_that_is_not_there(
    run: Run, log: Path, names: dict[str, Any], options: list[str], told: str
) -> None:
    arguments = [option.format(**names) for option in options]
    for command in ("rows", "transactions", "undo"):
        assert told.format(**names) in run(command, log, *arguments).err


def test_a_position_chooses_its_transaction(run: Run, log: Path) -> None:
    """Every position that transactions and rows show, and none of another transaction."""
    known = {r["gtid"]: r for r in bk.open(str(log)).transaction_records()}
    for row in list(bk.open(str(log)).row_records())[::7]:
        found = known[row["gtid"]]
        for pos in (found["pos"], row["pos"], found["end_pos"] - 1):
            done = run("transactions", log, "--at", str(pos), "--format", "jsonl")
            assert done.records == [found] and not done.err


@pytest.mark.sampled(3)
@pytest.mark.parametrize("command", ["events", "rows", "transactions", "audit", "undo", "redo"])
def test_a_table_without_rows_is_noted(run: Run, log: Path, command: str) -> None:
    """Whatever its name holds; the status is that of a log without changes of it."""
    assert "no rows of" not in run(command, log, "--table", "keyed.pk").err
    told = run(command, log, "--table", "Keyed.PK").err
    assert "note: no rows of Keyed.PK were read; there are rows of keyed.pk\n" in told
    odd = run(command, log, "--table", "`\x1b[31m`")
    assert "note: no rows of \\x1b[31m were read\n" in odd.err
    assert odd.status == (command in ("undo", "redo"))  # a script that does nothing


@pytest.mark.slow
def test_events_and_transactions(run: Run, log: Path, names: dict[str, Any]) -> None:
    reader = bk.open(str(log))
    for options, keywords in (
        (["--table", "keyed.pk"], {"table": "keyed.pk"}),
        (["--op", "delete"], {"op": "delete"}),
        (["--gtid", f"{names['uuid']}:1-25"], {"gtid": f"{names['uuid']}:1-25"}),
        (["--start-time", names["moment"]], {"start_time": names["moment"]}),
    ):
        events = run("events", log, "--format", "jsonl", *options).records
        assert events == list(reader.event_records(**keywords))
        assert 0 < len(events) < len(list(reader.event_records()))
        transactions = run("transactions", log, "--format", "jsonl", *options).records
        assert transactions == list(reader.transaction_records(**keywords))
        assert 0 < len(transactions) < len(list(reader.transaction_records()))


def test_no_filter_is_left_out() -> None:
    """What is listed here is what the commands have."""
    tried = {word for options, _ in CASES for word in options if word.startswith("--")}
    tried |= {"--thread", "--server-id", "--source"}
    assert tried == {"--" + name.replace("_", "-") for name in FILTERS}


@pytest.mark.parametrize(
    "arguments",
    [
        ["--table", "a.b.c"],
        ["--table", "`a"],
        ["--where", "id"],
        ["--where", "=1"],
        ["--gtid", "nonsense"],
        ["--start-time", "yesterday"],
        ["--start-time", "2024-01-01", "--timezone", "Mars/Olympus"],
        ["--op", "truncate"],
        ["--thread", "first"],
        ["--start-position", "x"],
    ],
    ids=" ".join,
)
def test_what_means_nothing_is_refused(run: Run, log: Path, arguments: list[str]) -> None:
    done = run("rows", log, *arguments)
    assert done.status == 2
    assert done.out == b""
    assert "Traceback" not in done.err and done.err


def test_odd_names(run: Run, log: Path, tmp_path: Path, golden_log: Any, resealed: Any) -> None:
    """Names with dots and backquotes, as a user writes them: in backquotes."""
    original = golden_log("8.0-row-full-metadata/keys").read_bytes()
    changed = tmp_path / "log"
    changed.write_bytes(resealed(original, original.replace(b"keyed", b"a.`.b")))
    records = run("rows", changed, "--format", "jsonl").records
    assert {r["db"] for r in records} == {"a.`.b"}
    done = run("rows", changed, "--table", "`a.``.b`.pk", "--format", "jsonl")
    assert done.status == 0
    assert done.records == [r for r in records if r["table"] == "pk"] != []
    assert bk.open(str(changed)).table_names()[0].startswith("`a.``.b`.")
    state = run("state", changed, "--table", "`a.``.b`.`pk`", "--format", "jsonl")
    assert state.records
