"""The events of a reading one by one, each in its context."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from binlogkit.events.base import Event, ParseContext
from binlogkit.events.gtid_set import format_uuid
from binlogkit.events.reader import EventParser
from binlogkit.events.rows import RowsEvent
from binlogkit.rows.ddl import TableChange
from binlogkit.rows.reading import Reading
from binlogkit.rows.schema import TableSchema
from binlogkit.rows.transactions import Transaction
from binlogkit.rows.window import SEQ_SHIFT, Window

__all__ = ["Step", "steps_of"]

_GTID, _COMMIT, _THREAD = 1, 4, 8


@dataclass(slots=True)
class Step:
    """One event in its context.

    ``seq``: its place in the reading, shifted left by 32 bits so that the rows of an event follow;
    ``first``, ``last``: whether it stands in the first and the last log; ``transaction``: its
    number, GTID, connection and commit time, as far as the window knows them; ``schema``: of a rows
    event's table; ``changes``: what a statement does to tables; ``server_version``: of the log.
    """

    event: Event
    seq: int
    first: bool
    last: bool
    transaction: Transaction | None = None
    schema: TableSchema | None = None
    changes: tuple[TableChange, ...] = ()
    server_version: str = ""


def steps_of(reading: Reading) -> Iterator[Step]:
    """The events of all logs in order.

    Damage goes to ``reading.damages`` before the event that it stands before or in.
    """
    for window in reading.windows():
        yield from _steps(window, reading)


def _steps(window: Window, reading: Reading) -> Iterator[Step]:
    stretch, damages = window.stretch, window.damages
    count, told = 0 if stretch is None else len(stretch.entries), 0
    if stretch is not None:
        transactions = _Transactions(window)
        looked = {item.i: item for item in window.looked}
        context = ParseContext(server_version=window.server_version)
        parser = EventParser(lambda _: None, context)
        slots, numbers = stretch.entries["slot"].tolist(), stretch.entries["tx"].tolist()
        for i in range(count):
            while told < len(damages) and damages[told][0] <= i:
                reading.damages.append(damages[told][1])
                told += 1
            item = looked.get(i)
            event = item.event if item else parser.parse(stretch.raw(i, window.carrier.name))
            schema = None
            if isinstance(event.body, RowsEvent) and 0 <= slots[i] < len(window.schemas):
                schema = window.schemas[slots[i]]
            yield Step(
                event, stretch.ordinal + i << SEQ_SHIFT, window.first, window.last,
                transactions.of(numbers[i]), schema, item.changes if item else (),
                window.server_version,
            )  # fmt: skip
    reading.damages.extend(error for _, error in damages[told:])


class _Transactions:
    """What a window knows of its transactions."""

    def __init__(self, window: Window) -> None:
        self._window = window
        records = window.transactions
        self._first = int(records["number"][0]) if len(records) else 0
        self._made: tuple[int, Transaction] | None = None

    def of(self, number: int) -> Transaction | None:
        if number < 0:
            return None
        if self._made is None or self._made[0] != number:
            self._made = number, self._make(number)
        return self._made[1]

    def _make(self, number: int) -> Transaction:
        window = self._window
        record, file = window.transactions[number - self._first], window.carrier.name
        has = int(record["has"])
        made = Transaction(
            number, file, int(record["pos"]), file, int(record["end_pos"]),
            int(record["server_id"]), int(record["timestamp"]), int(record["end_timestamp"]),
        )  # fmt: skip
        made.explicit = bool(record["explicit"])
        if has & _GTID:
            made.gtid = f"{format_uuid(record['sid'].tobytes())}:{int(record['gno'])}"
        if has & _COMMIT:
            made.commit_timestamp = int(record["commit_timestamp"])
        if number in window.facts.gtids:
            made.gtid, made.commit_timestamp = window.facts.gtids[number]
        if has & _THREAD:
            made.thread_id = int(record["thread_id"])
        return made
