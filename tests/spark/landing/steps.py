"""Every step in which a landing writes or commits, and what happens before or after one of them.

As a program, it lands logs and dies at a step, with no time to clean up:
``python -m tests.spark.landing.steps LOGS OUT N before|after [LEDGER]``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import deltalake.transaction
import pyarrow.parquet as pq
from deltalake import DeltaTable
from deltalake.table import TableAlterer

from binlogkit.spark.landing.store import Store, _Upload, place_of
from tests.spark.landing.landings import land

#: What a step is: where something is written, named, deleted or committed.
STEPS: list[tuple[Any, str]] = [
    (DeltaTable, "create_write_transaction"),
    (TableAlterer, "add_columns"),
    (deltalake.transaction, "create_table_with_add_actions"),
    (pq.ParquetWriter, "__init__"),
    (pq.ParquetWriter, "write_table"),
    (pq.ParquetWriter, "close"),
    (pq, "write_table"),
    (Path, "replace"),
    (Path, "write_text"),
    (Path, "unlink"),
    (Store, "delete"),
    (_Upload, "close"),
]


#: Those at which no lock is held.
UNLOCKED = [step for step in STEPS if step[0] not in (Path, Store)]


@contextmanager
def at_step(
    number: int, when: str, happens: Callable[[], object], steps: list[tuple[Any, str]] = STEPS
) -> Iterator[list[str]]:
    """Something happens once, before or after the step of a number; the names of the steps."""
    met: list[str] = []
    originals = [(owner, name, getattr(owner, name)) for owner, name in steps]

    def wrapped(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def step(*args: Any, **kwargs: Any) -> Any:
            met.append(name)
            now = len(met) == number
            if now and when == "before":
                happens()
            found = original(*args, **kwargs)
            if now and when == "after":
                happens()
            return found

        return step

    for owner, name, original in originals:
        setattr(owner, name, wrapped(name, original))
    try:
        yield met
    finally:
        for owner, name, original in originals:
            setattr(owner, name, original)


def main() -> None:
    """Land, and die on the way."""
    logs, out, number, when, *ledger = sys.argv[1:]
    with at_step(int(number), when, lambda: os._exit(9)):
        land(logs, place_of(out, ledger[0] if ledger else None), batch_bytes=12_000)


if __name__ == "__main__":
    main()
