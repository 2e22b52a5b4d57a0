"""A log's suspects: what an investigator looks at first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import pyarrow as pa

from binlogkit.analyses.suspects import Images, Suspect, candidates, ranked, read_first
from binlogkit.log.ledgers import Ledgers, read_ledgers
from binlogkit.log.streams import Streams
from binlogkit.rows.filters import Filters, TableName, written_table_name

if TYPE_CHECKING:
    from binlogkit.rows.filter_args import FilterArgs
    from binlogkit.rows.options import ReadOptions


def suspects_of(log: Streams, **filters: Unpack[FilterArgs]) -> pa.Table:
    """See :meth:`binlogkit.log.log.Log.suspects`."""
    return suspects_among(log, read_ledgers(log, log.carriers, **filters))


def suspects_among(log: Streams, ledgers: Ledgers) -> pa.Table:
    """The suspects of a log of which the ledgers were read.

    The images of the most suspicious transactions are read now, and no others.
    """
    found = candidates(
        ledgers.transactions, ledgers.changes, ledgers.happened, ledgers.statements,
        ledgers.integrity().to_pylist(), ledgers.unchecked,
    )  # fmt: skip
    _look(Streams(log.carriers, log.options), read_first(found))
    return ranked(
        found, ledgers.transactions, log.files, _how(log.options, damaged=bool(log.damages))
    )


def rows_of_suspect(log: Streams, suspect: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The row changes of a suspect's first transaction, as records; none if it did something
    else. ``suspect``: its row of the table."""
    if suspect["op"] not in ("insert", "update", "delete") or suspect["pos"] is None:
        return iter(())
    table = written_table_name(suspect["db"], suspect["table"])
    place = f"{suspect['file']}:{suspect['pos']}"
    return log.row_records(table=table, op=suspect["op"], at=place)


def _how(options: ReadOptions, *, damaged: bool) -> list[str]:
    """The options of a command that reads the logs in the same way."""
    words = ["--on-damage", "report"] if damaged else []
    words += ["--charset", options.charset] if options.charset else []
    words += ["--schema", options.schema] if options.schema else []
    words += ["--duplicates", options.duplicates] if options.duplicates != "drop" else []
    return words + [word for name in sorted(options.supposed) for word in ("--suppose", name)]


def _look(log: Streams, suspects: list[Suspect]) -> None:
    """Say what the images of the suspects' changes show."""
    if not suspects:
        return
    tables = tuple({TableName(*name) for suspect in suspects for name in suspect.names})
    ops = {s.op for s in suspects} | (
        {"insert"} if any(s.op == "delete" for s in suspects) else set()
    )
    images = [(suspect, Images(suspect), np.array(suspect.txs)) for suspect in suspects]
    for batch in log.batches_to_damage(log.reading(), Filters(tables=tables, ops=frozenset(ops))):
        numbers, times = (np.asarray(batch.batch[n].fill_null(-1)) for n in ("tx", "timestamp"))
        done = np.asarray(batch.batch["op"])
        for suspect, image, txs in images:
            if suspect.names != [batch.table]:
                continue
            here = np.isin(numbers, txs) & (done == suspect.op)
            if suspect.op == "delete":
                young = (done == "insert") & (numbers < txs[0]) & (times >= suspect.since)
                if young.any():
                    image.insert(batch.batch.filter(pa.array(young)))
            if suspect.like:
                like = np.isin(numbers, suspect.like) & (done == suspect.op)
                if like.any():
                    image.feed(batch.batch.filter(pa.array(like)), like=True)
            if here.any():
                image.feed(batch.batch.filter(pa.array(here)))
    for _, image, _ in images:
        image.tell()
