"""A masked changelog is what a landing with the same masks holds; open names are an error."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest

import binlogkit as bk
from binlogkit.errors import InputError, UsageError
from binlogkit.spark.landing.terms import Terms
from binlogkit.spark.masks import parse_masks
from binlogkit.spark.options import parse_options
from binlogkit.spark.splits.decode import scan_schema
from binlogkit.spark.splits.masked import check_masked
from binlogkit.spark.stream.beginning import stream_schema
from binlogkit_fixtures import golden
from tests.spark.landing.landings import land, landed
from tests.spark.splits.test_changelog import changelog_of
from tests.spark.splits.test_splits import plan_of, read
from tests.spark.stream.streams import Query, batch_of
from tests.spark.stream.test_beginning import base_at, ends

CASE = golden.case("8.0-row-full", "transactions")
TABLE = "bank.note"
KEY = b"sixteen bytes, or more"
TYPES = golden.case("8.0-row-full", "types")


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "key"
    path.write_bytes(KEY)
    return path


def test_values_are_left_out_hashed_and_cut(key: Path) -> None:
    plain = changelog_of(CASE.path, "bank.ledger")
    own = [name for name in plain[0] if name[0] != "_"]
    hashed, cut, dropped = own[0], own[1], own[-1]
    masks = [f"{hashed}=hash", f"{cut}=truncate:1", f"{dropped}=drop"]
    given = json.dumps([f"bank.ledger.{mask}" for mask in masks])
    found = changelog_of(CASE.path, "bank.ledger", mask=given, maskKeyFile=str(key))
    assert len(found) == len(plain) > 1
    for masked, row in zip(found, plain, strict=True):
        assert dropped not in masked
        text = str(row[hashed]).encode()
        assert masked[hashed] == hmac.new(KEY, text, hashlib.sha256).hexdigest()
        assert masked[cut] == (None if row[cut] is None else str(row[cut])[:1])
        assert masked["_query"] is None
        kept = row.keys() - {hashed, cut, dropped, "_query"}
        assert {name: masked[name] for name in kept} == {name: row[name] for name in kept}


@pytest.mark.parametrize(
    "case",
    [
        CASE,
        pytest.param(TYPES, marks=pytest.mark.slow),
        pytest.param(golden.case("8.0-row-minimal", "types"), marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_what_lands_with_the_same_masks(case: golden.GoldenCase, key: Path, tmp_path: Path) -> None:
    """Of every table the second column hashed and the third left out, in its cells, too."""
    for schema in {s.name: s for s in bk.open(case.path).table_schemas()}.values():
        names = [column.name for column in schema.columns]
        if len(names) < 3 or not schema.named:
            continue
        table = ".".join(schema.name)
        masks = [f"{table}.`{names[1]}`=hash", f"{table}.`{names[2]}`=drop"]
        out = tmp_path / schema.table
        land(case.path, out, Terms((table,), (), parse_masks(masks, key)))
        [wanted] = landed(out).values()
        found = changelog_of(case.path, table, mask=json.dumps(masks), maskKeyFile=str(key))
        assert len(found) == len(wanted)
        for mine, row in zip(found, wanted, strict=True):
            assert names[2] not in mine
            assert mine[names[1]] == row[names[1]]
            assert _cells(mine, mine) == _cells(row, mine)


def _cells(row: dict[str, Any], names: Collection[str]) -> list[tuple[str, ...]]:
    """The cells of these columns; those that are left out are not looked at."""
    cells = [tuple(map(str, cell.values())) for cell in row["_cells"] or ()]
    return sorted(cell for cell in cells if cell[0] in names)


@pytest.mark.parametrize(
    ("mask", "words"),
    [
        ("bank.note.nothing=drop", "is for no column in these logs"),
        ("bank.ledger.id=drop", "is for another table than bank.note"),
        ("bank.note.text=hash", "hash needs a key"),
        ("bank.note.text=clear", "clear is for landings"),
        ("bank.note.text=hide", "a mask is "),
    ],
)
def test_a_mask_that_masks_nothing_is_an_error(mask: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        plan_of(CASE.path, records="changelog", table=TABLE, mask=mask)


def test_names_that_are_not_known_are_an_error() -> None:
    """Without their CREATE TABLE, which stands in the log before."""
    log = golden.case("5.7-row-full", "transactions").binlogs[-1]
    plan_of(log, records="changelog", table="bank.account")
    with pytest.raises(UsageError, match="names of its columns are not known"):
        plan_of(log, records="changelog", table="bank.account", mask="bank.account.id=drop")


def test_other_records_have_no_masks() -> None:
    with pytest.raises(UsageError, match="mask is of records=changelog"):
        parse_options({"path": "x", "table": "t", "mask": "t.c=drop"})


def test_a_schema_of_the_user_and_conditions_do_not_go_round_it(key: Path) -> None:
    options = {"records": "changelog", "table": "bank.ledger", "mask": "bank.ledger.id=drop"}
    schema = scan_schema(plan_of(CASE.path, 1, **options))
    asked = parse_options({"path": str(CASE.path), **options})
    check_masked(asked, schema)
    plain = scan_schema(plan_of(CASE.path, records="changelog", table="bank.ledger"))
    with pytest.raises(UsageError, match="take columns with select"):
        check_masked(asked, plain)
    asked = parse_options({"path": str(CASE.path), **options, "where": "id=7"})
    with pytest.raises(UsageError, match="where names id, which is masked"):
        check_masked(asked, schema)


def test_a_key_that_is_gone_is_an_error(key: Path) -> None:
    given = {"mask": "bank.ledger.id=hash", "maskKeyFile": str(key), "records": "changelog"}
    plan = plan_of(CASE.path, 1, table="bank.ledger", **given)
    key.unlink()
    with pytest.raises(InputError, match="cannot be read"):
        read(plan)


@pytest.mark.parametrize("name", ["select", "from"])
def test_a_renamed_column_is_masked_under_each_name(name: str) -> None:
    """``ALTER TABLE … CHANGE `select` `from` …``"""
    table = "evolve.`odd ``name``; --`"
    path = golden.case("8.0-row-full", "ddl").path
    plain = scan_schema(plan_of(path, records="changelog", table=table)).names
    assert {"select", "from"} <= {*plain}
    mask = json.dumps([f"{table}.{name}=drop"])
    found = scan_schema(plan_of(path, records="changelog", table=table, mask=mask)).names
    assert found == [one for one in plain if one not in ("select", "from")]


def test_a_stream_is_masked_from_its_base_on(key: Path, tmp_path: Path) -> None:
    log, table = bk.open(CASE.path), "bank.ledger"
    places = ends(log)
    options = {
        "records": "changelog", "table": table, "maskKeyFile": str(key), "mask": f"{table}.id=hash",
        "base": base_at(log, table, places[len(places) // 2], tmp_path / "base"),
    }  # fmt: skip
    asked = parse_options({"path": str(CASE.path), **options})
    query = Query(CASE.path, schema=stream_schema(asked), **options)
    rows = query.all()
    ids = {str(row["id"]) for row in batch_of(CASE.path, records="changelog", table=table)[0]}
    hashes = {hmac.new(KEY, one.encode(), hashlib.sha256).hexdigest() for one in ids}
    assert rows
    assert {row["id"] for row in rows} <= hashes
    assert any(row["_commit_timestamp"] is None for row in rows)
