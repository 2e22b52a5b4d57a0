"""The columns that a statement gives a value, by the table that it writes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from binlogkit.analyses.logging_rules.clauses import after_target, place_of
from binlogkit.analyses.logging_rules.definitions import Definitions, Tokens, elements
from binlogkit.constants import TableId
from binlogkit.rows.schema import TableDefinition


def specified_columns(
    kind: str,
    tokens: Tokens,
    written: Sequence[TableId],
    definitions: Definitions,
    called: Mapping[TableId, Collection[str]],
) -> dict[TableId, tuple[str, ...]]:
    """Of each written table whose definition is known; INSERT without a list names all columns.

    ``called``: the names of the written tables in the statement, their views' too.
    """
    if not written:
        return {}
    tables = {name: found for name in written if (found := definitions.catalog.table(*name))}
    if kind in ("insert", "replace", "load"):
        table = tables.get(written[0])
        return {} if table is None else {written[0]: _inserted(kind, tokens, table)}
    if kind == "update":
        return _updated(tokens, tables, called)
    return {}


def _inserted(kind: str, tokens: Tokens, table: TableDefinition) -> tuple[str, ...]:
    every = tuple(column.name for column in table.columns)
    at = after_target(tokens) if kind != "load" else _loaded_at(tokens)
    given: list[str] = []
    if kind == "load":
        given = [element[-1].text for element in elements(tokens, at) if len(element) == 1]
        given += _assigned(tokens, len(tokens) if at >= len(tokens) else at)
        return tuple(given) if at < len(tokens) and tokens[at].word == "(" else every
    duplicate = place_of(tokens, "ON", "DUPLICATE", "KEY", "UPDATE")
    changed = _assigned(tokens, duplicate, "UPDATE") if duplicate is not None else []
    if at < len(tokens) and tokens[at].word == "(" and tokens[at + 1].word not in ("SELECT", "("):
        return (*(element[-1].text for element in elements(tokens, at) if element), *changed)
    if at < len(tokens) and tokens[at].word == "SET":
        return (*_assigned(tokens[:duplicate], at), *changed)
    if at + 2 < len(tokens) and [t.word for t in tokens[at + 1 : at + 3]] == ["(", ")"]:
        return tuple(changed)  # VALUES ()
    return every


def _loaded_at(tokens: Tokens) -> int:
    """The place after the name of the table that LOAD fills where its columns stand, or the end."""
    at = next(i for i, token in enumerate(tokens) if token.word == "TABLE") + 2
    at += 2 if at < len(tokens) and tokens[at].word == "." else 0
    return next((i for i in range(at, len(tokens)) if tokens[i].word in ("(", "SET")), len(tokens))


def _assigned(tokens: Tokens, at: int, word: str = "SET") -> list[str]:
    """The columns of SET a = 1, b = 2 from a place on; without their tables."""
    return [names[-1] for names in _assignments(tokens, at, word)]


def _assignments(tokens: Tokens, at: int, word: str = "SET") -> list[list[str]]:
    found: list[list[str]] = []
    while at < len(tokens) and tokens[at].word != word:
        at += 1
    depth, expected = 0, True
    for place in range(at + 1, len(tokens)):
        token = tokens[place]
        depth += (token.word == "(") - (token.word == ")")
        if depth == 0 and token.word in ("WHERE", "ORDER", "LIMIT", "ON"):
            break
        if depth == 0 and token.word == ",":
            expected = True
        elif expected and token.kind in ("word", "name"):
            names = [token.text]
            while tokens[place + 1 : place + 2] and tokens[place + 1].word == ".":
                place += 2
                names.append(tokens[place].text)
            found.append(names)
            expected = False
    return found


def _updated(
    tokens: Tokens,
    tables: dict[TableId, TableDefinition],
    called: Mapping[TableId, Collection[str]],
) -> dict[TableId, tuple[str, ...]]:
    found: dict[TableId, list[str]] = {name: [] for name in tables}
    for names in _assignments(tokens, 0):
        for name, table in tables.items():
            known = any(column.name.lower() == names[-1].lower() for column in table.columns)
            if known and (len(names) == 1 or names[-2].lower() in _called(tokens, called[name])):
                found[name].append(names[-1])
    return {name: tuple(columns) for name, columns in found.items()}


def _called(tokens: Tokens, names: Collection[str]) -> set[str]:
    """``names``, and the aliases that they have."""
    found = set(names)
    for at, token in enumerate(tokens[:-1]):
        if token.text.lower() in names and token.kind in ("word", "name"):
            following = at + 1 + (tokens[at + 1].word == "AS")
            if following < len(tokens) and tokens[following].kind in ("word", "name"):
                found.add(tokens[following].text.lower())
    return found
