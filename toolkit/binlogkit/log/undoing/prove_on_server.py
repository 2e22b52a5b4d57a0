"""Proves an undo: a throwaway server plays the log, then the script."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from binlogkit.analyses.references import references
from binlogkit.analyses.undoing.expected_rows import (
    Reversed,
    Row,
    Texts,
    difference,
    differing,
    paired,
)
from binlogkit.constants import TableId
from binlogkit.errors import ServerError, printable
from binlogkit.frames.generic import state_rows
from binlogkit.frames.snapshots.server import ServerTables
from binlogkit.log.states.table_states import TableStates
from binlogkit.log.undoing.proof import Proof, ProvedTable
from binlogkit.log.undoing.relay_log import Played, Range, definers, write_relay_log
from binlogkit.rows.ddl.scan import ScriptStatements
from binlogkit.rows.ddl.session import version_number
from binlogkit.rows.filters import Filters, TableName, written_table_name
from binlogkit.rows.resolve import key_of
from binlogkit.sources.carriers import read_schema_text
from binlogkit.sources.log_format import CASCADES_LOGGED, version_tuple
from binlogkit.sources.server.disposable import NotPlayedError, Provider, Stage

if TYPE_CHECKING:
    from binlogkit.analyses.undoing.plans import Plans
    from binlogkit.log.streams import Streams
    from binlogkit.rows.schema import TableDefinition

Pair = tuple["Row | None", "Row | None"]
Undone = Mapping[int | None, set[int]]
_NOT_THERE = frozenset((1032, 1049, 1146))  # no such row, database, table
_BASE = (
    "; what was there before the log is missing: open the log with a dump of that moment as schema "
    "(--schema FILE.sql), rows included"
)
_LISTED = 5


def prove(
    log: Streams, plans: Plans, script: Sequence[str], version: str, provider: Provider | None
) -> Proof:
    """See :meth:`binlogkit.log.undoing.log_plans.Undo.prove`; ``version``: the log's."""
    with closing(Stage(version, provider)) as stage:
        played = _play(log, version, stage, ())
        before, definitions = _tables(stage)
        run = stage.run(script)
        after, others = _tables(stage)
        server = stage.version
    trial = _Trial(log, before, after, definitions | others)
    trial.notes += _notes(played, version, server)
    trial.tell_changes()
    trial.hold_against_log()
    replayed = False
    if run.verdict.startswith("committed"):
        below = version_tuple(version) < CASCADES_LOGGED  # else the log and the plans create them
        cascading = references(trial.definitions.values()) if below else ()
        images = Reversed(before, trial.keys, cascading)
        images.take(plans)
        undone = _undone(plans)
        without = _whole_transactions(log, undone)
        replayed = without is not None
        if without is None:
            trial.notes.append("not compared with a replay: not all transactions are undone whole")
            trial.hold_against_images(images)
        else:
            with closing(Stage(version, provider)) as stage:
                _play(log, version, stage, without)
                there, _ = _tables(stage)
            trial.hold_against_replay(there, images, undone)
    tables = tuple(map(trial.proved, sorted(trial.keys)))
    return Proof(
        run.verdict, run.statement, run.error, server, version, tables, replayed,
        tuple(trial.notes), trial.found,
    )  # fmt: skip


class _Trial:
    """The tables ``before`` and ``after`` the script, and the differences ``found``."""

    def __init__(
        self,
        log: Streams,
        before: Mapping[TableId, Texts],
        after: Mapping[TableId, Texts],
        definitions: Mapping[TableId, TableDefinition],
    ) -> None:
        self._log, self._before, self._after = log, before, after
        self.definitions = definitions
        self.keys = {name: key_of(definition)[0] for name, definition in definitions.items()}
        self.found: list[Row] = []
        self.notes: list[str] = []
        self._as_logged: dict[TableId, bool] = {}

    def tell_changes(self) -> None:
        """What the script changed."""
        for name in self.keys:
            self._tell("undo", name, self._differing(self._before, name))

    def hold_against_log(self) -> None:
        """Whether the server, before the script, was as the log says."""
        for name, pairs in _unlike_the_log(self._log, self._before):
            if pairs is not None:
                self._as_logged[name] = not pairs
                self._tell("play", name, pairs)

    def hold_against_images(
        self, images: Reversed, but: Mapping[TableId, set[str]] | None = None
    ) -> None:
        """Whether the result is what the images of the undone changes demand; ``but``: check these
        rows only, by key."""
        for name in self.keys:
            pairs = images.wrong(name, self._after.get(name, Counter()))
            self._tell(
                "images", name,
                [p for p in pairs if but is None or images.key_of(name, *p) in but.get(name, ())],
            )  # fmt: skip

    def hold_against_replay(
        self, there: Mapping[TableId, Texts], images: Reversed, undone: Undone
    ) -> None:
        """Whether the result equals the log without the undone transactions.

        Rows that images of later changes bring back are compared with what the images demand.
        """
        carried: dict[TableId, set[str]] = {}
        for name in self.keys:
            pairs = self._differing(there, name)
            carried[name] = _carried(self._log, name, images, undone) if pairs else set()
            real = [p for p in pairs if images.key_of(name, *p) not in carried[name]]
            self._tell("replay", name, real)
            if len(real) < len(pairs):
                self.notes.append(
                    f"{len(pairs) - len(real)} of the rows of {written_table_name(*name)} were "
                    "compared with images only: those of later changes hold what was undone"
                )
        self.hold_against_images(images, carried)

    def _differing(self, tables: Mapping[TableId, Texts], name: TableId) -> list[Pair]:
        one, other = (rows.get(name, Counter()) for rows in (tables, self._after))
        return list(differing(one, other, self.keys[name]))

    def _tell(self, between: str, name: TableId, pairs: Sequence[Pair]) -> None:
        key = self.keys.get(name, ())
        self.found += [difference(between, name, key, pair) for pair in pairs]

    def proved(self, name: TableId) -> ProvedTable:
        """The differences in a table."""
        mine = [row for row in self.found if (row["db"], row["table"]) == name]
        kinds = Counter(row["kind"] for row in mine if row["between"] == "undo")
        wrong = sum(row["between"] in ("images", "replay") for row in mine)
        before, after = (t.get(name, Counter()).total() for t in (self._before, self._after))
        done = kinds["insert"], kinds["update"], kinds["delete"]
        return ProvedTable(name, before, after, *done, self._as_logged.get(name), wrong)


