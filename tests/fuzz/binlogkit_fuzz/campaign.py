"""A campaign: inputs made from a corpus and run as they are, of which a sample is traced.

Tracing every branch takes several times as long as most answers. Here each input runs untraced; of
every :data:`SAMPLED`-th one the lines that follow each other in binlogkit's code are noted, and an
input that shows new ones joins the corpus. A campaign goes on where the one before it stopped:
``campaign.json`` in the target's folder says how far it came.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import hashlib
import json
import mmap
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from types import CodeType, FrameType
from typing import Any

import binlogkit
from tests.fuzz.binlogkit_fuzz import seeds
from tests.fuzz.binlogkit_fuzz.mutate import mutate_bytes, mutate_log
from tests.fuzz.binlogkit_fuzz.smallest import fewest, smallest
from tests.fuzz.binlogkit_fuzz.targets import Target

__all__ = ["BROKEN", "Campaign", "Record", "keep", "left_over"]

SAMPLED = 100
_SEEDS = 100  # that are traced when a campaign begins
BROKEN = 77  # the exit status for a broken promise, as libFuzzer has it
RUNNING = "running"  # the file with the input that runs: what is left of a process that was ended
WAIT = 30  # times its CPU time may pass on a busy machine before an input ends the process
_LEAST = 60.0  # seconds that may pass in any case
_ROOT = str(Path(binlogkit.__file__).parent)
_TOLD = 5.0  # seconds from status to status
_SHRINKING = 30.0  # CPU seconds to look for a smaller input
_MOST_FAULTS = 20
TOGETHER = 16  # inputs in one call, where a target takes many


@dataclass
class Record:
    """How far a target's campaign came; ``seconds``: CPU time of the inputs and of making them;
    ``edges``: pairs of lines, one after the other in a function, that traced inputs took;
    ``faults``: the broken promises, by kind and place, with the file of the smallest input."""

    inputs: int = 0
    traced: int = 0
    seconds: float = 0.0
    edges: int = 0
    corpus: int = 0
    faults: dict[str, str] = field(default_factory=dict)


class Steps:
    """The steps from line to line that binlogkit's Python code took."""

    def __init__(self) -> None:
        self.seen: set[tuple[int, int, int]] = set()
        self._own: dict[CodeType, bool] = {}

    def new_in(self, run: Callable[[], object]) -> int:
        """How many steps ``run`` took that were not seen before."""
        before, others = len(self.seen), sys.gettrace()
        sys.settrace(self._called)
        try:
            run()
        finally:
            sys.settrace(others)
        return len(self.seen) - before

    def _called(self, frame: FrameType, event: str, argument: Any) -> Any:
        code = frame.f_code
        own = self._own.get(code)
        if own is None:
            own = self._own[code] = code.co_filename.startswith(_ROOT)
        if not own:
            return None
        add, name, last = self.seen.add, id(code), 0

        def stepped(frame: FrameType, event: str, argument: Any) -> Any:
            nonlocal last
            if event == "line":
                add((name, last, frame.f_lineno))
                last = frame.f_lineno
            return stepped

        return stepped


