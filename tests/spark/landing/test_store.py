"""Landings in an object store are those in a folder. The store is moto's server, a mock of S3."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest

from binlogkit.cli import run
from binlogkit.errors import InputError, UsageError
from binlogkit.spark.landing import Landing, compact, current, keep_current, status
from binlogkit.spark.landing.dead_files import under_way
from binlogkit.spark.landing.landing_path import LandingPath
from binlogkit.spark.landing.reading import landed as landed_table
from binlogkit.spark.landing.store import Store, place_of
from binlogkit.spark.landing.tables import files_of, opened
from binlogkit.spark.landing.views import VIEWS
from binlogkit.spark.landing.writing import parquet_name
from binlogkit_fixtures import golden
from tests.sources.stores.gate import Gate
from tests.sources.stores.moto import running
from tests.spark.landing.buckets import SECRET, bucket, file_system
from tests.spark.landing.landings import land, landed
from tests.spark.landing.steps import STEPS, at_step
from tests.spark.landing.test_faults import Died, dies

LOGS = golden.case("8.0-row-full", "transactions")
INCIDENT = golden.case("8.0-row-full", "incident")
SIZES: dict[str, Any] = {"batch_bytes": 12_000}
PROGRAM = [sys.executable, "-m", "tests.spark.landing.steps"]
ROOT = Path(__file__).parents[3]
HOSTILE = "a lake/of #'what\"*&=+;%ü"


@pytest.fixture
def url(moto: Gate) -> Iterator[str]:
    with bucket(moto) as found:
        yield found


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    out = tmp_path_factory.mktemp("whole")
    assert land(LOGS.path, out, **SIZES).batches == 2
    return landed(out)


def rows(state: Any) -> list[Any]:
    return [row for batch in state.batches() for row in batch.to_pylist()]


# ---- the same as in a folder ---------------------------------------------------------------------


def test_tables_and_states_are_those_of_a_folder(url: str, moto: Gate, tmp_path: Path) -> None:
    """By the command, step by step; DuckDB reads the views by fsspec, which has no httpfs here."""
    target, ledger, lake = f"{url}/{HOSTILE}/", tmp_path / "ledger", tmp_path / "lake"
    more = "--ledger", str(ledger)
    for step, log in enumerate(LOGS.binlogs):
        compacted = ["--compact"] * step
        ends = [
            run(["land", str(log), *asked, "--name", "db", "--current", *compacted])
            for asked in (["--out", target, *more], ["--out", str(lake)])
        ]
        assert ends[0] == ends[1] < 2
    place = place_of(target, ledger)
    assert landed(place) == landed(lake)
    assert land(LOGS.path, place, name="db").batches == 0
    there, here = Landing(target, ledger=ledger), Landing(lake)
    assert there.tables() == here.tables() and len(here.tables()) > 1
    connection = duckdb.connect()
    connection.register_filesystem(file_system(moto))
    text = (place / VIEWS).data().decode()
    assert "INSTALL httpfs" in text and f"read_parquet([\n  '{url}/" in text
    connection.execute(text)
    for table in here.tables():
        assert rows(there.state(table)) == rows(here.state(table))
        assert there.changes(table).drop(["file"]).equals(here.changes(table).drop(["file"]))
        assert landed_table(target, table).num_rows == landed_table(lake, table).num_rows
        now = [sorted(map(repr, current(one, table).to_pylist())) for one in (target, lake)]
        assert now[0] == now[1]
        viewed = connection.execute(f"SELECT count(*) FROM {table}$changes").fetchone()
        assert viewed == (landed_table(lake, table).num_rows,)
        viewed = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
        assert viewed == (len(now[0]),)
    assert {one.how for one in keep_current(target, ledger=ledger)} == {"unchanged"}
    assert not [one for one in compact(target) if one.before]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cell", "scenario"),
    [("9-row-full", "odd-names"), ("8.0-row-full", "ddl"), ("8.0-row-full-metadata", "types")],
)
def test_names_and_types_and_versions(
    cell: str, scenario: str, url: str, moto: Gate, tmp_path: Path
) -> None:
    case, place, lake = golden.case(cell, scenario), place_of(url, tmp_path / "led"), tmp_path / "l"
    for out in (place, place_of(lake)):
        land(case.path, out, **SIZES)
        keep_current(out)
        compact(out)
    assert landed(place) == landed(lake)
    assert Landing(place).tables() == Landing(lake).tables()
    for table in Landing(lake).tables():
        found = [sorted(map(repr, current(out, table).to_pylist())) for out in (place, lake)]
        assert found[0] == found[1]


def test_what_is_read_needs_no_ledger_and_a_state_does(url: str, tmp_path: Path) -> None:
    place = place_of(f"{url}/lake", tmp_path / "ledger")
    land(LOGS.path, place)
    assert landed_table(f"{url}/lake", "bank.account").num_rows
    with pytest.raises(UsageError, match=r"/lake: a landing in a store needs --ledger DIR"):
        Landing(f"{url}/lake")
    with pytest.raises(InputError, match=r"lake: bank\.nothing has not landed there"):
        landed_table(f"{url}/lake", "bank.nothing")
    with pytest.raises(InputError, match=r"lake: bank\.account has no current state there"):
        current(f"{url}/lake", "bank.account")


def test_status_is_that_of_a_folder(url: str, tmp_path: Path) -> None:
    """Without the ledger, times are not known."""
    target, ledger, lake = f"{url}/{HOSTILE}", tmp_path / "ledger", tmp_path / "lake"
    for out in (place_of(target, ledger), place_of(lake)):
        land(LOGS.path, out)
        keep_current(out)
    there, here = status(target, ledger=ledger), status(lake)
    for one, other in zip(there.values(), here.values(), strict=True):
        timed = [n for n in ("done_at", "lag") if n in one.column_names]
        assert one.drop(timed).equals(other.drop(timed)) and one.num_rows == other.num_rows
    assert there["tables"].num_rows == 9 and there["sources"]["lag"].null_count == 0
    remote = status(target)["sources"]
    assert remote["lag"].null_count == 1 and remote["pos"].equals(there["sources"]["pos"])
    with pytest.raises(UsageError, match="other is not the ledger of"):
        status(target, ledger=tmp_path / "other")


def test_changes_expire_as_in_a_folder(url: str, tmp_path: Path) -> None:
    ledger, lake = tmp_path / "ledger", tmp_path / "lake"
    place = place_of(f"{url}/{HOSTILE}", ledger)
    for out in (place, place_of(lake)):
        land(LOGS.path, out)
        keep_current(out, ["bank.account"])
    asked = ["--days", "30", "--readers", "0"]
    assert run(["expire", str(place), "--ledger", str(ledger), *asked]) == 0
    assert run(["expire", str(lake), *asked]) == 0
    assert not [one for one in (place / "tables").files() if "_day=" in str(one)]
    for table in ("bank.account", "bank.ledger"):
        states = [Landing(out).state(table) for out in (place, lake)]
        assert not states[0].determined and rows(states[0]) == rows(states[1])
    now = [sorted(map(repr, current(out, "bank.account").to_pylist())) for out in (place, lake)]
    assert now[0] == now[1] and now[0]
    assert {one.how for one in keep_current(place, ["bank.account"])} == {"unchanged"}
    told = status(place)["tables"]["expired"].to_pylist()
    assert told == status(lake)["tables"]["expired"].to_pylist() and any(told)


def test_rows_are_erased_as_in_a_folder(url: str, tmp_path: Path, capsys: Any) -> None:
    ledger, lake = tmp_path / "ledger", tmp_path / "lake"
    place = place_of(f"{url}/{HOSTILE}", ledger)
    for out in (place, place_of(lake)):
        land(INCIDENT.path, out)
        keep_current(out, ["shop.customers"])
    asked = ["--row", "shop.customers", "id=2"]
    assert run(["erase", str(place), "--ledger", str(ledger), *asked]) == 0
    assert "a bucket that keeps versions of its objects still has them" in capsys.readouterr().err
    assert run(["erase", str(lake), *asked]) == 0
    assert landed(place) == landed(lake)
    told = []
    for asked in ([str(place), "--ledger", str(ledger)], [str(lake)]):
        assert run(["transactions", *asked, "--format", "jsonl"]) == 0
        told.append(capsys.readouterr().out)
    assert told[0] == told[1] and told[0]
    kept = [one for one in place.files() if one.name.endswith(".parquet")]
    for one in kept:
        data = pq.read_table(one.source()).to_pylist()
        assert b"c2@example.org" not in one.data() and "c2@example.org" not in repr(data)
    assert len(kept) > 10 and not left_over(place)
    states = [Landing(out).state("shop.customers") for out in (place, lake)]
    assert states[0].determined and rows(states[0]) == rows(states[1])
    assert {one.how for one in keep_current(place, ["shop.customers"])} == {"unchanged"}
    assert land(INCIDENT.path, place).batches == 0


@pytest.mark.slow
def test_an_erasure_whose_answer_is_lost_is_done(url: str, moto: Gate, tmp_path: Path) -> None:
    """Its files must stay, though the commit was refused when it was asked again."""
    place = place_of(url, tmp_path / "ledger")
    land(INCIDENT.path, place)
    whole = landed(place)["shop/customers"]
    table = opened(place / "tables/shop/customers")
    assert table is not None
    commit = f"tables/shop/customers/_delta_log/{table.version() + 1:020}.json"
    moto.lost[commit] = 1
    program = [sys.executable, "-m", "binlogkit", "erase", url, "--ledger", str(place.local)]
    through = {**os.environ, "AWS_ENDPOINT_URL": moto.endpoint}
    asked = [*program, "--row", "shop.customers", "id=2"]
    done = subprocess.run(asked, check=True, cwd=ROOT, env=through, stderr=subprocess.PIPE)
    assert moto.lost == {commit: 0}
    left = [row["_sequence"] for row in landed(place)["shop/customers"]]
    assert left == [row["_sequence"] for row in whole if row["id"] != 2]
    assert f"shop.customers: {len(whole) - len(left)} images of changes and" in done.stderr.decode()


# ---- its ledger ----------------------------------------------------------------------------------


def test_a_landing_and_its_ledger_belong_together(url: str, tmp_path: Path) -> None:
    ledger, other = tmp_path / "ledger", tmp_path / "other"
    first, *_ = LOGS.binlogs
    land(first, place_of(url, ledger))
    with pytest.raises(UsageError, match=r"is the ledger of s3://.*, not of s3://.*/another"):
        land(first, place_of(f"{url}/another", ledger))
    with pytest.raises(UsageError, match=r"other is not the ledger of s3://.* was landed with"):
        land(LOGS.path, place_of(url, other))
    with pytest.raises(UsageError, match="nothing has landed"):
        Landing(f"{url}/another", ledger=other)
    other.mkdir()
    (other / "mine.txt").write_text("mine")
    with pytest.raises(UsageError, match="other has other files"):
        land(first, place_of(f"{url}/another", other))


@pytest.mark.slow
def test_a_ledger_that_another_landing_names_meanwhile(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It begins while this one looks whether the folder may become the ledger."""
    one, other = (place_of(f"{url}/meanwhile", tmp_path / "ledger") for _ in range(2))
    files = Store.files

    def meanwhile(self: Store) -> Iterator[Store]:
        monkeypatch.setattr(Store, "files", files)
        other.check_local(landing=True)
        (tmp_path / "ledger" / "running").mkdir()
        return files(self)

    monkeypatch.setattr(Store, "files", meanwhile)
    one.check_local(landing=True)
    assert (tmp_path / "ledger" / "running").is_dir()


