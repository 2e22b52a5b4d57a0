"""Going on after what breaks a stream: each event once and in order, or an error that says why."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import pytest

from binlogkit.constants import EventType
from binlogkit.errors import LogGapError, LostConnectionError, ReplicationError, UsageError
from binlogkit.events.gtid_set import GtidSet
from binlogkit.sources.server import resume
from binlogkit.sources.server.client import ClientIdentity, ReplicationClient, ServerFacts
from binlogkit.sources.server.resume import Anchor, ResumePoint, SteadyStream, Stop
from binlogkit.sources.server.stream import StreamEvent
from tests.sources.server.fake_server import (
    END,
    UUID,
    Dump,
    FakeServer,
    error,
    event,
    format_description,
    log,
    rotate,
)
from tests.waiting import LONG, until

FDE = format_description()
FIRST = 4 + len(FDE)
STEP = 32
BODIES = [bytes([2, n]) + bytes(7) for n in range(6)]


def served(dump: Dump, *names: str, stop: int = 99) -> Iterable[bytes]:
    """What a server with logs of six events sends for a dump; cut after ``stop`` packets."""
    packets: list[bytes] = []
    begun = dump.file == ""
    for name in names:
        begun = begun or name == dump.file
        if not begun:
            continue
        start = dump.position if name == dump.file else 4
        packets.append(b"\0" + rotate(name, start))
        packets.append(b"\0" + (FDE if start == 4 else format_description(log_pos=0)))
        for number, body in enumerate(BODIES):
            pos = FIRST + number * STEP
            if pos >= start:
                packets.append(b"\0" + event(EventType.INTVAR_EVENT, body, start=pos))
    return packets[:stop]


def steady(server: FakeServer, place: ResumePoint = ResumePoint(), **options: Any) -> SteadyStream:  # noqa: B008
    connect = partial(ReplicationClient, server.settings, ClientIdentity())
    return SteadyStream(connect, place, **options)


def taken(stream: Iterable[Any]) -> list[tuple[str, int]]:
    return [(i.file, i.pos) for i in stream if isinstance(i, StreamEvent) and not i.made_up]


ALL = [(name, pos) for name in ("a.000001", "a.000002")
       for pos in (4, *(FIRST + n * STEP for n in range(6)))]  # fmt: skip
SIZES = [("a.000001", FIRST + 6 * STEP), ("a.000002", FIRST + 6 * STEP)]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("cut", range(1, 17))
def test_a_lost_connection_is_taken_up_again(cut: int) -> None:
    """The first dump breaks after ``cut`` packets; the next asks from the last event on."""
    told: list[Any] = []

    def script(dump: Dump) -> Iterable[bytes]:
        if len(server.dumps) == 1:
            return served(dump, "a.000001", "a.000002", stop=cut)
        return [*served(dump, "a.000001", "a.000002"), END]

    with FakeServer(script, SIZES).running() as server:
        assert taken(steady(server, lost=told.append)) == ALL
    assert len(told) == 1
    again = server.dumps[1]
    assert again.position in {4, *(pos for _, pos in ALL)}
    assert again.file == ("a.000001" if cut < 9 else "a.000002")


@pytest.mark.sampled(5)
@pytest.mark.parametrize("cut", range(1, 17))
def test_a_lost_dump_by_gtid_goes_on_exactly_where_it_ended(cut: int) -> None:
    """The server begins the log again, as it may; what was read is passed over, nothing more."""
    asked: list[bytes] = []

    def script(dump: Dump) -> Iterable[bytes]:
        first = len(server.dumps) == 1
        begin = ALL[0][0] if first or cut < 9 else "a.000002"
        packets = [*log("a.000001", *BODIES), *log("a.000002", *BODIES)]
        packets = packets if begin == "a.000001" else packets[8:]
        return packets[:cut] if first else [*packets, END]

    def gtids() -> bytes:
        asked.append(GtidSet().wire())
        return asked[-1]

    with FakeServer(script, SIZES).running() as server:
        assert taken(steady(server, gtids=gtids)) == ALL
    assert len(asked) == 2


def test_every_event_may_be_the_last_of_its_connection() -> None:
    def script(dump: Dump) -> Iterable[bytes]:
        return served(dump, "a.000001", stop=4)

    with FakeServer(script, [("a.000001", FIRST + 7 * STEP)]).running() as server:
        stream = steady(server, patience=0.5)
        found: list[tuple[str, int]] = []
        with pytest.raises(LostConnectionError):
            for item in stream:
                found += taken([item])
    assert found == ALL[:7]


def test_the_first_connection_is_tried_once() -> None:
    with FakeServer(lambda _: ()).running() as server:
        settings = server.settings
    tried = list[object]()

    def connect() -> ReplicationClient:
        assert not tried
        tried.append(settings)
        return ReplicationClient(settings, ClientIdentity())

    with pytest.raises(LostConnectionError, match="Can't connect"):
        list(SteadyStream(connect, ResumePoint()))
    assert len(tried) == 1


def test_another_log_under_the_same_name_is_noticed() -> None:
    place = ResumePoint("a.000001", FIRST + STEP, Anchor.of(FIRST, b"what was read before"))
    with (
        FakeServer(lambda d: [*served(d, "a.000001"), END], SIZES).running() as server,
        pytest.raises(ReplicationError, match="is not the one that was read before"),
    ):
        list(steady(server, place))


def test_another_server_is_noticed() -> None:
    with (
        FakeServer(lambda d: served(d, "a.000001"), SIZES).running() as server,
        pytest.raises(ReplicationError, match=f"it is server {UUID}, not other"),
    ):
        list(steady(server, uuid="other"))


def test_purged_logs_are_a_gap_unless_the_last_one_ended() -> None:
    seen = Anchor.of(FIRST, b"")
    logs = [("a.000007", FIRST + 6 * STEP)]
    with FakeServer(lambda d: [*served(d, "a.000007"), END], logs).running() as server:
        with pytest.raises(LogGapError, match=r"a\.000003 is not among .*begin with a\.000007"):
            list(steady(server, ResumePoint("a.000003", 900, seen)))
        assert server.dumps == []
        with pytest.raises(LogGapError, match=r"it has no log a\.000003"):
            list(steady(server, ResumePoint("a.000003")))
        ended = ResumePoint("a.000006", 900, seen, next_file="a.000007")
        assert [pos for _, pos in taken(steady(server, ended))][:2] == [4, FIRST]


@pytest.mark.parametrize("why", [None, "of another life"])
def test_the_log_behind_one_that_is_gone_must_be_proved_to_follow(why: str | None) -> None:
    """Also over a lost connection; the first events of the log are the proof."""
    asked: list[tuple[str, list[int], str | None]] = []

    def follows(ended: str, head: Sequence[StreamEvent], facts: ServerFacts) -> str | None:
        asked.append((ended, [event.pos for event in head], facts.uuid))
        return why

    def script(dump: Dump) -> Iterable[bytes]:
        cut = 1 if len(server.dumps) == 1 else 99
        return [*served(dump, "a.000002"), END][:cut]

    ended = ResumePoint("a.000001", 900, Anchor.of(800, b"its end"), "a.000002")
    with FakeServer(script, SIZES[1:]).running() as server:
        stream = steady(server, ended, follows=follows)
        if why is None:
            assert taken(stream) == ALL[7:]
        else:
            said = f"its a.000002 is not what followed a.000001: {why}"
            with pytest.raises(ReplicationError, match=said):
                list(stream)
    known = ("a.000001", [4, FIRST], UUID)
    assert [one for one in asked if one[1]] == [known]


def test_silence_is_a_lost_connection() -> None:
    """The heartbeats that were asked for do not come either."""
    line, hung_up = threading.Event(), threading.Event()

    def script(dump: Dump) -> Iterable[bytes]:
        yield from served(dump, "a.000001")
        line.wait(LONG)
        hung_up.set()

    with FakeServer(script, SIZES).running() as server:
        connect = partial(
            ReplicationClient, server.settings, ClientIdentity(), heartbeat=0.2, silence=0.5
        )
        with pytest.raises(LostConnectionError):
            list(SteadyStream(connect, ResumePoint(), wait=True, patience=0))
        assert not hung_up.is_set()
        line.set()
        with pytest.raises(UsageError, match="more often"):
            ReplicationClient(server.settings, ClientIdentity(), heartbeat=3, silence=2)


def test_a_server_that_may_not_list_its_logs_tells_by_its_answer() -> None:
    refusal = error(1236, "Could not find first log file name in binary log index file")
    with (
        FakeServer(lambda _: [refusal], denied=True).running() as server,
        pytest.raises(ReplicationError, match=r"Could not find .*\(a\.000003 at 900\)"),
    ):
        list(steady(server, ResumePoint("a.000003", 900, Anchor(900, 20, b""))))


def test_logs_that_are_reset_while_nothing_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server says that there is nothing; the list of its logs says why."""
    monkeypatch.setattr(resume, "_FIRST_IDLE", 0.05)
    idle = b"\0" + event(EventType.HEARTBEAT_LOG_EVENT, b"a.000001", log_pos=FIRST + 6 * STEP)
    over = threading.Event()

    def script(dump: Dump) -> Iterable[bytes]:
        """Its logs are reset when they were looked at once and nothing was wrong with them."""
        yield from served(dump, "a.000001")
        for _ in range(LONG * 50):
            if over.wait(0.02):
                return
            if sum(b"SHOW BINARY LOGS" in command for command in server.received) > 1:
                server.logs = [("a.000001", 157)]
            yield idle

    with FakeServer(script, SIZES[:1]).running() as server:
        stream, found = steady(server, wait=True, patience=0), []
        try:
            with pytest.raises(ReplicationError, match="has only 157 bytes: its logs were reset"):
                for item in stream:
                    found += taken([item])
        finally:
            over.set()
    assert found == ALL[:7] and len(server.dumps) == 1


