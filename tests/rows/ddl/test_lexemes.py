"""What a pattern cuts is what sqlglot's tokenizer cuts, in every SQL mode; the rest it leaves."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binlogkit.rows.ddl.lexemes import Lexeme, cut, ordinary

LOG = Path(__file__).parents[2] / "_data" / "8.0-row-full" / "transactions" / "binlog.000001"
PARTS = (
    *"$@é(),;=.-/*#:?{}<>!|&~^%[]`'\" \n\t\v\xa0",
    "a", "_b", "N", "x", "X", "b", "B", "e", "E1", "1a", "0", "12", "1.5", "1.", ".5", "1e5", "0x1",
    "0b1", "--", "_utf8", "int", "CREATE", "`a`", "`a``b`", "`é`", "`a\\`", "``", "'s'", "''",
    "'a''b'", "'\\''", "'é'", '"d"', "N'x'", "  ",
)  # fmt: skip


@settings(deadline=None, max_examples=1000)
@given(st.lists(st.sampled_from(PARTS), max_size=8))
def test_both_cut_alike(parts: list[str]) -> None:
    text = "".join(parts)
    found = ordinary(text)
    if found is not None:
        for ansi in (False, True):
            for bare in (False, True):
                assert cut(text, ansi_quotes=ansi, no_escapes=bare) == found


def test_an_ordinary_statement() -> None:
    text = "CREATE TABLE `a b`.t (id INT DEFAULT '0', d DECIMAL(6,2)) ENGINE=InnoDB; "
    found = ordinary(text)
    assert found == cut(text, ansi_quotes=False, no_escapes=False)
    assert found is not None
    assert found[2:6] == [
        Lexeme("name", "a b", ""), Lexeme("sign", ".", "."), Lexeme("word", "t", "T"),
        Lexeme("sign", "(", "("),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "'it''s'",
        r"'\n'",
        '"a"',
        "`a``b`",
        "N'x'",
        "_utf8'x'",
        "1e5",
        "-1",
        "a$b",
        "t.1",
        "é",
        "0x1",
    ],
)
def test_what_is_left_to_sqlglot(text: str) -> None:
    assert ordinary(f"SET x = {text}") is None


def test_a_log_is_read_without_what_it_does_not_need() -> None:
    """Its DDL is ordinary: no sqlglot; its bytes are a file's: no texts, keys or connections."""
    code = (
        "import sys, binlogkit as bk\n"
        f"n = sum(b.batch.num_rows for b in bk.open({str(LOG)!r}).batches())\n"
        "assert n\n"
        "unused = ('sqlglot', 'pandas', 'ssl', 'cryptography', 'pymysql',"
        " 'binlogkit.sources.text.content', 'binlogkit.rows.explain')\n"
        "print([name for name in unused if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("text", ["0XaB", "0Xa0", "0B1", "0B10"])
def test_only_a_lower_case_letter_begins_a_literal(text: str) -> None:
    found = cut(text, ansi_quotes=False, no_escapes=False)
    assert found == [Lexeme("word", text, "")]
