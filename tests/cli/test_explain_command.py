"""``binlogkit explain``: exit status, forms, and what goes where."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import binlogkit as bk
from binlogkit_fixtures import golden

LOG = golden.case("8.0-row-full", "keys").binlogs[0]
TABLE_MAP = "Puk/YxMNAAAANgAAAA+DAQAAAMcBAAAAAAEABHRlc3QABHRlc3QABAP+DwoE/hQUAA7FA/Pg"
Run = Callable[..., Any]


def test_an_event(run: Run) -> None:
    done = run("explain", LOG, "--at", 4)
    assert (done.status, done.err) == (0, "")
    assert done.out.decode() == bk.explain(LOG, at=4).text()


@pytest.mark.parametrize("places", [("4", "126"), ("4", "126", "157")], ids=len)
def test_several_events(run: Run, places: tuple[str, ...]) -> None:
    """Two places are no position in a payload, in a tuple neither."""
    done = run("explain", LOG, *(word for place in places for word in ("--at", place)))
    assert (done.status, done.err) == (0, "")
    assert done.out.decode() == bk.explain(LOG, at=[int(place) for place in places]).text()
    assert bk.explain(LOG, at=places).text() == done.out.decode()


def test_records(run: Run) -> None:
    done = run("explain", LOG, "--at", 4, "--format", "jsonl")
    wanted = [json.loads(json.dumps(r)) for r in bk.explain(LOG, at=4).records()]
    assert (done.status, done.records) == (0, wanted)
    chosen = run("explain", LOG, "--at", 4, "--columns", "offset,field", "--format", "csv")
    assert chosen.lines[0].strip() == "offset,field" and len(chosen.lines) == len(wanted) + 1


def test_text(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    given = run("explain", "--text", TABLE_MAP)
    assert given.status == 0 and "99033" in given.lines[1]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(TABLE_MAP.encode())))
    assert run("explain", "--text", "-").out == given.out


def test_html(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "out.html"
    done = run("explain", LOG, "--at", 4, "--html", path)
    assert (done.status, done.out) == (0, b"")
    assert path.read_text("utf-8").startswith("<!DOCTYPE html>")
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((LOG, "--at", 5), "no event starts at 5; it lies in FORMAT_DESCRIPTION_EVENT, 4 to 126"),
        ((LOG, "--at", "five"), "not a position"),
        ((), "no file is named"),
        (("missing", "--at", 4), "no such file"),
        ((LOG, "--text", TABLE_MAP), "not both"),
        (("--text", ""), "empty"),
        (("--text", "no event at all"), "not a binary log"),
    ],
)
def test_usage(run: Run, arguments: tuple[object, ...], told: str) -> None:
    done = run("explain", *arguments)
    assert (done.status, done.out) == (2, b"")
    assert told in done.complaint


def test_damage(run: Run, tmp_path: Path) -> None:
    """The damaged event is shown, and the status is 1; what stands behind it only on request."""
    events = list(bk.open(LOG).event_records())
    hit, behind = events[3]["pos"], events[6]["pos"]
    data = bytearray(LOG.read_bytes())
    data[hit + 25] ^= 1
    path = tmp_path / "damaged"
    path.write_bytes(data)
    done = run("explain", path, "--at", hit)
    assert done.status == 1 and "the checksum is wrong" in done.err
    assert "wrong: the CRC32" in done.out.decode()
    assert run("explain", path, "--at", behind).status == 1
    beyond = run("explain", path, "--at", behind, "--on-damage", "report")
    assert beyond.status == 1 and f"at {behind}" in beyond.out.decode()
    assert str(hit) in beyond.err


def test_a_text_that_ends_inside_an_event(run: Run) -> None:
    """What is wrong is said once, and no table is drawn of bytes that are not there."""
    done = run("explain", "--text", "32103568130100000044000000b00200000000")
    assert done.status == 1
    reason = "the bytes end 19 bytes into a TABLE_MAP_EVENT of 68"
    assert done.out.decode().count(reason) == 1 and reason in done.complaint
    assert "offset" not in done.out.decode()
