"""MySQL's functions over columns as DuckDB's, where both give the same value of the same type.

Each is tried against servers of 5.7, 8.0 and 9.7 by generated queries (tests/livestate). A quotient
is calculated to more digits than it is shown with (``decimal_div``), so that it can be shown and
rounded here, and not compared. Its digits are those of ``div_precision_increment=4``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from sqlglot import exp

from binlogkit.livestate.views.kinds import CONSTANTS, ValueKind, folded
from binlogkit.livestate.views.typed import Makes, Typed, refused

MORE_DIGITS = 4  # of a quotient: div_precision_increment
_MOST_DIGITS = 36
_ONE_BYTE = ("latin1", "ascii")


def function(node: exp.Expr, make: Makes) -> Typed | None:
    """A function's value; None: it is not known here. UsageError: not of such values."""
    found = _FUNCTIONS.get(type(node))
    return None if found is None else found(node, make)


# ---- numbers --------------------------------------------------------------------------------


def as_decimal(one: Typed) -> str:
    """A number as a DECIMAL of its own digits."""
    return f"CAST({one.sql} AS DECIMAL({max(one.kind.digits, 1)}, {one.kind.scale}))"


def _number(node: exp.Expr, make: Makes, *names: str) -> Typed:
    found = make.value(node)
    if found.kind.name not in (names or ("integer", "decimal")) or found.kind.unsigned:
        raise refused(node, "only signed integers and decimals are calculated with")
    return found


def _constant(node: exp.Expr | None, of: exp.Expr) -> int:
    if not isinstance(node, exp.Literal) or node.is_string or not str(node.this).isdigit():
        raise refused(of, "how many is a number here, as it stands")
    return int(node.this)


def _scaled(one: Typed) -> str:
    """A number without its point."""
    if not one.kind.scale:
        return f"CAST({one.sql} AS HUGEINT)"
    return f"CAST(replace(CAST({as_decimal(one)} AS VARCHAR), '.', '') AS HUGEINT)"


def _quotient(node: exp.Div, make: Makes, scale: int | None = None) -> Typed:
    """Rounded half away from zero, as an integer with ``scale`` digits after the point."""
    above, below = _number(node.this, make), _number(node.expression, make)
    most = above.kind.scale + MORE_DIGITS
    scale = most if scale is None else scale
    shift = below.kind.scale - above.kind.scale + scale
    digits = max(above.kind.digits + max(shift, 0), below.kind.digits + max(-shift, 0))
    if digits > _MOST_DIGITS or scale > most:
        raise refused(node, "the result has too many digits")
    up, down = ("1" + "0" * max(shift, 0)), ("1" + "0" * max(-shift, 0))
    a = f"({_scaled(above)} * CAST({up} AS HUGEINT))"
    b = f"({_scaled(below)} * CAST({down} AS HUGEINT))"
    half = f"(2 * abs({a}) + abs({b})) // (2 * abs({b}))"
    sql = f"(CASE WHEN {b} <> 0 THEN sign({a}) * sign({b}) * ({half}) END)"
    return Typed(sql, ValueKind("quotient", scale=scale, digits=_MOST_DIGITS + 2))


def _divided(node: exp.Expr, make: Makes) -> Typed:
    assert isinstance(node, exp.Div)
    return _quotient(node, make)


def _whole(node: exp.Expr, make: Makes) -> Typed:
    """DIV and MOD of integers: towards zero; NULL by zero."""
    sign = "//" if isinstance(node, exp.IntDiv) else "%"
    above, below = (_number(one, make, "integer") for one in (node.this, node.expression))
    a, b = (f"CAST({one.sql} AS HUGEINT)" for one in (above, below))
    part = f"sign({a}) * (abs({a}) {sign} abs({b}))"
    part = f"{part} * sign({b})" if sign == "//" else part
    return Typed(f"(CASE WHEN {b} <> 0 THEN CAST({part} AS BIGINT) END)", ValueKind("integer"))


def _negated(node: exp.Expr, make: Makes) -> Typed:
    return _fitting("-{}", _number(node.this, make))


def _abs(node: exp.Expr, make: Makes) -> Typed:
    return _fitting("abs({})", _number(node.this, make))


