"""Runs found_cases.py on real servers and keeps log and truth in ``_data``.

``python tests/truth/make_found.py [NAME…]``: one folder per case with ``binlog.…`` and
``truth.json.xz`` (a list of marks: position, executed GTIDs, tables).
"""

from __future__ import annotations

import importlib.util
import json
import lzma
import shutil
import sys
from pathlib import Path
from typing import Any

from binlogkit_fixtures.records import to_json
from binlogkit_fixtures.servers import Server, ServerSpec, start
from binlogkit_fixtures.truth import read_tables

HERE = Path(__file__).parent
MARK = "MARK"


def cases() -> Any:
    spec = importlib.util.spec_from_file_location("truth_found_cases", HERE / "found_cases.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module.CASES


def mark(server: Server) -> dict[str, Any]:
    """Where the log ends, and every table of the case's database."""
    newer = tuple(map(int, server.version.split("."))) >= (8, 2)
    file, pos, *_ = server.query(f"SHOW {'BINARY LOG' if newer else 'MASTER'} STATUS")[0]
    with server.connect() as session, session.cursor() as cursor:
        cursor.execute("SET time_zone = '+00:00', sql_mode = ''")
        tables = read_tables(session, ["truth"])
    return {"file": file, "pos": pos, "tables": to_json(tables)}


def record(case: Any, folder: Path) -> None:
    """Run one case on a server of its own."""
    options = {"binlog-format": "ROW", "server-uuid": "3e11fa47-71ca-11e1-9e33-c80aa9429562"}
    with start(ServerSpec(case.series, {**options, **case.options})) as server:
        server.query("CREATE DATABASE truth CHARACTER SET utf8mb4")
        server.query("USE truth")
        server.query("SET time_zone = '+00:00', sql_mode = '', timestamp = 1700000000")
        marks = []
        for statement in (*case.statements, MARK):
            if statement == MARK:
                marks.append(mark(server))
            else:
                server.query(statement)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for name in server.binlog_names():
            server.copy_binlog(name, folder).chmod(0o644)
        text = json.dumps(marks, ensure_ascii=False).encode("utf-8")
        (folder / "truth.json.xz").write_bytes(lzma.compress(text))


def main() -> None:
    wanted = set(sys.argv[1:])
    for case in cases():
        if not wanted or case.name in wanted:
            record(case, HERE / "_data" / case.name)
            print(case.name)


if __name__ == "__main__":
    main()
