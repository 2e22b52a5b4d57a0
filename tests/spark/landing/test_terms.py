"""The terms of a landing change from a batch on, and what they left out is never a silent hole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest

from binlogkit.cli import run
from binlogkit.errors import InputError, UsageError
from binlogkit.log import open_log
from binlogkit.log.index import Index
from binlogkit.spark.landing import Landing, current, keep_current, land_logs, status
from binlogkit.spark.landing.dead_files import under_way
from binlogkit.spark.landing.journal import Journal, read_journal, read_terms
from binlogkit.spark.landing.landing_path import Folder
from binlogkit.spark.landing.terms import Terms, TermsSince
from binlogkit.spark.landing.views import VIEWS
from binlogkit.spark.masks import parse_masks
from binlogkit_fixtures import golden
from tests.spark.landing.landings import land, landed
from tests.spark.landing.steps import UNLOCKED, at_step

FIRST, SECOND = golden.case("8.0-row-full", "transactions").binlogs
BOTH = [FIRST, SECOND]
TABLE = "bank/account"
EXCLUDED = Terms(exclude=("bank.account",))
OWNER = "bank.account.owner"
DROPPED = parse_masks([f"{OWNER}=drop"])


def has_owners(out: Path, log: Path) -> bool:
    """Whether any row of a log has an owner."""
    rows = [row for rows in landed(out, f"{TABLE}*").values() for row in rows]
    own = [row.get("owner") for row in rows if row["_file"] == str(log)]
    assert own
    return any(owner is not None for owner in own)


def test_a_table_that_was_excluded_lands_from_a_batch_on(tmp_path: Path) -> None:
    land(FIRST, tmp_path, EXCLUDED)
    with pytest.raises(UsageError, match=r"has --exclude-table bank\.account, not none: give --ch"):
        land(BOTH, tmp_path)
    arrived = land(BOTH, tmp_path, Terms(change=True))
    assert arrived.changed == [
        "from batch 2 on: --exclude-table none, before bank.account",
        "bank.account lands from batch 2 on: changes of earlier batches are not there, unless all "
        "logs are landed anew in another folder",
    ]
    assert read_terms(Folder(tmp_path)) == [TermsSince(1, exclude=("bank.account",)), TermsSince(2)]
    landing = Landing(tmp_path)
    ended = [  # in the second log, where an XA transaction of the first one is committed
        t["gtid"]
        for t in landing.transactions().to_pylist()
        if (t["resolved_file"] or t["file"]) == str(SECOND)
    ]
    land(BOTH, tmp_path / "whole")
    assert landed(tmp_path, TABLE)[TABLE] == [
        row for row in landed(tmp_path / "whole", TABLE)[TABLE] if row["_gtid"] in ended
    ]
    state = landing.state("bank.account")
    gap, *_ = [f for f in state.findings.to_pylist() if f["finding"] == "gap"]
    assert gap["file"] == str(FIRST) and not state.determined
    assert gap["meaning"].startswith("bank.account did not land with batch 1: the landing's terms")
    others = [name for name in landing.tables() if name != "bank.account"]
    assert others and all(landing.state(name).rows_determined for name in others)
    assert {one.table for one in keep_current(tmp_path) if not one.determined} == {"bank.account"}
    again = land(BOTH, tmp_path, Terms(change=True))
    assert not again.batches and not again.changed


def test_a_table_that_is_excluded_later_has_no_state_from_there_on(tmp_path: Path) -> None:
    land(FIRST, tmp_path)
    before = Landing(tmp_path).state("bank.account")
    kept = {one.table: one for one in keep_current(tmp_path)}["bank.account"]
    assert kept.determined == before.rows_determined
    changed = land(BOTH, tmp_path, Terms(exclude=EXCLUDED.exclude, change=True)).changed
    assert changed[-1] == "bank.account does not land from batch 2 on: what has landed stays"
    landing = Landing(tmp_path)
    assert "gap" in landing.state("bank.account").findings["finding"].to_pylist()
    last = landing.transactions().filter(
        [file == str(FIRST) for file in landing.transactions()["file"].to_pylist()]
    )
    at = str(FIRST), max(last["pos"].to_pylist())
    assert "gap" not in landing.state("bank.account", at=at).findings["finding"].to_pylist()
    assert not {o.table: o for o in keep_current(tmp_path)}["bank.account"].determined


def test_masks_hold_from_a_batch_on_and_are_taken_off_by_name(tmp_path: Path) -> None:
    land(FIRST, tmp_path)
    keep_current(tmp_path)
    assert "owner" in current(tmp_path, "bank.account").column_names
    masked = Terms(masks=DROPPED, change=True)
    assert land(FIRST, tmp_path, masked).changed == [
        f"{OWNER}=drop holds from batch 2 on: values that have landed stay as they are",
        "no statement lands from batch 2 on: those that have landed stay",
    ]
    keep_current(tmp_path)
    assert "owner" not in current(tmp_path, "bank.account").column_names
    land(BOTH, tmp_path, Terms(masks=DROPPED))
    assert has_owners(tmp_path, FIRST) and not has_owners(tmp_path, SECOND)
    # A state has no column that any batch masked.
    assert "owner" not in (Landing(tmp_path).state("bank.account").columns or ())
    with pytest.raises(UsageError, match=f"give it again, or {OWNER}=clear"):
        land(BOTH, tmp_path, Terms(change=True))
    cleared = Terms(masks=parse_masks([f"{OWNER}=clear"]), change=True)
    assert land(BOTH, tmp_path, cleared).changed == [
        f"{OWNER} lands as it is from batch 4 on: it was {OWNER}=drop"
    ]
    assert [one.masks for one in read_terms(Folder(tmp_path))] == [(), (f"{OWNER}=drop",), ()]
    keep_current(tmp_path)
    assert "owner" not in current(tmp_path, "bank.account").column_names


def test_a_column_that_is_hashed_later_has_a_folder_of_its_own(tmp_path: Path) -> None:
    """If its type is no text: both are read, and the state leaves the column out."""
    key = tmp_path / "key"
    key.write_text("0123456789abcdef")
    out = tmp_path / "out"
    land(FIRST, out)
    column = "bank.account.balance"
    land(BOTH, out, Terms(masks=parse_masks([f"{column}=hash"], key), change=True))
    assert [*landed(out, f"{TABLE}*")] == [TABLE, f"{TABLE}-2"]
    state = Landing(out).state("bank.account")
    land(BOTH, tmp_path / "whole", Terms(masks=parse_masks(["bank.account.balance=drop"])))
    whole = Landing(tmp_path / "whole").state("bank.account")
    assert [r["values"] for r in state.rows.to_pylist()] == [
        r["values"] for r in whole.rows.to_pylist()
    ]
    assert state.determined == whole.determined


def test_terms_do_not_change_while_a_batch_has_not_ended(tmp_path: Path) -> None:
    def fails(*_: Any) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        land(BOTH, tmp_path, run=fails)
    with pytest.raises(UsageError, match="land again with those before they change"):
        land(BOTH, tmp_path, Terms(masks=DROPPED, change=True))
    assert land(BOTH, tmp_path).batches == 1
    assert land(BOTH, tmp_path, Terms(masks=DROPPED, change=True)).changed


@pytest.mark.slow
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("each", [17, pytest.param(1, marks=pytest.mark.campaign)])
def test_a_change_that_ends_at_a_step_or_has_another_landing_beside_it(
    when: str, each: int, tmp_path: Path
) -> None:
    """No value lands in clear with a batch from which on its mask holds."""
    sizes: dict[str, Any] = {"batch_bytes": 1}
    masked = Terms(masks=DROPPED, change=True)
    changes = partial(land, BOTH, terms=masked, **sizes)

    def begun(name: str) -> Path:
        out = tmp_path / name
        land(FIRST, out, **sizes)
        return out

    def died() -> None:
        raise KeyboardInterrupt

    def check(out: Path) -> None:
        changes(out=out)
        assert changes(out=out).batches == 0
        since = read_terms(Folder(out))[-1]
        assert since.masks == (f"{OWNER}=drop",)
        batch = {span.file: span.batch for span in read_journal(Folder(out))[2]}
        for log in BOTH:
            assert has_owners(out, log) == (batch[str(log)] < since.batch)

    with at_step(0, when, died, UNLOCKED) as met:
        changes(out=begun("counted"))
    for number in range(1, len(met) + 1, each):
        out = begun(f"dies-{number}")
        with at_step(number, when, died, UNLOCKED), suppress(KeyboardInterrupt):
            changes(out=out)
        check(out)

    def other(landing: Callable[[], object]) -> None:
        with suppress(UsageError):
            landing()

    for number in range(1, len(met) + 1, each):
        out = begun(f"old-beside-{number}")
        old = partial(other, partial(land, BOTH, out, **sizes))
        with unaware(), at_step(number, when, old, UNLOCKED), suppress(UsageError):
            changes(out=out)
        check(out)
        out = begun(f"new-beside-{number}")
        new = partial(other, partial(changes, out=out))
        with unaware(), at_step(number, when, new, UNLOCKED), suppress(UsageError):
            land(BOTH, out, **sizes)
        check(out)


@contextmanager
def unaware() -> Iterator[None]:
    """Landings do not know each other's terms, as with copies of a ledger."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Terms, "text", "")
        yield