def _fitting(form: str, one: Typed) -> Typed:
    """A calculated number; an integer beyond BIGINT is an error, as on the server."""
    if one.kind.name == "integer":
        sql = form.format(f"CAST({one.sql} AS HUGEINT)")
        return Typed(f"CAST(({sql}) AS BIGINT)", ValueKind("integer"))
    return Typed(f"({form.format(one.sql)})", one.kind)


def _sign(node: exp.Expr, make: Makes) -> Typed:
    return Typed(f"CAST(sign({_number(node.this, make).sql}) AS BIGINT)", ValueKind("integer"))


def _round(node: exp.Expr, make: Makes) -> Typed:
    given = node.args.get("decimals")
    digits = 0 if given is None else _constant(given, node)
    inner = node.this.unnest()
    if isinstance(inner, exp.Div):
        found = _quotient(inner, make, digits)
        sql = f"CAST({found.sql} AS DECIMAL(38, 0)) * CAST('{10.0**-digits:.{digits}f}' AS "
        sql += f"DECIMAL({digits + 1}, {digits}))"
        kind = ValueKind("decimal", scale=digits, digits=_MOST_DIGITS)
        return Typed(f"CAST(({sql}) AS DECIMAL(38, {digits}))", kind)
    found = _number(inner, make)
    if found.kind.name == "integer":
        return Typed(found.sql, found.kind)
    digits = min(digits, found.kind.scale)
    kind = replace(found.kind, scale=digits, digits=found.kind.digits + 1)
    wide = f"CAST({found.sql} AS DECIMAL(38, {found.kind.scale}))"
    return Typed(f"CAST(round({wide}, {digits}) AS DECIMAL(38, {digits}))", kind)


def _floor(node: exp.Expr, make: Makes) -> Typed:
    if node.args.get("decimals") or node.args.get("to"):
        raise refused(node, "this form is not known")
    found = _number(node.this, make)
    if found.kind.digits - found.kind.scale > 17:  # else a DECIMAL, not a BIGINT
        raise refused(node, "the result has too many digits")
    if found.kind.name == "integer":
        return found
    name = "floor" if isinstance(node, exp.Floor) else "ceil"
    return Typed(f"CAST({name}({as_decimal(found)}) AS BIGINT)", ValueKind("integer"))


def _outermost(node: exp.Expr, make: Makes) -> Typed:
    """GREATEST and LEAST: NULL where one is."""
    found = [_number(one, make, "integer") for one in (node.this, *node.expressions)]
    name = "greatest" if isinstance(node, exp.Greatest) else "least"
    texts = [one.sql for one in found]
    null = " OR ".join(f"{text} IS NULL" for text in texts)
    return Typed(
        f"(CASE WHEN NOT ({null}) THEN {name}({', '.join(texts)}) END)", ValueKind("integer")
    )


# ---- one of several values ------------------------------------------------------------------


def _united(node: exp.Expr, found: Sequence[Typed]) -> tuple[ValueKind, list[str]]:
    """Values of which one is shown, in the type that holds them all."""
    typed = [one for one in found if one.kind.name != "null"]
    names = {"integer" if one.kind.name == "boolean" else one.kind.name for one in typed}
    if not typed:
        raise refused(node, "all of it is NULL")
    if names in ({"text"}, {"date"}, {"binary"}):
        return _alike(node, typed), [one.sql for one in found]
    if not names <= {"integer", "decimal"}:
        raise refused(node, f"values of these types ({', '.join(sorted(names))}) are not united")
    if any(one.kind.unsigned for one in typed):
        raise refused(node, "unsigned integers are not united")
    if names == {"integer"}:
        return ValueKind("integer"), [f"CAST({one.sql} AS BIGINT)" for one in found]
    scale = max(one.kind.scale for one in typed)
    digits = max(one.kind.digits - one.kind.scale for one in typed) + scale
    if digits > _MOST_DIGITS:
        raise refused(node, "the result has too many digits")
    kind = ValueKind("decimal", scale=scale, digits=digits)
    return kind, [f"CAST({one.sql} AS DECIMAL(38, {scale}))" for one in found]


