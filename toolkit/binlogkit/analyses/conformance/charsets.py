"""MySQL's character sets by Python's codecs: the judge's own reading, apart from the decoder's.

Names: ``SHOW CHARACTER SET`` of 8.0.31. Those that Python has no codec for are read by tables: from
the files ``share/charsets/*.xml`` that come with that server, where the decoder's are what servers
answered. What is stored in any other cannot be judged and is reported so.
"""

from __future__ import annotations

from collections.abc import Sequence

_CODECS = {
    "ascii": "ascii",
    "big5": "cp950",
    "cp1250": "cp1250",
    "cp1251": "cp1251",
    "cp1256": "cp1256",
    "cp1257": "cp1257",
    "cp850": "cp850",
    "cp852": "cp852",
    "cp866": "cp866",
    "cp932": "cp932",
    "eucjpms": "cp932",
    "euckr": "cp949",
    "gb18030": "gb18030",
    "gb2312": "gb2312",
    "gbk": "cp936",
    "greek": "iso8859-7",
    "hebrew": "iso8859-8",
    "hp8": "hp-roman8",
    "koi8r": "koi8-r",
    "koi8u": "koi8-u",
    "latin1": "cp1252",
    "latin2": "iso8859-2",
    "latin5": "iso8859-9",
    "latin7": "iso8859-13",
    "macce": "mac_latin2",
    "macroman": "mac_roman",
    "sjis": "shift_jis",
    "tis620": "tis-620",
    "ucs2": "utf-16-be",
    "ujis": "euc_jp",
    "utf16": "utf-16-be",
    "utf16le": "utf-16-le",
    "utf32": "utf-32-be",
    "utf8": "utf-8",
    "utf8mb3": "utf-8",
    "utf8mb4": "utf-8",
}

# What MySQL reads otherwise than Python's codec of that name (CONVERT(… USING utf8mb4), 8.0.31; for
# sjis and ujis also the manual's "The cp932 Character Set").
_MYSQLS_OWN: dict[str, dict[str, str | int | None]] = {
    "big5": {"\u2215": "\uff0f", "\ufe68": "\uff3c"},
    "cp866": {"\u2116": "\u207f", "\xa4": "\xb2"},
    # GB 18030-2005 exchanged two places of 2000's, which Python has.
    "gb18030": {"\ue7c7": "\u1e3f", "\u1e3f": "\ue7c7"},
    "greek": {"\u2018": "\u02bd", "\u2019": "\u02bc"},
    "hebrew": {"\xaf": "\u203e"},
    "koi8u": {"\u2219": "\u2022"},
    "sjis": {"\uff3c": "\\"},
    "ujis": {"\uff3c": "\\"},
}

_NO_CHARACTER = "\0"
# From which byte on the characters stand here; those of the bytes before it have their numbers.
_TABLES: dict[str, tuple[int, str]] = {
    "armscii8": (
        0xA1,
        "❁§։)(»«—.՝,-՟…՜՛՞ԱաԲբԳգԴդԵեԶզԷէԸըԹթԺժԻիԼլԽխԾծԿկՀհՁձՂղՃճՄմՅյՆնՇշՈոՉչՊպՋջՌռՍսՎվՏտՐրՑցՒւՓփՔքՕօՖֆ’'",
    ),
    "dec8": (
        0xA4,
        "\0¥\0§¤©ª«\0\0\0\0°±²³\0µ¶·\0¹º»¼½\0¿ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏ\0ÑÒÓÔÕÖŒØÙÚÛÜŸ\0ßàáâãäåæçèéêëìíîï"
        "\0ñòóôõöœøùúûüÿ\0\0",
    ),
    "geostd8": (
        0x80,
        "€\0‚\0„…†‡\0‰\0‹\0\0\0\0\0‘’“”•–—\0\0\0›\0\0\0\0"
        "\xa0¡¢£¤¥¦§¨©ª«¬\xad®¯°±²³´µ¶·¸¹º»¼½¾¿აბგდევზჱთიკლმნჲოპჟრსტჳუფქღყშჩცძწჭხჴჯჰჵ"
        "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0№\0\0",
    ),
    "keybcs2": (
        0x80,
        "ČüéďäĎŤčěĚĹÍľĺÄÁÉžŽôöÓůÚýÖÜŠĽÝŘťáíóúňŇŮÔšřŕŔ¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀"
        "αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\xa0",
    ),
    "swe7": (
        0x40,
        "ÉABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÅÜ_éabcdefghijklmnopqrstuvwxyzäöåü".ljust(192, "\0"),
    ),
}

