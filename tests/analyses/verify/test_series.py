"""Continuity over files: missing, repeated, out of order, renamed, of several series."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import binlogkit as bk
from binlogkit.events.gtid_set import GtidSet
from binlogkit.rows.gtid_ledger import GtidLedger
from binlogkit.rows.series import split_name
from tests.analyses.verify.conftest import (
    FLAGS,
    IN_USE,
    joined,
    of_server,
    pieces_of,
    previous_gtids,
)

CELL = "8.0-row-full"
SID = "80808080-0080-11ee-8080-808080808080"
PREVIOUS, ROTATE = 1, -1
Codes = Callable[[Any], list[str]]


def names(paths: list[Path]) -> list[str]:
    return [str(path) for path in paths]


def test_a_whole_series_is_well(series: list[Path], codes: Codes) -> None:
    found = bk.verify(names(series))
    assert codes(found) == []
    assert [joint.status for joint in found.joints] == ["continuous", "continuous"]


def test_a_missing_file(series: list[Path], codes: Codes) -> None:
    found = bk.verify(names([series[0], series[2]]))
    assert codes(found) == ["file_missing", "gtid_gap"]
    told = {f.code: f.found for f in found.findings}
    assert "binlog.000002" in told["file_missing"]
    assert f"{SID}:21-40" in told["gtid_gap"]
    assert [joint.status for joint in found.joints] == ["gap"]


def test_files_out_of_order(series: list[Path], codes: Codes) -> None:
    found = bk.verify(names([series[1], series[0], series[2]]))
    assert codes(found) == ["file_order"]
    assert found.findings[-1].place.file == str(series[1])


def test_a_file_given_twice(series: list[Path], codes: Codes) -> None:
    found = bk.verify(names([series[0], series[0], series[1]]))
    assert codes(found) == []
    assert [f.code for f in found.findings] == ["gtid_copied", "file_repeated"]
    kept = bk.verify(names([series[0], series[0], series[1]]), duplicates="keep")
    assert codes(kept) == ["gtid_copied", "file_repeated"]


def test_a_copy_under_another_name(series: list[Path], tmp_path: Path, codes: Codes) -> None:
    """Its GTIDs are there twice, whatever the name says."""
    copy = tmp_path / "binlog.000004"
    copy.write_bytes(series[2].read_bytes())
    found = bk.verify(names([*series, copy]))
    assert codes(found) == ["gtid_forgotten"]
    assert [f.found for f in found.findings if f.code == "gtid_copied"] == [
        f"{SID}:41-60 are also in an earlier file"
    ]


def test_renamed_files_are_still_a_series(series: list[Path], tmp_path: Path, codes: Codes) -> None:
    renamed = [
        path.rename(tmp_path / name)
        for path, name in zip(series, ("before", "then", "after"), strict=True)
    ]
    found = bk.verify(names(renamed))
    assert codes(found) == []
    assert [f.code for f in found.findings if f.code == "next_name"] == ["next_name"] * 2
    mixed = bk.verify(names([renamed[2], renamed[0], renamed[1]]))
    assert codes(mixed) == ["file_order"]


def test_two_series_are_kept_apart(series: list[Path], tmp_path: Path, codes: Codes) -> None:
    """A copy of the folder, as a replica's or a backup's would be: each is whole by itself."""
    other = tmp_path / "copy"
    other.mkdir()
    copies = [other / path.name for path in series]
    for path, copy in zip(series, copies, strict=True):
        copy.write_bytes(path.read_bytes())
    assert codes(bk.verify(names([*series, *copies]))) == []
    mixed = [path for pair in zip(series, copies, strict=True) for path in pair]
    assert codes(bk.verify(names(mixed))) == []
    found = bk.verify(names([*series, copies[0], copies[2]]))  # what is missing is in the others
    assert codes(found) == [] and "file_missing" in {one.code for one in found.findings}


@pytest.mark.parametrize("dumped", [False, True])
def test_a_server_that_took_over_lacks_what_it_purged(
    dumped: bool, series: list[Path], tmp_path: Path, codes: Codes
) -> None:
    """Its logs go on with transactions of the other's, some of which are in neither's; also if a
    dump brought them, which its PREVIOUS_GTIDS lacks."""
    first, unread, rest = series
    other = tmp_path / "other"
    other.mkdir()
    took_over = other / "other.000007"
    pieces = pieces_of(of_server(rest.read_bytes(), 99))
    if dumped:
        pieces[1].data[19:] = previous_gtids(0)
    took_over.write_bytes(joined(pieces))
    for order in ([first, took_over], [took_over, first]):
        found = bk.verify(names(order))
        told = {f.code: f for f in found.findings}
        assert told["gtid_gap"].found.endswith(f"{SID}:21-40")
        assert told["gtid_gap"].place.file == str(took_over)
    state = bk.open(names([first, took_over])).state("keyed.pk")
    assert not state.determined and "gap" in state.findings["finding"].to_pylist()
    assert codes(bk.verify(names([first, unread, took_over]))) == []
    assert codes(bk.verify(names([took_over, first, unread]))) == ["file_order"]


def test_what_one_server_s_logs_lack_others_have(
    series: list[Path], tmp_path: Path, codes: Codes
) -> None:
    """An older, shorter copy of a replica's log, and its next one."""
    first, _, last = series
    other = tmp_path / "other"
    other.mkdir()
    logs = [other / f"other.{n:06}" for n in (1, 2)]
    for log, copied in zip(logs, (first, last), strict=True):
        log.write_bytes(of_server(copied.read_bytes(), 99))
    assert codes(bk.verify(names(logs))) == ["gtid_gap"]
    assert codes(bk.verify(names([*series, *logs]))) == []


