"""Whatever a log is like, the reading's windows say what the reference says of each event."""

from __future__ import annotations

import base64
import gzip
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import binlogkit as bk
from binlogkit.constants import EventFlag, EventType
from binlogkit.errors import InputError, LimitError, TruncatedEventError
from binlogkit.rows import scan
from binlogkit.rows.options import Start
from binlogkit.rows.reading import MOST_EVENTS, Reading
from binlogkit.sources import chunks
from tests.fuzz.binlogkit_fuzz import framing, seeds
from tests.rows.window_checks import Seen, assert_same, by_reading, ways

MODES = ("report", "stop")
RELAY = sorted((Path(__file__).parent / "_data" / "5.6.24-relay").glob("relay.0*"))
LOG = seeds.logs()["8.0-row-full/transactions/binlog.000001"]
LATER = seeds.logs()["8.0-row-full/transactions/binlog.000002"]
DDL = seeds.logs()["5.7-row-full/ddl/binlog.000001"]
QUERIES = seeds.logs()["8.0-row-rows-query/transactions/binlog.000001"]
PAYLOADS = seeds.logs()["8.0-row-compressed/transactions/binlog.000001"]
PLAIN = seeds.logs()["8.0-row-no-checksum/keys/binlog.000001"]
OLD_ROWS = seeds.logs()["5.7-row-v1-events/transactions/binlog.000001"]
TABLE_MAP = int(EventType.TABLE_MAP_EVENT)


def flipped(data: bytes, *offsets: int) -> bytes:
    broken = bytearray(data)
    for offset in offsets:
        broken[offset] ^= 0x41
    return bytes(broken)


def query(sql: str, db: str = "bank") -> bytes:
    """The body of a QUERY_EVENT."""
    name = db.encode()
    return bytes(8) + bytes([len(name), 0, 0, 0, 0]) + name + b"\0" + sql.encode()


def changed(data: bytes, change: Callable[[list[framing.Part]], None]) -> bytes:
    """The log with other parts, its positions and checksums made right."""
    pieces = framing.split(data)
    parts = list(pieces.parts)
    change(parts)
    return framing.join(replace(pieces, parts=parts))


def rows_of(parts: list[framing.Part]) -> list[int]:
    return [i for i, part in enumerate(parts) if part.code in seeds.ROWS]


# ---- every log ------------------------------------------------------------------------------

GOLDEN = sorted({path.parent for path in seeds.DATA.glob("*/*/binlog.0*")})
CORPUS = sorted(path for path in seeds.CORPUS.glob("*/*") if path.is_file())


@pytest.mark.sampled(1)
@pytest.mark.parametrize("part", range(4))
def test_servers_logs_are_read_as_they_lie(part: int) -> None:
    for folder in GOLDEN[part::8]:
        seen = assert_same(folder, "stop")
        assert seen.packed == [] and seen.events, folder


#: Other projects' logs that do not lie as servers since 5.1.18 write them, and from where on.
PACKED = {
    "duplicate_xid.000001": 672,  # its last XID_EVENT has a wrong checksum
    "bug33029-slave-relay-bin.000001": 98,  # positions are its source's
    "corrupt-relay-bin.000624": 98,
    "mariadb-bin.000001": 256,  # post-headers, behind the format description
    "mdev-4645-binlog_group_id.binlog": 106,
    "ver_5_1-wl2325_s.001": 102,  # 5.1 before 5.1.18
    "trunc_binlog.000001": 4,  # v3
    "binlog_old_version_4_1.000001": 4,
}


@pytest.mark.skipif(not CORPUS, reason="no other projects' logs beside the project")
def test_other_projects_logs() -> None:
    assert {path.name for path in CORPUS} > set(PACKED)
    for path in CORPUS:
        assert_same(path, "stop")
        packed = assert_same(path, "report").packed
        assert packed[:1] == ([PACKED[path.name]] if path.name in PACKED else []), path


def test_encrypted_logs_are_read_as_they_lie() -> None:
    encrypted = Path(__file__).parents[1] / "_encrypted" / "9-row-encrypted"
    for folder in encrypted.iterdir():
        assert ways(str(folder / "binlog.*"), keyring=folder / "keyring") == "F"


