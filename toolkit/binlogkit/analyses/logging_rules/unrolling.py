"""CALL and EXECUTE -> the statements that a server decides one by one.

CALL is unrolled: each statement of the procedure is decided, and logged, by itself; of a prepared
statement its own text is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from binlogkit.analyses.logging_rules.bodies import (
    assignments,
    cursor,
    evaluated,
    local_names,
    parts,
)
from binlogkit.analyses.logging_rules.clauses import text_of
from binlogkit.analyses.logging_rules.definitions import Definitions, Tokens, qualified, tokens_of
from binlogkit.analyses.logging_rules.model import Settings, Statement
from binlogkit.analyses.logging_rules.reading import read_expression, read_statement
from binlogkit.analyses.logging_rules.references import references
from binlogkit.analyses.logging_rules.tables import KINDS
from binlogkit.analyses.logging_rules.texts import UNKNOWN
from binlogkit.constants import TableId
from binlogkit.errors import SchemaError
from binlogkit.rows.ddl.lexemes import Lexeme

_AUTOCOMMIT = "AUTOCOMMIT"
#: Statements of a routine after which others find something else.
_DEFINING = ("PREPARE", "CREATE", "DROP", "ALTER", "RENAME")
_DEEPEST = 32  # routines that call each other


def unrolled(
    sql: str, definitions: Definitions, settings: Settings, default_db: str = ""
) -> list[Statement]:
    """The statements that are decided one by one: of a CALL those of its procedure, in their order
    and each once, whichever way its conditions and loops go; of EXECUTE the prepared one; else the
    statement itself. ``definitions`` gets what a procedure prepares and defines."""
    found = _unrolled(sql, definitions, settings, default_db, 0)
    return [replace(one, continues=number > 0) for number, one in enumerate(found)]


def _unrolled(
    sql: str, definitions: Definitions, settings: Settings, default_db: str, depth: int
) -> Iterator[Statement]:
    tokens = tokens_of(sql, definitions.version)
    verb = tokens[0].word if depth <= _DEEPEST and len(tokens) > 1 else ""
    if verb == "CALL":
        yield from _called(tokens, definitions, settings, default_db, depth)
    elif verb == "EXECUTE":
        text = definitions.prepared.get(tokens[1].text.lower())
        if text is None:
            raise SchemaError(f"no text of the prepared statement {tokens[1].text} is known")
        made = _unrolled(text, definitions, settings, default_db, depth + 1)
        logged = _logged(tokens_of(text, definitions.version), set()) if "?" in text else text
        made = (replace(one, logged=one.logged or logged) for one in made)
        which = ("", tokens[1].text.lower())
        yield from (_placed(one, "EXECUTE", which, definitions) for one in made)
    else:
        yield read_statement(sql, definitions, settings, default_db)


def _placed(one: Statement, which: str, read: TableId, definitions: Definitions) -> Statement:
    """The same with its place: the server reads its text again when what it uses was changed."""
    if one.place is not None:
        return one
    names = (read, *((use.db, use.table) for use in one.uses))
    state = tuple(definitions.changes.get(name, 0) for name in names)
    shadowed = tuple(use.temporary for use in one.uses)
    rereads = 0 if which == "EXECUTE" else definitions.rereads
    place = (f"{which} {read[0]}.{read[1]}", (rereads, (definitions.flushes, state, shadowed)))
    return replace(one, place=place)


def _called(
    tokens: Tokens, definitions: Definitions, settings: Settings, default_db: str, depth: int
) -> Iterator[Statement]:
    """What evaluates the arguments, and the statements of the procedure."""
    name, at = qualified(tokens, 1, default_db)
    routine = definitions.routines.get(("procedure", (name[0], name[1].lower())))
    if routine is None:
        raise SchemaError(f"the procedure {name[0]}.{name[1]} is not defined")
    arguments = references(tokens[at:])
    if arguments.calls or arguments.tables or arguments.traits:
        yield read_statement(text_of(tokens), definitions, settings, default_db)
    local = local_names(routine.body) | {one.lower() for one in routine.arguments}
    cursors: dict[str, Tokens] = {}
    for number, part in enumerate(parts(routine.body)):
        if (made := cursor(part)) is not None:
            cursors[made[0]] = made[1]
        elif part[0].word == "OPEN" and len(part) > 1:
            part = cursors.get(part[1].text.lower(), ())
        pieces = assignments(part) if part and part[0].word == "SET" else (part,)
        for second, piece in enumerate(filter(None, pieces)):
            place = f"CALL {number}" + f".{second}" * bool(second)
            for one in _of_routine(piece, definitions, settings, name[0], depth):
                one = replace(one, logged=one.logged or _logged(piece, local))
                if one.kind != "set" or one.uses or one.traits or _AUTOCOMMIT in one.text.upper():
                    yield _placed(one, place, name, definitions)
            if piece[0].word in _DEFINING:
                definitions.apply(text_of(piece), name[0])


def _of_routine(
    part: Tokens, definitions: Definitions, settings: Settings, db: str, depth: int
) -> Iterator[Statement]:
    """The statements of one part of a procedure."""
    condition = evaluated(part)
    if condition:
        made = read_expression(condition, definitions, settings, db)
        if made.uses or made.traits:
            yield made
    elif part[0].word in KINDS and part[0].word not in ("(", "VALUES", "TABLE"):
        yield from _unrolled(text_of(part), definitions, settings, db, depth + 1)
    elif part[0].word == "WITH":
        yield read_statement(text_of(part), definitions, settings, db)


def _logged(part: Tokens, local: set[str]) -> str:
    """The text of a statement of a routine with its variables' values, which nobody knows here."""
    return text_of(
        tuple(
            Lexeme("sign", UNKNOWN, UNKNOWN) if _is_local(part, at, local) else token
            for at, token in enumerate(part)
        )
    )


def _is_local(part: Tokens, at: int, local: set[str]) -> bool:
    named = part[at].kind in ("word", "name") and part[at].text.lower() in local
    return part[at].word == "?" or (named and not (at and part[at - 1].word in (".", "@")))
