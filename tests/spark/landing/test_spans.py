"""Spans of logs whose transactions are all plain are found without their ledgers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import pytest

from binlogkit.events.gtid_set import GtidSet
from binlogkit.log import open_log
from binlogkit.log.index import Joined, Part, parts_of
from binlogkit.log.index.extent import digest_of, extent_of
from binlogkit.spark.landing.spans import Landed, Span, Spans
from binlogkit.spark.splits.plan import Split
from binlogkit_fixtures import golden

CASES = [case for case in golden.cases() if case.scenario in ("transactions", "keys", "ddl")]


def parts_of_case(case: golden.GoldenCase) -> list[Part]:
    return list(parts_of(open_log(case.path).carriers, counting=True))


def spans_of(parts: Sequence[Part], landed: Sequence[Span] = ()) -> Spans:
    return Spans(parts, Joined(parts), Landed(landed), {n: n for p in parts for n in p.names})


def told(splits: Iterable[Split]) -> list[Split]:
    """Splits, but for their tables, of which no two are equal."""
    return [replace(s, position=replace(s.position, known=None)) for s in splits]


def slow(parts: Sequence[Part]) -> list[Part]:
    """The same, of which the ledger has to be asked."""
    return [replace(part, extent=replace(part.extent, plain=False)) for part in parts]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.cell}/{case.scenario}")
def test_plain_logs_have_the_spans_of_their_ledgers(case: golden.GoldenCase) -> None:
    parts = parts_of_case(case)
    short, long = spans_of(parts), spans_of(slow(parts))
    found = list(short.fresh())
    assert found == list(long.fresh())
    assert told(short.splits(found)) == told(long.splits(found))
    assert [*short.lost(found)] == [*long.lost(found)] == []


@pytest.mark.slow
def test_some_are_plain_and_some_are_not() -> None:
    known = {case: [part.extent.plain for part in parts_of_case(case)] for case in CASES}
    assert any(all(found) for found in known.values())
    assert any(not any(found) for found in known.values())
    for case, found in known.items():
        if "no-gtid" in case.cell or case.cell.startswith("5.5"):
            assert not any(found), case


class Unread(dict):  # type: ignore[type-arg]
    """A ledger that must not be asked."""

    def __getitem__(self, name: str) -> object:
        raise AssertionError(name)


def pieces(part: Part, ends: Sequence[int]) -> Iterator[Part]:
    """A log as it was when it had so many transactions."""
    table = part.ledger["transactions"]
    for end in (*ends, table.num_rows):
        some = table.slice(0, end)
        gtids = GtidSet.of(filter(None, some["gtid"].to_pylist()))
        yield replace(part, ledger={"transactions": some}, extent=extent_of(some), gtids=gtids)


@pytest.mark.slow
def test_logs_that_landed_piece_by_piece_need_no_ledger_again() -> None:
    (part, *_) = (
        part for case in CASES for part in parts_of_case(case)
        if part.extent.plain and part.extent.ended > 6
    )  # fmt: skip
    landed: list[Span] = []
    for batch, known in enumerate(pieces(part, [2, 5])):
        (span,) = spans_of([known], landed).fresh()
        landed.append(replace(span, batch=batch))
    assert [(span.first, span.end) for span in landed][:2] == [(0, 2), (2, 5)]
    whole = replace(part, ledger=Unread())
    assert list(spans_of([whole], landed).fresh()) == []
    assert Landed(landed).of(whole)[::-1] == landed
    # Another log with the same head and other transactions is another log.
    other = replace(whole, extent=replace(whole.extent, digest="another"), ledger=part.ledger)
    assert [s.end for s in Landed(landed).of(other)] == [2, 5]


def test_a_log_of_the_same_second_needs_no_ledger_while_the_landed_one_is_there() -> None:
    """Several rotations within a second; copies of landed transactions have no GTIDs that land."""
    part = parts_of_case(golden.case("8.0-row-full", "transactions"))[0]
    (small, whole) = pieces(part, [4])
    small, other = (
        replace(one, names=(f"/a/binlog.{n:06}",)) for n, one in ((1, small), (2, whole))
    )
    (span,) = spans_of([small], []).fresh()
    assert Landed([span], parts=[small, other]).of(replace(other, ledger=Unread())) == []
    assert Landed([span], whole={small.names[0]}).of(replace(other, ledger=Unread())) == []
    # The log may have another name, or have grown; or the name is another log's now.
    assert Landed([span]).of(other) == [span]
    grown = replace(whole, names=small.names)
    assert Landed([span], parts=[grown]).of(grown) == [span]
    assert Landed([span], parts=[grown, other]).of(other) == [span]


def test_a_digest_is_that_of_the_transactions_so_far() -> None:
    part = parts_of_case(golden.case("8.0-row-full", "transactions"))[0]
    table = part.ledger["transactions"]
    digests = {digest_of(table, end) for end in range(table.num_rows + 1)}
    assert len(digests) == table.num_rows + 1
    assert part.extent.digest == digest_of(table, part.extent.ended)
