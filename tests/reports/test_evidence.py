"""The evidence report from the frames of the analyses, and from a real log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import binlogkit as bk
from binlogkit.reports import html, text
from binlogkit.reports._table import Screen
from binlogkit.reports.evidence import evidence_report
from binlogkit.reports.model import Items, Report, Section, Table, Text

GOLDEN = Path(__file__).parents[1] / "_data" / "8.0-row-full" / "transactions" / "binlog.000001"

SUMMARY = {
    "source": "s", "file": "b.1", "first_timestamp": 1, "last_timestamp": 2, "transactions": 5,
    "committed": 3, "rolled_back": 1, "prepared": 0, "cut": 1, "open": 0, "events": 9, "size": 99,
    "rows": 1000, "inserts": 400, "updates": 350, "deletes": 250,
}  # fmt: skip


SUSPECT = {
    "rank": 1, "score": 76, "rule": "one_value", "timestamp": 1715695387, "thread_id": 106,
    "db": "shop", "table": "or\x1b[31mders", "op": "update", "rows": 1234, "what": "a → <b>",
    "why": "because", "file": "b.1", "pos": 75676, "undo": "binlogkit undo --at b.1:75676 b.1",
}  # fmt: skip


def section(report: Report, title: str) -> Section:
    return next(s for s in report.sections if s.title == title)


def cards(report: Report) -> dict[str, tuple[str, str, str]]:
    return {card.label: (card.value, card.note, card.tone) for card in report.cards}


class TestSections:
    def test_only_what_is_given_has_a_section(self) -> None:
        assert evidence_report({}).sections == []
        report = evidence_report({"integrity": [], "summary": [SUMMARY]})
        assert [s.title for s in report.sections] == ["Integrity", "What is in the files"]

    def test_order_and_limits_last(self) -> None:
        limits = [{"limit": "reads", "grade": "applies", "meaning": "m", "evidence": "e"}]
        report = evidence_report({"files": [{"file": "b"}], "limits": limits})
        titles = [s.title for s in report.sections]
        assert titles == ["Files", "What this log cannot show"]
        (table,) = section(report, titles[-1]).parts
        assert isinstance(table, Table)
        assert list(table.rows) == limits

    def test_what_is_taken_for_granted_is_said(self) -> None:
        report = evidence_report({"assumes": [{"assumed": "A."}, {"assumed": "B."}]})
        (items,) = section(report, "Assumptions").parts
        assert items == Items([("", "A."), ("", "B.")])

    def test_an_intact_log_is_called_so(self) -> None:
        report = evidence_report({"integrity": []})
        (said,) = section(report, "Integrity").parts
        assert isinstance(said, Text) and said.tone == "good"
        assert cards(report)["integrity"] == ("intact", "", "good")
        found = [{"grade": "damage", "finding": "x"}, {"grade": "unknown", "finding": "y"}]
        told = cards(evidence_report({"integrity": found[:1]}))["integrity"]
        assert told == ("1 finding", "", "bad")
        report = evidence_report({"integrity": found})
        assert cards(report)["integrity"] == ("2 findings", "", "bad")

    def test_a_bad_checksum_is_said(self) -> None:
        counts = [{"file": "a", "ok": 9, "bad": 0, "none": 0}, {"file": "b", "ok": 1, "bad": 2}]
        report = evidence_report({"files": counts})
        assert any(isinstance(p, Text) and p.tone == "bad" for p in section(report, "Files").parts)
        assert cards(report)["bad checksums"] == ("2", "10 good, 0 without", "bad")

    def test_totals(self) -> None:
        found = cards(evidence_report({"summary": pd.DataFrame([SUMMARY, SUMMARY])}))
        assert found["row changes"][:2] == ("2,000", "800 inserts, 700 updates, 500 deletes")
        assert found["not committed"] == ("4", "2 rolled back, 2 cut", "warn")

    def test_what_it_is_made_of(self) -> None:
        """Tool, logs, server, span and filters; no time of making."""
        files = [
            {"file": f"b.{i}", "server_version": "8.0.31", "first_timestamp": 60 + i,
             "last_timestamp": 90 - i}
            for i in range(5)
        ]  # fmt: skip
        threads = [{"server_id": 80, "thread_id": n, "rows": 1} for n in (1, 2)]
        report = evidence_report({"files": files, "by_thread": threads}, chosen="--table t")
        assert report.facts == [
            ("tool", f"binlogkit {bk.__version__}"),
            ("logs", "b.0, b.1, b.2, 2 more"),
            ("server", "8.0.31, server id 80"),
            ("span", "1970-01-01 00:01:00 UTC to 1970-01-01 00:01:30 UTC"),
            ("only", "--table t"),
        ]
        assert evidence_report({}).facts == report.facts[:1]

    def test_only_suspects_are_open(self) -> None:
        files = [{"file": "b"}]
        report = evidence_report(
            {"suspects": [SUSPECT], "files": files, "limits": [], "assumes": []}
        )
        assert [s.title for s in report.sections if not s.folded] == ["Suspects"]
        assert len(report.sections) == 4


class TestSuspects:
    """The report opens with them."""

    def test_they_come_first_in_cards_and_sections(self) -> None:
        evidence = {"suspects": [SUSPECT], "files": [{"file": "b.1"}], "integrity": []}
        report = evidence_report(evidence)
        assert [s.title for s in report.sections] == ["Suspects", "Files", "Integrity"]
        assert [card.label for card in report.cards][:2] == ["suspects", "integrity"]
        assert cards(report)["suspects"] == (
            "1", "first: update shop.or\x1b[31mders, 1,234 rows", "warn",
        )  # fmt: skip

    def test_a_pipe_gets_a_line_and_a_terminal_a_block_of_each(self) -> None:
        report = evidence_report({"suspects": [SUSPECT]})
        piped = "".join(text.render(report)).splitlines()
        assert sum("--at b.1:75676" in line for line in piped) == 1
        (line,) = (line for line in piped if "--at b.1:75676" in line)
        assert "2024-05-14T14:03:07Z" in line and "a → <b>" in line and "because" in line
        shown = "".join(text.render(report, Screen(60)))
        assert shown.count("\n     binlogkit undo --at b.1:75676 b.1\n") == 1
        assert "76  2024-05-14T14:03:07Z  connection 106" in shown
        assert "not shown" not in shown
        page = html.render(report)
        assert "a → &lt;b&gt;" in page
        for written in ("\n".join(piped), shown, page):
            assert "\x1b" not in written and "or\\x1b[31mders" in written

    def test_an_ordinary_log_has_none(self) -> None:
        report = evidence_report({"suspects": []})
        assert cards(report)["suspects"] == ("0", "", "good")
        assert "nothing unusual" in "".join(text.render(report))


@pytest.mark.parametrize(
    ("known", "told"),
    [
        ([], "The log has no statement texts: it has none for its 24,567 row changes."),
        ([{"query": "DELETE", "rows": 67}], "no statement text for 24,500 of 24,567 row changes."),
        ([{"query": "DELETE", "rows": 24567}], None),
    ],
)
def test_changes_of_unknown_statements_are_counted_in_words(
    known: list[dict[str, Any]], told: str | None
) -> None:
    tables = [{"db": "d", "table": "t", "rows": 24000}, {"db": "d", "table": "u", "rows": 567}]
    report = evidence_report({"by_statement": known, "by_table": tables})
    written = " ".join("".join(text.render(report)).split())
    for shown in (written, html.render(report)):
        assert ("no statement text" in shown) == (told is not None)
        assert (told or "") in shown and ("DELETE" in shown) == bool(known)
    assert ("binlog_rows_query_log_events" in written) == (told is not None)


@pytest.fixture(scope="module")
def golden() -> Report:
    log = bk.open(str(GOLDEN))
    changes: Any = log.rows(engine="pyarrow")
    transactions: Any = log.transactions()
    return evidence_report(
        {
            "integrity": [],
            "summary": bk.audit.summary(transactions),
            "by_table": bk.audit.by_table(changes),
            "by_minute": bk.audit.by_minute(changes),
            "by_thread": bk.audit.by_thread(transactions),
            "largest": bk.audit.largest(transactions),
            "by_statement": bk.audit.by_statement(changes),
            "settings": bk.audit.settings(log.statements()),
            "limits": bk.audit.limits(transactions, changes),
        }
    )


class TestRealLog:
    def test_html(self, golden: Report) -> None:
        page = html.render(golden)
        assert page == html.render(golden)
        assert "bank" in page and "ledger" in page

    def test_text(self, golden: Report) -> None:
        written = "".join(text.render(golden))
        assert written.isprintable() or "\x1b" not in written
        for word in ("ledger", "rolled back", "Who read what"):
            assert word in written
