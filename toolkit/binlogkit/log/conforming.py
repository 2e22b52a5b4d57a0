"""A log's comparison with mysqlbinlog, the judge of ``binlogkit conform``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from binlogkit.log.log import Log
from binlogkit.log.stored_events import UNREAD, StoredEvents
from binlogkit.sources.mysqlbinlog import Mysqlbinlog, read_blocks

if TYPE_CHECKING:
    from binlogkit.analyses.conformance import ConformanceResult
    from binlogkit.rows.options import ReadOptions
    from binlogkit.sources.carriers import Carrier

#: Events, rows and schemas.
Records = tuple[Any, Any, list[Any]]


def own_records(carrier: Carrier, aside: Carrier, options: ReadOptions) -> Records:
    """A log's events, rows and schemas as we have them; rows are batches.

    ``aside``: the same log for the readings besides that of the events, which goes on as the judge
    proceeds.
    """
    from binlogkit.analyses.conformance import EventBatches, RowWindows

    beside = Log([aside], options)
    schemas: list[Any] = list(beside.table_schemas())
    rows = RowWindows(beside.row_windows())
    return EventBatches(Log([carrier], options).event_batches(compact=True)), rows, schemas


def by_mysqlbinlog(
    oracle: Mysqlbinlog,
    aside: Carrier,
    records: Records,
    *,
    file: str,
    baseline: Sequence[Mapping[str, Any]] = (),
    decoder: str,
) -> ConformanceResult:
    """The comparison of a log's records with what mysqlbinlog prints of it.

    ``aside``: the log, which a plain copy stands for where mysqlbinlog cannot read it; the rest as
    in :func:`~binlogkit.analyses.conformance.against_mysqlbinlog`. Errors: those of reading.
    """
    from binlogkit.analyses.conformance import TextBlocks, against_mysqlbinlog

    with as_file(aside) as path:
        return against_mysqlbinlog(
            *records, TextBlocks(read_blocks(path, using=oracle)), file=file, baseline=baseline,
            stored=StoredEvents(aside, UNREAD), decoder=decoder,
        )  # fmt: skip


@contextmanager
def as_file(carrier: Carrier) -> Iterator[str]:
    """The log as a plain file, as mysqlbinlog needs it."""
    path = Path(carrier.name)
    with carrier.open() as plain:
        head = plain.read(4)
        if path.is_file():
            with path.open("rb") as stored:
                if stored.read(4) == head:
                    yield str(path)
                    return
        with TemporaryDirectory(prefix="binlogkit-") as folder:
            copy = Path(folder) / "log"
            with copy.open("wb") as file:
                file.write(head)
                while chunk := plain.read(1 << 20):
                    file.write(chunk)
            yield str(copy)