def test_an_end_before_the_end_is_not_believed() -> None:
    """A server that shuts down ends its dumps as if its log ended."""

    def script(dump: Dump) -> Iterable[bytes]:
        return [
            *served(dump, "a.000001", "a.000002", stop=5 if len(server.dumps) == 1 else 99),
            END,
        ]

    with FakeServer(script, SIZES).running() as server:
        assert taken(steady(server)) == ALL
    assert len(server.dumps) == 2


@pytest.mark.parametrize("denied", [False, True])
def test_an_end_that_comes_twice_is_one(denied: bool) -> None:
    """The list of logs may be ahead of what is sent yet, or not be shown."""
    longer = [("a.000001", 10_000)]
    script: Callable[[Dump], Iterable[bytes]] = lambda d: [*served(d, "a.000001"), END]  # noqa: E731
    with FakeServer(script, longer, denied=denied).running() as server:
        assert taken(steady(server)) == ALL[:7]
    assert len(server.dumps) == 2


def test_a_log_of_over_4_gib_is_asked_for_from_below() -> None:
    """The dump command's position has 32 bits; what lies between is gone over."""
    low, high = (1 << 32) - 10, (1 << 32) + 22
    one = event(EventType.INTVAR_EVENT, BODIES[0], start=low)
    two = event(EventType.INTVAR_EVENT, BODIES[1], start=high)
    three = event(EventType.INTVAR_EVENT, BODIES[2], start=high + STEP)
    head = [b"\0" + rotate("a.000001", low), b"\0" + format_description(log_pos=0)]
    answer = [*head, *(b"\0" + data for data in (one, two, three)), END]
    place = ResumePoint("a.000001", high + STEP, Anchor.of(low, one))
    with FakeServer(lambda _: answer, [("a.000001", high + 2 * STEP)]).running() as server:
        stream = steady(server, place)
        assert taken(stream) == [("a.000001", high + STEP)]
    assert server.dumps[0].position == low
    assert stream.place.anchor == place.anchor


