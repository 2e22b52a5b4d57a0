"""Debezium, Maxwell and canal as real programs beside a running server, and what they make of it.

They read no files: a scenario is played on a server that they follow, and what they say of it is
judged by the expected rows of the golden log of the same scenario. Java programs, from Maven
Central, with the settings that they come with.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any
from xml.etree import ElementTree

from binlogkit_fixtures import golden
from binlogkit_fixtures.clock import start_server
from binlogkit_fixtures.host import Host
from binlogkit_fixtures.run import Run
from binlogkit_fixtures.scenarios import load
from binlogkit_fixtures.scenarios.model import Restart, Scenario, parse_version
from tests.waiting import LONG, until

HERE = Path(__file__).parent
_MARK = "done"  # the database that tells where a pipeline stands


@dataclass(frozen=True)
class Pipeline:
    """A program: its name, also among ``conform --as``, where its classes are, its words before the
    file of its properties, what stands in that, which series of servers it is tried on."""

    name: str
    version: str
    classes: str
    words: Sequence[str]
    properties: Callable[[Host], Mapping[str, object]]
    series: tuple[str, ...]


def debezium(folder: Path) -> Pipeline:
    """Debezium's engine, embedded: from where the server's log is when it comes."""

    def properties(host: Host) -> Mapping[str, object]:
        return {
            "name": "tests",
            "connector.class": "io.debezium.connector.mysql.MySqlConnector",
            "offset.storage": "org.apache.kafka.connect.storage.MemoryOffsetBackingStore",
            "schema.history.internal": "io.debezium.relational.history.MemorySchemaHistory",
            "topic.prefix": "tests",
            "database.hostname": "127.0.0.1",
            "database.port": host.server.port,
            "database.user": "root",
            "database.password": host.server.password,
            "database.server.id": 4242,
            "snapshot.mode": "no_data",
            "include.schema.changes": "false",
        }

    version, classes = _java(folder, "debezium", "Changes.java")
    return Pipeline("debezium", version, classes, ["Changes"], properties, ("8.0", "9"))


def maxwell(folder: Path) -> Pipeline:
    """Maxwell; the newest that Maven Central has, of 2019."""

    def properties(host: Host) -> Mapping[str, object]:
        return _login(host) | {"producer": "stdout"}

    stub = "jdk/nashorn/api/scripting/ScriptObjectMirror.java"
    version, classes = _java(folder, "maxwell", stub)
    words = ["com.zendesk.maxwell.Maxwell", "--config"]
    return Pipeline("maxwell", version, classes, words, properties, ("5.7",))


def canal(folder: Path) -> Pipeline:
    """canal's embedded server, its messages made flat as for a queue."""

    def properties(host: Host) -> Mapping[str, object]:
        file, pos, _ = host.status()
        return _login(host) | {"journal": file, "position": pos}

    version, classes = _java(folder, "canal", "Changes.java")
    return Pipeline("canal", version, classes, ["Changes"], properties, ("5.7", "8.0"))


def _login(host: Host) -> dict[str, object]:
    server = host.server
    return {
        "host": "127.0.0.1", "port": server.port, "user": "root", "password": server.password,
    }  # fmt: skip


PIPELINES = {"debezium": debezium, "maxwell": maxwell, "canal": canal}


def _java(folder: Path, name: str, source: str) -> tuple[str, str]:
    """The version that a pom.xml names first, and the path of all classes, ``source``'s too."""
    place, told, classes = HERE / name, folder / f"{name}.classpath", folder / name
    subprocess.run(
        ["mvn", "-q", "-B", "-f", str(place / "pom.xml"), "dependency:build-classpath",
         f"-Dmdep.outputFile={told}"],
        check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    path = os.pathsep.join([str(classes), told.read_text().strip()])
    subprocess.run(["javac", "-d", classes, "-cp", path, source], cwd=place, check=True)
    spaces = {"": "http://maven.apache.org/POM/4.0.0"}
    version = ElementTree.parse(place / "pom.xml").findtext(".//dependency/version", "", spaces)
    return version, path


def playable(scenario: Scenario) -> bool:
    """Whether a pipeline can follow it: one server, which does not end."""
    restarts = any(isinstance(step, Restart) for step in scenario.steps)
    return not scenario.servers and scenario.ending == "rotate" and not restarts


@dataclass
class Said:
    """What a pipeline printed of a scenario's changes; ``ended``: why not of all, else empty."""

    lines: list[str]
    ended: str = ""


def changes(pipeline: Pipeline, case: golden.GoldenCase, folder: Path) -> Said:
    """Play a golden log's scenario on a server of its cell that the pipeline follows."""
    server, clock = start_server(case.settings.spec(), "auto", "real")
    with server, ExitStack() as stack:
        host = Host(server, case.settings.facts(parse_version(server.version)), stack, clock)
        run = Run(load(case.scenario), {"": host})
        run.prepare()
        server.query(f"CREATE DATABASE {_MARK}")
        server.query(f"CREATE TABLE {_MARK}.t (a INT PRIMARY KEY)")
        told = folder / f"{pipeline.name}.properties"
        told.touch(0o600)
        told.write_text("".join(f"{k}={v}\n" for k, v in pipeline.properties(host).items()))
        with _following(pipeline, told) as lines:
            numbers, first = count(), list[str | None]()

            def begun() -> bool:
                """Until it says something, it has not."""
                server.query(f"INSERT INTO {_MARK}.t VALUES ({next(numbers)})")
                with suppress(queue.Empty):
                    first.append(lines.get(timeout=0.5))
                return bool(first)

            until(begun, f"{pipeline.name} says something")
            [line] = first
            run.steps()
            server.query(f"INSERT INTO {_MARK}.t VALUES (-1)")
            deadline = time.monotonic() + LONG
            said = Said([])
            while line is not None:
                if line.startswith("{"):
                    if marked := _marked(json.loads(line)):
                        if marked[0] == -1:
                            return said
                    else:
                        said.lines.append(line)
                try:
                    line = lines.get(timeout=max(0.0, deadline - time.monotonic()))
                except queue.Empty:
                    said.ended = f"it says no more within {LONG} seconds"
                    return said
            said.ended = "it ends"
            return said


def _marked(record: Mapping[str, Any]) -> list[int]:
    """The values of a row of the marks' table; none of another record."""
    record = record.get("payload", record)
    database = (record.get("source") or {}).get("db") or record.get("database")
    if database != _MARK:
        return []
    rows = record.get("after") or record.get("data") or []
    return [int(row["a"]) for row in (rows if isinstance(rows, list) else [rows])] or [0]


@contextmanager
def _following(pipeline: Pipeline, properties: Path) -> Iterator[queue.Queue[str | None]]:
    """The program's lines as they come, None at its end. What it logs has passwords in it."""
    with TemporaryFile() as log:
        process = subprocess.Popen(
            ["java", *pipeline.words, str(properties)], cwd=properties.parent,
            env={**os.environ, "CLASSPATH": pipeline.classes},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, encoding="utf-8",
        )  # fmt: skip
        lines: queue.Queue[str | None] = queue.Queue()

        def read() -> None:
            assert process.stdout is not None
            for line in process.stdout:
                lines.put(line)
            lines.put(None)

        reader = threading.Thread(target=read)
        reader.start()
        try:
            yield lines
        finally:
            process.kill()
            process.wait()
            reader.join()
            assert process.stdout is not None
            process.stdout.close()
