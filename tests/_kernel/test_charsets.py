"""Every charset's text; the live tests compare every code with servers."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binlogkit._kernel.charsets import (
    CHARSETS,
    COLLATIONS,
    MULTI_BYTE,
    SINGLE_BYTE,
    charset_of,
    decode,
    encode,
)

# bytes, text: places where Python's codec of the same name says otherwise or does not exist.
# Each is the server's CONVERT(... USING utf8mb4), 8.0.31.
PECULIAR = [
    ("latin1", b"\x80\x81\x8d\x9f\xff", "€\x81\x8dŸÿ"),
    ("cp866", b"\xfc\xfd", "ⁿ²"),
    ("greek", b"\xa1\xa2\xe1", "ʽʼα"),
    ("hebrew", b"\xaf\xf9", "‾ש"),
    ("koi8u", b"\x95\xa4", "•є"),
    ("swe7", b"}{|", "åäö"),
    ("dec8", b"\xd7\xdd\xf7", "ŒŸœ"),
    ("big5", b"\xf9\xd6\xa4\xa4", "碁中"),
    ("sjis", b"\x81\x5f\x5c\xb1", "\\\\ｱ"),
    ("cp932", b"\x81\x60\x87\x40", "～①"),
    ("eucjpms", b"\xa1\xc1\xad\xa1", "～①"),
    ("ujis", b"\xa1\xc0\xf5\xa1", "\\\ue000"),
    ("euckr", b"\x81\x41\xb0\xa1", "갂가"),
    ("gb18030", b"\xa8\xbc\x94\x39\xfc\x36", "ḿ😀"),
    ("ucs2", b"\x00a\x4e\x2d", "a中"),
    ("utf16", b"\xfe\xff\xd8\x3d\xde\x00", "\ufeff😀"),
    ("utf16le", b"\x3d\xd8\x00\xde", "😀"),
    ("utf32", b"\0\x01\xf6\x00", "😀"),
    ("binary", b"\x00\xff", "\x00ÿ"),
]
NO_TEXT = [
    ("ascii", b"a\x80", 1),
    ("tis620", b"\xa1\xdb", 1),
    ("cp1256", b"\x8a", 0),
    ("cp932", b"a\x80", 1),
    ("big5", b"\xa1\x5a", 0),
    ("gbk", b"a\x81\xff", 1),
    ("gbk", b"a\x81", 1),
    ("eucjpms", b"\x80", 0),
    ("ujis", b"\x8f\xa1", 0),
    ("ujis", b"\xf5\xa1\xa1", 2),
    ("gb18030", b"\x81\x30", 0),
    ("ucs2", b"\x00a\xd8\x00", 2),
    ("ucs2", b"\xd8\x3d\xde\x00", 0),
    ("ucs2", b"a", 0),
    ("utf16", b"\xd8\x00\x00a", 0),
    ("utf32", b"\x00\x11\x00\x00", 0),
    ("utf32", b"\x00\x00\xd8\x00", 0),
    ("utf8mb3", b"ab\xf0\x9f\x98\x80", 2),
    ("utf8mb4", b"\xed\xa0\x80", 0),
    ("utf8mb4", b"\xc0\x80", 0),
]


@pytest.mark.parametrize(("charset", "data", "text"), PECULIAR)
def test_text_is_the_servers(charset: str, data: bytes, text: str) -> None:
    assert decode(charset, data) == text


@pytest.mark.parametrize(("charset", "data", "start"), NO_TEXT)
def test_bytes_without_character(charset: str, data: bytes, start: int) -> None:
    with pytest.raises(UnicodeDecodeError) as caught:
        decode(charset, data)
    assert caught.value.start == start


def test_old_name_of_utf8mb3() -> None:
    assert decode("utf8", "é中".encode()) == "é中"


def test_unknown_charset() -> None:
    with pytest.raises(ValueError, match="'utf9' is unknown"):
        decode("utf9", b"")


def test_every_collation_has_a_charset_that_decodes() -> None:
    assert {charset for charset, _ in COLLATIONS.values()} == set(CHARSETS)
    assert (charset_of(8), charset_of(63), charset_of(255)) == ("latin1", "binary", "utf8mb4")
    assert (charset_of(33), charset_of(2047)) == ("utf8mb3", None)


def test_empty_and_ascii() -> None:
    """All but the wide ones and swe7 hold ASCII as it is."""
    plain = "".join(map(chr, range(0x20, 0x40))) + "AZaz"
    for charset in set(CHARSETS) - {"ucs2", "utf16", "utf16le", "utf32"}:
        assert decode(charset, b"") == ""
        assert decode(charset, plain.encode()) == plain, charset


@pytest.mark.parametrize("charset", SINGLE_BYTE)
def test_single_bytes_come_back(charset: str) -> None:
    table = SINGLE_BYTE[charset]
    encoder = codecs.charmap_build(table)
    known = bytes(i for i in range(256) if table[i] != "\ufffe")
    text = decode(charset, known)
    assert len(text) == len(known)
    again = codecs.charmap_encode(text, "strict", encoder)[0]
    assert decode(charset, again) == text


@pytest.mark.parametrize("charset", MULTI_BYTE)
@given(st.text(st.sampled_from("aZ1~é中文日本語ｱ한국①～碁ḿΑЖ"), max_size=12))
def test_neighbours_do_not_change_a_character(charset: str, text: str) -> None:
    """The two ways of reading (the codec alone, or a walk) agree, whatever stands beside."""
    codec = MULTI_BYTE[charset][0]
    raw = b""
    expected = ""
    for char in text:
        code = char.encode(codec, "ignore")
        try:
            expected += decode(charset, code)
        except UnicodeDecodeError:
            continue
        raw += code
    assert decode(charset, raw) == expected


@given(st.sampled_from(CHARSETS), st.binary(max_size=24))
def test_any_bytes_decode_or_are_refused(charset: str, data: bytes) -> None:
    try:
        text = decode(charset, data)
    except UnicodeDecodeError as exc:
        assert 0 <= exc.start < max(1, len(data))
    else:
        text.encode("utf-8")  # no surrogate gets through: Arrow could not hold it
        assert "\ufffe" not in text or charset in {"utf8mb3", "utf8mb4", "gb18030"} | WIDE


WIDE = {"ucs2", "utf16", "utf16le", "utf32"}


@pytest.mark.parametrize(
    ("charset", "text", "stored"),
    [
        ("gbk", "a誠€", b"a\xd5\\?"),
        ("latin1", "€я\x81", b"\x80?\x81"),
        ("swe7", "å[", b"}?"),
        ("sjis", "表①", b"\x95\\?"),
        ("cp932", "①", b"\x87\x40"),
        ("ucs2", "é😀", b"\x00\xe9\x00?"),
        ("utf32", "😀", b"\x00\x01\xf6\x00"),
        ("utf8", "€😀", "€?".encode()),
        ("binary", "é", b"\xe9"),
    ],
)
def test_what_a_set_has_not_is_stored_as_a_question_mark(
    charset: str, text: str, stored: bytes
) -> None:
    assert encode(charset, text) == stored


@given(st.sampled_from(sorted({*CHARSETS} - {"binary"})), st.text(max_size=9))
def test_what_is_stored_reads_back_to_the_same_bytes(charset: str, text: str) -> None:
    read = decode(charset, encode(charset, text))
    assert len(read) == len(text)
    assert all(one == other or other == "?" for one, other in zip(text, read, strict=True))
    assert encode(charset, read) == encode(charset, text)
