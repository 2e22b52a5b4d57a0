"""Other decoders, run as real programs over the golden logs, and judged by the expected rows.

``python -m tests.decoders.suite`` runs them over the whole suite, and pipelines beside servers that
play its scenarios, and writes docs/decoders.md.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import binlogkit as bk
from binlogkit.analyses.conformance import (
    EVENT_RULES,
    EXPECTED_RULES,
    ConformanceResult,
    against_golden,
    parse_decoded,
)
from binlogkit.sources.expected import expected_lines
from binlogkit_fixtures import golden
from binlogkit_fixtures.scenarios import load
from tests.decoders.pipelines import PIPELINES, Pipeline, changes, playable

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "decoders.md"
EXAMPLE = HERE.parents[1] / "examples" / "python_mysql_replication"


@dataclass(frozen=True)
class Program:
    """A decoder that can be run: the words before the log's path, its own environment."""

    name: str
    version: str
    argv: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)

    def run(self, log: Path) -> subprocess.CompletedProcess[str]:
        """What it prints of a log."""
        return subprocess.run(
            [*self.argv, str(log)], capture_output=True, encoding="utf-8", check=False,
            env={**os.environ, **self.environment}, timeout=120,
        )  # fmt: skip


def go_mysql(folder: Path) -> Program:
    """go-mysql, built from the Go module proxy."""
    source, built = HERE / "go_mysql", folder / "go-mysql"
    subprocess.run(["go", "build", "-o", str(built), "."], cwd=source, check=True)
    wanted = next(ln for ln in (source / "go.mod").read_text().splitlines() if "go-mysql " in ln)
    return Program("go-mysql", wanted.split()[-1], [str(built)])


def python_mysql_replication(folder: Path) -> Program:
    """python-mysql-replication, installed beside this environment."""
    source, place = EXAMPLE, folder / "packages"
    wanted = source / "requirements.txt"
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check",
         "--root-user-action", "ignore", "--target", str(place), "-r", str(wanted)],
        check=True,
    )  # fmt: skip
    version = wanted.read_text().strip().rpartition("=")[2]
    argv = [sys.executable, str(source / "decode.py")]
    return Program("python-mysql-replication", version, argv, {"PYTHONPATH": str(place)})


DECODERS = {"go-mysql": go_mysql, "python-mysql-replication": python_mysql_replication}

Finding = tuple[str, str]  # kind, and the rule or the reason


@dataclass
class Verdicts:
    """What was found of one decoder: counts, the first example of each, logs that ended it."""

    program: Program | Pipeline
    logs: int = 0
    rows: int = 0
    cells: int = 0
    found: Counter[Finding] = field(default_factory=Counter)
    examples: dict[Finding, dict[str, Any]] = field(default_factory=dict)
    ended: dict[str, str] = field(default_factory=dict)

    def judge(
        self, case: golden.GoldenCase, logs: Sequence[Path], lines: Iterable[str], format: str,
        place: str,
    ) -> None:  # fmt: skip
        """Compare what it says of some of a case's logs with what is expected of them together."""
        schemas = bk.open([str(path) for path in case.binlogs]).table_schemas()
        expected = (expected_lines(case.path, "rows", path.name) for path in logs)
        result = against_golden(
            None, parse_decoded(lines, format).rows, schemas, [], chain.from_iterable(expected),
            file=place, keep=1_000_000, decoder=self.program.name,
        )  # fmt: skip
        self.logs += 1
        self.rows += result.summary.rows
        self.cells += result.summary.cells
        for record in result.differences.to_pylist():
            self.examples.setdefault((record["kind"], _what(record)), record)
        self.found.update(_counted(result))


def judge(program: Program, cases: Iterable[golden.GoldenCase]) -> Verdicts:
    """Run a decoder over cases and compare its rows with the expected ones."""
    verdicts = Verdicts(program)
    for case in cases:
        for path in case.binlogs:
            done = program.run(path)
            place = f"{case}/{path.name}"
            if done.returncode:
                verdicts.ended[place] = _why(done.stderr)
            verdicts.judge(case, [path], done.stdout.splitlines(), "rows", place)
    return verdicts


def judge_pipeline(
    pipeline: Pipeline, cases: Iterable[golden.GoldenCase], folder: Path
) -> Verdicts:
    """Let it follow servers that play the cases' scenarios; a case's logs are judged as one."""
    verdicts = Verdicts(pipeline)
    for case in cases:
        said = changes(pipeline, case, folder)
        if said.ended:
            verdicts.ended[str(case)] = said.ended
        verdicts.judge(case, case.binlogs, said.lines, pipeline.name, str(case))
    return verdicts


def _what(record: Mapping[str, Any]) -> str:
    """The rule, or the reason: rows that are lacking together are counted as rows."""
    reason = str(record["rule"] or record["reason"])
    return reason.replace("these rows", "this row").replace("such rows", "such row")


def _counted(result: ConformanceResult) -> Counter[Finding]:
    """By kind and rule; those without a rule by their reason."""
    counts: Counter[Finding] = Counter()
    alone = {"s this row": "rows_lacking", "such row here": "rows_invented"}
    kinds = {rule.id: str(rule.kind) for rule in (*EXPECTED_RULES, *EVENT_RULES.values())}
    for rule, count in result.summary.rules.items():
        counts[kinds[rule], rule] += count
    for record in result.differences.to_pylist():
        what = _what(record)
        rows = next((name for end, name in alone.items() if what.endswith(end)), None)
        if rows is not None:
            counts[record["kind"], what] = getattr(result.summary, rows)
        elif not record["rule"]:
            counts[record["kind"], what] += 1
    return counts


