"""An input asked every question, in every way of reading, and the answers' digests."""

from __future__ import annotations

import base64
import tempfile
from collections.abc import Mapping
from contextlib import chdir
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from pathlib import Path

import binlogkit as bk
from tests.answers.binlogkit_answers.asked import Asked
from tests.answers.binlogkit_answers.inputs import Input
from tests.answers.binlogkit_answers.places import Places, places_of
from tests.answers.binlogkit_answers.questions import PARTS, ask

__all__ = ["COLUMNS", "FIRST", "VARIANTS", "Answers", "Texts", "answers_of", "digest", "expanded"]

Texts = dict[str, dict[str, str]]

COLUMNS = PARTS
FIRST = "report"


@dataclass(frozen=True, slots=True)
class _Way:
    """How a log is read; ``like``: the way whose answers are expected to be the same;
    ``questions``: all, if none is named."""

    on_damage: str
    threads: int
    like: str = FIRST
    questions: tuple[str, ...] = ()


# Threads decode rows: these questions show them.
_DECODING = ("rows", "batches")
_ENDING = ("rows", "batches", "events", "transactions", "verify", "audit", "states", "undo")
_WHOLE = _Way("report", 1)
#: Of a log that nobody damaged, where to stop changes nothing, but by mistake.
_UNDAMAGED = {FIRST: _WHOLE, "stop4": _Way("stop", 4, FIRST, (*_DECODING, "verify", "audit"))}
#: Damaged logs are many: every other one is asked less.
_EVEN = {
    FIRST: _WHOLE,
    "stop": _Way("stop", 1, FIRST, _ENDING),
    "report4": _Way("report", 4, FIRST, _DECODING),
    "stop4": _Way("stop", 4, "stop", _DECODING),
}
_ODD = {
    FIRST: _Way("report", 1, FIRST, (*_ENDING, "boundaries")),
    "stop": _Way("stop", 1, FIRST, ("rows", "transactions", "verify")),
}
VARIANTS = tuple(_EVEN)


@dataclass(frozen=True, slots=True)
class Answers:
    """``key``: a digest of the input's bytes; ``texts``: by way and column, of the first way
    without empty ones, of the others only those that differ from the way that they are like."""

    key: str
    texts: Texts

    def digests(self) -> Texts:
        """The same with digests instead of texts."""
        return {
            variant: {column: digest(text.encode()) for column, text in texts.items()}
            for variant, texts in self.texts.items()
        }


def digest(data: bytes) -> str:
    """A short digest as text; "-" of nothing."""
    if not data:
        return "-"
    text = base64.b64encode(blake2b(data, digest_size=4).digest(), b"._")
    return text.decode("ascii").rstrip("=")


def expanded(texts: Mapping[str, Mapping[str, str]], variant: str, column: str, none: str) -> str:
    """A text or a digest of one of :class:`Answers`'; ``none``: for what is empty."""
    while column not in texts.get(variant, {}):
        if variant == FIRST:
            return none
        variant = "stop" if variant == "stop4" and "stop" in texts else FIRST
    return texts[variant][column]


def answers_of(item: Input) -> Answers:
    """All answers about an input."""
    files = item.files()
    places = _fewer(places_of(files), item.damage)
    ways = _UNDAMAGED if item.damage is None else _ODD if item.damage % 2 else _EVEN
    texts: Texts = {}
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        for name, data in {**files, **item.beside}.items():
            Path(name).parent.mkdir(exist_ok=True)
            Path(name).write_bytes(data)
        for variant, way in ways.items():
            opened = partial(
                bk.open,
                list(files),
                on_damage=way.on_damage,
                threads=way.threads,
                **item.options,
            )
            few = None if way is _WHOLE and not item.damage else item.damage or 0
            found = ask(Asked(opened, places, few), way.questions)
            texts[variant] = _changed(texts, way, found) if texts else _filled(found)
    held = [*files.items(), *item.beside.items()]
    key = b"".join(f"{name} {len(data)} ".encode() + data for name, data in held)
    return Answers(digest(key), texts)


def _fewer(places: Places, damage: int | None) -> Places:
    """Of damaged logs, which are many, each is asked for some of the places."""
    if damage is None:
        return places
    wanted = ("at", "gtid", "time")[damage % 3]
    points = {label: point for label, point in places.points.items() if label == wanted}
    return Places(points, places.filters if damage % 4 == 0 else {})


def _filled(found: Mapping[str, str]) -> dict[str, str]:
    return {column: text for column, text in found.items() if text}


def _changed(texts: Texts, way: _Way, found: Mapping[str, str]) -> dict[str, str]:
    return {
        column: text
        for column, text in found.items()
        if text != expanded(texts, way.like, column, "")
    }