def test_a_copy_of_a_ledger_that_was_left_behind_is_told(url: str, tmp_path: Path) -> None:
    first, *_ = LOGS.binlogs
    land(first, place_of(url, tmp_path / "ledger"))
    shutil.copytree(tmp_path / "ledger", tmp_path / "copy")
    land(LOGS.path, place_of(url, tmp_path / "ledger"))
    assert Landing(url, ledger=tmp_path / "ledger").tables()
    with pytest.raises(InputError, match=r"copy does not have all that has landed, as .*binlog"):
        Landing(url, ledger=tmp_path / "copy")


@pytest.mark.slow
def test_a_landing_that_was_deleted_lands_anew(url: str, moto: Gate, tmp_path: Path) -> None:
    """Though its ledger knows all logs, and has noted that they are complete."""
    place = place_of(f"{url}/lake", tmp_path / "ledger")
    land(LOGS.path, place)
    before = landed(place)
    file_system(moto).rm(f"{url}/lake", recursive=True)
    assert land(LOGS.path, place).batches == 1
    assert landed(place) == before


# ---- whatever ends it, or runs beside it ---------------------------------------------------------


def whole(place: LandingPath, moto: Gate, expected: dict[str, Any]) -> None:
    """The next landing makes it whole, and leaves no file that does not count."""
    land(LOGS.path, place, **SIZES)
    assert land(LOGS.path, place, **SIZES).batches == 0
    assert landed(place) == expected
    assert not left_over(place)


