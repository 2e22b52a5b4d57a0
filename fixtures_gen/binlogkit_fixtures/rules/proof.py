"""The case of every rule of the document, played on a server; and what our own rules say of it."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import binlogkit as bk
from binlogkit.analyses.logging_rules import (
    Definitions,
    Outcome,
    Settings,
    failed,
    read_definitions,
    settings_of,
    unrolled,
)
from binlogkit.analyses.logging_rules.caches import Caches
from binlogkit.analyses.logging_rules.document import Sentence, sentences
from binlogkit.analyses.logging_rules.images import images_of
from binlogkit.analyses.logging_rules.model import Statement
from binlogkit.analyses.row_image import ImageColumns
from binlogkit.rows.ddl.scan import ScriptStatements
from binlogkit_fixtures.rules.play import DISCONNECT, ENDINGS, Played, Session
from binlogkit_fixtures.rules.reasons import reason_of
from binlogkit_fixtures.rules.scripts import once, plain, shown
from binlogkit_fixtures.rules.statements import SCHEMA
from binlogkit_fixtures.servers import Server

__all__ = ["play_all", "predict", "settings_for"]

_FILLED = ("i1", "i2", "ik", "ia", "iu", "ip", "m1", "tg1", "tg2", "tg3")
_FORMAT_ERRORS = range(1661, 1668)
#: Cases whose log holds texts that the server makes up: what is predicted of them is the outcome.
_OWN_TEXTS = ("call-unrolled",)


def play_all(server: Server) -> dict[str, str]:
    """What every case gave, by its rule; those that cannot be played are left out."""
    server.query("DROP DATABASE IF EXISTS rules")
    server.query("SET SESSION binlog_format = 'STATEMENT'")
    for statement in ScriptStatements(SCHEMA):
        server.query(statement)
    folder = str(server.query("SELECT @@datadir")[0][0])
    server.query(f"SELECT 7000, 1 INTO OUTFILE '{folder}proof.txt'")
    words = {"file": f"{folder}proof.txt", "injection": f"'{_injection(server)}'"}
    log = Session(server)
    played = [(rule, _played(server, rule, words)) for rule in sentences() if not rule.not_played]
    log.read_for(step for _, steps in played for step in steps)
    log.close()
    return {rule.id: result_of(rule, steps) for rule, steps in played}


def _injection(server: Server) -> str:
    """Row events of the server's own, as a BINLOG statement takes them."""
    session = Session(server, "rules")
    session.run_all(["SET binlog_format = 'ROW'", "INSERT INTO ik (id) VALUES (500)"])
    (*_, step) = session.read()
    data = server.read_file(session.file)
    session.close()
    wanted = [e for e in step.events if "ROWS_EVENT" in e["type"] or e["type"] == "TABLE_MAP_EVENT"]
    head = next(iter(bk.open(io.BytesIO(data)).event_records()))
    return base64.b64encode(
        b"".join(data[e["pos"] : e["end_pos"]] for e in (head, *wanted))
    ).decode()


def _played(server: Server, rule: Sentence, words: dict[str, str]) -> list[Played]:
    _reset(server)
    session = Session(server, "rules", rotate=False)
    isolation = "tx_isolation" if server.version < "8" else "transaction_isolation"
    session.run_all(
        [
            "SET sql_mode = ''",
            f"SET binlog_format = '{rule.format}', binlog_row_image = '{rule.row_image}'",
            f"SET {isolation} = '{rule.isolation}'",
        ]
    )
    steps = [session.run(part.format(**words)) for part in rule.play.split("; ")]
    session.run(DISCONNECT)  # and wait: what it leaves is logged before the next case
    session.close()
    return steps


def _reset(server: Server) -> None:
    server.query("SET SESSION sql_log_bin = 0")
    server.query("DROP TABLE IF EXISTS rules.x1, rules.x2, rules.x3")
    for table in (*_FILLED, "pre_t", "pre_n"):
        server.query(f"DELETE FROM rules.{table}")
    rows = ", ".join(f"({n}, {n}, 'r{n}')" for n in range(1, 6))
    for table in _FILLED:
        server.query(f"INSERT INTO rules.{table} (id, a, b) VALUES {rows}")
    for table in ("m1", "ia"):  # as triggers left them
        server.query(f"DELETE FROM rules.{table}")
    server.query(f"INSERT INTO rules.m1 (id, a, b) VALUES {rows}")


