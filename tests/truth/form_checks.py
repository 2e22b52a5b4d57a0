"""The same log by other doors must say the same: filters, carriers, typed frames, files.

Each check gives its complaints as text. The reading of typed Arrow values into the contract's form
is written anew here, apart from the toolkit's own.
"""

from __future__ import annotations

import gzip
import io
import json
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

import binlogkit as bk
from binlogkit.rows.filters import written_table_name

__all__ = ["check_carriers", "check_command", "check_filters", "check_typed"]

Record = dict[str, Any]


def _text(records: list[Record], *, file: bool = True) -> list[str]:
    out = []
    for record in records:
        kept = record if file else {k: v for k, v in record.items() if k != "file"}
        out.append(json.dumps(kept, sort_keys=True, ensure_ascii=False))
    return out


# ---- filters ----------------------------------------------------------------------------


def check_filters(path: str, random: Random) -> Iterator[str]:
    """Filters part one log's rows without loss and without doubling."""
    log = bk.open(path)
    rows = list(log.row_records())
    whole = _text(rows)
    events = list(log.event_records())

    def parts(name: str, *choices: dict[str, Any]) -> Iterator[str]:
        found = [_text(list(bk.open(path).row_records(**choice))) for choice in choices]
        together = [text for part in found for text in part]
        if sorted(together) != sorted(whole):
            yield f"{path}: {name} {choices}: {[len(f) for f in found]} of {len(whole)} rows"

    for _ in range(3):
        cut = random.choice([e["pos"] for e in events]) + random.choice([0, 0, 1, 7])
        yield from parts("position", {"stop_position": cut}, {"start_position": cut})
        second = random.choice([e["timestamp"] for e in events])
        yield from parts("second", {"stop_time": second}, {"start_time": second})
        if rows:
            commit = random.choice(rows)["commit_timestamp"]
            if commit is not None:
                moment = (
                    datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=commit)
                ).isoformat()
                yield from parts("time", {"stop_time": moment}, {"start_time": moment})
    yield from parts("op", {"op": "insert"}, {"op": ["update", "delete"]})
    names = sorted({(r["db"], r["table"]) for r in rows})
    for name in names[:4]:
        written = written_table_name(*name)
        yield from parts("table", {"table": written}, {"exclude_table": written})
    threads = sorted({r["thread_id"] for r in rows})
    yield from parts("thread", *({"thread": t} for t in threads))
    gtids = sorted({r["gtid"] for r in rows if r["gtid"]})
    if gtids and all(r["gtid"] for r in rows):
        some = random.sample(gtids, len(gtids) // 2)
        rest = sorted(set(gtids) - set(some))
        sets = [",".join(s) for s in (some, rest) if s]
        yield from parts("gtid", *({"gtid": s} for s in sets))


# ---- carriers ---------------------------------------------------------------------------


def check_carriers(paths: list[str], folder: Path) -> Iterator[str]:
    """Packed, in memory, by URL, folder, index and glob: the same events and rows."""
    plain = bk.open(paths)
    events, rows = list(plain.event_records()), list(plain.row_records())
    want = (_text(events, file=False), _text(rows, file=False))
    names = [Path(p).name for p in paths]
    data = [Path(p).read_bytes() for p in paths]
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in zip(names, data, strict=True):
        (folder / f"{name}.gz").write_bytes(gzip.compress(content, 1))
        (folder / f"{name}.zst").write_bytes(zstandard.compress(content, 1))
    index = folder / "binlog.index"
    copies = folder / "plain"
    copies.mkdir(exist_ok=True)
    for name, content in zip(names, data, strict=True):
        (copies / name).write_bytes(content)
        (folder / name).write_bytes(content)
    index.write_text("".join(f"/var/lib/mysql/{name}\n" for name in names), "utf-8")
    sources: dict[str, Any] = {
        "gz": [str(folder / f"{n}.gz") for n in names],
        "zst": [str(folder / f"{n}.zst") for n in names],
        "bytes": data,
        "objects": [io.BytesIO(d) for d in data],
        "unseekable": [_Pipe(d) for d in data],
        "paths": [Path(p) for p in paths],
        "urls": [f"file://{Path(p).absolute().as_posix()}" for p in paths],
        "folder": str(copies),
        "index": str(index),
        "glob": str(copies / "*.0*"),
    }
    for kind, source in sources.items():
        log = bk.open(source)
        have = (
            _text(list(log.event_records()), file=False),
            _text(list(log.row_records()), file=False),
        )
        if have != want:
            yield f"{paths}: as {kind}: {len(have[0])} events, {len(have[1])} rows"


class _Pipe(io.RawIOBase):
    """A stream that cannot seek and gives few bytes at a time."""

    def __init__(self, data: bytes) -> None:
        self._data = io.BytesIO(data)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False

    def read(self, size: int = -1) -> bytes:
        return self._data.read(size)


# ---- typed frames -----------------------------------------------------------------------


def _fraction(microseconds: int, scale: int) -> str:
    return f".{microseconds:06}"[: scale + 1] if scale else ""


def _moment(value: int, scale: int) -> str:
    seconds, part = divmod(value, 1_000_000)
    moment = datetime(1970, 1, 1) + timedelta(seconds=seconds)
    return f"{moment.year:04}-{moment:%m-%d %H:%M:%S}{_fraction(part, scale)}"


def _duration(value: int, scale: int) -> str:
    seconds, part = divmod(abs(value), 1_000_000)
    minutes, second = divmod(seconds, 60)
    clock = f"{minutes // 60:02}:{minutes % 60:02}:{second:02}"
    return f"{'-' if value < 0 else ''}{clock}{_fraction(part, scale)}"


def _shortest(value: float) -> float:
    """The fewest digits that read back to the same 4 bytes."""
    exact = struct.pack("<f", value)
    for digits in range(1, 10):
        text = float(f"{value:.{digits}g}")
        try:
            if struct.pack("<f", text) == exact:
                return text
        except OverflowError:
            continue
    return value


def _reader(field: pa.Field) -> Callable[[Any], Any]:
    """How a typed column's values read in the contract's form, by the Arrow type alone."""
    kind = field.type
    scale = int((field.metadata or {}).get(b"binlogkit:scale", b"0"))
    if pa.types.is_timestamp(kind):
        return lambda v: _moment(v, scale)
    if pa.types.is_duration(kind):
        return lambda v: _duration(v, scale)
    if pa.types.is_decimal(kind):
        return lambda v: f"{v:f}"
    if pa.types.is_binary(kind):
        return lambda v: "0x" + v.hex().upper()
    if pa.types.is_float32(kind):
        return _shortest
    if pa.types.is_date32(kind):
        return lambda v: (datetime(1970, 1, 1) + timedelta(days=v)).strftime("%4Y-%m-%d")
    return lambda v: v


def _plain(array: pa.Array) -> list[Any]:
    kind = array.type
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        array = array.view(pa.int64())
    elif pa.types.is_date32(kind):
        array = array.view(pa.int32())
    return list(array.to_pylist())


def check_typed(log: bk.Log) -> Iterator[str]:
    """Batches of typed columns against generic rows, cell by cell."""
    generic: dict[tuple[Any, ...], Record] = {}
    for record in log.row_records():
        key = tuple(record[k] for k in ("file", "pos", "inner", "row"))
        if key in generic:
            yield f"two rows at {key}"
        generic[key] = record
    seen = 0
    for batch in log.batches():
        data = batch.batch
        places = [data.column(n).to_pylist() for n in ("file", "pos", "inner", "row")]
        keys = list(zip(*places, strict=True))
        seen += len(keys)
        for which in ("before", "after"):
            yield from _image(data, which, keys, generic)
    if seen != len(generic):
        yield f"{seen} rows in batches, {len(generic)} generic ones"


def _image(
    data: pa.RecordBatch, which: str, keys: list[tuple[Any, ...]], generic: dict[Any, Record]
) -> Iterator[str]:
    struct = data.column(which)
    states = data.column(f"{which}_state").to_pylist()
    present = struct.is_valid().to_pylist()
    columns = [(f.name, _reader(f), _plain(struct.field(i))) for i, f in enumerate(struct.type)]
    for row, key in enumerate(keys):
        want = generic[key][which]
        if (want is not None) != present[row]:
            yield f"{key}: {which} present {present[row]}, generic {want is not None}"
            continue
        if want is None:
            continue
        for i, (name, read, values) in enumerate(columns):
            value, state = values[row], (states[row] or [0] * len(columns))[i]
            if state == 2:
                if name in want:
                    yield f"{key}: {which}.{name} not in the image, generic {want[name]!r}"
            elif state in (3, 4, 5):
                if value is not None:
                    yield f"{key}: {which}.{name} state {state} and a value"
            else:
                mine = None if value is None else read(value)
                if mine != want[name] or (state == 1) != (
                    want[name] is None and states[row] is not None
                ):
                    yield f"{key}: {which}.{name} typed {mine!r}, generic {want[name]!r}"


# ---- the command ------------------------------------------------------------------------


def _run(*arguments: str) -> tuple[int, bytes, str]:
    done = subprocess.run(
        [sys.executable, "-c", "from binlogkit.cli import main; main()", *arguments],
        capture_output=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr.decode()


def check_command(paths: list[str], folder: Path) -> Iterator[str]:
    """``rows`` and ``events`` as JSON lines, Parquet and Arrow: the records of the library."""
    folder.mkdir(parents=True, exist_ok=True)
    log = bk.open(paths)
    for command, records in (
        ("rows", list(log.row_records())),
        ("events", list(log.event_records())),
        ("transactions", list(log.transaction_records())),
    ):
        status, out, said = _run(command, "--format", "jsonl", *paths)
        lines = [json.loads(line) for line in out.decode("utf-8").splitlines()]
        if lines != json.loads(json.dumps(records)):
            yield f"{command} jsonl: {len(lines)} lines, {len(records)} records; {status} {said}"
        for form in ("parquet", "arrow"):
            target = folder / f"{command}.{form}"
            status, _, said = _run(command, "--format", form, "--output", str(target), *paths)
            if status not in (0, 1) or not target.exists():
                yield f"{command} {form}: status {status}: {said}"
                continue
            table = pq.read_table(target) if form == "parquet" else _arrow(target)
            yield from _table(f"{command} {form}", table, lines)


def _arrow(path: Path) -> pa.Table:
    with pa.memory_map(str(path)) as source:
        try:
            return pa.ipc.open_stream(source).read_all()
        except pa.ArrowInvalid:
            return pa.ipc.open_file(source).read_all()


def _table(name: str, table: pa.Table, lines: list[Record]) -> Iterator[str]:
    rows = table.to_pylist()
    if len(rows) != len(lines):
        yield f"{name}: {len(rows)} rows, {len(lines)} lines"
        return
    for row, line in zip(rows, lines, strict=True):
        for key, want in line.items():
            have = row[key]
            if isinstance(want, (dict, list)) and isinstance(have, str):
                have = json.loads(have)
            if have != want:
                yield f"{name}: {key} {have!r}, line {want!r}"
                return
