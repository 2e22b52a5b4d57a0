"""Hypothesis strategies for every event dataclass: what a format can say, and nothing else.

``EVENTS``: by event type, a strategy of bodies that the type can have in a v4 log. The values that
only whoever writes an event again needs (order of fields, and so on) are left to the writer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from binlogkit._kernel.cursor import decoded
from binlogkit.constants import EventType as T
from binlogkit.constants import event_type_name
from binlogkit.events.control import (
    Heartbeat,
    HeartbeatV2,
    Ignorable,
    Incident,
    LargeTransactionHeader,
    Rotate,
    Slave,
    Stop,
    XaPrepare,
    Xid,
)
from binlogkit.events.early import EarlyRows
from binlogkit.events.group import TransactionContext, ViewChange
from binlogkit.events.gtid import Gtid, PreviousGtids
from binlogkit.events.gtid_set import LAST_GNO, GtidSet
from binlogkit.events.load import CreateFile, DeleteFile, ExecLoad, Load
from binlogkit.events.query import ExecuteLoadQuery, LoadBlock, Query, RowsQuery, statement_text
from binlogkit.events.rows import ExtraRowInfo, RowsEvent
from binlogkit.events.status_vars import StatusVars
from binlogkit.events.table_map import DefaultCharset, OptionalMetadata, TableMap
from binlogkit.events.variables import Intvar, Rand, UserVar
from binlogkit_fixtures.writer import format_description

__all__ = ["EVENTS", "status_vars"]

Strategy = st.SearchStrategy[Any]


def uint(width: int) -> Strategy:
    return st.integers(0, (1 << 8 * width) - 1)


def sint(width: int) -> Strategy:
    return st.integers(-(1 << 8 * width - 1), (1 << 8 * width - 1) - 1)


def text(size: int = 30, *, nul: bool = True) -> Strategy:
    """Names as they are read: of bytes that are no UTF-8 too."""
    data = st.one_of(st.text(max_size=size // 4).map(str.encode), st.binary(max_size=size))
    return (data if nul else data.map(lambda b: b.replace(b"\0", b"0"))).map(decoded)


def maybe(strategy: Strategy) -> Strategy:
    return st.none() | strategy


data = st.binary(max_size=60)
uuids = st.uuids(version=None).map(str)


@st.composite
def status_vars(draw: Callable[[Strategy], Any]) -> StatusVars:
    """Variables of servers from 9.x on, which have those of all before them."""
    values: dict[str, Any] = {
        name: draw(maybe(uint(width)))
        for name, width in {
            "flags2": 4, "sql_mode": 8, "lc_time_names": 2, "database_collation": 2,
            "table_map_for_update": 8, "source_data_written": 4, "microseconds": 3,
            "commit_seq_no": 8, "ddl_xid": 8, "utf8mb4_collation": 2, "mariadb_xid": 8,
        }.items()
    }  # fmt: skip
    for name in (
        "explicit_defaults_for_timestamp", "sql_require_primary_key", "default_table_encryption",
        "enable_cascade_triggers",
    ):  # fmt: skip
        values[name] = draw(maybe(st.booleans()))
    for name in ("catalog", "time_zone"):
        values[name] = draw(maybe(text()))
    for width, *names in (
        (2, "auto_increment_increment", "auto_increment_offset"),
        (2, "client_collation", "connection_collation", "server_collation"),
    ):
        if draw(st.booleans()):
            values |= {str(name): draw(uint(int(width))) for name in names}
    if draw(st.booleans()):
        values |= {"invoker_user": draw(text()), "invoker_host": draw(text())}
    values["updated_dbs"] = draw(maybe(st.lists(text(nul=False), max_size=4).map(tuple)))
    return StatusVars(**values)


@st.composite
def statements(draw: Callable[[Strategy], Any]) -> dict[str, Any]:
    """The fields that QUERY and EXECUTE_LOAD_QUERY share."""
    variables = draw(status_vars())
    shown, stored = statement_text(draw(data), variables.client_collation)
    return {
        "thread_id": draw(uint(4)),
        "exec_time": draw(uint(4)),
        "error_code": draw(uint(2)),
        "schema": draw(text()),
        "status_vars": variables,
        "query": shown,
        "query_bytes": stored,
    }


queries = statements().map(lambda fields: Query(**fields))
load_queries = st.builds(
    lambda fields, **more: ExecuteLoadQuery(**fields, **more),
    statements(),
    file_id=uint(4),
    name_start=uint(4),
    name_end=uint(4),
    duplicates=uint(1),
)
rows_queries = data.map(lambda raw: RowsQuery(*statement_text(raw, None)))
blocks = st.builds(LoadBlock, uint(4), data)


def loads(old: bool) -> Strategy:
    part = st.binary(max_size=1 if old else 5)
    return st.builds(
        Load,
        thread_id=uint(4),
        exec_time=uint(4),
        skip_lines=uint(4),
        db=text(),
        table=text(),
        fields=st.lists(text(), max_size=3).map(tuple),
        file_name=text(nul=False),
        terminated=part,
        enclosed=part,
        lines_terminated=part,
        lines_starting=part,
        escaped=part,
        options=st.sets(st.sampled_from(["dumpfile", "opt_enclosed", "replace", "ignore"])).map(
            lambda names: tuple(
                name for name in ("dumpfile", "opt_enclosed", "replace", "ignore") if name in names
            )
        ),
    )


numbers = st.lists(st.integers(0, (1 << 64) - 1), max_size=4).map(tuple)
bits = st.integers(0, 3).flatmap(
    lambda n: st.lists(st.booleans(), min_size=8 * n, max_size=8 * n).map(tuple)
)
pairs = st.lists(st.tuples(uint(8), uint(8)), max_size=3).map(tuple)
charsets = st.builds(DefaultCharset, uint(8), pairs)
labels = st.lists(st.lists(st.binary(max_size=9), max_size=3).map(tuple), max_size=3).map(tuple)
optional_metadata = st.builds(
    OptionalMetadata,
    unsigned=maybe(bits),
    default_charset=maybe(charsets),
    columns_charset=maybe(numbers),
    geometry_types=maybe(numbers),
    column_names=maybe(st.lists(text(), max_size=3).map(tuple)),
    set_labels=maybe(labels),
    enum_labels=maybe(labels),
    primary_key=maybe(pairs),
    enum_and_set_default_charset=maybe(charsets),
    enum_and_set_columns_charset=maybe(numbers),
    visible=maybe(bits),
    vector_dimensions=maybe(numbers),
    unknown=maybe(
        st.lists(st.tuples(st.integers(14, 255), data), min_size=1, max_size=2).map(tuple)
    ),
).filter(lambda optional: optional != OptionalMetadata())


def sized(count: int) -> Strategy:
    size = (count + 7) // 8
    return st.binary(min_size=size, max_size=size)


@st.composite
def table_maps(draw: Callable[[Strategy], Any]) -> TableMap:
    types = draw(st.binary(min_size=1, max_size=20))
    return TableMap(
        draw(uint(6)), draw(uint(2)), draw(text()), draw(text()), types, draw(data),
        draw(sized(len(types))), draw(maybe(optional_metadata)),
    )  # fmt: skip


@st.composite
def extras(draw: Callable[[Strategy], Any], op: str) -> ExtraRowInfo | None:
    values: dict[str, Any] = {}
    if draw(st.booleans()):
        values |= {"ndb_format": draw(uint(1)), "ndb": draw(data)}
    if draw(st.booleans()):
        values["partition_id"] = draw(uint(2))
        if op == "update":
            values["source_partition_id"] = draw(uint(2))
    if draw(st.booleans()):
        values["rest"] = b"\x02" + draw(data)
    return ExtraRowInfo(**values) if values else None


@st.composite
def rows(
    draw: Callable[[Strategy], Any], op: str, v2: bool = True, partial: bool = False
) -> RowsEvent:
    count = draw(st.integers(0, 40))
    before = draw(sized(count)) if op != "insert" else None
    after = draw(sized(count)) if op != "delete" else None
    extra = draw(extras(op)) if v2 else None
    return RowsEvent(
        draw(uint(6)), draw(uint(2)), op, count, before, after, extra, draw(data), partial
    )


@st.composite
def early_rows(draw: Callable[[Strategy], Any], op: str) -> EarlyRows:
    count = draw(st.integers(0, 40))
    return EarlyRows(draw(uint(6)), draw(uint(2)), op, count, draw(sized(count)), draw(data))


gnos = st.integers(1, LAST_GNO)


@st.composite
def gtids(draw: Callable[[Strategy], Any], anonymous: bool) -> Gtid:
    """With the fields of some version: each later field needs all before it."""
    fields: dict[str, Any] = {}
    for part in (
        {"last_committed": sint(8), "sequence_number": sint(8)},
        dict.fromkeys(
            ("immediate_commit_timestamp", "original_commit_timestamp"), st.integers(0, 2**55 - 1)
        ),
        {"transaction_length": uint(8)},
        dict.fromkeys(
            ("immediate_server_version", "original_server_version"), st.integers(0, 2**31 - 1)
        ),
        {"commit_group_ticket": uint(8)},
    ):
        if not draw(st.integers(0, 3)):
            break
        fields |= {name: draw(strategy) for name, strategy in part.items()}
    number = draw(sint(8) if anonymous else gnos)
    return Gtid(draw(uint(1)), draw(uuids), number, **fields, anonymous=anonymous)


tags = st.from_regex(r"[a-z_][a-z0-9_]{0,31}", fullmatch=True)
tagged_gtids = st.builds(
    Gtid,
    flags=uint(8),
    sid=uuids,
    gno=gnos,
    tag=tags,
    last_committed=sint(8),
    sequence_number=sint(8),
    immediate_commit_timestamp=st.integers(0, 2**55 - 1),
    original_commit_timestamp=st.integers(0, 2**55 - 1),
    transaction_length=uint(8),
    immediate_server_version=uint(8),
    original_server_version=uint(8),
    commit_group_ticket=maybe(uint(8)),
)
intervals = st.tuples(st.integers(1, 2**62), st.integers(0, 2**61)).map(lambda p: (p[0], sum(p)))
gtid_sets = st.dictionaries(
    st.builds(lambda sid, tag: f"{sid}:{tag}" if tag else sid, uuids, st.just("") | tags),
    st.lists(intervals, min_size=1, max_size=3),
    max_size=3,
).map(lambda found: PreviousGtids(str(GtidSet(found))))


@st.composite
def user_vars(draw: Callable[[Strategy], Any]) -> UserVar:
    if draw(st.booleans()):
        return UserVar(draw(text()), True)
    kind = draw(st.sampled_from(["STRING", "REAL", "INT", "ROW", "DECIMAL", "200"]))
    flags = draw(maybe(uint(1)))
    unsigned = bool((flags or 0) & 1)
    return UserVar(draw(text()), False, kind, draw(uint(4)), draw(data), unsigned, flags)


format_descriptions = st.sampled_from(
    ["5.0.96", "5.5.62", "5.7.44-log", "8.0.31", "9.7.4"]
).flatmap(
    lambda version: st.builds(
        format_description,
        st.just(version),
        created=uint(4),
        event_header_length=st.integers(19, 255),
        checksum_algorithm=st.none() if version < "5.6" else st.integers(0, 1),
    )
)
texts40 = text(40, nul=False).filter(lambda name: len(name.encode()) <= 40)

EVENTS: dict[T, Strategy] = {
    T.QUERY_EVENT: queries,
    T.STOP_EVENT: st.just(Stop()),
    T.ROTATE_EVENT: st.builds(Rotate, uint(8), text()),
    T.INTVAR_EVENT: st.builds(
        Intvar, st.sampled_from(["LAST_INSERT_ID", "INSERT_ID", "9"]), uint(8)
    ),
    T.LOAD_EVENT: loads(old=True),
    T.SLAVE_EVENT: st.builds(Slave, uint(8), uint(2), text(nul=False), text(nul=False)),
    T.CREATE_FILE_EVENT: st.builds(CreateFile, loads(old=False), uint(4), data),
    T.APPEND_BLOCK_EVENT: blocks,
    T.EXEC_LOAD_EVENT: st.builds(ExecLoad, uint(4)),
    T.DELETE_FILE_EVENT: st.builds(DeleteFile, uint(4)),
    T.NEW_LOAD_EVENT: loads(old=False),
    T.RAND_EVENT: st.builds(Rand, uint(8), uint(8)),
    T.USER_VAR_EVENT: user_vars(),
    T.FORMAT_DESCRIPTION_EVENT: format_descriptions,
    T.XID_EVENT: st.builds(Xid, uint(8)),
    T.BEGIN_LOAD_QUERY_EVENT: blocks,
    T.EXECUTE_LOAD_QUERY_EVENT: load_queries,
    T.TABLE_MAP_EVENT: table_maps(),
    T.PRE_GA_WRITE_ROWS_EVENT: early_rows("insert"),
    T.PRE_GA_UPDATE_ROWS_EVENT: early_rows("update"),
    T.PRE_GA_DELETE_ROWS_EVENT: early_rows("delete"),
    T.WRITE_ROWS_EVENT_V1: rows("insert", v2=False),
    T.UPDATE_ROWS_EVENT_V1: rows("update", v2=False),
    T.DELETE_ROWS_EVENT_V1: rows("delete", v2=False),
    T.INCIDENT_EVENT: st.builds(Incident, uint(2), maybe(text())),
    T.HEARTBEAT_LOG_EVENT: st.builds(Heartbeat, text()),
    T.IGNORABLE_LOG_EVENT: st.builds(Ignorable, data),
    T.ROWS_QUERY_LOG_EVENT: rows_queries,
    T.WRITE_ROWS_EVENT: rows("insert"),
    T.UPDATE_ROWS_EVENT: rows("update"),
    T.DELETE_ROWS_EVENT: rows("delete"),
    T.GTID_LOG_EVENT: gtids(anonymous=False),
    T.ANONYMOUS_GTID_LOG_EVENT: gtids(anonymous=True),
    T.PREVIOUS_GTIDS_LOG_EVENT: gtid_sets,
    T.TRANSACTION_CONTEXT_EVENT: st.builds(
        TransactionContext, text(), uint(4), st.booleans(), data,
        st.lists(data, max_size=3).map(tuple), st.lists(data, max_size=3).map(tuple),
    ),
    T.VIEW_CHANGE_EVENT: st.builds(
        ViewChange, texts40, uint(8), st.lists(st.tuples(text(), data), max_size=3).map(tuple)
    ),
    T.XA_PREPARE_LOG_EVENT: st.builds(XaPrepare, st.booleans(), uint(4), data, data),
    T.PARTIAL_UPDATE_ROWS_EVENT: rows("update", partial=True),
    T.HEARTBEAT_LOG_EVENT_V2: st.builds(
        HeartbeatV2, maybe(text()), maybe(uint(8)),
        st.lists(st.tuples(st.integers(3, 99), data), max_size=2).map(tuple),
    ),
    T.GTID_TAGGED_LOG_EVENT: tagged_gtids,
    T.LARGE_TRANSACTION_HEADER_EVENT: st.builds(
        lambda version, offset, code, padding: LargeTransactionHeader(
            version, offset, event_type_name(code), len(padding), padding, code
        ),
        uint(1), uint(8), uint(1), data,
    ),
}  # fmt: skip
