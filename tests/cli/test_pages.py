"""Pages of results: the same bytes each time, alone where columns are masked, and then without
them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from binlogkit.sources.sample import sample
from tests.cli.conftest import Ran

Run = Callable[..., Ran]
COMMANDS = {
    "audit": ("audit", "LOG"),
    "explain": ("explain", "LOG", "--at", "76096", "--at", "75847"),
    "diff": ("diff", "LOG", "--table", "shop.orders", "--from", "binlog.000001:75000"),
    "undo": ("undo", "LOG", "--at", "75676", "--mode", "merge"),
    "redo": ("redo", "LOG", "--at", "75676"),
}
#: Values of shop.orders.comment, and of the statement that wrote one of them.
VALUES = ("goodwill", "gift wrap")


def words(name: str) -> list[str]:
    return [str(sample()) if word == "LOG" else word for word in COMMANDS[name]]


@pytest.mark.parametrize("name", COMMANDS)
def test_the_same_input_gives_the_same_bytes(run: Run, tmp_path: Path, name: str) -> None:
    pages = [tmp_path / one for one in ("a.html", "b.html")]
    for page in pages:
        done = run(*words(name), "--html", page)
        assert done.status in (0, 1) and done.out == b""
    assert pages[0].read_bytes() == pages[1].read_bytes()
    text = pages[0].read_text("utf-8")
    assert "<dt>tool</dt><dd>binlogkit " in text and VALUES[0] in text


@pytest.mark.parametrize("how", ["drop", "hash", "truncate:3"])
@pytest.mark.parametrize("name", COMMANDS)
def test_masked_columns_are_in_no_page(run: Run, tmp_path: Path, name: str, how: str) -> None:
    """Neither as text nor as bytes, in a statement or in words."""
    page, key = tmp_path / "page.html", tmp_path / "key"
    key.write_bytes(b"k" * 32)
    keyed = ("--mask-key", key) if how == "hash" else ()
    done = run(*words(name), "--html", page, "--mask", f"Orders.COMMENT={how}", *keyed)
    assert done.status in (0, 1) and done.out == b""
    text = page.read_text("utf-8")
    assert "shop.orders" in text or "orders" in text
    digits = text.replace("</a>", "").replace(" ", "")
    for value in VALUES:
        assert value not in text and value.encode().hex()[:12] not in digits
    if name in ("audit", "diff"):
        assert "2024-05-14 14:03:07.000" in text  # other columns are there
        assert ('<td class="name">comment</td>' in text) == (how != "drop")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--mask", "orders.comment=drop"], "--mask holds for a page: give --html, too"),
        (["--html", "X", "--mask", "orders.coment=drop"], "is for no column in these logs"),
        (["--html", "X", "--mask", "ordrs.comment=drop"], "is for no table in these logs"),
        (["--html", "X", "--mask", "orders.comment=hide"], "a mask is [DB.]TABLE.COLUMN=drop"),
        (["--html", "X", "--mask", "orders.comment=clear"], "=clear is for a landing"),
        (["--html", "X", "--mask", "orders.comment=hash"], "hash needs a key"),
        (["--html", "X", "--mask", "orders.comment=drop", "--output", "Y"], "leave out --output"),
    ],
)
@pytest.mark.parametrize("name", COMMANDS)
def test_what_would_show_a_masked_column_is_refused(
    run: Run, tmp_path: Path, name: str, options: list[str], told: str
) -> None:
    page, other = tmp_path / "page.html", tmp_path / "other"
    given = [str({"X": page, "Y": other}.get(one, one)) for one in options]
    done = run(*words(name), *given)
    assert done.status == 2 and told in done.complaint and done.out == b""
    assert not page.exists() and not other.exists()


def test_a_filter_does_not_tell_a_masked_value(run: Run, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    asked = ("--where", "comment=goodwill, ticket 4711", "--html", page)
    for command in ("audit", "undo"):
        run(command, sample(), *asked)
        assert "ticket 4711" in page.read_text("utf-8")
        run(command, sample(), *asked, "--mask", "shop.orders.comment=drop")
        assert "ticket" not in page.read_text("utf-8")
