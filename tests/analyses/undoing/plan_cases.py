"""Random changes of tables with columns of every type, for what is made of them by the column."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from binlogkit.frames.schema import CellState, batch_schema

Values = st.SearchStrategy[Any]
DAY = 86_400_000_000  # µs
TIMES = st.sampled_from([0, 1, -1, DAY - 1, 253_402_300_799_999_999]) | st.integers(-DAY, DAY)
TEXTS = st.sampled_from(
    ["", "a", "A", "a ", "it's", '"', "\\", "\n", "誠", "0x41", "x" * 768, "é" * 769, "`", "\x7f"]
) | st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
BYTES = st.sampled_from([b"", b"'", b"\xbf\x5c", bytes(range(40))]) | st.binary(max_size=5)
DOUBLES = st.sampled_from([0.0, -0.0, 0.1, 1e22, 5e-324, 1.7976931348623157e308, float("nan")])
SINGLES = st.sampled_from([0.0, -0.0, 0.10000000149011612, 3.4028234663852886e38, 16777216.0])
DOCUMENTS = st.sampled_from(["{}", '{"a": "é\'"}', "[1, 2.5, null]", '"\\\\"'])


def integers(bits: int, *, signed: bool) -> Values:
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    return st.sampled_from([low, 0, 1, high]) | st.integers(low, high)


def decimals(digits: int, scale: int) -> Values:
    most = 10**digits - 1
    whole = st.sampled_from([0, 1, -1, most, -most]) | st.integers(-most, most)
    return whole.map(lambda n: Decimal(f"{n}e-{scale}"))


#: By kind: Arrow type, values, fraction digits.
TYPES: Sequence[tuple[str, pa.DataType, Values, int]] = (
    ("integer", pa.int8(), integers(8, signed=True), 0),
    ("integer", pa.uint64(), integers(64, signed=False), 0),
    ("float", pa.float32(), SINGLES, 0),
    ("double", pa.float64(), DOUBLES | st.floats(allow_nan=False), 0),
    ("decimal", pa.decimal128(38, 10), decimals(38, 10), 10),
    ("decimal", pa.decimal128(5, 0), decimals(5, 0), 0),
    ("decimal", pa.decimal256(65, 30), decimals(65, 30), 30),
    ("bit", pa.uint64(), integers(64, signed=False), 0),
    ("year", pa.int16(), st.sampled_from([0, 1901, 2155]), 0),
    ("date", pa.date32(), st.integers(-719_162, 2_932_896), 0),
    ("time", pa.duration("us"), st.integers(-34 * DAY, 34 * DAY), 6),
    ("datetime", pa.timestamp("us"), TIMES.map(lambda time: time - time % 1_000), 3),
    ("timestamp", pa.timestamp("us", "UTC"), TIMES.map(lambda time: time - time % 1_000_000), 0),
    ("text", pa.string(), TEXTS, 0),
    ("binary", pa.binary(), BYTES, 0),
    ("enum", pa.dictionary(pa.int32(), pa.string()), TEXTS, 0),
    ("enum", pa.uint16(), st.integers(0, 2), 0),
    ("set", pa.string(), st.sampled_from(["", "a", "a,é"]), 0),
    ("set", pa.uint64(), integers(64, signed=False), 0),
    ("json", pa.string(), DOCUMENTS, 0),
    ("geometry", pa.binary(), BYTES, 0),
    ("vector", pa.binary(), BYTES, 0),
)
TABLES = (("shop", "orders"), ("d`b", "订单"), ("a\\b", "t\0"), ("d", "t "))
NAMES = ("id", "Id", "name", "na`me", "n'a\"me", "名", "back\\slash", "blank ", "", "nul\0", "@1")


@dataclass(frozen=True)
class Odd:
    """A cell that has no Arrow value."""

    state: CellState
    data: bytes = b""
    text: str | None = None


MISSING = Odd(CellState.NOT_IN_IMAGE)
Cell = Any
Image = Mapping[str, Cell] | None
Change = tuple[str, Image, Image]


def _odd_cells(kind: str) -> list[Odd]:
    odd = [Odd(CellState.UNDECODABLE, b"\xff", "bad"), Odd(CellState.UNDECODABLE, b"\xfe", "bad")]
    if kind in ("date", "datetime", "timestamp"):
        odd += [Odd(CellState.NO_ARROW_VALUE, b"", text) for text in ("0000-00-00", "2023-00-15")]
    if kind == "json":
        diffs = [{"op": "remove", "path": "$.a", "value": None}]
        odd += [Odd(CellState.JSON_DIFF, b"\1", json.dumps(diffs))]
    return odd


@st.composite
def changes(draw: Callable[..., Any], names: Sequence[str] = NAMES) -> pa.RecordBatch:
    """A batch of changes of one table, in the canonical schema."""
    chosen = draw(st.lists(st.sampled_from(names), min_size=1, max_size=5, unique=True))
    types = [draw(st.sampled_from(TYPES)) for _ in chosen]
    stored = [draw(st.sampled_from(["", "", "stored"])) for _ in chosen]
    fields = [
        pa.field(name, dtype, metadata=_facts(kind, scale, generated))
        for name, (kind, dtype, _, scale), generated in zip(chosen, types, stored, strict=True)
    ]
    key = draw(st.lists(st.sampled_from(chosen), max_size=2, unique=True))
    whole = draw(st.booleans())  # full images of plain values
    cells = {
        name: _cells(kind, values, whole)
        for name, (kind, _, values, _) in zip(chosen, types, strict=True)
    }
    rows = draw(st.lists(st.sampled_from(["insert", "update", "delete"]), min_size=1, max_size=6))
    made: list[Change] = []
    for op in rows:
        before = {name: draw(cell) for name, cell in cells.items()}
        after = {n: before[n] if draw(st.booleans()) else draw(c) for n, c in cells.items()}
        made.append((op, None if op == "insert" else before, None if op == "delete" else after))
    table = draw(st.sampled_from(TABLES))
    return batch_of(fields, made, table, key, first=draw(st.integers(0, 9)))


def _facts(kind: str, scale: int, generated: str) -> dict[str, str]:
    facts = {"kind": kind, "scale": str(scale), "generated": generated}
    return {f"binlogkit:{name}": text for name, text in facts.items()}


def _cells(kind: str, values: Values, whole: bool) -> Values:
    if whole:
        return st.none() | values
    return st.none() | values | values | st.sampled_from([MISSING, *_odd_cells(kind)])


def batch_of(
    fields: Sequence[pa.Field],
    rows: Sequence[Change],
    table: tuple[str, str] = ("shop", "orders"),
    key: Sequence[str] = ("id",),
    *,
    first: int = 0,
) -> pa.RecordBatch:
    """Changes with numbers in ``seq`` from ``first`` on, every second number."""
    metadata = {
        b"binlogkit:table": json.dumps(table).encode(),
        b"binlogkit:key": json.dumps(list(key)).encode(),
    }
    schema = batch_schema(list(fields), metadata)
    numbers = range(len(rows))
    made: dict[str, Sequence[Any]] = {
        "file": ["binlog.000001"] * len(rows),
        "pos": [4 + n // 2 for n in numbers],
        "row": [n % 2 for n in numbers],
        "inner": [n if n > 3 else None for n in numbers],
        "timestamp": [1_700_000_000 + n // 3 for n in numbers],
        "gtid": [None if n == 1 else f"uuid:{n // 2}" for n in numbers],
        "db": [table[0]] * len(rows),
        "table": [table[1]] * len(rows),
        "op": [op for op, _, _ in rows],
        "seq": [first + 2 * n for n in numbers],
        "tx": numbers,
        "before_state": [_states(before, fields) for _, before, _ in rows],
        "after_state": [_states(after, fields) for _, _, after in rows],
        "raw": [(_raw(b, fields, 0) + _raw(a, fields, 1)) or None for _, b, a in rows],
    }
    images = {
        "before": _images([before for _, before, _ in rows], fields),
        "after": _images([after for _, _, after in rows], fields),
    }
    arrays = [
        images.get(f.name) or pa.array(made.get(f.name, [None] * len(rows)), f.type) for f in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _images(images: Sequence[Image], fields: Sequence[pa.Field]) -> pa.StructArray:
    columns = [
        pa.array([None if i is None or isinstance(i[f.name], Odd) else i[f.name] for i in images],
                 f.type)
        for f in fields
    ]  # fmt: skip
    missing = pa.array([image is None for image in images])
    return pa.StructArray.from_arrays(columns, fields=list(fields), mask=missing)


def _states(image: Image, fields: Sequence[pa.Field]) -> list[int] | None:
    cells = [] if image is None else [image[field.name] for field in fields]
    if not any(isinstance(cell, Odd) for cell in cells):
        return None
    return [int(cell.state if isinstance(cell, Odd) else cell is None) for cell in cells]


def _raw(image: Image, fields: Sequence[pa.Field], number: int) -> list[dict[str, Any]]:
    cells = [] if image is None else [image[field.name] for field in fields]
    return [
        {"image": number, "column": i, "bytes": cell.data, "text": cell.text}
        for i, cell in enumerate(cells)
        if isinstance(cell, Odd) and cell is not MISSING
    ]
