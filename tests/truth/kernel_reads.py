"""A log through the compiled kernel alone, and its Arrow values in the server's words.

What a value reads like is written anew here, apart from the toolkit's own.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import binlogkit as bk
from binlogkit.frames.row_batches import read_batches
from binlogkit.rows.filters import Filters
from binlogkit.rows.reading import Reading
from binlogkit.rows.schema import table_plan
from tests.reference.binlogkit_reference import Walk, read_windows

__all__ = ["arrow_type", "difference", "flushed", "kernel_alone", "server_words", "version"]

VALUE, NULL, NOT_IN_IMAGE, UNDECODABLE, NO_ARROW_VALUE, JSON_DIFF = range(6)
#: Sets whose characters have several bytes and are not UTF-8: Python makes text of their cells.
BY_CODEC = frozenset(
    ("big5", "cp932", "eucjpms", "euckr", "gb18030", "gb2312", "gbk", "sjis", "ucs2", "ujis",
     "utf16", "utf16le", "utf32")
)  # fmt: skip


def version(server: Any) -> tuple[int, ...]:
    """(5, 7, 22)"""
    return tuple(map(int, server.version.split(".")))


def flushed(server: Any, folder: Path) -> Path:
    """A copy of the log that the server wrote last; it begins a new one."""
    server.query("FLUSH BINARY LOGS")
    return Path(server.copy_binlog(server.binlog_names()[-2], folder))


def kernel_alone(log: bk.Log) -> list[bk.Batch]:
    """The batches of a log, every event and cell of which the kernel must read itself."""
    for window in log.reading().windows():
        assert window.stretch is None or window.stretch.raws is None, "not read as it lies"
        for schema in filter(None, window.schemas):
            for column in table_plan(schema, window.server_version).columns:
                assert column.kind != "bad"
                assert not column.by_codec or column.spec.charset in BY_CODEC, column
    batches = list(log.batches())
    assert not log.damages and not log.problems
    for batch in batches:
        batch.batch.validate(full=True)
    return batches


# ---- values ---------------------------------------------------------------------------------


def _words(kind: pa.DataType, scale: int, value: Any) -> str:
    if pa.types.is_date32(kind):
        return str(np.datetime64(value, "D"))
    if pa.types.is_timestamp(kind):
        moment = str(np.datetime64(value, "us")).replace("T", " ")
        return moment[: 20 + scale] if scale else moment[:19]
    if pa.types.is_duration(kind):
        seconds, part = divmod(abs(value), 1_000_000)
        clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        return f"{'-' if value < 0 else ''}{clock}" + f".{part:06}"[: scale + 1 if scale else 0]
    if pa.types.is_decimal(kind):
        return f"{value:f}"
    if pa.types.is_binary(kind):
        return str(value.hex().upper())
    if pa.types.is_floating(kind):
        return repr(value)
    return f"{value:04}" if pa.types.is_int16(kind) and scale < 0 else str(value)


def server_words(field: pa.Field, array: pa.Array) -> list[str | None]:
    """Values as the SELECTs of boundary_cases.py give them."""
    kind = field.type
    year = field.metadata[b"binlogkit:kind"] == b"year"
    scale = -1 if year else int(field.metadata[b"binlogkit:scale"])
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        array = array.view(pa.int64())
    elif pa.types.is_date32(kind):
        array = array.view(pa.int32())
    return [None if v is None else _words(kind, scale, v) for v in array.to_pylist()]


_BITS = {"TINYINT": 8, "SMALLINT": 16, "MEDIUMINT": 32, "INT": 32, "BIGINT": 64}
_TYPES = {
    "FLOAT": pa.float32(), "DOUBLE": pa.float64(), "BIT": pa.uint64(), "YEAR": pa.int16(),
    "DATE": pa.date32(), "TIME": pa.duration("us"), "DATETIME": pa.timestamp("us"),
    "TIMESTAMP": pa.timestamp("us", "UTC"), "JSON": pa.string(), "SET": pa.string(),
    "ENUM": pa.dictionary(pa.int32(), pa.string()),
    **dict.fromkeys(("CHAR", "VARCHAR", "TINYTEXT", "TEXT", "MEDIUMTEXT", "LONGTEXT"), pa.string()),
    **dict.fromkeys(("BINARY", "VARBINARY", "TINYBLOB", "BLOB", "MEDIUMBLOB", "LONGBLOB"),
                    pa.binary()),
    "GEOMETRY": pa.binary(), "VECTOR": pa.binary(),
}  # fmt: skip


def arrow_type(column: str) -> pa.DataType:
    """The Arrow type that a column's SQL definition asks for."""
    found = re.match(r"(\w+)(?:\((\d+),(\d+)\))?", column)
    assert found is not None
    word = found[1]
    if word in _BITS:
        sign = "u" if "UNSIGNED" in column else ""
        return getattr(pa, f"{sign}int{_BITS[word]}")()
    if word == "DECIMAL":
        precision, scale = int(found[2]), int(found[3])
        return (pa.decimal128 if precision <= 38 else pa.decimal256)(precision, scale)
    return _TYPES[word]


