"""A capture's folder: names, modes, what is refused, and going on after any interruption."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

import binlogkit as bk
from binlogkit.constants import BINLOG_MAGIC, EventType
from binlogkit.errors import (
    InputError,
    LogGapError,
    LostConnectionError,
    ReplicationError,
    UsageError,
    WriteError,
)
from binlogkit.sources.server.capture import Captured, CaptureStart, capture
from binlogkit.sources.server.folder import INDEX, MANIFEST, CaptureFolder
from tests.sources.server.fake_server import (
    END,
    Dump,
    FakeServer,
    event,
    format_description,
    log,
    rotate,
)

FDE = format_description()
BODIES = [bytes([2, n]) + bytes(7) for n in range(8)]
FIRST = 4 + len(FDE)
STEP = 32


def whole(count: int) -> bytes:
    """The log of ``count`` events behind its format description."""
    events = [
        event(EventType.INTVAR_EVENT, BODIES[n], start=FIRST + n * STEP) for n in range(count)
    ]
    return BINLOG_MAGIC + FDE + b"".join(events)


class Growing:
    """A server whose one log, or several, can be longer at the next dump."""

    def __init__(self, **lengths: int) -> None:
        self.lengths = {f"{name}.000001": count for name, count in lengths.items()}

    def __call__(self, dump: Dump) -> Iterable[bytes]:
        for name, count in self.lengths.items():
            if dump.file not in ("", name) and name < dump.file:
                continue
            start = dump.position if name == dump.file else 4
            yield b"\0" + rotate(name, start)
            yield b"\0" + (FDE if start == 4 else format_description(log_pos=0))
            data = whole(count)
            for pos in range(FIRST, len(data), STEP):
                if pos >= start:
                    yield b"\0" + data[pos : pos + STEP]
        yield END

    def sizes(self) -> list[tuple[str, int]]:
        return [(name, len(whole(count))) for name, count in self.lengths.items()]


def run(script: Callable[[Dump], Iterable[bytes]], out: Path, **options: object) -> Captured:
    logs = script.sizes() if isinstance(script, Growing) else ()
    with FakeServer(script, logs).running() as server:
        return capture(server.settings, out, patience=0, **options)  # type: ignore[arg-type]


def test_what_is_written(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "capture"
    done = run(Growing(a=2, b=3), out)
    assert (out / "a.000001").read_bytes() == whole(2)
    assert (out / "b.000001").read_bytes() == whole(3)
    assert (out / INDEX).read_text() == "./a.000001\n./b.000001\n"
    assert [entry.name for entry in done.finished] == ["a.000001"]
    assert (done.file, done.position, done.events) == ("b.000001", len(whole(3)), 7)
    assert stat.S_IMODE(out.stat().st_mode) == 0o700
    assert {stat.S_IMODE(p.stat().st_mode) for p in out.iterdir()} == {0o600}
    manifest = (out / MANIFEST).read_text()
    assert "secret-word" not in manifest and "fake" not in manifest
    assert [f["name"] for f in json.loads(manifest)["files"]] == ["a.000001"]


@pytest.mark.parametrize("torn", [b"", b"\x01", whole(3)[-31:], b"\0" * 500])
@pytest.mark.parametrize("kept", [0, 1, 3])
def test_a_torn_end_is_cut_and_the_rest_goes_on(tmp_path: Path, kept: int, torn: bytes) -> None:
    """Killed in the middle of a write: whatever was behind the last whole event comes again."""
    server = Growing(a=kept)
    run(server, tmp_path)
    with (tmp_path / "a.000001").open("ab") as file:
        file.write(torn)
    server.lengths["a.000001"] = 5
    run(server, tmp_path)
    assert (tmp_path / "a.000001").read_bytes() == whole(5)
    run(server, tmp_path)
    assert (tmp_path / "a.000001").read_bytes() == whole(5)


@pytest.mark.parametrize("size", [0, 3, 4, 5, 4 + len(FDE) - 1, 4 + len(FDE)])
def test_a_log_that_was_just_begun(tmp_path: Path, size: int) -> None:
    """Killed before the index tells of the log, and after."""
    run(Growing(a=1), tmp_path)
    part = (BINLOG_MAGIC + FDE)[:size]
    (tmp_path / "b.000001").write_bytes(part)
    run(Growing(a=1, b=2), tmp_path)
    assert (tmp_path / "b.000001").read_bytes() == whole(2)
    (tmp_path / "b.000001").write_bytes(part)
    run(Growing(a=1, b=2), tmp_path)
    assert (tmp_path / "b.000001").read_bytes() == whole(2)
    assert (tmp_path / INDEX).read_text() == "./a.000001\n./b.000001\n"


def test_nothing_is_cut_before_the_server_has_what_follows(tmp_path: Path) -> None:
    run(Growing(a=2), tmp_path)
    with (tmp_path / "a.000001").open("ab") as file:
        file.write(b"evidence")
    with pytest.raises(LogGapError):
        run(Growing(b=2), tmp_path)
    assert (tmp_path / "a.000001").read_bytes() == whole(2) + b"evidence"


@pytest.mark.parametrize(
    "name",
    [
        "../evil.000001", "/evil.000001", "a/b.000001", "a\\b.000001", "..", ".", "",
        ".hidden.000001", "capture.json", "binlog.index", "a\nb.000001", "a\x00.000001",
        "n" * 249 + ".000001", "ü" * 125 + ".000001", "noextension", "a.\u0661",
    ],
)  # fmt: skip
@pytest.mark.parametrize("first", [True, False])
def test_no_name_leaves_the_folder(tmp_path: Path, name: str, first: bool) -> None:
    out = tmp_path / "out"
    packets = [*([] if first else log("a.000001")), *log(name, BODIES[0]), END]
    with pytest.raises(ReplicationError):
        run(lambda _: packets, out)
    assert {p.name for p in tmp_path.iterdir()} == {"out"}
    known = {".lock", MANIFEST, *([] if first else ["a.000001", INDEX])}
    assert {p.name for p in out.iterdir()} <= known


@pytest.mark.parametrize("name", ["my log.000001", "ü.000001", "-rf.000001", "x.12345678"])
def test_odd_names_are_names(tmp_path: Path, name: str) -> None:
    run(lambda _: [*log(name, BODIES[0]), END], tmp_path)
    assert (tmp_path / name).read_bytes() == whole(1)


def test_a_name_of_bytes_that_are_no_text(tmp_path: Path) -> None:
    """A server of 8.0 with ``--log-bin`` of such bytes lists and sends its logs under them."""
    name = os.fsdecode(b"b\xffn\xe9.000001")
    packets = [*log(name, BODIES[0]), END]
    with FakeServer(lambda _: packets, [(name, len(whole(1)))]).running() as server:
        done = capture(server.settings, tmp_path, patience=0)
        assert done.file == name
        url = f"mysql://fake@127.0.0.1:{server.port}/b%FFn%E9.000001?ssl-mode=disabled"
        [record, _] = bk.open(url).event_records()
        assert str(record["file"]).endswith("/b\\xffn\\xe9.000001")
        followed = list(bk.follow(server.settings, wait=False))
        assert [event.raw.file for event in followed] == ["b\\xffn\\xe9.000001"] * 2
    assert (tmp_path / name).read_bytes() == whole(1)
    log_ = bk.open(tmp_path)
    assert log_.files == [f"{tmp_path}/b\\xffn\\xe9.000001"]
    assert [record["file"] for record in log_.event_records()] == log_.files * 2
    assert run(lambda _: packets, tmp_path).events == 0


def test_a_log_that_begins_again_is_refused(tmp_path: Path) -> None:
    packets = [*log("a.000001"), *log("b.000001"), *log("a.000001"), END]
    with pytest.raises(ReplicationError, match=r"begins a\.000001 again"):
        run(lambda _: packets, tmp_path)
    assert (tmp_path / "a.000001").read_bytes() == BINLOG_MAGIC + FDE


def test_somebody_elses_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("x")
    with pytest.raises(UsageError, match="is not empty and holds no capture"):
        run(Growing(a=1), tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["mine"]


@pytest.mark.parametrize("link", [True, False])
def test_somebody_elses_file_is_left_alone(tmp_path: Path, link: bool) -> None:
    out, target = tmp_path / "out", tmp_path / "target"
    target.write_bytes(b"precious")
    run(Growing(a=1), out)
    if link:
        (out / "b.000001").symlink_to(target)
    else:
        (out / "b.000001").write_bytes(b"precious")
    with pytest.raises(WriteError):
        run(Growing(a=1, b=1), out)
    assert target.read_bytes() == b"precious"


def test_one_capture_at_a_time(tmp_path: Path) -> None:
    held = CaptureFolder(tmp_path)
    with pytest.raises(UsageError, match="another capture is writing there"):
        run(Growing(a=1), tmp_path)
    held.close()
    run(Growing(a=1), tmp_path)


def test_a_changed_folder_is_told(tmp_path: Path) -> None:
    run(Growing(a=1, b=1), tmp_path)
    (tmp_path / INDEX).write_text("./a.000001\n")
    (tmp_path / "a.000001").write_bytes(whole(1)[:-1] + b"\x00")
    with pytest.raises(InputError, match="is not as the capture left it"):
        run(Growing(a=1, b=1), tmp_path)
    (tmp_path / MANIFEST).write_text('{"format": 1}')
    with pytest.raises(InputError, match="no manifest of a capture"):
        run(Growing(a=1, b=1), tmp_path)


@pytest.mark.parametrize("more", [b"\0", b"evidence", whole(3)[-STEP:]])
def test_bytes_behind_a_finished_log_are_told(tmp_path: Path, more: bytes) -> None:
    """Its size and hash were written down: what stands behind it is no torn event."""
    run(Growing(a=2, b=1), tmp_path)
    (tmp_path / INDEX).write_text("./a.000001\n")
    (tmp_path / "b.000001").unlink()
    before = (tmp_path / "a.000001").read_bytes() + more
    (tmp_path / "a.000001").write_bytes(before)
    with pytest.raises(InputError, match="is not as the capture left it"):
        run(Growing(a=2, b=1), tmp_path)
    assert (tmp_path / "a.000001").read_bytes() == before
    (tmp_path / "a.000001").write_bytes(whole(2))
    run(Growing(a=2, b=1), tmp_path)
    assert (tmp_path / "b.000001").read_bytes() == whole(1)


def test_another_start_is_refused_and_the_same_goes_on(tmp_path: Path) -> None:
    run(Growing(a=1), tmp_path, start=CaptureStart("a.000001"))
    run(Growing(a=2), tmp_path, start=CaptureStart("a.000001"))
    run(Growing(a=3), tmp_path)
    with pytest.raises(UsageError, match="began otherwise"):
        run(Growing(a=3), tmp_path, start=CaptureStart("a.000001", FIRST))
    assert (tmp_path / "a.000001").read_bytes() == whole(3)


@pytest.mark.parametrize("grown", [2, 3, 6])
def test_a_capture_from_the_middle_goes_on(tmp_path: Path, grown: int) -> None:
    """Its format description stands for itself; its places are still the server's."""
    start = FIRST + 2 * STEP
    server = Growing(a=2)
    done = run(server, tmp_path, start=CaptureStart("a.000001", start))
    assert (done.position, done.events) == (start, 0)
    server.lengths["a.000001"] = grown
    done = run(server, tmp_path)
    head = BINLOG_MAGIC + format_description(log_pos=0)
    assert (tmp_path / "a.000001").read_bytes() == head + whole(grown)[start:]
    assert (done.position, done.events) == (len(whole(grown)), grown - 2)
    assert run(server, tmp_path).events == 0


