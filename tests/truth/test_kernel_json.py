"""JSON as text, document by document: the kernel's is the server's own.

``BINLOGKIT_JSON_DOCUMENTS``: how many documents each server stores (400 unless it says more).
"""

from __future__ import annotations

import os
from pathlib import Path
from types import ModuleType

import pytest

import binlogkit as bk
from binlogkit_fixtures.servers import Server

pytestmark = pytest.mark.server

COUNT = int(os.environ.get("BINLOGKIT_JSON_DOCUMENTS", "400"))
AT_ONCE = 100
SEED = 20261121


@pytest.fixture(scope="module")
def documents(json_documents: ModuleType) -> list[str]:
    return list(json_documents.distinct(COUNT))


def test_documents_are_the_servers(
    documents: list[str],
    server: Server,
    json_documents: ModuleType,
    kernel_reads: ModuleType,
    tmp_path: Path,
) -> None:
    server.query("SET SESSION sql_mode = 'ALLOW_INVALID_DATES', time_zone = '+00:00'")
    server.query("CREATE DATABASE docs CHARACTER SET utf8mb4")
    json_documents.fill_sources(server, SEED)
    server.query("CREATE TABLE docs.t (id INT PRIMARY KEY, c JSON)")
    server.query("FLUSH BINARY LOGS")
    for start in range(0, COUNT, AT_ONCE):
        part = documents[start : start + AT_ONCE]
        rows = ", ".join(f"({start + i}, {document})" for i, document in enumerate(part))
        server.query(f"INSERT INTO docs.t VALUES {rows}")
    batches = kernel_reads.kernel_alone(bk.open(str(kernel_reads.flushed(server, tmp_path))))
    texts = [
        tuple(struct.field(i).to_pylist() for i in range(2))
        for struct in (b.batch.column("after") for b in batches)
    ]
    found = [pair for keys, values in texts for pair in zip(keys, values, strict=True)]
    answers = server.query("SELECT id, CAST(c AS CHAR) FROM docs.t ORDER BY id")
    for (number, text), (_, answer) in zip(found, answers, strict=True):
        assert text == answer, documents[number][:2000]
    assert [number for number, _ in found] == list(range(COUNT))
    assert not any(b.batch.column("raw").null_count < len(b.batch) for b in batches)
