"""What a URL of a store names, what finding it costs, what is reported where it cannot be read."""

from __future__ import annotations

import json
import traceback
from pathlib import Path
from typing import Any

import fsspec
import pytest

import binlogkit as bk
from binlogkit.cli import run
from binlogkit.errors import BinlogKitError, EmptyInputError, InputError, UsageError
from binlogkit.sources.carriers import resolve
from binlogkit.sources.carriers.storage import (
    STORAGE_VARIABLE,
    Located,
    StorageOptions,
    storage_options,
)
from binlogkit.sources.carriers.storage import storage_options as given_options
from binlogkit.spark.options import parse_options
from binlogkit.spark.splits.decode import decode, scan_schema
from binlogkit.spark.splits.plan import make_plan
from tests.sources.carried import KEYS
from tests.sources.stores.conftest import SECRET, Bucket
from tests.sources.stores.gate import Gate

LOG = KEYS.read_bytes()


def names(url: str, options: dict[str, Any]) -> list[str]:
    found = resolve(url, storage=StorageOptions(options))
    return [c.name.removeprefix(url.split("*")[0]) for c in found]


def test_a_folder_that_holds_logs_gives_these(bucket: Bucket, options: dict[str, Any]) -> None:
    for key in ("logs/binlog.999999", "logs/binlog.1000000", "logs/old/binlog.000001"):
        bucket.put(key, LOG)
    bucket.put("logs/binlog.index", b"./binlog.999999\n")
    bucket.put("logs/notes.txt", b"no log")
    url = f"s3://{bucket.name}/logs/"
    assert names(url, options) == ["binlog.999999", "binlog.1000000"]
    assert "old/binlog.000001" in names(f"{url}**/binlog.*", options)


@pytest.mark.parametrize("local", [False, True])
def test_a_folder_of_folders_gives_each_ones_logs(
    bucket: Bucket, options: dict[str, Any], tmp_path: Path, local: bool
) -> None:
    keys = ["a/binlog.999999", "a/binlog.1000000", "b/x/binlog.000007", "b/notes.txt", "top.txt"]
    for key in keys:
        data = LOG if "binlog" in key else b"no log"
        bucket.put(f"logs/{key}", data)
        (tmp_path / key).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / key).write_bytes(data)
    url = f"{tmp_path}/" if local else f"s3://{bucket.name}/logs/"
    assert names(url, options) == keys[:3]


@pytest.mark.slow
def test_a_listing_costs_a_request_for_each_thousand(
    bucket: Bucket, options: dict[str, Any], gate: Gate
) -> None:
    fs = fsspec.filesystem("s3", **options)
    many = {f"{bucket.name}/logs/binlog.{i:06}": LOG[:4] for i in range(1, 2501)}
    fs.pipe(many)
    gate.forget()
    found = resolve(f"s3://{bucket.name}/logs/", storage=StorageOptions(options))
    assert len(found) == 2500
    assert {carrier.size for carrier in found} == {4}
    listings = [r for r in gate.requests if "list-type=2" in r.path and "max-keys=1" not in r.path]
    assert len(listings) == 3
    assert len(gate.requests) <= 6  # what it is that the URL names is asked as well
    with found[1234].open() as file:
        assert file.read(4) == LOG[:4]
    assert [r.method for r in gate.requests].count("HEAD") <= 1


def test_what_is_not_there(bucket: Bucket, options: dict[str, Any]) -> None:
    url = f"s3://{bucket.name}/nothing/binlog.000001"
    with pytest.raises(InputError, match=f"{url}: no such file$"):
        bk.open(url, storage_options=options).events()
    with pytest.raises(InputError, match=r"s3://no-bucket-of-ours/x: .*no such bucket"):
        bk.open("s3://no-bucket-of-ours/x", storage_options=options).events()
    bucket.put("logs/notes.txt", b"no log")
    with pytest.raises(EmptyInputError, match="the folder holds no binary log"):
        bk.open(f"s3://{bucket.name}/logs/", storage_options=options)