def test_gtids_that_begin_again(series: list[Path], tmp_path: Path, codes: Codes) -> None:
    """After RESET MASTER they are other transactions'; those of an open log's copy are the same."""
    first = series[0]
    anew = tmp_path / "anew"
    anew.mkdir()
    pieces = pieces_of(series[0].read_bytes())
    for piece in pieces:
        when = int.from_bytes(piece.data[:4], "little") + 3600
        piece.data[:4] = when.to_bytes(4, "little")
    (anew / first.name).write_bytes(joined(pieces))
    found = bk.verify(names([first, anew / first.name]))
    told = next(f for f in found.findings if f.code == "gtid_repeated")
    assert f"{SID}:1-20 are other transactions in {first}" in told.found
    state = bk.open(names([first, anew / first.name])).state("keyed.pk")
    assert not state.determined
    whole = bytearray(first.read_bytes())
    whole[4 + FLAGS] |= IN_USE
    (anew / first.name).write_bytes(whole[: len(whole) // 2])
    for order in ([first, anew / first.name], [anew / first.name, first]):
        assert "gtid_repeated" not in [f.code for f in bk.verify(names(order)).findings]


def test_a_series_in_several_folders(series: list[Path], tmp_path: Path, codes: Codes) -> None:
    for n, path in enumerate(series):
        (tmp_path / str(n)).mkdir()
        series[n] = path.rename(tmp_path / str(n) / path.name)
    assert codes(bk.verify(names(series))) == []


def test_relay_logs_that_cut_a_transaction(codes: Codes) -> None:
    """5.6 goes on in the next file without a GTID, a BEGIN or a table map."""
    folder = Path(__file__).parents[2] / "rows" / "_data" / "5.6.24-relay"
    paths = sorted(folder.glob("relay.0*"))
    assert codes(bk.verify(names(paths), rows=True)) == []
    alone = bk.verify(names(paths[1:]))
    assert set(codes(alone)) == {"rows_without_map", "no_begin"}
    assert {f.place.file for f in alone.findings if f.grade == "damage"} == {str(paths[1])}


def test_compressed_names_are_the_same_names() -> None:
    assert split_name("/a/binlog.000012.gz") == ("/a", "binlog", 12)
    assert split_name("C:\\logs\\mysql-bin.1000000") == ("C:/logs", "mysql-bin", 1_000_000)
    assert split_name("notes.txt") == ("", "notes.txt", None)


def test_a_ledger_of_gtids_is_the_set_of_them() -> None:
    from hypothesis import given
    from hypothesis import strategies as st

    sources = st.sampled_from([SID, f"{SID}:tag"])
    numbers = st.lists(st.integers(1, 30), min_size=1, max_size=8)

    @given(st.lists(st.tuples(sources, numbers)))
    def check(gtids: list[tuple[str, list[int]]]) -> None:
        ledger, seen = GtidLedger(), set[str]()
        for source, numbers in gtids:
            known = ledger.add(source, np.array(numbers))
            for number, was_known in zip(numbers, known.tolist(), strict=True):
                assert was_known == (f"{source}:{number}" in seen)
                seen.add(f"{source}:{number}")
        assert ledger.to_set() == GtidSet.of(seen)

    check()
