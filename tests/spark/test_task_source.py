"""Tasks that the driver plans, run by Spark: each gets its own, and its error comes back."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from binlogkit.errors import InputError
from binlogkit.spark.task_source import run_tasks


def told(given: tuple[str, int]) -> dict[str, Any]:
    name, number = given
    if number < 0:
        raise InputError(name, "it is gone")
    return {"name": name, "number": number}


@pytest.mark.spark
@pytest.mark.slow
def test_results_are_of_the_tasks_that_were_asked(spark: Any) -> None:
    """Also with several threads at once, in one session."""

    def asked(name: str) -> None:
        for number in range(6):
            tasks = [(name, 10 * number + i) for i in range(3)]
            found = [(one["name"], one["number"]) for one in run_tasks(spark, told, tasks)]
            assert sorted(found) == tasks

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(asked, "abc"))
    assert run_tasks(spark, told, []) == []
    with pytest.raises(InputError, match="b: it is gone"):
        run_tasks(spark, told, [("a", 1), ("b", -1)])
