"""What python-mysql-replication 1.0.17 is known to get wrong, so that all else is seen.

Each defect names a golden log that shows it. A test expects it there, strictly: when a version of
the library mends it, that test fails, and the entry is to go.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from binlogkit_fixtures.golden import GoldenCase

LACKING = {"kind": "unexplained", "rule": "", "column": None, "ours": None}


def everywhere(case: "GoldenCase") -> bool:
    return True


def compressed(case: "GoldenCase") -> bool:
    return any(event["type"] == "TRANSACTION_PAYLOAD_EVENT" for event in case.events)


@dataclass(frozen=True)
class Defect:
    """``case``: a golden case that shows it; ``difference``: what the records of its differences
    have in common; ``where``: the cases in which it is expected; ``error``: the beginning of the
    error that ends the reading of a log, where the rows behind it are lacking for that."""

    name: str
    what: str
    case: str
    difference: Mapping[str, Any]
    where: Callable[["GoldenCase"], bool] = everywhere
    error: str = ""

    def ends(self, error: str) -> bool:
        """Whether it is what ended a log with this error."""
        return bool(self.error) and error.startswith(self.error)

    def expected(self, case: "GoldenCase", error: str) -> bool:
        """Whether its differences are expected in a log that this error, if any, has ended."""
        return self.ends(error) if self.error else self.where(case)


def by_rule(rule: str, what: str, case: str) -> Defect:
    """A defect that the judge knows by name."""
    return Defect(rule, what, case, {"rule": rule})


DEFECTS = [
    by_rule("unsigned-shown-negative", "no server told it which columns are unsigned",
            "8.0-row-full/types"),
    by_rule("zero-date-as-null", "0000-00-00 is None", "8.0-row-full/types"),
    by_rule("zero-date-as-1970", "a zero TIMESTAMP is the beginning of 1970", "8.0-row-full/types"),
    by_rule("year-zero", "the year 0000 is 1900", "8.0-row-full/types"),
    by_rule("value-as-null", "dates without a month or day, and labels it does not know, are None",
            "8.0-row-full/types"),
    by_rule("negative-time-fraction", "the fraction of a negative TIME is added to it",
            "8.0-row-full/types"),
    by_rule("binary-unpadded", "BINARY(n) loses the zero bytes at its end",
            "8.0-row-full-metadata/keys"),
    by_rule("absent-as-null", "a column that is not in the image is None", "8.0-row-minimal/json"),
    by_rule("json-decimal-as-text", "a decimal in JSON is a string", "8.0-row-full/json"),
    by_rule("json-diff-not-applied", "a partial update is not applied to the document it has",
            "8.0-row-partial-json/json"),
    Defect("json-diff-written-otherwise", "a partial update has no form in JSON",
           "8.0-row-minimal-partial-json/json",
           {"kind": "unexplained", "rule": "", "column": "j"},
           lambda case: case.cell == "8.0-row-minimal-partial-json"),
    Defect("compressed-transactions", "they are passed over without a word",
           "8.0-row-compressed/keys", LACKING, compressed),
    Defect("text-not-utf-8", "text of other character sets ends the reading",
           "8.0-row-full/keys", LACKING, error="UnicodeDecodeError: 'utf-8'"),
    Defect("utf-16-byte-order", "UTF-16 is read with the low byte first",
           "8.0-row-full-metadata/types", LACKING, error="UnicodeDecodeError: 'utf-16-le'"),
    Defect("utf-32-byte-order", "UTF-32 is read with the low byte first",
           "9-row-full-metadata/charsets", LACKING, error="UnicodeDecodeError: 'utf-32-le'"),
    Defect("invalid-date", "a date such as 31 February (ALLOW_INVALID_DATES) ends the reading",
           "9-row-full/sql-modes", LACKING, error="ValueError: day is out of range for month"),
    Defect("json-diff-of-a-scalar", "a partial update with a number ends the reading",
           "8.0-row-partial-json/json", LACKING,
           error="AttributeError: 'int' object has no attribute 'decode'"),
    Defect("vector-metadata", "metadata of a VECTOR column ends the reading",
           "9-row-full/modern", LACKING,
           error="ValueError: 0 is not a valid MetadataFieldType"),
]  # fmt: skip
