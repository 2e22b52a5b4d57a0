"""The judge's own reading of character sets, against Python's where the two must agree."""

from __future__ import annotations

import pytest

from binlogkit.analyses.conformance import charsets


def test_eucjpms_is_euc_jp_with_the_places_of_cp932() -> None:
    """JIS X 0208's kanji and kana stand at the same places in both."""
    checked = 0
    for code in [*range(0x3041, 0x30F7), *range(0x4E00, 0x9FA0), *range(0xFF61, 0xFFA0)]:
        char = chr(code)
        try:
            expected = char.encode("euc_jp")
        except UnicodeEncodeError:
            continue
        if len(expected) == 2:
            assert charsets.encode("eucjpms", char) == expected, char
            checked += 1
    assert checked > 6000


def test_only_what_has_a_character_is_text() -> None:
    assert charsets.says("swe7", b"]{|", "Åäö")
    assert not charsets.says("swe7", b"\x80", "\0")
    assert not charsets.says("dec8", b"\xd0", "\0")
    assert charsets.says("geostd8", b"\xc0\xfd", "ა№")
    assert charsets.says("geostd8", b"a\x7f\x80", "a\x7f€")
    assert not charsets.is_known("of tomorrow")
    assert all(map(charsets.is_known, ("dec8", "utf8mb4", "eucjpms", "armscii8")))


@pytest.mark.parametrize(
    "charset", ["latin1", "koi8r", "cp866", "sjis", "ucs2", "swe7", "nonesuch"]
)
def test_many_texts_are_encoded_as_one_by_one(charset: str) -> None:
    texts = ["Été", "два", "", "a\nb", "\x81", "№ ₤", "plain"]
    for some in (texts, texts[:1], texts[1:2], texts[2:4], texts[4:]):
        expected = [charsets.encode(charset, text) for text in some]
        assert charsets.encode_all(charset, some) == [
            data if data is not None and charsets.says(charset, data, text) else None
            for data, text in zip(expected, some, strict=True)
        ]
