"""What a comparison found: a frame of differences, and a summary with a verdict."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from binlogkit.analyses.conformance.decoded_rows import json_values
from binlogkit.analyses.conformance.rule import Difference, Kind
from binlogkit.errors import UsageError
from binlogkit.overview import Overview, Overviewed

if TYPE_CHECKING:
    import pyarrow as pa  # loaded for frames only: a test's comparison needs none

# `column` names a table's column where `row` is not null, else an event's field; `kind` is one of
# rules.Kind; `rule` is empty where none explains; `ours` and `theirs` are texts, null where that
# side has nothing; `reason` is one sentence; `proof`: what stands in the text, the rule's words,
# and where the fact is known from.
COLUMNS = (
    "file", "pos", "inner", "row", "column", "kind", "rule", "ours", "theirs", "reason", "proof",
)  # fmt: skip

OURS = "ours"  # what the decoder under test is called, unless it has a name
_OURS_WORD = re.compile(r"\bours\b")
_FAILING = (Kind.OURS, Kind.UNEXPLAINED)
_BASELINE_KEYS = COLUMNS[:-2]  # all but why
_LOOKED_AT = ["file", "pos", "row", "column", "kind", "rule", "ours", "theirs", "reason"]
# Of the kinds, as a person looks at them: what counts first.
_ORDER = {kind: i for i, kind in enumerate((
    Kind.OURS, Kind.UNEXPLAINED, Kind.UNDER_DETERMINED, Kind.THEIRS, Kind.REPRESENTATION,
))}  # fmt: skip
_COUNTS = (
    "events", "rows", "cells", "cells_by_bytes", "rows_not_judged", "baselined", "rows_lacking",
    "rows_invented",
)  # fmt: skip


class Verdict(StrEnum):
    """The outcome in one word."""

    AGREE = "agree"  # no difference but in writing
    EXPLAINED = "explained"  # differences that are not the decoder's
    DIFFER = "differ"  # differences that are, or that no rule explains
    UNJUDGED = "unjudged"  # something of ours neither the text nor the bytes decide
    INCOMPLETE = "incomplete"  # mysqlbinlog gave up: the rest was not judged


def differences_schema() -> pa.Schema:
    """The Arrow schema of the differences; see :data:`COLUMNS`."""
    import pyarrow as pa

    numbers = {"pos": pa.int64(), "inner": pa.int32(), "row": pa.int32()}
    return pa.schema([pa.field(name, numbers.get(name, pa.string())) for name in COLUMNS])


@dataclass(frozen=True, slots=True)
class ConformanceSummary:
    """Counts: what was compared, and what was found.

    ``events``, ``rows``, ``cells``: compared; ``cells_by_bytes``: of the cells, those that the
    log's own bytes decided; ``rows_not_judged``: ours that mysqlbinlog did not print for reasons of
    its own and the bytes did not decide either; ``kinds``, ``rules``: differences by kind and by
    rule (all, also those beyond what the frame keeps); ``baselined``: known ones, left out of both;
    ``problem``: what mysqlbinlog said when it gave up; ``rows_lacking``, ``rows_invented``: of the
    log, which the decoder does not give, and the reverse; those next to each other are one
    difference.
    """

    verdict: Verdict
    events: int = 0
    rows: int = 0
    cells: int = 0
    cells_by_bytes: int = 0
    rows_not_judged: int = 0
    kinds: Mapping[str, int] = field(default_factory=dict)
    rules: Mapping[str, int] = field(default_factory=dict)
    baselined: int = 0
    problem: str | None = None
    rows_lacking: int = 0
    rows_invented: int = 0

    @property
    def exit_status(self) -> int:
        """0: nothing to do; 1: differences that count, or something that nobody judged."""
        return 0 if self.verdict in (Verdict.AGREE, Verdict.EXPLAINED) else 1


@dataclass(frozen=True, slots=True, repr=False)
class ConformanceResult(Overviewed):
    """``differences``: a ``pyarrow.Table`` of :func:`differences_schema`, in the log's order."""

    differences: pa.Table
    summary: ConformanceSummary

    def overview(self) -> Overview:
        """The verdict, how much was compared, and the differences, those that count first."""
        summary, rows = self.summary, self.differences.select(_LOOKED_AT).to_pylist()
        kinds = [f"{n:,} {kind}" for kind in _ORDER if (n := summary.kinds.get(kind, 0))]
        facts: list[tuple[str, object]] = [
            ("verdict", str(summary.verdict)), ("events", summary.events), ("rows", summary.rows),
            ("cells", summary.cells), ("differences", ", ".join(kinds) or "none"),
        ]  # fmt: skip
        facts += [("rows not judged", n) for n in (summary.rows_not_judged,) if n]
        facts += [("known, left out", n) for n in (summary.baselined,) if n]
        facts += [("mysqlbinlog gave up", why) for why in (summary.problem,) if why is not None]
        return Overview("conformance", facts, sorted(rows, key=lambda row: _ORDER[row["kind"]]))


