"""Decodes every value of a binlog with python-mysql-replication, and prints what it counted.

The library reads from a server only, so its packet class is given the file's events one by one, as
the replication stream would; no server is asked for column names.
"""

import json
import sys
from collections.abc import Iterator
from typing import Any

from pymysql.protocol import MysqlPacket
from pymysqlreplication.constants import BINLOG
from pymysqlreplication.event import FormatDescriptionEvent
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


class NoServer:
    """What stands where the library has its second connection."""

    charset = "utf8mb4"

    def cursor(self) -> Any:
        raise LookupError("no server to ask")

    def _get_dbms(self) -> str:
        return "mysql"


def events(path: str) -> Iterator[bytes]:
    with open(path, "rb") as file:
        file.read(4)
        while header := file.read(19):
            size = int.from_bytes(header[9:13], "little")
            yield header + file.read(size - 19)


def main(path: str) -> None:
    tables: dict[int, Any] = {}
    server = NoServer()
    version, lengths, checksum = (8, 0, 31), None, False
    changes = values = 0
    for data in events(path):
        if data[4] == BINLOG.FORMAT_DESCRIPTION_EVENT:
            checksum = data[-5] == 1
        packet = BinLogPacketWrapper(
            MysqlPacket(b"\0" + data, "utf8mb4"), tables, server, version, checksum, WANTED,
            None, None, None, None, False, False, checksum, True, False, False, lengths,
        )  # fmt: skip
        event = packet.event
        if event is None:
            continue
        if isinstance(event, FormatDescriptionEvent):
            lengths = event.post_header_len
        elif isinstance(event, TableMapEvent):
            tables[event.table_id] = event.get_table()
        else:
            for row in event.rows:
                changes += 1
                values += sum(len(row.get(image, ())) for image in IMAGES)
    print(json.dumps({"changes": changes, "values": values}))


if __name__ == "__main__":
    main(sys.argv[1])
