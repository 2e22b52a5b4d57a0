"""Landings whose tasks run in this process, and what is in their tables then."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from binlogkit.log import open_log
from binlogkit.log.index import Index
from binlogkit.spark.landing.land_logs import in_threads
from binlogkit.spark.landing.landing import Arrived, land_logs
from binlogkit.spark.landing.landing_path import LandingPath
from binlogkit.spark.landing.reading import read
from binlogkit.spark.landing.store import place_of
from binlogkit.spark.landing.tables import opened
from binlogkit.spark.landing.terms import Terms
from binlogkit_fixtures import golden
from tests.analyses.verify.conftest import joined, of_server, pieces_of

run_here = in_threads(2)


def land(source: Any, out: Path | LandingPath, terms: Terms | None = None, **sizes: Any) -> Arrived:
    """Land logs, each task and transaction of the index in this process."""
    names = ("on_damage", "name", "suppose", "schema")
    options = {name: sizes.pop(name) for name in names if name in sizes}
    log, terms = open_log(source, **options), terms or Terms()
    return land_logs(
        log, place_of(out), terms, run=sizes.pop("run", run_here),
        updated=lambda folder: Index(folder, queries=not terms.masks.masks).update(log.carriers),
        **sizes,
    )  # fmt: skip


def land_in_parts(
    case: golden.GoldenCase, out: Path, terms: Terms | None = None, parts: int = 2
) -> list[Path]:
    """Land a case's logs as the first of them grows, so that tables have several files; the logs.

    ``out``: the landing, beside the logs.
    """
    logs, marks = [out.parent / log.name for log in case.binlogs], case.manifest.marks
    first = case.binlogs[0].read_bytes()
    for i in range(1, parts):
        logs[0].write_bytes(first[: marks[len(marks) * i // parts].pos])
        land(logs[0], out, terms)
    for log, path in zip(case.binlogs, logs, strict=True):
        path.write_bytes(log.read_bytes())
    land(logs, out, terms)
    return logs


def failed_over(log: Path, folder: Path, *, before: int = 60, number: int = 2) -> tuple[Path, Path]:
    """Two logs: a source's, which ends after two thirds of a log's transactions, and its replica's,
    of the ``number``, which has all of them and was begun so many seconds ``before``."""
    source, replica = folder / "source.000007", folder / f"replica.{number:06}"
    source.write_bytes(third_of(log, 2))
    copied = pieces_of(of_server(log.read_bytes(), 99))
    for piece in copied[:2]:  # before its transactions
        piece.data[:4] = (int.from_bytes(piece.data[:4], "little") - before).to_bytes(4, "little")
    replica.write_bytes(joined(copied))
    return source, replica


def third_of(log: Path, thirds: int = 1) -> bytes:
    """The first third of a log's transactions, or two."""
    pieces = pieces_of(log.read_bytes())
    starts = [i for i, piece in enumerate(pieces) if piece.type == "GTID_LOG_EVENT"]
    return joined(pieces[: starts[thirds * len(starts) // 3]])


def landed(out: Path | LandingPath, table: str = "*/*") -> dict[str, list[dict[str, Any]]]:
    """The rows of landed tables by the table's folder, in the order of their changes."""
    found, tables = {}, place_of(out) / "tables"
    for name in tables.below("*/*"):
        if fnmatchcase(name, table) and opened(tables / name) is not None:
            rows = read(tables / name).to_pylist()
            found[name] = sorted(rows, key=lambda row: row["_sequence"])
    return found
