"""Make again what is generated of the documents: ``python -m tools.make_docs``.

- ``docs/conformance.md``, from the judge's rules, ``docs/events.md``, from the event types,
  ``docs/coverage.md``, from the golden logs, ``docs/proof.md``, from the tests' markers, and
  ``docs/logging-rules.md``, from the logging rules and what servers gave;
- the tables of fields in docs/records.md, from ``binlogkit.frames.fields``;
- the outputs in the ``console`` blocks of README.md and docs/*.md: what stands after a line that
  begins with ``$ `` is what that command prints.

The commands of a document run in a folder that holds what the documents speak of (:func:`prepare`).
A test compares all of it, and runs the other blocks (tests/docs).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import get_type_hints

from binlogkit.analyses.conformance.expected_rules import EXPECTED_RULES
from binlogkit.analyses.conformance.rule import EVENT_RULES, Kind, Rule
from binlogkit.analyses.conformance.rules import RULES
from binlogkit.analyses.logging_rules.contradictions import CONTRADICTIONS
from binlogkit.analyses.logging_rules.document import Sentence, results, sentences
from binlogkit.analyses.logging_rules.explained import EXPLAINED
from binlogkit.analyses.logging_rules.reasons import REASONS
from binlogkit.analyses.logging_rules.references import LISTS
from binlogkit.analyses.undoing.dependents.found import DEPENDENCES
from binlogkit.analyses.undoing.shown import SHOWN
from binlogkit.analyses.undoing.undo import PLANS
from binlogkit.constants import MARIADB_EVENT_TYPES, EventFlag, EventType
from binlogkit.events import reader  # noqa: F401  registers the parsers
from binlogkit.events.base import parser_of
from binlogkit.frames.event_records import record_keys
from binlogkit.frames.fields import ledger, rows
from binlogkit.frames.fields.field import Field, Fields
from binlogkit.sources.log_format import version_tuple
from binlogkit_fixtures import coverage_page
from tools import proof_page

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
#: Of each event type and header flag by its name: what servers' documents say of it.
CATALOGUE = tomllib.loads((ROOT / "tools" / "event_types.toml").read_text("utf-8"))
SAMPLE = ("8.0-row-full", "incident")
SECONDS = 600  # of one command; a machine may be slow
_FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<code>.*?)^```$", re.M | re.S)


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: what stands after the fence, and its text; ``start`` of it in the file."""

    info: str
    code: str
    start: int

    @property
    def language(self) -> str:
        """The first word after the fence."""
        return self.info.split(" ")[0]

    @property
    def needs(self) -> str:
        """The second: what it needs to run (server, spark, …), empty for nothing."""
        return self.info.partition(" ")[2]


def documents() -> list[Path]:
    """README.md and docs/*.md."""
    return [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]


def blocks(text: str) -> list[Block]:
    """The fenced blocks of a document."""
    return [Block(m["info"].strip(), m["code"], m.start("code")) for m in _FENCE.finditer(text)]