def _alike(node: exp.Expr, typed: Sequence[Typed]) -> ValueKind:
    """The kind of texts, binaries or dates of columns, and of constants among texts."""
    kinds = {one.kind for one in typed if one.literal is None}
    constants = {str(one.literal) for one in typed if one.literal is not None}
    if not kinds and len({one.lower() for one in constants}) == len(constants):
        kinds = {ValueKind("text", collation=CONSTANTS)}
    if len(kinds) != 1 or not all(map(str.isascii, constants)):
        raise refused(node, "texts are united with those of their collation and constant ASCII")
    return kinds.pop()


def _one_of(node: exp.Expr, found: Sequence[Typed], form: Callable[[list[str]], str]) -> Typed:
    kind, texts = _united(node, found)
    leaves = tuple(leaf for one in found for leaf in (one.leaves or (one,)))
    those = tuple(replace(one, kind=kind) for one in leaves if one.kind.name == kind.name == "text")
    return Typed(form(texts), kind, leaves=those)


def _coalesce(node: exp.Expr, make: Makes) -> Typed:
    found = [make.value(one) for one in (node.this, *node.expressions)]
    if {one.kind.name for one in found} == {"datetime"}:
        return Typed(f"COALESCE({', '.join(one.sql for one in found)})", found[0].kind)
    return _one_of(node, found, lambda texts: f"COALESCE({', '.join(texts)})")


def _nullif(node: exp.Expr, make: Makes) -> Typed:
    found = make.value(node.this)
    if found.kind.name not in ("integer", "decimal", "text") or found.kind.unsigned:
        raise refused(node, "NULLIF is known of signed integers, decimals and texts")
    same = make.condition(exp.EQ(this=node.this, expression=node.expression))
    typed = replace(found, literal=None, column=None, leaves=found.leaves or (found,))
    return replace(typed, sql=f"(CASE WHEN {same} THEN NULL ELSE {found.sql} END)")


def _case(node: exp.Expr, make: Makes) -> Typed:
    given = node.this if isinstance(node, exp.Case) else None
    tests, values = [], []
    for one in node.args["ifs"] if isinstance(node, exp.Case) else [node]:
        test = one.this if given is None else exp.EQ(this=given, expression=one.this)
        tests.append(make.condition(test))
        values.append(make.value(one.args["true"]))
    default = node.args.get("default" if isinstance(node, exp.Case) else "false")
    values.append(make.value(exp.Null() if default is None else default))

    def form(texts: list[str]) -> str:
        parts = [f"WHEN {test} THEN {text}" for test, text in zip(tests, texts, strict=False)]
        return f"(CASE {' '.join(parts)} ELSE {texts[-1]} END)"

    return _one_of(node, values, form)


# ---- texts ----------------------------------------------------------------------------------


def _text(node: exp.Expr, make: Makes) -> Typed:
    found = make.value(node)
    if found.kind.name != "text" or not found.kind.collation:
        raise refused(node, "only texts of columns are known here")
    return found


def _length(node: exp.Expr, make: Makes) -> Typed:
    found, octets = make.value(node.this), bool(node.args.get("binary"))
    if found.kind.name == "binary":
        return Typed(f"octet_length({found.sql})", ValueKind("integer"))
    found = _text(node.this, make)
    charset = str(found.kind.collation).split("_")[0]
    if octets and charset in ("utf8mb4", "utf8mb3"):
        return Typed(f"octet_length(encode({found.sql}))", ValueKind("integer"))
    if octets and charset not in _ONE_BYTE:
        raise refused(node, f"how many bytes {charset} takes is not known here")
    return Typed(f"length({found.sql})", ValueKind("integer"))


def _cased(node: exp.Expr, make: Makes) -> Typed:
    """UPPER and LOWER of printable ASCII."""
    found = _text(node.this, make)
    make.ascii_only(found, node)
    name = "upper" if isinstance(node, exp.Upper) else "lower"
    leaves = found.leaves or (found,)
    return Typed(f"{name}({found.sql})", found.kind, leaves=leaves)


