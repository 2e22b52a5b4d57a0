"""What livestate/views/kinds.py holds of printable ASCII, as servers compare by collations."""

from __future__ import annotations

import itertools

import pytest

from binlogkit.livestate.views.kinds import BYTES, FOLDING
from tests.sources.server.conftest_server import shared_series

pytestmark = pytest.mark.server

PRINTABLE = [chr(code) for code in range(32, 127)]
WORDS = [c for c in PRINTABLE if c.isalnum() or c == " "]


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
        for collation in sorted(FOLDING | BYTES):
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
            folded = f"{pairs} AND BINARY LOWER(x.s) <> BINARY LOWER(y.s)"
            cursor.execute(folded if collation in FOLDING else f"{pairs} AND BINARY x.s <> y.s")
            assert cursor.fetchall()[0][0] == 0, collation
            if collation in FOLDING:
                cursor.execute("SELECT s FROM k.t WHERE s REGEXP '^[0-9A-Za-z ]*$' ORDER BY s")
                shown = [row[0].lower() for row in cursor.fetchall()]
                assert shown == sorted(shown), collation
        assert met > len(FOLDING | BYTES) // 2
