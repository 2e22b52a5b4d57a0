"""What all logs that have landed say together, so that a landing need not read and join each.

A summary stands for the logs of the ledger that have landed whole and are followed by another one
of their server: of each server it is one part (log/index/part.py), with the statements and table
maps from which the tables follow as these logs left them, and the logs' GTIDs. What repeats itself,
such as a table that is made and dropped each night, is in it once. It is kept beside the ledger,
and follows from it: it counts while the ledger has all parts that it names, under the same names,
of the same journal, and the same definitions were given. If it does not count, or logs come that do
not follow those that it stands for, all logs are joined anew, and so is the next summary.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, astuple, dataclass, field, replace
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from binlogkit.constants import TableId
from binlogkit.errors import BinlogKitError, MalformedEventError, WriteError
from binlogkit.events.gtid_set import GtidSet
from binlogkit.events.table_map import TableMap
from binlogkit.frames.fields.field import to_table
from binlogkit.frames.fields.ledger import INDEX
from binlogkit.log import Log
from binlogkit.log.index import Index, Joined, Part
from binlogkit.log.index.definitions import Bodies, KeptSaid, Record, definition_record
from binlogkit.log.index.extent import Extent
from binlogkit.log.index.part import Said, Wrote
from binlogkit.log.index.stamps import place_of
from binlogkit.log.index.stored import read_gtids
from binlogkit.rows.ddl import Catalog
from binlogkit.rows.gtid_ledger import GtidLedger
from binlogkit.rows.options import ReadOptions
from binlogkit.rows.schema import StatementTime
from binlogkit.rows.series import Head, split_name
from binlogkit.rows.table_history import TableHistory
from binlogkit.sources.carriers.carrier import reason_of
from binlogkit.spark.landing.given import Given, with_given
from binlogkit.spark.landing.parts import parts_beside
from binlogkit.spark.landing.spans import Landed, Span

_FILE, _FACTS, _VERSION = "summary.parquet", b"binlogkit:summary", 5
_LEAST = 8  # logs for which a summary is written anew
#: A server's logs: their folder, their stem, the server's id, the source's name if it has one.
Group: TypeAlias = tuple[str, str, int, "str | None"]


@dataclass(frozen=True, slots=True)
class Summary:
    """``keys``: the parts of the index that it stands for; ``parts``: one of each server;
    ``gtids``: of all spans up to ``batch``."""

    keys: frozenset[str] = frozenset()
    parts: tuple[Part, ...] = ()
    gtids: GtidSet = field(default_factory=GtidSet)
    batch: int = 0


class Summaries:
    """The summary beside a ledger, for a landing of some logs; ``mark``: the journal's; ``given``:
    the definitions that were given to the landing."""

    def __init__(self, ledger: Path, log: Log, mark: str, given: Sequence[Given]) -> None:
        self._path, self._log, self._mark, self.given = ledger / _FILE, log, mark, given
        self._index = Index(ledger)
        self._places = {key: [s.place for s in of] for key, of in self._index.stamps.items()}

    @property
    def _stamp(self) -> str:
        facts = [_VERSION, self._mark, self._log.options.source, *map(astuple, self.given)]
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()

    def read(self) -> tuple[Summary, list[Part]] | None:
        """The summary, and the parts of the other logs in order, which follow it; None if it does
        not count for these logs."""
        found = self._read()
        if found is None or not all(one.name == place_of(one) for one in self._log.carriers):
            return None
        apart = {place for key in found.keys for place in self._places[key]}
        rest = [one for one in self._log.carriers if place_of(one) not in apart]
        if not rest:
            return None
        parts = parts_beside(self._index, self._log, rest, found.keys)
        parts = [*with_given(parts, self.given)]
        every = grouped([*found.parts, *parts], self._log.options.source)
        return None if every is None else (found, parts)

    def names(self, summary: Summary) -> set[str]:
        """The names of the logs that a summary stands for."""
        return {place for key in summary.keys for place in self._places[key]}

    def parts(self) -> list[Part]:
        """The parts of all logs in order."""
        parts = parts_beside(self._index, self._log, self._log.carriers)
        return [*with_given(parts, self.given)]

    def write(
        self, before: Summary, parts: Iterable[Part], joined: Joined, spans: Sequence[Span],
        landed: Landed,
    ) -> None:  # fmt: skip
        """Write the summary of a landing that has ended; ``parts``: those besides ``before``,
        ``spans``: of the journal. WriteError."""
        every = [*before.parts, *parts]
        groups = grouped(every, self._log.options.source)
        behind = {id(every[i]) for i in joined.broken | joined.damaged}
        if groups is None or not all(one.name == place_of(one) for one in self._log.carriers):
            return
        keys = {places[0]: key for key, places in self._places.items() if len(places) == 1}
        known = {id(part) for part in before.parts}
        chosen, made = set[str](), list[Part]()
        for own in groups.values():
            old = [part for part in own if id(part) in known]
            new = _closed(own[len(old) :], keys, landed, behind)
            chosen |= {keys[part.names[0]] for part in new}
            made += [_united([*old, *new])] if old or new else []
        if len(chosen) < _LEAST:
            return
        batch = max((span.batch for span in spans), default=0)
        self._write(Summary(before.keys | chosen, tuple(made), landed.gtids_besides(()), batch))

    # ---- the file -----------------------------------------------------------------------------

    def _read(self) -> Summary | None:
        try:
            table = pq.read_table(self._path)
            stored = json.loads(table.schema.metadata[_FACTS])
            if stored["stamp"] != self._stamp or not self._places.keys() >= set(stored["keys"]):
                return None
            said: dict[str, list[Record]] = {}
            for record in table.to_pylist():
                said.setdefault(record.pop("part"), []).append(record)
            bodies = Bodies()
            parts = tuple(
                _part(one, said.get(str(i), ()), bodies) for i, one in enumerate(stored["parts"])
            )
            gtids = read_gtids(stored["gtids"])
            return Summary(frozenset(stored["keys"]), parts, gtids, int(stored["batch"]))
        except (OSError, pa.ArrowException, BinlogKitError, KeyError, ValueError, TypeError):
            return None  # all logs are joined

    def _write(self, summary: Summary) -> None:
        facts = {
            "stamp": self._stamp, "keys": sorted(summary.keys), "batch": summary.batch,
            "gtids": str(summary.gtids), "parts": [_record(part) for part in summary.parts],
        }  # fmt: skip
        records = (
            {"part": str(i), **definition_record(said)}
            for i, part in enumerate(summary.parts)
            for said in part.said
        )
        table = to_table(records, INDEX["definitions"])
        made = self._path.with_name(f"{_FILE}.{uuid.uuid4().hex}")
        try:
            pq.write_table(
                table.replace_schema_metadata({_FACTS: json.dumps(facts)}), made, compression="zstd"
            )
            made.replace(self._path)
        except OSError as exc:
            with suppress(OSError):
                made.unlink(missing_ok=True)
            raise WriteError(str(self._path.parent), reason_of(exc)) from exc


def _record(part: Part) -> dict[str, Any]:
    assert part.head is not None
    previous = part.head.previous
    return {
        "head": asdict(replace(part.head, previous=None)),
        "previous": None if previous is None else str(previous),
        "events": part.events, "transactions": part.transactions, "gtids": str(part.gtids),
        "intact": str(part.intact), "next_name": part.next_name, "rotated": part.rotated,
        "wrote": [asdict(one) for one in part.wrote],
    }  # fmt: skip


def _part(stored: Mapping[str, Any], said: Sequence[Record], bodies: Bodies) -> Part:
    previous = stored["previous"]
    head = replace(
        Head(**stored["head"]), previous=None if previous is None else read_gtids(previous)
    )
    return Part(
        (head.name,), head=head, events=stored["events"], transactions=stored["transactions"],
        said=KeptSaid(said, {one["file"]: one["file"] for one in said}, bodies),
        wrote=tuple(Wrote(**one) for one in stored["wrote"]),
        gtids=read_gtids(stored["gtids"]), intact=read_gtids(stored["intact"]),
        next_name=stored["next_name"], rotated=stored["rotated"], extent=Extent(plain=True),
    )  # fmt: skip


# ---- what it is made of ------------------------------------------------------------------------


def grouped(parts: Iterable[Part], name: str | None = None) -> dict[Group, list[Part]] | None:
    """The parts of each server, in order; None if it is not plain which server's they are, one does
    not follow the one before it, or servers share a name: then the tables of one may be those that
    the logs of another left; ``name``: the one that the user gave."""
    found: dict[Group, list[Part]] = {}
    for part in parts:
        head = part.head
        if head is None or head.relay or len(part.names) > 1 or part.unreadable is not None:
            return None
        folder, stem, number = split_name(part.names[0])
        if number is None:
            return None
        own = found.setdefault((folder, stem, head.server_id, head.source), [])
        if own and _begun(own[-1]) >= _begun(part):
            return None
        own.append(part)
    apart = {(folder, stem) for folder, stem, *_ in found}, {server for *_, server, _ in found}
    names = Counter(name or source for *_, source in found if name or source)
    if max(names.values(), default=0) > 1:
        return None
    return found if all(len(one) == len(found) for one in apart) else None


def _begun(part: Part) -> int:
    return split_name(part.names[0])[2] or 0


def _closed(
    parts: Sequence[Part], keys: Mapping[str, str], landed: Landed, behind: Container[int]
) -> Sequence[Part]:
    """The first parts of one server that no later landing needs: without its last log, and up to
    where logs or statements are missing (``behind``): there tables may change."""
    prepared, end = set[str](), 0
    for i, part in enumerate(parts[:-1]):
        ended = max((span.end for span in landed.of(part)), default=0)
        whole = ended == part.extent.ended == part.transactions
        if part.names[0] not in keys or not whole or id(part) in behind:
            break
        prepared = prepared - part.decided.keys() | part.prepared.keys()
        end = end if prepared else i + 1
    return parts[:end]


def _united(parts: Sequence[Part]) -> Part:
    """Parts of one server as one, with what tables and GTIDs follow from."""
    gtids, intact = GtidLedger(), GtidLedger()
    for part in parts:
        gtids.add_set(part.gtids)
        intact.add_set(part.intact)
    needed = enumerate(_without_repeats(_needed(parts)))
    numbered = [replace(one, event=i, tx=None) for i, one in needed]
    last = parts[-1]
    return Part(
        last.names, head=last.head, events=sum(part.events for part in parts),
        transactions=sum(part.transactions for part in parts),
        said=tuple(one for one in numbered if isinstance(one, Said)),
        wrote=tuple(one for one in numbered if isinstance(one, Wrote)),
        gtids=gtids.to_set(), intact=intact.to_set(), next_name=last.next_name,
        rotated=last.rotated, extent=Extent(plain=True),
    )  # fmt: skip


def _needed(parts: Iterable[Part]) -> Iterator[Said | Wrote]:
    """All statements, the table maps that may show something new after them, and of writes the
    first of each table."""
    version: str | None = None
    maps, wrote = set[object](), set[TableId]()
    needed = list[Said | Wrote]()
    for part in parts:
        own: list[Said | Wrote] = [*part.said, *part.wrote]
        needed += sorted(own, key=attrgetter("event"))
    for one in needed:
        if isinstance(one, Wrote):
            if (one.db, one.table) in wrote:
                continue
            wrote.add((one.db, one.table))
        elif isinstance(one.body, TableMap):
            if _content(one.body) in maps:
                continue
            maps.add(_content(one.body))
        elif one.body == version:
            continue
        else:
            version = one.body if isinstance(one.body, str) else version
            maps.clear()
        yield one


def _without_repeats(statements: Iterable[Said | Wrote]) -> Sequence[Said | Wrote]:
    """What is needed, without what repeats itself."""
    walk = _Walk()
    for one in statements:
        if not (isinstance(one, Wrote) or isinstance(one.body, TableMap)):
            walk.settle()
        walk.take(one)
    walk.settle()
    return walk.kept


def _content(body: TableMap) -> tuple[object, ...]:
    return body.db, body.table, body.types, body.metadata, body.nullable, body.optional


class _Walk:
    """A walk over what one server's logs say of tables; ``kept``: what is needed of it.

    If the tables become again what they were, and what was said since shows nothing that was not
    shown before (a version of a table, an effect of a statement), it is not needed.
    """

    def __init__(self) -> None:
        self.kept: list[Said | Wrote] = []
        self._history, self._shown = TableHistory(ReadOptions()), set[object]()
        self._new = False  # whether the last statement, or what follows it, shows something new
        # What was known since the last new thing, and how much was kept by then.
        self._states = [(0, vars(self._history.catalog.copy()))]

    def take(self, one: Said | Wrote) -> None:
        """Take the next one."""
        self.kept.append(one)
        before = len(self._shown)
        self._shown.update(self._show(one))
        self._new |= len(self._shown) > before

    def _show(self, one: Said | Wrote) -> Iterator[object]:
        history = self._history
        if isinstance(one, Wrote):
            yield one.db, one.table
        elif isinstance(one.body, str):
            history.catalog.server_version = one.body
        elif isinstance(one.body, Catalog):
            history.give(one.body, anew=False)
            yield one.raw.file, one.raw.body
        elif isinstance(body := one.body, TableMap):
            with suppress(MalformedEventError):
                history.schema(body, one.raw.file, one.raw.pos)
            known, name = history.catalog, (body.db, body.table)
            yield _content(body), known.table(*name), known.is_unknown(*name), known.server_version
        else:
            for change in history.apply(body, one.raw.file, one.raw.pos):
                yield replace(change, moment=StatementTime(), reason=None)

    def settle(self) -> None:
        """All that follows a statement has been taken: drop what repeats itself."""
        state = vars(self._history.catalog.copy())
        if self._new:
            self._states.clear()
        for i, (count, known) in enumerate(self._states):
            if known == state:
                del self.kept[count:], self._states[i + 1 :]
                return
        self._states.append((len(self.kept), state))
        self._new = False
