"""What all tests share."""

from __future__ import annotations

import os
import signal
import sys
from collections import Counter
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from tools.prove import PARTS, part_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytest_plugins = ["pytester", "tests.sources.stores.moto"]

ROOT = Path(__file__).resolve().parents[1]
STRICT = "BINLOGKIT_FAIL_ON_SKIP"
CAMPAIGNS = "BINLOGKIT_CAMPAIGNS"
MOST = 16
#: The part that ``make test`` runs.
GATE = "gate"
LEFT = pytest.StashKey[dict[str, int]]()
#: What takes a test out of the gate, unless it has the marker ``gate``.
LONG = ("server", "oracle", "spark", "notebook", "browser", "slow", "campaign")

# A script's background job starts with SIGINT ignored, and so would all that the tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# An example takes as long as it takes on this machine.
settings.register_profile(
    "patient", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("patient")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--part", choices=[GATE, *PARTS], help="only this part of `make prove`")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what belongs to the gate, to what is slow and to campaigns, and choose a part.

    Campaigns run with BINLOGKIT_CAMPAIGNS set. Files with long tests come first: with several
    workers, none is left alone with them in the end.
    """
    for parameters in _by_test(items, "sampled"):
        _sample([item for item in parameters if not item.get_closest_marker("slow")])
    named = {item for parameters in _by_test(items, GATE) for item in _gate(parameters)}
    gate = {item for item in items if item in named or not any(map(item.get_closest_marker, LONG))}
    left = Counter(part_of(item.nodeid) for item in items if item not in gate)
    config.stash[LEFT] = dict(left)
    part = config.getoption("part")
    chosen: dict[bool, list[pytest.Item]] = {True: [], False: []}
    for item in items:
        runs = os.environ.get(CAMPAIGNS) or not item.get_closest_marker("campaign")
        in_part = item in gate if part == GATE else part in (None, part_of(item.nodeid))
        chosen[bool(runs and in_part)].append(item)
    if chosen[False]:
        config.hook.pytest_deselected(items=chosen[False])
    long = {item.path for item in chosen[True] if any(map(item.get_closest_marker, LONG))}
    items[:] = sorted(chosen[True], key=lambda item: item.path not in long)


def _by_test(items: list[pytest.Item], marker: str) -> list[list[pytest.Item]]:
    """The parameters of each test that has ``marker``."""
    tests: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker(marker):
            tests.setdefault(item.nodeid.partition("[")[0], []).append(item)
    return [*tests.values()]


def _sample(parameters: list[pytest.Item]) -> None:
    """Of ``sampled(n, most)``: n evenly chosen ones stay quick, others are slow, all but
    ``most`` (by default MOST) a campaign; those marked ``quick`` are always quick."""
    marker = parameters[0].get_closest_marker("sampled") if parameters else None
    count, most = (*(marker.args if marker else (0,)), MOST)[:2]
    quick, slow = (_evenly(number, len(parameters)) for number in (count, most))
    for i, item in enumerate(parameters):
        if i not in quick and not item.get_closest_marker("quick"):
            item.add_marker(pytest.mark.slow if i in slow else pytest.mark.campaign)


def _gate(parameters: list[pytest.Item]) -> list[pytest.Item]:
    """Of ``gate(n)`` n evenly chosen ones; of ``gate`` all that have it."""
    marker = parameters[0].get_closest_marker("gate")
    if marker is None or not marker.args:
        return parameters
    chosen = _evenly(marker.args[0], len(parameters))
    return [item for i, item in enumerate(parameters) if i in chosen]


def _evenly(count: int, of: int) -> set[int]:
    return {i * of // count for i in range(count)} if count < of else {*range(of)}


@pytest.hookimpl(trylast=True)  # when fixtures have given back what they had
def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker tells how many servers its tests shared, which end here, and what the gate leaves
    to the other parts (tools/gate.py)."""
    shared = sys.modules.get("tests.servers")
    if shared is not None:
        shared.close_all()
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["left"] = session.config.stash[LEFT]
        output["servers"] = len(shared.STARTED) if shared is not None else 0


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
