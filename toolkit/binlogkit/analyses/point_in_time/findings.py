"""What a state does not determine with certainty, and why."""

from __future__ import annotations

import tomllib
from collections.abc import Container, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from binlogkit.frames.fields.field import arrow_schema, fields

FINDINGS = fields(
    ("finding", "string", "a short name"),
    ("determined", "boolean", "whether the state is determined nevertheless"),
    ("meaning", "string", "what it means for the state, one sentence"),
    ("count", "int64", "how often it was met"),
    ("file", "string?", "file of the first place, null where there is none"),
    ("pos", "int64?", "its position"),
)

#: What each kind of finding means.
KINDS: dict[str, str] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


@dataclass(slots=True)
class StateFinding:
    """A finding: how often, where first, and whether the state is determined nevertheless.

    ``text``: what it means, if it is more than its kind (:data:`KINDS`); ``at``: a number that
    rises in the order in which findings of one table were first met; ``places``: that number for
    each time.
    """

    kind: str
    count: int
    determined: bool
    file: str | None
    pos: int | None
    text: str | None = None
    at: int = 0
    places: list[int] = field(default_factory=list)

    @property
    def meaning(self) -> str:
        """What it means for the state."""
        return self.text or KINDS[self.kind]


@dataclass(slots=True)
class StateFindings:
    """Findings by kind (:data:`KINDS`), in the order in which they were first met."""

    found: dict[str, StateFinding] = field(default_factory=dict)

    def add(
        self,
        kind: str,
        file: str | None = None,
        pos: int | None = None,
        *,
        determined: bool = False,
        times: int = 1,
        at: int = 0,
        text: str | None = None,
    ) -> None:
        """Count more of a kind."""
        known = self.found.get(kind)
        if known is None:
            self.found[kind] = StateFinding(kind, times, determined, file, pos, text, at, [at])
        else:
            known.count += times
            known.places.append(at)

    def clear(self, kinds: Iterable[str]) -> None:
        """Drop what a later event made irrelevant."""
        for kind in kinds:
            self.found.pop(kind, None)

    def undetermined(self, apart: Container[str] = ()) -> list[str]:
        """What those mean that leave the state undetermined, apart from some kinds."""
        return [
            finding.meaning
            for kind, finding in self.found.items()
            if not finding.determined and kind not in apart
        ]

    def update(self, other: StateFindings) -> None:
        """Merge a table's findings."""
        for kind, finding in sorted(other.found.items(), key=lambda item: item[1].at):
            self.add(
                kind,
                finding.file,
                finding.pos,
                determined=finding.determined,
                times=finding.count,
                text=finding.text,
            )

    def table(self) -> pa.Table:
        """As a table with the columns of :data:`FINDINGS`."""
        return table_of(self.found.values())


def table_of(found: Iterable[StateFinding]) -> pa.Table:
    """Findings as a table (:data:`FINDINGS`)."""
    rows = [(f.kind, f.determined, f.meaning, f.count, f.file, f.pos) for f in found]
    schema = arrow_schema(FINDINGS)
    arrays = [pa.array([row[i] for row in rows], kind) for i, kind in enumerate(schema.types)]
    return pa.table(arrays, schema=schema)
