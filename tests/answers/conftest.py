"""The questions and their inputs, which no package holds, and the fuzzing's framing on the path."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "fuzz")]
