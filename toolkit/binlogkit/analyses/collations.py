"""Which texts a collation treats as equal, as far as that is known without its table of weights.

Binary collations compare code points. The usual others compare printable ASCII without case and
nothing else. Of more texts it is known which may be equal: those that are folded to the same. The
rest is open. tests/analyses/test_collations_server.py holds this against the weights of servers of
5.7, 8.0 and 9.7.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from binlogkit.frames.arrays import one_array

_UNICODE = ("utf8mb4", "utf8mb3", "ucs2", "utf16", "utf32")
#: Collations that compare printable ASCII without case.
FOLDING = frozenset({
    *(f"{name}_{rule}_ci" for name in _UNICODE for rule in ("general", "unicode", "unicode_520")),
    "utf8mb4_0900_ai_ci", "utf8mb4_0900_as_ci", "utf16le_general_ci", "gb18030_chinese_ci",
    "latin1_swedish_ci", "latin1_general_ci", "latin1_german1_ci", "latin1_spanish_ci",
    "ascii_general_ci", "latin2_general_ci", "cp1250_general_ci", "cp1251_general_ci",
    "cp1256_general_ci", "cp1257_general_ci", "cp850_general_ci", "cp852_general_ci",
    "koi8r_general_ci", "greek_general_ci", "hebrew_general_ci", "sjis_japanese_ci",
    "cp932_japanese_ci", "ujis_japanese_ci", "eucjpms_japanese_ci", "euckr_korean_ci",
})  # fmt: skip
#: Collations that compare texts of Unicode by code points, without padding.
EXACT = frozenset({"utf8mb4_0900_bin"})
#: Collations that compare texts by code points, and ignore blanks at the end.
PADDED = frozenset({*(f"{name}_bin" for name in _UNICODE), "latin1_bin", "ascii_bin"})

# Latin, Greek, Cyrillic, punctuation, Chinese ideographs, Korean syllables.
_SCRIPTS = (
    "\x00-\u017f\u0386-\u03ff\u0400-\u045f\u0490\u0491\u2010-\u2026\u4e00-\u9fff\uac00-\ud7a3"
)
_LETTERS = str.maketrans({
    "æ": "a", "œ": "o", "ø": "o", "đ": "d", "ð": "d", "ł": "l", "ħ": "h", "þ": "th", "ı": "i",
    "ґ": "г", "·": "",
})  # fmt: skip
_NORDIC = str.maketrans("üÜæÆøØ[\\]", "yYaAoOaao")  # latin1_swedish_ci
_NORDIC_SMALL = (("[", "a"), ("\\", "a"), ("]", "o"))
_PLAIN = "^[ -~]*$"
# What any language's collation, or that of a single character set, treats as equal.
_ANY = str.maketrans("[\\]eojuvym", "aaaaaiiiin")
_PAIRS = re.compile("(?<=a)[ea]+|(?<=o)e+|(?<=s)s+")
_ANY_PAIRS = re.compile("(?<=[ai])a+|(?<=s)s+")
_MARKS = frozenset({"Mn", "Mc", "Me", "Cc", "Cf"})


@dataclass(frozen=True, slots=True)
class FoldedTexts:
    """Texts as a collation compares them.

    ``equal``: texts that have the same here are equal; ``exact``: others that are exact both are
    not; ``perhaps``: texts that do not have the same here are not equal, either, unless one of them
    is ``open``. NULL is exact.
    """

    equal: Any
    perhaps: Any
    exact: NDArray[np.bool_]
    open: NDArray[np.bool_]

    @property
    def closest(self) -> Any:
        """The least that treats all as equal that may be; open ones aside."""
        return self.equal if self.exact.all() else self.perhaps


def is_text(column: Any) -> bool:
    """Whether a column (pyarrow) is one of texts."""
    return bool(pa.types.is_string(column.type) or pa.types.is_large_string(column.type))


def pads(collation: str) -> bool:
    """Whether a collation of FOLDING ignores blanks at the end."""
    return not collation.startswith("utf8mb4_0900")


def folded(texts: Any, collation: str | None) -> FoldedTexts:
    """``texts``: a chunked array of them; ``collation``: by MySQL's name, None if not known."""
    name = collation or ""
    every = np.ones(len(texts), bool)
    if name in EXACT or name in PADDED:
        equal = texts if name in EXACT else pc.utf8_rtrim(texts, " ")
        return FoldedTexts(equal, equal, every, ~every)
    usual, equal = name in FOLDING, texts
    plain = np.asarray(pc.match_substring_regex(texts, _PLAIN).fill_null(True))
    if usual:
        small = pc.utf8_lower(texts)
        small = pc.utf8_rtrim(small, " ") if pads(name) else small
        equal = pc.if_else(pa.array(plain), small, texts)
    exact = plain & usual | np.asarray(texts.is_null())
    if exact.all():
        return FoldedTexts(equal, equal, exact, ~every)
    perhaps, opened = perhaps_equal(texts, name)
    return FoldedTexts(equal, perhaps, exact, opened)


