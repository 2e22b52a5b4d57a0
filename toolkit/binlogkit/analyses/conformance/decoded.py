"""Decoders' outputs by the name of their format: ``conform --decoded OUT --as FORMAT``.

A format is a function from lines to :class:`Decoded`; :func:`formats` lists the names,
:func:`register` adds one.

mysqlbinlog's text is one, as far as it goes: for judging one mysqlbinlog by another, and for tools
that print as it does. Columns are ``@1``, ``@2`` …; a string that is UTF-8 is text, else
hexadecimal; ENUM and SET are numbers. The rows of a statement get the position of its last rows
event, which is all that the text says; so a row's ``row`` counts within the statement.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain, tee
from typing import Any

from binlogkit.analyses.conformance.decoded_rows import FORMATS, json_values
from binlogkit.analyses.conformance.event_fields import TYPES, fields_of
from binlogkit.analyses.conformance.json_rules import PathError, applied, dump
from binlogkit.analyses.conformance.mysqlbinlog_text import read_text
from binlogkit.analyses.conformance.printed import PrintedCell, PrintedEvent, PrintedRow
from binlogkit.analyses.conformance.tokens import Diff, Printed, TokenError, TokenForm, read_token
from binlogkit.analyses.conformance.value_rules import moment_text, set_number
from binlogkit.errors import UsageError, printable

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Decoded:
    """What a decoder's output says of one log, in the contract's forms and the log's order.

    ``events``, ``rows``: None where the format has none; both are read once. ``schemas``: the
    tables as the output names them, empty where the column names are ``@1``, ``@2`` … anyway.
    """

    events: Iterable[Record] | None
    rows: Iterable[Record] | None
    schemas: tuple[Record, ...] = ()


Format = Callable[[Iterable[bytes | str]], Decoded]

_FORMATS: dict[str, Format] = {}


def register(name: str, read: Format) -> None:
    """Add a format; the name must be new."""
    if name in _FORMATS:
        raise UsageError(f"there is a format {name} already")
    _FORMATS[name] = read


def formats() -> list[str]:
    """The names that :func:`parse_decoded` knows, sorted."""
    return sorted(_FORMATS)


def parse_decoded(lines: Iterable[bytes | str], format: str) -> Decoded:
    """The events and rows of another decoder's output.

    Raises :class:`UsageError` for a format that is not known; what the format's own reader finds
    wrong with a line it raises while the records are read.
    """
    read = _FORMATS.get(format)
    if read is None:
        raise UsageError(f"no format {format!r}; there are {', '.join(formats())}")
    return read(lines)


def _binlogkit(lines: Iterable[bytes | str]) -> Decoded:
    """Our own JSON lines: ``events`` or ``rows`` records, whichever the first line is."""
    records = _json_lines(lines)
    first = next(records, None)
    if first is None:
        return Decoded(None, ())
    both = chain([first], records)
    return Decoded(None, both) if "op" in first else Decoded(both, None)


def _json_lines(lines: Iterable[bytes | str]) -> Iterator[Record]:
    for number, record in json_values(lines):
        if not isinstance(record, dict) or not isinstance(record.get("pos"), int):
            raise UsageError(f"line {number} is no record of events or rows: it has no pos")
        yield record


def _rows_only(read: Callable[[Iterable[bytes | str]], Iterator[Record]]) -> Format:
    """A format that has rows and no events."""
    return lambda lines: Decoded(None, read(lines))


def _mysqlbinlog(lines: Iterable[bytes | str]) -> Decoded:
    """The text's events and rows; reading one ahead of the other keeps what is between.

    UsageError, while they are read: what mysqlbinlog never prints.
    """
    first, second = tee(read_text(lines))
    return Decoded(_reported(_events(first)), _reported(_rows(second)))


def _reported(records: Iterator[Record]) -> Iterator[Record]:
    """``records``; a number, date or value that mysqlbinlog never prints is the text's fault."""
    try:
        yield from records
    except (ValueError, OverflowError) as exc:
        raise UsageError(f"this is no text of mysqlbinlog: {printable(str(exc))}") from exc


def _events(items: Iterable[PrintedEvent | PrintedRow]) -> Iterator[Record]:
    for item in items:
        if isinstance(item, PrintedEvent):
            yield _event(item)


