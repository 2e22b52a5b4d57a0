"""A replay in shares of a table's rows, and the combined result."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, astuple, dataclass, field, replace
from typing import Any

import pyarrow as pa

from binlogkit.analyses.continuity import Break
from binlogkit.analyses.point_in_time.findings import StateFinding, StateFindings
from binlogkit.analyses.point_in_time.replay_inputs import ReplayInputs, ReplayOutcome
from binlogkit.analyses.point_in_time.unlogged import Broken, Tally
from binlogkit.constants import TableId
from binlogkit.errors import UsageError
from binlogkit.frames.schema import supposed_of
from binlogkit.rows.schema import Supposition

#: Findings about single changes; all others are about what happens to tables, which every share
#: meets.
_OF_CHANGES = frozenset(("duplicate", "key_missing", "no_image", "unseen"))
_ROWS = 1 << 16  # of a batch of rows


@dataclass(frozen=True, slots=True)
class Switch:
    """From the place ``at`` on, changes of a table have other columns: those of ``empty``, a batch
    without changes."""

    at: int
    name: TableId
    empty: pa.RecordBatch


@dataclass(frozen=True, slots=True)
class ShareResult:
    """The result of a share's replay besides its rows.

    ``rows``: how many; ``schema``: theirs; ``unknown``: unknown cells; ``error``: why it failed.
    """

    rows: int = 0
    unknown: int = 0
    schema: pa.Schema | None = None
    key: tuple[str, ...] = ()
    met: bool = False
    complete: bool = False
    rejected: int = 0
    found: dict[str, StateFinding] | None = None
    supposed: tuple[Supposition, ...] = ()
    error: str | None = None
    broken: tuple[Broken, ...] = ()
    tally: Tally = field(default_factory=Tally)

    @classmethod
    def of(cls, outcome: ReplayOutcome, name: TableId) -> ShareResult:
        """Of a table's outcome."""
        lists, values = (outcome.rows[column].chunks for column in ("unknown", "values"))
        supposed = {one: None for chunk in values for one in supposed_of(name, chunk)}
        return cls(
            outcome.rows.num_rows, sum(len(one.flatten()) for one in lists), outcome.rows.schema,
            outcome.key, outcome.met, outcome.complete, outcome.rejected, outcome.findings.found,
            tuple(supposed), broken=outcome.broken, tally=outcome.tally,
        )  # fmt: skip

    def text(self) -> str:
        """As JSON."""
        schema = None if self.schema is None else self.schema.serialize().to_pybytes().hex()
        found = {kind: asdict(one) for kind, one in (self.found or {}).items()}
        facts = {
            name: getattr(self, name)
            for name in ("rows", "unknown", "key", "met", "complete", "rejected", "error", "broken")
        }
        supposed = [asdict(one) for one in self.supposed]
        facts |= {"schema": schema, "found": found, "supposed": supposed}
        return json.dumps({**facts, "tally": asdict(self.tally)})

    @classmethod
    def read(cls, text: str) -> ShareResult:
        """From its JSON."""
        facts: dict[str, Any] = json.loads(text)
        schema = facts.pop("schema")
        found = {kind: StateFinding(**one) for kind, one in facts.pop("found").items()}
        supposed = tuple(Supposition(**one) for one in facts.pop("supposed"))
        broken = tuple((seq, Break(kind), tuple(key)) for seq, kind, key in facts.pop("broken"))
        tally = Tally(**facts.pop("tally"))
        known = None if schema is None else pa.ipc.read_schema(pa.py_buffer(bytes.fromhex(schema)))
        return cls(
            **{**facts, "key": tuple(facts["key"])}, schema=known, found=found, supposed=supposed,
            broken=broken, tally=tally,
        )  # fmt: skip


def fold_share(
    inputs: ReplayInputs, switches: Sequence[Switch], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch | ShareResult]:
    """The rows of a share after its changes, which come in log order, then its other results."""
    run, due = inputs.begun(), list(switches)
    for batch in batches:
        while due and due[0].at <= batch["seq"][0].as_py():
            run.meet(due[0].at, due[0].name, due.pop(0).empty)
        run.feed(batch)
    for switch in due:
        run.meet(switch.at, switch.name, switch.empty)
    try:
        outcome = inputs.outcome(run)
    except UsageError as exc:
        yield ShareResult(error=str(exc))
        return
    yield from outcome.rows.combine_chunks().to_batches(max_chunksize=_ROWS)
    yield ShareResult.of(outcome, inputs.names[-1])


def merged(shares: Sequence[ShareResult]) -> ShareResult:
    """The combined result of all shares. UsageError: one failed, with its reason.

    A share may not have met the table; the results of those that have agree for the table. A
    finding about what happens to the table counts once for each such event.
    """
    for one in shares:
        if one.error is not None:
            raise UsageError(one.error)
    known = next((one for one in shares if one.met), shares[0])
    schema = max((one.schema for one in shares if one.schema is not None), key=_columns)
    return ShareResult(
        sum(one.rows for one in shares),
        sum(one.unknown for one in shares),
        schema,
        known.key,
        known.met,
        known.complete,
        sum(one.rejected for one in shares),
        _merged([one.found or {} for one in shares]),
        tuple(dict.fromkeys(supposed for one in shares for supposed in one.supposed)),
        broken=tuple(broken for one in shares for broken in one.broken),
        tally=Tally(*(sum(n) for n in zip(*(astuple(one.tally) for one in shares), strict=True))),
    )


def _columns(schema: pa.Schema) -> int:
    return len(schema.field("values").type)


def _merged(several: Sequence[dict[str, StateFinding]]) -> dict[str, StateFinding]:
    found: dict[str, StateFinding] = {}
    for one in several:
        for kind, finding in one.items():
            known = found.get(kind)
            if known is None:
                found[kind] = finding
                continue
            first = min(known, finding, key=lambda f: f.at)
            places = sorted({*known.places, *finding.places})
            count = known.count + finding.count if kind in _OF_CHANGES else len(places)
            found[kind] = replace(first, count=count, determined=known.determined, places=places)
    return found


def findings_of(shared: ShareResult, findings: StateFindings) -> None:
    """The findings, after those about transactions."""
    outcome = ReplayOutcome(
        pa.table({}), shared.key, shared.met, shared.complete, shared.rejected,
        StateFindings(dict(shared.found or {})), None,
    )  # fmt: skip
    outcome.tell(findings)