# Of these a byte is a character, and ASCII's are ASCII.
_BY_BYTES = frozenset(
    ("cp1250", "cp1251", "cp1256", "cp1257", "cp850", "cp852", "cp866", "koi8r", "latin1", "latin2",
     "latin5", "latin7", "macce", "macroman")
)  # fmt: skip
_FREE = "\x81\x8d\x8f\x90\x9d"


CHARSETS = (*_CODECS, *_TABLES)


def is_known(charset: str) -> bool:
    """Whether text in ``charset`` can be judged."""
    return charset in _CODECS or charset in _TABLES


def encode(charset: str, text: str) -> bytes | None:
    """The bytes of ``text`` in ``charset``, None where there is no codec or no such character."""
    codec = _CODECS.get(charset)
    if codec is None:
        return None
    if charset == "eucjpms":
        return _eucjpms(text)
    try:
        return text.encode(codec)
    except UnicodeEncodeError:
        # MySQL's latin1 is cp1252 with the five free places as C1 controls (manual, 12.10.2).
        return _latin1(text) if charset == "latin1" else None


def encode_all(charset: str, texts: Sequence[str]) -> list[bytes | None]:
    """:func:`encode` of each text, None also where the bytes do not read as the text."""
    if charset in _BY_BYTES and charset not in _MYSQLS_OWN:
        try:
            whole = "\n".join(texts).encode(_CODECS[charset]).split(b"\n")
        except UnicodeEncodeError:
            whole = []
        if len(whole) == len(texts):
            return [*whole]
    found = [encode(charset, text) for text in texts]
    return [
        data if data is not None and says(charset, data, text) else None
        for data, text in zip(found, texts, strict=True)
    ]


def says(charset: str, data: bytes, text: str) -> bool:
    """Whether ``data`` in ``charset`` reads as ``text``: of two codes of one character either."""
    if charset in _TABLES:
        start, chars = _TABLES[charset]
        if any(byte >= start and chars[byte - start] == _NO_CHARACTER for byte in data):
            return False
        return text == "".join(chr(b) if b < start else chars[b - start] for b in data)
    own = _MYSQLS_OWN.get(charset, {})
    if own.keys().isdisjoint(text) and encode(charset, text) == data:
        return True
    codec = _CODECS.get(charset)
    if codec is None or charset == "eucjpms":
        return False
    try:
        read = data.decode(codec)
    except UnicodeDecodeError:
        return False
    return read.translate(str.maketrans(own)) == text


def _eucjpms(text: str) -> bytes | None:
    """cp932's characters (with NEC's row 13) at EUC's places, JIS X 0212's as in euc_jp."""
    out = bytearray()
    for char in text:
        try:
            raw = char.encode("cp932")
            out += raw if char.isascii() else _euc(raw)
        except UnicodeEncodeError:
            try:
                out += char.encode("euc_jp")
            except UnicodeEncodeError:
                return None
        except ValueError:  # a place of a company's own, which EUC has elsewhere
            return None
    return bytes(out)


def _euc(raw: bytes) -> bytes:
    """A Shift_JIS character in EUC: kana after 0x8E, others by row and cell."""
    if len(raw) == 1:
        return b"\x8e" + raw
    lead, trail = raw
    row = (lead - (0x81 if lead < 0xA0 else 0xC1)) * 2
    if trail >= 0x9F:
        return bytes([row + 0xA2, trail + 2])
    return bytes([row + 0xA1, trail + (0x61 if trail < 0x7F else 0x60)])


def _latin1(text: str) -> bytes | None:
    """cp1252 with its free places as they are."""
    try:
        return b"".join(c.encode("latin-1" if c in _FREE else "cp1252") for c in text)
    except UnicodeEncodeError:
        return None
