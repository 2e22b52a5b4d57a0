"""``assert_same_rows``: a decoder's rows are those of a golden log, or the test says where not.

The judge is that of ``binlogkit conform --against golden``: what it knows to be the same value
written otherwise is no difference, what is wrong has a rule's name where one explains it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from binlogkit.events.explain.parts import FieldPart
    from binlogkit_fixtures.golden import GoldenCase

Row = Mapping[str, Any]
Known = str | Mapping[str, Any]
_WIDTH = 100


class RowsDiffer(AssertionError):
    """Rows are not the golden ones; ``differences`` are records as ``conform`` gives them
    (docs/records.md, conform)."""

    def __init__(self, message: str, differences: Sequence[Mapping[str, Any]]) -> None:
        super().__init__(message)
        self.differences = differences


def assert_same_rows(
    decoded: Iterable[Row],
    golden: GoldenCase,
    *,
    log: str | Path | None = None,
    known: Iterable[Known] = (),
    decoder: str = "the decoder",
) -> None:
    """Fail unless the rows that a decoder made of a golden case are the expected ones.

    ``decoded``: a dict each with ``db``, ``table``, ``op`` and the images ``before`` and ``after``,
    and what more there is (docs/records.md, decoded_row); bytes, dates, times, decimals and sets of
    Python are taken for their texts. ``log``: which of the case's logs they are of; without it
    each row of a case with several says it in ``file``. ``known``: defects that do not fail: each
    a rule's name (docs/conformance.md) or a part of a difference's record, as in a baseline.
    ``decoder``: what it is called in the message.

    RowsDiffer: what differs first, with its place, its bytes and what they say. UsageError: a row
    has not the least form.
    """
    __tracebackhide__ = True
    logs = _logs(golden, log)
    rows = list(_json_rows(decoded, [path.name for path in logs]))
    wrong = _judged(rows, golden, logs, known, decoder)
    if wrong:
        raise RowsDiffer(_message(wrong, golden, decoder), wrong)


def _logs(golden: GoldenCase, log: str | Path | None) -> list[Path]:
    from binlogkit.errors import UsageError

    found = [path for path in golden.binlogs if log is None or path.name == Path(log).name]
    if not found:
        raise UsageError(f"{golden} has no log {log}")
    return found


def _json_rows(decoded: Iterable[Row], logs: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The rows as the judge takes them from any decoder. UsageError: not the least form."""
    from binlogkit.analyses.conformance import parse_decoded
    from binlogkit.errors import UsageError

    for row in parse_decoded(map(_line, decoded), "rows").rows or ():
        file = Path(row["file"]).name if isinstance(row.get("file"), str) else None
        if len(logs) > 1 and file not in logs:
            raise UsageError(f"which log is a row of? Say log=, or file in each row: {row}")
        yield row | {"file": file}


def _line(row: Row) -> str:
    from binlogkit.errors import UsageError

    try:
        return json.dumps(row, default=_as_json)
    except (TypeError, ValueError, RecursionError) as exc:
        raise UsageError(f"a row that JSON has no form for: {exc}") from exc


def _as_json(value: object) -> object:
    """What JSON has no form for, as text."""
    if isinstance(value, bytes | bytearray | memoryview):
        return "0x" + bytes(value).hex().upper()
    if isinstance(value, set | frozenset):
        return sorted(value)
    if isinstance(value, Decimal):
        return f"{value:f}"  # str() drops the scale of a zero: 0E-9
    if isinstance(value, date | time | timedelta):
        return str(value)
    raise TypeError(f"a value of type {type(value).__name__}")


def _judged(
    rows: Sequence[Row],
    golden: GoldenCase,
    logs: Sequence[Path],
    known: Iterable[Known],
    decoder: str,
) -> list[dict[str, Any]]:
    import binlogkit as bk
    from binlogkit.analyses.conformance import wrong_rows

    schemas = bk.open([str(path) for path in golden.binlogs]).table_schemas()
    expected = golden.rows
    baseline = [{"rule": each} if isinstance(each, str) else each for each in known]
    wrong: list[dict[str, Any]] = []
    for log in logs:
        own: Any = [row for row in rows if len(logs) == 1 or row["file"] == log.name]
        theirs = (row for row in expected if row["file"] == log.name)
        wrong += wrong_rows(own, schemas, theirs, file=str(log), baseline=baseline, decoder=decoder)
    return wrong


