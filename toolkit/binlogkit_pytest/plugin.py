"""The pytest plugin: golden binlogs of real servers for the tests of any decoder.

::

    from binlogkit_pytest import assert_same_rows

    @pytest.mark.golden_binlogs(version="8.0", event="WRITE_ROWS_EVENT", column_type="json")
    def test_decoder(golden_binlog):  # runs once per matching case
        for path in golden_binlog.binlogs:
            assert_same_rows(my_decoder(path), golden_binlog, log=path)

    def test_all(golden_binlogs):  # all matching cases as one list
        assert len(golden_binlogs) > 18

    @pytest.mark.mysql_server(version=["5.7", "8.0"], binlog_row_image="MINIMAL")
    def test_stream(mysql_server):  # a real server of each version
        mysql_server.query("CREATE DATABASE mine")

A case is a ``binlogkit_fixtures.golden.GoldenCase``: the logs' paths, the expected events and rows,
the manifest (versions, settings, SHA-256, SHOW BINLOG EVENTS, tables at marks) and mysqlbinlog's
text. The files are shared by all tests: read them, or copy them before changing anything. Cases of
one's own come from the folders of the ini option ``golden_folders`` and of ``--golden-folder``.

Loading the plugin imports neither binlogkit nor Arrow, pandas or PySpark; the golden set is looked
up when a test asks for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from binlogkit_pytest import servers
from binlogkit_pytest.matching import KEYWORDS, matches

if TYPE_CHECKING:
    from binlogkit_fixtures.golden import GoldenCase
    from binlogkit_fixtures.servers import Server

MARKER = "golden_binlogs"
FOLDERS = "golden_folders"
ENCRYPTED = "binlog_encryption="  # who asks for it gets cases that need their keyring


def pytest_addoption(parser: pytest.Parser) -> None:
    """Where cases of one's own are, and what a missing server means."""
    parser.addini(FOLDERS, "folders with golden binlogs of your own", type="paths", default=[])
    group = parser.getgroup("binlogkit", "golden binlogs and MySQL servers")
    group.addoption(
        "--golden-folder", action="append", default=[], metavar="DIR",
        help="a folder with golden binlogs of your own; can be given several times",
    )  # fmt: skip
    servers.add_options(parser, group)


def pytest_configure(config: pytest.Config) -> None:
    """Declare the markers."""
    keywords = ", ".join(f"{keyword}=None" for keyword in KEYWORDS)
    config.addinivalue_line(
        "markers",
        f"{MARKER}({keywords}): which golden binlogs the test gets; a value or a list of values "
        "each, the nearest marker's first",
    )
    config.addinivalue_line("markers", servers.DESCRIPTION)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test per golden case for those that ask for ``golden_binlog``; one per server."""
    if "golden_binlog" in metafunc.fixturenames:
        cases = _matching(metafunc.definition)
        metafunc.parametrize("golden_binlog", cases, ids=str, indirect=True)
    if servers.MARKER in metafunc.fixturenames:
        servers.parametrize(metafunc)


@pytest.fixture
def golden_binlog(request: pytest.FixtureRequest) -> GoldenCase:
    """One golden case; the test runs for each that its marker wants."""
    case: GoldenCase = request.param
    return case


@pytest.fixture
def golden_binlogs(request: pytest.FixtureRequest) -> list[GoldenCase]:
    """All golden cases that the test's marker wants: the set's, and those of one's own folders."""
    return _matching(request.node)


@pytest.fixture(scope="session")
def _mysql_servers(request: pytest.FixtureRequest) -> Iterator[servers.Running]:
    running = servers.Running(request.config)
    yield running
    running.close()


@pytest.fixture
def mysql_server(request: pytest.FixtureRequest, _mysql_servers: servers.Running) -> Server:
    """A real MySQL server with the version and options that the test's marker wants.

    Tests that want the same share it: make a database of your own in it. It listens on 127.0.0.1
    and is gone with its files after the session. Where none is available the test fails, or with
    ``mysql_server_missing = skip`` is skipped, with the reason.
    """
    return _mysql_servers.get(request.param)


def _matching(node: pytest.Item | Any) -> list[GoldenCase]:
    """The cases that a test's markers want. pytest.UsageError: none, or a marker is wrong."""
    wanted = _wanted(node)
    try:
        from binlogkit.errors import BinlogKitError
        from binlogkit_fixtures import golden
    except ImportError as exc:
        raise pytest.UsageError(f"{node.nodeid}: the golden binlogs are not installed") from exc
    try:
        own = [case for folder in _folders(node.config) for case in golden.cases_in(folder)]
        if any(setting.lower().startswith(ENCRYPTED) for setting in wanted.get("setting", ())):
            own += golden.encrypted()
        found = [case for case in [*golden.cases(), *own] if matches(case, wanted)]
    except BinlogKitError as exc:
        raise pytest.UsageError(f"{node.nodeid}: {exc}") from exc
    if not found:
        asked = ", ".join(f"{k}={' or '.join(v)}" for k, v in wanted.items()) or "at all"
        raise pytest.UsageError(f"{node.nodeid}: there are no golden binlogs {asked}")
    return list(dict.fromkeys(found))


def _folders(config: pytest.Config) -> list[Path]:
    given = [config.invocation_params.dir / name for name in config.getoption("--golden-folder")]
    return [*config.getini(FOLDERS), *given]


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
    if "folder" in wanted:  # as the ini file names it
        root = node.config.rootpath
        wanted["folder"] = tuple(str((root / each).resolve()) for each in wanted["folder"])
    for setting in wanted.get("setting", ()):
        if "=" not in setting:
            raise pytest.UsageError(f"{node.nodeid}: a setting is name=value, not {setting!r}")
    return wanted
