"""Row changes through an index are those of a reading of the logs."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import binlogkit as bk
from binlogkit.errors import BinlogKitError
from binlogkit.log.index import Index, part
from binlogkit.log.index.choosing import ChosenReading
from binlogkit.rows.filters import Filters, written_table_name
from binlogkit_fixtures import golden
from tests.answers.binlogkit_answers.inputs import Input, committed

INPUTS = committed()
TWO_FILES = golden.case("8.0-row-full", "transactions")


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Segments of some hundred bytes."""
    for function in (part.part_of, part.parts_of):
        monkeypatch.setattr(function, "__kwdefaults__", {"segment": 200, "counting": False})


def _rows(log: bk.Log, filters: dict[str, Any]) -> list[Any]:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            found = log.rows(engine="pyarrow", **filters)
        except BinlogKitError as error:
            return [type(error), str(error)]
    said = sorted(str(warning.message) for warning in told)
    notes = [(note.code, note.place, note.found) for note in log.notes]
    return [found.to_pylist(), said, log.gaps, notes, log.times, log.problems]


def _asked(log: bk.Log) -> list[dict[str, Any]]:
    """Filters of each kind, by what the log has in its middle."""
    found: list[dict[str, Any]] = [{}, {"op": "delete"}, {"table": "no.such"}, {"where": "no=1"}]
    try:
        batches = list(log.batches())
        transactions = log.transactions(engine="pyarrow").to_pylist()
    except BinlogKitError:
        return found
    for batch in batches[:: max(1, len(batches) // 3)]:
        row = batch.batch.slice(batch.batch.num_rows // 2, 1).to_pylist()[0]
        image = row["after"] or row["before"]
        column, value = next(iter(image.items()))
        table = ".".join(f"`{name}`" for name in batch.table)
        found += [{"table": table}, {"table": table, "where": [{column: value}]}]
        if isinstance(value, (int, str)):
            found.append({"where": [f"`{column}`={value}"]})
        if isinstance(value, int):
            found.append({"where": f"after.`{column}` in ({value}, -77)"})
        found += [{"gtid": row["gtid"]}] if row["gtid"] else []
    for one in transactions[len(transactions) // 2 :][:1]:
        found.append({"thread": one["thread_id"] or 1})
        found.append({"start_time": one["end_timestamp"]})
        found.append({"stop_time": one["end_timestamp"]})
        found.append({"start_position": one["pos"], "stop_position": one["end_pos"]})
    return found


def _both(item: Input, written: Callable[[Input], list[str]]) -> tuple[bk.Log, bk.Log]:
    """The logs of an input without an index, and with one that knows them."""
    names = written(item)
    plain, known = (bk.open(names, index=index, **item.options) for index in (None, "index"))
    Index("index").update(known.carriers)
    return plain, known


@pytest.mark.sampled(0, 8)
@pytest.mark.parametrize("name", sorted(INPUTS))
def test_they_are_those_of_a_reading(
    name: str, written: Callable[[Input], list[str]], small: None
) -> None:
    plain, known = _both(INPUTS[name], written)
    for filters in _asked(plain):
        assert _rows(known, filters) == _rows(plain, filters), filters


def _state(log: bk.Log, table: str, point: dict[str, Any]) -> list[Any]:
    try:
        state = log.state(table, **point)
        rows = state.rows.to_pylist()
        values = rows[len(rows) // 2] if rows else {}
        values = values.get("values", values)
        key = [values.get(name) for name in state.key]
        life = log.life(table, key) if key and None not in key else None
    except BinlogKitError as error:
        return [type(error), str(error)]
    told = [state.determined, state.findings.to_pylist(), state.facts().metadata(), log.gaps]
    if life is not None:
        told += [life.rows.to_pylist(), life.findings.to_pylist(), life.key, life.assumes]
    return [rows, *map(str, told)]


@pytest.mark.filterwarnings("ignore::binlogkit.errors.UnmetWarning")
@pytest.mark.sampled(1, 6)
@pytest.mark.parametrize("name", sorted(INPUTS))
def test_states_and_lives_are_those_of_a_reading(
    name: str, written: Callable[[Input], list[str]], small: None
) -> None:
    plain, known = _both(INPUTS[name], written)
    try:
        tables, transactions = plain.table_names(), plain.transactions(engine="pyarrow").to_pylist()
    except BinlogKitError:
        return
    points: list[dict[str, Any]] = [{}]
    for one in transactions[len(transactions) // 2 :][:1]:
        points += [{"at": (one["end_file"], one["end_pos"])}, {"until_time": one["end_timestamp"]}]
        points += [{"until_gtid": one["gtid"]}] if one["gtid"] else []
    for table in [*tables[:4], "no.such"]:
        for point in points:
            assert _state(known, table, point) == _state(plain, table, point), (table, point)


def test_rows_before_their_table_map_are_not_cut_from_it(tmp_path: Path) -> None:
    """A crafted log: rows whose map stands in the transaction before, which has one of its own."""
    item = INPUTS["damaged/8.0-row-minimal/keys/rewritten/0"]
    (name, data), *_ = item.files().items()
    path = tmp_path / name
    path.write_bytes(data)
    (found,) = part.parts_of(bk.open(path).carriers, segment=1)
    assert len(found.segments) == 1


def test_only_what_matters_is_read(tmp_path: Path, small: None) -> None:
    for path in TWO_FILES.binlogs:
        shutil.copy(path, tmp_path)
    log = bk.open(sorted(tmp_path.glob("binlog.0*")), index=tmp_path / "index")
    Index(tmp_path / "index").update(log.carriers)
    table = written_table_name(*log.table_pairs()[0])
    for wanted in ({"table": table, "where": "id=999999"}, {"table": "no.such"}, {"thread": -7}):
        reading = log.reading_of(Filters.build(**wanted))
        assert isinstance(reading, ChosenReading)
        assert reading.stretches == []
        assert log.read_before
    for gtid in filter(None, log.transactions(engine="pyarrow")["gtid"].to_pylist()[-2:]):
        reading = log.reading_of(Filters.build(gtid=gtid))
        assert isinstance(reading, ChosenReading)
        assert len(reading.stretches) <= 1


def test_an_undo_reads_the_logs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small: None
) -> None:
    for path in TWO_FILES.binlogs:
        shutil.copy(path, tmp_path)
    names = sorted(tmp_path.glob("binlog.0*"))
    log = bk.open(names, index=tmp_path / "index")
    Index(tmp_path / "index").update(log.carriers)
    monkeypatch.setattr(Index, "parts", None)
    table = written_table_name(*bk.open(names).table_pairs()[0])
    plans = [len(one.undo(table=table, despite_gaps=True)) for one in (log, bk.open(names))]
    assert plans[0] == plans[1]
    assert log.verify().findings == bk.open(names).verify().findings


def test_a_log_that_is_not_known_is_read(tmp_path: Path, small: None) -> None:
    for path in TWO_FILES.binlogs:
        shutil.copy(path, tmp_path)
    names = sorted(tmp_path.glob("binlog.0*"))
    Index(tmp_path / "index").update(bk.open(names[:1]).carriers)
    plain, known = (bk.open(names, index=index) for index in (None, tmp_path / "index"))
    table = written_table_name(*plain.table_pairs()[0])
    for where in ("id=1", "id=3", "after.id=77777", "after.id > 2"):
        filters = {"table": table, "where": where}
        assert _rows(known, filters) == _rows(plain, filters)
