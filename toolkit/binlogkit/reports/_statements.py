"""A plan as a statement, and as the lines of a script: what runs it and counts what it changed.

This is for one plan; _statement_columns.py makes the same for many at once.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from binlogkit.errors import UsageError, printable
from binlogkit.reports._literals import comment, identifier, literal, prepared, quoted, writable

if TYPE_CHECKING:
    from binlogkit.frames.text_columns import Part

Plan = Mapping[str, Any]

#: A text longer than this cannot be a key (InnoDB: 3072 bytes), so no index is lost without it.
LONGEST_KEY = 768
#: Bytes; 5.7's max_allowed_packet is 4 MiB, the client's 16 MiB.
LONG_STATEMENT = 1 << 20
#: The texts before the reason of a refusal, and of a skipped plan.
NO_STATEMENT = (": REFUSED, no statement: ", ": SKIPPED, no statement: ")
TOO_LONG = " bytes: max_allowed_packet of client and server must be larger"
INEXACT = ("float", "double", "json")  # never compared: docs/traps.md
NO_VALUE = "no column has a value"  # the row would consist of defaults
#: What counts the rows of the statement before; it goes on both sides of its number.
#: ``ROW_COUNT()`` is −1 after an error. The second one is for updates that do not compare what they
#: set: the row may hold it already, and :data:`READ` looks whether it does.
COUNTED, COUNTED_OR_SAME = (
    (
        f"SET @bk_wrong = @bk_wrong + (ROW_COUNT() {wrong}), @bk_which = IF(ROW_COUNT() {well} OR "
        "LENGTH(@bk_which) > 99, @bk_which, CONCAT(@bk_which, ' ",
        "'));",
    )
    for wrong, well in (("<> 1", "= 1"), ("NOT IN (0, 1)", "IN (0, 1)"))
)
#: What counts the rows that hold what was meant; it goes around and between two copies of the
#: statement's number. A read that fails leaves NULL, so that it is not counted.
READ = (
    "SET @bk_same = @bk_same + (@bk_found <=> 1), @bk_which = IF(@bk_found <=> 1 OR "
    "LENGTH(@bk_which) > 99 OR SUBSTRING_INDEX(@bk_which, ' ', -1) = '",
    "', @bk_which, CONCAT(@bk_which, ' ",
    "')), @bk_found = NULL;",
)


#: Counts the rows of the same table that refer to the row of the next statement, which cannot look
#: for them itself (error 1093); and the condition that there are none.
_OWN = "@bk_referring"
#: Around a statement for which the server must not check foreign keys; and after one that left its
#: row, since the next ones may need what it should have written: the verdict says why, no error.
CHECKS = ("SET SESSION foreign_key_checks = 0;", "SET SESSION foreign_key_checks = @bk_wrong = 0;")
_LOCKED = " LOCK IN SHARE MODE"  # as they are now, not as when the transaction began


def plan_lines(plan: Plan, number: int) -> tuple[list[str], str | None]:
    """The lines of a plan, and why it is refused, which they say, too; None if it is not."""
    words = {name: form(plan.get(name)) for name, form in FORMS.items()}
    lines = [comment(f"{number}: {''.join(map(str, origin(str(plan.get('kind')), words)))}")]
    try:
        text = statement(plan)
    except UsageError as exc:
        how = NO_STATEMENT[bool(plan.get("skipped"))]
        return [*lines, comment(f"{number}{how}{exc}")], str(exc)
    before, after = ("".join(map(str, parts)) for parts in _reads(plan))
    table = f"{quoted(plan['db'])}.{quoted(plan['table'])}"
    own = "".join(map(str, counts_referring(table, plan.get("unreferred") or (), [_where(plan)])))
    lines += [f"{part};" for read in (own, before) for part in prepared(read) if part]
    if len(text) > LONG_STATEMENT:
        lines.append(comment(f"{len(text)}{TOO_LONG}"))
    counted = COUNTED_OR_SAME if _same_is_well(plan) else COUNTED
    run = [*(f"{part};" for part in prepared(text)), f"{number}".join(counted)]
    lines += [CHECKS[0], *run, CHECKS[1]] if plan.get("unchecked") else run
    if referring := plan.get("unreferred"):
        alone = "".join(f" AND {term}" for term in unreferred(table, referring))
        parts = "".join(map(str, counts_guarded(table, [_where(plan)], [alone])))
        lines += [*(f"{part};" for part in prepared(parts)), CHECKS[1]]
    if after:
        lines += [*(f"{part};" for part in prepared(after)), f"{number}".join(READ)]
    return lines, None


def _same_is_well(plan: Plan) -> bool:
    """Whether the row of an update may hold already what it sets."""
    if plan["kind"] != "update" or plan.get("limit_one") or plan.get("unreferred"):
        return False
    found = {item["column"] for item in plan["where"]}
    return found.isdisjoint(item["column"] for item in plan["set"])


def last_checks(plan: Plan) -> Iterator[str]:
    """The lines at the end that count the references which dangle by the keys that the server did
    not check for a plan's statement."""
    for check in plan.get("unchecked") or ():
        if check["dangled"]:
            continue
        items = {i["column"].lower(): i for i in plan["set" if check["written"] else "where"]}
        given = [items[c.lower()] for c in check["columns" if check["written"] else "referenced"]]
        values = [_in_column(i["column"], i["value"], i["type"]) for i in given]
        child, parent = (
            " AND ".join(f"{quoted(c)} = {v}" for c, v in zip(check[side], values, strict=True))
            for side in ("columns", "referenced")
        )
        of, to = (
            f"{quoted(check[f'{side}db'])}.{quoted(check[f'{side}table'])}"
            for side in ("", "parent_")
        )
        dangling = (
            f"(SELECT COUNT(*) FROM {of} WHERE {child} AND NOT EXISTS (SELECT 1 FROM {to} WHERE "
            f"{parent}{_LOCKED}){_LOCKED})"
        )
        if check["orphans"]:
            dangling = f"({dangling} > {check['orphans']})"
        parts = prepared(f"SET @bk_orphans = @bk_orphans + {dangling}")
        yield from (f"{part};" for part in parts)


