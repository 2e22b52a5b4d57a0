"""The kernel on damaged input, at length: `python tests/_kernel/native/fuzz.py --inputs 1000000`.

``--compare``: every input also through the reference decoder, and both must say the same. Without
it, for a build with sanitizers (`tools/sanitized_kernel.sh`): each event in an allocation of its
own of exactly its size, freed behind it. ``--scan``: damaged logs through the scan, and what it
finds through the decoder; events to be spliced. ``--logs``: whole logs with damaged events whose
checksums hold, read through the kernel and event by event: the same rows, and the same errors at
the same offsets.
"""

from __future__ import annotations

import argparse
import ctypes
import random
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from importlib.util import module_from_spec, spec_from_file_location
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import Any

from binlogkit._kernel.cursor import Cursor
from binlogkit._kernel.native import continuity
from binlogkit._kernel.native.batch import RowsPass
from binlogkit._kernel.native.index import Index
from binlogkit._kernel.native.scan import Scanner
from binlogkit._kernel.native.splice import spliced
from binlogkit.constants import EventType
from binlogkit.errors import DamageError
from binlogkit.events.base import ParseContext, parser_of
from binlogkit.rows.resolve import resolve_schema
from binlogkit.rows.schema import table_plan
from binlogkit.sources.raw import RawEvent, parse_header

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[2]))
from tests._kernel.native import splices  # noqa: E402  (of that path)
from tests._kernel.native.row_passes import rows_event, rows_pass  # noqa: E402  (of that path)

GOLDEN = HERE.parents[1] / "_data"
_libc = ctypes.CDLL(None)
_libc.malloc.restype = ctypes.c_void_p
_libc.malloc.argtypes = (ctypes.c_size_t,)
_libc.free.argtypes = (ctypes.c_void_p,)


