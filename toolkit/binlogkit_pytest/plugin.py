"""The pytest plugin: golden binlogs of real servers for the tests of any decoder.

::

    @pytest.mark.golden_binlogs(version="8.0", scenario="types")
    def test_decoder(golden_binlog):  # runs once per matching case
        for path in golden_binlog.binlogs:
            compare(my_decoder(path), golden_binlog.manifest)

    def test_all(golden_binlogs):  # all matching cases as one list
        assert len(golden_binlogs) > 18

A case is a ``binlogkit_fixtures.golden.GoldenCase``: the logs' paths, the manifest (versions,
settings, SHA-256, SHOW BINLOG EVENTS, tables at marks) and mysqlbinlog's text. The files are shared
by all tests: read them, or copy them before changing anything.

Loading the plugin imports neither binlogkit nor Arrow, pandas or PySpark; the golden set is looked
up when a test asks for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from binlogkit_fixtures.golden import GoldenCase

MARKER = "golden_binlogs"
#: The keywords of ``golden.cases``; each takes one value or a list of them.
KEYWORDS = ("version", "format", "image", "scenario", "cell")


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    keywords = ", ".join(f"{keyword}=None" for keyword in KEYWORDS)
    config.addinivalue_line(
        "markers",
        f"{MARKER}({keywords}): which golden binlogs the test gets; a value or a list of values "
        "each, the nearest marker's first",
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test per golden case for those that ask for ``golden_binlog``."""
    if "golden_binlog" in metafunc.fixturenames:
        cases = _matching(metafunc.definition)
        metafunc.parametrize("golden_binlog", cases, ids=str, indirect=True)


@pytest.fixture
def golden_binlog(request: pytest.FixtureRequest) -> GoldenCase:
    """One golden case; the test runs for each that its marker wants."""
    case: GoldenCase = request.param
    return case


@pytest.fixture
def golden_binlogs(request: pytest.FixtureRequest) -> list[GoldenCase]:
    """All golden cases that the test's marker wants, in the order of the matrix."""
    return _matching(request.node)


def _matching(node: pytest.Item | Any) -> list[GoldenCase]:
    """The cases that a test's markers want. pytest.UsageError: none, or a marker is wrong."""
    wanted = _wanted(node)
    try:
        from binlogkit_fixtures import golden

        found = [case for case in golden.cases() if _matches(case, wanted)]
    except ImportError as exc:
        raise pytest.UsageError(f"{node.nodeid}: the golden binlogs are not installed") from exc
    if not found:
        asked = ", ".join(f"{k}={' or '.join(v)}" for k, v in wanted.items()) or "at all"
        raise pytest.UsageError(f"{node.nodeid}: there are no golden binlogs {asked}")
    return found


def _wanted(node: pytest.Item | Any) -> dict[str, tuple[str, ...]]:
    """The markers' keywords; those of the function win over its class's and module's."""
    wanted: dict[str, tuple[str, ...]] = {}
    for marker in node.iter_markers(MARKER):
        if marker.args or not set(marker.kwargs) <= set(KEYWORDS):
            raise pytest.UsageError(
                f"{node.nodeid}: the marker {MARKER} takes the keywords {', '.join(KEYWORDS)} only"
            )
        for key, value in marker.kwargs.items():
            values = (value,) if isinstance(value, str) else tuple(value)
            wanted.setdefault(key, values)
    return wanted


def _matches(case: GoldenCase, wanted: dict[str, tuple[str, ...]]) -> bool:
    cell = case.settings
    facts = {
        "version": cell.series,
        "format": cell.format.lower(),
        "image": cell.image.lower(),
        "scenario": case.scenario,
        "cell": case.cell,
    }
    return all(facts[key].lower() in [v.lower() for v in values] for key, values in wanted.items())
