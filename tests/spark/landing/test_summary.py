"""A landing behind landed logs reads their summary, and lands what it would land without it."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from binlogkit.log import open_log
from binlogkit.spark.landing import summary
from binlogkit.spark.landing.journal import read_terms
from binlogkit.spark.landing.store import place_of
from binlogkit.spark.landing.summary import Summaries
from binlogkit.spark.landing.tables import opened
from binlogkit.spark.landing.terms import Terms
from binlogkit.spark.masks import parse_masks
from binlogkit_fixtures import golden
from tests.analyses.verify.conftest import keys_log, log_of, of_server, said, write_series
from tests.spark.landing.landings import land, landed

LOGS, EACH = 6, 10


@pytest.fixture(autouse=True)
def of_few_logs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summary, "_LEAST", 1)


@pytest.fixture
def logs(tmp_path: Path) -> list[Path]:
    folder = tmp_path / "logs"
    folder.mkdir()
    return write_series(folder, LOGS, EACH)


@pytest.fixture
def whole(logs: list[Path], tmp_path: Path) -> dict[str, list[dict[str, Any]]]:
    land(logs, tmp_path / "whole")
    found = landed(tmp_path / "whole")
    assert found
    return found


def counts(out: Path, logs: Sequence[Path]) -> tuple[int, int] | None:
    """For how many logs a summary stands, and how many others are joined to it; None if it does not
    count."""
    table = opened(place_of(out) / "landings")
    assert table is not None
    found = Summaries(out / "ledger", open_log(logs), str(table.metadata().id), []).read()
    return None if found is None else (len(found[0].keys), len(found[1]))


@pytest.mark.parametrize("terms", [None, Terms(exclude=("keyed.pk",))], ids=["all", "some"])
def test_logs_that_come_one_by_one_land_as_all_at_once(
    terms: Terms | None, logs: list[Path], tmp_path: Path
) -> None:
    out = tmp_path / "lake"
    for n in range(1, LOGS + 1):
        land(logs[:n], out, terms)
        assert counts(out, logs[:n]) == ((n - 1, 1) if n > 1 else None)
    land(logs, tmp_path / "whole", terms)
    assert landed(out) == landed(tmp_path / "whole")
    assert len(read_terms(place_of(out))) == 1


def test_a_mask_holds_for_what_the_summary_says_of_its_column(
    logs: list[Path], tmp_path: Path
) -> None:
    out, terms = tmp_path / "lake", Terms(masks=parse_masks(["keyed.pk.name=drop"]))
    land(logs[:3], out, terms)
    assert counts(out, logs) == (2, LOGS - 2)
    land(logs, out, terms)
    land(logs, tmp_path / "whole", terms)
    assert landed(out) == landed(tmp_path / "whole")
    found = landed(out)["keyed/pk"]
    assert found and not any("name" in row for row in found)


def nightly(folder: Path, logs: int) -> list[Path]:
    """Logs of a table that is dropped and made again in each, its column called ``name`` in one and
    ``item`` in the next, and filled."""
    _, (database, create, *told) = keys_log()
    filled = next(one for one in told if any(b"\x05keyed\0\x02pk\0" in p.data for p in one))
    sql = bytes(create[-1].data)[create[-1].data.index(b"CREATE") :]
    paths, number = list[Path](), 0
    for n in range(logs):
        begun = [database] if n == 0 else [said(create, sql, b"DROP TABLE keyed.pk")]
        again = create if n % 2 == 0 else said(create, sql, sql.replace(b"name", b"item"))
        paths.append(folder / f"binlog.{n + 1:06}")
        paths[-1].write_bytes(log_of([*begun, again, filled], n, number))
        number += 3
    return paths


@pytest.mark.parametrize("masked", [False, True], ids=["", "masked"])
def test_what_repeats_itself_is_in_it_once(masked: bool, tmp_path: Path) -> None:
    """With all that it has shown: a mask holds for a column that the last table does not have."""
    out, folder = tmp_path / "lake", tmp_path / "nights"
    folder.mkdir()
    terms = Terms(masks=parse_masks(["keyed.pk.item=drop"] if masked else []))
    logs, kept = nightly(folder, 8), list[int]()
    for n in range(2, len(logs) + 1):
        land(logs[:n], out, terms)
        kept.append(pq.read_metadata(out / "ledger" / "summary.parquet").num_rows)
    assert kept[0] < kept[1] < kept[2] and len(set(kept[3::2])) == len(set(kept[4::2])) == 1
    land(logs, tmp_path / "whole", terms)
    found = landed(out)
    assert found == landed(tmp_path / "whole")
    filled = [[n for n in ("name", "item") if row.get(n) is not None] for row in found["keyed/pk"]]
    assert 0 < filled.count(["name"]) == filled.count(["item"]) + masked * filled.count(["name"])


def test_purged_logs_are_in_it(logs: list[Path], whole: dict[str, Any], tmp_path: Path) -> None:
    out = tmp_path / "lake"
    land(logs[:4], out)
    for log in logs[:4]:
        log.unlink()
    assert counts(out, logs[4:]) == (3, 1 + LOGS - 4)
    land(logs[4:], out)
    assert landed(out) == whole


def test_a_log_that_has_grown_lands_behind_it(
    logs: list[Path], whole: dict[str, Any], tmp_path: Path
) -> None:
    out, last = tmp_path / "lake", logs[3]
    data = last.read_bytes()
    last.write_bytes(data[: len(data) // 2])
    land(logs[:4], out)
    last.write_bytes(data)
    assert counts(out, logs[:4]) == (3, 1)
    land(logs[:4], out)
    land(logs, out)
    assert landed(out) == whole


def test_it_ends_at_a_gap_which_a_late_log_may_fill(
    logs: list[Path], whole: dict[str, Any], tmp_path: Path
) -> None:
    out = tmp_path / "lake"
    early = [*logs[:3], *logs[4:]]
    waiting = land(early, out).waiting
    assert not land(early, out, suppose=[f"definition:{one.table}" for one in waiting]).waiting
    assert counts(out, early) == (3, 2)
    assert counts(out, logs) == (3, 3)
    land(logs, out)
    assert counts(out, logs) == (LOGS - 1, 1)
    assert landed(out) == whole


def test_it_does_not_count_once_a_log_is_another(logs: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "lake"
    land(logs, out)
    before = landed(out)
    data = logs[1].read_bytes()
    logs[1].write_bytes(data[: len(data) // 2])
    assert counts(out, logs) == (LOGS - 1, 1)  # the ledger has not seen it yet
    assert not land(logs, out, on_damage="report").rows
    assert landed(out) == before


@pytest.mark.parametrize("how", ["gone", "cut", "of another landing"])
def test_without_it_all_logs_are_joined(
    how: str, logs: list[Path], whole: dict[str, Any], tmp_path: Path
) -> None:
    out = tmp_path / "lake"
    land(logs[:5], out)
    file = out / "ledger" / "summary.parquet"
    if how == "gone":
        file.unlink()
    elif how == "cut":
        file.write_bytes(file.read_bytes()[:-9])
    else:
        shutil.copy(tmp_path / "whole" / "ledger" / file.name, file)
    assert counts(out, logs) is None
    land(logs, out)
    assert landed(out) == whole
    assert counts(out, logs) == (LOGS - 1, 1)


@pytest.mark.parametrize("before", [True, False])
def test_a_landing_that_dies_where_it_is_written(
    before: bool,
    logs: list[Path],
    whole: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out, written = tmp_path / "lake", Summaries.write
    land(logs[:3], out)

    def dies(*given: Any) -> None:
        if not before:
            written(*given)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Summaries, "write", dies)
        with pytest.raises(KeyboardInterrupt):
            land(logs[:5], out)
    assert counts(out, logs[:5]) == ((2, 3) if before else (4, 1))
    land(logs, out)
    assert landed(out) == whole


def test_servers_that_share_a_name_have_none(tmp_path: Path) -> None:
    """The tables of the one that took over are those that the other one left."""
    _, told = keys_log()
    paths, each = list[Path](), len(told) // 20
    for n in range(20):
        data = log_of(told[n * each : (n + 1) * each], n % 10, n * each)
        folder = tmp_path / ("a" if n < 10 else "b")
        folder.mkdir(exist_ok=True)
        paths.append(folder / f"binlog.{n % 10 + 1:06}")
        paths[-1].write_bytes(data if n < 10 else of_server(data, 99))
    for count in (10, 19, 20):
        assert not land(paths[:count], tmp_path / "out", name="s").waiting
    land(paths, tmp_path / "whole", name="s")
    assert landed(tmp_path / "out") == landed(tmp_path / "whole")


def test_logs_with_open_xa_transactions_are_not_in_it(tmp_path: Path) -> None:
    logs = [*golden.case("8.0-row-durable", "restarts").binlogs]
    out = tmp_path / "lake"
    land(logs[:2], out)
    assert counts(out, logs[:2]) is None  # the second one decides what the first one prepared
    land(logs, out)
    assert counts(out, logs) == (2, 1)
    land(logs, tmp_path / "whole")
    assert landed(out) == landed(tmp_path / "whole")
