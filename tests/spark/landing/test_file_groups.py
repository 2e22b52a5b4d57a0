"""Which files of a landed table a task restores together."""

from __future__ import annotations

from pathlib import Path

from binlogkit.spark.landing.file_groups import together
from binlogkit.spark.landing.landing_path import Folder
from binlogkit.spark.landing.reading import File


def test_files_that_may_share_a_transaction_are_restored_together() -> None:
    def file(path: str, first: int, last: int, day: str = "d") -> File:
        return File(Folder(Path(path)), {"_day": day, "_source": None}, first, last)

    given = [file("c", 5, 9), file("a", 1, 3), file("b", 3, 4), file("e", 4, 4, "x")]
    found = [[str(one.path) for one in group] for group in together(given)]
    assert found == [["a", "b"], ["c"], ["e"]]
