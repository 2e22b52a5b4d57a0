"""What the tokens of one statement refer to: tables, functions, variables, LIMIT.

Nothing is parsed beyond what distinguishes these: after FROM, JOIN and the like stands a table.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from binlogkit.analyses.logging_rules.definitions import Tokens

LISTS: dict[str, frozenset[str]] = {
    name: frozenset(members)
    for name, members in tomllib.loads(
        Path(__file__).with_name("unsafe.toml").read_text("utf-8")
    ).items()
}
_UNSAFE = LISTS["documented"] | LISTS["others"]
Written = tuple[str | None, str]

_END = frozenset(
    (
        "WHERE", "SET", "GROUP", "HAVING", "ORDER", "LIMIT", "UNION", "EXCEPT", "INTERSECT", "FOR",
        "WINDOW", "INTO", "LOCK", "PROCEDURE", "SELECT", "VALUES", ";",
    )
)  # fmt: skip
_QUERY = ("SELECT", "WITH", "VALUES", "TABLE", "(")
#: Words before a parenthesis that are no function's name.
_NO_CALL = frozenset(
    (
        "IN", "AND", "OR", "NOT", "VALUES", "VALUE", "EXISTS", "SELECT", "FROM", "JOIN", "ON",
        "USING", "AS", "SET", "WHERE", "INTO", "ANY", "ALL", "SOME", "THEN", "ELSE", "WHEN", "CASE",
        "IF", "XOR", "DIV", "MOD", "LIKE", "REGEXP", "BETWEEN", "IS", "RETURN", "DO", "UNION", "BY",
        "KEY", "PARTITION", "OVER",
    )
)  # fmt: skip


@dataclass(slots=True)
class References:
    """``tables``: those that are read or joined, as they are written; ``calls``: functions that are
    called, with their database where it is written, inner ones first; ``traits``: of
    :class:`Statement`."""

    tables: list[Written] = field(default_factory=list)
    calls: list[Written] = field(default_factory=list)
    traits: set[str] = field(default_factory=set)
    begun: Written | None = None  # a function whose parenthesis is next


@dataclass(slots=True)
class _Level:
    """A pair of parentheses: a function's (``called``), or one in which tables stand, or the next
    is one."""

    call: bool = False
    tables: bool = False
    expected: bool = False
    called: Written | None = None


def references(tokens: Tokens, *, joins: bool = False) -> References:
    """What a statement refers to; ``joins``: it begins with tables (UPDATE t1, t2 SET …)."""
    found = References()
    common = set(_common(tokens))
    levels = [_Level(tables=joins, expected=joins)]
    at = 0
    while at < len(tokens):
        at = _step(tokens, at, levels, found, common)
    found.calls += [level.called for level in reversed(levels) if level.called is not None]
    return found


def _step(
    tokens: Tokens, at: int, levels: list[_Level], found: References, common: set[str]
) -> int:
    token, level = tokens[at], levels[-1]
    before = tokens[at - 1] if at else None
    after = tokens[at + 1].word if at + 1 < len(tokens) else ""
    word = token.word
    if word == "(":
        called = before is not None and (
            before.kind == "name" or (before.kind == "word" and before.word not in _NO_CALL)
        )
        inside = level.tables and level.expected and after not in ("SELECT", "WITH", "VALUES")
        function = called and after not in ("SELECT", "WITH")
        levels.append(_Level(function, inside, inside, found.begun))
        level.expected, found.begun = False, None
    elif word == ")":
        if len(levels) > 1 and (ended := levels.pop().called) is not None:
            found.calls.append(ended)
    elif word == "@":
        return _variable(tokens, at, found)
    elif (word == "FROM" and not level.call) or _update_of_with(tokens, at, levels):
        level.tables = level.expected = True
    elif word in ("JOIN", "STRAIGHT_JOIN", ",") and level.tables:
        level.expected = True
    elif word in _END:
        _ending(tokens, at, levels, found)
    elif level.expected and token.kind in ("word", "name") and word != "LATERAL":
        return _table(tokens, at, level, found, common)
    elif token.kind in ("word", "name"):
        _function(tokens, at, found)
    return at + 1


def _update_of_with(tokens: Tokens, at: int, levels: list[_Level]) -> bool:
    """Whether WITH's UPDATE stands here, which tables follow."""
    if tokens[0].word != "WITH" or tokens[at].word != "UPDATE" or len(levels) > 1:
        return False
    return tokens[at - 1].word == ")"


def _ending(tokens: Tokens, at: int, levels: list[_Level], found: References) -> None:
    level, word = levels[-1], tokens[at].word
    level.tables = level.expected = False
    if word == "LIMIT":
        found.traits.add("limit")
    if word == "SELECT":
        level.call = False
    following = [token.word for token in tokens[at + 1 : at + 12]]
    if word == "FOR" and following[:1] in (["UPDATE"], ["SHARE"]):
        if "SKIP" in following:
            found.traits.add("skip_locked")
        if "NOWAIT" in following:
            found.traits.add("nowait")


def _variable(tokens: Tokens, at: int, found: References) -> int:
    """``@name``, ``@@name``, ``@@session.name``; the place after it."""
    if at + 1 < len(tokens) and tokens[at + 1].word != "@":
        return at + 2
    at += 2
    scope = ""
    if at + 1 < len(tokens) and tokens[at + 1].word == ".":
        scope, at = tokens[at].text.lower(), at + 2
    if at < len(tokens):
        name = tokens[at].text.lower()
        if scope == "global" or name not in LISTS["variables"]:
            found.traits.add(f"variable:{name}")
    return at + 1


def _table(tokens: Tokens, at: int, level: _Level, found: References, common: set[str]) -> int:
    level.expected = False
    if at + 1 < len(tokens) and tokens[at + 1].word == "(":
        return at + 1  # JSON_TABLE(…)
    name: Written = (None, tokens[at].text)
    at += 1
    if at + 1 < len(tokens) and tokens[at].word == ".":
        name, at = (name[1], tokens[at + 1].text), at + 2
    if not (name[0] is None and (name[1].lower() in common or name[1].lower() == "dual")):
        found.tables.append(name)
    return at


def _function(tokens: Tokens, at: int, found: References) -> None:
    token = tokens[at]
    called = at + 1 < len(tokens) and tokens[at + 1].word == "("
    if at and tokens[at - 1].word == ".":
        if called and at >= 2:
            found.begun = (tokens[at - 2].text, token.text)
        return
    if called and token.word not in _NO_CALL:
        found.begun = (None, token.text)
        if token.word in _UNSAFE:
            found.traits.add(f"function:{token.word}")
    elif token.word in LISTS["bare"]:
        found.traits.add(f"function:{token.word}")


def _common(tokens: Tokens) -> Iterator[str]:
    """The names of common table expressions."""
    if not any(token.word == "WITH" for token in tokens):
        return
    for at, token in enumerate(tokens[:-2]):
        following = tokens[at + 1].word
        if token.kind in ("word", "name") and following == "AS" and tokens[at + 2].word == "(":
            yield token.text.lower()
        elif following == "(" and token.kind in ("word", "name"):
            end = next((i for i in range(at + 2, len(tokens)) if tokens[i].word in (")", "(")), at)
            if [t.word for t in tokens[end : end + 3]] == [")", "AS", "("]:
                yield token.text.lower()