def test_mistaken_terms_by_which_nothing_landed_are_not_kept(tmp_path: Path) -> None:
    """Nor is a value that the next attempt masks in any file meanwhile, as in a statement."""
    log = golden.case("8.0-row-full", "incident").binlogs[0]
    for tables, masks in ((["shop.customer"], []), ([], ["shop.customers.x=drop"])):
        with pytest.raises(UsageError, match=r"no log has a table|is for no column"):
            land_logs.land(None, log, tmp_path, tables=tables, masks=masks)
        assert not read_terms(Folder(tmp_path))
        assert "INSERT" not in statements(tmp_path)
        with pytest.raises(InputError, match="nothing has landed there"):
            status(tmp_path)
    masks = ["shop.customers.name=drop"]
    assert land_logs.land(None, log, tmp_path, masks=masks).batches == 1
    assert [one.masks for one in read_terms(Folder(tmp_path))] == [tuple(masks)]
    assert "INSERT" not in statements(tmp_path)


def test_a_landing_without_masks_that_is_killed_leaves_no_statement_to_one_with_them(
    tmp_path: Path,
) -> None:
    log = golden.case("8.0-row-full", "incident").binlogs[0]
    Index(tmp_path / "ledger").update(open_log(log).carriers)
    assert "INSERT" in statements(tmp_path)
    land_logs.land(None, log, tmp_path, masks=["shop.customers.name=drop"])
    assert "INSERT" not in statements(tmp_path)


