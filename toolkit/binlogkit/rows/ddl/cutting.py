"""Text of one statement -> its tokens as sqlglot cuts them.

sqlglot's MySQL tokenizer does the cutting, with its keyword table taken out: which word is a
keyword is a matter of place in MySQL's grammar, so every unquoted word stays a word here. The
parser above it is not used: it takes only part of MySQL's DDL (NATIONAL VARCHAR, SERIAL, CONVERT
TO, partition clauses … fail or come back opaque) and recurses; one way of reading for every
statement is easier to trust than two.
"""

from __future__ import annotations

import re
from typing import ClassVar

from sqlglot.dialects.mysql import MySQL
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from binlogkit.errors import SchemaError
from binlogkit.rows.ddl.lexemes import Lexeme

__all__ = ["cut"]


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


def cut(text: str, *, ansi_quotes: bool, no_escapes: bool) -> list[Lexeme]:
    """The tokens of a text without comments. SchemaError: it cannot be cut."""
    try:
        tokens = _TOKENIZERS[ansi_quotes, no_escapes](dialect="mysql").tokenize(text)
    except SqlglotError as exc:
        raise SchemaError("the statement cannot be cut into tokens") from exc
    return _joined([_lexeme(token, text) for token in tokens], tokens)


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
