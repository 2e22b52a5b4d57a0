"""Tokens of one statement, and a reader that walks over them.

sqlglot's MySQL tokenizer does the cutting, with its keyword table taken out: which word is a
keyword is a matter of place in MySQL's grammar, so every unquoted word stays a word here. The
parser above it is not used: it takes only part of MySQL's DDL (NATIONAL VARCHAR, SERIAL, CONVERT
TO, partition clauses … fail or come back opaque) and recurses; one way of reading for every
statement is easier to trust than two.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar, NoReturn

from sqlglot.dialects.mysql import MySQL
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from binlogkit.errors import SchemaError, printable
from binlogkit.limits import limit, over
from binlogkit.rows.ddl.modes import SqlMode
from binlogkit.rows.ddl.scan import pieces

__all__ = ["Lexeme", "Reader", "read"]


class _Words(MySQL.Tokenizer):
    KEYWORDS: ClassVar[dict[str, TokenType]] = {}
    COMMANDS: ClassVar[set[TokenType]] = set()


class _AnsiWords(_Words):
    QUOTES: ClassVar[list[tuple[str, str] | str]] = ["'"]
    IDENTIFIERS: ClassVar[list[str | tuple[str, str]]] = ["`", '"']
    STRING_ESCAPES: ClassVar[list[str]] = ["'", "\\"]


class _PlainWords(_Words):
    STRING_ESCAPES: ClassVar[list[str]] = ["'", '"']


class _AnsiPlainWords(_AnsiWords):
    STRING_ESCAPES: ClassVar[list[str]] = ["'"]


_TOKENIZERS: dict[tuple[bool, bool], type[MySQL.Tokenizer]] = {
    (False, False): _Words,
    (True, False): _AnsiWords,
    (False, True): _PlainWords,
    (True, True): _AnsiPlainWords,
}

_STRINGS = {TokenType.STRING: "string", TokenType.NATIONAL_STRING: "string"}
_KINDS = {
    **_STRINGS,
    TokenType.IDENTIFIER: "name",
    TokenType.NUMBER: "number",
    TokenType.HEX_STRING: "hex",
    TokenType.BIT_STRING: "bits",
}


@dataclass(frozen=True, slots=True)
class Lexeme:
    """One token. ``kind``: word, name (quoted), string, number, hex, bits, or sign.

    ``text``: without quotes, escapes resolved; ``word``: upper case for an unquoted word or a
    sign, else empty.
    """

    kind: str
    text: str
    word: str


def read(sql: str, mode: SqlMode, version: int) -> Reader:
    """A reader over the tokens of ``sql``.

    SchemaError: an open quote, a text over the limits STATEMENT and WORDS, or what the tokenizer
    cannot cut.
    """
    if len(sql) > (most := limit("STATEMENT")):
        what = f"the statement is longer than {most} characters"
        raise SchemaError(over("STATEMENT", what))
    text = _bounded(sql, mode, version)
    ansi = bool(mode & SqlMode.ANSI_QUOTES)
    bare = bool(mode & SqlMode.NO_BACKSLASH_ESCAPES)
    try:
        tokens = _TOKENIZERS[ansi, bare](dialect="mysql").tokenize(text)
    except SqlglotError as exc:
        raise SchemaError("the statement cannot be cut into tokens") from exc
    return Reader(_joined([_lexeme(token, text) for token in tokens], tokens))


_ABOUT_A_TOKEN = re.compile(r"[\w$]+|[^\s\w$]")


def _bounded(sql: str, mode: SqlMode, version: int) -> str:
    """``sql`` without comments; SchemaError when it has more tokens than are read."""
    kept: list[str] = []
    tokens, most = 0, limit("WORDS")
    for kind, text, _ in pieces(sql, mode, version):
        tokens += 1 if kind == "quoted" else sum(1 for _ in _ABOUT_A_TOKEN.finditer(text))
        if tokens > most:
            raise SchemaError(over("WORDS", f"the statement has more than {most} words and signs"))
        kept.append(text)
    return "".join(kept)


_NUMBER = re.compile(r"\d*\.?\d*(?:[eE][+-]?\d+)?")


# Manual, "Hexadecimal Literals": "a leading 0x is case-sensitive"; likewise 0b.
_LITERAL = re.compile(r"0x[0-9a-fA-F]+|0b[01]+")


def _joined(lexemes: list[Lexeme], tokens: list[Token]) -> list[Lexeme]:
    """Put together what is one word in MySQL but not in sqlglot: ``1$a``, ``0E$a``."""
    result: list[Lexeme] = []
    for index, lexeme in enumerate(lexemes):
        if lexeme.kind == "word" and index:
            before, after = tokens[index - 1], tokens[index]
            if before.token_type is TokenType.NUMBER and before.end + 1 == after.start:
                result[-1] = Lexeme("word", result[-1].text + lexeme.text, "")
                continue
        result.append(lexeme)
    return result


def _lexeme(token: Token, text: str) -> Lexeme:
    kind = _KINDS.get(token.token_type)
    if kind == "name" and text[token.start] not in '`"':
        kind = "word"  # 0xzz, 0b12: words that begin like a number
        return Lexeme(kind, text[token.start : token.end + 1], "")
    written = text[token.start : token.end + 1]
    if kind in ("hex", "bits") and written[0] == "0" and not _LITERAL.fullmatch(written):
        return Lexeme("word", written, "")  # 0X_c: only a lower-case 0x or 0b begins a literal
    if kind == "number" and not _NUMBER.fullmatch(token.text):
        kind = "word"  # 2e, 5days
    if kind is not None:
        return Lexeme(kind, token.text, "")
    if token.token_type is TokenType.VAR or token.text[:1].isalnum():
        return Lexeme("word", token.text, token.text.upper())
    return Lexeme("sign", token.text, token.text)


class Reader:
    """A position in a list of tokens; every method either moves on or raises SchemaError."""

    def __init__(self, tokens: list[Lexeme]) -> None:
        self._tokens = tokens
        self._at = 0

    def rewind(self) -> None:
        """Go back to the first token."""
        self._at = 0

    @property
    def done(self) -> bool:
        """Whether nothing is left (a closing semicolon counts as nothing)."""
        return self._at >= len(self._tokens) or (
            self._at == len(self._tokens) - 1 and self._tokens[-1].word == ";"
        )

    def peek(self, ahead: int = 0) -> Lexeme:
        """The token ``ahead`` of the position; an empty one behind the end."""
        index = self._at + ahead
        return self._tokens[index] if index < len(self._tokens) else _END

    def sees(self, *words: str) -> bool:
        """Whether the next tokens are these words or signs."""
        return all(self.peek(i).word == word for i, word in enumerate(words))

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