@pytest.mark.sampled(4)
@pytest.mark.parametrize("size", [64, 300, 5000, 1 << 20])
@pytest.mark.parametrize("data", [LOG, DDL, PAYLOADS, PLAIN], ids=["log", "ddl", "zstd", "plain"])
def test_chunks_of_any_size(data: bytes, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "SIZE", size)
    assert assert_same(data, "stop").packed == []
    assert_same(flipped(data, len(data) // 2), "report")


def test_several_logs_are_numbered_on() -> None:
    seen = assert_same([LOG, flipped(LATER, 9000), DDL, PAYLOADS], "report")
    assert [event.ordinal for event in seen.events] == list(range(len(seen.events)))
    assert sorted(seen.transactions) == list(range(len(seen.transactions)))


# ---- damage ---------------------------------------------------------------------------------


def with_damage(data: bytes, where: str) -> bytes:
    """The log broken in one of the ways in which logs break."""
    found = framing.places(data)
    middle = found[len(found) // 2]
    match where:
        case "magic":
            return flipped(data, 1)
        case "format description":
            return flipped(data, 4 + 19 + 60)
        case "no format description":
            return data[:4] + data[found[1] :]
        case "size of the format description":
            return data[: 4 + 9] + b"\xff" + data[4 + 10 :]
        case "middle":
            return flipped(data, middle + 25)
        case "size in the middle":
            return flipped(data, middle + 9)
        case "type in the middle":
            return flipped(data, middle + 4)
        case "zeros in the middle":
            return data[:middle] + bytes(70) + data[middle + 70 :]
        case "bytes gone from the middle":
            return data[: middle + 11] + data[middle + 40 :]
        case "bytes more in the middle":
            return data[: middle + 30] + b"??!" + data[middle + 30 :]
        case "several":
            return flipped(data, *(at + 20 for at in found[3::17]))
        case "last event":
            return flipped(data, found[-1] + 20)
        case "end of the last event":
            return data[:-1]
        case "half a header":
            return data[: found[-1] + 10]
        case "zeros behind the end":
            return data + bytes(1 << 16)
        case "text behind the end":
            return data + b"this is no event, but as long as one may be\n"
        case _:
            raise AssertionError(where)


DAMAGES = (
    "magic", "format description", "no format description", "size of the format description",
    "middle", "size in the middle", "type in the middle", "zeros in the middle",
    "bytes gone from the middle", "bytes more in the middle", "several", "last event",
    "end of the last event", "half a header", "zeros behind the end", "text behind the end",
)  # fmt: skip

# Nothing in the log says that it lacks one; without checksums bytes of a body may be any.
UNSEEN = ("no format description", "middle", "type in the middle", "last event")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("where", DAMAGES)
@pytest.mark.parametrize("data", [LOG, PAYLOADS, PLAIN], ids=["log", "zstd", "no checksums"])
def test_damage_is_reported_and_passed(
    data: bytes, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = with_damage(data, where)
    for size, enough in ((1 << 20, 32), (700, 2)):
        monkeypatch.setattr(chunks, "SIZE", size)
        monkeypatch.setattr(scan, "_ENOUGH", enough)
        for mode in MODES:
            seen = assert_same(broken, mode)
            assert seen.damages or seen.error or where in UNSEEN
            assert_same([broken, LATER], mode)


@pytest.mark.parametrize("seed", range(3))
def test_damage_anywhere(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(seed)
    for _ in range(5):
        monkeypatch.setattr(chunks, "SIZE", chance.choice((200, 1 << 20)))
        monkeypatch.setattr(scan, "_ENOUGH", chance.choice((1, 5, 32)))
        data = chance.choice((LOG, DDL, PAYLOADS, QUERIES, OLD_ROWS))
        for mode in MODES:
            assert_same(flipped(data, *(chance.randrange(4, len(data)) for _ in range(3))), mode)


def test_stopping_at_damage_hands_over_what_stands_before_it() -> None:
    at = framing.places(LOG)[40]
    seen = assert_same(flipped(LOG, at + 25), "stop")
    assert seen.error is not None and f"at {at} " in seen.error[1]
    assert len(seen.events) == 40


@pytest.mark.parametrize("on_damage", MODES)
def test_a_log_that_cannot_be_read_is_raised_behind_the_others(on_damage: str) -> None:
    seen = assert_same([LOG, b"no log at all", LATER], on_damage)
    assert seen.error is not None and seen.error[0] == "NotABinlogError"
    assert {event.last for event in seen.events} == {False, True}


@pytest.mark.parametrize("data", [b"", b"\xfebi", framing.MAGIC, b"no log at all"])
def test_what_is_no_log(data: bytes) -> None:
    for mode in MODES:
        assert assert_same(data, mode).events == []


@pytest.mark.parametrize("on_damage", MODES)
@pytest.mark.parametrize("left", [200, 4 + framing.places(LOG)[1], framing.places(LOG)[60] + 7])
def test_a_file_that_is_made_shorter_while_it_is_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, left: int, on_damage: str
) -> None:
    """Nothing is made up of what is gone."""
    monkeypatch.setattr(chunks, "SIZE", 4096)
    whole = by_reading(bk.open(LOG)).events
    path = tmp_path / "binlog.000001"
    path.write_bytes(LOG)
    reading = bk.open(path, on_damage=on_damage).reading()
    positions: list[int] = []
    error: TruncatedEventError | None = None
    try:
        for window in reading.windows():
            reading.damages += [damage for _, damage in window.damages]
            if window.stretch is not None:
                positions += window.stretch.positions.tolist()
                path.write_bytes(LOG[:left])
    except TruncatedEventError as met:
        error = met
    assert positions == [event.raw.pos for event in whole][: len(positions)]
    assert 2 < len(positions) < len(whole)
    found = [*reading.damages, *([error] if error else [])]
    assert [type(damage) for damage in found] == [TruncatedEventError]
    assert found[0].offset == whole[len(positions)].raw.pos
    assert bool(error) == (on_damage == "stop")


@pytest.mark.parametrize("on_damage", MODES)
@pytest.mark.parametrize("left", [0.99, 0.5, 0.02])
def test_packed_files_that_end_early(tmp_path: Path, left: float, on_damage: str) -> None:
    path = tmp_path / "binlog.000001.gz"
    data = gzip.compress(LOG)
    path.write_bytes(data[: int(len(data) * left)])
    seen = assert_same(path, on_damage)
    assert seen.damages or seen.error


# ---- formats --------------------------------------------------------------------------------


def with_format(data: bytes, change: Callable[[bytearray], None]) -> bytes:
    """The log with another format description."""
    pieces = framing.split(data)
    body = bytearray(pieces.parts[0].body)
    change(body)
    parts = [replace(pieces.parts[0], body=bytes(body)), *pieces.parts[1:]]
    return framing.join(replace(pieces, parts=parts))


def header_of(length: int) -> Callable[[bytearray], None]:
    def change(body: bytearray) -> None:
        body[56] = length

    return change


def post_header(code: EventType, length: int) -> Callable[[bytearray], None]:
    def change(body: bytearray) -> None:
        body[56 + code] = length

    return change


@pytest.mark.parametrize("length", [19, 20, 27, 40])
def test_headers_of_other_lengths(length: int) -> None:
    """As long as they are said to be, each of them, or not."""
    said = with_format(LOG, header_of(length))
    assert (ways(said) == "F") == (length == 19)
    pieces = framing.split(said)
    longer = [
        part if part.code == EventType.FORMAT_DESCRIPTION_EVENT
        else replace(part, body=bytes(length - 19) + part.body)
        for part in pieces.parts
    ]  # fmt: skip
    for mode in MODES:
        assert_same(said, mode)
        seen = assert_same(framing.join(replace(pieces, parts=longer)), mode)
        assert not seen.error and len(seen.events) == len(longer)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("code", "lengths"),
    [
        (EventType.TABLE_MAP_EVENT, (0, 6, 7, 8, 12)),
        (EventType.WRITE_ROWS_EVENT, (6, 8, 10, 14)),
        (EventType.QUERY_EVENT, (11, 13, 15)),
        (EventType.XID_EVENT, (0, 8)),
        (EventType.GTID_LOG_EVENT, (25, 42, 44)),
        (EventType.ROWS_QUERY_LOG_EVENT, (0, 1)),
    ],
)
def test_post_headers_of_other_lengths(code: EventType, lengths: tuple[int, ...]) -> None:
    for length in lengths:
        for data in (LOG, QUERIES):
            for mode in MODES:
                assert_same(with_format(data, post_header(code, length)), mode)


def test_rows_events_of_version_1() -> None:
    seen = assert_same(OLD_ROWS, "stop")
    assert seen.packed == [] and any(event.schema for event in seen.events)


def test_no_checksums() -> None:
    """Positions vouch for events; where one is wrong, those behind it are framed one by one."""
    assert assert_same(PLAIN, "stop").packed == []
    found = framing.places(PLAIN)
    at = found[len(found) // 2]
    moved = PLAIN[: at + 13] + bytes([PLAIN[at + 13] ^ 1]) + PLAIN[at + 14 :]
    for mode in MODES:
        assert assert_same(moved, mode).packed[0] == at


def test_checksums_that_are_not_announced() -> None:
    """Those of the events behind a format description decide, whether it is whole or not."""
    silent = with_format(LOG, lambda body: body.__setitem__(-1, 0))
    pieces = framing.split(LOG)
    first = framing.split(silent).parts[0]
    sealed = framing.join(replace(pieces, parts=[first, *pieces.parts[1:]]))
    for mode in MODES:
        assert_same(sealed, mode)


def test_a_second_format_description() -> None:
    for other in (LOG, PLAIN, OLD_ROWS):
        for mode in MODES:
            assert_same(LOG + other[4:], mode)


@pytest.mark.parametrize("form", ["statement", "hexdump", "packets", "statements"])
def test_events_without_a_file_around_them(form: str) -> None:
    pieces = [
        LOG[at:end]
        for at, end in zip(framing.places(LOG), [*framing.places(LOG)[1:], None], strict=True)
    ]
    texts = {
        "statement": f"BINLOG '{base64.b64encode(LOG[4:]).decode()}';",
        "statements": "".join(f"BINLOG '{base64.b64encode(p).decode()}';\n" for p in pieces),
        "hexdump": LOG.hex(" "),
    }
    packets = b"".join(
        (len(p) + 1).to_bytes(3, "little") + bytes([(i + 1) % 256]) + b"\0" + p
        for i, p in enumerate(pieces)
    )
    source = texts[form].encode() if form in texts else packets
    for mode in MODES:
        seen = assert_same(source, mode)
        assert seen.packed == framing.places(LOG)
        assert_same(source[: len(source) // 2] + source[len(source) // 2 + 9 :], mode)
    later = pieces[0] + b"".join(pieces[9:12]) + b"".join(pieces[4:7])
    assert_same(f"BINLOG '{base64.b64encode(later).decode()}';".encode(), "report")


# ---- tables ---------------------------------------------------------------------------------


def schemas(seen: Seen) -> list[tuple[str, str, int] | None]:
    return [e.schema for e in seen.events if e.raw.header.type_code in seeds.ROWS]


def test_a_statement_between_table_maps_and_their_rows() -> None:
    """The rows have the table as it was when their map was written; the next map is anew."""

    def change(parts: list[framing.Part]) -> None:
        at = rows_of(parts)[4]
        table = bk.open(LOG).table_pairs()[0][1]
        sql = f"ALTER TABLE {table} ADD COLUMN another INT"
        parts.insert(at, replace(parts[at], code=2, body=query(sql)))

    seen = assert_same(changed(LOG, change), "stop")
    assert len(set(schemas(seen))) > len(set(schemas(assert_same(LOG, "stop"))))


def test_a_map_of_before_a_change_counts_for_rows_without_another() -> None:
    def change(parts: list[framing.Part]) -> None:
        first = rows_of(parts)[0]
        same = [i for i in rows_of(parts) if parts[i].body[:6] == parts[first].body[:6]]
        for i in reversed(same[1:4]):
            del parts[i - 1]
        drop = replace(parts[first], code=2, body=query("DROP TABLE account, ledger, digit"))
        parts.insert(same[1] - 1, drop)

    data = changed(LOG, change)
    for mode in MODES:
        assert None not in schemas(assert_same(data, mode))


def test_table_ids_that_are_used_again() -> None:
    """Each map says anew what its id stands for, inside a statement as well."""

    def change(parts: list[framing.Part]) -> None:
        maps = [i for i, part in enumerate(parts) if part.code == TABLE_MAP]
        for i in maps:
            parts[i] = replace(parts[i], body=bytes(6) + parts[i].body[6:])
        for i in rows_of(parts):
            parts[i] = replace(parts[i], body=bytes(6) + parts[i].body[6:])

    seen = assert_same(changed(DDL, change), "stop")
    assert len({schema and schema[:2] for schema in schemas(seen)}) > 3


@pytest.mark.parametrize("cut", [7, 8, 12, 30, -1])
def test_a_table_map_that_cannot_be_read(cut: int) -> None:
    """It is reported wherever it stands, and what it takes away; its rows are not guessed."""

    def change(parts: list[framing.Part]) -> None:
        maps = [i for i, part in enumerate(parts) if part.code == TABLE_MAP]
        body = parts[maps[2]].body
        for i in maps:
            if parts[i].body[6:] == body[6:]:
                parts[i] = replace(parts[i], body=body[:cut])

    data = changed(LOG, change)
    for mode in MODES:
        seen = assert_same(data, mode)
        assert seen.error or (len(seen.damages) > 2 and len(seen.losses) > 2)


def test_rows_without_a_table_map() -> None:
    """Reported once for each id; again when a map of the id came between, in another log."""

    def change(parts: list[framing.Part]) -> None:
        for i in rows_of(parts)[1:6:2]:
            parts[i] = replace(parts[i], body=(99).to_bytes(6, "little") + parts[i].body[6:])

    def with_map(parts: list[framing.Part]) -> None:
        at = rows_of(parts)[5] - 1
        parts.insert(at, replace(parts[at], body=(99).to_bytes(6, "little") + parts[at].body[6:]))

    def told(*logs: bytes) -> int:
        seen = assert_same(list(logs), "report")
        return sum("no TABLE_MAP_EVENT for table id 99" in damage for damage in seen.damages)

    without = changed(LOG, change)
    assert told(without) == 1
    assert told(changed(without, with_map)) == 1
    assert told(without, LATER, without) == 2


def test_rows_that_only_end_a_statement_need_no_table() -> None:
    def change(parts: list[framing.Part]) -> None:
        at = rows_of(parts)[0]
        parts.insert(
            at + 1, replace(parts[at], body=(0xFFFFFF).to_bytes(6, "little") + b"\1\0\2\0\0")
        )

    assert assert_same(changed(LOG, change), "report").damages == []


# ---- transactions ---------------------------------------------------------------------------


@pytest.mark.parametrize("statement", ["BEGIN", "XA START X'61',X'',1"])
def test_a_transaction_that_begins_inside_another(statement: str) -> None:
    """The one before is cut: its end is not in the log."""

    def change(parts: list[framing.Part]) -> None:
        at = rows_of(parts)[2]
        parts.insert(at + 1, replace(parts[at], code=2, body=query(statement)))

    before, after = assert_same(LOG, "stop"), assert_same(changed(LOG, change), "stop")
    assert len(after.transactions) == len(before.transactions) + 1
    cut = [n for n, t in after.transactions.items() if t.outcome == "cut"]
    assert len(cut) == 1 + sum(t.outcome == "cut" for t in before.transactions.values())


@pytest.mark.parametrize("statement", ["COMMIT", "ROLLBACK", "SAVEPOINT a", "ROLLBACK TO a"])
def test_statements_inside_a_transaction(statement: str) -> None:
    def change(parts: list[framing.Part]) -> None:
        for at in reversed(rows_of(parts)[1:9:2]):
            parts.insert(at + 1, replace(parts[at], code=2, body=query(statement)))

    for data in (LOG, PAYLOADS, QUERIES):
        assert_same(changed(data, change), "stop")


def relay_logs(data: bytes, *cuts: int) -> list[bytes]:
    """The log as relay logs that were closed before these of its events, wherever those stand."""
    pieces = framing.split(data)
    first = replace(pieces.parts[0], flags=pieces.parts[0].flags | EventFlag.RELAY_LOG)
    ends = [*cuts, len(pieces.parts)]
    return [
        framing.join(replace(pieces, parts=[first, *pieces.parts[begin:end]]))
        for begin, end in zip([1, *cuts], ends, strict=True)
    ]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("data", [LOG, DDL, QUERIES, PLAIN], ids=["log", "ddl", "queries", "plain"])
def test_relay_logs_that_were_closed_anywhere(data: bytes) -> None:
    count = len(framing.split(data).parts)
    chance = random.Random(count)
    for _ in range(6):
        cuts = sorted(chance.sample(range(2, min(count, 60)), 3))
        logs = relay_logs(data, *cuts)
        seen = assert_same(logs, "stop")
        assert None not in schemas(seen)
        broken = chance.randrange(len(logs))
        logs[broken] = flipped(logs[broken], chance.randrange(4, len(logs[broken])))
        assert_same(logs, "report")


@pytest.mark.parametrize("statement", ["BEGIN", "begin /* again */", "XA START X'61',X'',1"])
def test_relay_logs_without_gtids_and_a_begin_that_is_repeated(statement: str) -> None:
    """Where one is closed inside a transaction the next goes on with it; but BEGIN begins."""
    pieces = framing.split(seeds.logs()["5.6-row-full/keys/binlog.000001"])
    parts = [part for part in pieces.parts if part.code != EventType.GTID_LOG_EVENT]
    log = framing.join(replace(pieces, parts=parts))
    cut = rows_of(parts)[4]
    whole = assert_same(log, "stop").transactions
    logs = relay_logs(log, cut - 1)
    assert len(assert_same(logs, "stop").transactions) == len(whole)
    begin = replace(parts[cut], code=2, body=query(statement))
    logs[1] = changed(logs[1], lambda later: later.insert(1, begin))
    twice = assert_same(logs, "stop").transactions
    cuts = [n for n, t in twice.items() if t.outcome == "cut"]
    assert len(twice) == len(whole) + 1
    assert len(cuts) == 1 + sum(t.outcome == "cut" for t in whole.values())
    assert twice[cuts[0] + 1].outcome == "committed"


def test_only_relay_logs_go_on() -> None:
    """A crashed server's next log is no continuation."""
    at = rows_of(list(framing.split(LOG).parts))[3]
    first, second = relay_logs(LOG, at)
    plain = [
        changed(log, lambda parts: parts.__setitem__(0, replace(parts[0], flags=0)))
        for log in (first, second)
    ]
    whole = assert_same([first, second], "report")
    assert whole.damages == []
    for logs in ([plain[0], second], [first, plain[1]], plain):
        seen = assert_same(logs, "report", name="one server's")
        assert [t.outcome for t in seen.transactions.values()].count("cut") == 1
        assert len(seen.transactions) > len(whole.transactions)
        assert any("no TABLE_MAP_EVENT" in damage for damage in seen.damages)


def test_real_relay_logs_are_read_as_they_lie() -> None:
    assert len(RELAY) == 5
    for k in range(5):
        for mode in MODES:
            assert assert_same(RELAY[k:], mode).packed == []
            assert assert_same(RELAY[: k + 1], mode).packed == []


def test_relay_logs_with_damage() -> None:
    logs = [path.read_bytes() for path in RELAY]
    for k, at in ((0, 1000), (1, 60), (1, 4 + 19 + 3), (2, 300), (3, 30), (4, 2000)):
        broken = [flipped(data, at) if i == k else data for i, data in enumerate(logs)]
        for mode in MODES:
            assert_same(broken, mode)


# ---- beginning elsewhere --------------------------------------------------------------------


def test_a_reading_that_begins_in_the_middle() -> None:
    """It says of what follows what a whole reading says."""
    whole = by_reading(bk.open([LOG, LATER]))
    begins = [
        event for event in whole.events
        if event.raw.header.type_code == EventType.GTID_LOG_EVENT and event.first
    ]  # fmt: skip
    for event in begins[:: len(begins) // 4]:
        assert event.tx is not None
        log, reading = bk.open([LOG, LATER]), bk.open(LOG).reading()
        for window in reading.windows():
            if window.stretch is not None and window.stretch.ends[-1] >= event.raw.pos:
                break
        start = Start(
            event.ordinal, event.tx, event.raw.pos, reading.tables.catalog,
            frozenset(reading.tables.tracked),
        )  # fmt: skip
        later = by_reading(log, start)
        formats, behind = later.events[:1], later.events[1:]
        assert formats[0].raw == whole.events[0].raw
        expected = whole.events[event.ordinal :]
        assert [(e.raw, e.ordinal, e.tx, e.first, e.last) for e in behind] == [
            (e.raw, e.ordinal, e.tx, e.first, e.last) for e in expected
        ]
        assert later.transactions == {n: t for n, t in whole.transactions.items() if n >= event.tx}
        assert [e.schema and e.schema[:2] for e in behind] == [
            e.schema and e.schema[:2] for e in expected
        ]


def test_a_part_of_a_series_is_neither_its_first_nor_its_last_log() -> None:
    seen = by_reading(bk.open(LOG), Start(first=False, last=False))
    assert {(event.first, event.last) for event in seen.events} == {(False, False)}


def test_more_events_than_a_place_in_the_reading_can_tell() -> None:
    count = len(by_reading(bk.open(LOG)).events)

    def read(ordinal: int) -> int:
        reading = Reading(bk.open(LOG).carriers, start=Start(ordinal))
        for _ in reading.windows():
            pass
        return reading.ordinal

    assert read(MOST_EVENTS - count) == MOST_EVENTS
    with pytest.raises(LimitError, match="more than 2,147,483,648 events in one reading"):
        read(MOST_EVENTS - count + 1)


def test_a_reading_can_be_left() -> None:
    reading = bk.open([LOG, LATER]).reading()
    windows = reading.windows()
    next(windows)
    windows.close()
    with pytest.raises(InputError):
        list(bk.open([LOG, b"no log"]).reading().windows())
