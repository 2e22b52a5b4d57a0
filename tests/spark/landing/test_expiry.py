"""Changes expire: current rows stay right, and no state that lacks changes is taken for known."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest
from deltalake import DeltaTable

import binlogkit as bk
from binlogkit.errors import InputError, UsageError
from binlogkit.spark.landing import Landing, current, expire, expired, expiry, keep_current, landed
from binlogkit_fixtures import golden
from tests.fuzz.binlogkit_fuzz.framing import places
from tests.spark.landing.landings import land
from tests.spark.landing.steps import STEPS, at_step
from tests.spark.landing.test_faults import Died, dies

ACCOUNTS = golden.case("8.0-row-full", "transactions")
EVOLVED = golden.case("8.0-row-full", "ddl")
INCIDENT = golden.case("8.0-row-full", "incident")
TABLES = ("bank.account", "bank.ledger")
#: So many days ago all golden logs were written.
DAYS = 30


def pieces(case: golden.GoldenCase, folder: Path, steps: int) -> Iterator[Path]:
    """A landing with current rows that grows with its logs, each in so many steps."""
    (folder / "logs").mkdir()
    for log in case.binlogs:
        data = log.read_bytes()
        ends = places(data)[1:]
        for end in [*ends[:: len(ends) // steps][1:], len(data)]:
            (folder / "logs" / log.name).write_bytes(data[:end])
            land(folder / "logs", folder / "lake")
            keep_current(folder / "lake")
            yield folder / "lake"


def rows_of(out: Path, table: str) -> list[dict[str, Any]]:
    names = ("_file", "_source")
    found = [
        {k: v for k, v in r.items() if k not in names} for r in current(out, table).to_pylist()
    ]
    return sorted(found, key=lambda row: row["_sequence"])


def parquet(out: Path) -> list[Path]:
    return list(out.glob("tables/*/*/_day=*/**/*.parquet"))


def never_wrong(out: Path, whole: Path, log: bk.Log, table: str) -> int:
    """States that are determined are the log's; how many are not, unlike those of a whole
    landing."""
    unknown = 0
    landing, other = Landing(out), Landing(whole)
    places = [
        (row["end_file"], row["end_pos"]) for row in log.transactions(engine="pyarrow").to_pylist()
    ]
    for place in [*places[::4], None]:
        at = None if place is None else (Path(place[0]).name, place[1])
        found, wanted = landing.state(table, at=at), log.state(table, at=at)
        if found.determined:
            assert list(found.records()) == list(wanted.records()), place
        elif other.state(table, at=at).determined:
            unknown += 1
            told = [f["meaning"] for f in found.findings.to_pylist() if f["finding"] == "gap"]
            assert all("have expired" in one for one in told) and told
    return unknown


@pytest.mark.parametrize("steps", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_current_rows_go_on(steps: int, tmp_path: Path) -> None:
    """Each step's changes expire before the next ones land."""
    hows: set[str] = set()
    for lake in pieces(ACCOUNTS, tmp_path, steps):
        done = expire(lake, DAYS, readers=0)
        assert not done.left and not parquet(lake)
        hows.update(one.how for one in keep_current(lake))
    assert hows == {"unchanged"}
    land(ACCOUNTS.path, tmp_path / "whole")
    keep_current(tmp_path / "whole")
    for table in TABLES:
        assert len(landed(lake, table)) == 0
        assert rows_of(lake, table) == rows_of(tmp_path / "whole", table)
        assert DeltaTable(lake / "current" / table.replace(".", "/")).version() > 1
    assert land(tmp_path / "logs", lake).batches == 0


def test_no_state_is_wrong(tmp_path: Path) -> None:
    first, _ = ACCOUNTS.binlogs
    log = bk.open(ACCOUNTS.path)
    land(first, tmp_path)
    expire(tmp_path, DAYS)
    land(ACCOUNTS.path, tmp_path)
    land(ACCOUNTS.path, tmp_path / "whole")
    for table in TABLES:
        assert never_wrong(tmp_path, tmp_path / "whole", log, table) > 3


def test_what_lands_meanwhile_stays(tmp_path: Path) -> None:
    """And is not lacking where nothing says so."""
    first, _ = ACCOUNTS.binlogs
    land(first, tmp_path)
    kept = expired.keep_expired

    def meanwhile(*given: Any) -> None:
        land(ACCOUNTS.path, tmp_path)
        kept(*given)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(expiry, "keep_expired", meanwhile)
        done = expire(tmp_path, DAYS)
    land(ACCOUNTS.path, tmp_path / "whole")
    for table in TABLES:
        whole = landed(tmp_path / "whole", table)
        assert len(landed(tmp_path, table)) == len(whole) - done.rows[table] > 0


