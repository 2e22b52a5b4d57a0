"""A comparison's result as JUnit XML, which every CI shows: a test for each log and rule."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, ElementTree, SubElement, indent

from binlogkit.analyses.conformance import ConformanceSummary
from binlogkit.errors import WriteError, printable

_FAILING = ("ours", "unexplained", "under_determined")
_SHOWN = 20  # differences that a test's text lists


def write_junit(
    path: Path, name: str, differences: Iterable[Mapping[str, Any]], summary: ConformanceSummary
) -> None:
    """Write the differences as one test suite, named after the decoder.

    A test fails if the differences are the decoder's, or if it is undecided whose they are; the
    others, and one for the verdict, pass. Names and values are escaped for XML and terminals.
    WriteError: the file cannot be written.
    """
    tests: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for record in differences:
        key = (str(record["file"]), str(record["kind"]), str(record["rule"]))
        tests.setdefault(key, []).append(record)
    suite = Element("testsuite", {"name": printable(name)})
    failed = 0
    for (file, kind, rule), found in tests.items():
        title = f"{kind}: {rule}" if rule else kind
        named = {"classname": printable(file), "name": printable(title)}
        case = SubElement(suite, "testcase", named)
        text = "\n".join(_line(record) for record in found[:_SHOWN])
        if kind in _FAILING:
            failed += 1
            attributes = {"message": f"{len(found)} differences kept", "type": kind}
            SubElement(case, "failure", attributes).text = text
        else:
            SubElement(case, "system-out").text = text
    case = SubElement(suite, "testcase", {"classname": "conform", "name": "verdict"})
    if summary.exit_status:
        failed += 1
        SubElement(case, "failure", {"message": str(summary.verdict), "type": "verdict"})
    suite.set("tests", str(len(tests) + 1))
    suite.set("failures", str(failed))
    indent(suite)
    try:
        ElementTree(suite).write(path, encoding="utf-8", xml_declaration=True)
    except OSError as exc:
        raise WriteError(str(path), str(exc)) from exc


def _line(record: Mapping[str, Any]) -> str:
    place = f"at {record['pos']}" + ("" if record["inner"] is None else f"/{record['inner']}")
    row = "" if record["row"] is None else f", row {record['row']}"
    said = f"{record['column']}: {record['ours']} / {record['theirs']}: {record['reason']}"
    return printable(f"{place}{row}, {said}; {record['proof']}")
