"""Character sets and collations by MySQL's names: bytes per character, defaults.

Recorded from ``information_schema.character_sets`` and ``collations`` of 5.7.22 and 8.0.31. A
collation's name begins with its character set's name and ``_`` (only ``binary`` has none). What
older servers call ``utf8`` is called ``utf8mb3`` here for every version, as 8.0.30 does, so that
one name means one thing.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "CHARSETS", "UNKNOWN", "Charset", "Collated", "canonical", "collated", "default_collation",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Charset:
    """``max_bytes`` per character, and the default collation (``since_8`` where it changed)."""

    max_bytes: int
    collation: str
    since_8: str | None = None


def _one_byte() -> dict[str, Charset]:
    collations = (
        "armscii8_general_ci ascii_general_ci cp1250_general_ci cp1251_general_ci "
        "cp1256_general_ci cp1257_general_ci cp850_general_ci cp852_general_ci cp866_general_ci "
        "dec8_swedish_ci geostd8_general_ci greek_general_ci hebrew_general_ci hp8_english_ci "
        "keybcs2_general_ci koi8r_general_ci koi8u_general_ci latin1_swedish_ci "
        "latin2_general_ci latin5_turkish_ci latin7_general_ci macce_general_ci "
        "macroman_general_ci swe7_swedish_ci tis620_thai_ci"
    )
    return {name.partition("_")[0]: Charset(1, name) for name in collations.split()}


CHARSETS = _one_byte() | {
    "big5": Charset(2, "big5_chinese_ci"),
    "binary": Charset(1, "binary"),
    "cp932": Charset(2, "cp932_japanese_ci"),
    "eucjpms": Charset(3, "eucjpms_japanese_ci"),
    "euckr": Charset(2, "euckr_korean_ci"),
    "gb18030": Charset(4, "gb18030_chinese_ci"),
    "gb2312": Charset(2, "gb2312_chinese_ci"),
    "gbk": Charset(2, "gbk_chinese_ci"),
    "sjis": Charset(2, "sjis_japanese_ci"),
    "ucs2": Charset(2, "ucs2_general_ci"),
    "ujis": Charset(3, "ujis_japanese_ci"),
    "utf16": Charset(4, "utf16_general_ci"),
    "utf16le": Charset(4, "utf16le_general_ci"),
    "utf32": Charset(4, "utf32_general_ci"),
    "utf8mb3": Charset(3, "utf8mb3_general_ci"),
    "utf8mb4": Charset(4, "utf8mb4_general_ci", since_8="utf8mb4_0900_ai_ci"),
}


@dataclass(frozen=True, slots=True)
class Collated:
    """A character set with a collation; both None where nothing says which."""

    charset: str | None = None
    collation: str | None = None

    @property
    def max_bytes(self) -> int | None:
        """Bytes that one character can take; None where the character set is not known."""
        known = CHARSETS.get(self.charset or "")
        return None if known is None else known.max_bytes


#: Nothing is known.
UNKNOWN = Collated()


def canonical(name: str) -> str:
    """A character set's or collation's name as this module spells it: lower case, utf8mb3."""
    name = name.lower()
    if name == "utf8" or name.startswith("utf8_"):
        return "utf8mb3" + name[4:]
    return name


def default_collation(charset: str, version: int) -> str | None:
    """The default collation of ``charset`` (canonical) on that server; None for a foreign one."""
    known = CHARSETS.get(charset)
    if known is None:
        return None
    return known.since_8 if known.since_8 and version >= 80000 else known.collation


def collated(charset: str | None, collation: str | None, version: int) -> Collated:
    """What a CHARACTER SET and a COLLATE say together; each fills in the other."""
    if collation is not None:
        collation = canonical(collation)
        return Collated(collation.partition("_")[0], collation)
    if charset is not None:
        charset = canonical(charset)
        return Collated(charset, default_collation(charset, version))
    return Collated()
