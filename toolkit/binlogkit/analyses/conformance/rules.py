"""The rules that explain a difference: one entry each, in the order in which they are tried.

A rule explains a cell when its function says so. ``kind`` is what the difference then is:
``representation`` (the same value, written otherwise), ``theirs`` (mysqlbinlog is wrong),
``ours`` (the decoder under test is wrong, and how is known), ``under_determined`` (what
mysqlbinlog prints does not decide). Differences of events have rules too; the comparison names
those itself, and their text stands here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from binlogkit.analyses.conformance import json_rules, value_rules
from binlogkit.analyses.conformance.cell import Cell, same

__all__ = ["EVENT_RULES", "RULES", "Kind", "Rule", "explain"]

_PRINT = "log_event_print_value, sql/log_event.cc (8.0); seen with mysqlbinlog 9.7.4"
_CONTRACT = "docs/records.md, row"


class Kind(StrEnum):
    """What a difference is."""

    OURS = "ours"
    THEIRS = "theirs"
    REPRESENTATION = "representation"
    UNDER_DETERMINED = "under_determined"
    UNEXPLAINED = "unexplained"


@dataclass(frozen=True, slots=True)
class Rule:
    """``families``: the column families it is for (empty: all); ``source``: where it is known from.

    ``explains`` is None for a rule that is not about a cell.
    """

    id: str
    kind: Kind
    text: str
    source: str
    explains: Callable[[Cell], bool] | None = None
    families: tuple[str, ...] = ()


def _same_value(
    id_: str, families: tuple[str, ...], text: str, explains: Callable[[Cell], bool]
) -> Rule:
    return Rule(id_, Kind.REPRESENTATION, text, _PRINT, explains, families)


_NUMBERS = ("INT",)
_STRINGS = ("STRING",)

RULES: tuple[Rule, ...] = (
    _same_value(
        "unsigned-reading", _NUMBERS,
        "a negative integer is printed with its unsigned reading in brackets; the column is "
        "unsigned, and that reading is ours", value_rules.unsigned_reading,
    ),
    _same_value(
        "float-six-digits", ("FLOAT",),
        "FLOAT is printed with %-20g: six digits of the single-precision value; ours has those",
        value_rules.float_six_digits,
    ),
    _same_value(
        "double-digits", ("DOUBLE",),
        "DOUBLE is printed with %-.20g; the digits read back to the same value",
        value_rules.double_digits,
    ),
    _same_value(
        "bit-as-number", ("BIT",), "BIT is printed as its bits, the highest first",
        value_rules.bit_number,
    ),
    _same_value(
        "set-bits", ("SET",),
        "SET is printed as the bits of its bytes in stored order, lowest byte first",
        value_rules.set_bits,
    ),
    _same_value(
        "set-labels", ("SET",), "SET is printed as bits; ours names the labels of the set bits",
        value_rules.set_labels,
    ),
    _same_value(
        "enum-label", ("ENUM",), "ENUM is printed as its index; ours is that index's label",
        value_rules.enum_label,
    ),
    _same_value(
        "date-colons", ("DATE",), "DATE is printed with colons between year, month and day",
        value_rules.date_colons,
    ),
    _same_value(
        "timestamp-epoch", ("TIMESTAMP",),
        "TIMESTAMP is printed as seconds since the epoch, 0 being the zero date",
        value_rules.timestamp_epoch,
    ),
    _same_value(
        "binary-as-hex", (*_STRINGS, "VECTOR", "GEOMETRY"),
        "bytes are printed as a quoted string; ours are the same bytes in hexadecimal",
        value_rules.binary_hex,
    ),
    _same_value(
        "binary-padding", _STRINGS,
        "the log stores BINARY(n) without its trailing zero bytes; ours is padded to n",
        value_rules.binary_padding,
    ),
    _same_value(
        "charset", _STRINGS,
        "text is printed in its column's character set; its bytes say ours",
        value_rules.charset,
    ),
    _same_value(
        "bytes-kept", _STRINGS,
        "ours says that the bytes are no text in the character set that it has, and keeps the "
        "bytes that are printed", value_rules.bytes_kept,
    ),
    _same_value(
        "vector-numbers", ("VECTOR",),
        "VECTOR is printed as its numbers with %.5e; ours are the stored floats, which print so",
        value_rules.vector_numbers,
    ),
    _same_value(
        "json-scalar-unquoted", ("JSON",),
        "a JSON document that is one string, date or opaque value is printed without its double "
        "quotes (Json_wrapper::to_string, json_quoted=false)", json_rules.scalar_unquoted,
    ),
    _same_value(
        "json-opaque-text", ("JSON",),
        "byte strings in JSON of 5.7 are opaque values of type 253; that server and ours write "
        "base64:type253:…, mysqlbinlog 9.7.4 their bytes", json_rules.opaque_as_text,
    ),
    _same_value(
        "json-whole-double", ("JSON",),
        "5.7 writes a JSON double without a fraction as 1, 8.0 and mysqlbinlog 9.7.4 as 1.0; the "
        "log is 5.7's and ours is what that server prints", json_rules.whole_double_of_5,
    ),
    Rule(
        "json-diff-not-applied", Kind.OURS,
        "the before image holds the document, so what a partial update results in is known; only "
        "without it are the operations listed", _CONTRACT,
        json_rules.diff_not_applied, ("JSON",),
    ),
    _same_value(
        "json-diff", ("JSON",),
        "a partial update is printed as calls of JSON_REPLACE, JSON_INSERT, JSON_ARRAY_INSERT and "
        "JSON_REMOVE; ours lists the same operations", json_rules.diff_listed,
    ),
    _same_value(
        "json-diff-applied", ("JSON",),
        "a partial update is printed as calls; ours is their result on the before image",
        json_rules.diff_applied,
    ),
    Rule(
        "json-diff-no-before", Kind.UNDER_DETERMINED,
        "a partial update is printed as calls and its before image does not hold the column: "
        "what it results in cannot be read from the text", _PRINT,
        json_rules.diff_without_before, ("JSON",),
    ),
    Rule(
        "labels-not-known", Kind.UNDER_DETERMINED,
        "ENUM and SET are printed as numbers and no labels were given: ours cannot be judged",
        _PRINT, value_rules.labels_unknown, ("ENUM", "SET"),
    ),
    Rule(
        "charset-not-known", Kind.UNDER_DETERMINED,
        "the judge has no codec for the column's character set", "Python's codecs module",
        value_rules.charset_unknown, _STRINGS,
    ),
    Rule(
        "year-zero", Kind.THEIRS,
        "YEAR is stored as a byte, 0 for the year 0000, else the year less 1900; mysqlbinlog adds "
        "1900 to 0 too, and 1900 is no value of YEAR", _PRINT, value_rules.year_zero, ("YEAR",),
    ),
    Rule(
        "old-time-negative", Kind.THEIRS,
        "a TIME of 5.5 and before is a signed 3-byte number; mysqlbinlog reads it as unsigned",
        _PRINT, value_rules.old_time_negative, ("TIME",),
    ),
    Rule(
        "old-timestamp-high", Kind.THEIRS,
        "a TIMESTAMP of 5.5 and before is an unsigned 4-byte number; mysqlbinlog prints it with %d",
        _PRINT, value_rules.old_timestamp_high, ("TIMESTAMP",),
    ),
    Rule(
        "unsigned-shown-negative", Kind.OURS,
        "the column is unsigned, ours is the signed reading", _CONTRACT,
        value_rules.unsigned_shown_negative, _NUMBERS,
    ),
    Rule(
        "binary-unpadded", Kind.OURS,
        "BINARY(n) is padded to n when n is known", _CONTRACT,
        value_rules.binary_unpadded, _STRINGS,
    ),
    Rule(
        "charset-damage", Kind.OURS,
        "ours holds U+FFFD where bytes could not be read: they are lost", _CONTRACT,
        value_rules.charset_damage, _STRINGS,
    ),
    Rule(
        "zero-date-as-null", Kind.OURS,
        "a zero date is a value, not NULL", _CONTRACT,
        value_rules.zero_date_as_null, ("DATE", "DATETIME", "TIMESTAMP"),
    ),
    Rule(
        "timestamp-zone", Kind.OURS,
        "TIMESTAMP is off by whole quarters of an hour: shown in a time zone other than UTC",
        _CONTRACT, value_rules.timestamp_zone, ("TIMESTAMP",),
    ),
    Rule(
        "decimal-scale", Kind.OURS,
        "the same number without its declared scale", _CONTRACT, value_rules.decimal_scale,
        ("DECIMAL",),
    ),
    Rule(
        "json-rewritten", Kind.OURS,
        "the same JSON value in another text than the server prints", _CONTRACT,
        json_rules.rewritten, ("JSON",),
    ),
)  # fmt: skip

_SEEN = "seen with mysqlbinlog 9.7.4"


def _event(id_: str, kind: Kind, text: str, source: str = _SEEN) -> Rule:
    return Rule(id_, kind, text, source)


EVENT_RULES: dict[str, Rule] = {
    rule.id: rule
    for rule in (
        _event(
            "inner-position", Kind.REPRESENTATION,
            "inside a payload mysqlbinlog prints the payload's end as the position and the end of "
            "every event",
        ),
        _event(
            "inner-checksum", Kind.REPRESENTATION,
            "events inside a payload have no checksum; mysqlbinlog prints one it computed",
            "8.0.31 logs; " + _SEEN,
        ),
        _event(
            "format-description-checksum", Kind.REPRESENTATION,
            "a format description always carries a CRC32 (from 5.6.1 on), also where the log's "
            "events have none; mysqlbinlog then does not print it",
            "Log_event::need_checksum, sql/log_event.cc (8.0); " + _SEEN,
        ),
        _event(
            "names-not-escaped", Kind.UNDER_DETERMINED,
            "a name with a backtick or a line end stands raw in this line, so the line can be read "
            "in more than one way; both sides are compared as they stand",
        ),
        _event(
            "text-looks-like-syntax", Kind.UNDER_DETERMINED,
            "a statement holds lines that look like mysqlbinlog's own; the text can be read in two "
            "ways, and is read so that the statement is ours where that is possible",
        ),
        _event(
            "load-file-name", Kind.REPRESENTATION,
            "mysqlbinlog puts the name of the file that it wrote in place of LOAD DATA's",
        ),
        _event(
            "type-not-handled", Kind.THEIRS,
            "mysqlbinlog says that it cannot print a column and silently skips the rest of the row "
            "and all further rows of the event (docs/servers.md)",
        ),
        _event(
            "statement-not-ended", Kind.THEIRS,
            "the last rows events have no STMT_END_F; mysqlbinlog keeps their rows back (it warns "
            "on stderr) and prints only the headers",
        ),
        _event(
            "oracle-stopped", Kind.UNDER_DETERMINED,
            "mysqlbinlog gave up here; what follows is not judged (9.7.4 reads no v1 or v3 log, no "
            "V1 rows events and no MariaDB events)",
        ),
        _event(
            "absent-as-null", Kind.OURS,
            "the column is not in the image, ours says NULL", _CONTRACT,
        ),
    )
}  # fmt: skip

_BY_FAMILY: dict[str, tuple[Rule, ...]] = {}


def explain(cell: Cell) -> Rule | None:
    """The first rule that explains why the two sides of a cell are not written the same way."""
    assert not same(cell)
    rules = _BY_FAMILY.get(cell.family)
    if rules is None:
        rules = tuple(r for r in RULES if not r.families or cell.family in r.families)
        if not cell.family:
            rules = RULES
        _BY_FAMILY[cell.family] = rules
    return next((r for r in rules if r.explains is not None and r.explains(cell)), None)
