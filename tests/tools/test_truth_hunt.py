"""The hunt's command: random workloads of which the log and the server tell the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import truth_hunt


@pytest.mark.server
@pytest.mark.parametrize("series", ["5.7", "8.0", "9"])
def test_a_short_hunt(series: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rows, transactions, images and states; seed 1 of 5.7 once met a collision of digests."""
    asked = f"--series {series} --seeds 1 --units 40 --keep {tmp_path}"
    found = truth_hunt.main(asked.split())
    assert (found, capsys.readouterr().out.count("0 complaints")) == (0, 1)
