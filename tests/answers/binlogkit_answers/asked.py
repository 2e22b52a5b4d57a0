"""A log that is asked, the questions' register, and how what is raised becomes an answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import binlogkit as bk
from tests.answers.binlogkit_answers.places import Places
from tests.answers.binlogkit_answers.plain import Told

__all__ = [
    "EACH",
    "NUMBERS",
    "QUESTIONS",
    "Asked",
    "Parts",
    "damage_told",
    "error_facts",
    "question",
    "raised",
    "with_rows",
]

Parts = dict[str, Told]
Question = Callable[["Asked"], Parts]

NUMBERS = ("seq", "tx")  # columns that number changes: the order that they make is asked apart
EACH = 4  # about so many of many tables are asked for at a point, at each point others


@dataclass(frozen=True, slots=True)
class Asked:
    """A log to ask: ``open`` gives it anew; ``places``: what is asked about; ``few``: only some
    tables' states at the end, others for other numbers; None: all."""

    open: Callable[[], bk.Log]
    places: Places
    few: int | None = None


#: By name, in the order of their definition.
QUESTIONS: dict[str, Question] = {}


def question(answer: Question) -> Question:
    """Register a question by its name."""
    QUESTIONS[answer.__name__.strip("_")] = answer
    return answer


@contextmanager
def raised(told: Told, *where: Any) -> Iterator[None]:
    """What is raised becomes part of the answer: its class and its data."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - also what should never be raised is an answer
        told.add("raised", *where, error_facts(error))


def error_facts(error: BaseException) -> list[Any]:
    data = [getattr(error, name, None) for name in ("file", "offset", "end", "field")]
    others = [error_facts(other) for other in getattr(error, "others", ())]
    return [type(error).__name__, *data, *others]


_LOSS = ("file", "pos", "end_pos", "event", "cut", "tables", "headless", "missing", "gtids")


def damage_told(log: bk.Log, question: str) -> Told:
    """What reading for a question met, as the log keeps it."""
    told = Told()
    with raised(told, question, "damage"):
        for error in log.damages:
            told.add(question, "damage", error_facts(error))
        for loss in log.losses:
            told.add(question, "loss", [getattr(loss, name) for name in _LOSS])
        for _ in log.problems:
            told.add(question, "problem")
        for name, alone in log.loose.items():
            told.add(question, "loose", name, alone)
    return told


def with_rows(asked: Asked, told: Told) -> list[str]:
    """The tables with row changes."""
    with raised(told, "tables"):
        return asked.open().table_names()
    return []
