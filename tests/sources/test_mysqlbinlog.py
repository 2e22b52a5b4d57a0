"""Finding and running mysqlbinlog.

What a program that runs does (lines, messages, status) is tried with Python as that program; what
mysqlbinlog does, with mysqlbinlog.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from binlogkit.errors import OracleError
from binlogkit.sources import mysqlbinlog
from binlogkit.sources.mysqlbinlog import SETTING, Mysqlbinlog, find, read, read_blocks
from tests.waiting import LONG

DATA = Path(__file__).parents[1] / "_data"
LOG = DATA / "8.0-row-full" / "transactions" / "binlog.000002"
LOAD = DATA / "5.7-statement-full" / "statements" / "binlog.000001"

VERSIONS = [
    ("mysqlbinlog  Ver 9.7.4-2 for Linux on x86_64 ((Debian))", "9.7.4"),
    ("mysqlbinlog  Ver 8.0.36 for Linux on x86_64 (MySQL Community Server - GPL)", "8.0.36"),
    ("/usr/bin/mysqlbinlog Ver 3.4 Distrib 5.7.22, for Linux (x86_64)", "5.7.22"),
]


def python(script: str) -> Mysqlbinlog:
    """A program that runs ``script``."""
    return Mysqlbinlog((sys.executable, "-c", script))


@pytest.mark.parametrize(("said", "version"), VERSIONS)
def test_a_version_is_read(said: str, version: str) -> None:
    argv = (sys.executable, "-c", f"print({said!r})")
    assert find(argv) == Mysqlbinlog(argv, version)


@pytest.mark.parametrize(
    "said",
    [
        "mysqlbinlog  Ver 3.5 Distrib 10.11.6-MariaDB, for debian-linux-gnu (x86_64)",
        "",
        "hello \x1b[31m",
    ],
)
def test_another_program_is_refused(said: str) -> None:
    with pytest.raises(OracleError, match="is no mysqlbinlog of MySQL") as caught:
        find((sys.executable, "-c", f"print({said!r})"))
    assert SETTING in str(caught.value)
    assert str(caught.value).isprintable()


def test_the_setting_holds_a_whole_command_prefix(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script = tmp_path / "a program.py"
    script.write_text("import sys\nprint('mysqlbinlog  Ver 8.4.1', sys.argv[1:])\n")
    monkeypatch.setenv(SETTING, f"{sys.executable} '{script}' --option $HOME;")
    found = find()
    assert found.argv == (sys.executable, str(script), "--option", "$HOME;")
    assert found.version == "8.4.1"


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("/nowhere/mysqlbinlog", "does not run"),
        ("'unclosed", "cannot be split"),
    ],
)
def test_a_setting_that_does_not_run_is_an_error(
    monkeypatch: pytest.MonkeyPatch, setting: str, message: str
) -> None:
    """It was asked for: nothing else is taken instead."""
    monkeypatch.setenv(SETTING, setting)
    with pytest.raises(OracleError, match=message):
        find()


def test_none_at_all_says_what_helps(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(SETTING, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(mysqlbinlog, "ENTRY_POINTS", "binlogkit.no-such-group")
    with pytest.raises(OracleError, match="no mysqlbinlog was found") as caught:
        find()
    assert "apt-get install mysql-server-core" in str(caught.value)


def test_lines_come_as_they_are_printed(tmp_path: Path) -> None:
    """While the program runs; who wants no more of them does not wait for its end."""
    end = tmp_path / "end"
    script = (
        "import pathlib, time\n"
        "print('first', flush=True)\n"
        f"time.sleep({LONG})\n"
        f"pathlib.Path({str(end)!r}).touch()\n"
    )
    lines = read("some.log", using=python(script))
    assert next(lines) == b"first\n"
    lines.close()  # type: ignore[attr-defined]
    assert not end.exists()


def test_blocks_are_the_same_text() -> None:
    script = "import sys; sys.stdout.buffer.write(b'a' * 300000 + b'\\n' + b'b'); sys.exit(3)"
    blocks = read_blocks("log", using=python(script))
    found = b""
    with pytest.raises(OracleError, match="exit status 3"):
        for block in blocks:
            found += block
    assert found == b"a" * 300000 + b"\nb"


def test_what_is_passed() -> None:
    script = "import os, sys\nprint(*sys.argv[1:], os.environ['TZ'], sep='\\n')"
    *argv, zone = [line.decode().strip() for line in read("-odd name", "b", using=python(script))]
    assert argv[0] == "--no-defaults"
    assert {"-vv", "--base64-output=decode-rows", "--force-if-open"} <= set(argv)
    assert argv[-3:] == ["--", str(Path("-odd name").absolute()), str(Path("b").absolute())]
    assert zone == "UTC"


def test_a_failure_tells_what_was_said_after_the_last_line() -> None:
    script = (
        "import sys\n"
        "print('line')\n"
        "sys.stderr.write('ERROR: bad \\x1b[31m thing\\nmore\\n')\n"
        "sys.exit(3)\n"
    )
    lines = read("some.log", using=python(script))
    assert next(lines) == b"line\n"
    with pytest.raises(OracleError, match="exit status 3: ERROR: bad") as caught:
        next(lines)
    assert "\x1b" not in str(caught.value)
    assert "more" in str(caught.value)


def test_a_long_message_does_not_block() -> None:
    script = "import sys\nsys.stderr.write('x' * 1_000_000)\nsys.exit(1)\n"
    with pytest.raises(OracleError) as caught:
        list(read("some.log", using=python(script)))
    assert len(str(caught.value)) < 5000


def test_a_signal_is_a_failure() -> None:
    with pytest.raises(OracleError, match="signal 9"):
        list(read("x", using=python("import os\nos.kill(os.getpid(), 9)")))


def test_a_program_that_is_not_there() -> None:
    with pytest.raises(OracleError, match="does not run"):
        list(read("x", using=Mysqlbinlog(("/nowhere/mysqlbinlog",))))


@pytest.mark.oracle
@pytest.mark.gate
def test_the_real_one_reads_a_log() -> None:
    oracle = find()
    assert oracle.version is not None
    lines = list(read(LOG, using=oracle))
    assert sum(line.startswith(b"# at ") for line in lines) == 26
    assert sum(line.startswith(b"### INSERT INTO ") for line in lines) > 100
    assert b"\n# End of log file\n" in b"".join(lines)


@pytest.mark.oracle
def test_the_real_one_gives_up(tmp_path: Path) -> None:
    broken = tmp_path / "broken.000001"
    broken.write_bytes(LOG.read_bytes()[:1000])
    with pytest.raises(OracleError, match="exit status"):
        list(read(broken))
    with pytest.raises(OracleError, match="exit status"):
        list(read(tmp_path / "none"))


@pytest.mark.oracle
def test_load_data_leaves_nothing_behind() -> None:
    before = set(os.listdir(tempfile.gettempdir()))
    text = b"".join(read(LOAD))
    assert b"LOAD DATA LOCAL INFILE" in text
    left = set(os.listdir(tempfile.gettempdir())) - before
    assert not [name for name in left if name.startswith(("SQL_LOAD", "binlogkit-"))]


def test_blocks_are_no_more_read_ahead_once_nobody_takes_them() -> None:
    text = read_blocks("log", using=Mysqlbinlog(("sh", "-c", "exec yes")))
    assert next(text)
    text.close()  # type: ignore[attr-defined]
    for thread in threading.enumerate():
        if thread.name == "mysqlbinlog":
            thread.join(LONG)
            assert not thread.is_alive()


def test_blocks_end_with_what_the_program_said() -> None:
    program = Mysqlbinlog(("sh", "-c", "echo text; echo why >&2; exit 3"))
    text = read_blocks("log", using=program)
    assert next(text) == b"text\n"
    with pytest.raises(OracleError, match="exit status 3: why"):
        next(text)