def _event(printed: PrintedEvent) -> Record:
    pos, inner = printed.key
    types = TYPES.get(printed.kind, ("UNKNOWN_EVENT",))
    # The text calls a tagged GTID a GTID too: a colon after the UUID's shows it.
    fields: Record = {"log_pos": printed.end_log_pos}
    gtid = None
    for name, _, theirs in fields_of(printed):
        if name == "gtid":
            gtid = None if theirs == "ANONYMOUS" else theirs
        elif name == "table" and printed.table is not None:
            fields["db"], fields["table"] = (_string(part) for part in printed.table)
        else:
            fields[name] = theirs
    tagged = gtid is not None and gtid.count(":") == 2
    return {
        "pos": pos,
        "end_pos": printed.end_log_pos,
        "inner": None if inner < 0 else inner,
        "timestamp": _seconds(printed.time),
        "type": types[-1] if tagged else types[0],
        "server_id": printed.server_id,
        "checksum": "none" if printed.checksum is None else "ok",
        "fields": fields,
    } | ({"gtid": gtid} if "GTID" in printed.kind else {})


def _seconds(time: str) -> int:
    """``yymmdd hh:mm:ss`` in UTC; the two digits are a year from 1970 to 2069."""
    year = int(time[:2])
    century = 1900 if year >= 70 else 2000
    day = datetime(century + year, int(time[2:4]), int(time[4:6]), tzinfo=UTC)
    hours, minutes, seconds = (int(part) for part in time[7:].split(":"))
    return int(day.timestamp()) + hours * 3600 + minutes * 60 + seconds


def _rows(items: Iterable[PrintedEvent | PrintedRow]) -> Iterator[Record]:
    where: Record = {}
    number = 0
    for item in items:
        if isinstance(item, PrintedEvent):
            record = _event(item)
            where = {name: record[name] for name in ("pos", "end_pos", "inner", "server_id")}
            number = 0
        elif item.fault is None:
            yield {
                **where,
                "row": number,
                "db": item.table[0].decode("utf-8", "backslashreplace"),
                "table": item.table[1].decode("utf-8", "backslashreplace"),
                "op": item.op,
                "before": _image(item.before, {}),
                "after": _image(item.after, item.before or {}),
            }
            number += 1


def _image(
    image: Mapping[int, PrintedCell] | None, before: Mapping[int, PrintedCell]
) -> Record | None:
    if image is None:
        return None
    return {f"@{i + 1}": value_of(cell, before.get(i)) for i, cell in image.items()}


def value_of(cell: PrintedCell, before: PrintedCell | None) -> Any:
    """A printed cell in the contract's form, as far as the text says it; ``before``: the cell of an
    update's other image."""
    try:
        printed = read_token(cell.token)
        if printed.form is TokenForm.JSON_DIFF and before is not None:
            return dump(applied(printed, read_token(before.token)))
    except (TokenError, PathError) as exc:
        return _undecodable(cell, str(exc))
    if printed.form is TokenForm.FAULT:
        return _undecodable(cell, printed.text)
    kind = cell.type.partition("(")[0].partition(" ")[0]
    special = _BY_TYPE.get(kind)
    return special(printed) if special and printed.form is not TokenForm.NULL else _plain(printed)


def _undecodable(cell: PrintedCell, reason: str) -> Record:
    return {"undecodable": "0x" + cell.token.hex().upper(), "reason": reason}


def _plain(printed: Printed) -> Any:
    match printed.form:
        case TokenForm.NULL:
            return None
        case TokenForm.INTEGER:
            return printed.number
        case TokenForm.BITS:
            return int(printed.text or "0", 2)
        case TokenForm.STRING:
            return _string(printed.data)
        case TokenForm.JSON_DIFF:
            return {"json_diff": [_operation(diff) for diff in printed.diffs]}
        case _:
            return printed.text


def _operation(diff: Diff) -> Record:
    text = None if diff.value is None else diff.value.decode("utf-8", "backslashreplace")
    if text is not None and not diff.json:
        text = json.dumps(text, ensure_ascii=False)
    return {"op": diff.op, "path": diff.path.decode("utf-8", "backslashreplace"), "value": text}


def _string(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return "0x" + data.hex().upper()


def _vector(printed: Printed) -> str:
    numbers = [float(part) for part in printed.text[1:-1].split(",") if part]
    return "0x" + struct.pack(f"<{len(numbers)}f", *numbers).hex().upper()


_BY_TYPE: dict[str, Callable[[Printed], Any]] = {
    "FLOAT": lambda p: float(p.text),
    "DOUBLE": lambda p: float(p.text),
    "DECIMAL": lambda p: p.text,
    "TIMESTAMP": lambda p: moment_text(p.text),
    "DATE": lambda p: p.data.decode("ascii", "replace").replace(":", "-"),
    "SET": set_number,
    "VECTOR": _vector,
}


register("binlogkit", _binlogkit)
register("mysqlbinlog", _mysqlbinlog)
for _name, _read in FORMATS.items():
    register(_name, _rows_only(_read))