def _concat(node: exp.Expr, make: Makes) -> Typed:
    found = [make.value(one) for one in node.expressions]
    if any(one.kind.name != "text" for one in found):
        raise refused(node, "only texts are joined here")
    kind, texts = _united(node, found)
    return Typed(f"({' || '.join(texts)})", kind)


def _part(node: exp.Expr, make: Makes) -> Typed:
    """LEFT, RIGHT, SUBSTRING, by characters."""
    found = _text(node.this, make)
    if isinstance(node, exp.Substring):
        given = [node.args.get("start"), node.args.get("length")]
        numbers = [_constant(one, node) for one in given if one is not None]
        if not numbers or numbers[0] < 1:
            raise refused(node, "a part begins at 1 or later here")
        name = "substring"
    else:
        numbers, name = [_constant(node.expression, node)], type(node).__name__.lower()
    return Typed(f"{name}({found.sql}, {', '.join(map(str, numbers))})", found.kind)


def like(node: exp.Expr, make: Makes) -> str:
    """LIKE of printable ASCII, character by character, as the collation compares two of them."""
    found, pattern = _text(node.this, make), node.expression
    text = str(pattern.this) if isinstance(pattern, exp.Literal) and pattern.is_string else "\\"
    if "\\" in text or not (text.isascii() and text.isprintable()):
        raise refused(node, "patterns are constants of printable ASCII without backslashes")
    make.ascii_only(found, node)
    how = folded(found.kind.collation)
    assert how is not None
    quoted = "'" + text.replace("'", "''") + "'"
    negate = "NOT " if node.args.get("negate") else ""
    return f"({how.sql.format(found.sql)} {negate}LIKE {how.sql.format(quoted)})"


# ---- dates ----------------------------------------------------------------------------------


def _day(node: exp.Expr, make: Makes, *names: str) -> Typed:
    inner = node.this if isinstance(node, exp.TsOrDsToDate) else node
    found = make.value(inner)
    if found.kind.name not in (names or ("date", "datetime")) or found.literal is not None:
        raise refused(inner, "only DATE and DATETIME columns are known here")
    return found


def _field(node: exp.Expr, make: Makes) -> Typed:
    name = _FIELDS[type(node)]
    clock = ("datetime",) if name in ("hour", "minute", "second") else ()
    return Typed(
        f"CAST({name}({_day(node.this, make, *clock).sql}) AS BIGINT)", ValueKind("integer")
    )


def _date(node: exp.Expr, make: Makes) -> Typed:
    return Typed(f"CAST({_day(node, make).sql} AS DATE)", ValueKind("date"))


def _days_between(node: exp.Expr, make: Makes) -> Typed:
    if node.args.get("unit") is not None:
        raise refused(node, "this form is not known")
    later, earlier = (_day(one, make).sql for one in (node.this, node.expression))
    sql = f"date_diff('day', CAST({earlier} AS DATE), CAST({later} AS DATE))"
    return Typed(sql, ValueKind("integer"))


_FIELDS: dict[type[exp.Expr], str] = {
    exp.Year: "year", exp.Quarter: "quarter", exp.Month: "month", exp.Day: "day",
    exp.DayOfMonth: "day", exp.Hour: "hour", exp.Minute: "minute", exp.Second: "second",
}  # fmt: skip
_FUNCTIONS: dict[type[exp.Expr], Callable[[exp.Expr, Makes], Typed]] = {
    exp.Div: _divided, exp.IntDiv: _whole, exp.Mod: _whole, exp.Neg: _negated, exp.Abs: _abs,
    exp.Sign: _sign, exp.Round: _round, exp.Floor: _floor, exp.Ceil: _floor,
    exp.Greatest: _outermost, exp.Least: _outermost,
    exp.Coalesce: _coalesce, exp.Nullif: _nullif, exp.Case: _case, exp.If: _case,
    exp.Length: _length, exp.Upper: _cased, exp.Lower: _cased, exp.Concat: _concat,
    exp.Left: _part, exp.Right: _part, exp.Substring: _part,
    exp.TsOrDsToDate: _date, exp.DateDiff: _days_between,
    **dict.fromkeys(_FIELDS, _field),
}  # fmt: skip