def left_over(place: LandingPath) -> list[str]:
    """Parquet files of tables that Delta does not know."""
    found = []
    for name in ("landings", "landed", "terms", "waiting", *place.below("tables/*/*")):
        table = opened(place / name)
        known = [] if table is None else files_of(table, place / name)
        files = (one for one in (place / name).files() if "_delta_log" not in str(one))
        found += sorted({*map(str, files)} - {*map(str, known)})
    return found


@pytest.mark.slow
def test_a_program_that_is_killed_between_files_and_commit(
    url: str, moto: Gate, tmp_path: Path, expected: dict[str, Any]
) -> None:
    place = place_of(f"{url}/counted", tmp_path / "counted")
    with at_step(0, "before", dies) as met:
        land(LOGS.path, place, **SIZES)
    uploads = [i for i, name in enumerate(met) if name == "create_write_transaction"]
    number = uploads[3] + 1  # of the first table, behind terms, landings and waiting
    place = place_of(f"{url}/lake", tmp_path / "ledger")
    asked = [*PROGRAM, str(LOGS.path), str(place), str(number), "before", str(place.local)]
    assert subprocess.run(asked, check=False, cwd=ROOT).returncode == 9
    assert left_over(place) and not landed(place)["bank/account"]
    whole(place, moto, expected)


