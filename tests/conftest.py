"""What all tests share."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytest_plugins = ["pytester"]

ROOT = Path(__file__).resolve().parents[1]
STRICT = "BINLOGKIT_FAIL_ON_SKIP"
CAMPAIGNS = "BINLOGKIT_CAMPAIGNS"
MOST = 16
LONG = ("server", "spark", "notebook", "slow")

# A script's background job starts with SIGINT ignored, and so would all that the tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of a test marked ``sampled(n, most)``, n evenly chosen parameters are quick, and those that
    are marked so, others slow, and all but ``most`` (by default MOST) a campaign, which runs with
    BINLOGKIT_CAMPAIGNS set. Files with long tests come first: with several workers, none is left
    alone with them in the end."""
    tests: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("sampled") and not item.get_closest_marker("slow"):
            tests.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for parameters in tests.values():
        marker = parameters[0].get_closest_marker("sampled")
        count, most = (*(marker.args if marker else (0,)), MOST)[:2]
        quick, slow = (_evenly(number, len(parameters)) for number in (count, most))
        for i, item in enumerate(parameters):
            if i not in quick and not item.get_closest_marker("quick"):
                item.add_marker(pytest.mark.slow if i in slow else pytest.mark.campaign)
    if not os.environ.get(CAMPAIGNS):
        later = [item for item in items if item.get_closest_marker("campaign")]
        if later:
            config.hook.pytest_deselected(items=later)
            items[:] = [item for item in items if not item.get_closest_marker("campaign")]
    long = {item.path for item in items if any(item.get_closest_marker(name) for name in LONG)}
    items.sort(key=lambda item: item.path not in long)


def _evenly(count: int, of: int) -> set[int]:
    return {i * of // count for i in range(count)} if count < of else {*range(of)}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """With BINLOGKIT_FAIL_ON_SKIP set, as in CI, a skipped test is a failure."""
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get(STRICT):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped, and {STRICT} is set: {report.longrepr}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """The same for a module that skips itself."""
    report = yield
    if report.skipped and os.environ.get(STRICT):
        report.outcome = "failed"
        report.longrepr = f"{collector.nodeid} was skipped, and {STRICT} is set"
    return report


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The one Spark session of a test run: real, local, two workers.

    The source root stands in PYTHONPATH, so that Spark finds the format ``binlog`` by its name as
    it does where the package is installed; nothing registers it, unless another fixture was first.
    """
    from pyspark.sql import SparkSession

    from binlogkit.spark import register, settings

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT / "toolkit"), *filter(None, [before])])
    builder = SparkSession.builder.master("local[2]").appName("binlogkit tests")
    for key, value in settings(memory="1g", brief=True).items():
        builder = builder.config(key, value)
    shared = SparkSession.getActiveSession() is not None
    session = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    if shared:
        register(session)
    yield session
    session.stop()
    if before is None:
        del os.environ["PYTHONPATH"]
    else:
        os.environ["PYTHONPATH"] = before