@pytest.mark.parametrize(
    "wrong",
    [("", 900), ("a.000001", 3), ("a.000001", 1 << 32), ("a.000001", 4, ""), ("", 4, None, 1)],
)
def test_starts_that_contradict_themselves(wrong: tuple[object, ...]) -> None:
    with pytest.raises((UsageError, TypeError)):
        CaptureStart(*wrong)  # type: ignore[arg-type]


def flipped(data: bytes, at: int = -1) -> bytes:
    """One bit otherwise."""
    changed = bytearray(data)
    changed[at] ^= 1
    return bytes(changed)


def test_a_wrong_checksum_of_the_servers_own_is_kept_and_told(tmp_path: Path) -> None:
    """It comes again as it was; and at the next run again, while it is in the last log."""
    bad = flipped(event(EventType.INTVAR_EVENT, BODIES[0], start=FIRST))
    good = event(EventType.INTVAR_EVENT, BODIES[1], start=FIRST + STEP)

    def script(dump: Dump) -> Iterable[bytes]:
        start = max(dump.position, 4)
        yield b"\0" + rotate("a.000001", start)
        yield b"\0" + (FDE if start == 4 else format_description(log_pos=0))
        yield from (b"\0" + bad, b"\0" + good, END) if start <= FIRST else (END,)

    for _ in range(2):
        done = run(script, tmp_path)
        assert done.bad_checksums == [f"a.000001 at {FIRST}"]
        assert (tmp_path / "a.000001").read_bytes() == BINLOG_MAGIC + FDE + bad + good


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("at", [0, 1, 3])
def test_what_the_line_changes_is_fetched_again(tmp_path: Path, at: int, first: bool) -> None:
    """In the first dump, or in one that goes on; ``at`` 0: the event that was the last before."""
    server, dumps = Growing(a=1), 0
    if not first:
        run(server, tmp_path)
    server.lengths["a.000001"] = 4

    def script(dump: Dump) -> Iterable[bytes]:
        nonlocal dumps
        dumps += 1
        wanted = b"\0" + event(EventType.INTVAR_EVENT, BODIES[at], start=FIRST + at * STEP)
        for packet in server(dump):
            yield flipped(packet) if packet == wanted and dumps == 1 else packet

    told: list[str] = []
    done = run(script, tmp_path, lost=lambda error: told.append(str(error)))
    assert (tmp_path / "a.000001").read_bytes() == whole(4)
    [said] = told
    assert f"a.000001 at {FIRST + at * STEP} came with a wrong checksum" in said
    assert done.bad_checksums == [] and done.changed is None
    assert run(server, tmp_path).events == 0


