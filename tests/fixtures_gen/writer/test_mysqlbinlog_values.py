"""Random values through the writer, as mysqlbinlog reads them: it shares no code with ours."""

from __future__ import annotations

import random
import re
import uuid
from pathlib import Path
from typing import Any

import pytest

from binlogkit.constants import EventFlag
from binlogkit.events.control import XaPrepare, Xid
from binlogkit.events.gtid import Gtid, PreviousGtids
from binlogkit.events.gtid_set import GtidSet
from binlogkit.events.query import Query
from binlogkit.events.status_vars import StatusVars
from binlogkit.events.variables import Intvar, Rand
from binlogkit.sources import mysqlbinlog
from binlogkit_fixtures.writer import LogWriter

pytestmark = pytest.mark.oracle

EVENTS = 150
EDGES = (1, 2, 127, 128, 250, 251, 255, 256, 2**14, 2**16 - 1, 2**16, 2**24, 2**31, 2**32, 2**47)


def number(rnd: random.Random, bits: int) -> int:
    """Of every width alike, the edges of encodings among them."""
    return rnd.choice((rnd.getrandbits(rnd.randrange(1, bits + 1)), rnd.choice(EDGES)))


def text_of(log: LogWriter, folder: Path) -> str:
    path = folder / "values.000001"
    path.write_bytes(log.data)
    options = ["--verify-binlog-checksum", "--skip-gtids=false"]
    return b"".join(mysqlbinlog.read(path, options=options)).decode()


def gtid(rnd: random.Random, kind: str) -> Gtid:
    times = [number(rnd, 50) for _ in range(2)]
    versions = [80000 + rnd.randrange(999), 90000 + rnd.randrange(999)]
    if rnd.random() < 0.5:
        times[1], versions[1] = times[0], versions[0]
    tag = "".join(rnd.choices("abcxyz_", k=rnd.randrange(1, 33))) if kind == "tagged" else ""
    anonymous = kind == "anonymous"
    sid = str(uuid.UUID(int=0 if anonymous else rnd.getrandbits(128)))
    return Gtid(
        flags=rnd.randrange(2),
        sid=sid,
        gno=0 if anonymous else max(number(rnd, 62), 1),
        last_committed=number(rnd, 62),
        sequence_number=number(rnd, 62),
        immediate_commit_timestamp=times[0],
        original_commit_timestamp=times[1],
        transaction_length=number(rnd, 62),
        immediate_server_version=versions[0],
        original_server_version=versions[1],
        anonymous=anonymous,
        tag=tag,
    )


GTID_LINE = re.compile(
    r"\tlast_committed=(-?\d+)\tsequence_number=(-?\d+)\trbr_only=(yes|no)"
    r"\toriginal_committed_timestamp=(\d+)\timmediate_commit_timestamp=(\d+)"
    r"\ttransaction_length=(\d+)"
)


def test_gtids(tmp_path: Path) -> None:
    rnd = random.Random(4)
    log = LogWriter("9.7.4")
    kinds = ("plain", "anonymous", "tagged")
    meant = [gtid(rnd, rnd.choice(kinds)) for _ in range(EVENTS)]
    for body in meant:
        log.add(body)
        log.add(Query(1, 0, 0, "", StatusVars(), "BEGIN"), flags=EventFlag.SUPPRESS_USE)
        log.add(Xid(1))
    text = text_of(log, tmp_path)
    assert GTID_LINE.findall(text) == [
        (
            str(body.last_committed),
            str(body.sequence_number),
            "no" if body.flags else "yes",
            str(body.original_commit_timestamp),
            str(body.immediate_commit_timestamp),
            str(body.transaction_length),
        )
        for body in meant
    ]
    names = re.findall(r"SET @@SESSION.GTID_NEXT= '([^']*)'/\*!\*/;", text)
    assert names[:EVENTS] == [body.gtid or "ANONYMOUS" for body in meant]
    for name in ("original", "immediate"):
        found = re.findall(rf"SET @@session.{name}_server_version=(\d+)", text)
        assert found == [str(getattr(body, f"{name}_server_version")) for body in meant]


def test_previous_gtids(tmp_path: Path) -> None:
    rnd = random.Random(5)
    for tagged in (False, True):
        found: dict[str, list[tuple[int, int]]] = {}
        for _ in range(20):
            key = str(uuid.UUID(int=rnd.getrandbits(128)))
            if tagged and rnd.random() < 0.7:
                key += ":" + "".join(rnd.choices("abc_", k=rnd.randrange(1, 33)))
            start = max(number(rnd, 60), 1)
            found[key] = [(start, start + number(rnd, 40)), (2**62, 2**62 + 9)]
        gtids = str(GtidSet(found))
        log = LogWriter("9.7.4")
        log.add(PreviousGtids(gtids), flags=EventFlag.IGNORABLE)
        text = text_of(log, tmp_path)
        said = re.findall(r"^# ([0-9a-f-]{36}:.*?),?$", text, re.MULTILINE)
        assert GtidSet.parse(",".join(said)) == GtidSet.parse(gtids)


