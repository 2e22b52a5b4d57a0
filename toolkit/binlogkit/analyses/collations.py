"""Which texts a collation treats as equal, as far as that is known without its table of weights.

Binary collations compare code points. The usual others compare printable ASCII without case and
nothing else. Of more texts it is known which may be equal: those that are folded to the same. The
rest is open. tests/analyses/test_collations_server.py holds this against the weights of servers of
5.7, 8.0 and 9.7.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cached_property, lru_cache
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
_NORDIC_PLAIN = [(chr(one), chr(to)) for one, to in _NORDIC.items() if chr(one) in "[\\]"]
_PLAIN = "^[ -~]*$"
# What any language's collation, or that of a single character set, treats as equal.
_ANY = str.maketrans("[\\]eojuvym", "aaaaaiiiin")
_PAIRS = re.compile("(?<=a)[ea]+|(?<=o)e+|(?<=s)s+")
_ANY_PAIRS = re.compile("(?<=[ai])a+|(?<=s)s+")
_MARKS = frozenset({"Mn", "Mc", "Me", "Cc", "Cf"})


class FoldedTexts:
    """Texts as a collation compares them.

    ``texts``: an array of them; ``collation``: by MySQL's name, None if not known. Arrays here are
    chunked.
    """

    def __init__(self, texts: Any, collation: str | None) -> None:
        self._array = texts if isinstance(texts, pa.ChunkedArray) else pa.chunked_array([texts])
        self._name = collation or ""
        self._binary = self._name in EXACT or self._name in PADDED

    @cached_property
    def _plain(self) -> NDArray[np.bool_]:
        """Which are compared as ASCII without case."""
        if self._name not in FOLDING:
            return np.zeros(len(self._array), bool)
        return np.asarray(pc.match_substring_regex(self._array, _PLAIN).fill_null(True))

    @cached_property
    def equal(self) -> Any:
        """Texts that have the same here are equal."""
        array = self._array
        if self._binary:
            return array if self._name in EXACT else pc.utf8_rtrim(array, " ")
        if not self._plain.any():
            return array
        small = pc.utf8_lower(array)
        small = pc.utf8_rtrim(small, " ") if pads(self._name) else small
        return pc.if_else(pa.array(self._plain), small, array)

    @cached_property
    def exact(self) -> NDArray[np.bool_]:
        """Two texts that are exact and do not have the same in ``equal`` are not equal. NULL is
        exact."""
        if self._binary:
            return np.ones(len(self._array), bool)
        found: NDArray[np.bool_] = self._plain | np.asarray(self._array.is_null())
        return found

    @property
    def perhaps(self) -> Any:
        """Texts that do not have the same here are not equal, unless one of them is ``open``.
        What a text has here does not depend on the others."""
        return self._folded[0]

    @property
    def open(self) -> NDArray[np.bool_]:
        """Which texts may be equal to any."""
        if self.exact.all():
            return np.zeros(len(self._array), bool)
        return self._folded[1]

    @property
    def closest(self) -> Any:
        """The least that treats all of these texts as equal that may be; open ones aside.

        Texts that share ``perhaps`` are told apart by ``equal`` if all of them are exact.
        """
        if self.exact.all():
            return self.equal
        loose = self.perhaps.filter(pa.array(~self.exact & ~self.open))
        return pc.if_else(pc.is_in(self.perhaps, loose), self.perhaps, self.equal)

    @cached_property
    def _folded(self) -> tuple[Any, NDArray[np.bool_]]:
        array, plain = self._array, self._plain
        found, opened = array, np.zeros(len(array), bool)
        if self._binary:
            return self.equal, opened
        if plain.any():
            found = _perhaps_plain(array, self._name)
        if not self.exact.all():
            others = pa.array(~self.exact)
            encoded = one_array(array.filter(others)).dictionary_encode()
            answers = [_perhaps(text, self._name) for text in encoded.dictionary.to_pylist()]
            folds = pa.array([one or "" for one in answers], array.type).take(encoded.indices)
            found = pc.replace_with_mask(found, others, folds)
            none = pa.array([one is None for one in answers], pa.bool_()).take(encoded.indices)
            opened[~self.exact] = np.asarray(none)
        return found, opened


def is_text(column: Any) -> bool:
    """Whether a column (pyarrow) is one of texts."""
    return bool(pa.types.is_string(column.type) or pa.types.is_large_string(column.type))


def pads(collation: str) -> bool:
    """Whether a collation of FOLDING ignores blanks at the end."""
    return not collation.startswith("utf8mb4_0900")


def _perhaps_plain(texts: Any, name: str) -> Any:
    """:func:`_perhaps` for an array of which the texts of printable ASCII count."""
    found = pc.utf8_lower(texts)
    for letter, other in _NORDIC_PLAIN if name == "latin1_swedish_ci" else ():
        found = pc.replace_substring(found, letter, other)
    for pair, letter in (("a[ea]+", "a"), ("oe+", "o"), ("ss+", "s")):  # as _PAIRS
        found = pc.replace_substring_regex(found, pair, letter)
    return pc.utf8_rtrim(found, " ")


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