def prepare(folder: Path) -> None:
    """Put what the documents speak of into ``folder``: the source tree's data and a sample log."""
    for name in ("tests", "notebooks", "docs"):
        (folder / name).symlink_to(ROOT / name)
    cell, scenario = SAMPLE
    source = ROOT / "tests" / "_data" / cell / scenario / "binlog.000001"
    shutil.copyfile(source, folder / "binlog.000001")


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command of a document; both its streams in ``stdout``, as a terminal shows them."""
    programs = str(Path(sys.executable).parent)
    path = os.pathsep.join([programs, os.environ.get("PATH", os.defpath)])
    return subprocess.run(
        ["bash", "-euc", command],
        cwd=folder,
        env={**os.environ, "PATH": path, "TZ": "UTC", "LC_ALL": "C.UTF-8", "COLUMNS": "100"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=SECONDS,
        check=False,
    )


def session(code: str, folder: Path) -> str:
    """A ``console`` block with what its commands print now."""
    out = []
    for command in re.findall(r"^\$ (.*(?:\n> .*)*)", code, re.M):
        printed = shell(re.sub(r"\n> ", "\n", command), folder).stdout
        lines = [line.rstrip() for line in printed.splitlines()]
        out.append("\n".join([f"$ {command}", *lines]) + "\n")
    return "".join(out)


def refreshed(text: str, folder: Path) -> str:
    """A document with the outputs of its ``console`` blocks made again."""
    chosen = [block for block in blocks(text) if block.info == "console"]
    printed = [session(block.code, folder) for block in chosen]  # later ones may use their files
    for block, now in reversed([*zip(chosen, printed, strict=True)]):
        text = text[: block.start] + now + text[block.start + len(block.code) :]
    return text


#: What the documents have a table of, by the name in the comment around it.
_RECORDS: dict[str, Fields] = {
    "event": ledger.EVENT,
    "explain": ledger.EXPLAIN,
    "row": rows.ROW,
    "changelog": rows.CHANGELOG,
    "transaction": ledger.TRANSACTION,
    "state": rows.STATE,
    "table_state": rows.TABLE_STATE,
    "difference": rows.DIFFERENCE,
    "life": rows.LIFE,
    "touched": ledger.TOUCHED,
    "finding": ledger.FINDING,
    "plan": PLANS,
    "dependence": DEPENDENCES,
    "shown": SHOWN,
    "statement": ledger.STATEMENT,
    "boundary": ledger.BOUNDARY,
    "column": ledger.COLUMN,
    "file": ledger.FILE,
    "loaded_file": ledger.LOADED_FILE,
    "landing": ledger.LANDING,
    "landed": ledger.LANDED,
    "terms": ledger.TERMS,
    "waiting": ledger.WAITING,
    "given": ledger.GIVEN,
    "expired": ledger.EXPIRED,
    "erasures": ledger.ERASURES,
    **{f"status_{name}": declared for name, declared in ledger.STATUS.items()},
    "rule": EXPLAINED,
    "contradiction": CONTRADICTIONS,
    **{f"index_{name}": declared for name, declared in ledger.INDEX.items()},
}
_TABLE = re.compile(r"(?<=<!-- fields: )(?P<name>\w+) -->\n.*?(?=<!-- end -->)", re.S)


def field_table(declared: Fields) -> str:
    """A table of fields."""
    head = "| Key | Type | Value |\n|---|---|---|\n"
    return head + "".join(f"| `{f.name}` | {_type(f)} | {f.meaning} |\n" for f in declared)


def _type(field: Field) -> str:
    words = {
        "image": "object",
        "json": "any",
        "cells": "list of structs: column, state, bytes, text",
        "list<item>": "list of items",
        "list<reference>": "list of references",
        "list<check>": "list of checks",
    }
    shown = words.get(field.type, field.type.replace("list<", "list of ").removesuffix(">"))
    return f"{shown}, null" if field.nullable else shown


def with_tables(text: str) -> str:
    """A document with its tables of fields made again."""
    return _TABLE.sub(lambda m: f"{m['name']} -->\n{field_table(_RECORDS[m['name']])}", text)


_KINDS = {
    Kind.REPRESENTATION: "The same, written otherwise",
    Kind.THEIRS: "mysqlbinlog is wrong",
    Kind.UNDER_DETERMINED: "Nothing decides",
    Kind.OURS: "The decoder under test is wrong",
}
_INTRODUCTION = """\
# Differences with mysqlbinlog

<!-- Made by tools/make_docs.py from binlogkit.analyses.conformance: change the rules, not this. -->

`binlogkit conform` compares a decoder's records with what `mysqlbinlog -vv` prints: the structure
of every event first, every cell of every row second. The two texts are rarely identical, because
mysqlbinlog prints for people. So a rule that recomputes one side from the other must explain each
difference; what no rule explains is `unexplained`.

| Verdict | Exit status | What was found |
|---|---|---|
| `agree`, `explained` | 0 | differences in form only, or mysqlbinlog is wrong |
| `differ` | 1 | differences of the kinds `ours` or `unexplained` |
| `unjudged` | 1; 0 with `--allow-unjudged` | none of these, but something that nothing decides: \
`under_determined` |
| `incomplete` | 1 | none of these, but mysqlbinlog gave up before the log's end |

The verdict comes first, on standard error, with the counts of all kinds and rules. The records are
the differences that no rule explains or nothing decides, and the first of each rule by which the
decoder is wrong; with `--explained` all, in the log's order.

## As bytes first

Our own rows are rendered as mysqlbinlog prints them, a column at a time, and compared with its text
as bytes; only rows that differ are read and judged by the rules. The rendering follows the same
rules: a cell that one of them explains is counted for it, and the first of each are read, since the
records show them. Rows without such a form are always read: a GEOMETRY or a VECTOR, partial JSON, a
value that Arrow does not hold, and rows whose position, GTID or connection differs from the text of
their event. FLOAT, of which the text has six digits, is compared with the log's bytes, column by
column. So both ways give the same verdict, differences and counts; they are compared over all
golden logs (`tests/analyses/conformance/test_block_rows.py`).

