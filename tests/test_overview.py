"""What Python and notebooks show of a result."""

from __future__ import annotations

from binlogkit.overview import Overview, Overviewed


class _Result(Overviewed):
    def overview(self) -> Overview:
        rows = ({"n": n} for n in range(1000))
        return Overview("found in <b>", [("rows", 1000), ("of", "a\x1b[31m")], rows)


def test_a_line_in_the_prompt() -> None:
    assert repr(_Result()) == "<found in <b>: rows: 1000; of: a\\x1b[31m>"


def test_a_table_in_a_notebook() -> None:
    page = _Result()._repr_html_()
    assert page.startswith("<p><b>found in &lt;b&gt;</b><br>rows: 1000<br>of: a")
    assert page.count("<td>") == 20 and "\x1b" not in page
