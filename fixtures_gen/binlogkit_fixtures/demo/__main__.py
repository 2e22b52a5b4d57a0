"""``python -m binlogkit_fixtures.demo --out FOLDER``."""

from __future__ import annotations

import io
import shlex
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import nullcontext, redirect_stdout
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

import binlogkit as bk
from binlogkit.errors import BinlogKitError, printable
from binlogkit_fixtures import matrices
from binlogkit_fixtures.demo.checks import Checked, check_all
from binlogkit_fixtures.demo.logs import Case, Logs, find_judge, make_logs
from binlogkit_fixtures.demo.pipeline import CELLS, arrivals
from binlogkit_fixtures.oracle import Oracle

WIDTH = 110
INCIDENT = ("8.0-row-full", "incident")
VICTIM = "shop.orders"
QUERY = f"SELECT status, COUNT(*) AS orders, SUM(total) AS total FROM {VICTIM} GROUP BY status"
PATIENCE = 120.0


class Demo:
    """The demo's steps, and what they found."""

    def __init__(self, out: Path, runner: str) -> None:
        self.out = out
        self.runner = runner
        self.console = Console(width=None if sys.stdout.isatty() else WIDTH, highlight=False)
        self.failures: list[str] = []
        self.begin = time.monotonic()

    def run(self) -> int:
        """All steps; 0 when everything agreed."""
        oracle, why = find_judge()
        self.heading("An incident")
        first = self.played(oracle, INCIDENT[:1])
        case = first.case(*INCIDENT)
        self.incident(case, served=first.runner is not None)
        self.live(case)
        logs = self.rest(oracle, first)
        checked = self.matrix(logs, oracle, why)
        self.pipeline(logs, drill=True)
        self.verdict(checked)
        self.next(case)
        return 1 if self.failures else 0

    def only_pipeline(self, cells: Sequence[str]) -> int:
        """Logs from servers of these cells, landed and asked; 0 when everything agreed."""
        oracle, _ = find_judge()
        self.heading("Real servers write binary logs")
        self.pipeline(self.played(oracle, cells), drill=False)
        self.verdict([])
        self.say(f"The tables that landed: {self.out / 'lake'}")
        return 1 if self.failures else 0

    def heading(self, text: str) -> None:
        """A step begins."""
        self.console.print()
        self.console.rule(Text(text, style="bold"), align="left")

    def say(self, text: str) -> None:
        """A line; nothing in it is markup."""
        self.console.print(Text("\n".join(printable(line) for line in text.split("\n"))))

    def shell(self, purpose: str, *argv: str, until: str = "") -> None:
        """A command as a user would type it, and what it prints, up to a line ``until``."""
        from binlogkit.cli import run

        self.say(f"\n{purpose}\n$ {shlex.join(('binlogkit', *argv))}")
        sys.stdout.flush()
        printed = io.StringIO()
        with redirect_stdout(printed) if until else nullcontext():
            status = run([*argv])
        if until:
            self.say(printed.getvalue().split(f"\n{until}\n")[0].rstrip() + "\n…")
        self.expect(status == 0, f"binlogkit {argv[0]} ended with status {status}")

    def table(self, rows: list[dict[str, Any]], right: Iterable[str] = ()) -> None:
        """Records as a table."""
        table = Table(show_edge=False, header_style="bold")
        for name in rows[0]:
            table.add_column(name, justify="right" if name in right else "left")
        for row in rows:
            table.add_row(*(Text(printable(str(value))) for value in row.values()))
        self.console.print(table)

    def progress(self) -> Progress:
        """A progress bar on standard error."""
        return Progress(console=Console(stderr=True), transient=True)

    def expect(self, holds: bool, failure: str) -> None:
        """Remember what went wrong."""
        if not holds:
            self.failures.append(failure)

    def played(self, oracle: Oracle | None, cells: Sequence[str]) -> Logs:
        """Real servers play the scenarios in these cells."""
        begin = time.monotonic()
        logs = make_logs(self.out / "logs", oracle, self.runner, cells)
        if logs.runner is None:
            self.say(f"No MySQL server can be had here: {logs.reason}")
            self.say("What follows works on the golden logs and the truth recorded with them.")
        else:
            versions = sorted({case.manifest.server_version for case in logs.cases})
            self.say(
                f"MySQL {' and '.join(versions)} ({logs.runner}) played {len(logs.cases)} "
                f"scenarios in {time.monotonic() - begin:.0f} s."
            )
        return logs

    def incident(self, case: Case, *, served: bool) -> None:
        """An incident of a real server: found, and taken back."""
        log = str(case.logs[0])
        self.say("One is half an hour of a shop, in which an UPDATE lacked half of its WHERE.")
        shown = "score,thread_id,op,table,rows,what"
        self.shell("What happened?", "audit", log, "--section", "suspects", "--columns", shown)
        self.shell(
            "What did it do to one order?",
            *("rows", log, "--table", VICTIM, "--where", "id=150"),
            *("--columns", "pos,thread_id,op,changes"),
        )
        undo = ("undo", log, "--at", str(bk.open(log).suspects()["pos"].iloc[0]), "--mode", "merge")
        path = str(self.out / "undo.sql")
        self.shell("Take it back, and keep what colleagues did since.", *undo, "--output", path)
        if served:
            self.shell(
                "Is the script right? A server started for this plays the log, then the script.",
                *(*undo, "--prove", "text"),
                until="What the script changed",
            )
        path = str(self.out / "report.html")
        self.shell("For everybody else: a page.", "audit", log, "--html", path)

    def live(self, case: Case) -> None:
        """A query's result while the log is written, held against the table as it was."""
        self.heading("A query kept up to date while the log is written")
        marks = {mark.name: mark for mark in case.manifest.marks}
        written, log = case.logs[0].read_bytes(), bk.open(str(case.logs[0]))
        growing = self.out / "written" / case.logs[0].name
        growing.parent.mkdir(parents=True, exist_ok=True)
        growing.write_bytes(written[: marks["before"].pos])
        self.say(QUERY)
        with bk.live(growing.parent, VICTIM) as live:
            live.wait_for((marks["before"].file, marks["before"].pos), PATIENCE)
            query = live.register(QUERY)
            for name in ("before", "after"):
                mark = marks[name]
                with growing.open("ab") as file:
                    file.write(written[growing.stat().st_size : mark.pos])
                live.wait_for((mark.file, mark.pos), PATIENCE)
                records = sorted(query.records(), key=lambda row: str(row["status"]))
                self.say(f"\n{name} the bad statement, at {live.moment.file}:{live.moment.pos}:")
                self.table(records, ("orders", "total"))
                then = log.state(VICTIM, at=(mark.file, mark.pos)).frame()
                totals = {str(s): sum(part) for s, part in then.groupby("status")["total"]}
                same = {str(row["status"]): row["total"] for row in records} == totals
                self.expect(same, f"the query {name} the statement: {records}, not {totals}")

    def rest(self, oracle: Oracle | None, first: Logs) -> Logs:
        """The other cells' logs with those of the first, in the matrix's order."""
        self.heading("The same scenarios under eighteen settings of two servers")
        names = [cell.name for cell in matrices.select()]
        logs = self.played(oracle, [name for name in names if name != INCIDENT[0]])
        cases = sorted((*first.cases, *logs.cases), key=lambda case: names.index(case.cell))
        return Logs(tuple(cases), logs.runner, logs.reason)

    def matrix(self, logs: Logs, oracle: Oracle | None, why: str) -> list[Checked]:
        """Every log against mysqlbinlog, every table against SELECT, what landed against both."""
        if oracle is None:
            self.say(f"No mysqlbinlog can be had here: {why}")
            self.say("The golden logs carry the text that 9.7.4 printed; that is compared instead.")
        checked = []
        with self.progress() as progress:
            found = check_all(logs.cases, oracle, self.out / "lake")
            for one in progress.track(found, total=len(logs.cases), description="checking"):
                checked.append(one)
                self.failures += [text for texts in one.failures.values() for text in texts]
        self.say("")
        cells = dict.fromkeys(one.case.cell for one in checked)
        self.table([_ticks(cell, checked) for cell in cells], ("events", "rows"))
        self.say(
            "\nmysqlbinlog: every event and cell is what it prints, or it is known to be wrong.\n"
            "SELECT: every table at the end of each log has the server's rows; unknown: said to be,"
            "\n  as the log does not tell (statements as text, columns that minimal images leave "
            "out, cascades).\n"
            "landed: Delta tables give the same changes, audit and states; of the cells with rows."
        )
        return checked

    def pipeline(self, logs: Logs, *, drill: bool) -> None:
        """Logs landed as tables by Spark, and what is asked of them without the logs."""
        from binlogkit.spark import session

        self.heading("The pipeline on Spark")
        begin = time.monotonic()
        counts: dict[str, Counter[str]] = {}
        spark = session()
        try:
            with self.progress() as progress:
                found = arrivals(spark, logs, self.out / "lake", drill=drill)
                for one in progress.track(found, description="landing"):
                    counts.setdefault(one.case.cell, Counter()).update(one.counts)
                    name = f"{one.case.cell}/{one.case.scenario}"
                    self.failures += [f"{name} on Spark: {failure}" for failure in one.failures]
        finally:
            spark.stop()
        names = ("logs", "tables", "changes", "equal", "not determined", "different")
        self.table(
            [{"cell": cell, **{n: found[n] for n in names}} for cell, found in counts.items()],
            names,
        )
        self.say(
            f"Landed as Delta tables in {time.monotonic() - begin:.0f} s, Spark's start included. "
            "Without the logs the tables gave the same changes and audit, and the server's rows at "
            "the marks."
        )

    def verdict(self, checked: Sequence[Checked]) -> None:
        """All of it in a sentence, and each failure."""
        self.heading("Verdict")
        total = sum((one.counts for one in checked), Counter[str]())
        took = f"{time.monotonic() - self.begin:.0f} s"
        if self.failures:
            self.say(f"{len(self.failures)} checks failed ({took}):")
            for failure in self.failures:
                self.say(f"!! {failure}")
        elif checked:
            logs = sum(len(one.case.logs) for one in checked)
            self.say(
                f"Everything agrees: {logs} logs, {total['events']:,} events, {total['rows']:,} "
                f"row changes, {total['cells']:,} cells; {total['equal']:,} tables have the "
                f"server's rows, {total['not determined']:,} are said to be unknown ({took})."
            )
        else:
            self.say(f"Everything agrees. It took {took}.")

    def next(self, case: Case) -> None:
        """Three commands that go on from here."""
        log, at = case.logs[0], str(case.manifest.mark("before").pos)
        self.heading("Try next")
        for argv in (
            ("state", str(log), "--table", VICTIM, "--at", at),
            ("explain", str(log), "--at", at, "--html", str(self.out / "explain.html")),
            ("fixtures", "list"),
        ):
            self.say(f"$ {shlex.join(('binlogkit', *argv))}")
        self.say(f"The report: {self.out / 'report.html'}; the script: {self.out / 'undo.sql'}")