Whole transactions are compared so, too, many at once, compressed ones among them: GTID, payload,
BEGIN, rows queries, table maps, rows and XID. An event that was read, judged and found right is an
example. Of one that has the same bytes but for its numbers (times, positions, GTIDs, thread, XID),
the record and the text follow from these bytes; both are made from them and compared. Events of
other kinds, statements other than BEGIN, and transactions with rows that are always read are read
one by one.

In Python use `EventBatches(log.event_batches(compact=True))` for the events,
`RowWindows(log.row_windows())` for the rows, `TextBlocks(mysqlbinlog.read_blocks(…))` for the text
and `StoredEvents(carrier)` of `binlogkit.log.stored_events` for the log's bytes.

## What is compared

Of each event: its place, type, time, server, GTID, checksum, and the fields that mysqlbinlog
prints. The log's own bytes decide all others that the event stores: of the header `code`, `size`,
`end_pos`, `flags`, and whether the checksum is right; of the body every field, from a format
description's header lengths and a query's status variables to a table map's metadata of columns,
a rows event's bitmaps and images, and a compressed payload
(`tests/analyses/conformance/test_stored_fields.py` changes each field of each kind of event). Of
each row: its values, number, `end_pos`, `timestamp`, `commit_timestamp`, `server_id`, `gtid`,
`thread_id`, `query`, and `xid` and `xa`, which only the end of its transaction shows. With
`binlog_row_metadata=FULL` columns must have the names of the table map. What follows from other
fields or other events (a user variable's `charset` and `decoded`, the `variables` and the `file` of
a statement) is not compared here: `--against golden` compares every key.

## The second judge: the log's own bytes

mysqlbinlog's text does not show everything: FLOAT and VECTOR are printed with six digits; at a
GEOMETRY it gives up the row and silently drops the rest of the event's rows; a name or a statement
may look like its own syntax. There the claimed value is written back into its column's binary form,
and must give the very bytes that the log stores. `conform` does so by itself, for `--decoded` too;
in Python the log's events are given as `stored=`.

What such a judgement proves: each value has one form in a column, so no other value gives these
bytes. Writing is also a different path than reading, with its own code for every type, for
metadata, for the length of each cell, for JSON and for character sets (`stored.py`, `written.py`,
`json_stored.py`). Every row of the event is there: the count shows what is dropped or invented.

What it does not prove: that both paths understand a form as the server does, since the same people
wrote them from the same sources. Therefore writing is itself checked: against what servers of 5.7,
8.0 and 9 answered to a SELECT of the boundary values of every type, beside the cells that they
stored, and against mysqlbinlog's text of all golden logs, cell by cell
(`tests/analyses/conformance/test_written.py`). The event's position, its table map, its bitmaps and
what a payload unpacks to are read as our decoder reads them; mysqlbinlog prints positions, types,
columns and NULLs, and where those do not fit the cut bytes, the bytes judge nothing.

What stays unjudged, and is counted so: a partial JSON update whose document the log does not hold,
unknown labels and character sets, rows that cannot be cut into cells.

The rules are tried from first to last; a column's family says which apply to it. Those of "Cells,
by what is expected" are for expected rows, and for mysqlbinlog where no other rule explains a value
and its bytes are at hand.

Logs are compared one by one, so a cluster can do it: with `--engine spark`, and `--master URL`,
each log is a task's, which runs mysqlbinlog on its worker. The driver reads no log and gets each
log's differences and counts; verdict, differences and status are those of one process. Every worker
must reach the logs and have mysqlbinlog on its PATH (or where `--mysqlbinlog` or
`BINLOGKIT_MYSQLBINLOG` say); the error names the worker that has none. In Python
`shared_conformance(spark, PATHS)` of `binlogkit.spark.conformance`. The other judges, `--decoded`
and `--rules` are for one process.

## The third judge: expected events and rows

A golden log has beside it the events and rows that a decoder must give (`events.jsonl`,
`rows.jsonl`), proved by other means than the decoder under test. With them no mysqlbinlog is needed
and nothing stays open:

```sh
binlogkit fixtures archive --out golden
tar -xzf golden/*.tar.gz -C golden --strip-components=1
LOG=golden/8.0-row-full/keys/binlog.000001
binlogkit conform --against golden $LOG
binlogkit rows $LOG --format jsonl --output rows.jsonl
binlogkit conform --against golden --decoded rows.jsonl --as binlogkit --decoder mine \\
    --junit conform.xml --html conform.html $LOG
```

