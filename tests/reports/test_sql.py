"""SQL scripts: what can be said of them without a server (test_sql_server.py has the rest)."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binlogkit.errors import UsageError
from binlogkit.frames.schema import KINDS
from binlogkit.reports.sql import SqlOptions, comment, identifier, literal, script, statement

PLAN: dict[str, Any] = {
    "db": "shop",
    "table": "orders",
    "kind": "update",
    "set": [{"column": "state", "value": "new", "type": "enum"}],
    "where": [
        {"column": "id", "value": 7, "type": "integer"},
        {"column": "state", "value": "paid", "type": "enum"},
    ],
    "limit_one": False,
    "refused": None,
    "file": "binlog.000012",
    "pos": 1234,
    "inner": None,
    "row": 0,
    "gtid": None,
    "timestamp": 1700000000,
    "note": None,
}


def where(value: Any, kind: str, column: str = "c") -> str:
    plan = PLAN | {"kind": "delete", "where": [{"column": column, "value": value, "type": kind}]}
    return statement(plan).split(" WHERE ", 1)[1]


class TestLiterals:
    @pytest.mark.parametrize(
        ("value", "kind", "expected"),
        [
            (None, "text", "NULL"),
            (2**64 - 1, "integer", "18446744073709551615"),
            (-(2**63), "integer", "-9223372036854775808"),
            (0, "bit", "0"),
            (0, "year", "0"),
            (0.1, "double", "0.1e0"),
            (7, "double", "7.0e0"),
            (5e-324, "double", "5e-324"),
            (3.4028235e38, "float", "3.4028234663852886e+38"),
            (0.1, "float", "0.10000000149011612e0"),
            ("-12.340", "decimal", "-12.340"),
            ("1" * 66, "decimal", f"'{'1' * 66}'"),
            ("0000-00-00 00:00:00.000", "datetime", "'0000-00-00 00:00:00.000'"),
            ("", "text", "''"),
            ('plain; -- text /* # "', "text", "'plain; -- text /* # \"'"),
            ("it's", "text", "_utf8mb4 X'69742773'"),
            ("a\\b", "text", "_utf8mb4 X'615C62'"),
            ("a\nb", "text", "_utf8mb4 X'610A62'"),
            ("誠", "text", "_utf8mb4 X'E8AAA0'"),
            ("0x41", "text", "'0x41'"),
            ("0x", "binary", "X''"),
            ("0xff00", "binary", "X'FF00'"),
            ("a,b", "set", "'a,b'"),
            (3, "enum", "3"),
            ('{"a": "é"}', "json", "CAST(_utf8mb4 X'7B2261223A2022C3A9227D' AS JSON)"),
            ("[1, 2]", "json", "CAST('[1, 2]' AS JSON)"),
            ("0x00000000", "geometry", "X'00000000'"),
            ("0x0000803F", "vector", "X'0000803F'"),
        ],
    )
    def test_forms(self, value: Any, kind: str, expected: str) -> None:
        assert literal(value, kind) == expected

    @pytest.mark.parametrize(
        ("value", "kind"),
        [
            ("1; DROP TABLE t", "integer"),
            (True, "integer"),
            (2**64, "integer"),
            (1.5, "integer"),
            (float("nan"), "double"),
            ("1e0", "float"),
            (1e39, "float"),
            ("1 OR 1", "decimal"),
            ("1\n", "decimal"),
            ("٣", "decimal"),
            ("0xZZ", "binary"),
            ("FF", "binary"),
            ("0xF", "binary"),
            ("0x00'", "geometry"),
            ({"undecodable": "0x00", "reason": "r"}, "text"),
            ({"json_diff": []}, "json"),
            ("\ud800", "text"),
            ("x", "no such kind"),
        ],
    )
    def test_what_sql_cannot_say_is_refused(self, value: Any, kind: str) -> None:
        with pytest.raises(UsageError):
            literal(value, kind)

    @given(st.text() | st.integers() | st.floats() | st.none(), st.sampled_from(KINDS))
    def test_nothing_ends_a_literal(self, value: Any, kind: str) -> None:
        try:
            text = literal(value, kind)
        except UsageError:
            return
        assert text.isascii() and text.isprintable() and "\\" not in text
        assert re.fullmatch(r"(CAST\()?(_utf8mb4 )?X?'[^']*'( AS JSON\))?|NULL|[-+.e0-9]+", text)


class TestNames:
    @pytest.mark.parametrize(
        ("name", "expected"), [("a", "`a`"), ("a`b", "`a``b`"), ("a;'\"--", "`a;'\"--`")]
    )
    def test_backquotes(self, name: str, expected: str) -> None:
        assert identifier(name) == expected

    @pytest.mark.parametrize("name", ["", "a\0b"])
    def test_no_name(self, name: str) -> None:
        with pytest.raises(UsageError):
            identifier(name)

    def test_a_name_beyond_ascii_is_prepared_from_hexadecimal(self) -> None:
        lines = list(script([PLAN | {"table": "订单`; DROP"}]))
        assert "PREPARE bk_statement FROM @bk_sql;\n" in lines
        stored = [line for line in lines if line.startswith("SET @bk_sql =")]
        text, read = (bytes.fromhex(line.split("'")[1]).decode("utf-8") for line in stored)
        assert read.startswith("SET @bk_found = (SELECT COUNT(*) FROM `shop`.`订单``; DROP`")
        assert text.startswith("UPDATE `shop`.`订单``; DROP` SET `state` = 'new' WHERE ")


class TestStatements:
    def test_update(self) -> None:
        assert statement(PLAN) == (
            "UPDATE `shop`.`orders` SET `state` = 'new' WHERE `id` <=> 7 AND `state` <=> 'paid'"
        )

    def test_insert(self) -> None:
        plan = PLAN | {"kind": "insert", "where": [], "limit_one": True}
        assert statement(plan) == "INSERT INTO `shop`.`orders` (`state`) VALUES ('new')"

    def test_delete_of_one_of_many(self) -> None:
        plan = PLAN | {"kind": "delete", "set": [], "limit_one": True}
        assert statement(plan) == (
            "DELETE FROM `shop`.`orders` WHERE `id` <=> 7 AND `state` <=> 'paid' LIMIT 1"
        )

    def test_text_is_compared_with_an_index_and_exactly(self) -> None:
        exact = "CAST(CONVERT(`c` USING utf8mb4) AS BINARY)"
        assert where("abc", "text") == f"`c` <=> 'abc' AND {exact} <=> 'abc'"
        assert where("é", "text") == f"`c` <=> _utf8mb4 X'C3A9' AND {exact} <=> X'C3A9'"
        assert where("x" * 769, "text") == f"{exact} <=> '{'x' * 769}'"

    @pytest.mark.parametrize("kind", KINDS)
    def test_null(self, kind: str) -> None:
        assert where(None, kind) == "`c` <=> NULL"

    @pytest.mark.parametrize(("value", "kind"), [(0.5, "float"), (0.5, "double"), ("1", "json")])
    def test_inexact_types_tell_no_row(self, value: Any, kind: str) -> None:
        with pytest.raises(UsageError, match="cannot identify a row"):
            where(value, kind)

    def test_on_update_current_timestamp_does_not_fire(self) -> None:
        text = statement(PLAN | {"keep": ["at", "b`k"]})
        assert "SET `state` = 'new', `at` = `at`, `b``k` = `b``k` WHERE" in text
        with pytest.raises(UsageError):
            statement(PLAN | {"keep": ["a\0"]})

    @pytest.mark.parametrize(
        "change",
        [
            {"refused": "no column can tell the row"},
            {"kind": "truncate"},
            {"kind": "delete", "where": []},
            {"set": []},
            {"kind": "insert", "set": []},
            {"table": ""},
            {"set": [{"column": "e", "value": 0, "type": "enum"}]},
            {
                "set": [
                    {"column": "e", "value": {"undecodable": "0x", "reason": ""}, "type": "text"}
                ]
            },
        ],
    )
    def test_refused(self, change: dict[str, Any]) -> None:
        with pytest.raises(UsageError):
            statement(PLAN | change)


class TestScript:
    def test_one_comment_or_statement_a_line(self) -> None:
        lines = list(script([PLAN, PLAN | {"refused": "a reason"}]))
        assert all(line.endswith("\n") and line.count("\n") == 1 for line in lines)
        assert all(line.startswith("--") or line.endswith(";\n") for line in lines)
        assert lines[-1] == "SET SESSION autocommit = @bk_autocommit;\n"
        assert "-- 2: REFUSED, no statement: a reason\n" in lines
        assert any("SELECT 1 AS statements, 1 AS refused" in line for line in lines)

    def test_each_setting_is_restored(self) -> None:
        text = "".join(script([]))
        saved = re.findall(r"SET @bk_(\w+) = @@SESSION\.\1;", text)
        assert len(saved) >= 9
        for name in saved:
            assert text.count(f"SET SESSION {name} = @bk_{name};") == 1

    def test_it_commits_only_when_asked(self) -> None:
        assert "SET @bk_commit = 0;\n" in script([PLAN])
        assert "SET @bk_commit = 1;\n" in script([PLAN], SqlOptions(commit=True))
        assert "COMMIT;\n" not in list(script([PLAN], SqlOptions(commit=True)))

    def test_rows_that_were_written_are_read_back(self) -> None:
        by_key = "FROM `shop`.`orders` WHERE `id` <=> 7 AND `state` <=> 'new')"
        lines = list(script([PLAN]))
        read = lines.index(f"SET @bk_found = (SELECT COUNT(*) {by_key};\n")
        assert lines[read - 2].startswith("UPDATE") and "@bk_same + " in lines[read + 1]
        lines = list(script([PLAN | {"limit_one": True}]))
        before = lines.index(f"SET @bk_before = (SELECT COUNT(*) {by_key};\n")
        assert lines[before + 1].startswith("UPDATE")
        assert lines[before + 3] == f"SET @bk_found = (SELECT COUNT(*) {by_key} - @bk_before;\n"
        assert not any("SELECT COUNT" in s for s in script([PLAN | {"kind": "delete", "set": []}]))
        odd = {"column": "f", "value": 0.5, "type": "float"}
        lines = list(script([PLAN | {"kind": "insert", "where": [], "set": [odd]}]))
        assert "SET @bk_found = (SELECT COUNT(*) FROM `shop`.`orders` WHERE TRUE);\n" in lines

    def test_its_verdict_names_what_was_refused(self) -> None:
        refused = PLAN | {"refused": "a reason"}

        def verdict(*plans: dict[str, Any]) -> str:
            return next(s for s in script(plans, SqlOptions(commit=True)) if "AS verdict" in s)

        assert "THEN 'committed' " in verdict(PLAN)
        some = verdict(PLAN, refused, refused, PLAN)
        assert "'committed 2 statements; 2 changes were refused and not carried out'" in some
        none = verdict(refused)
        assert "'nothing to commit: 1 change was refused and not carried out'" in none

    def test_it_commits_beside_refusals_only_when_asked(self) -> None:
        plans = [PLAN, PLAN | {"refused": "a reason"}]
        text = "".join(script(plans, SqlOptions(commit=True)))
        assert "SET @bk_despite_refused = 0;\n" in text
        asked_of = "@bk_despite_triggers = 1) AND @bk_keys IS NULL AND @bk_despite_refused = 1, "
        assert asked_of + "'COMMIT'" in text
        asked = SqlOptions(commit=True, despite_refused=True)
        assert "SET @bk_despite_refused = 1;\n" in script(plans, asked)
        assert "AND @bk_keys IS NULL AND FALSE, 'COMMIT'" in "".join(script(plans[1:], asked))

    @given(st.text(), st.text())
    def test_nothing_ends_a_comment(self, name: str, note: str) -> None:
        plan = PLAN | {"table": name, "note": note, "gtid": note, "file": name, "refused": note}
        for line in script([plan], SqlOptions(title=name, made_by=note)):
            assert line[:-1].isascii() and line[:-1].isprintable()
            assert line.startswith("--") or line.endswith(";\n")

    def test_a_comment_starts_as_one(self) -> None:
        assert comment("a\nDROP TABLE t;\u2028\x1b") == r"-- a\nDROP TABLE t;\u2028\x1b"

    def test_a_long_statement_is_announced(self) -> None:
        item = {"column": "b", "value": "0x" + "00" * (1 << 20), "type": "binary"}
        lines = list(script([PLAN | {"set": [item]}]))
        assert any("max_allowed_packet" in line for line in lines)

    def test_a_crafted_timestamp(self) -> None:
        assert any(
            "timestamp 999999999999999" in s
            for s in script([PLAN | {"timestamp": 999999999999999}])
        )