def _play(log: Streams, log_version: str, stage: Stage, without: Sequence[Range]) -> Played:
    """Play what the log was opened with, then the log, on the server."""
    if log.options.schema is not None:
        text = read_schema_text(log.options.schema)
        stage.make_accounts(definers(text))
        stage.load(ScriptStatements(text))
    with tempfile.TemporaryFile() as relay:
        version = version_number(stage.version)
        logged = version_tuple(log_version) >= CASCADES_LOGGED
        played = write_relay_log(log.carriers, relay, version, without, cascades_logged=logged)
        stage.make_accounts(played.definers)
        relay.seek(0)
        try:
            stage.play(relay, played.size)
        except NotPlayedError as exc:
            base = _BASE if exc.code in _NOT_THERE else ""
            why = f"MySQL {stage.version} cannot play the log ({played.place(exc.at)}): {exc}"
            raise ServerError(f"{why}{base}", code=exc.code) from exc
    return played


def _notes(played: Played, log_version: str, server: str) -> Iterator[str]:
    if not log_version.startswith(server):
        yield f"the log is of MySQL {printable(log_version)}, the server was {server}"
    count = len(played.left_out)
    if count:
        listed = "; ".join(played.left_out[:_LISTED])
        more = "; and more" if count > _LISTED else ""
        yield f"not played, since not on data or tables: {count}, {listed}{more}"


def _tables(stage: Stage) -> tuple[dict[TableId, Texts], dict[TableId, TableDefinition]]:
    """The rows of the server's tables, and these."""
    rows = dict[TableId, "Texts"]()
    with ServerTables(stage.settings, lock="held") as found:
        for name in found.definitions:
            rows[name] = Counter(
                text
                for batch in found.batches(name, {})
                for part in state_rows(pa.Table.from_batches([batch]))
                for text in part["values"].to_pylist()
            )
        return rows, found.definitions


def _unlike_the_log(
    log: Streams, tables: Mapping[TableId, Texts]
) -> Iterator[tuple[TableId, list[Pair] | None]]:
    """For each table of the log's states where the server differs; None: not determined."""
    for state in TableStates(log, None):
        if not state.rows_determined:
            yield state.table, None
            continue
        there = tables.get(state.table, Counter())
        known, partial = Counter[str](), list["Row"]()
        for batch in state.batches():
            for text, names in zip(*(c.to_pylist() for c in batch.columns), strict=True):
                if names == "[]":
                    known[text] += 1
                else:
                    unknown = json.loads(names)
                    row = json.loads(text)
                    partial.append({c: v for c, v in row.items() if c not in unknown})
        one = [json.loads(text) for text in (known - there).elements()]
        other = [json.loads(text) for text in (there - known).elements()]
        pairs = paired([*one, *partial], other, state.key)
        yield state.table, [pair for pair in pairs if not _agree(*pair)]


def _agree(row: Row | None, other: Row | None) -> bool:
    """Whether two rows agree in the columns that the first one has."""
    return row is not None and other is not None and row.items() <= other.items()


def _undone(plans: Plans) -> Undone:
    """The changes that plans undo, by transaction."""
    found: dict[int | None, set[int]] = {}
    for chunk in plans.chunks():
        for _, made in chunk:
            kept = made.changes.filter(made.refused.is_null())
            if kept.num_rows:
                for tx, seq in zip(kept["tx"].to_pylist(), kept["seq"].to_pylist(), strict=True):
                    found.setdefault(tx, set()).add(seq)
    return found


def _whole_transactions(log: Streams, undone: Undone) -> list[Range] | None:
    """Where the undone transactions are in the log; None if one is undone only in part."""
    names = ["tx", "file", "pos", "end_file", "end_pos", "xa", "format", "rows"]
    found = []
    for row in log.transaction_table().select(names).to_pylist():
        seqs = undone.get(row["tx"])
        if seqs is None:
            continue
        plain = row["xa"] is None and row["format"] == "row" and row["file"] == row["end_file"]
        if not plain or len(seqs) != row["rows"]:
            return None
        found.append((row["file"], row["pos"], row["end_pos"]))
    return found if len(found) == len(undone) else None


def _carried(log: Streams, name: TableId, images: Reversed, undone: Undone) -> set[str]:
    """The rows, by key, that undone changes and later ones touched.

    In a replay, later images with all columns bring back what was undone.
    """
    seqs = np.array(sorted(seq for some in undone.values() for seq in some), np.int64)
    found = set[str]()
    for each in log.read_batches(log.reading(), Filters(tables=(TableName(*name),))):
        at = np.asarray(each.batch["seq"])
        others = each.batch.filter((at > seqs[0]) & ~np.isin(at, seqs))
        found |= images.keys_of(name, others) if others.num_rows else set()
    return found & images.touched.get(name, set())
