"""The installed command as a process: pipes, standard input, signals, no work at the start."""

from __future__ import annotations

import fcntl
import gzip
import json
import os
import signal
import stat
import subprocess
import sys
import termios
from collections.abc import Callable
from pathlib import Path
from typing import IO

import pytest

from tests.waiting import LONG, until


def execute(
    program: str, *arguments: object, stdin: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [program, *map(str, arguments)], input=stdin, capture_output=True, timeout=LONG,
        check=False,
    )  # fmt: skip


def test_records_and_nothing_else_on_standard_output(program: str, small: Path) -> None:
    done = execute(program, "rows", small, "--format", "jsonl")
    assert (done.returncode, done.stderr) == (0, b"")
    for line in done.stdout.decode("utf-8").splitlines():
        assert json.loads(line)["file"] == str(small)


def test_a_process_that_goes_on_keeps_its_pandas(small: Path) -> None:
    """Only a command that ends with its process may keep pyarrow from finding pandas."""
    code = (
        "import sys; from binlogkit.cli import run; run(['rows', sys.argv[1], '--output', "
        "'/dev/null', '--format', 'jsonl']); import pandas, pyarrow; "
        "print(pyarrow.array(pandas.Series([None, 1], dtype='Int32')).null_count)"
    )
    done = execute(sys.executable, "-c", code, small)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"1\n", b"")


@pytest.mark.parametrize(
    "arguments", [("--help",), ("state",), ("undo",), ("audit", "--format", "jsonl")]
)
def test_commands_that_make_no_frame_load_no_pandas(
    arguments: tuple[str, ...], small: Path
) -> None:
    """It takes longer to load than a small log to answer."""
    command, *more = arguments
    log = () if command.startswith("-") else (small,)
    done = execute(sys.executable, "-X", "importtime", "-m", "binlogkit", command, *log, *more)
    assert b"binlogkit.cli" in done.stderr and b"pandas.core" not in done.stderr


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("command", ["land", "index"])
def test_spark_loads_no_pandas_for_tasks_that_make_no_frame(
    command: str, small: Path, tmp_path: Path
) -> None:
    given = (command, small, "--out", tmp_path / "out", "--engine", "spark")
    done = execute(sys.executable, "-X", "importtime", "-m", "binlogkit", *given)
    assert done.returncode == 0, done.stderr
    assert b"pyspark.testing" in done.stderr and b"pandas.core" not in done.stderr


@pytest.mark.slow
def test_standard_input(program: str, small: Path) -> None:
    expected = execute(program, "events", small, "--format", "csv", "--columns", "pos,type")
    done = execute(
        program, "events", "-", "--format", "csv", "--columns", "pos,type",
        stdin=small.read_bytes(),
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == expected.stdout
    packed = execute(
        program, "events", "-", "--format", "csv", "--columns", "pos,type",
        stdin=gzip.compress(small.read_bytes()),
    )  # fmt: skip
    assert packed.stdout == expected.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [["events"], ["rows", "--format", "jsonl"], ["rows", "--format", "parquet"], ["undo"]],
    ids=" ".join,
)
def test_a_broken_pipe_is_quiet(
    program: str, golden_log: Callable[[str], Path], arguments: list[str]
) -> None:
    """The log prints far more than a pipe holds; its reader leaves after some bytes."""
    name, *rest = arguments
    log = golden_log("8.0-row-full/types")
    process = subprocess.Popen(
        [program, name, str(log), *rest], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None and process.stderr is not None
    assert len(process.stdout.read(100)) == 100
    process.stdout.close()
    said = process.stderr.read()
    process.stderr.close()
    assert process.wait(LONG) in (0, 1)
    assert b"Broken" not in said and b"Traceback" not in said and b"Exception" not in said


@pytest.mark.slow
def test_a_pipe_by_its_name(program: str, small: Path, tmp_path: Path) -> None:
    """As a shell's ``<(zcat log.gz)`` gives it."""
    expected = execute(program, "rows", small, "--format", "csv", "--columns", "pos,row")
    read, write = os.pipe()
    feeder = subprocess.Popen(["cat", str(small)], stdout=write)
    os.close(write)
    try:
        done = subprocess.run(
            [program, "rows", f"/dev/fd/{read}", "--format", "csv", "--columns", "pos,row"],
            pass_fds=(read,),
            capture_output=True,
            timeout=LONG,
            check=False,
        )
    finally:
        os.close(read)
        feeder.wait(LONG)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == expected.stdout


def unread(pipe: IO[bytes]) -> int:
    """How many bytes of a pipe its reader has not taken yet."""
    answer = fcntl.ioctl(pipe, termios.FIONREAD, bytes(4))
    return int.from_bytes(answer, sys.byteorder)


def read_all(pipe: IO[bytes], data: bytes) -> None:
    """Write into a command's pipe, and wait until it has taken everything."""
    pipe.write(data)
    pipe.flush()
    until(lambda: not unread(pipe), "the command reads its standard input")


def test_an_interrupt_ends_it_quietly(program: str, tmp_path: Path) -> None:
    process = subprocess.Popen(
        [program, "events", "-", "--format", "jsonl"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None and process.stderr is not None
    read_all(process.stdin, bytes(1 << 20))
    process.send_signal(signal.SIGINT)
    process.stdin.close()  # wakes a read that began after the signal came
    said = process.stderr.read()
    assert process.wait(LONG) == 130
    assert said.strip() == b"binlogkit: interrupted"
    assert process.stdout is not None
    process.stdout.close()
    process.stderr.close()


def test_a_background_job_of_a_script_is_not_interrupted(program: str) -> None:
    """The shell has it ignore SIGINT, which is meant for what runs in the foreground."""
    process = subprocess.Popen(
        ["/bin/sh", "-c", 'trap "" INT; exec "$@"', "sh", program, "events", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    junk = bytes(1 << 20)
    read_all(process.stdin, junk)
    process.send_signal(signal.SIGINT)
    out, said = process.communicate(junk, LONG)
    whole = execute(program, "events", "-", stdin=junk * 2)
    assert (process.returncode, out, said) == (whole.returncode, whole.stdout, whole.stderr)
    assert b"interrupted" not in said


@pytest.mark.slow
def test_an_output_file_is_private_whatever_the_umask(
    program: str, small: Path, tmp_path: Path
) -> None:
    path = tmp_path / "out.jsonl"
    old = os.umask(0)
    try:
        done = execute(program, "rows", small, "--format", "jsonl", "--output", path)
    finally:
        os.umask(old)
    assert done.returncode == 0
    assert done.stdout == b""
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.slow
def test_parquet_does_not_go_to_a_terminal(program: str, small: Path) -> None:
    leader, follower = os.openpty()
    try:
        done = subprocess.run(
            [program, "rows", str(small), "--format", "parquet"],
            stdin=subprocess.DEVNULL,
            stdout=follower,
            stderr=subprocess.PIPE,
            timeout=LONG,
            check=False,
        )
    finally:
        os.close(follower)
        os.close(leader)
    assert done.returncode == 2
    assert b"--output" in done.stderr


def test_the_password_is_not_an_argument(program: str, small: Path) -> None:
    done = execute(program, "rows", small, "--schema-from", "mysql://root:hunter2@127.0.0.1:1")
    assert done.returncode == 2
    assert b"hunter2" not in done.stdout + done.stderr
    assert b"BINLOGKIT_PASSWORD" in done.stderr
