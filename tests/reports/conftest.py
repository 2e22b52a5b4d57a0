"""The tests of scripts share ``plan_cases.py`` with those of the analyses."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "analyses"))
