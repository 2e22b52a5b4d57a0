"""Digests in a file of text, one input a line; full answers in a folder, one file an input.

The digests: a line of column names, then ``NAME KEY DIGEST…``, where ``-N`` stands for N empty
answers, and below it ``  VARIANT COLUMN=DIGEST…`` for each other way of reading that differs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import zstandard

from tests.answers.binlogkit_answers.asking import COLUMNS, FIRST, Answers, Texts

__all__ = ["Digests", "keep", "kept", "read", "written"]


@dataclass(frozen=True, slots=True)
class Digests:
    """``key``: of the input's bytes; ``texts``: as in asking.Answers, digests for texts."""

    key: str
    texts: Texts


def written(name: str, answers: Digests) -> str:
    """The lines of one input."""
    first = answers.texts[FIRST]
    lines = [" ".join([name, answers.key, *_packed(first)])]
    for variant, texts in answers.texts.items():
        if variant != FIRST and texts:
            found = (f"{i}={texts[column]}" for i, column in enumerate(COLUMNS) if column in texts)
            lines.append(f"  {variant} {' '.join(found)}")
    return "\n".join([*lines, ""])


def _packed(texts: Mapping[str, str]) -> list[str]:
    words: list[str] = []
    empty = 0
    for column in COLUMNS:
        told = texts.get(column, "-")
        if told != "-" and empty:
            words.append(f"-{empty}")
            empty = 0
        if told == "-":
            empty += 1
        else:
            words.append(told)
    return words


def read(path: Path) -> dict[str, Digests]:
    """The digests in a file by the inputs' names."""
    head, *lines = path.read_text("ascii").splitlines()
    columns = head.split()
    found: dict[str, Digests] = {}
    name = ""
    for line in lines:
        if not line.startswith(" "):
            name, key, *words = line.split()
            found[name] = Digests(key, {FIRST: dict(_unpacked(columns, words))})
            continue
        variant, *pairs = line.split()
        told = (pair.split("=", 1) for pair in pairs)
        found[name].texts[variant] = {columns[int(at)]: text for at, text in told}
    return found


def _unpacked(columns: list[str], words: Iterable[str]) -> Iterable[tuple[str, str]]:
    at = 0
    for word in words:
        if word.startswith("-"):
            at += int(word[1:])
        else:
            yield columns[at], word
            at += 1


def keep(folder: Path, name: str, answers: Answers) -> None:
    """Write an input's full answers."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"key": answers.key, "texts": answers.texts}).encode()
    _place(folder, name).write_bytes(zstandard.compress(text, 9))


def kept(folder: Path, name: str) -> Answers | None:
    """An input's full answers, if they were kept."""
    path = _place(folder, name)
    if not path.exists():
        return None
    told = json.loads(zstandard.decompress(path.read_bytes()))
    return Answers(told["key"], told["texts"])


def _place(folder: Path, name: str) -> Path:
    return folder / (name.replace("/", "__") + ".json.zst")