class Differences:
    """Collects differences: counts all, keeps up to ``keep`` per kind and rule.

    ``baseline``: known differences, each a part of a record; what matches one in all that it names
    is counted and left out. ``decoder``: what reasons call the decoder under test.
    """

    def __init__(
        self,
        file: str,
        *,
        keep: int = 1000,
        baseline: Iterable[Mapping[str, Any]] = (),
        decoder: str = OURS,
    ) -> None:
        self.file = file
        self.decoder = decoder
        self.keep = keep
        self.records: list[dict[str, Any]] = []
        self.kinds: Counter[str] = Counter()
        self.rules: Counter[str] = Counter()
        self.baselined = self.rows_lacking = self.rows_invented = 0
        self._kept: Counter[tuple[str, str]] = Counter()
        self._baseline: dict[tuple[str, ...], set[str]] = {}
        self._known_kinds: set[str | None] = set()  # None: of any
        for known in baseline:
            kind = known.get("kind")
            self._known_kinds.add(kind if isinstance(kind, str) else None)
            names = tuple(sorted(known))
            self._baseline.setdefault(names, set()).add(_key(known, names))

    def wants(self, kind: str, rule: str) -> bool:
        """Whether the frame still keeps differences of this kind and rule."""
        known = None in self._known_kinds or kind in self._known_kinds
        return known or self._has_room(kind, rule)

    def _has_room(self, kind: str, rule: str) -> bool:
        limit = min(self.keep, 5) if kind == Kind.REPRESENTATION else self.keep
        return self._kept[(kind, rule)] < limit

    def count(self, kind: str, rule: str, times: int = 1) -> None:
        """Count differences that the frame does not keep."""
        self.kinds[kind] += times
        if rule:
            self.rules[rule] += times

    def report(self, key: tuple[int, int], row: int | None, difference: Difference) -> None:
        """Count a difference at (pos, inner), -1 where there is none; keep it where :meth:`wants`
        says so."""
        kind, rule = str(difference.kind), difference.rule
        if not self.wants(kind, rule):
            self.count(kind, rule)
            return
        pos, inner = (None if number < 0 else number for number in key)
        found = {"file": self.file, "pos": pos, "inner": inner, "row": row}
        found |= {name: getattr(difference, name) for name in COLUMNS[len(found) :]}
        found |= {"kind": kind}
        if self.decoder != OURS:
            found["reason"] = _OURS_WORD.sub(lambda _: self.decoder, difference.reason)
        for names, known in self._baseline.items():
            if _key(found, names) in known:
                self.baselined += 1
                return
        self.count(kind, rule)
        if self._has_room(kind, rule):
            self._kept[(kind, rule)] += 1
            self.records.append(found)

    def alone(self, lacking: int = 0, invented: int = 0) -> None:
        """Count rows that only the log has, and those that only the decoder gives."""
        self.rows_lacking += lacking
        self.rows_invented += invented

    @property
    def total(self) -> int:
        """How many differences were counted, and how many were known."""
        return self.kinds.total() + self.baselined

    @property
    def failing(self) -> list[dict[str, Any]]:
        """The kept differences that make the comparison fail, as records of :data:`COLUMNS`."""
        return [record for record in self.records if record["kind"] in _FAILING]

    def result(self, problem: str | None = None, **counts: int) -> ConformanceResult:
        """The frame and the summary."""
        import pyarrow as pa

        table = pa.Table.from_pylist(self.records, schema=differences_schema())
        summary = ConformanceSummary(
            verdict=_verdict(self.kinds, problem),
            kinds=dict(sorted(self.kinds.items())),
            rules=dict(sorted(self.rules.items())),
            baselined=self.baselined,
            problem=problem,
            rows_lacking=self.rows_lacking,
            rows_invented=self.rows_invented,
            **counts,
        )
        return ConformanceResult(table, summary)


