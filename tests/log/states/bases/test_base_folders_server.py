"""States that begin with, or go back from, dumps of mydumper's (0.10.1, run for real) and of MySQL
Shell's (``shell_dumps.py``: synthetic), against SELECT."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import binlogkit as bk
from binlogkit.cli import run as cli
from binlogkit.errors import InputError
from binlogkit_fixtures.manifest import Table
from binlogkit_fixtures.scenarios import load
from binlogkit_fixtures.scenarios.family import DATABASE
from binlogkit_fixtures.scenarios.model import Facts, Mark, Sql, parse_version
from binlogkit_fixtures.servers import Server, ServerSpec
from binlogkit_fixtures.servers.mydumper import ensure
from binlogkit_fixtures.truth import read_tables
from tests.log.states.bases import shell_dumps
from tests.log.states.bases.shell_dumps import Style
from tests.log.states.bases.test_bases_server import LATER, begin, complaints, position, run, truth
from tests.servers import GTIDS, shared_server
from tests.truth.truth_checks import judge_state

pytestmark = pytest.mark.server

Dump = Callable[[Server, Path, str], None]
CSV = Style(",", '"', optionally=True, end="\r\n", chunk=2, compression="none", base64=False)


def mydumper(*options: str) -> Dump:
    return lambda server, folder, db: ensure().dump(server, folder, f"--database={db}", *options)


def shell(style: Style) -> Dump:
    return lambda server, folder, db: shell_dumps.dump(server, folder, db, style)


DUMPS: dict[str, Dump] = {
    "mydumper": mydumper("--triggers", "--complete-insert"),
    "mydumper in chunks": mydumper("--compress", "--rows=2", "--statement-size=2000"),
    "shell": shell(Style()),
    "shell in chunks": shell(Style(chunk=1, compression="gzip", flat=False)),
    "shell csv": shell(CSV),
}


@pytest.fixture(scope="module", params=["5.7", "8.0"])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """A server of each series; 5.7 without GTIDs."""
    options = {} if request.param == "5.7" else GTIDS
    with shared_server(ServerSpec(request.param, options)) as lent:
        yield lent


def logs(server: Server, first: str, folder: Path) -> bk.Log:
    names = server.binlog_names()
    return bk.open([str(server.copy_binlog(n, folder)) for n in names[names.index(first) :]])


@pytest.mark.parametrize("how", DUMPS)
@pytest.mark.sampled(6, 6)
@pytest.mark.gate(1)
def test_a_dump_and_what_came_after_and_before_it(
    server: Server, how: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    begin(server)
    server.query("FLUSH BINARY LOGS")
    start = position(server)
    before = {name: truth(server, name) for name in ("u.t", "u.h")}
    run(server, LATER[:3])
    folder = tmp_path / "dump"
    DUMPS[how](server, folder, "u")
    run(server, LATER[3:])
    log = logs(server, start[0], tmp_path)
    notes: Counter[str] = Counter()
    assert complaints(server, log, notes, base=str(folder)) == []
    assert notes["rows determined"] == notes["rows"] == 9, notes
    # FLOAT has six digits in a dump, generated columns are not in it.
    assert notes["base_unknown determined=True"] == 2
    assert notes["unknown cells"] == 9
    for name, table in before.items():
        state = log.state(name, at=start, back_from=folder)
        assert isinstance(table, Table)
        assert list(judge_state(state, table, name, notes)) == []
        assert state.rows_determined
    paths = [str(tmp_path / name) for name in server.binlog_names() if (tmp_path / name).exists()]
    assert cli(["state", *paths, "--table", "u.h", "--base", str(folder)]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1 + 3


@pytest.mark.parametrize("how", DUMPS)
@pytest.mark.sampled(3, 3)
def test_every_type(server: Server, how: str, tmp_path: Path) -> None:
    """The story of the golden logs, dumped in its middle."""
    run(server, (f"DROP DATABASE IF EXISTS {DATABASE}",))
    server.query("FLUSH BINARY LOGS")
    start, _ = position(server)
    gtid = "OFF" if server.version.startswith("5") else "ON"
    facts = Facts(parse_version(server.version.partition("-")[0]), "ROW", "full", gtid)
    folder = tmp_path / "dump"
    for _, step in load("types").steps_for(facts):
        if isinstance(step, Sql):
            run(server, (step.text,))
        elif isinstance(step, Mark) and step.name == "inserted":
            DUMPS[how](server, folder, DATABASE)
    with server.connect(autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("SET sql_mode = '', time_zone = '+00:00'")
        tables = read_tables(connection, [DATABASE])
    log, notes = logs(server, start, tmp_path), Counter[str]()
    expected = dict(zip(tables, log.states(list(tables)), strict=True))
    for name, state in zip(tables, log.states(list(tables), base=folder), strict=True):
        assert list(judge_state(state, tables[name], name, notes)) == []
        assert state.rows_determined, name
        assert state.rows.schema.field("values") == expected[name].rows.schema.field("values")
    assert notes["rows determined"] == notes["rows"] > 100, notes


def test_what_says_no_position_or_is_not_whole(server: Server, tmp_path: Path) -> None:
    """By GTIDs alone; and what mydumper or a copy of its dump left out."""
    begin(server)
    server.query("FLUSH BINARY LOGS")
    start, _ = position(server)
    whole = tmp_path / "whole"
    ensure().dump(server, whole, "--database=u")
    run(server, LATER)
    log, notes = logs(server, start, tmp_path), Counter[str]()
    lines = (whole / "metadata").read_text().splitlines(keepends=True)
    if not server.version.startswith("5"):
        kept = [line for line in lines if "Log:" not in line and "Pos:" not in line]
        (whole / "metadata").write_text("".join(kept))
        assert complaints(server, log, notes, base=whole) == []
        assert notes["rows determined"] == notes["rows"]
    nowhere = [lines[0], lines[-1]]
    (whole / "metadata").write_text("".join(nowhere))
    with pytest.raises(InputError, match="no coordinates; say so with base_at"):
        log.state("u.t", base=whole)
    (whole / "metadata").write_text("".join(lines[:-1]))
    with pytest.raises(InputError, match="was not finished"):
        log.state("u.t", base=whole)
    (whole / "metadata").write_text("".join(lines))
    (whole / "u.t.sql").unlink()
    state = log.state("u.t", base=whole)
    assert not state.rows_determined
    told = [f["meaning"] for f in state.findings.to_pylist() if f["finding"] == "base"]
    assert any("holds no rows" in text for text in told), told


def test_a_server_whose_position_mydumper_does_not_find(tmp_path: Path) -> None:
    with shared_server(ServerSpec("9")) as server:
        begin(server)
        server.query("FLUSH BINARY LOGS")
        file, pos = position(server)
        ensure().dump(server, tmp_path / "dump", "--database=u")
        run(server, LATER)
        log, notes = logs(server, file, tmp_path), Counter[str]()
        with pytest.raises(InputError, match="no coordinates"):
            log.state("u.t", base=tmp_path / "dump")
        assert complaints(server, log, notes, base=tmp_path / "dump", base_at=(file, pos)) == []
        assert notes["rows determined"] == notes["rows"]
        shutil.rmtree(tmp_path / "dump")
        shell_dumps.dump(server, tmp_path / "dump", "u", Style(chunk=2))
        assert complaints(server, log, notes, base=tmp_path / "dump") == []
