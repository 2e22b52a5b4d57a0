"""The tests of rows share ``window_checks.py``, and the logs and framing of the fuzzing."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "fuzz")]
