"""Text of one statement -> its tokens: by a pattern alone, else as sqlglot cuts them.

Most DDL is made of plain words, names in backticks, plain strings and numbers, of which there is
one way to cut them whatever the SQL mode; sqlglot, which knows the others, takes as long to load
as all that a small log needs besides.

sqlglot's MySQL tokenizer works with its keyword table taken out: which word is a keyword is a
matter of place in MySQL's grammar, so every unquoted word stays a word here. The parser above it
is not used: it takes only part of MySQL's DDL (NATIONAL VARCHAR, SERIAL, CONVERT TO, partition
clauses … fail or come back opaque) and recurses; one way of reading for every statement is easier
to trust than two.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from binlogkit.errors import SchemaError

if TYPE_CHECKING:
    from sqlglot.tokenizer_core import Token

# A word or a number that something else than a space or a sign follows may be part of another
# token (`N'…'`, `1e5`, `1$a`), a quoted text that another quote follows is not at its end.
_TOKEN = re.compile(
    r"""[ \t\r\n]*(?:
    (?P<word>[A-Za-z_][A-Za-z0-9_]*)(?=[ \t\r\n(),;=.]|\Z)
    |`(?P<name>[^`\\\x00-\x1f]+)`(?=[ \t\r\n(),;=.]|\Z)
    |'(?P<string>[^'\\\x00-\x1f]*)'(?=[ \t\r\n(),;]|\Z)
    |(?P<number>[0-9]+(?:\.[0-9]+)?)(?=[ \t\r\n(),;=]|\Z)
    |(?P<sign>[(),;]|=(?!=)|(?<=[`A-Za-z0-9_])\.(?=[`A-Za-z_]))
    |(?P<end>\Z))""",
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Lexeme:
    """One token. ``kind``: word, name (quoted), string, number, hex, bits, or sign.

    ``text``: without quotes, escapes resolved; ``word``: upper case for an unquoted word or a
    sign, else empty.
    """

    kind: str
    text: str
    word: str


def ordinary(text: str) -> list[Lexeme] | None:
    """The tokens of a text without comments, None where more must be known to cut it."""
    found: list[Lexeme] = []
    at = 0
    while True:
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            return None
        kind, at = match.lastgroup, match.end()
        if kind == "end":
            return found
        token = match[kind]
        found.append(Lexeme(kind, token, token.upper() if kind in ("word", "sign") else ""))


@cache
def _tokenizer(ansi_quotes: bool, no_escapes: bool) -> Any:
    from sqlglot.dialects.mysql import MySQL

    double = [] if ansi_quotes else ['"']

    class Words(MySQL.Tokenizer):
        KEYWORDS = {}  # noqa: RUF012
        COMMANDS = set()  # noqa: RUF012
        QUOTES = ["'", *double]  # noqa: RUF012
        IDENTIFIERS = ["`", '"'] if ansi_quotes else ["`"]
        STRING_ESCAPES = ["'", *double, *([] if no_escapes else ["\\"])]  # noqa: RUF012

    return Words


def cut(text: str, *, ansi_quotes: bool, no_escapes: bool) -> list[Lexeme]:
    """The tokens of a text without comments. SchemaError: it cannot be cut."""
    from sqlglot.errors import SqlglotError

    try:
        tokens = _tokenizer(ansi_quotes, no_escapes)(dialect="mysql").tokenize(text)
    except SqlglotError as exc:
        raise SchemaError("the statement cannot be cut into tokens") from exc
    found: list[Lexeme] = []
    for index, token in enumerate(tokens):
        lexeme, before = _lexeme(token, text), tokens[index - 1]
        number = index > 0 and before.token_type.name == "NUMBER"
        if number and lexeme.kind == "word" and before.end + 1 == token.start:
            # One word in MySQL, though not in sqlglot: `1$a`, `0E$a`.
            lexeme = Lexeme("word", found.pop().text + lexeme.text, "")
        found.append(lexeme)
    return found


_KINDS = {
    "STRING": "string", "NATIONAL_STRING": "string", "IDENTIFIER": "name", "NUMBER": "number",
    "HEX_STRING": "hex", "BIT_STRING": "bits",
}  # fmt: skip
_NUMBER = re.compile(r"\d*\.?\d*(?:[eE][+-]?\d+)?")
# Manual, "Hexadecimal Literals": "a leading 0x is case-sensitive"; likewise 0b.
_LITERAL = re.compile(r"0x[0-9a-fA-F]+|0b[01]+")


def _lexeme(token: Token, text: str) -> Lexeme:
    kind, written = _KINDS.get(token.token_type.name), text[token.start : token.end + 1]
    if kind == "name" and written[0] not in '`"':
        return Lexeme("word", written, "")  # 0xzz, 0b12: words that begin like a number
    if kind in ("hex", "bits") and written[0] == "0" and not _LITERAL.fullmatch(written):
        return Lexeme("word", written, "")  # 0X_c: only a lower-case 0x or 0b begins a literal
    if kind == "number" and not _NUMBER.fullmatch(token.text):
        kind = "word"  # 2e, 5days
    if kind is not None:
        return Lexeme(kind, token.text, "")
    if token.token_type.name == "VAR" or token.text[:1].isalnum():
        return Lexeme("word", token.text, token.text.upper())
    return Lexeme("sign", token.text, token.text)
