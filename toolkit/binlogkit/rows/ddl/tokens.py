"""Tokens of one statement, and a reader that walks over them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NoReturn, TypeVar

from binlogkit.errors import SchemaError, printable
from binlogkit.limits import limit, over
from binlogkit.rows.ddl.lexemes import Lexeme, cut, ordinary
from binlogkit.rows.ddl.scan import pieces
from binlogkit.rows.ddl.session import Session, SqlMode

_T = TypeVar("_T")


def read(sql: str, session: Session) -> Reader:
    """A reader over the tokens of ``sql``, which ``session`` wrote.

    SchemaError: an open quote, a text over the limits STATEMENT and WORDS, or what the tokenizer
    cannot cut.
    """
    if len(sql) > (most := limit("STATEMENT")):
        what = f"the statement is longer than {most} characters"
        raise SchemaError(over("STATEMENT", what))
    text = _bounded(sql, session)
    lexemes = ordinary(text)
    if lexemes is None:
        ansi = bool(session.mode & SqlMode.ANSI_QUOTES)
        bare = bool(session.mode & SqlMode.NO_BACKSLASH_ESCAPES)
        lexemes = cut(text, ansi_quotes=ansi, no_escapes=bare)
    return Reader(lexemes, session)


_ABOUT_A_TOKEN = re.compile(r"[\w$]+|[^\s\w$]")


def _bounded(sql: str, session: Session) -> str:
    """``sql`` without comments; SchemaError when it has more tokens than are read."""
    kept: list[str] = []
    tokens, most = 0, limit("WORDS")
    for kind, text in pieces(sql, session.mode, session.version):
        tokens += 1 if kind == "quoted" else sum(1 for _ in _ABOUT_A_TOKEN.finditer(text))
        if tokens > most:
            raise SchemaError(over("WORDS", f"the statement has more than {most} words and signs"))
        kept.append(text)
    return "".join(kept)


class Reader:
    """A position in a list of tokens; every method either moves on or raises SchemaError.

    ``session``: what the statement is read under.
    """

    def __init__(self, tokens: list[Lexeme], session: Session) -> None:
        self.session = session
        self._tokens = tokens
        self._at = 0

    def rewind(self) -> None:
        """Go back to the first token."""
        self._at = 0

    def moved_over(self, move: Callable[[Reader], None]) -> tuple[Lexeme, ...]:
        """The tokens that ``move`` moves over."""
        start = self._at
        move(self)
        return tuple(self._tokens[start : self._at])

    @property
    def done(self) -> bool:
        """Whether nothing is left (a closing semicolon counts as nothing)."""
        return self._at >= len(self._tokens) or (
            self._at == len(self._tokens) - 1 and self._tokens[-1].word == ";"
        )

    def peek(self, ahead: int = 0) -> Lexeme:
        """The token ``ahead`` of the position; an empty one after the end."""
        index = self._at + ahead
        return self._tokens[index] if index < len(self._tokens) else _END

    def sees(self, *words: str) -> bool:
        """Whether the next tokens are these words or signs."""
        tokens = self._tokens[self._at : self._at + len(words)]
        if len(words) == 1:  # most are
            return bool(tokens) and tokens[0].word == words[0]
        return len(tokens) == len(words) and all(
            t.word == w for t, w in zip(tokens, words, strict=True)
        )

    def sees_any(self, words: frozenset[str]) -> bool:
        """Whether the next token is one of these words or signs."""
        return self.peek().word in words

    def take(self) -> Lexeme:
        """The next token, whatever it is."""
        if self.done:
            self.fail("it ends too early")
        token = self._tokens[self._at]
        self._at += 1
        return token

    def accept(self, *words: str) -> bool:
        """Move over these words if they are next."""
        if self.sees(*words):
            self._at += len(words)
            return True
        return False

    def accept_any(self, *words: str) -> str | None:
        """Move over one of these words if it is next, and say which."""
        word = self.peek().word
        if word and word in words:
            self._at += 1
            return word
        return None

    def expect(self, *words: str) -> None:
        """Move over these words."""
        if not self.accept(*words):
            self.fail(f"{' '.join(words)} expected")

    def identifier(self) -> str:
        """An identifier, quoted or not."""
        token = self.peek()
        if token.kind not in ("word", "name") or not token.text:
            self.fail("a name expected")
        self._at += 1
        return token.text

    def qualified(self) -> tuple[str | None, str]:
        """``db.table`` or ``table``, the database None when it is not named."""
        if self.accept("."):
            return None, self.identifier()
        first = self.identifier()
        if self.accept("."):
            return first, self.identifier()
        return None, first

    def column(self) -> str:
        """A column's name where one is defined: up to 5.7 its table's may stand before it, as in
        ``t.c``, ``db.t.c`` and ``.c`` (``field_ident`` in ``sql/sql_yacc.yy``)."""
        if not self.sees("."):
            name = self.identifier()
            if not self.sees("."):
                return name
        for _ in range(2):
            if self.accept("."):
                name = self.identifier()
        return name

    def separated(self, read_one: Callable[[Reader], _T]) -> list[_T]:
        """One or more of something with commas between."""
        found = [read_one(self)]
        while self.accept(","):
            found.append(read_one(self))
        return found

    def listed(self, read_one: Callable[[Reader], _T]) -> list[_T]:
        """One or more of something with commas between, in parentheses."""
        self.expect("(")
        found = self.separated(read_one)
        self.expect(")")
        return found

    def number(self) -> int:
        """A non-negative integer."""
        token = self.peek()
        if token.kind != "number" or not token.text.isdecimal() or len(token.text) > 20:
            self.fail("a number expected")
        self._at += 1
        return int(token.text)

    def text_value(self) -> str:
        """A name or a string, as options take them (``CHARACTER SET 'utf8'``)."""
        token = self.peek()
        if token.kind not in ("word", "name", "string"):
            self.fail("a name or text expected")
        self._at += 1
        return token.text

    def skip_parentheses(self) -> None:
        """Move over a parenthesised part with everything in it."""
        self.expect("(")
        depth = 1
        while depth:
            word = self.take().word
            if word == "(":
                depth += 1
            elif word == ")":
                depth -= 1

    def skip_until(self, *words: str) -> None:
        """Move to the first of these words or signs outside of parentheses, or to the end."""
        while not self.done and self.peek().word not in words:
            if self.sees("("):
                self.skip_parentheses()
            elif self.sees(")"):
                return
            else:
                self._at += 1

    def fail(self, what: str) -> NoReturn:
        """SchemaError that names the place."""
        token = self.peek()
        near = f" near '{printable(token.text[:40])}'" if token is not _END else " at its end"
        raise SchemaError(f"the statement is not understood{near}: {what}")


_END = Lexeme("end", "", "")