# ---- the reference --------------------------------------------------------------------------


def difference(paths: Sequence[str], **options: Any) -> tuple[int, str]:
    """(row changes, where the kernel's batches are not the reference decoder's, or nothing)."""
    fast, fast_damages = _rows(paths, True, options)
    slow, slow_damages = _rows(paths, False, options)
    if fast_damages != slow_damages:
        return len(slow), f"damages {fast_damages} for {slow_damages}"
    if fast.keys() != slow.keys():
        return len(slow), f"changes {sorted(fast.keys() ^ slow.keys())[:5]} on one side"
    if list(fast) != list(slow):
        return len(slow), "another order"
    for key, row in slow.items():
        if fast[key] != row:
            parts = [n for n in row if repr(fast[key].get(n)) != repr(row[n])]
            told = {n: (fast[key].get(n), row[n]) for n in parts}
            if told:
                return len(slow), f"{key}: {str(told)[:2000]}"
    return len(slow), ""


def _rows(
    paths: Sequence[str], compiled: bool, options: dict[str, Any]
) -> tuple[dict[Any, dict[str, Any]], list[str]]:
    log = bk.open(list(paths), **options)
    reading: Reading | Walk
    batches: Iterator[Any]
    if compiled:
        reading = log.reading()
        batches = read_batches(reading, Filters())
    else:
        reading = Walk(log.carriers, log.options)
        batches = read_windows(reading, Filters())
    out: dict[Any, dict[str, Any]] = {}
    for window in batches:
        found: dict[int, tuple[Any, dict[str, Any]]] = {}
        for schema, batch in window:
            kinds = {n: str(batch.schema.field(n).type) for n in ("before", "after")}
            for row in _plain(batch).to_pylist():
                key = (row["file"], row["pos"], row["inner"], row["row"])
                assert row["seq"] not in found
                found[row["seq"]] = (key, {**row, "kinds": kinds, "schema": schema})
        for _, (key, row) in sorted(found.items()):
            assert key not in out
            out[key] = row
    return out, list(map(str, reading.damages))


def _plain(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Temporal values as integers, which Python cannot all hold otherwise."""
    arrays = [_integers(column) for column in batch.columns]
    return pa.RecordBatch.from_arrays(arrays, names=batch.schema.names)


def _integers(array: pa.Array) -> pa.Array:
    kind = array.type
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        return array.view(pa.int64())
    if pa.types.is_date32(kind):
        return array.view(pa.int32())
    if pa.types.is_struct(kind):
        children = [_integers(array.field(i)) for i in range(kind.num_fields)]
        names = [f"{i}" for i in range(kind.num_fields)]  # two columns can have one name
        mask = array.is_null()
        if not children:
            return array
        return pa.StructArray.from_arrays(children, names, mask=mask)
    return array


def by_table(batches: Sequence[bk.Batch]) -> dict[str, list[pa.RecordBatch]]:
    """Batches by table name."""
    out: dict[str, list[pa.RecordBatch]] = defaultdict(list)
    for batch in batches:
        out[batch.table[1]].append(batch.batch)
    return out
