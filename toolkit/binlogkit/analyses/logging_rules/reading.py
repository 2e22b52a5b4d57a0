"""A statement's text -> what the rules ask of it, through views, triggers and functions.

``sql/sp_head.cc`` marks a statement unsafe that uses an unsafe routine, trigger or view
(``propagate_attributes``), and its tables are the statement's own.
CALL is unrolled (unrolling.py).
"""

from __future__ import annotations

from dataclasses import replace

from binlogkit.analyses.logging_rules.bodies import new_columns, parts
from binlogkit.analyses.logging_rules.clauses import (
    at_depth,
    before_query,
    created,
    depths,
    engine_in,
    first_verb,
    place_of,
    query_at,
    read_part,
    targets,
    text_of,
)
from binlogkit.analyses.logging_rules.columns import specified_columns
from binlogkit.analyses.logging_rules.definitions import (
    Definitions,
    Routine,
    Tokens,
    elements,
    qualified,
    tokens_of,
)
from binlogkit.analyses.logging_rules.engines import engine_of
from binlogkit.analyses.logging_rules.model import EVALUATED, Invoked, Settings, Statement, TableUse
from binlogkit.analyses.logging_rules.references import Written, references
from binlogkit.analyses.logging_rules.tables import KINDS, NamedTables
from binlogkit.constants import TableId
from binlogkit.errors import SchemaError
from binlogkit.rows.ddl.written import written_tables
from binlogkit.rows.schema import ForeignKey

_WRITING = ("insert", "replace", "update", "delete", "load")
#: The events of which a statement may call triggers.
_EVENTS = {
    "insert": {"insert"}, "replace": {"insert", "delete"}, "update": {"update"},
    "delete": {"delete"}, "load": {"insert"},
}  # fmt: skip


#: From this version on the server itself does what foreign keys say.
_CASCADES_LOGGED = 90600


def _cascading(key: ForeignKey, events: set[str]) -> set[str]:
    """How changes of a parent change the child."""
    found = set()
    if "delete" in events and key.on_delete != "NO ACTION":
        found.add("delete" if key.on_delete == "CASCADE" else "update")
    if "update" in events and key.on_update != "NO ACTION":
        found.add("update")
    return found


def read_statement(
    sql: str, definitions: Definitions, settings: Settings, default_db: str = ""
) -> Statement:
    """What a statement does, as the rules ask. SchemaError: its text is not understood."""
    tokens = tokens_of(sql, definitions.version)
    if not tokens:
        raise SchemaError("there is no statement")
    try:
        return _Reading(definitions, settings, default_db).statement(tokens, sql)
    except IndexError as exc:
        raise SchemaError("the statement ends too early") from exc


def read_expression(
    tokens: Tokens, definitions: Definitions, settings: Settings, default_db: str
) -> Statement:
    """What a routine's IF, WHILE, CASE, UNTIL or DECLARE … DEFAULT evaluates."""
    return _Reading(definitions, settings, default_db).expression(tokens, text_of(tokens))