def test_access_that_is_denied(bucket: Bucket, options: dict[str, Any], gate: Gate) -> None:
    """The server's answer is injected on the wire."""
    url = bucket.put("binlog.000001", LOG)
    gate.status = 403
    with pytest.raises(InputError, match="access is denied") as caught:
        bk.open(url, storage_options=options)
    assert SECRET not in "".join(traceback.format_exception(caught.value))


def test_an_endpoint_that_is_not_there(options: dict[str, Any]) -> None:
    away = {
        **options,
        "endpoint_url": "http://127.0.0.1:1",
        "config_kwargs": {"retries": {"max_attempts": 0}},
    }
    with pytest.raises(InputError, match="the endpoint cannot be reached") as caught:
        bk.open("s3://bucket/binlog.000001", storage_options=away)
    assert SECRET not in "".join(traceback.format_exception(caught.value))


def test_nothing_shows_the_options(bucket: Bucket, options: dict[str, Any]) -> None:
    url = bucket.put("logs/binlog.000001", LOG)
    log = bk.open(url, storage_options=options)
    scan = parse_options({"path": url, "storageOptions": json.dumps(options)})
    plan = make_plan(scan)
    shown = [log, log.carriers, scan, scan.storage_options, plan, plan.splits, log._repr_html_()]
    shown += [log.verify().findings, log.carriers[0].location, next(log.event_records())]
    assert SECRET not in " ".join(f"{item!r} {item!s}" for item in shown)
    assert scan.storage_options == StorageOptions(options)


def test_splits_of_a_store_are_read_with_the_options(
    bucket: Bucket, options: dict[str, Any]
) -> None:
    url = bucket.put("logs/binlog.000001", LOG)
    given = {"path": url, "storageOptions": json.dumps(options), "splitBytes": "4096"}
    plan = make_plan(parse_options(given))
    assert len(plan.splits) > 2
    schema = scan_schema(plan)
    count = sum(b.num_rows for s in plan.splits for b in decode(plan.scan, s, schema))
    assert count == len(bk.open(LOG).rows())


@pytest.mark.parametrize("command", ["events", "audit", "verify"])
def test_the_command_line(
    bucket: Bucket,
    options: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: str,
) -> None:
    url = bucket.put("logs/binlog.000001", LOG)
    path = tmp_path / "s3.json"
    path.write_text(json.dumps({"key": "me", "secret": SECRET}))
    endpoint = f"endpoint_url={options['endpoint_url']}"
    given = ["--storage-options", str(path), "--storage-option", endpoint]
    status = run([command, url, *given])
    first = capsys.readouterr()
    assert status in (0, 1), first.err
    assert len(first.out) > 100
    assert SECRET not in first.out + first.err
    monkeypatch.setenv(STORAGE_VARIABLE, json.dumps(options))
    assert run([command, url]) == status
    assert len(capsys.readouterr().out) == len(first.out)


@pytest.mark.parametrize("text", ['{"secret": "hunter2"', '["hunter2"]', '"hunter2"'])
def test_what_are_no_options_is_not_told(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s3.json"
    path.write_text(text)
    monkeypatch.setenv(STORAGE_VARIABLE, text)
    with pytest.raises(BinlogKitError, match=f"{STORAGE_VARIABLE}.* is no JSON object") as caught:
        storage_options(None)
    assert "hunter2" not in str(caught.value)
    monkeypatch.delenv(STORAGE_VARIABLE)
    with pytest.raises(UsageError, match="no JSON object of options") as caught:
        parse_options({"path": "x", "storageOptions": text})
    assert "hunter2" not in str(caught.value)
    assert run(["events", "x", "--storage-options", str(path)]) == 2
    shown = capsys.readouterr()
    assert "no JSON object of options" in shown.err
    assert "hunter2" not in shown.out + shown.err


def test_values_are_hidden_in_texts() -> None:
    nested = StorageOptions({"key": "me", "client_kwargs": {"token": SECRET}, "anon": False})
    assert repr(nested) == "StorageOptions(key=…, client_kwargs=…, anon=…)"
    assert nested.hidden(f"cannot use {SECRET}.") == "cannot use …."
    assert repr(Located("s3://a/b", nested)) == "'s3://a/b'"
    assert given_options(None) == StorageOptions()
