"""Values at the edges of every type, stored by real servers, through the compiled kernel.

What a cell must be is the server's own SELECT of it; under both forms of table maps, in every row
image, and compressed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pytest

import binlogkit as bk
from binlogkit_fixtures.servers import Server

pytestmark = pytest.mark.server

SETTINGS = "sql_mode = 'ALLOW_INVALID_DATES', time_zone = '+00:00'"
KEYS = 1000  # apart are the keys that a row takes in turn
FULL, NOBLOB, MINIMAL = "FULL", "NOBLOB", "MINIMAL"
# (image, statement, how many images of c there are per row: in all, where c is kept as a BLOB is)
STEPS = (
    (FULL, "UPDATE {t} SET id = id + 1000", 2, 2),
    (NOBLOB, "UPDATE {t} SET id = id + 1000", 2, 0),
    (MINIMAL, "UPDATE {t} SET id = id + 1000", 0, 0),
    (MINIMAL, "INSERT INTO {t} (c, id) SELECT c, id + 9000 FROM {t}", 1, 1),
    (MINIMAL, "DELETE FROM {t} WHERE id < 9000", 0, 0),
    (FULL, "DELETE FROM {t}", 1, 1),
)
BLOBS = ("TINYTEXT", "TEXT", "MEDIUMTEXT", "LONGTEXT", "TINYBLOB", "BLOB", "MEDIUMBLOB", "LONGBLOB")


class Stored:
    """The tables of all cases on one server, and what it says they hold."""

    def __init__(self, server: Server, cases: ModuleType, folder: Path) -> None:
        self.server = server
        self.cases: dict[str, Any] = {}
        self.answers: dict[str, list[str | None]] = {}
        known = tuple(map(int, server.version.split(".")))
        for number, case in enumerate(cases.CASES):
            if tuple(map(int, case.since.split("."))) <= known:
                self.cases[f"t{number}"] = case
        self.folder = folder
        self.selects = cases.SELECTS

    def create(self) -> None:
        """Empty tables."""
        self.server.query("DROP DATABASE IF EXISTS cells")
        self.server.query("CREATE DATABASE cells CHARACTER SET utf8mb4")
        for name, case in self.cases.items():
            self.server.query(f"CREATE TABLE cells.{name} (id INT PRIMARY KEY, c {case.column})")

    def fill(self) -> None:
        """Insert the values, and a NULL where the column takes one; keep the server's SELECT."""
        query = self.server.query
        query(f"SET SESSION {SETTINGS}, binlog_row_image = 'FULL'")
        for name, case in self.cases.items():
            values = [*case.values, "NULL"]
            rows = ", ".join(f"({i}, {value})" for i, value in enumerate(values))
            query(f"INSERT INTO cells.{name} VALUES {rows}")
            found = query(f"SELECT {self.selects[case.kind]} FROM cells.{name} ORDER BY id")
            self.answers[name] = [self._answer(case.kind, v) for (v,) in found]
            assert None not in self.answers[name][:-1] and self.answers[name][-1] is None

    def change(self) -> None:
        """Each row again in other images."""
        for image, statement, _, _ in STEPS:
            self.server.query(f"SET SESSION binlog_row_image = '{image}'")
            for name in self.cases:
                self.server.query(statement.format(t=f"cells.{name}"))

    @staticmethod
    def _answer(kind: str, value: object) -> str | None:
        if value is None:
            return None
        text = value.decode("ascii") if isinstance(value, bytes) else value
        if kind in ("string", "json"):
            return bytes.fromhex(str(text)).decode("utf-8")
        return repr(text) if kind == "float" else str(text)


FORMS = (
    ("5.7", "MINIMAL", "OFF"),
    *((series, *form) for series in ("8.0", "9") for form in (
        ("MINIMAL", "OFF"), ("FULL", "OFF"), ("FULL", "ON"),
    )),
)  # fmt: skip


@pytest.fixture(scope="module", params=FORMS, ids="-".join)
def stored(
    request: pytest.FixtureRequest,
    server_of: Callable[..., AbstractContextManager[Server]],
    boundary_cases: ModuleType,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[Stored, Path, Path]]:
    """The cases stored: the log with the tables' CREATE, and the one with their rows."""
    series, metadata, compressed = request.param
    options = {"binlog-row-metadata": metadata, "binlog-transaction-compression": compressed}
    with server_of(series, **({} if series == "5.7" else options)) as server:
        made = Stored(server, boundary_cases, tmp_path_factory.mktemp("cells"))
        made.create()
        created = _flushed(made)
        made.fill()
        made.change()
        yield made, created, _flushed(made)


