"""Undo and redo plans as a SQL script for MySQL 5.7 and 8.0 that checks itself.

A plan is a mapping with the keys ``db, table, kind`` (``insert|update|delete``, what the statement
does), ``set`` and ``where`` (lists of ``{column, value, type}``: ``value`` in the contract's JSON
form, ``type`` one of frames/schema.py KINDS; ``generated: true`` marks a generated column),
``keep`` (columns that an UPDATE assigns to themselves, so that the server does not set them),
``later`` (columns that it does not restore, items as in ``set``),
``limit_one, refused`` (why there is no statement, or None), ``skipped`` (left out, not refused),
``file, pos, inner, row, gtid, timestamp, note`` (its source).

The script is printable ASCII and has one comment or one statement per line, so it can be run line
by line as well as by the ``mysql`` client. It sets the session so that every literal means the same
everywhere, and runs in one transaction. It counts each statement that did not change exactly one
row, and reads back each row that was written (triggers may have changed it). It **commits only if
every statement hit its row, every row holds what was meant and ``@bk_commit`` is 1**. If changes
were refused, ``@bk_despite_refused`` must be 1, too; if triggers act on its statements,
``@bk_despite_triggers``. The server must have no foreign key that acts on them and is unknown to
the log. Otherwise it rolls back. Its verdict is ``committed`` only if nothing was refused. At the
end it restores the session. Its head says whose changes were chosen, and lists the gaps and
assumptions of the plans. For the text around the statements, and the reason for each setting, see
``templates/script.sql``.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

from binlogkit.analyses.undoing.advice import Refusals
from binlogkit.reports._literals import comment, identifier, literal
from binlogkit.reports._references import (
    UNCHECKED,
    WRITES,
    Acted,
    foreign_key_lines,
    generated_lines,
    reference_lines,
    trigger_lines,
)
from binlogkit.reports._statements import Plan, kept_of, last_checks, plan_lines, statement

if TYPE_CHECKING:
    from binlogkit.analyses.undoing.plans import Chunk

__all__ = ["Script", "SqlOptions", "comment", "identifier", "literal", "script", "statement"]


_IN_MEMORY = 1 << 24  # bytes of statements that wait for the script's head


@dataclass(frozen=True, slots=True)
class SqlOptions:
    """How a script is made.

    ``title``: what it does, one line; ``made_by``: tool, version and command, for the head;
    ``commit``: the value of ``@bk_commit``; ``despite_refused``: whether the script may commit
    although changes were refused; ``despite_triggers``: although triggers act on its statements.
    """

    title: str = "undo"
    made_by: str = "binlogkit"
    commit: bool = False
    despite_refused: bool = False
    despite_triggers: bool = False


def script(plans: Iterable[Plan], options: SqlOptions | None = None) -> Iterator[str]:
    """The lines of the script, each with its line end; ``plans`` are read one at a time.

    A plan that is refused, or that SQL cannot express, becomes a comment with the reason and is
    counted in the verdict.
    """
    for block in Script(plans, options).blocks():
        yield from block.decode("ascii").splitlines(keepends=True)


class Script:
    """The script in blocks of lines.

    ``statements``, ``refused``, ``skipped``: how many came so far; ``written``: statements that
    write a row; ``later``: columns that keep what later changes set; ``refusals``: the
    refused ones by reason.
    """

    def __init__(self, plans: Iterable[Plan], options: SqlOptions | None = None) -> None:
        self._plans = plans
        self._options = options or SqlOptions()
        self.statements = self.refused = self.skipped = self.written = self.later = 0
        self.refusals = Refusals()
        self._acted = set[Acted]()
        self._checks: list[str] = []

    def blocks(self) -> Iterator[bytes]:
        """The lines, many at a time if the plans are those of a log."""
        head, tail = _template().split("{statements}\n")
        comments = "".join(f"{line}\n" for line in _comments(self._options, self._plans))
        options = self._options
        keys = reference_lines(getattr(self._plans, "references", None))
        undefined, body = getattr(self._plans, "undefined", ()), self._body()
        with tempfile.SpooledTemporaryFile(_IN_MEMORY) as file:
            if undefined:  # the head asks about what the statements write
                file.writelines(body)
                body = _lines_of(file)
            yield head.format(
                comments=comments, commit=int(options.commit),
                despite_refused=int(options.despite_refused),
                despite_triggers=int(options.despite_triggers), saved=keys["saved"],
                checks=keys["checks"], before=keys["before"],
                generated=generated_lines(self._acted, undefined),
            ).encode("ascii")  # fmt: skip
            yield from body
        facts = _verdicts(self.statements, self.refused, self.skipped, self.later)
        counts = {"count": self.statements, "refused": self.refused, "written": self.written}
        checks = "".join(f"{line}\n" for line in dict.fromkeys(self._checks))
        ends = {"after": keys["after"] + checks, "restored": keys["restored"]}
        ends["triggers"], ends["keys"] = trigger_lines(self._acted), ""
        ends["refusals"] = "".join(f"{comment(line)}\n" for line in self.refusals.lines())
        known = getattr(self._plans, "known", None)
        if known is not None:
            minded = getattr(self._plans, "references", None) is None
            ends["keys"] = foreign_key_lines(self._acted, known, minded=minded)
        yield tail.format(**counts, **facts, **ends).encode("ascii")

    def _body(self) -> Iterator[bytes]:
        """The statements."""
        from binlogkit.analyses.undoing.plans import Plans

        if isinstance(self._plans, Plans):
            for chunk in self._plans.chunks():
                yield from self._chunk(chunk)
        else:
            yield from map(self._plan, self._plans)

    def _plan(self, plan: Plan) -> bytes:
        lines, reason = plan_lines(plan, self._number())
        said = reason is None
        left = not said and bool(plan.get("skipped"))
        self.statements, self.skipped = self.statements + said, self.skipped + left
        if reason is not None and not left:
            self.refused += 1
            self.refusals.add(reason)
        self.later += len(plan.get("later") or ())
        self.written += said and plan["kind"] != "delete"
        if said:
            names = [i["column"] for i in plan["set"]] if plan["kind"] == "update" else []
            what = (plan["db"], plan["table"], plan["kind"])
            self._acted |= {(*what, name) for name in ["", *names]}
            written = (*(item["column"] for item in plan["set"]), *kept_of(plan))
            self._acted |= {(*what[:2], WRITES, name) for name in written}
            if plan.get("unchecked"):
                self._acted.add((*what[:2], UNCHECKED, ""))
                self._checks += last_checks(plan)
        return "".join(f"{line}\n" for line in lines).encode("ascii")

    def _number(self) -> int:
        return self.statements + self.refused + self.skipped + 1

    def _chunk(self, chunk: Chunk) -> Iterator[bytes]:
        from binlogkit.analyses.undoing.plans import in_order, size_of
        from binlogkit.frames.text_columns import LARGE
        from binlogkit.reports._statement_columns import chunk_lines

        large = sum(size_of(plans.changes) for _, plans in chunk) > LARGE  # one row
        if large or any(plans.unchecked for _, plans in chunk):
            yield from map(self._plan, in_order([chunk]))
            return
        block, reasons, skipped, written, acted = chunk_lines(chunk, self._number())
        self._acted |= acted
        self.later += sum(int(column.rows.sum()) for _, plans in chunk for column in plans.later)
        for reason, count in reasons.items():
            self.refusals.add(reason, count)
        self.refused, self.written = self.refused + reasons.total(), self.written + written
        self.skipped += skipped
        said = sum(len(places) for places, _ in chunk)
        self.statements += said - reasons.total() - skipped
        yield block


def _lines_of(file: IO[bytes]) -> Iterator[bytes]:
    """Its lines, many at a time."""
    file.seek(0)
    while lines := file.readlines(_IN_MEMORY):
        yield b"".join(lines)


def _verdicts(statements: int, refused: int, skipped: int, later: int) -> dict[str, str]:
    """The script's verdicts, and the condition for its commit."""
    but = f", {later} column{'s' * (later > 1)} kept" if later else ""
    left = [f"{_changes(skipped)} skipped"] if skipped else []
    left += [f"{_changes(refused)} refused and not carried out"] if refused else []
    rest = " and ".join(left)
    if not statements:
        nothing = f"nothing to commit: {rest or 'no change was chosen'}{but}"
        return {
            "consent": "FALSE",
            "committed": "",
            "rolled_back": nothing,
            "rest": rest and f"; {rest}",
        }
    if not rest:
        well = f"rolled back, all well{but}: set @bk_commit to 1 to keep it"
        return {"consent": "TRUE", "committed": f"committed{but}", "rolled_back": well, "rest": ""}
    kept = "1 statement" if statements == 1 else f"{statements} statements"
    needed = "@bk_commit and @bk_despite_refused" if refused else "@bk_commit"
    return {
        "consent": "@bk_despite_refused = 1" if refused else "TRUE",
        "committed": f"committed {kept}{but}; {rest}",
        "rolled_back": f"rolled back: {rest}; set {needed} to 1 to keep the other {kept}",
        "rest": f"; {rest}",
    }


def _changes(count: int) -> str:
    return "1 change was" if count == 1 else f"{count} changes were"


def _template() -> str:
    return Path(__file__).with_name("templates").joinpath("script.sql").read_text("ascii")


def _comments(options: SqlOptions, plans: Iterable[Plan]) -> list[str]:
    """What the script does, whose changes, the gaps and the assumptions of its plans."""
    facts = (getattr(plans, name, ()) for name in ("chosen", "later", "gaps", "assumes", "needs"))
    chosen, later, gaps, assumes, needs = facts
    return [
        comment(options.title),
        comment(f"made by {options.made_by}"),
        *(comment(f"chosen: {text}") for text in chosen),
        *(comment(f"later: {text}") for text in later),
        *(comment(f"GAP: changes may be missing: {gap}") for gap in gaps),
        *(comment(f"assumed: {text}") for text in assumes),
        *(comment(f"NEEDED: {text}") for text in needs),
    ]
