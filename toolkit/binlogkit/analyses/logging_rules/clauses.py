"""Where the clauses of a statement are among its tokens; and tokens -> text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from binlogkit.analyses.logging_rules.definitions import Tokens, qualified
from binlogkit.constants import TableId
from binlogkit.rows.ddl.lexemes import Lexeme
from binlogkit.rows.filters import backquoted


def text_of(tokens: Tokens) -> str:
    """A text that gives these tokens again."""
    found: list[str] = []
    for at, token in enumerate(tokens):
        before = tokens[at - 1].word if at else "("
        if not (before in ("(", ".", "@") or token.word in (")", ",", ".")):
            found.append(" ")
        found.append(_written(token))
    return "".join(found)


def _written(token: Lexeme) -> str:
    if token.kind == "string":
        return "'" + token.text.replace("\\", "\\\\").replace("'", "''") + "'"
    if token.kind == "name":
        return backquoted(token.text)
    if token.kind == "hex":
        return f"x'{token.text}'"
    if token.kind == "bits":
        return f"b'{token.text}'"
    return token.text


def depths(tokens: Tokens) -> Iterator[tuple[Lexeme, int]]:
    """Each token with the number of parentheses around it."""
    depth = 0
    for token in tokens:
        depth -= token.word == ")"
        yield token, depth
        depth += token.word == "("


def read_part(kind: str, tokens: Tokens) -> tuple[Tokens, bool]:
    """What follows the names of what is only written, and whether it begins with tables."""
    if tokens[0].word == "WITH":
        return tokens, False
    if kind in ("insert", "replace"):
        return tokens[after_target(tokens) :], False
    if kind == "update":
        at = 1
        while tokens[at].word in ("LOW_PRIORITY", "IGNORE"):
            at += 1
        return tokens[at:], True
    if kind == "delete" and (using := at_depth(tokens, "USING")) < at_depth(tokens, "JOIN"):
        return tokens[using + 1 :], True
    if kind == "call":
        return tokens[qualified(tokens, 1, "")[1] :], False
    if kind == "load":
        return tuple(token for token in tokens if token.word not in ("INTO", "TABLE")), False
    return tokens, False


def at_depth(tokens: Tokens, word: str) -> int:
    """Where a word stands outside of parentheses, else the end."""
    found = (
        i for i, (token, depth) in enumerate(depths(tokens)) if depth == 0 and token.word == word
    )
    return next(found, len(tokens))


def before_query(tokens: Tokens) -> Iterator[tuple[Lexeme, int]]:
    """The tokens outside of parentheses before the statement's SELECT."""
    for token, depth in depths(tokens):
        if token.word in ("SELECT", "TABLE") and depth == 0:
            return
        yield token, depth


def first_verb(tokens: Tokens) -> str:
    """The verb after WITH's tables."""
    for token, depth in depths(tokens):
        if depth == 0 and token.word in ("SELECT", "UPDATE", "DELETE", "INSERT", "REPLACE"):
            return token.word
    return "SELECT"


def query_at(tokens: Tokens) -> int | None:
    """Where the query of CREATE TABLE … SELECT begins."""
    for at, (token, depth) in enumerate(depths(tokens)):
        if at > 2 and depth == 0 and token.word in ("SELECT", "WITH", "VALUES"):
            return at
        if at > 2 and depth == 1 and token.word == "SELECT" and tokens[at - 1].word == "(":
            return at
    return None


def targets(kind: str, tokens: Tokens) -> int:
    """How many of the tables that UPDATE or DELETE joins it writes, by their names or aliases."""
    if kind == "delete":
        start, end = (at_depth(tokens, word) for word in ("FROM", "USING"))
        words = tokens[start:end] if end < len(tokens) and start < end else tokens[:start]
        return 1 + sum(token.word == "," for token in words)
    at = at_depth(tokens, "SET")
    found = {
        tokens[i + 1].text
        for i, (token, depth) in enumerate(depths(tokens[:-2]))
        if i >= at and depth == 0 and token.word in ("SET", ",") and tokens[i + 2].word == "."
    }
    return max(len(found), 1)


def created(tokens: Tokens, db: str) -> tuple[TableId, int]:
    """The table that CREATE TABLE makes, and the place after its name."""
    at = next(i for i, token in enumerate(tokens) if token.word == "TABLE") + 1
    at += 3 if [token.word for token in tokens[at : at + 3]] == ["IF", "NOT", "EXISTS"] else 0
    return qualified(tokens, at, db)


def engine_in(tokens: Tokens) -> str | None:
    """The engine that a table's options name."""
    for at, (token, depth) in enumerate(depths(tokens)):
        if token.word == "ENGINE" and depth == 0:
            return next((one.text for one in tokens[at + 1 : at + 3] if one.word != "="), None)
    return None


def after_target(tokens: Tokens) -> int:
    """The place after the name of the table that INSERT or REPLACE writes."""
    at = 1
    while tokens[at].word in ("LOW_PRIORITY", "DELAYED", "HIGH_PRIORITY", "IGNORE", "INTO"):
        at += 1
    return qualified(tokens, at, "")[1]


def unlogged(words: Sequence[str]) -> bool:
    """Whether a server carries a statement with these first words out without logging it, though
    others that begin like it are logged."""
    first, second = words[0], words[1] if len(words) > 1 else ""
    if first in ("FLUSH", "ANALYZE", "OPTIMIZE", "REPAIR"):
        return (
            second in ("LOCAL", "NO_WRITE_TO_BINLOG", "LOGS")
            or (second in ("BINARY", "RELAY") and "LOGS" in words)
            or (first == "FLUSH" and ("READ" in words or "EXPORT" in words))
        )
    if first in ("CREATE", "ALTER", "DROP"):
        return second in ("SERVER", "RESOURCE", "INSTANCE")
    return first == "LOAD" and second == "INDEX"


def place_of(tokens: Tokens, *words: str) -> int | None:
    """Where these words stand one after the other, None where they do not."""
    size = len(words)
    found = [token.word for token in tokens]
    places = range(len(found) - size + 1)
    return next((at for at in places if tuple(found[at : at + size]) == words), None)
