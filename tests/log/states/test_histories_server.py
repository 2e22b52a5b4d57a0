"""A sample of the campaign of generated histories: states and undo against SELECT."""

from __future__ import annotations

import pytest

from tests.truth.histories import main

pytestmark = pytest.mark.server


@pytest.mark.parametrize("image", ["FULL", "MINIMAL"])
@pytest.mark.parametrize("series", ["5.7", "8.0", "9"])
def test_generated_histories(series: str, image: str, capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["--server", series, "--image", image, "--histories", "1", "--seed", "50"])
    assert status == 0, capsys.readouterr().out