def result_of(rule: Sentence, steps: Sequence[Played]) -> str:
    """What a case gave, in the words of ``document.toml``."""
    last = steps[-1]
    if rule.shows == "log":
        return " | ".join(once(plain(text) for step in steps for text in shown(step)))
    if rule.shows == "images":
        found = dict.fromkeys(_logged_image(change) for change in last.changes)
        return "; ".join(found)
    return _outcome(last)


def _outcome(last: Played) -> str:
    if last.error is not None and last.error[0] in _FORMAT_ERRORS:
        return f"error {last.error[0]}"
    texts = [text for text in last.texts if text not in ("BEGIN", "COMMIT")]
    found = "rows" if last.changes else "statement" if texts or _waits(last) else "not logged"
    if last.error is not None:
        found = f"failed {last.error[0]}, {found}"
    reasons = sorted(reason_of(text) for number, text in last.warnings if number == 1592)
    return found + (f", warning: {', '.join(reasons)}" if reasons else "")


def _waits(last: Played) -> bool:
    """Whether it was logged as text into the transaction cache, which nobody sees yet: it is warned
    of only when it is. A procedure's statement is warned of though it fails."""
    return last.error is None and any(number == 1592 for number, _ in last.warnings)


@cache
def _defined(version: str | None) -> Definitions:
    return read_definitions(SCHEMA, version)


def _logged_image(change: dict[str, Any]) -> str:
    """The images of a change; the schema is in no log of its own."""
    table = _defined(None).catalog.table(change["db"], change["table"])
    assert table is not None
    names = {f"@{n}": column.name for n, column in enumerate(table.columns, 1)}
    sides = (change["before"], change["after"])
    return _image(*(side and [names.get(name, name) for name in side] for side in sides))


def _image(before: Iterable[str] | None, after: Iterable[str] | None) -> str:
    return " > ".join("-" if side is None else " ".join(side) for side in (before, after))


# ---- what our rules say --------------------------------------------------------------------


def settings_for(rule: Sentence, version: str) -> Settings:
    """The settings of a case."""
    values = {
        "binlog_format": rule.format,
        "binlog_row_image": rule.row_image,
        "transaction_isolation": rule.isolation,
    }
    return settings_of(values, version)


def predict(rule: Sentence, version: str) -> str | None:
    """What our rules say that a case gives; None where they read no statement."""
    if rule.id in _OWN_TEXTS:
        return None
    definitions = _defined(version)
    definitions.catalog.temporary.clear()
    settings = settings_for(rule, version)
    caches = Caches(settings)
    log: list[str] = []
    last = ""
    for part in rule.play.split("; "):
        if part in ENDINGS:
            log += caches.disconnect().written
            continue
        if part.startswith("SET binlog_format"):
            caches.settings = settings = settings_of({"binlog_format": part.split("'")[1]}, version)
        fails = bool(rule.fails) and part.startswith(rule.fails)
        for statement in unrolled(part, definitions, settings, "rules"):
            if part.startswith(("SET ", "SELECT ")):
                continue
            statement, decision = caches.decided(statement)
            if rule.gives.startswith("failed"):
                decision = failed(statement, decision, changed=False)
            changed = decision.outcome != Outcome.ERROR
            log += caches.take(statement, decision, changed=changed, failed=fails).written
            last = _said(last, rule, part, decision.outcome, decision.errno, decision.warnings)
            images = _images(rule, statement, settings)
        if part.startswith(("CREATE TEMPORARY", "PREPARE", "FLUSH")):
            definitions.apply(part, "rules")
    if rule.shows == "log":
        return " | ".join(once(map(plain, log)))
    return images if rule.shows == "images" else last


def _said(
    before: str,
    rule: Sentence,
    part: str,
    outcome: Outcome,
    errno: int | None,
    warnings: tuple[str, ...],
) -> str:
    """The outcome of a statement; of a CALL those of its statements together."""
    if outcome == Outcome.ERROR:
        return f"error {errno}"
    earlier = before.partition(", warning: ")[2] if part.startswith("CALL") else ""
    reasons = sorted({*warnings, *filter(None, earlier.split(", "))})
    head = rule.gives.split(",")[0] + ", " if rule.gives.startswith("failed") else ""
    return f"{head}{outcome}" + (f", warning: {', '.join(reasons)}" if reasons else "")


def _images(rule: Sentence, statement: Statement, settings: Settings) -> str:
    if rule.shows != "images":
        return ""
    (use,) = statement.written
    op = {"insert": "insert", "replace": "insert"}.get(statement.kind, statement.kind)
    duplicate = statement.has("on_duplicate")
    columns: ImageColumns = images_of(
        statement, use, settings, "update" if duplicate else op, after_duplicate=duplicate
    )
    return _image(columns.before, columns.after)