def _flushed(made: Stored) -> Path:
    made.server.query("FLUSH BINARY LOGS")
    return made.server.copy_binlog(made.server.binlog_names()[-2], made.folder)


def _cells(batch: pa.RecordBatch, words: Any) -> Iterator[tuple[int, int, int, str | None]]:
    """(row, id, state, value) of every image of ``c``; where there is no value, the raw's text."""
    raws = {
        (row, cell["image"]): cell
        for row, cells in enumerate(batch.column("raw").to_pylist())
        for cell in cells or ()
    }
    for image, name in enumerate(("before", "after")):
        struct = batch.column(name)
        keys = struct.field(0).to_pylist()
        kept = words(struct.type.field(1), struct.field(1))
        states = batch.column(f"{name}_state").to_pylist()
        for row, there in enumerate(struct.is_valid().to_pylist()):
            if not there:
                continue
            state = states[row][1] if states[row] else int(kept[row] is None)
            value = kept[row]
            if state == 4:
                assert value is None and raws[row, image]["bytes"]
                value = raws.pop((row, image))["text"]
            yield row, keys[row], state, value
    assert not raws


@pytest.mark.gate(1)
def test_every_value_is_the_servers(
    stored: tuple[Stored, Path, Path], kernel_reads: ModuleType
) -> None:
    made, created, rows = stored
    tables = kernel_reads.by_table(kernel_reads.kernel_alone(bk.open([str(created), str(rows)])))
    assert tables.keys() == made.cases.keys()
    for name, case in made.cases.items():
        answers, seen = made.answers[name], Counter[int]()
        for batch in tables[name]:
            field = batch.schema.field("after").type.field(1)
            assert field.type == kernel_reads.arrow_type(case.column), case.column
            for _, key, state, value in _cells(batch, kernel_reads.server_words):
                seen[state] += 1
                if state == kernel_reads.NOT_IN_IMAGE:
                    continue
                assert value == answers[key % KEYS], (case.column, key, state)
                assert (state == kernel_reads.NULL) == (answers[key % KEYS] is None)
        blob = case.column.split("(")[0].split(" ")[0] in BLOBS
        images = 1 + sum([step[3] if blob else step[2] for step in STEPS])
        assert seen.total() - seen[kernel_reads.NOT_IN_IMAGE] == images * len(answers), case.column
        assert seen[kernel_reads.NULL] == images
        assert not seen[kernel_reads.UNDECODABLE]


def test_dates_alone_have_no_arrow_value(
    stored: tuple[Stored, Path, Path], kernel_reads: ModuleType
) -> None:
    """Zero and incomplete dates, and the moment 0; all else of a server has one."""
    made, created, rows = stored
    without = Counter[str]()
    for name, batches in kernel_reads.by_table(
        bk.open([str(created), str(rows)]).batches()
    ).items():
        kind = made.cases[name].column.split("(")[0]
        for batch in batches:
            cells = _cells(batch, kernel_reads.server_words)
            without[kind] += sum(state == kernel_reads.NO_ARROW_VALUE for _, _, state, _ in cells)
    assert {kind for kind, count in without.items() if count} == {"DATE", "DATETIME", "TIMESTAMP"}


def test_without_the_create_statements(
    stored: tuple[Stored, Path, Path], kernel_reads: ModuleType
) -> None:
    """What the table map alone tells: numbers for labels, signs where metadata has them."""
    made, _, rows = stored
    metadata = not made.server.version.startswith("5.7")
    labels = metadata and made.server.query("SELECT @@global.binlog_row_metadata") == [("FULL",)]
    batches = kernel_reads.by_table(kernel_reads.kernel_alone(bk.open(str(rows))))
    compared = 0
    known = {c.charset for c in made.cases.values()} if metadata else {None, "utf8mb4", "utf8"}
    for name, case in made.cases.items():
        word = case.column.split("(")[0].split(" ")[0]
        expected = kernel_reads.arrow_type(case.column)
        if case.unsigned and not metadata and pa.types.is_integer(expected):
            expected = getattr(pa, f"int{expected.bit_width}")()
        if word in ("ENUM", "SET") and not labels:
            expected = {"ENUM": pa.uint16(), "SET": pa.uint64()}[word]
        if case.charset and not metadata and word not in ("ENUM", "SET"):
            expected = pa.string()  # nothing tells the character set: UTF-8, or undecodable
        answers = made.answers[name]
        for batch in batches[name]:
            field = batch.schema.field("after").type.field(1)
            assert field.type == expected, case.column
            if expected == kernel_reads.arrow_type(case.column) and case.charset in known:
                for _, key, state, value in _cells(batch, kernel_reads.server_words):
                    if state != kernel_reads.NOT_IN_IMAGE:
                        assert value == answers[key % KEYS], (case.column, key, state)
                        compared += 1
    assert compared > 1000