def load(name: str) -> ModuleType:
    """A module beside this one."""
    spec = spec_from_file_location(f"binlogkit_native_{name}", HERE / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


class Allocation:
    """Bytes in memory of exactly their size."""

    def __init__(self, data: bytes) -> None:
        self.address = _libc.malloc(max(len(data), 1))
        ctypes.memmove(self.address, data, len(data))
        self.buffer: Any = (ctypes.c_char * len(data)).from_address(self.address)

    def free(self) -> None:
        del self.buffer
        _libc.free(self.address)


def decode(seed: int, inputs: int) -> int:
    """Damaged rows events through the kernel alone; how many it read to the end."""
    events = load("row_events")
    source = random.Random(seed)
    sound = done = 0
    while done < inputs:
        specs = events.choose(source)
        plan = table_plan(events.schema_of(specs), digests=source.random() < 0.5)
        builder = plan.builder(source.choice((1, 3, 200)), source.choice((1, 1000, 1 << 20)))
        whole = [
            events.body(source, specs, code, source.choice((0, 1, 2, 9))) for code in events.CODES
        ]
        for _ in range(100):
            k = source.randrange(len(whole))
            data = whole[k] if source.random() < 0.1 else events.mutated(source, whole[k])
            code = events.CODES[k] if source.random() < 0.9 else source.choice(events.CODES)
            width = source.choice((6, 6, 6, 4))
            held: list[Allocation] = []
            rows = rows_pass(rows_event(data, code), 0, width, partial(_held, held))
            faults = 0
            while rows is not None and (said := rows.run([builder])) is not None:
                if len(said) == 1:
                    _continued(builder)
                else:
                    plan.fault(*said[1:])
                    faults += 1
            sound += rows is not None and not faults
            del rows
            held.pop().free()
            done += 1
        _continued(builder)
    return sound


def _continued(builder: Any) -> None:
    """What the builder holds, taken as changes that continue each other or not."""
    taken = builder.take()
    for equal in (False, True):
        _taken_up(taken, equal)


def _taken_up(taken: Any, equal: bool) -> None:
    rows, _, _, _, digests, *_ = taken
    sides = [bytes(24 * rows) if side is None else bytes(side[3])[: 24 * rows] for side in digests]
    memory, tally, at = bytearray(16 * 8), bytearray(32), 0
    while at < rows:
        before, after = sides
        at, _ = continuity.take_changes(memory, tally, before, after, at, True, equal)
        if at < rows:
            more = bytearray(2 * len(memory))
            continuity.move(memory, more, tally, True)
            memory = more


def _held(held: list[Allocation], data: bytes) -> Any:
    held.append(Allocation(data))
    return held[-1].buffer


def compare(seed: int, inputs: int) -> int:
    """The same through the reference too; AssertionError where they differ."""
    events, twins = load("row_events"), load("twins")
    source = random.Random(seed)
    done = sound = 0
    while done < inputs:
        specs = events.choose(source)
        schema = events.schema_of(specs)
        bodies = []
        for _ in range(60):
            code = source.choice(events.CODES)
            data = events.body(source, specs, code, source.choice((0, 1, 2, 3)))
            if source.random() < 0.7:
                data = events.mutated(source, data)
            bodies.append(rows_event(data, code))
        version = source.choice(("8.0.31", "5.7.22"))
        reference = twins.by_reference(schema, version, bodies)
        kernel = twins.by_kernel(
            schema, version, bodies, max_rows=source.choice((1, 7, 16_384)),
            max_bytes=source.choice((1, 1 << 20)),
        )  # fmt: skip
        try:
            twins.same(reference, kernel)
        except AssertionError:
            print(
                f"{version}: {specs}", *((raw.header.type_code, raw.body.hex()) for raw in bodies)
            )
            raise
        done += len(bodies)
        sound += len(bodies) - len(reference.faults)
    return sound


def scan(seed: int, inputs: int) -> int:
    """Damaged logs through the scan and the decoder; how many events were indexed."""
    events = load("row_events")
    source = random.Random(seed)
    logs = [p.read_bytes() for p in sorted(GOLDEN.glob("*/*/binlog.00000?")) if p.stat().st_size]
    logs = [log for log in logs if len(log) < 40_000]
    found = 0
    for _ in range(inputs):
        log = source.choice(logs)
        start = 4
        stop = min(len(log), start + source.choice((300, 2000, 40_000)))
        data = events.mutated(source, log[start:stop])
        place = Allocation(data)
        found += _scan_one(source, place.buffer, len(data))
        place.free()
        data = splices.made(source)
        place = Allocation(data)
        spliced(place.buffer, 0, len(data), 4, 1 << 16, 100, splices.unpack)
        place.free()
    return found


def _scan_one(source: random.Random, buffer: Any, size: int) -> int:
    scanner, index, at, take = Scanner(), Index(), 0, False
    scanner.checksums = scanner.format_checksum = source.random() < 0.8
    scanner.verify = source.random() < 0.1
    scanner.positions = source.random() < 0.3
    scanner.table_id_width = source.choice((6, 6, 4))
    spots = _spots(source, size)
    while True:
        said = scanner.scan(index, buffer, at, size, 4, take, spots)
        at, take = scanner.offset, said == "format"
        if said == "look":
            with suppress(ValueError):  # not as many spots
                scanner.settle(
                    index, 4, join=source.random() < 0.5, ends=source.random() < 0.2,
                    xid=source.choice((None, 7)), length=source.randrange(-1, 9), spots=spots,
                )  # fmt: skip
            scanner.know_status(bytes(source.randrange(70)))
        elif said != "format":
            break
        match source.randrange(40):
            case 0:
                kept = sorted({slot for _, slot in scanner.maps.ids()})
                assert scanner.maps.renew() == kept
            case 1:
                scanner.maps.forget_ids()
            case 2:
                scanner.lost()
    builders = [_builder(scanner, slot) for slot in range(scanner.maps.count)]
    rows = RowsPass(scanner, index, buffer, 4, 0, spots)
    while (full := rows.run(builders)) is not None:
        if len(full) == 1:
            builders[full[0]].take()
    scanner.transactions.copied()
    scanner.transactions.clear()
    return len(index)


def _spots(source: random.Random, size: int) -> Any:
    """None, or places of some events, of a size that no event asks for."""
    if source.random() < 0.5:
        return None
    count = source.choice((0, 1, 5, size // 30, size // 19))
    data = source.randbytes(source.randrange(32 * count + 1) if count else 0)
    return data if source.random() < 0.3 else data.ljust(32 * count, b"\xff")


def _builder(scanner: Scanner, slot: int) -> Any:
    body = bytes(scanner.table_id_width) + scanner.maps.body(slot)
    raw = RawEvent("log", 4, parse_header(bytes(19), 19), body)
    context = ParseContext()
    if scanner.table_id_width == 4:
        context.post_header_lengths[EventType.TABLE_MAP_EVENT] = 6
    parser: Callable[..., Any] | None = parser_of(EventType.TABLE_MAP_EVENT)
    assert parser is not None
    try:
        raw = RawEvent("log", 4, raw.header, body)
        return table_plan(resolve_schema(parser(Cursor(body), raw, context), slot)).builder(5)
    except (DamageError, ValueError):
        return None


def logs(seed: int, inputs: int) -> int:
    """Logs with damaged events, all else made right; AssertionError where the readings differ."""
    from binlogkit.rows import scan as log_scan
    from tests.frames.readings import by_events, by_kernel, read
    from tests.fuzz.binlogkit_fuzz import framing

    events = load("row_events")
    source = random.Random(seed)
    known = [p.read_bytes() for p in sorted(GOLDEN.glob("*/*/binlog.00000?"))]
    whole = [framing.split(log) for log in known if 200 < len(log) < 20_000]
    rows = 0
    for _ in range(inputs):
        pieces = source.choice(whole)
        parts = list(pieces.parts)
        for _ in range(source.choice((1, 1, 3))):
            k = source.randrange(1, len(parts))
            parts[k] = replace(parts[k], body=events.mutated(source, parts[k].body))
        data = framing.join(replace(pieces, parts=parts))
        mode = source.choice(("stop", "report"))
        log_scan._ENOUGH = source.choice((1, 5, 20, 256))
        try:
            fast, slow = read(by_kernel, data, mode), read(by_events, data, mode)
            assert fast.error == slow.error
            # A stretch's unmapped rows are reported before the rest of it is decoded.
            assert slow.error or sorted(fast.damages) == sorted(slow.damages)
            assert fast.losses == slow.losses
            if slow.error:  # the scan may have met the XID behind them
                for record in chain(*fast.rows.values(), *slow.rows.values()):
                    del record["xid"]
            assert {k: v for k, v in fast.rows.items() if v} == dict(slow.rows)
        except BaseException:
            Path("differs.binlog").write_bytes(data)
            raise
        rows += sum(map(len, slow.rows.values()))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--compare", action="store_true")
    parser.add_argument("--scan", action="store_true")
    parser.add_argument("--logs", action="store_true")
    chosen = parser.parse_args()
    run = compare if chosen.compare else scan if chosen.scan else logs if chosen.logs else decode
    began = time.monotonic()
    found = run(chosen.seed, chosen.inputs)
    print(
        f"{run.__name__}: {chosen.inputs} inputs, {found} sound, {time.monotonic() - began:.0f} s"
    )


if __name__ == "__main__":
    main()
