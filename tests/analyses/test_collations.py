"""Texts as collations compare them: what is equal, what may be, and what is open."""

from __future__ import annotations

import itertools

import pyarrow as pa
import pytest

from binlogkit.analyses.collations import FoldedTexts, _perhaps

SAME, DIFFERENT, UNKNOWN = "the same", "different", "not known"


@pytest.mark.parametrize(
    ("collation", "one", "other", "wanted"),
    [
        ("utf8mb4_0900_ai_ci", "A-b", "a-B", SAME),
        ("utf8mb4_0900_ai_ci", "a", "a ", DIFFERENT),
        ("utf8mb4_general_ci", "a", "a ", SAME),
        ("utf8mb4_0900_ai_ci", "é", "é", SAME),
        ("utf8mb4_0900_ai_ci", "é", "e", UNKNOWN),
        ("utf8mb4_0900_ai_ci", "é", "f", DIFFERENT),
        ("utf8mb4_0900_ai_ci", "x٣", "x3", UNKNOWN),
        ("utf8mb4_0900_ai_ci", "が", "f", UNKNOWN),
        ("utf8mb4_bin", "É ", "É", SAME),
        ("utf8mb4_0900_bin", "É ", "É", DIFFERENT),
        ("utf8mb4_turkish_ci", "I", "i", UNKNOWN),
        ("utf8mb4_turkish_ci", "a", "b", DIFFERENT),
        ("utf8mb4_hungarian_ci", "a", "b", UNKNOWN),
        ("latin1_swedish_ci", "[", "a", DIFFERENT),
        ("latin1_swedish_ci", "[", "å", UNKNOWN),
        ("gbk_chinese_ci", "~", "y", UNKNOWN),
        (None, "A", "a", UNKNOWN),
        (None, "a", "b", DIFFERENT),
    ],
)
def test_two_texts(collation: str | None, one: str, other: str, wanted: str) -> None:
    told = FoldedTexts(pa.array([one, other, None]), collation)
    equal, perhaps = told.equal.to_pylist(), told.perhaps.to_pylist()
    if equal[0] == equal[1]:
        found = SAME
    elif told.exact[:2].all():
        found = DIFFERENT
    else:
        apart = perhaps[0] != perhaps[1] and not told.open.any()
        found = DIFFERENT if apart else UNKNOWN
    assert found == wanted
    assert (equal[2], perhaps[2], told.exact[2], told.open[2]) == (None, None, True, False)


@pytest.mark.parametrize(
    "collation",
    ["utf8mb4_0900_ai_ci", "latin1_swedish_ci", "cp1250_general_ci", "utf8mb4_hu_0900_ai_ci",
     "utf8mb4_bin", "utf8mb4_0900_bin", None],
)  # fmt: skip
def test_what_a_text_may_be_equal_to_does_not_depend_on_other_texts(collation: str | None) -> None:
    texts = ["class", "CLAS", "aea", "oee ", "[\\]", "é", "ß", "が", "", None]
    array = pa.array(texts, pa.string())
    together = FoldedTexts(array, collation)
    for place in range(len(texts)):
        alone = FoldedTexts(array.slice(place, 1), collation)
        assert alone.perhaps[0] == together.perhaps[place]
        assert alone.open[0] == together.open[place]


@pytest.mark.parametrize("collation", ["latin1_swedish_ci", "utf8mb4_0900_ai_ci"])
def test_plain_texts_are_folded_alike_in_an_array_and_alone(collation: str) -> None:
    texts = ["".join(letters) for letters in itertools.product("aEosS[\\] y", repeat=4)]
    together = FoldedTexts(pa.array(texts), collation).perhaps.to_pylist()
    assert together == [_perhaps(text, collation) for text in texts]
    assert together == FoldedTexts(pa.array(together), collation).perhaps.to_pylist()


@pytest.mark.parametrize(
    ("texts", "wanted"),
    [
        (["bos", "boss", "Boss"], ["bos", "boss", "boss"]),
        (["bos", "boss", "é"], ["bos", "boss", "e"]),
        (["bos", "boss", "bös", None], ["bos", "bos", "bos", None]),
        (["bos", "boss", "が"], ["bos", "boss", "が"]),
    ],
)
def test_texts_are_apart_unless_another_may_be_equal_to_both(
    texts: list[str | None], wanted: list[str | None]
) -> None:
    assert FoldedTexts(pa.array(texts), "utf8mb4_0900_ai_ci").closest.to_pylist() == wanted