# ---- what is no value -------------------------------------------------------------------------

BAD = ("X'61'", "X'C3A9'", "X'FF'", "X'61FF'", "X'E9'", "X'F0908080'", "X'8180'", "X'A1'", "X'80'")
WIDTH = 12
SETS = {
    "utf8": 3,
    "utf8mb4": 4,
    "ascii": 1,
    "tis620": 1,
    "gbk": 2,
    "sjis": 2,
    "big5": 2,
    "utf16": 4,
}
LABELS = "e ENUM({0}), s SET({0})"


def _store_bad(server: Server) -> dict[tuple[int, int], tuple[str | None, bytes]]:
    """(row, column) -> (the server's text of the bytes, the bytes)."""
    query = server.query
    columns = ", ".join(f"{name} VARBINARY({WIDTH})" for name in SETS)
    labels = LABELS.format("'a','b','c'")
    query("CREATE DATABASE d")
    query(f"CREATE TABLE d.t (id INT PRIMARY KEY, {labels}, {columns})")
    query("FLUSH BINARY LOGS")
    for i, value in enumerate(BAD):
        values = ", ".join([value] * len(SETS))
        query(f"INSERT INTO d.t VALUES ({i}, {i % 3 + 1}, {i % 8}, {values})")
    found = {}
    for at, name in enumerate(SETS):
        text = f"CONVERT({name} USING {name})"
        answer = f"IF(LENGTH({text}) = LENGTH({name}), HEX(CONVERT({text} USING utf8mb4)), NULL)"
        for i, hexed, stored in query(f"SELECT id, {answer}, HEX({name}) FROM d.t"):
            read = None if hexed is None else bytes.fromhex(hexed).decode()
            # ? and U+FFFD stand for what is no character of the set; none is stored here.
            known = read is not None and "?" not in read and "\ufffd" not in read
            found[i, 3 + at] = (read if known else None, bytes.fromhex(stored))
    return found


def test_what_is_no_value_keeps_its_bytes(
    server_of: Callable[..., AbstractContextManager[Server]],
    kernel_reads: ModuleType,
    tmp_path: Path,
) -> None:
    """Bytes that are no text of their character set, numbers that are no labels.

    5.7's table maps tell neither, so a schema file can be wrong, or older than the log.
    """
    texts = (f"{n} VARCHAR({WIDTH // size}) CHARACTER SET {n}" for n, size in SETS.items())
    columns = (
        f"id INT PRIMARY KEY, {LABELS.format(repr('a') + ',' + repr('b'))}, {', '.join(texts)}"
    )
    schema = tmp_path / "schema.sql"
    schema.write_text(f"CREATE DATABASE d; USE d; CREATE TABLE t ({columns});")
    with server_of("5.7") as server:
        truth = _store_bad(server)
        path = kernel_reads.flushed(server, tmp_path)
    (batch,) = kernel_reads.kernel_alone(bk.open(str(path), schema=str(schema)))
    bad = 0
    for i, row in enumerate(batch.batch.to_pylist()):
        values = list(row["after"].values())
        states = row["after_state"] or [0] * len(values)
        raws = {cell["column"]: cell for cell in row["raw"] or ()}
        assert raws.keys() == {at for at, state in enumerate(states) if state > 1}
        assert all(raws[at]["text"] and values[at] is None for at in raws)
        assert states[1:3] == [3 if i % 3 == 2 else 0, 3 if i % 8 > 3 else 0]
        for at in range(3, len(values)):
            text, stored = truth[i, at]
            assert (states[at], values[at]) == ((3, None) if text is None else (0, text)), (i, at)
            assert text is not None or raws[at]["bytes"] == stored
            bad += text is None
    assert bad > 20
