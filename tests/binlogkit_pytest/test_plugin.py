"""The plugin as a stranger's project uses it: in a process and a folder of its own."""

from __future__ import annotations

import lzma
from shutil import copytree

import pytest

from binlogkit_fixtures import golden


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """An empty project far from this repository, with warnings as errors."""
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    pytester.makeini("[pytest]\naddopts = --strict-markers\nfilterwarnings = error\n")
    return pytester


def run(project: pytest.Pytester, *more: str) -> pytest.RunResult:
    return project.runpytest_subprocess("-v", "-p", "no:cacheprovider", "-p", "no:xdist", *more)


@pytest.mark.slow
def test_a_project_gets_the_cases_that_its_markers_want(project: pytest.Pytester) -> None:
    project.makepyfile(
        test_cases=f"""
        import hashlib
        import sys
        import pytest

        @pytest.mark.golden_binlogs(version="8.0", format="row", scenario="transactions")
        def test_each(golden_binlog):
            assert golden_binlog.scenario == "transactions"
            assert golden_binlog.manifest.server_version.startswith("8.0.")
            told = {{f.name: f.sha256 for f in golden_binlog.manifest.binlogs}}
            for path in golden_binlog.binlogs:
                assert path.is_absolute()
                assert hashlib.sha256(path.read_bytes()).hexdigest() == told[path.name]

        def test_all(golden_binlogs):
            assert [str(case) for case in golden_binlogs] == {[str(c) for c in golden.cases()]}

        @pytest.mark.golden_binlogs(version="5.7", format="row", image="full")
        class TestNearest:
            @pytest.mark.golden_binlogs(image=["minimal", "noblob"], scenario="keys")
            def test_marker_wins(self, golden_binlogs):
                cells = {{(c.settings.series, c.settings.image) for c in golden_binlogs}}
                assert cells == {{("5.7", "minimal"), ("5.7", "noblob")}}

        def test_no_frames_were_needed():
            assert {{"pandas", "pyarrow", "pyspark"}}.isdisjoint(sys.modules)
        """
    )
    cases = golden.cases(version="8.0", format="ROW", scenario="transactions")
    assert len(cases) > 1
    result = run(project)
    result.assert_outcomes(passed=len(cases) + 3)
    result.stdout.fnmatch_lines([f"*test_each?{case}?*PASSED*" for case in cases])


