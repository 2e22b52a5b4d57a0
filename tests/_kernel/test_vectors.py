"""Values that other projects' tests hold, read in place from the shared corpus.

Each through the codecs, and through the compiled kernel into a batch.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from binlogkit._kernel.cells import CellSpec, NoArrowValue, Undecodable
from binlogkit._kernel.codecs import decoder_for
from binlogkit._kernel.json_binary import InvalidJson, to_text
from binlogkit._kernel.json_diff import parse_diffs
from binlogkit._kernel.metadata import metadata_length, resolve
from binlogkit._kernel.value_text import date_text, datetime_text, decimal_text, time_text
from binlogkit.constants import ColumnType as T
from binlogkit.frames.schema import CellState

CORPUS = Path(__file__).parents[3] / "shared" / "corpus" / "vectors.json"
CELL_KINDS = frozenset(
    {
        *("bit", "blob", "date", "datetime2", "datetime_old", "decimal", "double", "float"),
        *("geometry", "int", "json_column", "set", "string", "time2", "time_old", "timestamp2"),
        *("timestamp_old", "year"),
    }
)
# Their expectation is another form of the same value, or a value that is none.
FORMS: dict[str, Callable[[str], object]] = {
    "bit": lambda text: int(text, 2),
    "float": float,
    "double": float,
    "int": int,
    "set": int,
    "year": int,
    "blob": str,
    "geometry": str.encode,
}
NO_VALUE = {
    "Test_DateTime2_Invalid": "minute 63 and second 63 of a negative DATETIME: the server has none",
}
_TEMPORAL: dict[T, Callable[[Any, int], str]] = {
    T.DATE: lambda v, _: date_text(v),
    T.TIME: time_text,
    T.TIME2: time_text,
    T.DATETIME: datetime_text,
    T.DATETIME2: datetime_text,
    T.TIMESTAMP: datetime_text,
    T.TIMESTAMP2: datetime_text,
}


def vectors() -> list[dict[str, Any]]:
    if not CORPUS.is_file():
        return []
    return [v for v in json.loads(CORPUS.read_text(encoding="utf-8")) if v["kind"] in CHECKS]


def cell(vector: dict[str, Any]) -> tuple[CellSpec, bytes]:
    params = vector["params"]
    size = metadata_length(params["type"])
    big = params["type"] in (T.STRING, T.NEWDECIMAL, T.ENUM, T.SET)
    meta = params["meta"].to_bytes(size, "big" if big else "little") if size else b""
    real = resolve(params["type"], meta)
    unsigned = bool(params.get("unsigned"))
    spec = CellSpec(real.type, meta, unsigned, real.length, real.precision, real.scale)
    return spec, bytes.fromhex(vector["hex"])


def by_codec(spec: CellSpec, data: bytes) -> object:
    value, end = decoder_for(spec)(data, 0, len(data))
    assert end == len(data)
    return value


def in_their_form(spec: CellSpec, value: Any) -> object:
    if isinstance(value, NoArrowValue):
        return value.text
    if isinstance(value, Decimal):
        return decimal_text(value)
    return _TEMPORAL[spec.type](value, spec.scale) if spec.type in _TEMPORAL else value


def check_cell(vector: dict[str, Any], kernel: ModuleType) -> None:
    spec, data = cell(vector)
    (stored,) = kernel.through_kernel(spec, [data])
    for value in (by_codec(spec, data), stored.as_codec()):
        if vector["name"] in NO_VALUE:
            assert isinstance(value, Undecodable)
            continue
        expected = vector["expected"]
        if isinstance(expected, dict):
            expected = bytes.fromhex(expected["hex"]).decode()
        expected = FORMS.get(vector["kind"], str)(expected)
        if spec.type is T.FLOAT:
            assert value == pytest.approx(expected, rel=1e-7)
        else:
            assert in_their_form(spec, value) == expected


JSON = CellSpec(T.JSON, length=4)


def stored_json(vector: dict[str, Any], kernel: ModuleType) -> Any:
    data = bytes.fromhex(vector["hex"])
    (stored,) = kernel.through_kernel(JSON, [len(data).to_bytes(4, "little") + data])
    return stored.as_codec()


def check_json(vector: dict[str, Any], kernel: ModuleType) -> None:
    expected = vector.get("canonical_text", vector["expected"])
    assert to_text(bytes.fromhex(vector["hex"])) == expected
    assert stored_json(vector, kernel) == expected


def check_malformed_json(vector: dict[str, Any], kernel: ModuleType) -> None:
    with pytest.raises(InvalidJson):
        to_text(bytes.fromhex(vector["hex"]))
    assert isinstance(stored_json(vector, kernel), Undecodable)


def check_malformed_diff(vector: dict[str, Any], kernel: ModuleType) -> None:
    diff = bytes.fromhex(vector["params"]["diff_hex"])
    with pytest.raises(InvalidJson):
        parse_diffs(diff)
    assert kernel.diff_through_kernel(JSON, diff).as_codec().raw == diff


def check_diff(vector: dict[str, Any], kernel: ModuleType) -> None:
    text = "@2"
    data = bytes.fromhex(vector["params"]["diff_hex"])
    stored = kernel.diff_through_kernel(JSON, data)
    assert (stored.state, stored.value, stored.raw["bytes"]) == (CellState.JSON_DIFF, None, data)
    assert json.loads(stored.raw["text"]) == parse_diffs(data)
    for diff in parse_diffs(data):
        value = as_mysqlbinlog_prints(diff["value"])
        text = f"JSON_{diff['op'].upper()}({text}, '{diff['path']}', {value})"
    assert f"@2={text}" == vector["expected"]


def as_mysqlbinlog_prints(value: str | None) -> str:
    if value is not None and value.startswith('"'):
        return f"'{json.loads(value)}'"
    return f"CAST('{value}' AS JSON)" if value and value[0] in "[{" else str(value)


CHECKS: dict[str, Callable[[dict[str, Any], ModuleType], None]] = {
    **dict.fromkeys(CELL_KINDS, check_cell),
    "json": check_json,
    "error_json": check_malformed_json,
    "error_json_diff": check_malformed_diff,
    "json_diff": check_diff,
}


@pytest.mark.parametrize("vector", vectors(), ids=lambda v: f"{v['kind']}-{v['name']}")
def test_vector(vector: dict[str, Any], kernel_cells: ModuleType) -> None:
    CHECKS[vector["kind"]](vector, kernel_cells)


def test_vectors_are_there() -> None:
    """They are read when tests are collected; a missing corpus is reported here."""
    if not CORPUS.is_file():
        assert not os.environ.get("CI"), f"{CORPUS} is missing"
        pytest.skip(f"the shared corpus is not here ({CORPUS})")
    assert {vector["kind"] for vector in vectors()} == CHECKS.keys()