def statement(plan: Plan) -> str:
    """The plan's one statement, without a semicolon.

    UsageError: the plan is refused, a value cannot be written, or the row is not identified.
    """
    if plan.get("refused"):
        raise UsageError(str(plan["refused"]))
    kind = plan["kind"]
    if kind not in ("insert", "update", "delete"):
        raise UsageError(f"a plan cannot {printable(str(kind))} a row")
    table = f"{identifier(plan['db'])}.{identifier(plan['table'])}"
    for item in (*plan["set"], *plan["where"]):
        identifier(item["column"])
    for name in (*kept_of(plan), *names_of(referring := plan.get("unreferred") or ())):
        identifier(name)
    for check in plan.get("unchecked") or ():
        for name in (*names_of([check]), check["parent_db"], check["parent_table"]):
            identifier(name)
    columns = [quoted(item["column"]) for item in plan["set"]]
    values = [_assigned(item) for item in plan["set"]]
    if not values and kind != "delete":
        raise UsageError(NO_VALUE if kind == "insert" else "no column changes")
    if not plan["where"] and kind != "insert":
        raise UsageError("the log does not show which row it was")
    if kind == "update":
        values = [f"{c} = {v}" for c, v in zip(columns, values, strict=True)] + [
            kept(name) for name in kept_of(plan)
        ]
    limit = " LIMIT 1" if plan.get("limit_one") else ""
    alone = "".join(f" AND {term}" for term in unreferred(table, referring))
    parts = sentence(kind, table, columns, [", ".join(values)], [_where(plan), alone], limit)
    return "".join(map(str, parts))


def _where(plan: Plan) -> str:
    terms = (condition(item["column"], item["value"], item["type"]) for item in plan["where"])
    return " AND ".join(terms)


