"""``binlogkit sample``: the log of the examples, written where one works."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import binlogkit as bk
from binlogkit.errors import UsageError
from binlogkit.sources import sample as samples
from tests.cli.conftest import Ran

Run = Callable[..., Ran]


def test_it_is_written_and_left_alone_where_it_is(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "logs" / "binlog.000001"
    for _ in range(2):
        done = run("sample", "--out", path.parent)
        assert (done.status, done.out) == (0, b"") and f"binlogkit audit {path}" in done.err
        assert path.read_bytes() == Path(bk.sample()).read_bytes()
    path.write_bytes(b"mine")
    done = run("sample", "--out", path.parent)
    assert done.status == 2 and "is another file" in done.complaint
    assert path.read_bytes() == b"mine"
    assert run("sample", "--out", path).status == 2  # a file, no folder


def test_it_has_the_suspect_of_the_documents() -> None:
    (suspect,) = bk.suspects(bk.sample()).to_dict("records")
    assert (suspect["pos"], suspect["rows"]) == (75676, 75)


def test_a_light_installation_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples, "entry_points", lambda group: ())
    with pytest.raises(UsageError, match="the sample log is not installed"):
        bk.sample()
