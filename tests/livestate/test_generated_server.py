"""Generated queries over generated schemas equal the server's answers (generated.py)."""

from __future__ import annotations

import pytest

from tests.livestate.generated import run
from tests.sources.server.conftest_server import shared_series

pytestmark = pytest.mark.server

MINIMAL = {"binlog-row-image": "MINIMAL", "binlog-transaction-compression": "ON"}


@pytest.mark.parametrize(
    ("series", "options", "seed"), [("8.0", MINIMAL, 11), ("5.7", {}, 12), ("9", {}, 13)]
)
def test_answers(series: str, options: dict[str, str], seed: int) -> None:
    with shared_series(series, options) as server:
        found = run(server, seed, queries=15, transactions=40, every=8)
    assert found.wrong == []
    assert found.compared > 60
    assert found.registered == 15 and sum(found.refused.values()) < 40