def names_of(referring: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The names in the conditions that guard a statement against rows that refer to its row."""
    for key in referring:
        yield from (key["db"], key["table"], *key["columns"], *key["referenced"])


def unreferred(table: str, referring: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The conditions that only those rows refer to that of a statement which are to follow it.

    They are deleted or changed with it. Within the same table :func:`counts_referring` looks for
    them.
    """
    own = False
    for key in referring:
        child = f"{quoted(key['db'])}.{quoted(key['table'])}"
        if child != table:
            rows, count = f"FROM {child} WHERE {_joined(key, child, table)})", key.get("rows")
            yield f"(SELECT COUNT(*) {rows} = {count}" if count else f"NOT EXISTS (SELECT 1 {rows}"
        elif not own:
            own = True
            yield f"{_OWN} = 0"


def counts_referring(
    table: str, referring: Iterable[Mapping[str, Any]], conditions: Sequence[Part]
) -> list[Part]:
    """The parts of what counts the rows of the same table that refer to a statement's row, without
    that row itself; empty without such a foreign key."""
    terms: list[Part] = []
    for key in referring:
        if f"{quoted(key['db'])}.{quoted(key['table'])}" == table:
            wanted = ", ".join(dict.fromkeys(map(quoted, key["referenced"])))
            terms += [
                " + " if terms else "",
                f"(SELECT COUNT(*) FROM {table} AS bk_child JOIN (SELECT {wanted} FROM {table} "
                "WHERE ", *conditions, f"{_LOCKED}) AS bk_row ON "
                f"{_joined(key, 'bk_child', 'bk_row')}{_LOCKED}) - (SELECT COUNT(*) FROM {table} "
                "WHERE ", *conditions, f" AND {_joined(key, table, table)}{_LOCKED})",
            ]  # fmt: skip
    return [f"SET {_OWN} = ", *terms] if terms else []


def counts_guarded(table: str, conditions: Sequence[Part], alone: Sequence[Part]) -> list[Part]:
    """The parts of what counts the rows that a statement left, since others refer to them
    (``alone``: those conditions of :func:`unreferred`)."""
    rows = [f"(SELECT COUNT(*) FROM {table} WHERE ", *conditions, " AND NOT (TRUE", *alone, "))"]
    return ["SET @bk_referred = @bk_referred + ", *rows]


def _joined(key: Mapping[str, Any], child: str, parent: str) -> str:
    pairs = zip(key["columns"], key["referenced"], strict=True)
    return " AND ".join(f"{child}.{quoted(c)} = {parent}.{quoted(r)}" for c, r in pairs)


def sentence(
    kind: str,
    table: str,
    columns: Sequence[str],
    values: Sequence[Part],
    conditions: Sequence[Part],
    limit: Part,
) -> list[Part]:
    """The parts of a statement; ``values``: for an update with the columns that they are set to."""
    if kind == "insert":
        return [f"INSERT INTO {table} ({', '.join(columns)}) VALUES (", *values, ")"]
    where = [" WHERE ", *conditions, limit]
    if kind == "update":
        return [f"UPDATE {table} SET ", *values, *where]
    return [f"DELETE FROM {table}", *where]


def _reads(plan: Plan) -> tuple[list[Part], list[Part]]:
    written = {item["column"].lower() for item in plan["set"]}
    kept = (i for i in plan["where"] if i["column"].lower() not in written)
    items = [i for i in kept if not i.get("generated")] + [
        i for i in plan["set"] if i["value"] is None or i["type"] not in INEXACT
    ]
    conditions = " AND ".join(condition(i["column"], i["value"], i["type"]) for i in items)
    table = f"{identifier(plan['db'])}.{identifier(plan['table'])}"
    return reads(plan["kind"], table, [conditions or "TRUE"], bool(plan.get("limit_one")))


def reads(
    kind: str, table: str, conditions: Sequence[Part], several: bool
) -> tuple[list[Part], list[Part]]:
    """The parts of what counts the rows that hold what a statement was to write, before and after
    it.

    Nothing for a DELETE. ``several``: such rows may have existed before.
    """
    if kind == "delete":
        return [], []
    count = [f"(SELECT COUNT(*) FROM {table} WHERE ", *conditions, ")"]
    before = ["SET @bk_before = ", *count] if several else []
    return before, ["SET @bk_found = ", *count, " - @bk_before" if several else ""]


def kept_of(plan: Plan) -> Sequence[str]:
    """The columns that a plan's update keeps as they are."""
    return plan.get("keep") or ()


def kept(column: str) -> str:
    """A column assigned to itself, so that ON UPDATE CURRENT_TIMESTAMP does not change it."""
    name = quoted(column)
    return f"{name} = {name}"


def _assigned(item: Mapping[str, Any]) -> str:
    if not writable(item["value"], item["type"]):
        from binlogkit.analyses.undoing.plans import ERROR_VALUE

        raise UsageError(f"column {printable(item['column'])}{ERROR_VALUE}")
    return _in_column(item["column"], item["value"], item["type"])


def _in_column(column: str, value: object, kind: str) -> str:
    try:
        return literal(value, kind)
    except UsageError as exc:
        raise UsageError(f"column {printable(column)}: {exc}") from exc


def condition(column: str, value: Any, kind: str) -> str:
    """The column is exactly this value: ``<=>`` because of NULL, and text byte by byte as well.

    A collation may equate ``a`` and ``A`` and ignore trailing blanks: the first comparison can use
    an index, the second one decides. FLOAT, DOUBLE and JSON are never compared (docs/traps.md).
    """
    name = quoted(column)
    if value is None:
        return f"{name} <=> NULL"
    if kind in INEXACT:
        raise UsageError(f"a {kind} column, {printable(column)}, cannot identify a row")
    text = _in_column(column, value, kind)
    if kind != "text":
        return f"{name} <=> {text}"
    exact = f"{exactly(name)}{text.removeprefix('_utf8mb4 ')}"
    return exact if len(value) > LONGEST_KEY else f"{name} <=> {text} AND {exact}"


def exactly(name: str) -> str:
    """What compares the bytes of a column's text with a literal after it."""
    return f"CAST(CONVERT({name} USING utf8mb4) AS BINARY) <=> "


def origin(kind: str, words: Mapping[str, Part]) -> list[Part]:
    """What a statement does and which change it belongs to, for its comment."""
    w = words
    return [
        f"{kind} ", w["db"], ".", w["table"], " for ", w["file"], ":", w["pos"], w["inner"],
        " row ", w["row"], w["timestamp"], w["gtid"], w["note"],
    ]  # fmt: skip


def _utc(seconds: Any) -> str:
    if seconds is None:
        return ""
    try:
        return f", {dt.datetime.fromtimestamp(int(seconds), dt.UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (OverflowError, ValueError, OSError):
        return f", timestamp {seconds}"


#: The facts of a plan in its comment.
FORMS: dict[str, Callable[[Any], str]] = {
    "db": str, "table": str, "file": str, "pos": str, "row": str,
    "inner": lambda inner: "" if inner is None else f"/{inner}",
    "timestamp": _utc,
    "gtid": lambda gtid: f", GTID {gtid}" if gtid else "",
    "note": lambda note: f", {note}" if note else "",
}  # fmt: skip
