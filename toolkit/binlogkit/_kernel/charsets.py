"""Text in every character set of the server, as the server understands it.

Single-byte sets are the server's own tables; the others are Python's codecs with the server's
differences laid over them: ``charset_data.json``, which ``tools/make_charset_tables.py`` writes
from real servers. Bytes that are malformed, or that the server has no character for (it shows
``?``), raise UnicodeDecodeError, and so does a lone surrogate, which 5.7 lets into ucs2 and utf32
and which no text can hold.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

_DATA = json.loads(Path(__file__).with_name("charset_data.json").read_text("utf-8"))
#: Collation id -> (charset, collation).
COLLATIONS: dict[int, tuple[str, str]] = {
    int(number): (charset, name) for number, (charset, name) in _DATA["collations"].items()
}
#: Charset -> the character of each byte, U+FFFE where there is none.
SINGLE_BYTE: dict[str, str] = _DATA["single_byte"]
# Charset -> Python's codec, and the server's differences in runs: the first code in hexadecimal,
# how many codes count up from it, the first one's code point, or None where they are no characters.
MULTI_BYTE: dict[str, tuple[str, list[tuple[str, int, int | None]]]] = _DATA["multi_byte"]

_UTF8MB3_MAX = "\uffff"
_ALIASES = {"utf8": "utf8mb3"}  # the name up to 8.0.29

_Decode = Callable[[bytes], str]


def decode(charset: str, data: bytes) -> str:
    """``data`` in MySQL's ``charset`` as text; ``binary`` gives each byte as U+0000-U+00FF.

    ValueError: no such charset. UnicodeDecodeError: no text in it; ``start`` is the first byte that
    is none.
    """
    return _decoder(charset)(data)


def charset_of(collation: int) -> str | None:
    """The charset of a collation id, or None for an id that no known server has."""
    names = COLLATIONS.get(collation)
    return names[0] if names else None


def canonical(charset: str) -> str:
    """The charset's name as of 8.0.30, which calls ``utf8`` what it is."""
    return _ALIASES.get(charset, charset)


def encode(charset: str, text: str) -> bytes:
    """``text`` as the server stores it in ``charset``: ``?`` for each character that is not in it.

    ValueError: no such charset.
    """
    name = canonical(charset)
    if name not in CHARSETS:
        raise ValueError(f"charset {charset!r} is unknown")
    unknown = _code(name, "?") or b"?"
    return b"".join(_code(name, char) or unknown for char in text)


@cache
def _code(charset: str, char: str) -> bytes | None:
    """A character's bytes, None where the charset has it not."""
    if charset in SINGLE_BYTE:
        at = SINGLE_BYTE[charset].find(char)
        return None if at < 0 else bytes((at,))
    codec = _UNICODE_CODECS.get(charset)
    if codec is None:
        codec, runs = MULTI_BYTE[charset]
        for code, kept in (pair for run in runs for pair in _codes(*run)):
            if kept == char:
                return code
    try:
        code = char.encode(codec)
        return code if decode(charset, code) == char else None
    except UnicodeError:
        return None


@cache
def _decoder(charset: str) -> _Decode:
    name = canonical(charset)
    if name in SINGLE_BYTE:
        table = SINGLE_BYTE[name]
        return lambda data: codecs.charmap_decode(data, "strict", table)[0]
    if name in MULTI_BYTE:
        return _overlaid_decoder(name)
    if name not in _UNICODE:
        raise ValueError(f"charset {charset!r} is unknown")
    return _UNICODE[name]


def _codec(codec: str) -> _Decode:
    return lambda data: data.decode(codec)


def _utf8mb3(data: bytes) -> str:
    text = data.decode("utf-8")
    if text.isascii() or max(text) <= _UTF8MB3_MAX:
        return text
    start = next(i for i, byte in enumerate(data) if byte >= 0xF0)
    raise UnicodeDecodeError("utf8mb3", data, start, start + 4, "a character of 4 bytes")


def _ucs2(data: bytes) -> str:
    # Surrogate pairs are two characters that do not exist here.
    for start in range(0, len(data) - 1, 2):
        if data[start] & 0xF8 == 0xD8:
            raise UnicodeDecodeError("ucs2", data, start, start + 2, "a surrogate")
    return data.decode("utf-16-be")


_UNICODE_CODECS = {
    "binary": "latin-1",
    "ucs2": "utf-16-be",
    "utf16": "utf-16-be",
    "utf16le": "utf-16-le",
    "utf32": "utf-32-be",
    "utf8mb3": "utf-8",
    "utf8mb4": "utf-8",
}
_UNICODE: dict[str, _Decode] = {
    **{charset: _codec(codec) for charset, codec in _UNICODE_CODECS.items()},
    "ucs2": _ucs2,
    "utf8mb3": _utf8mb3,
}

#: Every charset name that :func:`decode` takes, without the alias ``utf8``.
CHARSETS: tuple[str, ...] = tuple(sorted({*SINGLE_BYTE, *MULTI_BYTE, *_UNICODE}))


def _double(data: bytes, p: int) -> int:
    return 2 if data[p] >= 0x80 else 1


def _shift_jis(data: bytes, p: int) -> int:
    # A1-DF: half-width katakana.
    return 2 if 0x81 <= data[p] <= 0x9F or 0xE0 <= data[p] <= 0xFC else 1


def _euc_jp(data: bytes, p: int) -> int:
    # 8E: half-width katakana; 8F: JIS X 0212 in two more bytes.
    return 3 if data[p] == 0x8F else _double(data, p)


def _gb18030(data: bytes, p: int) -> int:
    if data[p] < 0x80:
        return 1
    return 4 if 0x30 <= data[p + 1 : p + 2].ljust(1)[0] <= 0x39 else 2


_LENGTHS: dict[str, Callable[[bytes, int], int]] = {
    "cp932": _shift_jis,
    "eucjpms": _euc_jp,
    "gb18030": _gb18030,
    "sjis": _shift_jis,
    "ujis": _euc_jp,
}


def _overlaid_decoder(charset: str) -> _Decode:
    codec, runs = MULTI_BYTE[charset]
    overlay = dict(pair for run in runs for pair in _codes(*run))
    if not overlay:
        return _codec(codec)
    length = _LENGTHS.get(charset, _double)
    suspect = re.compile(b"|".join(map(re.escape, overlay)), re.DOTALL)

    def read(data: bytes) -> str:
        # Bytes that match may still be two halves of neighbours, so the walk decides.
        if data.isascii() or not suspect.search(data):
            return data.decode(codec)
        return "".join(_walk(charset, codec, data, length, overlay))

    return read


def _walk(
    charset: str,
    codec: str,
    data: bytes,
    length: Callable[[bytes, int], int],
    overlay: dict[bytes, str | None],
) -> list[str]:
    chars = []
    p = 0
    while p < len(data):
        code = data[p : p + length(data, p)]
        char = overlay[code] if code in overlay else _one(charset, codec, data, p, code)
        if char is None:
            raise UnicodeDecodeError(charset, data, p, p + len(code), "no character")
        chars.append(char)
        p += len(code)
    return chars


def _one(charset: str, codec: str, data: bytes, p: int, code: bytes) -> str:
    try:
        return code.decode(codec)
    except UnicodeDecodeError as exc:
        raise UnicodeDecodeError(charset, data, p, p + len(code), exc.reason) from exc


def _codes(first: str, count: int, point: int | None) -> list[tuple[bytes, str | None]]:
    width, number = len(first) // 2, int(first, 16)
    return [
        ((number + i).to_bytes(width, "big"), None if point is None else chr(point + i))
        for i in range(count)
    ]
