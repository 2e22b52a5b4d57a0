"""What ends a run, wherever in it the signal comes."""

from __future__ import annotations

import os
import signal
import weakref

import pytest

from binlogkit_fixtures.signals import interruptible
from tests.waiting import until

ENDING = (signal.SIGINT, signal.SIGTERM)


class Finalised:
    """Its finaliser is where the signal comes."""

    def __init__(self, number: signal.Signals) -> None:
        self.number = number

    def __del__(self) -> None:
        signal.raise_signal(self.number)


def wait() -> None:
    """Until the signal interrupts it."""
    until(lambda: False, "the signal interrupts")


@pytest.mark.parametrize("number", ENDING)
def test_a_signal_in_a_finaliser_interrupts(
    number: signal.Signals, capfd: pytest.CaptureFixture[str]
) -> None:
    thing = Finalised(number)
    before = [signal.getsignal(n) for n in (*ENDING, signal.SIGALRM)]
    with pytest.raises(KeyboardInterrupt), interruptible():
        del thing
        wait()
    assert capfd.readouterr() == ("", "")
    assert [signal.getsignal(n) for n in (*ENDING, signal.SIGALRM)] == before


def test_a_signal_in_a_finaliser_after_a_finaliser_interrupts() -> None:
    """The second one is ignored as the first was."""
    thing, other = Finalised(signal.SIGTERM), Finalised(signal.SIGALRM)
    with pytest.raises(KeyboardInterrupt), interruptible():
        del thing
        del other
        wait()


def test_only_the_first_signal_interrupts() -> None:
    with interruptible(signal.SIGTERM):
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGTERM)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_what_else_a_finaliser_raises_is_told_as_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    told = []
    monkeypatch.setattr("sys.unraisablehook", lambda args: told.append(args.exc_type))
    with interruptible():
        held = weakref.ref(thing := Finalised(signal.SIGUSR1), lambda _: 1 // 0)
        before = signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        del thing
        signal.signal(signal.SIGUSR1, before)
    assert (held(), told) == (None, [ZeroDivisionError])
