"""States that begin with a base, on golden logs: a chain of states is one state."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import binlogkit as bk
from binlogkit.errors import InputError, UsageError
from binlogkit.frames.snapshots.facts import KEY
from binlogkit_fixtures import golden

CASES = [
    ("8.0-row-full", "keys"),
    ("8.0-row-minimal", "types"),
    ("8.0-row-full-metadata", "keys"),
    ("8.0-row-partial-json", "json"),
    ("8.0-row-no-gtid", "transactions"),
    ("5.7-row-full", "transactions"),
    ("5.7-row-minimal", "keys"),
    ("5.6-row-full", "keys"),
]


def opened(case: golden.GoldenCase) -> bk.Log:
    return bk.open([str(path) for path in case.binlogs])


@pytest.mark.sampled(0, 3)
@pytest.mark.parametrize("cell, scenario", CASES)
def test_a_chain_of_states_is_one_state(cell: str, scenario: str, tmp_path: Path) -> None:
    """At every mark, for every table, by position and by GTIDs."""
    case = golden.case(cell, scenario)
    log, compared = opened(case), 0
    tables = sorted(case.manifest.marks[-1].tables)
    expected = {s.table: s for s in log.states(tables)}
    for mark in case.manifest.marks[::3]:
        at = f"{mark.file}:{mark.pos}"
        bases = [s for s in log.states(tables, at=at) if s.determined]
        for base in bases:
            whole = expected[base.table]
            found = log.state(".".join(base.table), base=base)
            where = at, base.table, found.findings.to_pylist()
            cascades = "cascades" in found.findings["finding"].to_pylist()
            if not cascades:  # of which a minimal image of the parent does not tell the values
                assert list(found.records()) == list(whole.records()), where
                assert found.determined == whole.determined, where
            assert not cascades or (not found.determined and "minimal" in cell), where
            assert (found.position, found.gtids) == (whole.position, whole.gtids)
            compared += not cascades
    assert compared


def test_what_is_no_base(tmp_path: Path) -> None:
    log = opened(golden.case("8.0-row-full", "keys"))
    good = tmp_path / "pk.parquet"
    log.state("keyed.pk").to_parquet(good)
    with pytest.raises(UsageError, match="no base has"):
        log.state("keyed.nokey", base=str(good))
    with pytest.raises(UsageError, match="without a base"):
        log.state("keyed.pk", base_at="binlog.000001:4")
    with pytest.raises(UsageError, match="a base's position has a file"):
        log.state("keyed.pk", base=str(good), base_at="4")
    with pytest.raises(UsageError, match="newer than the point"):
        log.state("keyed.pk", at=5000, base=str(good))
    with pytest.raises(UsageError, match="several bases"):
        log.state("keyed.pk", base=[str(good), str(good)])
    other = tmp_path / "composite.parquet"
    log.state("keyed.composite", at=11000).to_parquet(other)
    with pytest.raises(UsageError, match="different positions"):
        list(log.states(["keyed.pk", "keyed.composite"], base=[str(good), str(other)]))
    data, bad = good.read_bytes(), tmp_path / "bad"
    for damaged in (b"", data[:-9], data[:4], b"{}\n", b"values,unknown\r\n1\r\n", b"PAR1" * 9):
        bad.write_bytes(damaged)
        with pytest.raises(InputError):
            log.state("keyed.pk", base=str(bad), base_at="binlog.000001:4")
    with pytest.raises(InputError, match="no such file"):
        log.state("keyed.pk", base=str(tmp_path / "missing"))


@pytest.mark.parametrize(
    "told",
    [
        b"", b"null", b"[]", b"{}", b'{"version": 2}', b'{"version": 1, "table": 5}', b"\xff",
        b'{"version":1,"table":["a","b"],"file":null,"pos":null,"gtids":"x","determined":true,'
        b'"key":[],"columns":[],"definition":null}',
        b'{"version":1,"table":["a","b"],"file":"f","pos":4,"gtids":null,"determined":true,'
        b'"key":[],"columns":[{"name":"a","facts":{"mysql_type":"nothing"}}],"definition":null}',
        b'{"version":1,"table":["a","b"],"file":"f","pos":4,"gtids":null,"determined":true,'
        b'"key":[],"columns":[],"definition":{"columns":[{}]}}',
    ],
)  # fmt: skip
def test_metadata_that_are_crafted(told: bytes, tmp_path: Path) -> None:
    table = pa.table({"values": ["{}"], "unknown": ["[]"]}).replace_schema_metadata({KEY: told})
    path = tmp_path / "crafted.parquet"
    pq.write_table(table, path)
    with pytest.raises(InputError):
        opened(golden.case("8.0-row-full", "keys")).state("keyed.pk", base=str(path))


def test_a_base_that_is_not_determined(tmp_path: Path) -> None:
    """Nor is what begins with it, until the table is made anew."""
    switched = opened(golden.case("8.0-row-full", "statements"))
    end = switched.state("stmts.switched")
    assert not end.determined
    found = switched.state("stmts.switched", base=end)
    assert "base" in found.findings["finding"].to_pylist() and not found.determined
    log = opened(golden.case("8.0-row-full", "keys"))
    early = log.state("keyed.generated_key", at=5000)  # before its CREATE TABLE
    assert early.determined and early.findings["finding"].to_pylist() == ["made_later"]
    early = replace(early, rows_determined=False)
    assert log.state("keyed.generated_key", base=early).determined


def test_a_base_of_other_logs(tmp_path: Path) -> None:
    """Its GTIDs are not those of the logs: it holds what they do not."""
    log = opened(golden.case("8.0-row-full", "keys"))
    base = log.state("keyed.pk", at=11000)
    path = tmp_path / "state.parquet"
    base.to_parquet(path)
    assert log.state("keyed.pk", base=str(path), base_gtid=str(base.gtids)).determined
    more = f"{base.gtids},00000000-0000-0000-0000-000000000001:1-5"
    found = log.state("keyed.pk", base=str(path), base_gtid=more)
    assert not found.determined and not found.determined_rows
    (gap,) = (f for f in found.findings.to_pylist() if f["finding"] == "base_gap")
    assert "newer than these logs: 00000000" in gap["meaning"]


def test_tables_that_swapped_their_names_are_bases_under_their_new_ones(tmp_path: Path) -> None:
    case = golden.case("8.0-row-full", "ddl")
    log, mark = bk.open(list(case.binlogs)), case.manifest.mark("swapped")
    bases = []
    for state in log.states(["evolve.item", "evolve.other"], at=(mark.file, mark.pos)):
        assert state.definition is not None
        assert (state.definition.db, state.definition.table) == state.table
        bases.append(str(tmp_path / f"{state.table[1]}.parquet"))
        state.to_parquet(bases[-1])
    for state in log.states(["evolve.item", "evolve.other"], base=bases):
        whole = log.state(".".join(state.table))
        facts = [(one.determined, one.columns, one.key) for one in (state, whole)]
        assert facts[0] == facts[1]
        assert [r["values"] for r in state.records()] == [r["values"] for r in whole.records()]