def test_who_has_read_the_ledger_before_is_told(tmp_path: Path) -> None:
    """It would take what is left for all there was."""
    land(ACCOUNTS.path, tmp_path)
    landing = Landing(tmp_path)
    assert landing.state(TABLES[0]).determined
    expire(tmp_path, DAYS)
    with pytest.raises(InputError, match="changes have expired meanwhile: open it again"):
        landing.state(TABLES[0])
    assert not Landing(tmp_path).state(TABLES[0]).determined


def test_the_gap_is_at_the_first_of_them(tmp_path: Path) -> None:
    """Of an earlier log that landed late, changes expired later; a cut is where rows were gone."""
    numbers = {"log.1": 0, "log.2": 1}

    def gone(file: str, pos: int) -> expired.Expired:
        return expired.Expired("a.b", None, file, 1, pos, pos + 9, 1, b"", "2024-05-02", 0)

    found = [gone("log.2", 10), gone("log.1", 20), gone("log.2", 70)]
    for cuts, wanted in (
        ([], [("log.1", 20)]),
        ([(0, 4), (1, 50)], [("log.1", 20), ("log.2", 70)]),
        ([(1, 4), (1, 50)], [("log.1", 20), ("log.2", 10), ("log.2", 70)]),
    ):
        gaps = expired.expired_gaps(found, [], cuts, numbers)
        assert sorted((gap.file, gap.pos) for gap in gaps) == wanted


def test_files_that_delta_has_forgotten_are_deleted(tmp_path: Path) -> None:
    """A checkpoint lacks what was taken out a week ago: such files are found by their age."""
    land(ACCOUNTS.path, tmp_path)
    expire(tmp_path, DAYS)
    before = parquet(tmp_path)
    for one in (tmp_path / "tables/bank").iterdir():
        forgets = {"delta.deletedFileRetentionDuration": "interval 0 hours"}
        DeltaTable(one).alter.set_table_properties(forgets)
        DeltaTable(one).create_checkpoint()
    assert expire(tmp_path, DAYS, readers=0).files == 0
    for one in before[1:]:
        os.utime(one, (time.time() - 8 * 86400,) * 2)
    assert expire(tmp_path, DAYS).files == len(before) - 1
    assert parquet(tmp_path) == before[:1]


def test_a_table_that_was_emptied_since_is_known(tmp_path: Path) -> None:
    """What is in the log behind a TRUNCATE is the whole table."""
    case = golden.case("9-row-full", "auto-increment")
    whole = bk.open(case.path)
    [emptied] = [
        one["pos"] for one in whole.boundaries(engine="pyarrow").to_pylist()
        if (one["action"], one["table"]) == ("truncate", "small")
    ]  # fmt: skip
    [log] = case.binlogs
    part = tmp_path / log.name
    part.write_bytes(log.read_bytes()[:emptied])
    land(part, tmp_path / "lake")
    expire(tmp_path / "lake", DAYS)
    assert not Landing(tmp_path / "lake").state("auto.small").determined
    part.write_bytes(log.read_bytes())
    land(part, tmp_path / "lake")
    state = Landing(tmp_path / "lake").state("auto.small")
    assert state.determined and len(state.rows)
    assert list(state.records()) == list(whole.state("auto.small").records())


@pytest.mark.slow
def test_what_needs_expired_changes_is_refused(tmp_path: Path) -> None:
    """Where a table was renamed since, its rows stay as they were, and this is told; where it was
    altered, they go on."""
    refused = dict[str, str]()
    before = dict[str, list[dict[str, Any]]]()
    for lake in pieces(EVOLVED, tmp_path, 6):
        for one in keep_current(lake):
            if one.how == "refused":
                refused[one.table] = one.reason
                assert one.table not in before or rows_of(lake, one.table) == before[one.table]
            else:
                refused.pop(one.table, None)
                before[one.table] = rows_of(lake, one.table)
        left = expire(lake, DAYS, readers=0).left
        assert refused.items() <= left.items()
        assert all(left[one].startswith("as ") for one in left.keys() - refused)
    assert any("it was renamed. Its rows are those after batch" in one for one in refused.values())
    land(EVOLVED.path, tmp_path / "whole")
    altered = [b.name for b in Landing(tmp_path / "whole").ledger.boundaries if b.alteration]
    keep_current(tmp_path / "whole")
    same = [one for one in keep_current(lake) if one.determined]
    for one in same:
        assert rows_of(lake, one.table) == rows_of(tmp_path / "whole", one.table), one.table
    assert {one.table for one in same} & {".".join(name) for name in altered}


