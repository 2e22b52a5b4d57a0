"""``python -m binlogkit_fixtures.rules``: the proof, and the campaigns."""

from __future__ import annotations

import json
from pathlib import Path

import click

import binlogkit.analyses.logging_rules
from binlogkit.analyses.logging_rules.document import results, sentences
from binlogkit_fixtures.clock import start_server
from binlogkit_fixtures.rules.campaign import run
from binlogkit_fixtures.rules.names import try_functions, try_operators, try_variables
from binlogkit_fixtures.rules.proof import play_all
from binlogkit_fixtures.rules.scripts import make_scripts, run_scripts
from binlogkit_fixtures.servers import Server, ServerSpec

__all__ = ["OPTIONS", "VERSIONS", "begun"]

VERSIONS = ("5.6", "5.7", "8.0", "9")
OPTIONS = {
    "log-bin": "binlog",
    "secure-file-priv": "",
    "log-bin-trust-function-creators": "ON",
    "gtid-mode": "OFF",
    "enforce-gtid-consistency": "OFF",
    "sync-binlog": "0",
    "innodb-flush-log-at-trx-commit": "0",
}


def begun(version: str) -> Server:
    """A server for the rules."""
    return start_server(ServerSpec(version, OPTIONS), "auto", "real")[0]


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """The logging rules on real servers."""


_servers = click.option(
    "--server", "versions", multiple=True, type=click.Choice(VERSIONS), default=("5.7", "8.0", "9")
)


@main.command()
@_servers
@click.option("--write", is_flag=True, help="Keep the results in the package.")
def prove(versions: tuple[str, ...], write: bool) -> None:
    """Play the case of every rule of the document."""
    kept = results()
    for version in versions:
        with begun(version) as server:
            found, full = play_all(server), server.version
        for rule in sentences():
            if rule.not_played:
                continue
            kept.setdefault(rule.id, {})[full] = found[rule.id]
            if found[rule.id] != rule.gives:
                click.echo(f"{full} {rule.id}: {found[rule.id]!r}, the document: {rule.gives!r}")
    if write:
        home = Path(binlogkit.analyses.logging_rules.__file__).with_name("results.json")
        order = [rule.id for rule in sentences()]
        text = json.dumps({name: kept[name] for name in order if name in kept}, indent=1)
        home.write_text(text + "\n", "utf-8")


@main.command()
@_servers
@click.option("--statements", default=5000, show_default=True)
@click.option("--transactions", default=1000, show_default=True)
@click.option("--seed", default=1, show_default=True)
def campaign(versions: tuple[str, ...], statements: int, transactions: int, seed: int) -> None:
    """Play statements and transactions that are made up; every prediction is compared."""
    differences = 0
    for version in versions:
        with begun(version) as server:
            result = run(server, statements, seed)
            steps = run_scripts(server, make_scripts(seed, transactions))
            full = server.version
        wrong = [step for step in steps if not step.agrees]
        click.echo(
            f"{full}: {result.statements} statements, {result.images} images, {result.warnings} "
            f"warnings, {len(steps)} steps of {transactions} transactions; differences: "
            f"{len(result.differences)} and {len(wrong)}"
        )
        for one in result.differences:
            click.echo(f"  {one.what}: {one.made}\n    {one.predicted}\n    {one.found}")
        for step in wrong:
            click.echo(
                f"  {'; '.join(step.script)}\n    at {step.sql}: {step.predicted}\n    {step.found}"
            )
        differences += len(result.differences) + len(wrong)
    raise SystemExit(1 if differences else 0)


@main.command()
@_servers
def names(versions: tuple[str, ...]) -> None:
    """Use every function, operator and system variable in a statement that writes."""
    differences = 0
    for version in versions:
        with begun(version) as server:
            for what, tried in (
                ("functions", try_functions(server)),
                ("operators", try_operators(server)),
                ("variables", try_variables(server)),
            ):
                click.echo(
                    f"{server.version}: {len(tried.taken)} {what}, {len(tried.unsafe)} unsafe; "
                    f"differences: {len(tried.differences)}"
                )
                for text in tried.differences:
                    click.echo(f"  {text}")
                differences += len(tried.differences)
    raise SystemExit(1 if differences else 0)


if __name__ == "__main__":
    main()
