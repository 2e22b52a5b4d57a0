"""Logs of a capture are those of the server that its manifest names."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import binlogkit as bk
from binlogkit.sources.carriers.named import MANIFEST, captured_from

LOG = Path(__file__).parents[1] / "_data" / "8.0-row-full" / "keys" / "binlog.000001"
UUID = "12345678-90AB-cdef-1234-567890abcdef"


def test_rows_tell_the_servers_uuid(tmp_path: Path) -> None:
    shutil.copy(LOG, tmp_path)
    (tmp_path / MANIFEST).write_text(json.dumps({"server": {"uuid": UUID}}), "utf-8")
    for given in (tmp_path, tmp_path / LOG.name):
        found = bk.open(given).transactions(engine="pyarrow")["source"].unique().to_pylist()
        assert found == [UUID.lower()]
    assert bk.open(LOG).transactions(engine="pyarrow")["source"].unique().to_pylist() != found


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{", '{"server": null}', '{"server": {"uuid": 5}}', "\udcff", "[" * 100_000,
     '{"server": {"uuid": "../etc; DROP"}}', '{"server": {"uuid": null}}'],
)  # fmt: skip
def test_a_manifest_that_tells_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / MANIFEST).write_bytes(text.encode("utf-8", "surrogateescape"))
    assert captured_from(tmp_path) is None


def test_no_manifest(tmp_path: Path) -> None:
    assert captured_from(tmp_path) is None
    assert captured_from(tmp_path / "no folder") is None


def test_a_manifest_is_read_again_when_it_changes(tmp_path: Path) -> None:
    (tmp_path / MANIFEST).write_text("{}", "utf-8")
    assert captured_from(tmp_path) is None
    (tmp_path / MANIFEST).write_text(json.dumps({"server": {"uuid": UUID}}), "utf-8")
    assert captured_from(tmp_path) == UUID.lower()