@pytest.mark.parametrize(("first", "stay"), [("keys", True), ("transactions", False)])
def test_statements_of_logs_that_have_not_landed_go_when_masks_begin(
    first: str, stay: bool, tmp_path: Path
) -> None:
    """A landing without masks was killed behind one whose own stay, unless it has prepared XA
    transactions: these may land with the masks."""
    logs = [*golden.case("8.0-row-full", first).binlogs]
    land_logs.land(None, logs, tmp_path)
    before = statements(tmp_path)
    assert before and "INSERT INTO shop" not in before
    logs += golden.case("8.0-row-full", "incident").binlogs[:1]

    def killed() -> None:
        raise KeyboardInterrupt

    with at_step(1, "before", killed, [(Journal, "begin")]), pytest.raises(KeyboardInterrupt):
        land_logs.land(None, logs, tmp_path)
    assert "INSERT INTO shop" in statements(tmp_path)
    masks = ["shop.customers.name=drop"]
    land_logs.land(None, logs, tmp_path, masks=masks, change_terms=True)
    assert statements(tmp_path) == (before if stay else "")
    assert [bool(one.masks) for one in read_terms(Folder(tmp_path))] == [False, True]


@pytest.mark.parametrize("step", ["land again", "beside another"])
def test_a_landing_that_fails_behind_others_keeps_the_ledger(step: str, tmp_path: Path) -> None:
    """What landed stands in it, and what another landing that is under way has read."""
    if step == "land again":
        land_logs.land(None, FIRST, tmp_path)
    else:
        Index(tmp_path / "ledger").update(open_log(FIRST).carriers)
    before = Index(tmp_path / "ledger").known.keys()
    other = under_way(Folder(tmp_path)) if step == "beside another" else nullcontext()
    with other, pytest.raises(UsageError, match="no log has a table"):
        land_logs.land(None, BOTH, tmp_path, exclude=["nothing"], change_terms=True)
    assert before <= Index(tmp_path / "ledger").known.keys()


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize(
    "refused", [{"tables": ["bank.account", "bank.acount"]}, {"masks": ["bank.acount.owner=drop"]}]
)
def test_a_landing_that_is_refused_leaves_everything_as_it_was(
    first: bool, refused: Any, tmp_path: Path
) -> None:
    """A state, its current rows, and landings of other logs."""
    if not first:
        land_logs.land(None, FIRST, tmp_path, current=True)
    named = SECOND if first else BOTH
    with pytest.raises(UsageError, match=r"no log has a table|is for no table"):
        land_logs.land(None, named, tmp_path, change_terms=True, current=True, **refused)
    again = land_logs.land(None, FIRST, tmp_path, current=True)
    assert again.batches == first and {one.determined for one in again.current} == {True}
    assert Landing(tmp_path).state("bank.account").determined
    assert {Path(name).name for name in Landing(tmp_path).ledger.files} == {FIRST.name}
    assert land_logs.land(None, BOTH, tmp_path).batches == 1
    land(BOTH, tmp_path / "whole")
    assert landed(tmp_path) == landed(tmp_path / "whole")


