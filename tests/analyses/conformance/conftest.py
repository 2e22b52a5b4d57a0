"""Logs, their texts by mysqlbinlog, and what our decoder makes of them."""

from __future__ import annotations

import json
import lzma
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import binlogkit as bk
from binlogkit.errors import OracleError
from binlogkit.log.stored_events import StoredEvents
from binlogkit.rows.schema import TableSchema

HERE = Path(__file__).parent
GOLDEN = HERE.parents[1] / "_data"

Record = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A log and the stored text of it; ``failure``: how mysqlbinlog ended, empty when well."""

    log: Path
    text: Path
    failure: str = ""

    def lines(self) -> Iterator[bytes]:
        """As :func:`binlogkit.sources.mysqlbinlog.read` gives them."""
        with lzma.open(self.text, "rb") as text:
            yield from text
        if self.failure:
            raise OracleError(self.failure)

    def events(self) -> list[Record]:
        """Our events; the caller may change them."""
        return deepcopy(_events(self.log))

    def rows(self) -> list[Record]:
        """Our rows; the caller may change them."""
        return deepcopy(_rows(self.log))

    def stored(self) -> StoredEvents:
        """The log's own events."""
        (carrier,) = bk.open(str(self.log)).carriers
        return StoredEvents(carrier)

    def schemas(self) -> tuple[TableSchema, ...]:
        """Our tables, every version, in order."""
        return _schemas(self.log)


@cache
def _events(log: Path) -> list[Record]:
    return list(bk.open(str(log)).event_records())


@cache
def _rows(log: Path) -> list[Record]:
    return list(bk.open(str(log)).row_records())


@cache
def _schemas(log: Path) -> tuple[TableSchema, ...]:
    return tuple(bk.open(str(log)).table_schemas())


def golden(cell: str, scenario: str, log: str = "binlog.000001") -> Case:
    """A case of the golden set; its manifest tells how mysqlbinlog ended."""
    folder = GOLDEN / cell / scenario
    # Read as plain JSON: what is judged here does not depend on the generator's own reader.
    with lzma.open(folder / "manifest.json.xz", "rb") as manifest:
        texts = json.load(manifest)["texts"]
    text = next(t for t in texts if t["binlog"] == log)
    failure = f"exit status {text['exit_status']}: {text['stderr']}" if text["exit_status"] else ""
    return Case(folder / log, folder / text["name"], failure)


def own(name: str) -> Case:
    """A log of this folder's ``_data``; its ``make_data.py`` made it."""
    path = HERE / "_data" / f"{name}.binlog"
    return Case(path, path.with_name(f"{path.name}.txt.xz"))


@pytest.fixture(scope="session")
def golden_case() -> Callable[..., Case]:
    """A case of the golden set by cell, scenario and log."""
    return golden


@pytest.fixture(scope="session")
def hostile() -> Case:
    """Values, names and statements that look like mysqlbinlog's lines (8.0.31)."""
    return own("8.0.31-hostile")


@pytest.fixture(scope="session")
def absent() -> Case:
    """Partial images, a statement over several events, GEOMETRY, payloads (8.0.31)."""
    return own("8.0.31-absent")


@pytest.fixture(scope="session")
def large() -> Case:
    """Statements of many rows events (8.0.31)."""
    return own("8.0.31-large")


@pytest.fixture(scope="session")
def sessions() -> Case:
    """Transactions of two sessions in turn, one's with tagged GTIDs (9.7.4)."""
    return own("9.7.4-sessions")


@pytest.fixture(scope="session")
def vector() -> Case:
    """VECTOR, tagged GTIDs, partitions (9.7.4)."""
    return own("9.7.4-vector")