def _why(stderr: str) -> str:
    """The line that says what ended a program."""
    lines = [line for line in stderr.splitlines() if line.strip()]
    panics = [line for line in lines if line.startswith(("panic:", "fatal error:"))]
    return (panics or lines or ["nothing was said"])[0 if panics else -1][:120]


# ---- the page ---------------------------------------------------------------------------------

_HEAD = """# Other decoders on the golden logs

<!-- Made by python -m tests.decoders.suite: change that, not this. -->

Each decoder is run as a program of its own over the {logs} golden logs, and its rows are judged by
the expected ones (the programs, in `tests/decoders/` and `examples/`, print what the library gives,
and mend nothing; [testing-decoders.md](testing-decoders.md) says how a project tests its decoder
so). The command that judges is `conform --against golden --decoded OUT --as rows`, for a decoder of
your own as well; six keys suffice: `pos`, `db`, `table`, `op`, `before` and `after`
([testing-decoders.md](testing-decoders.md#another-language)).

What is `ours` below is the decoder's own; `representation` is the same value written otherwise.
Neither decoder has a server to ask here: what names, signedness and labels it could have had from
one it does not have, unless the log has them. An expected row that the decoder does not give is
counted as lacking; where the program ended early all rows after that are.

## Libraries
"""


_PIPELINES = """
## Pipelines beside servers

Debezium, Maxwell and canal read no files: each follows a server that plays the scenarios of the
golden set's cells with full row images, with the settings that it comes with, but for canal's
history of tables (tsdb), which is off: after DDL it knows tables as they are on the server by then
(`tests/decoders/` has the programs). What it prints is judged by the expected rows (`conform
--decoded OUT --as debezium`, `maxwell`, `canal`); what follows where it ended, or went no further,
is lacking. Scenarios that end or restart their server, or have several, are left out.
"""


def page(decoders: Sequence[Verdicts], pipelines: Sequence[Verdicts]) -> str:
    """The text of docs/decoders.md."""
    parts = [_HEAD.format(logs=decoders[0].logs)]
    for verdicts in decoders:
        parts += _section(verdicts, f"{verdicts.rows} rows and {verdicts.cells} cells compared.")
    parts.append(_PIPELINES)
    for verdicts in pipelines:
        assert isinstance(verdicts.program, Pipeline)
        series = " and ".join(verdicts.program.series)
        parts += _section(
            verdicts,
            f"{verdicts.logs} scenarios on {series}: {verdicts.rows} rows and {verdicts.cells} "
            "cells compared.",
        )
    return "".join(parts)


def _section(verdicts: Verdicts, counted: str) -> Iterator[str]:
    """What was found of one program."""
    meanings = {rule.id: rule.text for rule in (*EXPECTED_RULES, *EVENT_RULES.values())}
    program = verdicts.program
    yield (
        f"\n### {program.name} {program.version.removeprefix('v')}\n\n{counted}\n\n"
        "| Kind | What | Times | For example |\n|---|---|---|---|\n"
    )
    for (kind, what), count in sorted(verdicts.found.items(), key=lambda item: -item[1]):
        text = f"**{what}**: {meanings[what]}" if what in meanings else what
        yield f"| {kind} | {_cell(text)} | {count} | {_example(verdicts, kind, what)} |\n"
    if verdicts.ended:
        reasons = Counter(verdicts.ended.values())
        yield f"\n{len(verdicts.ended)} logs ended the program before their end:\n\n"
        for reason, count in reasons.most_common():
            log = next(name for name, why in verdicts.ended.items() if why == reason)
            yield f"- {count} × {_code(reason)}, as in {log}\n"


def _example(verdicts: Verdicts, kind: str, what: str) -> str:
    record = verdicts.examples[kind, what]
    column = f" {_code(record['column'])}" if record["column"] else ""
    said = [_cell(_short(record[side])) for side in ("ours", "theirs")]
    return f"{record['file']} at {record['pos']}{column}: {said[0]} for {said[1]}"


def _short(value: str | None) -> str:
    if value is None:
        return "nothing"
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in value)
    return _code(f"{text[:40]}…" if len(text) > 40 else text)


def _code(text: str) -> str:
    """As code; a backtick would end it."""
    return f"`{text.replace('`', chr(39))}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _cases(pipeline: Pipeline) -> list[golden.GoldenCase]:
    """The golden cases that it can follow, of the cells with full row images."""
    cells = {f"{series}-row-full" for series in pipeline.series}
    return [case for case in golden.cases() if case.cell in cells and playable(load(case.scenario))]


def main() -> None:
    """Write the page."""
    with TemporaryDirectory() as folder:
        decoders = [judge(build(Path(folder)), golden.cases()) for build in DECODERS.values()]
        built = [build(Path(folder)) for build in PIPELINES.values()]
        followed = [judge_pipeline(one, _cases(one), Path(folder)) for one in built]
    PAGE.write_text(page(decoders, followed), encoding="utf-8", newline="\n")
    print(PAGE)


if __name__ == "__main__":
    main()
