"""Our reader over every damaged log: what must be read is, what must be refused is, where it says.

What must still be delivered was found by cutting the golden log up, not by a reader.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import binlogkit as bk
from binlogkit import errors
from binlogkit.cli import run
from binlogkit.errors import BinlogKitError, DamageError, InputError
from binlogkit_fixtures.damaged.made import RECIPES, RECORDS, DamagedLog, make, schema
from binlogkit_fixtures.damaged.recipe import Error, Level, Verdict
from binlogkit_fixtures.records import to_json

NAMES = list(RECIPES)

#: Which of our errors says what.
OURS: dict[str, tuple[type[BinlogKitError], ...]] = {
    Error.EMPTY: (errors.EmptyInputError,),
    Error.NOT_A_BINLOG: (errors.NotABinlogError,),
    Error.TRUNCATED: (errors.TruncatedEventError,),
    Error.ZEROS: (errors.ZeroTailError,),
    Error.CHECKSUM: (errors.ChecksumError,),
    # Without an end of its own a size past the file's end is one with a cut event.
    Error.LENGTH: (errors.MalformedEventError, errors.TruncatedEventError),
    Error.MALFORMED: (errors.MalformedEventError,),
    Error.NO_TABLE_MAP: (errors.MalformedEventError,),
}

#: Read with ``report`` our reader looks for the first event that is intact.
OURS_ALSO: dict[str, tuple[type[BinlogKitError], ...]] = {
    "begun-inside-event": (errors.MalformedEventError,),
}

Event = tuple[int, int, int]


def _read(data: bytes, on_damage: Any, what: str = "event_records") -> tuple[list[Any], list[Any]]:
    """The records up to where reading ends, and what was wrong."""
    found: list[Any] = []
    try:
        log = bk.open(data, on_damage=on_damage)
        found.extend(getattr(log, what)())
    except (DamageError, InputError) as error:
        return found, [error]
    return found, list(log.damages)


def _places(records: list[Any]) -> list[Event]:
    return [(r["pos"], r["end_pos"], r["code"]) for r in records if r["inner"] is None]


def _wanted(ranges: Any) -> list[Event]:
    return [(r.pos, r.end_pos, r.code) for r in ranges]


def test_there_are_enough_of_each_kind() -> None:
    verdicts = Counter(str(recipe.verdict) for recipe in RECIPES.values())
    assert len(RECIPES) > 90
    assert verdicts[Verdict.MUST_REFUSE] > 60
    assert verdicts[Verdict.MAY_REFUSE] > 8
    assert verdicts[Verdict.MUST_READ] > 6
    kinds = {recipe.error for recipe in RECIPES.values()}
    assert kinds >= {*OURS}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", NAMES)
def test_what_must_still_be_delivered_is(name: str) -> None:
    """All before and, since our reader resumes, all after."""
    record, data = make(name)
    records, problems = _read(data, "report")
    there = set(_places(records))
    assert [e for e in _wanted((*record.before, *record.after)) if e not in there] == []
    if record.verdict == Verdict.MUST_READ:
        assert problems == []
        assert _places(records) == _wanted(record.before)
        assert _read(data, "stop", "row_records")[1] == []


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", [n for n in NAMES if RECIPES[n].verdict == Verdict.MUST_REFUSE])
def test_what_must_be_refused_is(name: str) -> None:
    """By the error that is expected, at the bytes that are wrong, whoever can notice."""
    record, data = make(name)
    assert record.error is not None
    what = "row_records" if record.level == Level.ROWS else "event_records"
    for on_damage in ("stop", "report"):
        records, problems = _read(data, on_damage, what)
        assert isinstance(problems[0], OURS[record.error] + OURS_ALSO.get(name, ()))
        if record.offset is not None:
            assert record.offset in [getattr(p, "offset", 0) for p in problems]
        if on_damage == "stop" and record.level == Level.EVENTS:
            assert _places(records) == _wanted(record.before)


def test_a_log_is_the_same_each_time() -> None:
    record, data = make("forged-payload-size")
    assert (record, data) == make("forged-payload-size")
    assert len(data) == record.size


def test_records_fit_their_schema() -> None:
    validator = jsonschema.Draft202012Validator(schema())
    records: list[DamagedLog] = [make(name)[0] for name in NAMES[::7]]
    for record in records:
        validator.validate(to_json(record))


def test_the_command_writes_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["fixtures", "damaged", "--out", str(tmp_path / "d"), "--format", "jsonl"]
    assert run([*words, "cut-rows", "flip-xid"]) == 0
    said = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(r["name"], r["verdict"], r["error"]) for r in said] == [
        ("cut-rows", "must_refuse", "truncated"), ("flip-xid", "must_refuse", "checksum"),
    ]  # fmt: skip
    kept = [json.loads(line) for line in (tmp_path / "d" / RECORDS).read_text().splitlines()]
    assert kept == [json.loads(json.dumps(to_json(make(r["name"])[0]))) for r in said]
    assert all(Path(r["path"]).read_bytes() == make(r["name"])[1] for r in said)
    assert run([*words, "cut-rows"]) == 2
    assert run([*words[:2], "none", *words[2:]]) == 2
    assert "there is no damaged log 'none'" in capsys.readouterr().err
