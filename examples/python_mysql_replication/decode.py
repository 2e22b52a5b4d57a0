"""A binary log's row changes as python-mysql-replication decodes them.

Nothing is mended on the way: values are printed as the library gives them, in Python's own writing
where JSON has none. The library reads from a server only, so its packet class is given the file's
events one by one, as the replication stream would; no server is asked for column names.

``python decode.py FILE`` prints a JSON object a line, in the form ``rows`` of ``binlogkit
conform``; with ``--count`` it only decodes every value, and prints how many there were.
"""

import json
import re
import sys
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from pymysql.protocol import MysqlPacket
from pymysqlreplication.constants import BINLOG, FIELD_TYPE, NONE_SOURCE
from pymysqlreplication.event import FormatDescriptionEvent
from pymysqlreplication.json_binary import JsonDiff
from pymysqlreplication.packet import BinLogPacketWrapper
from pymysqlreplication.row_event import (
    DeleteRowsEvent,
    PartialUpdateRowsEvent,
    TableMapEvent,
    UpdateRowsEvent,
    WriteRowsEvent,
)

WANTED = frozenset(
    {
        DeleteRowsEvent, FormatDescriptionEvent, PartialUpdateRowsEvent, TableMapEvent,
        UpdateRowsEvent, WriteRowsEvent,
    }
)  # fmt: skip
IMAGES = ("values", "before_values", "after_values")
UNNAMED = re.compile(r"UNKNOWN_COL(\d+)")


class NoServer:
    """What stands where the library has its second connection."""

    charset = "utf8mb4"

    def cursor(self) -> Any:
        raise LookupError("no server to ask")

    def _get_dbms(self) -> str:
        return "mysql"


def stored(path: str) -> Iterator[tuple[int, bytes]]:
    """The events of a file with their positions."""
    pos = 4
    with open(path, "rb") as file:
        file.read(pos)
        while header := file.read(19):
            size = int.from_bytes(header[9:13], "little")
            yield pos, header + file.read(size - 19)
            pos += size


def rows_events(path: str) -> Iterator[tuple[int, int, Any]]:
    """The library's rows events of a file: where each begins, where it ends, the event."""
    tables: dict[int, Any] = {}
    server = NoServer()
    version, lengths, checksum = (8, 0, 31), None, False
    for pos, data in stored(path):
        if data[4] == BINLOG.FORMAT_DESCRIPTION_EVENT:
            checksum = data[-5] == 1
        packet = BinLogPacketWrapper(
            MysqlPacket(b"\0" + data, "utf8mb4"), tables, server, version, checksum, WANTED,
            None, None, None, None, False, False, checksum, True, False, False, lengths,
        )  # fmt: skip
        event = packet.event
        if isinstance(event, FormatDescriptionEvent):
            lengths = event.post_header_len
        elif isinstance(event, TableMapEvent):
            tables[event.table_id] = event.get_table()
        elif event is not None:
            yield pos, pos + len(data), event


def rows(path: str) -> Iterator[dict[str, Any]]:
    """The row changes of a file, with their places, in the form ``rows`` of ``conform``."""
    for pos, end_pos, event in rows_events(path):
        for number, row in enumerate(event.rows):
            sources = row.get("none_sources", {})
            if isinstance(event, WriteRowsEvent):
                op, before, after = "insert", None, image(event, row["values"], sources)
            elif isinstance(event, DeleteRowsEvent):
                op, before, after = "delete", image(event, row["values"], sources), None
            else:
                op = "update"
                before = image(event, row["before_values"], row.get("before_none_sources", {}))
                after = image(event, row["after_values"], row.get("after_none_sources", {}))
            yield {
                "pos": pos, "end_pos": end_pos, "inner": None, "row": number, "db": event.schema,
                "table": event.table, "op": op, "before": before, "after": after,
            }  # fmt: skip


def image(event: Any, values: dict[str, Any], absent: dict[str, Any]) -> dict[str, Any]:
    """An image; what the library marks as not in it is left out, names it has not are places."""
    found = {}
    for (name, given), column in zip(values.items(), event.columns, strict=True):
        if absent.get(name) == NONE_SOURCE.COLS_BITMAP:
            continue
        place = UNNAMED.fullmatch(name)
        found[name if place is None else f"@{int(place[1]) + 1}"] = value(given, column.type)
    return found


def value(given: Any, kind: int) -> Any:
    """A value for JSON: what JSON has no form for in Python's writing, bytes in hexadecimal."""
    if kind == FIELD_TYPE.JSON:
        diffs = given if isinstance(given, list) else [given]
        if diffs and all(isinstance(diff, JsonDiff) for diff in diffs):
            return {"json_diff": [str(diff) for diff in diffs]}
        return document(given)
    if isinstance(given, (bytes, bytearray)):
        return "0x" + given.hex().upper()
    if isinstance(given, (set, frozenset)):
        return sorted(given)
    if isinstance(given, Decimal):
        return f"{given:f}"  # str() writes a zero with nine fraction digits as 0E-9
    return given if given is None or isinstance(given, (bool, int, float, str)) else str(given)


def document(given: Any) -> Any:
    """A JSON document, whose strings and keys the library gives as bytes."""
    if isinstance(given, bytes):
        return given.decode("utf-8", "surrogateescape")
    if isinstance(given, dict):
        return {document(key): document(item) for key, item in given.items()}
    if isinstance(given, (list, tuple)):
        return [document(item) for item in given]
    return given if given is None or isinstance(given, (bool, int, float, str)) else str(given)


def count(path: str) -> dict[str, int]:
    """How many row changes there were, and how many values in their images."""
    changes = values = 0
    for _, _, event in rows_events(path):
        for row in event.rows:
            changes += 1
            values += sum(len(row.get(name, ())) for name in IMAGES)
    return {"changes": changes, "values": values}


if __name__ == "__main__":
    if sys.argv[1] == "--count":
        print(json.dumps(count(sys.argv[2])))
    else:
        for each in rows(sys.argv[1]):
            print(json.dumps(each, ensure_ascii=True))