def test_loading_the_plugin_imports_nothing_heavy(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import sys

        def test_modules(request):
            assert request.config.pluginmanager.hasplugin("binlogkit")
            heavy = {"pandas", "pyarrow", "pyspark", "numpy", "binlogkit", "binlogkit_fixtures"}
            assert heavy.isdisjoint(sys.modules)
            described = [line for line in request.config.getini("markers")
                         if line.startswith("golden_binlogs(scenario=None, ")]
            assert len(described) == 1
        """
    )
    run(project).assert_outcomes(passed=1)


def test_a_marker_that_means_nothing_is_an_error(project: pytest.Pytester) -> None:
    text = """
        import pytest

        @pytest.mark.golden_binlogs({})
        def test_none(golden_binlog):
            pass
    """
    project.makepyfile(
        test_a=text.format('scenario="no such"'),
        test_b=text.format('server="8.0"'),
        test_c=text.format('"8.0"'),
    )
    result = run(project)
    result.assert_outcomes(errors=3)
    result.stdout.fnmatch_lines_random(
        [
            "*test_a.py::test_none: there are no golden binlogs scenario=no such*",
            "*test_b.py::test_none: the marker golden_binlogs takes the keywords scenario, *",
            "*test_c.py::test_none: the marker golden_binlogs takes the keywords scenario, *",
        ]
    )


@pytest.mark.slow
def test_cases_are_chosen_by_what_their_logs_hold(project: pytest.Pytester) -> None:
    """Each choice against what the cases themselves say: none is there that must not be."""
    project.makepyfile(
        """
        import binlogkit as bk
        import pytest
        from binlogkit_fixtures import golden

        def names(cases):
            return {str(case) for case in cases}

        @pytest.mark.golden_binlogs(event="PARTIAL_UPDATE_ROWS_EVENT")
        def test_event(golden_binlogs):
            assert 0 < len(golden_binlogs) < 10
            assert names(golden_binlogs) == names(
                c for c in golden.cases()
                if any(e["type"] == "PARTIAL_UPDATE_ROWS_EVENT" for e in c.events)
            )

        @pytest.mark.golden_binlogs(version="8.0", event=["stop_event", "XA_PREPARE_LOG_EVENT"])
        def test_any_of_events(golden_binlogs):
            both = [{e["type"] for e in case.events} for case in golden_binlogs]
            assert all({"STOP_EVENT", "XA_PREPARE_LOG_EVENT"} & kinds for kinds in both)
            assert {"STOP_EVENT" in k for k in both} == {True, False}

        @pytest.mark.golden_binlogs(version="5.7", image="full", column_type="bigint unsigned")
        def test_column_type(golden_binlogs):
            assert names(golden_binlogs) >= {"5.7-row-full/types"}
            for case in golden_binlogs:
                assert case.manifest.server_version.startswith("5.7.") and case.rows

        @pytest.mark.golden_binlogs(column_type="json", format="row", version="5.6")
        def test_5_6_has_no_json(request):
            with pytest.raises(pytest.UsageError, match="column_type=json"):
                request.getfixturevalue("golden_binlogs")

        @pytest.mark.golden_binlogs(setting=["binlog-row-image=minimal", "gtid_mode=1"])
        def test_all_settings(golden_binlogs):
            assert len(golden_binlogs) > 5
            for case in golden_binlogs:
                settings = case.manifest.settings
                assert (settings["binlog_row_image"], settings["gtid_mode"]) == ("MINIMAL", "ON")

        @pytest.mark.golden_binlogs(scenario="keys",
                                    setting=["binlog_row_image=MINIMAL", "binlog_row_image=NOBLOB"])
        def test_either_value(golden_binlogs):
            images = {c.manifest.settings["binlog_row_image"] for c in golden_binlogs}
            assert images == {"MINIMAL", "NOBLOB"}

        @pytest.mark.golden_binlogs(setting="binlog_encryption=ON")
        def test_encrypted(golden_binlogs):
            assert names(golden_binlogs) == names(golden.encrypted())
            for case in golden_binlogs:
                log = bk.open(case.binlogs, keyring=case.keyring)
                assert len(list(log.row_records())) == len(case.rows) > 0

        @pytest.mark.golden_binlogs(version="9", scenario="keys")
        def test_encrypted_ones_do_not_come_unasked(golden_binlogs):
            assert {case.keyring for case in golden_binlogs} == {None}
        """
    )
    run(project).assert_outcomes(passed=8)


@pytest.mark.slow
def test_folders_of_ones_own(project: pytest.Pytester) -> None:
    """By the ini file and the command line; packed or not, whatever their cells are called."""
    packed = golden.case("8.0-row-full", "json")
    copytree(packed.path, project.path / "mine" / "a" / "json")
    plain = project.path / "more" / "keys"
    copytree(golden.case("5.6-row-full", "keys").path, plain)
    for path in plain.glob("*.jsonl.xz"):
        path.with_suffix("").write_bytes(lzma.decompress(path.read_bytes()))
        path.unlink()
    project.makeini("[pytest]\nfilterwarnings = error\ngolden_folders = mine\n")
    project.makepyfile(
        """
        import pytest
        from binlogkit_pytest import assert_same_rows

        @pytest.mark.golden_binlogs(folder=["mine", "more"])
        def test_own(golden_binlog, request):
            assert golden_binlog.path.is_relative_to(request.config.rootpath)
            assert golden_binlog.binlogs[0].is_file()
            assert_same_rows(golden_binlog.rows, golden_binlog)

        @pytest.mark.golden_binlogs(version="5.6", image="full", scenario="keys")
        def test_beside_the_set(golden_binlogs):
            assert len(golden_binlogs) == 2
        """
    )
    run(project, "--golden-folder", "more").assert_outcomes(passed=3)
    missing = run(project, "--golden-folder", "none")
    missing.stdout.fnmatch_lines(["*none is no folder of golden logs*"])
    assert missing.ret != 0


@pytest.mark.server
@pytest.mark.slow
def test_servers_are_shared_and_gone_afterwards(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import pytest

        seen = []

        @pytest.mark.mysql_server(version="8.0", binlog_row_image="MINIMAL")
        class TestOne:
            def test_first(self, mysql_server):
                assert mysql_server.query("SELECT @@binlog_row_image") == [("MINIMAL",)]
                assert mysql_server.version.startswith("8.0.")
                seen.append(mysql_server)

            def test_second(self, mysql_server):
                assert mysql_server is seen[0]
                mysql_server.query("CREATE DATABASE mine")
        """
    )
    result = run(project)
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*test_first?8.0-binlog-row-image=MINIMAL?*PASSED*"])


@pytest.mark.slow
def test_a_server_that_cannot_be_had(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A word for it, and the reason; by default the test fails: silence proves nothing."""
    monkeypatch.setenv("BINLOGKIT_MYSQLD_8_0", str(project.path / "no-such-mysqld"))
    project.makepyfile(
        """
        import pytest

        @pytest.mark.mysql_server
        def test_it(mysql_server):
            raise AssertionError("there is a server")
        """
    )
    local = ["--mysql-runner", "local", "-rs"]
    failed = run(project, *local)
    failed.assert_outcomes(errors=1)
    failed.stdout.fnmatch_lines(["*no MySQL 8.0 for this test: *no-such-mysqld*"])
    skipped = run(project, *local, "--mysql-server-missing", "skip")
    skipped.assert_outcomes(skipped=1)
    skipped.stdout.fnmatch_lines(["SKIPPED * no MySQL 8.0 for this test: *no-such-mysqld*"])
