"""What a BINLOG text leaves out is said: rows without their transaction are taken as committed."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]

# What mysqlbinlog prints as BINLOG; the rest becomes SQL and comments.
IN_BASE64 = ("FORMAT_DESCRIPTION_EVENT", "TABLE_MAP_EVENT", "WRITE_ROWS_EVENT",
             "UPDATE_ROWS_EVENT", "DELETE_ROWS_EVENT")  # fmt: skip


@pytest.fixture(scope="module")
def texts(
    golden_log: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory, frames_of: Any
) -> tuple[Path, Path]:
    """A log with rolled back and prepared transactions as mysqlbinlog's text and as a hexdump."""
    data = golden_log("8.0-row-full/transactions").read_bytes()
    statements = [
        "BINLOG '\n" + base64.b64encode(data[f.pos : f.end]).decode() + "\n'/*!*/;\n"
        for f in frames_of(data)
        if f.type in IN_BASE64
    ]
    folder = tmp_path_factory.mktemp("texts")
    text, dump = folder / "binlog.sql", folder / "binlog.hex"
    text.write_text("DELIMITER /*!*/;\n" + "".join(statements))
    dump.write_text(data[4:].hex())
    return text, dump


NOTE = "without a transaction around them; each is taken as one, and as committed"


@pytest.mark.parametrize("command", ["transactions", "rows", "undo"])
def test_rows_alone_are_told(run: Run, texts: tuple[Path, Path], command: str) -> None:
    text, dump = texts
    done = run(command, text)
    assert f"note: {text}: 32 statements' rows stand {NOTE}\n" in done.err
    assert NOTE not in run(command, dump).err


def test_verify_names_the_carrier(run: Run, texts: tuple[Path, Path]) -> None:
    text, dump = texts
    done = run("verify", text, "--format", "jsonl")
    assert done.status == 0  # notes
    found = {record["code"]: record["found"] for record in done.records}
    assert found["no_file"] == "65 events without a log file around them"
    assert found["rows_alone"] == "the rows of 32 statements"
    assert "not_closed" not in found
    assert "loose events" in run("verify", text).out.decode()
    codes = {record["code"] for record in run("verify", dump, "--format", "jsonl").records}
    assert "rows_alone" not in codes


def test_the_audit_lists_it(run: Run, texts: tuple[Path, Path], log: Path) -> None:
    def limit(path: Path) -> list[dict[str, Any]]:
        records = run("audit", path, "--section", "limits", "--format", "jsonl").records
        return [record for record in records if record["limit"] == "left_out"]

    text, _ = texts
    (told,) = limit(text)
    assert (told["grade"], told["file"]) == ("applies", str(text))
    assert told["evidence"] == "32 statements have only their rows here"
    assert limit(log) == []
