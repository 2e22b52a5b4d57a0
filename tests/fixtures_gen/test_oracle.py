"""mysqlbinlog's text is kept, also when the program fails."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from binlogkit.errors import OracleError
from binlogkit_fixtures import manifest as mf
from binlogkit_fixtures.oracle import Oracle, find_oracle

ECHO = "import os, sys; print(sys.argv[1:], os.environ['TZ'], os.path.basename(os.getcwd()))"
FAIL = "import sys; print('so far'); print('it broke', file=sys.stderr); sys.exit(3)"


def test_it_runs_in_the_folder_in_utc(tmp_path: Path) -> None:
    oracle = Oracle((sys.executable, "-c", ECHO), "0")
    kept = oracle.write_text(tmp_path, "binlog.000001")
    text = mf.read_packed(tmp_path / kept.name).decode()
    words = ["--no-defaults", "-vv", "--base64-output=decode-rows", "binlog.000001"]
    assert text == f"{words} UTC {tmp_path.name}{os.linesep}"
    assert (kept.binlog, kept.exit_status, kept.stderr) == ("binlog.000001", 0, "")
    assert kept.sha256 == mf.sha256(text.encode())


def test_a_failure_is_kept(tmp_path: Path) -> None:
    kept = Oracle((sys.executable, "-c", FAIL), "0").write_text(tmp_path, "binlog.000001")
    assert (kept.exit_status, kept.stderr) == (3, "it broke")
    assert mf.read_packed(tmp_path / kept.name).decode().strip() == "so far"


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(OracleError, match="did not run"):
        Oracle((str(tmp_path / "nothing"),), "0").write_text(tmp_path, "binlog.000001")


@pytest.mark.oracle
@pytest.mark.gate
def test_the_real_one_reads_a_golden_log(tmp_path: Path) -> None:
    from binlogkit_fixtures import golden

    case = golden.case("8.0-row-full", "keys")
    oracle = find_oracle()
    done = oracle.run(case.path, "binlog.000001")
    assert done.returncode == 0
    if oracle.version == case.manifest.mysqlbinlog:
        assert done.stdout.decode("utf-8", "backslashreplace") == case.mysqlbinlog_text