def statements(out: Path) -> str:
    """Those that the ledger's files hold."""
    tables = [pq.read_table(path) for path in out.glob("ledger/transactions/*.parquet*")]
    texts = [text for table in tables for text in table["first_query"].to_pylist()]
    return "".join(filter(None, texts))


def test_of_two_first_landings_one_has_its_terms(tmp_path: Path) -> None:
    """The other one lands nothing, not even with a copy of the ledger."""
    met, keeps = list[int](), Journal._keep

    def other_first(journal: Journal, terms: TermsSince, number: int) -> bool:
        if not met:
            met.append(1)
            land(FIRST, tmp_path, EXCLUDED)
        return keeps(journal, terms, number)

    with unaware(), pytest.MonkeyPatch.context() as patched:
        patched.setattr(Journal, "_keep", other_first)
        with pytest.raises(UsageError, match=r"has --exclude-table bank\.account, not none"):
            land(FIRST, tmp_path)
    assert met and read_terms(Folder(tmp_path)) == [TermsSince(1, exclude=("bank.account",))]
    assert not landed(tmp_path, TABLE) and landed(tmp_path)


@pytest.mark.parametrize("masked_first", [False, True])
def test_another_landing_with_other_masks_waits(masked_first: bool, tmp_path: Path) -> None:
    """Whatever the first one has written: no statement is left behind masks."""
    mask, clear = [f"{OWNER}=drop"], [f"{OWNER}=clear"]
    masks = [mask, clear] if masked_first else [[], mask]
    refused = 0

    def other() -> None:
        nonlocal refused
        with pytest.raises(UsageError, match="is under way with other tables, masks or mask key"):
            land_logs.land(None, FIRST, out, masks=masks[1], change_terms=True)
        refused += 1

    steps = [(Index, "commit"), (Journal, "_keep"), (Journal, "begin"), (Journal, "finish")]
    for number in range(1, len(steps) + 1):
        out = tmp_path / str(number)
        with at_step(number, "before", other, steps):
            land_logs.land(None, FIRST, out, masks=masks[0])
        assert refused == number
        assert [one.masks for one in read_terms(Folder(out))] == [tuple(masks[0])]
        assert bool(statements(out)) != masked_first
        assert land_logs.land(None, FIRST, out, masks=masks[0]).batches == 0


@pytest.mark.slow
@pytest.mark.parametrize("times", [3, pytest.param(50, marks=pytest.mark.campaign)])
def test_first_landings_at_the_same_moment(times: int, tmp_path: Path) -> None:
    """Of two programs: one lands, and the other says why it does not."""
    context = get_context("spawn")
    barrier = context.Barrier(2, timeout=300)
    with ProcessPoolExecutor(2, context, initializer=_meet, initargs=(barrier,)) as pool:
        for number in range(times):
            out = tmp_path / str(number)
            both = [pool.submit(_lands, out, masks) for masks in ([], [f"{OWNER}=drop"])]
            lands = [one.result() for one in both]
            assert sorted(lands) == [False, True]
            assert [bool(one.masks) for one in read_terms(Folder(out))] == [lands[1]]
            assert bool(statements(out)) == lands[0]
            assert has_owners(out, FIRST) == lands[0]


_barriers: list[Any] = []  # of a program


def _meet(barrier: Any) -> None:
    _barriers.append(barrier)


def _lands(out: Path, masks: list[str]) -> bool:
    """Whether a first landing lands that begins when the other one does."""
    _barriers[0].wait()
    try:
        return land_logs.land(None, FIRST, out, masks=masks).batches == 1
    except UsageError as exc:
        assert "other tables, masks or mask key" in str(exc) or "give --change-terms" in str(exc)
        return False


def test_the_command_says_what_changed(tmp_path: Path, capsys: Any) -> None:
    lake = str(tmp_path)
    assert run(["land", str(FIRST), "--out", lake, "--exclude-table", "bank.account"]) == 0
    assert run(["land", *map(str, BOTH), "--out", lake]) == 2
    assert "give --change-terms" in capsys.readouterr().err
    assert run(["land", *map(str, BOTH), "--out", lake, "--change-terms"]) == 0
    assert "note: bank.account lands from batch 2 on: changes of earlier" in capsys.readouterr().err
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute((tmp_path / VIEWS).read_text("utf-8"))
    told = connection.sql("SELECT view_name, comment FROM duckdb_views() WHERE comment NOT NULL")
    assert told.fetchall() == [
        ("account$changes", "the terms left the table out: changes of batches 1 to 1 are not here")
    ]
