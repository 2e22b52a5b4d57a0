"""A standalone cluster of two workers, the environment that its Python workers are sent, and a
Spark Connect server."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tarfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import distribution
from pathlib import Path

import pyspark

from tests.waiting import LONG, until

ROOT = Path(__file__).parents[2]
#: What binlogkit needs to read logs and to write tables; Spark brings PySpark itself.
_NEEDED = (
    "click", "cryptography", "cffi", "fsspec", "jinja2", "markupsafe", "narwhals", "numpy",
    "pandas", "python-dateutil", "pytz", "tzdata", "six", "pyarrow", "PyMySQL", "rich",
    "markdown-it-py", "mdurl", "pygments", "sqlglot", "zstandard",
)  # fmt: skip
_MASTER = "org.apache.spark.deploy.master.Master"
_WORKER = "org.apache.spark.deploy.worker.Worker"
_SUBMIT = "org.apache.spark.deploy.SparkSubmit"
_CONNECT = "org.apache.spark.sql.connect.service.SparkConnectServer"
_HOME = Path(pyspark.__file__).parent
_PROGRAM = str(_HOME / "bin" / "spark-class")
_LOOPBACK = "127.0.0.1"


def packaged(folder: Path) -> Path:
    """This environment, as far as workers need it, as venv-pack packs one: a .tar.gz."""
    made, archive = folder / "environment", folder / "environment.tar.gz"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(made)], check=True)
    [site] = made.glob("lib/python*/site-packages")
    places: dict[Path, str] = {ROOT / "toolkit" / n: n for n in ("binlogkit", "pyspark_binlog")}
    for name in _NEEDED:
        with suppress(ModuleNotFoundError):
            found = distribution(name)
            tops = {Path(str(file)).parts[0] for file in found.files or ()}
            places |= {Path(str(found.locate_file(top))): top for top in tops if top != ".."}
    inside = site.relative_to(made)
    with tarfile.open(archive, "w:gz", compresslevel=1) as tar:
        tar.add(made, ".", filter=_plain)
        for place, name in places.items():
            if place.exists():
                tar.add(place, str(inside / name), filter=_plain)
    return archive


def _plain(item: tarfile.TarInfo) -> tarfile.TarInfo | None:
    unneeded = {"__pycache__", "tests", "include"}
    return None if unneeded.intersection(Path(item.name).parts) else item


def _free_port() -> int:
    with socket.socket() as found:
        found.bind((_LOOPBACK, 0))
        return int(found.getsockname()[1])


@contextmanager
def cluster(folder: Path) -> Iterator[str]:
    """Its address: a master and two workers of one core, each a process of its own, which have no
    binlogkit and no variable that names a Python."""
    own = _environment() | {"SPARK_DAEMON_MEMORY": "256m"}
    port, pages = _free_port(), _free_port()
    program = [_PROGRAM]
    master = [
        *program,
        _MASTER,
        "--host",
        _LOOPBACK,
        "--port",
        str(port),
        "--webui-port",
        f"{pages}",
    ]
    running = [_started(master, own, folder / "master")]
    try:
        url = f"spark://{_LOOPBACK}:{port}"
        for i in range(2):
            place = folder / f"worker-{i}"
            asked = ["--host", _LOOPBACK, "--cores", "1", "--memory", "1g", "--webui-port", "0"]
            worker = [*program, _WORKER, *asked, "--work-dir", str(place), url]
            running.append(_started(worker, own, place))
        until(lambda: _whole(pages), "the cluster begins")
        yield url
    finally:
        for process in reversed(running):
            process.terminate()
        for process in running:
            process.wait()


@contextmanager
def connect_server(folder: Path) -> Iterator[str]:
    """Its address: a Spark Connect server with this interpreter's binlogkit, in a process of its
    own, which clients share no session, file or variable with."""
    own = _environment() | {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": str(ROOT / "toolkit")}
    port = _free_port()
    settings = {
        "spark.connect.grpc.binding.address": _LOOPBACK, "spark.ui.enabled": "false",
        "spark.connect.grpc.binding.port": str(port), "spark.driver.memory": "1g",
    }  # fmt: skip
    command = [_PROGRAM, _SUBMIT, "--class", _CONNECT, "--master", "local[2]"]
    command += [word for one in settings.items() for word in ("--conf", "=".join(one))]
    process = _started([*command, "spark-internal"], own, folder)
    try:
        until(lambda: b"Spark Connect server started" in (folder / "log").read_bytes(), "Connect")
        yield f"sc://{_LOOPBACK}:{port}"
    finally:
        process.terminate()
        process.wait()


def _environment() -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PYSPARK"))}
    return kept | {"SPARK_LOCAL_IP": _LOOPBACK, "SPARK_HOME": str(_HOME)}


def _started(command: list[str], own: dict[str, str], folder: Path) -> subprocess.Popen[bytes]:
    folder.mkdir(parents=True)
    with (folder / "log").open("wb") as log:
        return subprocess.Popen(command, env=own, cwd=folder, stdout=log, stderr=log)


def _whole(port: int) -> bool:
    """Whether the master's page names both workers."""
    page = f"http://{_LOOPBACK}:{port}/json/"
    with suppress(OSError), urllib.request.urlopen(page, timeout=LONG) as answer:
        return b'"aliveworkers" : 2' in answer.read()
    return False