@pytest.mark.slow
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_landing_that_ends_at_a_step(
    when: str, url: str, moto: Gate, tmp_path: Path, expected: dict[str, Any]
) -> None:
    counted = place_of(f"{url}/counted", tmp_path / "counted")
    with at_step(0, "before", dies, STEPS) as met:
        land(LOGS.path, counted, **SIZES)
    for number in range(2, len(met) + 1, 17):
        place = place_of(f"{url}/{number}", tmp_path / str(number))
        with at_step(number, when, dies), pytest.raises(Died):
            land(LOGS.path, place, **SIZES)
        whole(place, moto, expected)


@pytest.mark.slow
@pytest.mark.parametrize("ledgers", [["one", "one"], ["one", "two"]], ids=str)
def test_programs_that_land_at_the_same_time(
    ledgers: list[str], url: str, moto: Gate, tmp_path: Path, expected: dict[str, Any]
) -> None:
    """With one ledger they know of each other; with two only conditional commits protect."""
    for i in range(2):
        asked = [*PROGRAM, str(LOGS.path), f"{url}/{i}", "0", "before"]
        beside = [
            subprocess.Popen([*asked, str(tmp_path / f"{i}-{name}")], cwd=ROOT) for name in ledgers
        ]
        # One that comes later, with a ledger of its own, finds the landing begun and is refused.
        ends = [one.wait() for one in beside]
        assert 0 in ends and (ledgers[0] != ledgers[1] or ends == [0, 0])
        own = ledgers[ends.index(0)]
        whole(place_of(f"{url}/{i}", tmp_path / f"{i}-{own}"), moto, expected)