def test_a_position_inside_an_event_is_told() -> None:
    """5.7 refuses it, 8.0 sends what it finds there."""
    garbage = event(EventType.INTVAR_EVENT, BODIES[0], log_pos=128)
    head = [b"\0" + rotate("a.000001", 130), b"\0" + format_description(log_pos=0)]
    with (
        FakeServer(lambda _: [*head, b"\0" + garbage, END], SIZES).running() as server,
        pytest.raises(ReplicationError, match=r"no event begins at this position .*at 130"),
    ):
        list(steady(server, ResumePoint("a.000001", 130)))


def test_stopping_wakes_a_reader_that_waits() -> None:
    quiet, hung_up, reader = threading.Event(), threading.Event(), threading.get_ident()

    def script(dump: Dump) -> Iterable[bytes]:
        yield from served(dump, "a.000001")
        quiet.wait(LONG)
        hung_up.set()

    def waits() -> bool:
        """Whether the reader is at the call that waits for the server's bytes."""
        return sys._current_frames()[reader].f_code.co_name == "readinto"

    def stop_it() -> None:
        until(waits, "the reader waits for the server")
        stop.now()

    stop, stopper = Stop(), threading.Thread(target=stop_it)
    with FakeServer(script, SIZES).running() as server:
        items: list[Any] = []
        for item in steady(server, wait=True, stop=stop):
            items.append(item)
            if len(taken(items)) == 7:
                stopper.start()
        stopper.join()
        assert taken(items) == ALL[:7]
        assert not hung_up.is_set()
        quiet.set()
