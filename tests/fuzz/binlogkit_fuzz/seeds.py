"""Seeds from real logs: the golden logs beside the tests, and other projects' where they are."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.fuzz.binlogkit_fuzz.framing import Part, Pieces, join, split

__all__ = [
    "CORPUS",
    "DATA",
    "events_of",
    "logs",
    "row_pairs",
    "short_logs",
    "small_logs",
    "statements",
]

DATA = Path(__file__).parents[2] / "_data"
CORPUS = Path(__file__).parents[4] / "shared" / "corpus"
_LONGEST_BODY = 1500
_PER_TYPE_AND_FILE = 3
_PER_LOG = 12
OPENING = (1, 15)
GTIDS = (33, 34, 42)
TABLE_MAP = 19
QUERY = 2
ROWS = (23, 24, 25, 30, 31, 32, 39)


@cache
def logs() -> dict[str, bytes]:
    """Every log by name, the smallest first."""
    golden = [p for p in DATA.glob("*/*/binlog.0*") if p.suffix[1:].isdigit()]
    corpus = [p for p in CORPUS.glob("*/*") if p.is_file()]
    named = {str(p.relative_to(DATA)): p.read_bytes() for p in golden}
    named |= {str(p.relative_to(CORPUS)): p.read_bytes() for p in corpus}
    return dict(sorted(named.items(), key=lambda item: (len(item[1]), item[0])))


def small_logs(largest: int = 1300) -> Iterator[bytes]:
    """Whole logs that a mutator can work on."""
    for data in logs().values():
        if len(data) <= largest:
            yield data


def short_logs(longest: int) -> Iterator[bytes]:
    """The golden logs cut to few events: a format description, and one transaction or DDL statement
    with what stands before it, as much as fits; one of each sequence of types and file."""
    for data in logs().values():
        pieces = split(data)
        if not pieces.parts or pieces.parts[0].code not in OPENING:
            continue
        opening, *rest = pieces.parts
        starts = [i for i, part in enumerate(rest) if part.code in GTIDS] or [0]
        groups = [rest[i:j] for i, j in zip(starts, [*starts[1:], len(rest)], strict=True)]
        seen: set[tuple[int, ...]] = set()
        for n, group in enumerate(groups):
            if _size(group) > longest or len(seen) > _PER_LOG:
                continue
            first = n
            while first and _size([p for g in groups[first - 1 : n + 1] for p in g]) < longest:
                first -= 1
            for begin in {first, n}:
                parts = [opening, *(p for g in groups[begin : n + 1] for p in g)]
                shape = tuple(part.code for part in parts)
                log = join(Pieces(parts, pieces.header, pieces.checksums))
                if shape not in seen and len(log) <= longest:
                    seen.add(shape)
                    yield log


def _size(parts: list[Part]) -> int:
    return sum(len(part.body) + 23 for part in parts)


@cache
def _by_type() -> dict[int, list[Part]]:
    found: dict[int, dict[bytes, Part]] = {}
    for data in logs().values():
        seen: dict[int, int] = {}
        for part in split(data).parts:
            count = seen[part.code] = seen.get(part.code, 0) + 1
            if count <= _PER_TYPE_AND_FILE and len(part.body) <= _LONGEST_BODY:
                found.setdefault(part.code, {}).setdefault(part.body, part)
    return {code: list(parts.values()) for code, parts in found.items()}


def events_of(code: int) -> list[Part]:
    """Different events of a type."""
    return _by_type().get(code, [])


@cache
def row_pairs() -> list[tuple[bytes, int, bytes]]:
    """(table map's body, rows event's type, its body): one per table, type and file."""
    pairs: dict[tuple[bytes, int], tuple[bytes, int, bytes]] = {}
    for data in logs().values():
        maps: dict[bytes, bytes] = {}
        for part in split(data).parts:
            if part.code == TABLE_MAP:
                maps[part.body[:6]] = part.body
            elif part.code in ROWS and part.body[:6] in maps and len(part.body) <= _LONGEST_BODY:
                table_map = maps[part.body[:6]]
                pairs.setdefault((table_map[8:], part.code), (table_map, part.code, part.body))
    return list(pairs.values())


@cache
def statements() -> list[str]:
    """Statements of the golden logs' query events, by their bytes as text."""
    found: dict[str, None] = {}
    for data in logs().values():
        for part in split(data).parts:
            if part.code == QUERY and len(part.body) > 13:
                start = 13 + int.from_bytes(part.body[11:13], "little") + part.body[8] + 1
                if len(part.body) - start <= _LONGEST_BODY:
                    found[part.body[start:].decode("utf-8", "backslashreplace")] = None
    return list(found)


@cache
def vectors() -> list[bytes]:
    """Bytes of other projects' test vectors; none where the corpus is not here."""
    path = CORPUS / "vectors.json"
    if not path.is_file():
        return []
    found = json.loads(path.read_text(encoding="utf-8"))
    return [bytes.fromhex(v["hex"]) for v in found if v.get("hex")]
