"""What an event that Python reads does to the transaction that is open."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from binlogkit._kernel.native.index import Index
from binlogkit._kernel.native.scan import Scanner
from binlogkit.constants import HEADER_LENGTH
from binlogkit.constants import EventType as T
from binlogkit.events.base import Event
from binlogkit.events.reader import EventParser
from binlogkit.rows.ddl import StatementKind as K
from binlogkit.rows.settling import OUTCOMES, Settled, settle
from binlogkit.rows.transactions import Outcome
from binlogkit.rows.window import TRANSACTIONS
from binlogkit.sources.raw import EventHeader, RawEvent

GTID, THREAD, XID = 1, 8, 16


def query(sql: str, thread: int = 7) -> bytes:
    return thread.to_bytes(4, "little") + bytes(10) + sql.encode()


def gtid(gno: int, length: bytes = b"") -> bytes:
    """As 8.0 writes it: flags, SID, number, clock, commit time; ``length``: packed."""
    clock = b"\2" + bytes(16) + (1).to_bytes(7, "little") if length else b""
    return b"\1" + bytes(range(16)) + gno.to_bytes(8, "little") + clock + length


def xa_prepare(one_phase: bool) -> bytes:
    return bytes([one_phase]) + (1).to_bytes(4, "little") * 2 + bytes(4) + b"a"


class Told:
    """A scanner that is given events one by one, each of which it leaves to Python."""

    def __init__(self) -> None:
        self.scanner = Scanner()
        self.scanner.checksums = self.scanner.positions = False
        self.at = 4

    def add(self, code: int, body: bytes, *, looks: bool = True) -> Settled | None:
        """Scan an event; ``looks``: whether the scan leaves it to Python."""
        data = bytes(4) + bytes([code]) + bytes(4)
        data += (HEADER_LENGTH + len(body)).to_bytes(4, "little") + bytes(6) + body
        index = Index()
        found = self.scanner.scan(index, data, 0, len(data), self.at, False)
        assert found == ("look" if looks else "end"), (found, code)
        pos, self.at = self.at, self.at + len(data)
        if not looks:
            return None
        header = EventHeader(0, code, 0, len(data), 0, 0)
        event: Event = EventParser(_fails).parse(RawEvent("log", pos, header, body))
        return settle(self.scanner, index, pos, event, None)

    def records(self) -> np.ndarray[Any, Any]:
        return np.frombuffer(self.scanner.transactions.copied(), TRANSACTIONS)


def _fails(error: Exception) -> None:
    raise error


def numbered(settled: Settled | None) -> int:
    assert settled is not None
    return settled.number


@pytest.mark.parametrize(
    ("sql", "kind", "outcome", "is_open"),
    [
        ("BEGIN", K.BEGIN, Outcome.CUT, True),
        ("XA START X'61',X'',1", K.XA_START, Outcome.CUT, True),
        ("SAVEPOINT a", K.SAVEPOINT, Outcome.CUT, True),
        ("COMMIT", K.COMMIT, Outcome.COMMITTED, False),
        ("ROLLBACK", K.ROLLBACK, Outcome.ROLLED_BACK, False),
        ("XA COMMIT X'61',X'',1", K.XA_COMMIT, Outcome.COMMITTED, False),
        ("XA ROLLBACK X'61',X'',1", K.XA_ROLLBACK, Outcome.ROLLED_BACK, False),
        ("CREATE TABLE t (a INT)", K.DDL, Outcome.COMMITTED, False),
        ("INSERT INTO t VALUES (1)", K.DML, Outcome.COMMITTED, False),
    ],
)
def test_a_statement_where_nothing_is_open(
    sql: str, kind: K, outcome: Outcome, is_open: bool
) -> None:
    told = Told()
    settled = told.add(T.QUERY_EVENT, query(sql))
    assert settled is not None and settled.transaction is not None
    assert (settled.number, settled.kind) == (0, kind)
    (record,) = told.records()
    assert OUTCOMES[record["outcome"]] == outcome
    assert bool(record["open"]) == is_open
    assert (record["events"], record["pos"], record["end_pos"]) == (1, 4, told.at)


@pytest.mark.parametrize("sql", ["begin", "XA START X'61',X'',1"])
def test_a_transaction_that_begins_inside_another(sql: str) -> None:
    told = Told()
    told.add(T.QUERY_EVENT, query("BEGIN", 1))
    assert numbered(told.add(T.QUERY_EVENT, query(sql, 2))) == 1
    assert numbered(told.add(T.XA_PREPARE_LOG_EVENT, xa_prepare(False))) == 1
    first, second = told.records()
    assert [OUTCOMES[r["outcome"]] for r in (first, second)] == [Outcome.CUT, Outcome.PREPARED]
    assert (first["thread_id"], second["thread_id"]) == (1, 2)
    assert (first["events"], second["events"], second["open"]) == (1, 2, 0)


def test_begin_behind_a_gtid_belongs_to_it() -> None:
    told = Told()
    told.add(T.GTID_LOG_EVENT, gtid(5), looks=False)
    assert numbered(told.add(T.QUERY_EVENT, query("BEGIN"))) == 0
    assert numbered(told.add(T.QUERY_EVENT, query("INSERT INTO t VALUES (1)"))) == 0
    assert numbered(told.add(T.QUERY_EVENT, query("COMMIT /* here */"))) == 0
    (record,) = told.records()
    assert (record["has"], record["gno"], record["thread_id"]) == (GTID | THREAD, 5, 7)
    assert (OUTCOMES[record["outcome"]], record["explicit"]) == (Outcome.COMMITTED, 1)


def test_a_statement_behind_a_gtid_ends_with_itself() -> None:
    told = Told()
    told.add(T.GTID_LOG_EVENT, gtid(5), looks=False)
    settled = told.add(T.QUERY_EVENT, query("DROP TABLE t"))
    assert settled is not None and settled.transaction is not None
    assert (settled.transaction.statements, settled.transaction.first_query) == (1, "DROP TABLE t")
    assert told.scanner.open_transaction is None


@pytest.mark.parametrize("one_phase", [False, True])
def test_xa_prepare(one_phase: bool) -> None:
    told = Told()
    settled = told.add(T.QUERY_EVENT, query("XA START X'61',X'',1"))
    assert (
        settled is not None
        and settled.transaction is not None
        and settled.transaction.xa == "X'61',X'',1"
    )
    settled = told.add(T.XA_PREPARE_LOG_EVENT, xa_prepare(one_phase))
    assert (
        settled is not None
        and settled.transaction is not None
        and settled.transaction.xa == "X'61',X'',1"
    )
    expected = Outcome.COMMITTED if one_phase else Outcome.PREPARED
    assert OUTCOMES[told.records()[0]["outcome"]] == expected


def test_events_outside_of_transactions_have_none() -> None:
    told = Told()
    for code, body in ((T.STOP_EVENT, b""), (T.ROTATE_EVENT, bytes(8) + b"next"), (99, b"?")):
        assert told.add(code, body) == (-1, None, None)
    assert len(told.records()) == 0
    told.add(T.QUERY_EVENT, query("BEGIN"))
    settled = told.add(99, b"?")
    assert settled is not None and settled.number == 0
    assert told.records()[0]["events"] == 2


def test_an_xid_that_python_reads() -> None:
    """In packs of logs whose post-headers are others (events/packing.py)."""
    told = Told()
    told.add(T.QUERY_EVENT, query("BEGIN"))
    body = (1 << 63).to_bytes(8, "little")
    data = bytes(4) + bytes([T.XID_EVENT]) + bytes(4) + (27).to_bytes(4, "little") + bytes(6) + body
    index, spots = Index(), np.zeros(1, [("pos", "<i8"), ("end_pos", "<i8"), ("inner", "<i8"),
                                         ("size", "<u4"), ("flags", "<u4")])  # fmt: skip
    spots[0] = (500, 540, -1, 40, 2)
    assert told.scanner.scan(index, data, 0, len(data), 0, False, spots.data) == "look"
    raw = RawEvent("log", 500, EventHeader(0, T.XID_EVENT, 0, 40, 0, 0), body)
    settled = settle(told.scanner, index, 0, EventParser(_fails).parse(raw), spots.data)
    assert settled.number == 0
    (record,) = told.records()
    assert (record["xid"], record["has"]) == (1 << 63, THREAD | XID)
    assert (record["end_pos"], OUTCOMES[record["outcome"]]) == (540, Outcome.COMMITTED)


def test_status_variables_that_were_read_need_no_look_again() -> None:
    told = Told()
    block = b"\0\1\0\0\0"
    body = bytes(8) + b"\0\0\0" + len(block).to_bytes(2, "little") + block + b"\0"
    told.add(T.QUERY_EVENT, body + b"BEGIN")
    told.add(T.QUERY_EVENT, body + b"COMMIT", looks=False)
    told.add(T.QUERY_EVENT, body + b"BEGIN", looks=False)
    told.add(T.QUERY_EVENT, body + b"DROP TABLE t")
    assert [int(r["events"]) for r in told.records()] == [2, 2]
