"""The page of what the golden set covers, in Markdown (docs/coverage.md)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from binlogkit_fixtures import coverage, golden, matrices
from binlogkit_fixtures.matrix_file import Matrix, read_matrix
from binlogkit_fixtures.scenarios import load
from binlogkit_fixtures.writer.rare import RARE

__all__ = ["page"]

_SINCE = {"json": (5, 7), "vector": (9, 0)}  # column types that the first servers do not have


def page(template: str, events: Mapping[str, Mapping[str, str]], holes: Mapping[str, str]) -> str:
    """The page: ``template`` with its words in braces filled in.

    ``events``: of each event type the version that brought it (``since``) and the last that writes
    it (``until``); ``holes``: why no case has one that a server could write.
    """
    cases = golden.cases()
    found = coverage.covered(cases)
    matrix = read_matrix(matrices.matrix_path("pairs"))
    allowed, excluded = coverage.pairs(matrix, found)
    open_ = [pair for pair, there in allowed.items() if not there]
    never = [pair for pair, there in excluded.items() if not there]
    words = {
        "cases": str(len(cases)),
        "scenarios": str(len(found.scenarios)),
        "events": _event_coverage(found, events),
        "event_holes": "".join(f"- {name}: {why}.\n" for name, why in holes.items()),
        "columns": _column_coverage(found),
        "pairs_intro": (
            f"Of the {len(allowed)} pairs of values in `pairs.toml` that can stand together, "
            f"{sum(allowed.values())} do so in a case. By setting and value: with how many of the "
            "values of the other settings, of how many."
        ),
        "pairs": _pair_coverage(matrix, allowed),
        "pair_holes": _pair_holes(open_, "Not covered") + _pair_holes(never, "Excluded"),
        "stories": _story_table(found),
    }
    return re.sub(r"\{(\w+)\}", lambda word: words[word[1]], template)


def _event_coverage(found: coverage.Coverage, events: Mapping[str, Mapping[str, str]]) -> str:
    made = {event.type for log in RARE.values() for event in log.build().events}
    parts = [_head("Event", coverage.SERVERS)]
    for name, facts in events.items():
        counts = [found.events.get((name, server), 0) for server in coverage.SERVERS]
        since, until = _since(facts["since"]), facts.get("until")
        cells = []
        for server, count in zip(coverage.SERVERS, counts, strict=True):
            series = _since(server)
            could = since[:2] <= series and not (until and _since(until) < series)
            cells.append(str(count) if count else "**—**" if could else "")
        if name in made and not any(counts):
            cells = ["made" if cell else "" for cell in cells]
            cells = cells if any(cells) else ["made", *cells[1:]]
        parts.append(_line(f"`{name}`", cells))
    return "".join(parts)


def _since(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)) + (0,) * version.isdecimal()


def _column_coverage(found: coverage.Coverage) -> str:
    parts = [_head("Type", coverage.SERVERS)]
    for name in sorted({name for name, _ in found.columns}):
        cells = []
        for server in coverage.SERVERS:
            images = found.columns.get((name, server), set())
            shown = "".join(i[0].upper() if i == "full" else i[0] for i in sorted(images))
            has = _since(server) >= _SINCE.get(name, (0,))
            cells.append(shown or ("**—**" if has else ""))
        parts.append(_line(f"`{name}`", cells))
    return "".join(parts)


def _pair_coverage(matrix: Matrix, allowed: Mapping[coverage.Pair, bool]) -> str:
    parts = ["| Setting | Value: pairs covered, of all |\n|---|---|\n"]
    for name, values in matrix.parameters.items():
        shown = []
        for value in values:
            there = [held for pair, held in allowed.items() if (name, value) in pair]
            if value is not None and there:
                shown.append(f"`{value or chr(39) * 2}` {sum(there)}/{len(there)}")
        parts.append(f"| `{name}` | {', '.join(shown)} |\n")
    return "".join(parts)


def _pair_holes(holes: Sequence[coverage.Pair], title: str) -> str:
    if not holes:
        return f"{title}: none.\n\n"
    shown = "; ".join(" with ".join(f"`{n}={v}`" for n, v in pair) for pair in holes)
    return f"{title} ({len(holes)}): {shown}.\n\n"


def _story_table(found: coverage.Coverage) -> str:
    parts = ["| Scenario | Servers | Story |\n|---|---|---|\n"]
    for name, servers in sorted(found.scenarios.items()):
        parts.append(f"| `{name}` | {', '.join(sorted(servers))} | {load(name).story} |\n")
    return "".join(parts)


def _head(first: str, columns: Sequence[str]) -> str:
    return f"| {first} | {' | '.join(columns)} |\n|---|" + "---|" * len(columns) + "\n"


def _line(first: str, cells: Sequence[str]) -> str:
    return f"| {first} | {' | '.join(cells)} |\n"
