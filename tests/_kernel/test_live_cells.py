"""The cell codecs against what live servers store and answer, at the edges of every type."""

from __future__ import annotations

import random
import re
import struct
from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest

from binlogkit._kernel.cells import CellSpec
from binlogkit._kernel.codecs import decoder_for
from binlogkit._kernel.json_binary import double_text, to_text
from binlogkit._kernel.metadata import resolve
from binlogkit_fixtures.servers import Server

pytestmark = pytest.mark.server
SEED = 20261121
TEXTS = ("", "é中😀", "x" * 130, "\x01\x1f\t", "\\\\ \\\" '' /")


def spec_of(case: Any, cell: Any) -> CellSpec:
    real = resolve(cell.type_code, cell.meta)
    return CellSpec(
        real.type,
        cell.meta,
        case.unsigned,
        real.length,
        real.precision,
        real.scale,
        case.charset,
        case.labels,
    )


@pytest.mark.gate(1)
def test_every_type(
    server: Server, boundary_cases: ModuleType, server_cells: ModuleType, cell_checks: ModuleType
) -> None:
    old = server.version.startswith("5.7")
    for case in boundary_cases.CASES:
        if case.since > server.version[:3]:
            continue
        for cell in server_cells.collect(server, case, boundary_cases.SELECTS[case.kind]):
            spec = replace(spec_of(case, cell), as_5_7=old)
            value, end = decoder_for(spec)(cell.data, 0, len(cell.data))
            assert end == len(cell.data)
            found = cell_checks.in_servers_form(spec, value)
            assert found == cell.answer, (case, cell)


def doubles(count: int) -> list[float]:
    """Finite doubles of every magnitude, many of them in the range that prints plain."""
    source = random.Random(SEED)
    found: list[float] = []
    while len(found) < count:
        (bits,) = struct.unpack("<d", source.randbytes(8))
        scaled = source.uniform(-1, 1) * 10 ** source.randint(-20, 20)
        whole = float(source.randint(-(10**6), 10**6)) * 10.0 ** source.randint(-3, 15)
        found += [v for v in (bits, scaled, whole) if v - v == 0]
    return found


def test_doubles_in_json(server: Server) -> None:
    whole = "" if server.version.startswith("5.7") else ".0"  # what 5.7 leaves off
    values = doubles(6000)
    for start in range(0, len(values), 500):
        part = values[start : start + 500]
        columns = (f"CAST(CAST({v!r} + 0e0 AS JSON) AS CHAR)" for v in part)
        (answers,) = server.query("SELECT " + ", ".join(columns))
        # + 0e0 makes a double of every literal, and 0.0 of -0.0
        ours = [re.sub(r"\.0$", whole, double_text(v + 0.0)) for v in part]
        assert ours == list(answers)


def document(source: random.Random, depth: int = 0) -> str:
    """SQL of a random JSON value, with the types that only MySQL has."""
    kind = source.randrange(14 if depth < 5 else 12)
    width = source.choice((0, 1, 3, 40))
    return (
        lambda: str(source.randint(-(2**63), 2**63 - 1)),
        lambda: str(source.randint(-40000, 70000)),
        lambda: str(2**64 - 1 - source.randrange(2**33)),
        lambda: f"{source.uniform(-1e6, 1e6)!r}e0",
        lambda: "CAST(NULL AS JSON)",
        lambda: source.choice(("true", "false")),
        lambda: "'{}'".format(
            source.choice(("", "é中😀", "x" * 130, "\x01\x1f\t", "\\\\ \\\" '' /"))
        ),
        lambda: (
            f"CAST({source.randint(-(10**9), 10**9)}.{source.randint(0, 99):02d} AS DECIMAL(20,2))"
        ),
        lambda: f"CAST('20{source.randint(10, 99)}-02-28' AS DATE)",
        lambda: (
            f"CAST('-{source.randint(0, 838)}:59:58.{source.randint(0, 999999):06d}' AS TIME(6))"
        ),
        lambda: f"CAST('1999-12-31 23:59:59.{source.randint(0, 999):03d}' AS DATETIME(3))",
        lambda: f"CAST(X'{source.randbytes(source.choice((0, 1, 60, 200))).hex()}' AS BINARY)",
        lambda: f"JSON_ARRAY({', '.join(document(source, depth + 1) for _ in range(width))})",
        lambda: "JSON_OBJECT({})".format(
            ", ".join(
                f"'{source.choice('abc') * source.randint(0, 4)}{i}', {document(source, depth + 1)}"
                for i in range(width)
            )
        ),
    )[kind]()


def test_random_documents(server: Server, server_cells: ModuleType) -> None:
    old = server.version.startswith("5.7")
    source = random.Random(SEED)
    server.query("CREATE DATABASE IF NOT EXISTS cells")
    server.query("DROP TABLE IF EXISTS cells.docs")
    server.query("CREATE TABLE cells.docs (c JSON)")
    server.query("FLUSH BINARY LOGS")
    answers = []
    for _ in range(400):
        server.query(f"INSERT INTO cells.docs VALUES (JSON_ARRAY({document(source)}))")
        answers.append(server.query("SELECT CAST(c AS CHAR) FROM cells.docs")[0][0])
        server.query("TRUNCATE cells.docs")
    log = server.read_file(str(server.query("SHOW BINARY LOGS")[-1][0]))
    cells = [data for _, _, data in server_cells.row_images(log)]
    assert [to_text(data[4:], as_5_7=old) for data in cells] == answers