@pytest.mark.slow
@pytest.mark.parametrize("table", ["tables/bank/account", "landings"])
def test_a_commit_whose_answer_is_lost_counts(
    table: str, url: str, moto: Gate, tmp_path: Path, expected: dict[str, Any]
) -> None:
    """It is asked again, and then is there already: its files must stay."""
    place, commit = place_of(url, tmp_path / "ledger"), f"{table}/_delta_log/{1:020}.json"
    moto.lost[commit] = 1
    asked = [*PROGRAM, str(LOGS.path), url, "0", "before", str(place.local)]
    through = {**os.environ, "AWS_ENDPOINT_URL": moto.endpoint}
    subprocess.run(asked, check=True, cwd=ROOT, env=through)
    assert moto.lost == {commit: 0}
    assert landed(place) == expected
    whole(place, moto, expected)


def test_only_files_of_landings_that_were_killed_here_are_deleted(url: str, tmp_path: Path) -> None:
    place = place_of(url, tmp_path / "ledger")
    land(LOGS.path, place)
    killed, elsewhere, table = uuid.uuid4().hex, uuid.uuid4().hex, place / "tables/bank/account"
    (place.local / "running" / killed).touch()
    dead, other = table / parquet_name(killed), table / f"_day=x/{parquet_name(elsewhere)}"
    for one in (dead, other):
        one.write_text("torn")
    with under_way(place):
        assert not dead.exists() and other.exists()


# ---- what cannot be ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "told"),
    [
        ("s3://", "a landing in a store is s3://BUCKET/PREFIX: not s3://"),
        ("s3:///lake", "a landing in a store is s3://BUCKET/PREFIX: not s3:///lake"),
        ("gs://?x", "a landing in a store is gs://BUCKET/PREFIX: not gs://?x"),
        (f"s3://me:{SECRET}@b/lake", "a landing in a store is s3://BUCKET/PREFIX: not s3://me:…@b"),
        (f"s3://b/lake?token={SECRET}", "a landing's prefix has no ?"),
        ("s3://b/what?", "a landing's prefix has no ?"),
        ("s3://b//lake", "no empty part"),
        ("s3://b/../lake", "no . and no .."),
        ("az://b/a%20b", "a landing's prefix has no control character"),
        ("s3://b/a[b]", "a landing's prefix has no control character"),
        ("s3://b/a\nb", "a landing's prefix has no control character"),
        ("hdfs://b/lake", "a landing goes to a folder, or to s3://, gs://, az://: not to hdfs://b"),
    ],
)
def test_targets_that_cannot_be(target: str, told: str) -> None:
    with pytest.raises(UsageError) as met:
        place_of(target, "ledger")
    assert told in str(met.value) and SECRET not in str(met.value)


@pytest.mark.parametrize("target", ["s3://b", "s3://b/", "s3://b/a/b/", "gs://b/ü #", "az://b/50%"])
def test_targets_that_can_be(target: str) -> None:
    place = place_of(target, "ledger")
    assert isinstance(place, Store) and str(place) == target.rstrip("/")
    assert str(place / "tables/a") == f"{target.rstrip('/')}/tables/a"


@pytest.mark.parametrize(
    ("name", "value"),
    [("AWS_SECRET_ACCESS_KEY", SECRET), ("azure_storage_sas_token", SECRET),
     ("AWS_ACCESS_KEY_ID", "me"), ("aws_sse_customer_key_base64", SECRET),
     ("azure_storage_connection_string", SECRET), ("proxy_url", f"http://me:{SECRET}@host")],
)  # fmt: skip
def test_secrets_are_no_options(name: str, value: str) -> None:
    with pytest.raises(UsageError, match=f"{name} is a secret: give it in the env") as met:
        place_of("s3://b/lake", "ledger", {name: value})
    assert SECRET not in str(met.value)
    assert place_of("s3://b/lake", "ledger", {"aws_sse_kms_key_id": "a-key's-name"})


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"AWS_ENDPOINT_URL": "nonsense"}, "AWS_ENDPOINT_URL is no URL"),
        ({"AWS_ENDPOINT_URL": "http://127.0.0.1:1", "max_retries": "0"}, "cannot be reached"),
        ({"AWS_ALLOW_HTTP": "false"}, "its endpoint is http://, which needs AWS_ALLOW_HTTP=true"),
        ({"max_retries": "many"}, "Failed to parse config"),
        ({"conditional_put": "nonsense"}, 'Failed to parse "nonsense"'),
    ],
    ids=str,
)
def test_options_that_do_not_work(
    options: dict[str, str], told: str, url: str, capsys: Any, tmp_path: Path
) -> None:
    given = [part for pair in options.items() for part in ("--target-option", "=".join(pair))]
    assert told in complaint(f"{url}/lake", tmp_path, capsys, *given)
    assert not (tmp_path / "ledger").exists()