@pytest.mark.slow
def test_whole_days_of_each_table(tmp_path: Path) -> None:
    """Of logs of two days the earlier one's changes expire; a day is over when it has ended."""
    other = golden.case("8.0-row-full", "types")
    land(INCIDENT.path, tmp_path)
    land(other.path, tmp_path)
    days = {t: {*landed(tmp_path, t)["_day"].to_pylist()} for t in Landing(tmp_path).tables()}
    latest = max(day for own in days.values() for day in own)
    ago = (datetime.now(UTC).date() - latest).days
    counts = {t: len(landed(tmp_path, t)) for t in days}
    done = expire(tmp_path, ago)
    assert date.fromisoformat(done.before) == latest
    for table, own in days.items():
        left = landed(tmp_path, table)
        assert {*left["_day"].to_pylist()} == own & {latest}
        assert done.rows.get(table, 0) == counts[table] - len(left)
    assert done.rows and done.rows.keys() < days.keys()
    assert expire(tmp_path, ago).rows == {}


def test_files_stay_as_long_as_readers_have(tmp_path: Path) -> None:
    land(ACCOUNTS.path, tmp_path)
    before, table = parquet(tmp_path), DeltaTable(tmp_path / "tables/bank/account")
    assert expire(tmp_path, DAYS).files == 0
    assert parquet(tmp_path) == before
    assert all(Path(tmp_path / "tables/bank/account" / one).exists() for one in table.file_uris())
    assert expire(tmp_path, DAYS, readers=0).files == len(before)
    assert not parquet(tmp_path)
    assert expire(tmp_path, DAYS, readers=0).files == 0


def test_views_say_how_far_back(tmp_path: Path) -> None:
    land(INCIDENT.path, tmp_path)
    keep_current(tmp_path)
    expire(tmp_path, DAYS)
    with duckdb.connect() as db:
        db.execute((tmp_path / "views.sql").read_text())
        count = db.execute("SELECT count(*) FROM shop.orders").fetchone()
        assert count == (len(current(tmp_path, "shop.orders")),)
        assert db.execute("SELECT count(*) FROM shop.orders$at(now())").fetchone() == count
        with pytest.raises(duckdb.Error, match=r"its changes from before .* have expired"):
            db.execute("SELECT count(*) FROM shop.orders$at('2024-05-14 14:05:00+00')").fetchone()


@pytest.mark.slow
@pytest.mark.parametrize("when", ["before", "after"])
def test_it_ends_right_whatever_ends_it(when: str, tmp_path: Path) -> None:
    log = bk.open(INCIDENT.path)

    def made(out: Path) -> Path:
        land(INCIDENT.path, out)
        keep_current(out, ["shop.customers"])
        return out

    lake = made(tmp_path / "counted")
    with at_step(0, when, dies, STEPS) as met:
        expire(lake, DAYS, readers=0)
    for number in range(1, len(met) + 1, 5):
        out = made(tmp_path / f"{number}")
        with at_step(number, when, dies, STEPS):
            try:
                expire(out, DAYS, readers=0)
            except Died:
                for table in ("shop.orders", "shop.customers"):
                    state = Landing(out).state(table)
                    if state.determined:
                        assert list(state.records()) == list(log.state(table).records())
        expire(out, DAYS, readers=0)
        assert not parquet(out)
        assert rows_of(out, "shop.customers") == rows_of(tmp_path / "counted", "shop.customers")
        assert not Landing(out).state("shop.orders").determined


def test_what_is_asked_wrongly(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nothing has landed there"):
        expire(tmp_path, 1)
    land(ACCOUNTS.path, tmp_path)
    with pytest.raises(UsageError, match="days are 0 or more, hours 0 to 168"):
        expire(tmp_path, -1)
    with pytest.raises(UsageError, match="hours 0 to 168"):
        expire(tmp_path, 1, readers=169)
    assert expire(tmp_path, 1 << 40).before == "0001-01-01"