def _key(record: Mapping[str, Any], names: tuple[str, ...]) -> str:
    """The values as text; a file by its bare name, since logs lie elsewhere on another machine."""
    values = [record.get(name) for name in names]
    if "file" in names:
        values[names.index("file")] = bare_name(str(record["file"]))
    return json.dumps(values, ensure_ascii=False)


def bare_name(file: str) -> str:
    """A file's name without its folder or URL."""
    return file.replace("\\", "/").rpartition("/")[2]


def _verdict(kinds: Mapping[str, int], problem: str | None) -> Verdict:
    if any(kinds.get(kind) for kind in _FAILING):
        return Verdict.DIFFER
    if problem is not None:
        return Verdict.INCOMPLETE
    if kinds.get(Kind.UNDER_DETERMINED):
        return Verdict.UNJUDGED
    return Verdict.EXPLAINED if kinds.get(Kind.THEIRS) else Verdict.AGREE


def merge(results: Iterable[ConformanceResult]) -> ConformanceResult:
    """The results of several files as one."""
    import pyarrow as pa

    parts = list(results)
    kinds: Counter[str] = Counter()
    rules: Counter[str] = Counter()
    for part in parts:
        kinds.update(part.summary.kinds)
        rules.update(part.summary.rules)
    problems = [p.summary.problem for p in parts if p.summary.problem]
    problem = "; ".join(problems) or None
    summary = ConformanceSummary(
        verdict=_verdict(kinds, problem),
        kinds=dict(sorted(kinds.items())),
        rules=dict(sorted(rules.items())),
        problem=problem,
        **{name: sum(getattr(p.summary, name) for p in parts) for name in _COUNTS},
    )
    empty = differences_schema().empty_table()
    return ConformanceResult(pa.concat_tables([empty, *(p.differences for p in parts)]), summary)


def read_baseline(lines: Iterable[str]) -> list[dict[str, Any]]:
    """Known differences from JSON lines; :class:`UsageError` names the line that is none.

    Each line is an object with any of ``file, pos, inner, row, column, kind, rule, ours, theirs``;
    it stands for every difference that has all the values it names.
    """
    known: list[dict[str, Any]] = []
    for number, record in json_values(lines, "baseline line"):
        if not isinstance(record, dict) or not record or set(record) - set(_BASELINE_KEYS):
            raise UsageError(
                f"baseline line {number}: an object with some of {', '.join(_BASELINE_KEYS)}"
            )
        known.append(record)
    return known


def baseline_lines(result: ConformanceResult) -> list[str]:
    """The kept differences that are not of writing only, as a baseline's lines."""
    return [
        json.dumps(
            {name: record[name] for name in _BASELINE_KEYS} | {"file": bare_name(record["file"])},
            ensure_ascii=False,
        )
        for record in result.differences.to_pylist()
        if record["kind"] != Kind.REPRESENTATION
    ]
