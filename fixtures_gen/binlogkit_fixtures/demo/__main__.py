"""``python -m binlogkit_fixtures.demo --out FOLDER``."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

import binlogkit as bk
from binlogkit.errors import BinlogKitError, printable
from binlogkit_fixtures.demo.logs import Case, Logs, find_judge, make_logs
from binlogkit_fixtures.demo.pipeline import CELLS, arrivals
from binlogkit_fixtures.demo.truth import check_tables
from binlogkit_fixtures.oracle import Oracle

WIDTH = 110
INCIDENT = ("8.0-row-full", "incident")
VICTIM = "shop.orders"
SHOWN_STATEMENTS = 3
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
        logs = self.servers(oracle)
        case = logs.case(*INCIDENT)
        self.frames(logs)
        self.audit(case)
        self.rebuild(logs, case)
        self.judge(logs, oracle, why)
        script = self.undo(case)
        report = self.report(case)
        self.live(case)
        self.pipeline(logs)
        self.heading("Where everything is")
        places = [
            ("the logs, each with its manifest", logs.cases[0].folder.parents[1]),
            ("the evidence report", report),
            ("the undo script", script),
            ("the tables that landed", self.out / "lake"),
        ]
        for what, place in places:
            self.say(f"  {what}: {place}")
        return self.end()

    def only_pipeline(self, cells: Sequence[str]) -> int:
        """Logs from servers of these cells, landed and asked; 0 when everything agreed."""
        oracle, _ = find_judge()
        self.pipeline(self.servers(oracle, cells), step=2)
        self.say(f"\n  the tables that landed: {self.out / 'lake'}")
        return self.end()

    def end(self) -> int:
        """What failed; the exit status."""
        self.say(f"  all of it took {time.monotonic() - self.begin:.0f} s")
        for failure in self.failures:
            self.say(f"!! {failure}")
        return 1 if self.failures else 0

    def heading(self, text: str) -> None:
        """A step begins."""
        self.console.print()
        self.console.rule(Text(text, style="bold"), align="left")

    def say(self, text: str) -> None:
        """A line; nothing in it is markup."""
        self.console.print(Text("\n".join(printable(line) for line in text.split("\n"))))

    def table(self, rows: list[dict[str, Any]], right: tuple[str, ...] = ()) -> None:
        """Records as a table."""
        table = Table(show_edge=False, header_style="bold")
        for name in rows[0]:
            table.add_column(name, justify="right" if name in right else "left")
        for row in rows:
            table.add_row(*(Text(printable(str(value))) for value in row.values()))
        self.console.print(table)

    def servers(self, oracle: Oracle | None, cells: Sequence[str] = ()) -> Logs:
        """Step 1: real servers play the scenarios, in all cells or in these."""
        self.heading("1. Real servers write binary logs")
        begin = time.monotonic()
        logs = make_logs(self.out / "logs", oracle, self.runner, cells)
        if logs.runner is None:
            self.say(f"No MySQL server can be had here: {logs.reason}")
            self.say("What follows works on the golden logs and the truth recorded with them.")
        else:
            versions = sorted({case.manifest.server_version for case in logs.cases})
            self.say(
                f"MySQL {' and '.join(versions)} ({logs.runner}) played {len(logs.cases)} "
                f"scenarios in {time.monotonic() - begin:.0f} s"
            )
        return logs

    def frames(self, logs: Logs) -> None:
        """Step 2: decode all of them."""
        self.heading("2. Every log as pandas frames")
        rows: list[dict[str, Any]] = []
        with self.progress() as progress:
            for case in progress.track(logs.cases, description="decoding"):
                log = bk.open([str(path) for path in case.logs])
                frame = log.rows()
                ops = frame["op"].value_counts()
                rows.append(
                    {
                        "cell": case.cell,
                        "scenario": case.scenario,
                        "events": len(log.events()),
                        "transactions": len(log.transactions()),
                        **{f"{op}s": int(ops.get(op, 0)) for op in ("insert", "update", "delete")},
                        "statements": int((log.statements()["kind"] == "dml").sum()),
                        "undecodable": log.undecodable,
                    }
                )
        numbers = tuple(rows[0])[2:]
        by_cell: dict[str, Counter[str]] = {}
        for row in rows:
            by_cell.setdefault(row["cell"], Counter()).update({n: row[n] for n in numbers})
        self.table([{"cell": cell, **counts} for cell, counts in by_cell.items()], numbers)

    def progress(self) -> Progress:
        """A progress bar on standard error."""
        return Progress(console=Console(stderr=True), transient=True)

    def audit(self, case: Case) -> None:
        """Step 3: who changed what, in the incident's log."""
        self.heading("3. Audit of the incident")
        audit = bk.open([str(path) for path in case.logs]).audit()
        tables = audit["by_table"].to_pylist()
        names = ("rows", "inserts", "updates", "deletes")
        self.table(
            [{"table": f"{t['db']}.{t['table']}", **{n: t[n] for n in names}} for t in tables],
            names,
        )
        self.say("\nStatements that changed the most rows:")
        shown = [s for s in audit["by_statement"].to_pylist() if s["updates"]][:SHOWN_STATEMENTS]
        self.table([{"rows": s["rows"], "statement": s["query"]} for s in shown], ("rows",))

    def rebuild(self, logs: Logs, incident: Case) -> None:
        """Step 4: tables as they were, held against the server's own SELECT."""
        self.heading("4. The table before the bad statement, and what the server held then")
        for mark in incident.manifest.marks:
            if mark.name in ("before", "after"):
                check = next(check_tables(incident, mark, [VICTIM]))
                self.say(
                    f"{VICTIM} {mark.name} the statement, at {mark.file}:{mark.pos}: "
                    f"{check.rows} rows, {check.verdict} to the server's SELECT"
                )
                self.expect(check.verdict == "equal", f"{VICTIM} {mark.name}: {check.verdict}")
        counts: dict[str, Counter[str]] = {}
        with self.progress() as progress:
            for case in progress.track(logs.cases, description="rebuilding"):
                mark = case.manifest.marks[-1]
                for check in check_tables(case, mark, mark.tables):
                    counts.setdefault(case.cell, Counter())[check.verdict] += 1
                    self.expect(
                        check.verdict != "different",
                        f"{case.cell}/{case.scenario}: {check.table} at {check.mark} differs",
                    )
        verdicts = ("equal", "not determined", "different")
        self.say("\nEvery table at the end of every log:")
        self.table(
            [{"cell": cell, **{v: found[v] for v in verdicts}} for cell, found in counts.items()],
            verdicts,
        )
        self.say(
            "Not determined, and reported so: what statements logged as text did to rows, columns "
            "that a minimal image leaves out, foreign key cascades (not logged)."
        )

    def expect(self, holds: bool, failure: str) -> None:
        """Remember what went wrong."""
        if not holds:
            self.failures.append(failure)

    def judge(self, logs: Logs, oracle: Oracle | None, why: str) -> None:
        """Step 5: the verdict against mysqlbinlog."""
        from binlogkit.analyses.conformance import Kind

        self.heading("5. Against mysqlbinlog")
        if oracle is None:
            self.say(f"No mysqlbinlog can be had here: {why}")
            self.say("The golden logs carry the text that 9.7.4 printed; that is compared instead.")
        counts: dict[str, Counter[str]] = {}
        with self.progress() as progress:
            for case in progress.track(logs.cases, description="comparing"):
                for path in case.logs:
                    summary = compare(case, path, oracle)
                    found = counts.setdefault(case.cell, Counter())
                    found.update(
                        events=summary.events,
                        rows=summary.rows,
                        cells=summary.cells,
                        **summary.kinds,
                    )
                    self.expect(
                        summary.exit_status == 0, f"{path}: {summary.verdict} {dict(summary.rules)}"
                    )
        names = ("events", "rows", "cells", *(kind.value for kind in Kind))
        self.table(
            [{"cell": cell, **{n: found[n] for n in names}} for cell, found in counts.items()],
            names,
        )
        self.say(
            "ours: we are wrong; theirs: mysqlbinlog is; representation: the same value written "
            "otherwise; under_determined: nothing decides."
        )

    def undo(self, case: Case) -> Path:
        """Step 6: the SQL that takes the bad statement back."""
        from binlogkit.reports.sql import SqlOptions, script, statement

        self.heading("6. Undoing the one bad statement")
        log = bk.open([str(path) for path in case.logs])
        largest = max(log.transaction_records(table=VICTIM, op="update"), key=_updates)
        start, stop = largest["pos"], largest["end_pos"]
        plans = log.undo(table=VICTIM, start_position=start, stop_position=stop)
        self.say(f"{largest['first_query']}\n")
        for plan in plans[:SHOWN_STATEMENTS]:
            self.say(f"{statement(plan)};")
        self.say(f"… {len(plans)} statements in all, each of which must hit exactly one row")
        path = self.out / "undo.sql"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(script(plans, SqlOptions(title="undo"))), "utf-8")
        path.chmod(0o600)
        return path

    def report(self, case: Case) -> Path:
        """Step 7: the evidence report."""
        from binlogkit.cli import run

        self.heading("7. The evidence report")
        path = self.out / "report.html"
        logs = [str(log) for log in case.logs]
        status = run(["audit", *logs, "--html", str(path), "--title", "The refunds of 14:03"])
        self.expect(status == 0, f"binlogkit audit ended with status {status}")
        self.say(f"{path.stat().st_size:,} bytes, plots included, nothing loaded from elsewhere")
        return path

    def live(self, case: Case) -> None:
        """Step 8: a query's result while the log is written, held against the table as it was."""
        self.heading("8. A query kept up to date while the log is written")
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
                self.say(f"\n{name} the statement, at {live.moment.file}:{live.moment.pos}:")
                self.table(records, ("orders", "total"))
                then = log.state(VICTIM, at=(mark.file, mark.pos)).frame()
                totals = {str(s): sum(part) for s, part in then.groupby("status")["total"]}
                same = {str(row["status"]): row["total"] for row in records} == totals
                self.expect(same, f"the query {name} the statement: {records}, not {totals}")

    def pipeline(self, logs: Logs, step: int = 9) -> None:
        """Logs landed as tables, and what is asked of them without the logs."""
        from binlogkit.spark import session

        self.heading(f"{step}. The pipeline on Spark")
        begin = time.monotonic()
        spark = session()
        counts: dict[str, Counter[str]] = {}
        try:
            with self.progress() as progress:
                found = arrivals(spark, logs, self.out / "lake")
                for one in progress.track(found, description="landing"):
                    counts.setdefault(one.case.cell, Counter()).update(one.counts)
                    for failure in one.failures:
                        self.expect(False, f"{one.case.cell}/{one.case.scenario}: {failure}")
        finally:
            spark.stop()
        names = ("logs", "tables", "changes", "equal", "not determined", "different")
        self.table(
            [{"cell": cell, **{n: found[n] for n in names}} for cell, found in counts.items()],
            names,
        )
        self.say(
            f"Landed as Delta tables in {time.monotonic() - begin:.0f} s. Without the logs the "
            "tables gave the same transactions, changes and audit as the logs, and their rows at "
            "the marks: equal to the server's SELECT, or not determined and said to be."
        )


def _updates(transaction: dict[str, Any]) -> int:
    return int(transaction["updates"])


def compare(case: Case, path: Path, oracle: Oracle | None) -> Any:
    """The summary of one log's comparison with mysqlbinlog, or with its recorded text."""
    from binlogkit.analyses.conformance import against_mysqlbinlog
    from binlogkit.log.stored_events import stored_events
    from binlogkit_fixtures.golden import case as golden_case

    log = bk.open(path)
    schemas = log.table_schemas()
    if oracle is None:
        text = golden_case(case.cell, case.scenario).mysqlbinlog_texts[path.name]
        lines: Any = text.splitlines(keepends=True)
    else:
        from binlogkit.sources.mysqlbinlog import Mysqlbinlog, read

        lines = read(path, using=Mysqlbinlog(tuple(oracle.argv), oracle.version))
    (carrier,) = log.carriers
    result = against_mysqlbinlog(
        log.event_records(), log.row_records(), schemas, lines, stored=stored_events(carrier)
    )
    return result.summary


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
