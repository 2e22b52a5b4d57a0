"""Where a landing stands: for a scheduler, and for people.

Only the journal, the tables' Delta logs and, of each source's last log, the ledger are read.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.constants import TableId
from binlogkit.errors import InputError
from binlogkit.events.gtid_set import GtidSet
from binlogkit.frames.fields.field import to_table
from binlogkit.frames.fields.ledger import STATUS
from binlogkit.log.index import Index
from binlogkit.rows.filters import written_table_name
from binlogkit.rows.gtid_ledger import GtidLedger
from binlogkit.spark.landing.expired import Expired, before_of, read_expired
from binlogkit.spark.landing.journal import read_journal, read_landed, read_waiting
from binlogkit.spark.landing.landing import LEDGER
from binlogkit.spark.landing.landing_path import LandingPath
from binlogkit.spark.landing.merging import known_of
from binlogkit.spark.landing.reading import folders
from binlogkit.spark.landing.shape import current_folder, folder_of, landed_name, name_of
from binlogkit.spark.landing.spans import Span, is_of
from binlogkit.spark.landing.store import place_of
from binlogkit.spark.landing.tables import batch_of, opened
from binlogkit.spark.landing.waiting import Waiting
from binlogkit.spark.splits.commits import file_number

_SECOND = 1_000_000
_Record: TypeAlias = dict[str, Any]


def status(
    out: str | Path | LandingPath,
    *,
    ledger: str | Path | None = None,
    target_options: Mapping[str, str] | None = None,
) -> dict[str, pa.Table]:
    """Where a landing stands, a table for each section (docs/upkeep.md).

    ``ledger``: the local folder of a landing in a store, by which times and lag are known.
    UsageError: deltalake is not installed, the ledger is another's; InputError: nothing has landed
    there.
    """
    place = place_of(out, ledger, target_options)
    if place.has_local:
        place.check_local()
    batch, ended, spans = read_journal(place)
    if not batch:
        raise InputError(str(place), "nothing has landed there")
    landed, waiting = read_landed(place), read_waiting(place, spans)
    names = {landed_name(one) for one in landed["table"].unique().to_pylist()}
    names |= {name_of(folder) for folder in place.below("current/*/*")}
    done, gone = pc.max(landed["done_at"]).as_py(), read_expired(place)
    sections: dict[str, Iterable[_Record]] = {
        "landing": [{"batch": batch, "ended": ended, "done_at": done}],
        "sources": _sources(place, spans, now()),
        "tables": (record for name in sorted(names) for record in _tables(place, name, gone)),
        "waiting": map(_waits, waiting),
    }
    return {name: to_table(found, STATUS[name]) for name, found in sections.items()}


def now() -> int:
    """Microseconds since 1970."""
    return time.time_ns() // 1000


def _sources(place: LandingPath, spans: Iterable[Span], until: int) -> Iterator[_Record]:
    """The last place of each source; ``until``: from when the lag is counted back."""
    by_source: dict[str | None, list[Span]] = {}
    for span in spans:
        if span.again is None:
            by_source.setdefault(span.source, []).append(span)
    ends = {name: max(own, key=_order) for name, own in by_source.items()}
    times = _times(place, ends.values()) if place.has_local else {}
    for source, last in sorted(ends.items(), key=lambda one: one[0] or ""):
        gtids = GtidLedger()
        for span in by_source[source]:
            gtids.add_set(GtidSet.parse(span.gtids))
        committed = times.get(last)
        yield {
            "source": source, "logs": len({span.log for span in by_source[source]}),
            "file": last.file, "pos": last.stop, "gtids": str(gtids.to_set()) or None,
            "commit_timestamp": committed,
            "lag": None if committed is None else (until - committed) / _SECOND,
        }  # fmt: skip


def _order(span: Span) -> tuple[int, int, int]:
    return span.begun, file_number(span.file), span.end


def _times(place: LandingPath, last: Iterable[Span]) -> dict[Span, int]:
    """When the last transactions of spans were committed, in microseconds."""
    wanted, found = {(span.server_id, span.begun): span for span in last}, dict[Span, int]()
    index = Index(place.local / LEDGER)
    logs = index.table("logs", columns=["part", "server_id", "begun"])
    keys = zip(*(column.to_pylist() for column in logs.columns), strict=True)
    own = {part for part, *begun in keys if (*begun,) in wanted}
    others = {*logs["part"].to_pylist()} - own
    for part in index.besides([], ["transactions"], later=True, apart=others):
        head = part.head
        span = None if head is None else wanted.get((head.server_id, head.begun))
        if span is None or not is_of(part, span):
            continue
        [one] = part.ledger["transactions"].slice(span.end - 1, 1).to_pylist()
        commit = one["commit_timestamp"]
        found[span] = one["end_timestamp"] * _SECOND if commit is None else commit
    return found


def _tables(out: LandingPath, name: TableId, gone: Sequence[Expired]) -> Iterator[_Record]:
    """The Delta tables of a table: of its changes, and of its current rows; ``gone``: what has
    expired of any table."""
    current = current_folder(name)
    for generation, _ in enumerate(folders(out, name)):
        yield _table(out, name, folder_of(name, generation)) | {"expired": before_of(gone, name)}
    if opened(out / current) is not None:
        known = known_of(out / current)
        determined = None if known is None else known["determined"]
        yield _table(out, name, current) | {"determined": determined}


def _table(out: LandingPath, name: TableId, folder: str) -> _Record:
    delta = opened(out / folder)
    assert delta is not None
    files = pa.table(delta.get_add_actions(flatten=True))
    days = files["partition._day"] if "partition._day" in files.column_names else None
    bounds = {"min": None, "max": None} if days is None else pc.min_max(days).as_py()
    return {
        "table": written_table_name(*name), "folder": folder, "version": delta.version(),
        "batch": batch_of(delta, out / folder),
        "rows": pc.sum(files["num_records"]).as_py() or 0,
        "files": files.num_rows, "size": pc.sum(files["size_bytes"]).as_py() or 0,
        "first_day": bounds["min"] and str(bounds["min"]),
        "last_day": bounds["max"] and str(bounds["max"]),
        "expired": None, "determined": None,
    }  # fmt: skip


def _waits(one: Waiting) -> _Record:
    names = ("table", "file", "first_pos", "last_pos", "rows", "lost", "reason", "remedy")
    return {name: getattr(one, name) for name in names}