Every key of every record is compared, with its type: of events the header, `end_pos`, checksum and
each field down to the status variables, of rows also the columns' names. A difference shows the
bytes that the log has there. `--against mysqlbinlog --against golden` uses both. `--html` writes
one self-contained page: the verdict, and the differences by whose fault they are.
`--decoder` is what the decoder under test is called, by default as its format; `--golden DIR` says
where the lines are, if not beside the log. What no record of a type has (a decoder without `xid`)
is neither reported nor compared. Records are matched by their values and, where given, their
places, so that one that is lost, doubled, invented or moved is one difference; those that are lost
next to each other are one together ([testing-decoders.md](testing-decoders.md#another-language)).

A baseline names logs without their folders, so that it is valid on other machines.

## The fourth judge: the server

`binlogkit conform --against server --server mysql://USER@HOST:PORT LOG…` asks the running server
that wrote the logs. Of each event it compares what SHOW BINLOG EVENTS says (for relay logs SHOW
RELAYLOG EVENTS): position, type, server id, end, and the text of Info, which is made again from our
event to the letter (5.6.24 to 9.7.4; for types unknown there all but the text). What the server has
after the end of the copy came later. Then the tables: the rows of every table that the logs name
are compared with SELECT, as of the server's current position, by key or as a multiset. A row that
differs is unexplained: either it is decoded wrongly, or something changed it that is not in the log
(`sql_log_bin=0`; `verify --images` looks for the place). Tables are unjudged, with the reason,
where the server is at a position that these logs do not reach, or where they do not determine the
rows: stop writers, or capture again. The account needs REPLICATION SLAVE, and the rights that
`snapshot` needs.
"""


def conformance() -> str:
    """docs/conformance.md."""
    parts = [_INTRODUCTION]
    chapters: tuple[tuple[str, Sequence[Rule]], ...] = (
        ("Cells", RULES),
        ("Cells, by what is expected", EXPECTED_RULES),
        ("Events", tuple(EVENT_RULES.values())),
    )
    for title, rules in chapters:
        parts.append(f"\n## {title}\n")
        for kind, meaning in _KINDS.items():
            chosen = [rule for rule in rules if rule.kind == kind]
            if chosen:
                source = Counter(rule.source for rule in chosen).most_common(1)[0][0]
                parts.append(f"\n### {meaning} (`{kind}`)\n\nSource, unless a rule names its own: ")
                parts.append(f"{source}.\n\n")
                parts.extend(_rule(rule, source) for rule in chosen)
    return "".join(parts)


def _rule(rule: Rule, source: str) -> str:
    families = f" ({', '.join(rule.families)})" if rule.families else ""
    own = "" if rule.source == source else f" Source: {rule.source}."
    return f"- **{rule.id}**{families}: {rule.text}.{own}\n"


_EVENTS = """# The events

Made from the code by `tools/make_docs.py`. Each type by its official name, the version that brought
it, and the fields of its record (`fields` of `binlogkit events --format jsonl`, beside `log_pos`):
what they mean is said in the JSON Schema `event` and in the classes of `binlogkit.events`. A type
that is not here is kept: its `fields` are `body` and `reason`.

Beside its own fields a record may have:

- `variables`: of a statement, the INTVAR, RAND and USER_VAR events before it, in their order;
- `file`: of EXECUTE_LOAD_QUERY, EXEC_LOAD and DELETE_FILE, what the log has of LOAD DATA's file:
  `log.loaded_files(directory)` writes these files;
- `unread`, `unread_post_header`: bytes after the last known field, as a newer server may add
  some.

`log_pos` is 0 in a v1 log, the event's own start in v3, the next event's start in v4, always modulo
2³²; `pos` and `end_pos` are the 64-bit place in the file. In a relay log `log_pos` is the source's;
inside a compressed payload it is 0; before 5.1 was released it was counted from the transaction's
start for the events inside one.

"""


def event_types() -> str:
    """docs/events.md."""
    parts = [_EVENTS, "| Code | Type | Written by | Meaning | Fields |\n|---|---|---|---|---|\n"]
    for name, facts in CATALOGUE["events"].items():
        code, since = EventType[name], facts["since"]
        written = f"{since} to {facts['until']}" if "until" in facts else f"{since} on"
        written = since if "after" in since else written
        parser = parser_of(code)
        keys = record_keys(get_type_hints(parser)["return"]) if parser else []
        shown = ", ".join(f"`{key}`" for key in keys) or "none"
        parts.append(f"| {int(code)} | {name} | {written} | {facts['meaning']} | {shown} |\n")
    own = ", ".join(f"{name} ({code})" for code, name in MARIADB_EVENT_TYPES.items())
    parts.append(f"\nMariaDB's own, named and kept unread: {own}.\n")
    parts.append("\n## Header flags\n\n| Bit | Name | Meaning |\n|---|---|---|\n")
    for name, meaning in CATALOGUE["flags"].items():
        parts.append(f"| {EventFlag[name]:#06x} | {name} | {meaning} |\n")
    return "".join(parts)


_LOGGING = (ROOT / "tools" / "logging_rules.md").read_text("utf-8")


def logging_rules() -> str:
    """docs/logging-rules.md."""
    versions = sorted(
        {version for given in results().values() for version in given}, key=version_tuple
    )
    parts, topic = [], ""
    for rule in sentences():
        if rule.topic != topic:
            topic = rule.topic
            heads = " | ".join(versions)
            parts.append(f"\n### {topic}\n\n| Rule | What the document says | {heads} |\n")
            parts.append("|---|---|" + "---|" * len(versions) + "\n")
        parts.append(_sentence(rule, versions))
    findings = "".join(_finding(rule) for rule in sentences() if rule.finding)
    played = sum(not rule.not_played for rule in sentences())
    reasons = "".join(
        f"| `{reason.name}` | {_versions(reason.since, reason.until)} | "
        f"{f'`{reason.rule}`' if reason.rule else 'the servers alone'} |\n"
        for reason in REASONS
    )
    words = {
        "count": str(len(sentences())),
        "played": str(played),
        "rules": "".join(parts),
        "findings": findings,
        "reasons": reasons,
        "fields": field_table(EXPLAINED),
        "contradictions": field_table(CONTRADICTIONS),
        "functions": ", ".join(sorted(LISTS["others"])),
        "variables": ", ".join(sorted(LISTS["variables"])),
    }
    return re.sub(r"\{(\w+)\}", lambda found: words[found[1]], _LOGGING)


def coverage() -> str:
    """docs/coverage.md."""
    template = (ROOT / "tools" / "coverage.md").read_text("utf-8")
    return coverage_page.page(template, CATALOGUE["events"], CATALOGUE["holes"])


def _versions(since: int, until: int) -> str:
    def shown(number: int) -> str:
        return f"{number // 10000}.{number // 100 % 100}.{number % 100}"

    if until < 10**6:
        return f"before {shown(until)}"
    return f"from {shown(since)} on" if since else "all"


def _sentence(rule: Sentence, versions: list[str]) -> str:
    if rule.not_played:
        cells = ["not played"] * len(versions)
    else:
        given = results()[rule.id]
        cells = ["yes" if given[version] == rule.gives else "**no**" for version in versions]
    return f"| `{rule.id}` | {_cell(rule.text)} | {' | '.join(cells)} |\n"


def _finding(rule: Sentence) -> str:
    """What servers do otherwise, with the case and what each gave."""
    given: dict[str, list[str]] = {}
    in_order = sorted(results()[rule.id].items(), key=lambda one: version_tuple(one[0]))
    for version, found in in_order:
        given.setdefault(found, []).append(version)
    lines = [
        f"  - {', '.join(named)}: {f'`{found}`' if found else 'nothing'}\n"
        for found, named in given.items()
        if found != rule.gives
    ]
    said = f"`{rule.gives}`" if rule.gives else "nothing"
    return (
        f"- **{rule.id}**: {rule.finding}.\n"
        f"  - {rule.format}: `{_cell(rule.play)}`; as the document: {said}\n" + "".join(lines)
    )


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def generated() -> Mapping[Path, Callable[[], str]]:
    """What makes the text of each document; some are generated as a whole."""
    pages = {
        DOCS / "conformance.md": conformance,
        DOCS / "coverage.md": coverage,
        DOCS / "events.md": event_types,
        DOCS / "logging-rules.md": logging_rules,
        DOCS / "proof.md": proof_page.page,
    }
    return {**{path: partial(document, path) for path in documents()}, **pages}


def document(path: Path) -> str:
    """A document with its tables of fields and the outputs of its commands made again."""
    text = with_tables(path.read_text("utf-8"))
    if any(block.info == "console" for block in blocks(text)):
        with tempfile.TemporaryDirectory() as folder:
            prepare(Path(folder))
            text = refreshed(text, Path(folder))
    return text


def main() -> None:
    """Write what has changed."""
    for path, make in generated().items():
        text = make()
        if path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")
            print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