# ---- the message ------------------------------------------------------------------------------


def _message(wrong: Sequence[Mapping[str, Any]], golden: GoldenCase, decoder: str) -> str:
    from binlogkit.errors import printable

    first = wrong[0]
    expected = _expected(golden, first)
    said = [
        ("log", first["file"]),
        ("event", _event(golden, first)),
        ("row", _row(first, expected)),
        ("column", first["column"]),
        ("decoded", "nothing" if first["ours"] is None else first["ours"]),
        ("golden", "nothing" if first["theirs"] is None else first["theirs"]),
        ("why", f"{first['rule']}: {first['reason']}" if first["rule"] else first["reason"]),
        *_raw(expected, first["column"]),
    ]
    count = f"{len(wrong)} differences" if len(wrong) > 1 else "a difference"
    lines = [f"{count} of {decoder} with {golden}{', the first' * (len(wrong) > 1)}:"]
    lines += [f"  {name:<8}{printable(str(text))}" for name, text in said if text is not None]
    return "\n".join([*lines, *_explained(golden, first, expected)])


def _expected(golden: GoldenCase, difference: Mapping[str, Any]) -> dict[str, Any] | None:
    """The golden row of a difference; None where the log has none."""
    log = Path(difference["file"]).name
    place = [difference[name] for name in ("pos", "inner", "row")]
    keys = ("file", "pos", "inner", "row")
    return next((r for r in golden.rows if [r[key] for key in keys] == [log, *place]), None)


def _event(golden: GoldenCase, difference: Mapping[str, Any]) -> str | None:
    if difference["pos"] is None:
        return None
    log = Path(difference["file"]).name
    place = [log, difference["pos"], difference["inner"]]
    kinds = (e["type"] for e in golden.events if [e["file"], e["pos"], e["inner"]] == place)
    inner = "" if difference["inner"] is None else f", {difference['inner']} in its payload"
    return f"{next(kinds, 'none')} at {difference['pos']}{inner}"


def _row(difference: Mapping[str, Any], expected: Mapping[str, Any] | None) -> str | None:
    if expected is None:
        return None
    return f"{difference['row']}: {expected['op']} in {expected['db']}.{expected['table']}"


def _raw(expected: Mapping[str, Any] | None, column: str | None) -> Iterator[tuple[str, str]]:
    """The cell's bytes in each image that has it."""
    for image, cells in (expected["raw"] if expected else {}).items():
        if cells is not None and column in cells:
            yield "bytes", f"{image}: {cells[column] or 'NULL, which has none'}"


def _explained(
    golden: GoldenCase, difference: Mapping[str, Any], expected: Mapping[str, Any] | None
) -> Iterator[str]:
    """How the bytes read: the column's in each image, else the whole row's."""
    if expected is None:
        return
    import binlogkit as bk
    from binlogkit.reports.explain.text import render_part

    inner = "" if difference["inner"] is None else f"/{difference['inner']}"
    logs = [str(path) for path in golden.binlogs]
    place = f"{difference['file']}:{difference['pos']}{inner}"
    walk = bk.explain(logs, at=place).events[0]
    row = walk.root.find(f"row {difference['row']}")
    if row is not None:
        yield "  which read (offsets are the event's):"
        for line in render_part(walk.data, _chosen(row, difference["column"]), _WIDTH):
            yield f"    {line.rstrip()}"


def _chosen(row: FieldPart, column: str | None) -> FieldPart:
    """A row with only one column in its images; the row where no image has it."""
    from dataclasses import replace

    images = [
        replace(image, parts=[part for part in image.parts if part.field == column])
        for image in row.parts
    ]
    images = [image for image in images if image.parts]
    return replace(row, parts=images) if images else row
