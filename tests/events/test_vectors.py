"""Event bodies that other projects' tests hold, read in place from the shared corpus."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import binlogkit as bk
from binlogkit._kernel.cursor import Cursor
from binlogkit.constants import MARIADB_EVENT_TYPES, ColumnType, EventType
from binlogkit.errors import MalformedEventError
from binlogkit.events.base import Event, OpaqueEvent
from binlogkit.events.control import HeartbeatV2
from binlogkit.events.format_description import FormatDescription
from binlogkit.events.gtid import Gtid, PreviousGtids
from binlogkit.events.query import Query
from binlogkit.events.reader import read_events
from binlogkit.events.rows import RowsEvent
from binlogkit.events.status_vars import read_status_vars
from binlogkit.events.table_map import DefaultCharset, TableMap
from binlogkit.rows.resolve import LABELLED, SIGN_BITS, charset_slots, read_columns
from binlogkit.sources.raw import EventHeader, RawEvent, parse_header
from binlogkit_fixtures.writer import LogWriter

CORPUS = Path(__file__).parents[3] / "shared" / "corpus" / "vectors.json"
HEADER, CHECKSUM = 19, 4
MARIADB, MYSQL = "10.5.8-MariaDB-log", "8.0.31"

Vector = dict[str, Any]


@cache
def vectors() -> list[Vector]:
    return json.loads(CORPUS.read_text(encoding="utf-8")) if CORPUS.is_file() else []


def of(*kinds: str) -> pytest.MarkDecorator:
    chosen = [vector for vector in vectors() if vector["kind"] in kinds]
    return pytest.mark.parametrize("vector", chosen, ids=lambda v: f"{v['kind']}-{v['name']}")


def test_vectors_are_there() -> None:
    if not CORPUS.is_file() and not os.environ.get("BINLOGKIT_FAIL_ON_SKIP"):
        pytest.skip("the shared corpus of other projects' vectors is not beside this tree")
    assert len(vectors()) >= 375


def raw_of(vector: Vector) -> RawEvent:
    data, params = bytes.fromhex(vector["hex"]), vector["params"]
    if params["framing"] == "body":
        code = params.get("event_type", EventType.TABLE_MAP_EVENT)
        return RawEvent("vector", 4, EventHeader(0, code, 1, HEADER + len(data), 0, 0), data)
    stored = data[-CHECKSUM:] if params["framing"] == "event+crc32" else b""
    body = data[HEADER : len(data) - len(stored)]
    return RawEvent("vector", 4, parse_header(data, HEADER), body, stored_checksum=stored)


def read(vector: Vector) -> Event:
    start = LogWriter(MARIADB if vector["params"].get("flavor") == "mariadb" else MYSQL).events[0]
    _, event, *_ = read_events([start.raw, raw_of(vector)])
    assert event.unread == event.unread_post_header == b""
    return event


def header_agrees(vector: Vector) -> None:
    """The parts of the header that a vector tells."""
    header, told = raw_of(vector).header, vector["expected"].get("header", {})
    assert {k: v for k, v in told.items() if k != "event_type"} == {
        "flags": header.flags,
        "timestamp": header.timestamp,
        "server_id": header.server_id,
        "event_size": header.size,
        "log_pos": header.log_pos,
    } or not told


# Names that vectors have for what is named otherwise here.
NAMES = {
    "sql": "query",
    "filename": "log_name",
    "log_ident": "log_name",
    "new_log_ident": "name",
    "type": "intvar_type",
    "header_length": "event_header_length",
    "mysql_server_version": "server_version",
    "create_timestamp": "created",
    "slave_proxy_id": "thread_id",
    "execution_time": "exec_time",
}


def flat(expected: dict[str, Any]) -> dict[str, Any]:
    told = expected.get("event", expected)
    return {NAMES.get(name, name): value for name, value in told.items()}


@of("intvar", "rand", "rotate", "stop", "heartbeat", "xa_prepare")
def test_plain_fields(vector: Vector) -> None:
    header_agrees(vector)
    body = read(vector).body
    for name, value in flat(vector["expected"]).items():
        ours = getattr(body, name)
        ours = ours.decode() if isinstance(ours, bytes) else ours
        assert str(ours).lower() == str(value).lower(), name


@of("user_var")
def test_user_var(vector: Vector) -> None:
    header_agrees(vector)
    body: Any = read(vector).body
    told = vector["expected"]["event"]
    assert (body.name, body.decoded, body.is_null) == (told["name"], told["value"], True)


@of("heartbeat_v2")
def test_heartbeat_v2(vector: Vector) -> None:
    """A field that the peer does not know is passed over, as the server does it (binary.cpp)."""
    if "lenenc" in vector["name"]:
        with pytest.raises(MalformedEventError, match="in field position"):
            read(vector)
        return
    body = read(vector).body
    assert isinstance(body, HeartbeatV2)
    if "error" in vector["expected"]:
        assert body == HeartbeatV2(None, 158, ((3, b"binlog.000001"),), (3, 2, 0))
    else:
        told = vector["expected"]
        assert (body.log_name, body.position) == (told["filename"], told["position"])


@of("gtid_event", "gtid_tagged")
def test_gtid(vector: Vector) -> None:
    header_agrees(vector)
    body: Any = read(vector).body
    assert isinstance(body, Gtid)
    told = dict(vector["expected"].get("event", vector["expected"]))
    assert told.pop("logical_timestamp_typecode", 2) == 2
    told["sid"] = told["sid"]["hex"] if "sid" in told else body.sid
    told["immediate_server_version"] = told.pop(
        "server_version", told.get("immediate_server_version")
    )
    for name, value in told.items():
        ours = getattr(body, name) or 0
        assert str(ours).replace("-", "") == str(value or 0).replace("-", ""), name


@of("previous_gtids")
def test_previous_gtids(vector: Vector) -> None:
    body = read(vector).body
    assert isinstance(body, PreviousGtids)
    told = vector["expected"]
    if isinstance(told, dict):
        header_agrees(vector)
        found = [
            {
                "sid": {"hex": sid.replace("-", "")},
                "intervals": [{"start": a, "finish": b + 1} for a, b in intervals],
            }
            for sid, _, intervals in body.entries
        ]
        assert found == told["event"]["gtids"]
    else:
        assert body.gtid_set == told


@of("error_previous_gtids")
def test_previous_gtids_that_end_too_early(vector: Vector) -> None:
    with pytest.raises(MalformedEventError):
        read(vector)


@of("serialization_varint")
def test_serialization_varint(vector: Vector) -> None:
    cursor = Cursor(bytes.fromhex(vector["hex"]))
    value = cursor.variable("number")
    if vector["params"]["signed"]:
        value = value >> 1 ^ -(value & 1)
    assert (str(value), cursor.left) == (vector["expected"], 0)


@of("format_description")
def test_format_description(vector: Vector) -> None:
    header_agrees(vector)
    body: Any = read(vector).body
    assert isinstance(body, FormatDescription)
    told = flat(vector["expected"])
    checksum = told.pop("checksum", "CRC32")
    lengths = told.pop("stuff", None)
    assert body.checksum_algorithm is not None and body.checksum_algorithm.name == checksum
    if lengths is not None:
        assert bytes(body.post_header_lengths) + b"\x01" == bytes.fromhex(lengths["hex"])
    for name, value in told.items():
        assert getattr(body, name) == value, name


# Their names of status variables, and how they show them.
VARIABLES: dict[str, Callable[[Any], dict[str, Any]]] = {
    "flags2": lambda v: {"flags2": int.from_bytes(bytes.fromhex(v["hex"]), "little")},
    "sql_mode": lambda v: {"sql_mode": int.from_bytes(bytes.fromhex(v["hex"]), "little")},
    "catalog_nz": lambda v: {"catalog": v},
    "charset": lambda v: {
        "client_collation": v["character_set_client"],
        "connection_collation": v["collation_connection"],
        "server_collation": v["collation_server"],
    },
    "default_collation_for_utf8mb4": lambda v: {"utf8mb4_collation": v},
}


@of("query_event")
def test_query(vector: Vector) -> None:
    header_agrees(vector)
    body: Any = read(vector).body
    assert isinstance(body, Query)
    told = flat(vector["expected"])
    assert told.pop("schema_length", len(body.schema)) == len(body.schema)
    for name, value in told.pop("status_vars", {}).items():
        for ours, expected in VARIABLES.get(name, lambda v, n=name: {n: v})(value).items():
            assert getattr(body.status_vars, ours) == expected, name
    for name, value in told.items():
        assert getattr(body, name) == value, name


@of("query_status_vars")
def test_status_vars(vector: Vector) -> None:
    data = bytes.fromhex(vector["hex"])
    found = read_status_vars(Cursor(data))
    assert found.rest is None
    if "time_zone" in vector["expected"]:
        assert found.time_zone == vector["expected"]["time_zone"]
        return
    told = {int(code): bytes.fromhex(value) for code, value in vector["expected"].items()}
    assert sorted(found.order) == sorted(told)
    assert b"".join(bytes([code]) + told[code] for code in found.order) == data


@of("mariadb_gtid", "mariadb_annotate_rows", "mariadb_gtid_list")
def test_mariadb_types_are_named_and_kept(vector: Vector) -> None:
    event = read(vector)
    assert event.type == MARIADB_EVENT_TYPES[event.raw.header.type_code]
    assert vector["kind"].removeprefix("mariadb_") in event.type.lower()
    assert event.body == OpaqueEvent(event.raw.body)


def per_column(table: TableMap, kinds: frozenset[ColumnType], values: Any) -> dict[str, Any] | None:
    if values is None:
        return None
    cursor = Cursor(table.metadata)
    chosen = [str(c.index) for c in read_columns(table, cursor) if c.type in kinds]
    return dict(zip(chosen, values, strict=False))


def collations(default: DefaultCharset | None, each: tuple[int, ...] | None) -> Any:
    if default is None:
        return each
    others = dict(default.others)
    return tuple(others.get(i, default.default) for i in range(64))


def labels(values: Any) -> Any:
    return values and [[label.decode() for label in column] for column in values]


@of("table_map_metadata")
def test_table_map_metadata(vector: Vector) -> None:
    header_agrees(vector)
    table = read(vector).body
    assert isinstance(table, TableMap)
    told = vector["expected"]
    if "event" in told:
        check_shown_table(table, told["event"])
        return
    of_table = table.optional
    if of_table is None:
        assert set(told.values()) == {None}
        return
    found = {
        "unsigned": per_column(table, SIGN_BITS, of_table.unsigned),
        "collation": per_column(
            table,
            charset_slots(table),
            collations(of_table.default_charset, of_table.columns_charset),
        ),
        "enum_set_collation": per_column(
            table,
            LABELLED,
            collations(
                of_table.enum_and_set_default_charset, of_table.enum_and_set_columns_charset
            ),
        ),
        "enum_values": per_column(
            table, frozenset({ColumnType.ENUM}), labels(of_table.enum_labels)
        ),
        "set_values": per_column(table, frozenset({ColumnType.SET}), labels(of_table.set_labels)),
        "geometry_type": per_column(
            table, frozenset({ColumnType.GEOMETRY}), of_table.geometry_types
        ),
        "visible": of_table.visible,
    }
    assert {name: found[name] for name in told} == told


def check_shown_table(table: TableMap, told: Vector) -> None:
    optional = table.optional
    assert optional is not None
    assert (table.db, table.table) == (told["database"], told["table"])
    assert (table.table_id, table.flags) == (told["table_id"], told["flags"])
    assert table.nullable.hex() == told["null_bitmap"]["hex"]
    names = [ColumnType(code).name.lower() for code in table.types]
    assert names == told["coltypes"]
    shown = told["metadata"]
    signs = per_column(table, SIGN_BITS, optional.unsigned) or {}
    assert {str(int(i) + 1): unsigned for i, unsigned in signs.items()} == shown["unsignedness"]
    if "default_charset" in shown:
        assert optional.default_charset == DefaultCharset(shown["default_charset"][0], ())
    if "column_name" in shown:
        assert list(optional.column_names or ()) == shown["column_name"]
    if "simple_primary_key" in shown:
        assert optional.primary_key == tuple((i, 0) for i in shown["simple_primary_key"])
    if "enum_str_value" in shown:
        assert labels(optional.enum_labels) == shown["enum_str_value"]


@of("rows_extra_data")
def test_rows_extra_data(vector: Vector) -> None:
    body = read(vector).body
    assert isinstance(body, RowsEvent) and body.extra is not None
    assert (body.extra.partition_id, body.extra.ndb) == (vector["expected"]["partition_id"], None)


def images(vector: Vector) -> list[dict[str, Any]]:
    table = OpaqueEvent(bytes.fromhex(vector["params"]["table_map"]))
    raw = raw_of(vector)
    log = LogWriter(MYSQL)
    log.add(table, EventType.TABLE_MAP_EVENT)
    log.add(OpaqueEvent(raw.body), EventType(raw.header.type_code))
    rows: Iterator[dict[str, Any]] = bk.open(bytes(log.data)).row_records()
    return [image for row in rows for image in (row["before"], row["after"]) if image is not None]


@of("rows_event")
def test_rows(vector: Vector) -> None:
    found = images(vector)
    told = vector["expected"]
    assert len(found) == len(told)
    for image, row in zip(found, told, strict=True):
        ours = [None if v is None else str(v) for v in image.values()]
        if ":" in str(row) or "{" in str(row):
            ours = [v and v.replace(" ", "") for v in ours]
            row = [v and v.replace(" ", "") for v in row]
        assert ours == row


@of("transaction_payload")
def test_transaction_payload(vector: Vector) -> None:
    told = vector["expected"]
    events = list(read_events([raw_of(vector)]))
    payload: Any = events[0].body
    sizes = (payload.compression, payload.payload_size, payload.uncompressed_size)
    assert sizes == (told["compression"], told["payload_size"], told["uncompressed_size"])
    query, table, rows, xid = events[1:]
    assert isinstance(query.body, Query) and query.body.query == told["query"]
    assert isinstance(table.body, TableMap)
    assert f"{table.body.db}.{table.body.table}" == told["table"]
    assert isinstance(rows.body, RowsEvent) and xid.type == f"{told['then']}_EVENT"
    data = rows.body.data
    for number, mail in told["rows"]:
        assert mail.encode() in data and int(number).to_bytes(8, "little") in data