def test_a_line_that_always_changes_bytes_is_an_error(tmp_path: Path) -> None:
    """Each time another bit: what is kept is what came right."""
    server, dumps = Growing(a=3), 0

    def script(dump: Dump) -> Iterable[bytes]:
        nonlocal dumps
        dumps += 1
        wanted = b"\0" + event(EventType.INTVAR_EVENT, BODIES[1], start=FIRST + STEP)
        for packet in server(dump):
            yield flipped(packet, 20 + dumps) if packet == wanted else packet

    with pytest.raises(LostConnectionError, match=f"at {FIRST + STEP} came with a wrong checksum"):
        run(script, tmp_path)
    assert (tmp_path / "a.000001").read_bytes() == whole(1)
    assert dumps == 2
    run(server, tmp_path)
    assert (tmp_path / "a.000001").read_bytes() == whole(3)


@pytest.mark.parametrize("at", [4 + 60, FIRST - 1, FIRST - 5, FIRST + 20, FIRST + STEP + 20])
def test_bytes_that_went_bad_on_the_disk_are_told_and_fetched_again(
    tmp_path: Path, at: int
) -> None:
    """In the format description, its checksum and algorithm, and in events."""
    server = Growing(a=3)
    run(server, tmp_path)
    (tmp_path / "a.000001").write_bytes(flipped(whole(3), at))
    server.lengths["a.000001"] = 4
    done = run(server, tmp_path)
    assert (tmp_path / "a.000001").read_bytes() == whole(4)
    starts = [4, *range(FIRST, FIRST + 3 * STEP, STEP)]
    assert done.changed == f"a.000001 at {max(start for start in starts if start <= at)}"
    assert run(server, tmp_path).changed is None


def test_bad_bytes_stay_while_the_server_has_none_better(tmp_path: Path) -> None:
    run(Growing(a=2), tmp_path)
    (tmp_path / "a.000001").write_bytes(flipped(whole(2)))
    with pytest.raises(LogGapError):
        run(Growing(b=2), tmp_path)
    assert (tmp_path / "a.000001").read_bytes() == flipped(whole(2))


@pytest.mark.parametrize("room", [40, 150, 200])
def test_no_room(tmp_path: Path, room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system writes what fits, then refuses: whole events stay, and it can go on later."""
    real, used = os.write, 0

    def write(descriptor: int, data: memoryview) -> int:
        nonlocal used
        if used >= room:
            raise OSError(28, "No space left on device")
        done = real(descriptor, data[: room - used])
        used += done
        return done

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", write)
        with pytest.raises(WriteError, match=r"a\.000001 cannot be written: No space left"):
            run(Growing(a=6), tmp_path)
    stayed = (tmp_path / "a.000001").read_bytes()
    assert whole(6).startswith(stayed) and len(stayed) in (0, *range(FIRST, 400, STEP))
    run(Growing(a=6), tmp_path)
    assert (tmp_path / "a.000001").read_bytes() == whole(6)
