"""Write ``boundary_cells.json``: what real servers store for the values of ``boundary_cases``.

    python tests/_kernel/make_boundary_cells.py 5.7 8.0 [9]

Starts each series in turn through ``binlogkit_fixtures.servers``. One line per distinct cell: the
servers that gave it, the column, the table map's type and metadata, the cell as hex, the server's
own SELECT of it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from binlogkit_fixtures.servers import ServerSpec, start

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests._kernel import boundary_cases, server_cells

TARGET = Path(__file__).with_name("boundary_cells.json")
_MAX_CELL = 600  # longer ones are for the live tests
OPTIONS = {"binlog-format": "ROW", "secure-file-priv": ""}


def main(series: list[str]) -> None:
    found: dict[str, list[str]] = {}
    for wanted in series:
        with start(ServerSpec(wanted, OPTIONS)) as server:
            for case in boundary_cases.CASES:
                if tuple(map(int, case.since.split("."))) > _version(server.version):
                    continue
                for cell in server_cells.collect(server, case, boundary_cases.SELECTS[case.kind]):
                    if len(cell.data) <= _MAX_CELL:
                        found.setdefault(_line(case, cell), []).append(server.version)
    lines = (
        json.dumps({"servers": servers, **json.loads(line)}, ensure_ascii=False)
        for line, servers in found.items()
    )
    TARGET.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


def _version(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(".")))


def _line(case: boundary_cases.Case, cell: server_cells.Cell) -> str:
    return json.dumps(
        {
            "column": case.column[:60],
            "kind": case.kind,
            "unsigned": case.unsigned,
            "charset": case.charset,
            "labels": case.labels,
            "type": cell.type_code,
            "meta": cell.meta.hex(),
            "cell": cell.data.hex(),
            "answer": cell.answer,
        },
        ensure_ascii=False,
    )


if __name__ == "__main__":
    main(sys.argv[1:])