class Campaign:
    """One target's inputs; ``longest``: bytes of an input; ``timeout``: CPU seconds of one;
    ``begins``: seeds that are traced where there is no corpus yet."""

    def __init__(
        self,
        target: Target,
        folder: Path,
        *,
        longest: int,
        timeout: float,
        seed: int,
        begins: int = _SEEDS,
    ) -> None:
        self._target, self._folder, self._seed = target, folder, seed
        self._longest, self._timeout = longest, timeout
        self._steps = Steps()
        self._pool = [p for code in range(43) for p in seeds.events_of(code)]
        self._pool = [part for part in self._pool if len(part.body) < longest // 4]
        self._stopped = False
        self._pending: list[bytes] = []
        (folder / "corpus").mkdir(parents=True, exist_ok=True)
        self._log = folder / "campaign.json"
        self.record = Record()
        if self._log.is_file():
            self.record = Record(**json.loads(self._log.read_text("utf-8")))
        kept = sorted((folder / "corpus").iterdir())
        known = [path.read_bytes() for path in kept if path.stat().st_size <= longest]
        small = seeds.short_logs(longest) if target.framed else target.seeds()
        fresh = dict.fromkeys(data[:longest] for data in small if data)
        self._untried = known or Random(seed).sample(list(fresh), min(len(fresh), begins))
        self._corpus = list(dict.fromkeys([*known, *fresh]))

    def run(self, runs: int | None = None, seconds: float | None = None) -> int:
        """Run so many inputs, or so long; the exit status."""
        handlers = dict.fromkeys((signal.SIGINT, signal.SIGTERM), self._stop)
        before = {n: signal.signal(n, handler) for n, handler in handlers.items()}
        before[signal.SIGPROF] = signal.signal(signal.SIGPROF, self._too_long)
        try:
            return self._run(runs, seconds)
        finally:
            faulthandler.cancel_dump_traceback_later()
            gc.unfreeze()
            for number, handler in before.items():
                signal.signal(number, handler)

    def _run(self, runs: int | None, seconds: float | None) -> int:
        first, began, told = self.record.inputs, time.monotonic(), 0.0
        used, done = self.record.seconds, time.process_time()
        with self._running():
            self._take_up()
            gc.freeze()
            while not self._stopped and len(self.record.faults) < _MOST_FAULTS:
                now = time.monotonic()
                if now - told >= _TOLD:
                    self._tell(first, now - began)
                    told = now
                if runs is not None and self.record.inputs - first >= runs:
                    break
                if seconds is not None and now - began >= seconds:
                    break
                self._next()
                self.record.seconds = used + time.process_time() - done
            if self._pending:
                self._try_together()
        self._tell(first, time.monotonic() - began)
        return BROKEN if self.record.faults else 0

    def _take_up(self) -> None:
        """Trace the corpus, or some seeds where there is none yet; none counts as an input."""
        for data in self._untried:
            if self._stopped:
                return
            faulthandler.dump_traceback_later(max(_LEAST, WAIT * self._timeout), exit=True)
            if self._steps.new_in(partial(self._try, data)):
                self._keep(data)
        self.record.edges = len(self._steps.seen)

    def _next(self) -> None:
        number = self.record.inputs
        random = Random(f"{self._seed} {number}")
        parent = random.choice(self._corpus)
        data = self._mutated(parent, random)
        while data == parent or not data:
            data = self._mutated(parent, random)
        self.record.inputs += 1
        if number % SAMPLED and self._target.together is not None:
            self._pending.append(data)
            if len(self._pending) == TOGETHER:
                self._try_together()
            return
        if number % SAMPLED:
            self._try(data)
            return
        self.record.traced += 1
        if self._steps.new_in(partial(self._try, data)):
            self._corpus.append(data)
            self._keep(data)
            self.record.edges = len(self._steps.seen)

    def _mutated(self, data: bytes, random: Random) -> bytes:
        def changed(data: bytes, longest: int) -> bytes:
            return mutate_bytes(data, random, longest)

        for _ in range(random.choice((1, 1, 2, 5))):
            if self._target.framed:
                data = mutate_log(data, random, self._longest, self._pool, changed)
            else:
                data = changed(data, self._longest)
        return data

    # ---- one input ----------------------------------------------------------------------------

    def _try(self, data: bytes) -> BaseException | None:
        """Run one input; what broke a promise is kept once, as the smallest input found."""
        error = self._broken(data)
        fault = None if error is None else _place(error)
        if error is None or fault is None or fault in self.record.faults:
            return error
        sys.settrace(None)
        self._found(fault, error, [data])
        if not isinstance(error, TimeoutError):
            framed, breaks = self._target.framed, partial(self._breaks, fault)
            small = smallest(data, breaks, framed=framed, seconds=_SHRINKING)
            self._found(fault, error, [small])
        return error

    def _try_together(self) -> None:
        """Run those that wait in one call; where that breaks a promise, each by itself."""
        logs, self._pending = self._pending, []
        error = self._broken(*logs)
        if error is None or any(list(map(self._try, logs))):
            return
        fault = _place(error)
        if fault in self.record.faults:
            return
        self._found(fault, error, logs)
        if not isinstance(error, TimeoutError):
            few = fewest(logs, partial(self._breaks, fault), seconds=_SHRINKING)
            self._found(fault, error, few)

    def _breaks(self, fault: str, *inputs: bytes) -> bool:
        error = self._broken(*inputs)
        return error is not None and _place(error) == fault

    def _found(self, fault: str, error: BaseException, inputs: Sequence[bytes]) -> None:
        """Keep a fault with its inputs, and say so."""
        self.record.faults[fault] = self._file(inputs)
        self._save()
        told = "".join(traceback.format_exception(error))
        print(f"{told}{fault}: {' '.join(data.hex() for data in inputs)}", flush=True)

    def _broken(self, *inputs: bytes) -> BaseException | None:
        """Run inputs in one call; what broke a promise. A hang of native code ends the process."""
        held = b"".join(len(data).to_bytes(4, "little") + data for data in inputs) + bytes(4)
        self._shared[: len(held)] = held
        signal.setitimer(signal.ITIMER_PROF, self._timeout)
        began = time.process_time()
        try:
            if len(inputs) > 1 and self._target.together is not None:
                self._target.together(inputs)
            else:
                self._target.run(inputs[0])
        except Exception as error:  # noqa: BLE001 what is documented never comes out of a target
            return error
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        took = time.process_time() - began
        return TimeoutError(f"the input took {took:.1f} seconds") if took > self._timeout else None

    def _too_long(self, number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"the input took more than {self._timeout} seconds")

    # ---- what is kept -------------------------------------------------------------------------

    @contextlib.contextmanager
    def _running(self) -> Iterator[None]:
        """The inputs that run are kept in a file that outlives the process."""
        path = self._folder / RUNNING
        path.write_bytes(bytes(TOGETHER * (4 + self._longest) + 4))
        with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as self._shared:
            yield
        path.unlink()

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self._stopped = True

    def _tell(self, first: int, seconds: float) -> None:
        """A line as libFuzzer has it; a hang from here on ends the process."""
        record = self.record
        record.corpus = len(self._corpus)
        rate = (record.inputs - first) / max(seconds, 1e-9)
        print(
            f"#{record.inputs}\tPULSE  cov: {record.edges} ft: {record.edges} "
            f"corp: {record.corpus} exec/s: {rate:.0f}",
            flush=True,
        )
        self._save()
        faulthandler.dump_traceback_later(max(_LEAST, WAIT * self._timeout), exit=True)

    def _save(self) -> None:
        fresh = self._log.with_suffix(".new")
        fresh.write_text(json.dumps(asdict(self.record), indent=1) + "\n", encoding="utf-8")
        fresh.replace(self._log)

    def _keep(self, data: bytes) -> None:
        (self._folder / "corpus" / hashlib.sha1(data).hexdigest()).write_bytes(data)

    def _file(self, inputs: Sequence[bytes]) -> str:
        return keep(self._folder, "crash", inputs)


def keep(folder: Path, kind: str, inputs: Sequence[bytes]) -> str:
    """Files of inputs that break a promise, numbered where they do it together; the name."""
    name = f"{kind}-{hashlib.sha1(b''.join(inputs)).hexdigest()}"
    for number, data in enumerate(inputs):
        (folder / (f"{name}.{number}" if len(inputs) > 1 else name)).write_bytes(data)
    return name


def left_over(folder: Path) -> list[bytes]:
    """The inputs that ran when a campaign's process was ended."""
    path, inputs, at = folder / RUNNING, [], 0
    held = path.read_bytes() if path.is_file() else b""
    while size := int.from_bytes(held[at : at + 4], "little"):
        inputs.append(held[at + 4 : at + 4 + size])
        at += 4 + size
    return inputs


def _place(error: BaseException) -> str:
    """A fault's kind, and the last place in binlogkit's code, or else the target's; time runs out
    in any."""
    if isinstance(error, TimeoutError):
        return type(error).__name__
    steps = traceback.extract_tb(error.__traceback__)
    own = [step for step in steps if step.filename.startswith(_ROOT)] or list(steps)
    return f"{type(error).__name__} at {Path(own[-1].filename).name}:{own[-1].lineno}"