def perhaps_equal(texts: Any, collation: str | None) -> tuple[Any, NDArray[np.bool_]]:
    """The same for texts that may be equal, whatever other texts there are, and which are open."""
    name, array = collation or "", one_array(texts)
    if name in EXACT or name in PADDED:
        known = folded(texts, name)
        return known.perhaps, known.open
    plain = np.asarray(pc.match_substring_regex(array, _PLAIN).fill_null(True))
    plain &= name in FOLDING
    found, opened = array, ~plain
    if plain.any():
        found = pc.utf8_lower(array)
        for letter, other in _NORDIC_SMALL if name == "latin1_swedish_ci" else ():
            found = pc.replace_substring(found, letter, other)
        for pair, letter in (("a[ea]+", "a"), ("oe+", "o"), ("ss+", "s")):  # as _PAIRS
            found = pc.replace_substring_regex(found, pair, letter)
        found = pc.utf8_rtrim(found, " ")
    if not plain.all():
        others = pa.array(~plain)
        encoded = array.filter(others).dictionary_encode()
        answers = [_perhaps(text, name) for text in encoded.dictionary.to_pylist()]
        folds = pa.array([one or "" for one in answers], texts.type).take(encoded.indices)
        found = pc.replace_with_mask(found, others, folds)
        none = pa.array([one is None for one in answers], pa.bool_()).take(encoded.indices)
        opened[~plain] = np.asarray(none.fill_null(False))
    return pa.chunked_array([found]), opened


@lru_cache(maxsize=256)
def _known(name: str) -> re.Pattern[str]:
    """Texts of which it is known what they may be equal to."""
    if name in FOLDING and name.split("_")[0] in (*_UNICODE, "utf16le", "latin1", "gb18030"):
        return re.compile(f"[{_SCRIPTS}]*")
    if name in FOLDING:
        return re.compile("[ -~]*")
    if any(language in name for language in ("hungarian", "_hu_", "lithuanian")):
        # Several letters are one: "ccs" is "cscs", "ch" is "c".
        return re.compile("(?!)")
    wide = not name or name.startswith((*_UNICODE, "latin1"))
    return re.compile(f"[{_SCRIPTS}]*" if wide else "[ -?A-_a-}]*")


@lru_cache(maxsize=1 << 16)
def _perhaps(text: str, name: str) -> str | None:
    """The same for texts that may be equal; None for one that is open."""
    if _known(name).fullmatch(text) is None:
        return None
    if name == "latin1_swedish_ci":
        text = text.translate(_NORDIC)
    for _ in range(2):
        text = unicodedata.normalize("NFKD", text.casefold())
    letters = (c for c in text if unicodedata.category(c) not in _MARKS)
    text = "".join(str(unicodedata.decimal(c, c)) for c in letters)
    text = text.translate(_LETTERS)
    if name in FOLDING:
        return _PAIRS.sub("", text).rstrip(" ")
    return _ANY_PAIRS.sub("", text.translate(_ANY)).rstrip(" ")
