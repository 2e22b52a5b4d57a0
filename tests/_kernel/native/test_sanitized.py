"""The kernel with AddressSanitizer and UndefinedBehaviorSanitizer, on damaged input.

A slice of what ``tools/sanitized_kernel.sh`` runs by hand at length.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
TOOL = ROOT / "tools" / "sanitized_kernel.sh"
FUZZ = "tests/_kernel/native/fuzz.py"


@pytest.mark.slow
def test_no_sanitizer_has_anything_to_say(tmp_path: Path) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("no gcc to build the kernel with sanitizers")
    for arguments in (["--inputs", "10000"], ["--inputs", "1000", "--scan"]):
        done = subprocess.run(
            [str(TOOL), str(tmp_path), FUZZ, "--seed", "20261121", *arguments],
            env={**os.environ, "PYTHON": sys.executable},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
        assert f"{arguments[1]} inputs" in done.stdout
