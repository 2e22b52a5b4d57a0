"""A task's call is made once: by the pool, or by who needs its result and finds it not begun."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from binlogkit.sources.tasks import Task
from tests.waiting import LONG

MAIN = threading.get_ident()


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as executor:
        yield executor


@pytest.fixture
def busy(pool: ThreadPoolExecutor) -> Iterator[threading.Event]:
    """Set it, and the pool's only thread is free."""
    free, begun = threading.Event(), threading.Event()

    def wait() -> None:
        begun.set()
        free.wait(LONG)

    pool.submit(wait)
    assert begun.wait(LONG)
    yield free
    free.set()


def test_who_needs_it_makes_it(pool: ThreadPoolExecutor, busy: threading.Event) -> None:
    made: list[int] = []
    task = Task(pool, lambda: made.append(threading.get_ident()))
    assert not task.done
    task.result()
    busy.set()
    task.result()
    assert made == [MAIN]


def test_what_has_begun_is_waited_for(pool: ThreadPoolExecutor) -> None:
    begun, go = threading.Event(), threading.Event()

    def call() -> int:
        begun.set()
        go.wait(LONG)
        return threading.get_ident()

    task = Task(pool, call)
    assert begun.wait(LONG)
    assert not task.claim()
    go.set()
    assert task.result() != MAIN
    assert task.done
    assert not task.claim()


def test_a_result_claimed_early_is_kept(pool: ThreadPoolExecutor, busy: threading.Event) -> None:
    task = Task(pool, threading.get_ident)
    assert task.claim() and task.claim()
    busy.set()
    assert task.result() == MAIN


def test_errors_come_to_who_asks(pool: ThreadPoolExecutor, busy: threading.Event) -> None:
    def call() -> None:
        raise MemoryError("no room")

    here, there = Task(pool, call), Task(pool, call)
    with pytest.raises(MemoryError):
        here.result()
    busy.set()
    with pytest.raises(MemoryError):
        there.result()


def test_what_comes_sooner(pool: ThreadPoolExecutor, busy: threading.Event) -> None:
    """The pool may come to the call while who needs its result does something else."""
    calls: list[str] = []

    def sooner() -> None:
        calls.append("sooner")
        busy.set()
        pool.submit(int).result(LONG)

    task = Task(pool, threading.get_ident, sooner)
    assert task.result() != MAIN
    assert calls == ["sooner"]
    begun = Task(pool, threading.get_ident, sooner)
    pool.submit(int).result(LONG)
    assert begun.result() != MAIN
    assert calls == ["sooner"]


def test_given_up(pool: ThreadPoolExecutor, busy: threading.Event) -> None:
    made: list[int] = []
    waiting = Task(pool, lambda: made.append(1))
    waiting.give_up()
    busy.set()
    running = Task(pool, lambda: made.append(2))
    running.give_up()
    assert set(made) <= {2}
    running.give_up()