def test_what_a_statement_needs(tmp_path: Path) -> None:
    rnd = random.Random(6)
    log = LogWriter("8.0.31")
    expected: list[str] = []
    for _ in range(EVENTS):
        kind, value = rnd.choice(["LAST_INSERT_ID", "INSERT_ID"]), number(rnd, 63)
        seeds = number(rnd, 63), number(rnd, 63)
        statement = f"INSERT INTO t VALUES ({rnd.random()})"
        bodies: list[Any] = [Intvar(kind, value), Rand(*seeds)]
        for body in (*bodies, Query(1, 0, 0, "", StatusVars(), statement)):
            log.add(body)
        expected += [
            f"SET {kind}={value}",
            f"SET @@RAND_SEED1={seeds[0]}, @@RAND_SEED2={seeds[1]}",
            statement,
        ]
    lines = [line.removesuffix("/*!*/;") for line in text_of(log, tmp_path).splitlines()]
    wanted = ("SET LAST_INSERT_ID", "SET INSERT_ID", "SET @@RAND", "INSERT INTO t")
    assert [line for line in lines if line.startswith(wanted)] == expected


def test_xa_ids(tmp_path: Path) -> None:
    rnd = random.Random(7)
    log = LogWriter("8.0.31")
    meant = [
        XaPrepare(
            rnd.random() < 0.5,
            rnd.randrange(2**31),
            rnd.randbytes(rnd.randrange(65)),
            rnd.randbytes(rnd.randrange(65)),
        )
        for _ in range(EVENTS)
    ]
    for body in meant:
        log.add(body)
    said = re.findall(r"^XA (PREPARE|COMMIT) (.*?)( ONE PHASE)?$", text_of(log, tmp_path), re.M)
    assert said == [
        ("COMMIT", body.xa, " ONE PHASE") if body.one_phase else ("PREPARE", body.xa, "")
        for body in meant
    ]


SETTINGS = {
    "sql_mode": r"@@session\.sql_mode=(\d+)",
    "auto_increment_increment": r"@@session\.auto_increment_increment=(\d+)",
    "auto_increment_offset": r"@@session\.auto_increment_offset=(\d+)",
    "client_collation": r"@@session\.character_set_client=(\d+)",
    "connection_collation": r"@@session\.collation_connection=(\d+)",
    "server_collation": r"@@session\.collation_server=(\d+)",
    "time_zone": r"@@session\.time_zone='([^']*)'",
    "lc_time_names": r"@@session\.lc_time_names=(\d+)",
    "database_collation": r"@@session\.collation_database=(\d+)",
    "utf8mb4_collation": r"@@session\.default_collation_for_utf8mb4=(\d+)",
    "default_table_encryption": r"@@session\.default_table_encryption=(\d)",
}


def status_vars(rnd: random.Random) -> StatusVars:
    """Without ``source_data_written``: mysqlbinlog 9.7.4 reads no variable from that one on."""
    return StatusVars(
        flags2=0,
        sql_mode=number(rnd, 40),
        catalog="std",
        auto_increment_increment=rnd.randrange(1, 2**16),
        auto_increment_offset=rnd.randrange(1, 2**16),
        client_collation=rnd.choice([8, 33, 45, 255]),
        connection_collation=rnd.randrange(1, 2**16),
        server_collation=rnd.randrange(1, 2**16),
        time_zone=rnd.choice(["+00:00", "-11:30", "Europe/Berlin", "SYSTEM"]),
        lc_time_names=rnd.randrange(111),
        database_collation=rnd.randrange(1, 2**16),
        invoker_user="someone",
        invoker_host="%",
        updated_dbs=("a", "b"),
        microseconds=rnd.randrange(10**6),
        explicit_defaults_for_timestamp=True,
        ddl_xid=number(rnd, 62),
        utf8mb4_collation=rnd.choice([45, 255]),
        default_table_encryption=rnd.random() < 0.5,
    )


def test_status_variables(tmp_path: Path) -> None:
    """Each setting, as it stands when mysqlbinlog comes to the statement; it prints changes."""
    rnd = random.Random(8)
    log = LogWriter("8.0.31")
    meant = [status_vars(rnd) for _ in range(EVENTS)]
    for i, values in enumerate(meant):
        log.add(Query(7, 0, 0, "", values, f"DROP TABLE t{i}"))
    state: dict[str, str] = {}
    at_statement: list[dict[str, str]] = []
    xids: list[str] = []
    for line in text_of(log, tmp_path).splitlines():
        if line.startswith("DROP TABLE t"):
            at_statement.append(dict(state))
        xids += re.findall(r"error_code=0\tXid = (\d+)$", line)
        for name, pattern in SETTINGS.items():
            if said := re.search(pattern, line):
                state[name] = said[1]
    assert at_statement == [
        {name: str(int(v)) if isinstance(v := getattr(values, name), bool) else str(v)
         for name in SETTINGS}
        for values in meant
    ]  # fmt: skip
    assert xids == [str(values.ddl_xid) for values in meant]
