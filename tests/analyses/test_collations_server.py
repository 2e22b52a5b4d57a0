"""What analyses/collations.py holds of texts, as servers compare them by their collations."""

from __future__ import annotations

import itertools
from collections import defaultdict

import pyarrow as pa
import pytest

from binlogkit.analyses.collations import FOLDING, PADDED, FoldedTexts
from tests.sources.server.conftest_server import shared_series

pytestmark = pytest.mark.server

PRINTABLE = [chr(code) for code in range(32, 127)]
SCRIPTS = [chr(code) for code in (*range(1, 0x600), *range(0x1E00, 0x2100), *range(0x3000, 0x3100))]
OTHERS = [chr(code) for code in (*range(0x3100, 0xD800, 101), *range(0xF900, 0x1FFFF, 211))]
ASCII_WORDS = ["ch", "CH", "ll", "dz", "ccs", "cscs", "--", "a--b", "ab", "a b", "AB", "x ", "ß"]


@pytest.mark.parametrize("series", ["5.7", "8.0", "9"])
def test_printable_ascii(series: str) -> None:
    """Equality is that of small letters, of bytes with ``_bin``; the order of letters, digits and
    blanks is that of small letters. Texts of several characters, with what ignores or contracts."""
    texts = [a + b for a, b in itertools.product("aZ9 .-_'", PRINTABLE)]
    texts = sorted({t for t in texts if not t.endswith(" ")} | {t for t in PRINTABLE if t != " "})
    texts += ["ss", "SS", "ch", "CH", "ll", "dz", "--", "a--b", "ab", "a b", "AB"]
    with (
        shared_series(series, {}) as server,
        server.connect() as session,
        session.cursor() as cursor,
    ):
        cursor.execute("SELECT collation_name FROM information_schema.collations")
        there = {row[0].replace("utf8_", "utf8mb3_"): row[0] for row in cursor.fetchall()}
        met = 0
        for collation in sorted(FOLDING | PADDED):
            if collation not in there:
                continue
            met += 1
            charset = there[collation].split("_")[0]
            cursor.execute("CREATE DATABASE IF NOT EXISTS k")
            cursor.execute("DROP TABLE IF EXISTS k.t")
            cursor.execute(
                f"CREATE TABLE k.t (s VARCHAR(9) CHARSET {charset} COLLATE {there[collation]})"
            )
            cursor.executemany("INSERT INTO k.t VALUES (%s)", [(text,) for text in texts])
            cursor.execute("SELECT COUNT(*) FROM k.t GROUP BY s")
            groups = sorted(row[0] for row in cursor.fetchall())
            key = str.lower if collation in FOLDING else str
            ours = [len([*g]) for _, g in itertools.groupby(sorted(texts, key=key), key)]
            assert groups == sorted(ours), collation
            pairs = "SELECT COUNT(*) FROM k.t x JOIN k.t y ON x.s = y.s"
            small = f"{pairs} AND BINARY LOWER(x.s) <> BINARY LOWER(y.s)"
            cursor.execute(small if collation in FOLDING else f"{pairs} AND BINARY x.s <> y.s")
            assert cursor.fetchall()[0][0] == 0, collation
            if collation in FOLDING:
                cursor.execute("SELECT s FROM k.t WHERE s REGEXP '^[0-9A-Za-z ]*$' ORDER BY s")
                shown = [row[0].lower() for row in cursor.fetchall()]
                assert shown == sorted(shown), collation
        assert met > len(FOLDING | PADDED) // 2


@pytest.mark.parametrize("series", ["5.7", "8.0", "9"])
def test_no_other_texts_are_equal(series: str) -> None:
    """Texts of the same weights by any collation are ``perhaps`` the same, or open; those that have
    the same ``equal`` have the same weights."""
    letters = [a + b for a, b in itertools.product("abcdefghijklmnopqrstuvwxyz", repeat=2)]
    texts = list(dict.fromkeys([*SCRIPTS, *OTHERS, *letters, *ASCII_WORDS, ""]))
    column = pa.chunked_array([pa.array(texts)])
    with (
        shared_series(series, {}) as server,
        server.connect() as session,
        session.cursor() as cursor,
    ):
        cursor.execute("CREATE DATABASE IF NOT EXISTS k")
        cursor.execute("DROP TABLE IF EXISTS k.w")
        cursor.execute("CREATE TABLE k.w (id INT, c VARCHAR(4) CHARSET utf8mb4)")
        cursor.executemany("INSERT INTO k.w VALUES (%s, %s)", list(enumerate(texts)))
        cursor.execute(
            "SELECT collation_name, character_set_name FROM information_schema.collations"
            " WHERE character_set_name <> 'binary'"
        )
        wrong = list[tuple[str, list[str]]]()
        for collation, charset in cursor.fetchall():
            text = f"CONVERT(c USING {charset})"
            cursor.execute(
                f"SELECT id, WEIGHT_STRING({text} COLLATE {collation} AS CHAR(4)) FROM k.w"
                f" WHERE BINARY CONVERT({text} USING utf8mb4) = BINARY c"
            )
            ours = FoldedTexts(column, str(collation).replace("utf8_", "utf8mb3_"))
            equal, perhaps = ours.equal.to_pylist(), ours.perhaps.to_pylist()
            weights, alike = defaultdict[bytes, list[int]](list), defaultdict[str, set[bytes]](set)
            for number, weight in cursor.fetchall():
                weights[weight].append(number)
                alike[equal[number]].add(weight)
            wrong += [(collation, [own]) for own, found in alike.items() if len(found) > 1]
            for group in weights.values():
                known = [i for i in group if not ours.open[i]]
                exact = [i for i in group if ours.exact[i]]
                for some, by in ((known, perhaps), (exact, equal)):
                    if len({by[i] for i in some}) > 1:
                        wrong.append((collation, [texts[i] for i in some]))
        assert not wrong
