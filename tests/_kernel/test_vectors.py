"""Values that other projects' tests hold, read in place from the shared corpus."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from binlogkit._kernel.codecs import (
    CellSpec,
    NoArrowValue,
    Undecodable,
    decoder_for,
    metadata_length,
    resolve,
)
from binlogkit._kernel.json_binary import InvalidJson, to_text
from binlogkit._kernel.json_diff import parse_diffs
from binlogkit._kernel.text import date_text, datetime_text, decimal_text, time_text
from binlogkit.constants import ColumnType as T

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


def cell(vector: dict[str, Any]) -> tuple[CellSpec, object]:
    params = vector["params"]
    size = metadata_length(params["type"])
    big = params["type"] in (T.STRING, T.NEWDECIMAL, T.ENUM, T.SET)
    meta = params["meta"].to_bytes(size, "big" if big else "little") if size else b""
    real = resolve(params["type"], meta)
    unsigned = bool(params.get("unsigned"))
    spec = CellSpec(real.type, meta, unsigned, real.length, real.precision, real.scale)
    data = bytes.fromhex(vector["hex"])
    value, end = decoder_for(spec)(data, 0, len(data))
    assert end == len(data)
    return spec, value


def in_their_form(spec: CellSpec, value: Any) -> object:
    if isinstance(value, NoArrowValue):
        return value.text
    if isinstance(value, Decimal):
        return decimal_text(value)
    return _TEMPORAL[spec.type](value, spec.scale) if spec.type in _TEMPORAL else value


def check_cell(vector: dict[str, Any]) -> None:
    spec, value = cell(vector)
    if vector["name"] in NO_VALUE:
        assert isinstance(value, Undecodable)
        return
    expected = vector["expected"]
    if isinstance(expected, dict):
        expected = bytes.fromhex(expected["hex"]).decode()
    expected = FORMS.get(vector["kind"], str)(expected)
    if spec.type is T.FLOAT:
        assert value == pytest.approx(expected, rel=1e-7)
    else:
        assert in_their_form(spec, value) == expected


def check_json(vector: dict[str, Any]) -> None:
    expected = vector.get("canonical_text", vector["expected"])
    assert to_text(bytes.fromhex(vector["hex"])) == expected


def check_malformed_json(vector: dict[str, Any]) -> None:
    with pytest.raises(InvalidJson):
        to_text(bytes.fromhex(vector["hex"]))


def check_malformed_diff(vector: dict[str, Any]) -> None:
    with pytest.raises(InvalidJson):
        parse_diffs(bytes.fromhex(vector["params"]["diff_hex"]))


def check_diff(vector: dict[str, Any]) -> None:
    text = "@2"
    for diff in parse_diffs(bytes.fromhex(vector["params"]["diff_hex"])):
        value = as_mysqlbinlog_prints(diff["value"])
        text = f"JSON_{diff['op'].upper()}({text}, '{diff['path']}', {value})"
    assert f"@2={text}" == vector["expected"]


def as_mysqlbinlog_prints(value: str | None) -> str:
    if value is not None and value.startswith('"'):
        return f"'{json.loads(value)}'"
    return f"CAST('{value}' AS JSON)" if value and value[0] in "[{" else str(value)


CHECKS: dict[str, Callable[[dict[str, Any]], None]] = {
    **dict.fromkeys(CELL_KINDS, check_cell),
    "json": check_json,
    "error_json": check_malformed_json,
    "error_json_diff": check_malformed_diff,
    "json_diff": check_diff,
}


@pytest.mark.parametrize("vector", vectors(), ids=lambda v: f"{v['kind']}-{v['name']}")
def test_vector(vector: dict[str, Any]) -> None:
    CHECKS[vector["kind"]](vector)


def test_vectors_are_there() -> None:
    """They are read when tests are collected; a missing corpus is told here."""
    if not CORPUS.is_file():
        assert not os.environ.get("CI"), f"{CORPUS} is missing"
        pytest.skip(f"the shared corpus is not here ({CORPUS})")
    assert {vector["kind"] for vector in vectors()} == CHECKS.keys()
