"""An explained event -> records in the public contract's form (``explain --format jsonl``)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from binlogkit._kernel.value_text import hex_text
from binlogkit.events.explain.walk import EventWalk


def explain_records(walk: EventWalk) -> Iterator[dict[str, Any]]:
    """One dict per part of the event, groups before what is in them.

    ``raw`` is null of a group: the parts in it hold its bytes; those of the parts that hold no
    others, end to end, are the event.
    """
    raw = walk.raw
    head = {"file": raw.file, "pos": raw.pos, "inner": raw.inner, "type": walk.root.field}
    path: list[str] = []
    for depth, part in walk.root.walk():
        path = [*path[: max(depth - 1, 0)], part.field] if depth else []
        yield {
            **head,
            "depth": depth,
            "path": path,
            "field": part.field,
            "offset": part.start,
            "length": part.size,
            "raw": None if part.parts else hex_text(walk.data[part.start : part.end]),
            "value": _plain(part.value),
            "meaning": part.meaning,
            "details": [
                {"name": d.name, "value": _plain(d.value), "meaning": d.meaning}
                for d in part.details
            ],
            # With the event itself what is wrong anywhere in it.
            "problem": (part.problem if depth else "; ".join(walk.problems)) or None,
        }


def _plain(value: object) -> object:
    return hex_text(value) if isinstance(value, bytes) else value