class _Reading:
    """The reading of one statement: what it and all that it invokes use."""

    def __init__(self, definitions: Definitions, settings: Settings, default_db: str) -> None:
        self.definitions, self.settings, self.db = definitions, settings, default_db
        self.tables = NamedTables(definitions, settings, default_db)
        self.uses: dict[TableId, TableUse] = {}
        self.traits: set[str] = set()
        self.triggers: dict[TableId, tuple[str, ...]] = {}
        self.seen: set[object] = set()
        self.joined = False  # the statement's references name what it writes, too
        #: What tables that are written are called in the statement, views of them too.
        self.called: dict[TableId, set[str]] = {}
        self.functions: list[Routine] = []  # those that the statement calls itself
        self.depth = 0
        self.foresees = False

    def statement(self, tokens: Tokens, sql: str) -> Statement:
        """The statement at the top."""
        kind, temporary = self.tables.kind_of(tokens)
        specified: dict[TableId, tuple[str, ...]] = {}
        if kind == "control" and tokens[0].word == "SHOW":
            return self._show(tokens, sql)
        if kind == "create_select":
            self._create_select(tokens, temporary)
        elif kind in (*_WRITING, *EVALUATED):
            written = self._part(tokens, self.db, substatement=False)
            specified = specified_columns(kind, tokens, written, self.definitions, self.called)
            self._defaults(kind, specified)
        dropped = self.tables.dropped(kind, tokens)
        temporaries = dropped if kind == "drop" else ()
        if temporary and kind != "drop":
            temporaries = self._temporaries(kind, tokens)
        self.traits |= self.tables.existence(kind, tokens)
        return Statement(
            kind, tuple(self.uses.values()), temporary, frozenset(self.traits), specified,
            dict(self.triggers), sql, temporaries, dropped,
            self._invoked() if kind in EVALUATED else (), self.db,
        )  # fmt: skip

    def expression(self, tokens: Tokens, sql: str) -> Statement:
        """What is evaluated outside of a statement."""
        self._refer(tokens, self.db, substatement=False)
        return Statement(
            "expression", tuple(self.uses.values()), traits=frozenset(self.traits), text=sql,
            invoked=self._invoked(), db=self.db,
        )  # fmt: skip

    def _show(self, tokens: Tokens, sql: str) -> Statement:
        """SHOW … WHERE evaluates functions; from 5.7 on SHOW STATUS and VARIABLES read tables."""
        made = self.expression(tokens[at_depth(tokens, "WHERE") :], sql)
        if not made.invoked:
            return Statement("control", text=sql, db=self.db)
        words = {token.word for token in tokens[1:3]}
        if words & {"STATUS", "VARIABLES"} and self.definitions.version >= 50700:
            read = replace(self.tables.use_of(("performance_schema", "status")), read=True)
            made = replace(made, uses=(*made.uses, read))
        return made

    def _invoked(self) -> tuple[Invoked, ...]:
        """The functions that the statement calls and that change data."""
        found = []
        for routine in self.functions:
            reading = _Reading(self.definitions, self.settings, routine.name[0])
            reading._invoke(routine.name, routine.body, routine.name[0])
            written = [use for use in reading.uses.values() if use.write and not use.unreplicated]
            if written:
                undone = any(use.engine.transactional for use in written)
                lasting = any(not use.engine.transactional for use in written)
                arguments = bool(routine.arguments)
                found.append(Invoked(*routine.name, arguments, undone, lasting))
        return tuple(found)

    def _temporaries(self, kind: str, tokens: Tokens) -> tuple[TableUse, ...]:
        """The temporary tables that the statement makes, or makes anew."""
        if kind == "create_select":
            return tuple(use for use in self.uses.values() if use.write and use.temporary)
        if kind != "create":  # TRUNCATE, ALTER TABLE
            at = 2 if tokens[1].word == "TABLE" else 1
            return (self.tables.use_of(qualified(tokens, at, self.db)[0]),)
        name, at = created(tokens, self.db)
        liked = self.tables.liked(tokens, at)
        if liked is not None:
            engine = self.tables.use_of(liked).engine
        else:
            engine = engine_of(engine_in(tokens[at:]), self.settings.isolation)
        return (TableUse(*name, engine, temporary=True),)

    def _create_select(self, tokens: Tokens, temporary: bool) -> None:
        name, at = created(tokens, self.db)
        query = query_at(tokens)
        assert query is not None
        head = [token.word for token in tokens[at:query]]
        engine = engine_in(tokens[at:query])
        self.uses[name] = TableUse(
            *name, engine_of(engine, self.settings.isolation), write=True, temporary=temporary,
            auto_increment="AUTO_INCREMENT" in [
                token.word for element in elements(tokens, at) for token in element
            ],
        )  # fmt: skip
        self.traits.add("query")
        for trait in ("IGNORE", "REPLACE"):
            if trait in head:
                self.traits.add(trait.lower())
        self._refer(tokens[query:], self.db, substatement=False)

    def _part(self, tokens: Tokens, db: str, *, substatement: bool) -> list[TableId]:
        """A statement, at the top or invoked: its tables, traits and triggers; what it writes."""
        verb = first_verb(tokens) if tokens[0].word == "WITH" else tokens[0].word
        kind = KINDS.get(verb, "")
        written: list[TableId] = []
        if kind in _WRITING:
            names = written_tables(text_of(tokens), db, version=self.definitions.version)
            if names is None:
                raise SchemaError("the tables that it writes are not understood")
            written = []
            for one in names:
                for name in self._bases(one, db):
                    self.called.setdefault(name, set()).update((name[1].lower(), one[1].lower()))
                    written.append(name)
            for name in written:
                self._use(name, write=True, substatement=substatement)
            self._modify(kind, tokens, substatement)
            events = set(_EVENTS[kind]) | ({"update"} if self._updates(tokens) else set())
            if kind == "load" and any(token.word == "REPLACE" for token in tokens):
                events.add("delete")
            for name in self._with_triggers(kind, tokens, written, db):
                self._fire(name, events)
                if self.definitions.version >= _CASCADES_LOGGED:
                    self._follow(name, events)
        self.joined = kind in ("update", "delete", "load")
        body, joins = read_part(kind, tokens)
        self._refer(body, db, substatement=substatement, joins=joins)
        if kind == "call":
            self._procedure(tokens, db, substatement=substatement)
        if kind in ("update", "delete"):
            self._self_joins(kind, tokens, references(body, joins=joins).tables, db)
        return written

    def _self_joins(self, kind: str, tokens: Tokens, joined: list[Written], db: str) -> None:
        """A table that stands in the join more often than it is written is read, too."""
        bases = [name for one in joined for name in self._bases(one, db)]
        if len(bases) > targets(kind, tokens):
            for name in {name for name in bases if bases.count(name) > 1}:
                self.uses[name] = replace(self.uses[name], read=True)

    def _with_triggers(
        self, kind: str, tokens: Tokens, written: list[TableId], db: str
    ) -> list[TableId]:
        """The tables whose triggers the server opens: of UPDATE all that it joins."""
        if kind != "update":
            return written
        joined = references(tokens[1 : at_depth(tokens, "SET")], joins=True).tables
        bases = [name for one in joined for name in self._bases(one, db)]
        return list(dict.fromkeys((*written, *bases)))

    def _updates(self, tokens: Tokens) -> bool:
        return place_of(tokens, "ON", "DUPLICATE", "KEY", "UPDATE") is not None

    def _modify(self, kind: str, tokens: Tokens, substatement: bool) -> None:
        words = [token.word for token in tokens[:4]]
        query = (
            kind in ("insert", "replace")
            and any(
                token.word in ("SELECT", "TABLE") and depth <= 1
                for token, depth in depths(tokens[1:])
            )
            and not any(
                t.word in ("VALUES", "VALUE", "SET") and d == 0 for t, d in before_query(tokens)
            )
        )
        found = {
            "query": query,
            "ignore": "IGNORE" in words,
            "delayed": "DELAYED" in words,
            "on_duplicate": self._updates(tokens),
            "replace": kind == "load" and any(token.word == "REPLACE" for token in tokens),
        }
        names = {name for name, holds in found.items() if holds}
        if not substatement:
            self.traits |= names
            return
        # What the parser marks in a routine stays marked in what invokes it.
        self.traits |= {f"in:{kind}:{name}" for name in names}

    def _refer(self, tokens: Tokens, db: str, *, substatement: bool, joins: bool = False) -> None:
        found = references(tokens, joins=joins)
        self.traits |= found.traits
        for written in found.tables:
            for name in self._bases(written, db):
                self._use(name, write=False, substatement=substatement)
        for called in found.calls:
            self._call(called, db)

    def _call(self, called: Written, db: str) -> None:
        name = (called[0] or db, called[1].lower())
        routine = self._routine(called, db)
        if routine is None:
            if called[0] is None and called[1].upper() in self.definitions.udfs:
                self.traits.add(f"udf:{called[1]}")
            return
        self.traits.add("function")
        if self.depth == 0:
            self.functions.append(routine)
        self._invoke(("function", name), routine.body, name[0])

    def _procedure(self, tokens: Tokens, db: str, *, substatement: bool) -> None:
        """What a CALL in a trigger or function carries out; and from 8.0 on, where functions are
        called in the arguments, all that the procedure uses counts when they are evaluated."""
        name, at = qualified(tokens, 1, db)
        routine = self.definitions.routines.get(("procedure", (name[0], name[1].lower())))
        arguments = references(tokens[at:]).calls
        called = any(self._routine(one, db) is not None for one in arguments)
        if routine is not None and (substatement or (called and self.definitions.version >= 80000)):
            self.foresees = self.foresees or not substatement
            self._invoke(("procedure", name), routine.body, name[0])

    def _routine(self, called: Written, db: str) -> Routine | None:
        return self.definitions.routines.get(("function", (called[0] or db, called[1].lower())))

    def _fire(self, name: TableId, events: set[str]) -> None:
        for trigger in self.definitions.triggers.values():
            if trigger.table != name or trigger.event not in events:
                continue
            if trigger.time == "BEFORE" and trigger.event != "delete":
                named = dict.fromkeys((*self.triggers.get(name, ()), *new_columns(trigger)))
                self.triggers[name] = tuple(named)
            self._invoke(trigger.name, trigger.body, trigger.table[0])

    def _invoke(self, key: object, body: Tokens, db: str) -> None:
        if key in self.seen:
            return
        self.seen.add(key)
        self.depth += 1
        for part in parts(body):
            self._part(part, db, substatement=True)
        self.depth -= 1

    def _follow(self, name: TableId, events: set[str]) -> None:
        """What foreign keys read and change with a table: from 9.6 on they are sub-statements.

        Triggers of what they change count, too, though 9.7.4 does not carry them out; foreign keys
        of a table to itself do not.
        """
        if ("foreign", name, *sorted(events)) in self.seen:
            return
        self.seen.add(("foreign", name, *sorted(events)))
        catalog = self.definitions.catalog
        table = catalog.table(*name)
        for key in () if table is None or events == {"delete"} else table.foreign:
            if (parent := (key.db or name[0], key.table)) != name:
                self._use(parent, write=False, substatement=True)
        for child in catalog.tables():
            own = (child.db, child.table)
            for key in child.foreign:
                if own != name == (key.db or child.db, key.table) and events != {"insert"}:
                    self._cascade(name, own, _cascading(key, events))

    def _cascade(self, parent: TableId, child: TableId, changes: set[str]) -> None:
        """A parent's changes looked up in a child, or carried on into it."""
        self._use(child, write=bool(changes), substatement=bool(changes))
        if not changes:
            return
        if "update" in changes:  # the child's new reference is looked up
            self._use(parent, write=False, substatement=False)
            self.uses[parent] = replace(self.uses[parent], read=True)
        before, self.foresees = self.foresees, True
        self._fire(child, changes)
        self.foresees = before
        self._follow(child, changes)

    def _bases(self, written: Written, db: str) -> list[TableId]:
        """The tables that a name stands for: itself, or those of a view."""
        name = (written[0] or db, written[1])
        view = self.definitions.views.get(name)
        if view is None or self.tables.temporary(name):
            return [name]
        if ("view", name) in self.seen:
            return []
        self.seen.add(("view", name))
        try:
            found = references(view)
            self.traits |= found.traits
            for called in found.calls:
                self._call(called, name[0])
            return [base for one in found.tables for base in self._bases(one, name[0])]
        finally:
            self.seen.discard(("view", name))

    def _use(self, name: TableId, *, write: bool, substatement: bool) -> None:
        known = self.uses.get(name)
        if known is None:
            known = replace(self.tables.use_of(name), foreseen=self.foresees)
        self.uses[name] = replace(
            known,
            write=known.write or write,
            read=known.read or not (write or (known.write and self.joined)),
            view=known.view or (write and len(self.called.get(name, ())) > 1),
            substatement=known.substatement or (substatement and write),
            foreseen=known.foreseen and self.foresees,
        )

    def _defaults(self, kind: str, specified: dict[TableId, tuple[str, ...]]) -> None:
        """What a default that is used calls is as if the statement called it."""
        if kind not in ("insert", "replace", "load"):
            return
        for name, columns in specified.items():
            given = {column.lower() for column in columns}
            for column, function in self.tables.unsafe_defaults(name).items():
                if column.lower() not in given:
                    self.traits.add(f"function:{function}")