def complaint(target: str, folder: Path, capsys: Any, *more: str) -> str:
    """The one line on standard error of a landing that cannot begin."""
    log, *_ = LOGS.binlogs
    given = ["land", str(log), "--out", target, "--ledger", str(folder / "ledger"), *more]
    assert run(given) == 2
    told: str = capsys.readouterr().err
    assert told.count("\n") == 1 and SECRET not in told and "me-and-me" not in told
    return told.strip()


def test_a_bucket_that_is_not_there(url: str, capsys: Any, tmp_path: Path) -> None:
    told = complaint(f"{url}-not/lake", tmp_path, capsys)
    assert told == f"binlogkit: {url}-not/lake/landings/_delta_log: no such bucket"


@pytest.mark.slow
def test_credentials_that_are_refused(capsys: Any, tmp_path: Path) -> None:
    """moto then refuses whoever it does not know."""
    with running({**os.environ, "INITIAL_NO_AUTH_ACTION_COUNT": "1"}) as gate, bucket(gate) as url:
        told = complaint(f"{url}/lake", tmp_path, capsys)
    assert f"{url}/lake" in told and "access is denied: the store refuses the credentials" in told


@pytest.mark.slow
def test_secrets_are_nowhere(url: str, tmp_path: Path, capsys: Any) -> None:
    """Neither in what was written here and there, nor in what was said."""
    place = place_of(url, tmp_path / "ledger", {"AWS_REGION": "us-east-1"})
    [log] = INCIDENT.binlogs
    asked = ["--ledger", str(place.local), "--target-option", "AWS_REGION=us-east-1", "-v"]
    assert run(["land", str(log), "--out", url, *asked, "--current"]) in (0, 1)
    said = "".join(capsys.readouterr())
    there = [one.data() for one in place.files()]
    here = [one.read_bytes() for one in place.local.rglob("*") if one.is_file()]
    assert len(there) > 20 and len(here) > 5
    for secret in (SECRET, "me-and-me"):
        assert secret not in said and secret not in repr(place)
        assert not any(secret.encode() in data for data in (*there, *here))


# ---- on Spark ------------------------------------------------------------------------------------


@pytest.mark.spark
def test_tasks_on_spark_write_with_their_own_credentials(
    url: str, tmp_path: Path, expected: dict[str, Any]
) -> None:
    """A process of its own, whose workers have its environment; one fold on Spark, too."""
    program = [sys.executable, "-m", "binlogkit"]
    ledger = ["--ledger", str(tmp_path / "ledger"), "--engine", "spark", "--master", "local[2]"]
    asked = [*program, "land", *map(str, LOGS.binlogs), "--out", f"{url}/lake", *ledger]
    subprocess.run(asked, check=True, cwd=ROOT)
    place = place_of(f"{url}/lake", tmp_path / "ledger")
    assert {name: len(own) for name, own in landed(place).items()} == {
        name: len(own) for name, own in expected.items()
    }
    asked = [*program, "state", f"{url}/lake", "--table", "bank.account", "--format", "jsonl"]
    found = [
        subprocess.run([*asked, *more], check=True, cwd=ROOT, stdout=subprocess.PIPE).stdout
        for more in (ledger, ledger[:2])
    ]
    assert found[0] == found[1] and found[0]
