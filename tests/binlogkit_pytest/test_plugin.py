"""The plugin as a stranger's project uses it: in a process and a folder of its own."""

from __future__ import annotations

import pytest

from binlogkit_fixtures import golden


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """An empty project far from this repository, with warnings as errors."""
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    pytester.makeini("[pytest]\naddopts = --strict-markers\nfilterwarnings = error\n")
    return pytester


def run(project: pytest.Pytester) -> pytest.RunResult:
    return project.runpytest_subprocess("-v", "-p", "no:cacheprovider", "-p", "no:xdist")


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
                         if line.startswith("golden_binlogs(version=None, ")]
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
            "*test_b.py::test_none: the marker golden_binlogs takes the keywords version, *",
            "*test_c.py::test_none: the marker golden_binlogs takes the keywords version, *",
        ]
    )