def _ticks(cell: str, checked: Sequence[Checked]) -> dict[str, Any]:
    """A cell's row of the matrix."""
    own = [one for one in checked if one.case.cell == cell]
    counts = sum((one.counts for one in own), Counter[str]())
    wrong = {check for one in own for check in one.failures}
    outcomes = {
        "mysqlbinlog": f"{counts['cells']:,} cells" if counts["cells"] else "",
        "SELECT": f"{counts['equal']} tables",
        "landed": f"{counts['landed']:,} changes",
    }
    if counts["not determined"]:
        outcomes["SELECT"] += f", {counts['not determined']} unknown"
    marks = {name: f"{'✗' if name in wrong else '✓'} {text}" for name, text in outcomes.items()}
    if cell not in CELLS:
        marks["landed"] = ""
    return {"cell": cell, "events": counts["events"], "rows": counts["rows"], **marks}


@click.command()
@click.option("--out", default="out/demo", type=click.Path(path_type=Path), show_default=True)
@click.option("--runner", default="auto", type=click.Choice(["auto", "docker", "local"]))
@click.option("--only-pipeline", is_flag=True, help="Servers, and the pipeline on Spark.")
@click.option(
    "--cell", "cells", multiple=True, type=click.Choice(CELLS), help="Of the pipeline (all three)."
)
def main(out: Path, runner: str, only_pipeline: bool, cells: tuple[str, ...]) -> None:
    """Run the main job on real MySQL servers and show what comes out."""
    try:
        demo = Demo(out, runner)
        status = demo.only_pipeline(cells or CELLS) if only_pipeline else demo.run()
    except BinlogKitError as error:
        print(f"demo: {error}", file=sys.stderr)
        status = 2
    sys.exit(status)


if __name__ == "__main__":
    main()
