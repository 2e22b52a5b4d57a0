"""A routine's or trigger's body -> its statements."""

from __future__ import annotations

from collections.abc import Iterator

from binlogkit.analyses.logging_rules.clauses import at_depth, depths
from binlogkit.analyses.logging_rules.definitions import Tokens, Trigger

#: What stands before a statement in a routine's body.
_OPENING = frozenset(("THEN", "ELSE", "DO", "LOOP", "REPEAT", "BEGIN", ";", ":"))
_CONDITIONS = ("IF", "ELSEIF", "WHILE", "UNTIL", "CASE", "WHEN")
_VERBS = frozenset(
    (
        "INSERT", "REPLACE", "UPDATE", "DELETE", "LOAD", "SELECT", "DO", "SET", "CALL", "CREATE",
        "DROP", "ALTER", "TRUNCATE", "WITH", "RETURN", "IF", "WHILE", "CASE", "ELSEIF", "UNTIL",
        "DECLARE", "FETCH", "OPEN", "CLOSE", "COMMIT", "ROLLBACK", "SAVEPOINT", "START", "WHEN",
        "EXECUTE", "PREPARE",
    )
)  # fmt: skip


def parts(body: Tokens) -> Iterator[Tokens]:
    """The statements of a routine's body, one after the other; the conditions of IF, WHILE and CASE
    are parts of their own."""
    begun: int | None = None
    cases = 0  # CASE … END of expressions that are open
    for at, token in enumerate(body):
        if cases or (token.word == "CASE" and not _opens(body, at)):
            cases += (token.word == "CASE" and body[at - 1].word != "END") - (token.word == "END")
            continue
        starts = _opens(body, at) and token.word in _VERBS and not _is_loop_do(body, at)
        if starts or token.word in (";", "THEN", "DO"):
            if begun is not None and at > begun:
                yield body[begun:at]
            begun = at if starts else None
    if begun is not None and begun < len(body):
        yield body[begun:]


def _opens(body: Tokens, at: int) -> bool:
    """Whether a statement may begin here."""
    return at == 0 or body[at - 1].word in _OPENING or _after_handler(body, at)


def assignments(part: Tokens) -> Iterator[Tokens]:
    """Each assignment of SET as a statement of its own, as a routine carries it out."""
    begun = 1
    for at, (token, depth) in enumerate(depths(part)):
        if depth == 0 and token.word == ",":
            yield (part[0], *part[begun:at])
            begun = at + 1
    yield (part[0], *part[begun:])


def local_names(body: Tokens) -> set[str]:
    """The variables that a routine declares."""
    found: set[str] = set()
    for part in parts(body):
        if part[0].word != "DECLARE" or cursor(part) or len(part) < 3:
            continue
        at = 1
        found.add(part[at].text.lower())
        while part[at + 1].word == "," and at + 2 < len(part):
            at += 2
            found.add(part[at].text.lower())
    return found


def cursor(part: Tokens) -> tuple[str, Tokens] | None:
    """A cursor that DECLARE makes, and its query."""
    words = [token.word for token in part[:4]]
    if words[:1] == ["DECLARE"] and words[2:] == ["CURSOR", "FOR"]:
        return part[1].text.lower(), part[4:]
    return None


def evaluated(part: Tokens) -> Tokens:
    """What a part of a routine evaluates that is no statement, empty if it is one."""
    if part[0].word in _CONDITIONS:
        return part[1:]
    if part[0].word == "DECLARE":
        return part[at_depth(part, "DEFAULT") :]
    return ()


def _is_loop_do(body: Tokens, at: int) -> bool:
    """The DO of WHILE … DO, which follows a condition."""
    return body[at].word == "DO" and at > 0 and body[at - 1].word not in _OPENING


def _after_handler(body: Tokens, at: int) -> bool:
    """Whether a HANDLER's statement begins here: after its conditions."""
    words = [token.word for token in body[max(at - 8, 0) : at]]
    return "HANDLER" in words and ";" not in words and "FOR" in words and words[-1] != "FOR"


def new_columns(trigger: Trigger) -> list[str]:
    """The columns that a trigger's body names as NEW.…"""
    body = trigger.body
    return [
        after.text
        for token, dot, after in zip(body, body[1:], body[2:], strict=False)
        if token.word == "NEW" and dot.word == "."
    ]
