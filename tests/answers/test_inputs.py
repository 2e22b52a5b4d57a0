"""The logs that are asked: made the same everywhere, and what their names say."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import binlogkit as bk
from tests.answers.binlogkit_answers.carriers import CARRIERS
from tests.answers.binlogkit_answers.damage import KINDS, damaged
from tests.answers.binlogkit_answers.inputs import DATA, Input, campaign, committed
from tests.answers.binlogkit_answers.places import heads, places_of
from tests.answers.binlogkit_answers.series import in_files

KEYS = (DATA / "8.0-row-full" / "keys" / "binlog.000001").read_bytes()
HERE = Path(__file__).parent
_KEY = """
import sys
sys.path[:0] = {paths!r}
from tests.answers.binlogkit_answers.inputs import committed
import hashlib
found = hashlib.sha256()
for item in committed().values():
    found.update(repr((item.name, item.files())).encode())
print(found.hexdigest())
"""


def test_another_process_makes_the_same() -> None:
    code = _KEY.format(paths=[str(HERE.parents[1]), *sys.path])
    seen = {
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True, text=True, check=True,
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(seen) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_damage_depends_on_its_seed_alone(kind: str) -> None:
    files = in_files(KEYS, 3)
    made = [damaged(files, kind, f"seed {i}") for i in range(8)]
    assert made == [damaged(files, kind, f"seed {i}") for i in range(8)]
    orders = [list(m.items()) for m in made]
    assert sum(order != list(files.items()) for order in orders) >= 6
    assert len({str(order) for order in orders}) >= 5
    assert files == in_files(KEYS, 3)


def _names(items: Iterable[Input], start: str) -> set[str]:
    return {item.name for item in items if item.name.startswith(start)}


def test_all_logs_of_the_tests_are_there() -> None:
    found = committed().values()
    golden = _names(found, "golden/")
    cases = {name for name in golden if name.count("/") == 2}
    assert len(cases) == 108
    assert cases <= {f"golden/{p.relative_to(DATA).as_posix()}" for p in DATA.glob("*/*")}
    assert len(_names(found, "encrypted/")) == 3
    files = [p for name in cases for p in (DATA / name.removeprefix("golden/")).iterdir()]
    files = [p for p in files if p.suffix[1:].isdigit()]
    several = [p for p in files if len([q for q in files if q.parent == p.parent]) > 1]
    assert len(golden) == len(cases) + len(several)


def test_the_campaign_holds_what_is_committed() -> None:
    small, large = committed(), campaign(2)
    assert small.keys() <= large.keys()
    of_each = {name.rsplit("/", 1)[0] for name in large if name.startswith("damaged/")}
    assert len(_names(large.values(), "damaged/")) == 2 * len(of_each)


def test_a_series_is_whole(tmp_path: Path) -> None:
    for name, data in in_files(KEYS, 3).items():
        (tmp_path / name).write_bytes(data)
    found = bk.open(tmp_path).verify()
    assert found.well
    assert [joint.status for joint in found.joints] == ["continuous"] * 2
    one, several = bk.open(KEYS), bk.open(tmp_path)
    values = [
        [(r["op"], r["before"], r["after"]) for r in log.row_records()] for log in (one, several)
    ]
    assert values[0] == values[1]


@pytest.mark.parametrize("carrier", CARRIERS)
def test_a_carrier_holds_the_rows(carrier: str) -> None:
    def rows(data: bytes) -> list[tuple[Any, ...]]:
        return [(r["pos"], r["op"], r["before"], r["after"]) for r in bk.open(data).row_records()]

    packed = CARRIERS[carrier](KEYS)
    assert not packed.startswith(b"\xfebin")
    held = rows(packed)
    assert [(op, len(b or ()), len(a or ())) for _, op, b, a in held] == [
        (op, len(b or ()), len(a or ())) for _, op, b, a in rows(KEYS)
    ]


def test_places_are_events_of_the_log() -> None:
    places = places_of({"binlog.000001": KEYS})
    ends = {head.end for head in heads(KEYS)}
    assert {point["at"][1] for name, point in places.points.items() if "at" in point} <= ends
    assert set(places.points) == {"at", "at later", "gtid", "time"}
    assert set(places.filters) >= {"op", "gtid", "positions", "times", "table", "thread"}
    assert places_of({"binlog.000001": b""}).points == {}
