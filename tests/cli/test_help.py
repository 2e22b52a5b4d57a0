"""Every command and option is documented, and the contract's options are there."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from binlogkit.cli import cli
from binlogkit.cli.help import GROUPS, Command
from binlogkit.reports.output import FORMATS

Run = Callable[..., Any]

SAMPLE = Path(__file__).parents[1] / "_data/8.0-row-full/incident/binlog.000001"
_NEED_OTHERS = {"conform"}  # mysqlbinlog, another decoder's rows

FILES = {"--schema", "--schema-from", "--charset", "--suppose", "--on-damage", "--verbose"}
FILTERS = {
    "--table", "--exclude-table", "--op", "--gtid", "--thread", "--server-id", "--where",
    "--start-position", "--stop-position", "--start-time", "--stop-time", "--timezone",
}  # fmt: skip
OUTPUT = {"--format", "--output", "--columns", "--csv-raw"}
CONTRACT = {
    "events": FILES | FILTERS | OUTPUT,
    "rows": FILES | FILTERS | OUTPUT | {"--index"},
    "transactions": FILES | FILTERS | OUTPUT | {"--index"},
    "audit": FILES | FILTERS | OUTPUT | {"--html"},
    "state": FILES
    | OUTPUT
    | {"--table", "--at", "--until-gtid", "--until-time", "--timezone"}
    | {"--base", "--base-at", "--base-gtid", "--index"},
    "diff": FILES | OUTPUT | {"--table", "--from", "--to", "--timezone"},
    "life": FILES | OUTPUT | {"--table", "--key", "--key-columns", "--source", "--index"},
    "live": {
        "--query",
        "--table",
        "--base",
        "--base-at",
        "--base-gtid",
        "--checkpoint",
        "--no-wait",
        "--show",
    },
    "touched": OUTPUT | {"--table", "--op", "--where", "--minutes"},
    "undo": FILES | FILTERS | {"--output"},
    "redo": FILES | FILTERS | {"--output"},
    "index": FILES | {"--out"},
    "land": FILES | {"--out", "--table", "--exclude-table", "--mask", "--mask-key", "--master"},
    "erase": {"--row"},
    "expire": {"--days", "--readers"},
    "status": OUTPUT | {"--section"},
    "sample": {"--out"},
    "rules": OUTPUT | {"--schema", "--database", "--set", "--server", "--all"},
    "snapshot": {"--out", "--table", "--lock"},
    "capture": {
        "--host",
        "--port",
        "--socket",
        "--user",
        "--defaults-file",
        "--ssl-mode",
        "--ssl-ca",
        "--out",
        "--follow",
        "--start-log",
        "--start-position",
        "--gtid-set",
        "--reconnect",
    },
    "conform": FILES
    | OUTPUT
    | {"--against", "--decoded", "--as", "--baseline", "--rules", "--set", "--allow-unjudged"}
    | {"--row-form", "--explained"},
    "explain": FILES | OUTPUT | {"--at", "--text", "--html"},
    "verify": FILES | OUTPUT,
    "fixtures": set(),
}


def every(group: click.Command, name: tuple[str, ...] = ()) -> Iterator[tuple[Any, click.Command]]:
    """All commands below ``group`` with their names."""
    yield name, group
    if isinstance(group, click.Group):
        context = click.Context(group)
        for each in group.list_commands(context):
            command = group.get_command(context, each)
            assert command is not None
            yield from every(command, (*name, each))


COMMANDS = dict(every(cli))
LEAVES = {name: one for name, one in COMMANDS.items() if isinstance(one, Command)}


def test_the_contracts_commands_are_there() -> None:
    assert {name for name, one in COMMANDS.items() if not isinstance(one, click.Group)} == {*LEAVES}
    assert {name[0] for name in COMMANDS if name} == set(CONTRACT)
    assert {("fixtures", verb) for verb in ("generate", "verify", "list")} <= set(COMMANDS)


@pytest.mark.parametrize("name", CONTRACT)
def test_the_contracts_options_are_there(name: str) -> None:
    options = {o for p in COMMANDS[(name,)].params for o in p.opts if o.startswith("-")}
    assert options >= CONTRACT[name]


@pytest.mark.parametrize("name", COMMANDS, ids=" ".join)
def test_help_names_each_option(run: Run, name: tuple[str, ...]) -> None:
    command = COMMANDS[name]
    done = run(*name, "--help")
    text = done.out.decode("utf-8")
    assert (done.status, done.err) == (0, "")
    assert command.help and len(command.help) > 20
    assert command.help.split("\n")[0].rstrip(".")[:60].split()[0] in text
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, parameter.name
            for option in (*parameter.opts, *parameter.secondary_opts):
                assert re.search(rf"{option}\b", text), option
    for line in text.splitlines():
        # click does not break a list of choices
        assert len(line) <= 80 or "|" in line


def test_formats_and_statuses_are_told(run: Run) -> None:
    text = " ".join(run("rows", "--help").out.decode("utf-8").split())
    assert f"[{'|'.join(FORMATS)}]" in text
    text = " ".join(run("--help").out.decode("utf-8").split())
    assert "Exit status: 0 all well; 1 findings" in text and "2 usage or unreadable input" in text


def test_usage_errors_show_how(run: Run) -> None:
    done = run("rows", "--tabel", "x", "y")
    assert done.status == 2
    assert "--tabel" in done.complaint and "--table" in done.complaint
    assert done.complaint.endswith("(see binlogkit rows --help)")


def test_commands_are_grouped_and_their_summaries_whole(run: Run) -> None:
    text = run("--help").out.decode("utf-8")
    assert "..." not in text.split("\n", 1)[1] and "Further:" not in text
    listed = [name for names in GROUPS.values() for name in names]
    assert sorted(listed) == sorted(CONTRACT)
    places = [text.index(f"\n{title}:") for title in GROUPS]
    assert places == sorted(places)


def test_options_of_most_use_come_first(run: Run) -> None:
    text = run("rows", "--help").out.decode("utf-8")
    wanted = ("Examples:", "--table", "--where", "--columns", "--csv-raw", "--schema ")
    places = [text.index(f"\n  {each}" if each[0] == "-" else f"\n{each}") for each in wanted]
    assert places == sorted(places)


@pytest.mark.parametrize("example", [e for c in LEAVES.values() for e in c.examples], ids=str)
def test_examples_are_right(
    run: Run, example: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = shlex.split(example)
    name = tuple(words[: 1 + (words[0] == "fixtures")])
    assert example in LEAVES[name].examples
    LEAVES[name].make_context(" ".join(name), words[len(name) :])
    if "binlog.0000" in example and words[0] not in _NEED_OTHERS:
        shutil.copy(SAMPLE, tmp_path)
        monkeypatch.chdir(tmp_path)
        done = run(*words)
        assert done.status == 0 or words[0] == "undo", done.err
        assert done.out or len(list(tmp_path.iterdir())) > 1


@pytest.mark.parametrize("name", LEAVES, ids=" ".join)
def test_each_command_has_two_examples_and_few_options_first(
    run: Run, name: tuple[str, ...]
) -> None:
    assert len(LEAVES[name].examples) == 2
    text = run(*name, "--help").out.decode("utf-8")
    first = text[text.index("\nOptions:") :].split("\n\n")[0]
    assert first.count("\n  -") <= 17


@pytest.mark.parametrize("name", [(), ("fixtures",)], ids=str)
def test_summaries_are_whole(run: Run, name: tuple[str, ...]) -> None:
    lists = run(*name, "--help").out.decode("utf-8").split("\nOptions:")[1].split("\n\n")[1:]
    assert len(lists) > 1
    told = " ".join(" ".join(lists).split())
    for below in COMMANDS:
        if below[:-1] == name and below:
            assert f" {below[-1]} " in told
    assert "..." not in told and "Further:" not in told
