"""Points in logs of several servers."""

from __future__ import annotations

from pathlib import Path

import pytest

import binlogkit as bk
from binlogkit.errors import UsageError
from binlogkit_fixtures import golden
from tests.analyses.verify.conftest import SID, Piece, joined, of_server, pieces_of, previous_gtids


@pytest.mark.parametrize("before", [0, 60, 100])
@pytest.mark.parametrize("first", [True, False])
def test_a_log_without_transactions(before: int, first: bool, tmp_path: Path) -> None:
    """A replica's: it is after what it follows, whatever the other logs have by then."""
    [source] = golden.case("8.0-row-full", "incident").binlogs
    head, gtids, *_ = pieces_of(source.read_bytes())
    replica = tmp_path / "replica.000001"
    empty = [head, Piece(gtids.data[:19] + previous_gtids(before), gtids.type)]
    replica.write_bytes(of_server(joined(empty), 99))
    log = bk.open([replica, source] if first else [source, replica])
    at = replica, len(replica.read_bytes())
    if before:
        expected = bk.open(source).state("shop.orders", until_gtid=f"{SID}:1-{before}")
        found = log.state("shop.orders", at=(str(at[0]), at[1]))
        values = [[one["values"] for one in state.records()] for state in (found, expected)]
        assert values[0] == values[1] != []
        assert found.determined is not first  # the source's is named too late
    else:
        with pytest.raises(UsageError, match="does not say what it follows"):
            log.state("shop.orders", at=(str(at[0]), at[1]))
