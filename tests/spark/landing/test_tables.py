"""Delta tables of a landing: what opening one of many commits reads."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa

from binlogkit.spark.landing.landing_path import Folder
from binlogkit.spark.landing.merging import known_of, write_anew
from binlogkit.spark.landing.tables import commit, last_batch, make


def checkpoint(table: Path) -> int:
    told = json.loads((table / "_delta_log" / "_last_checkpoint").read_text("ascii"))
    version: int = told["version"]
    return version


def test_opening_reads_few_commits(tmp_path: Path) -> None:
    """Those since a checkpoint, whatever was committed before."""
    place, rows = Folder(tmp_path), pa.table({"id": [1]})
    landed, kept = place / "landed", place / "kept"
    make(landed, rows.schema, [])
    for batch in range(1, 24):
        assert commit(landed, batch, [])
        assert write_anew(kept, rows, batch, {"batch": batch})
    assert last_batch(landed) == last_batch(kept) == 23
    assert (checkpoint(tmp_path / "landed"), checkpoint(tmp_path / "kept")) == (19, 19)
    assert known_of(kept) == {"batch": 23}
