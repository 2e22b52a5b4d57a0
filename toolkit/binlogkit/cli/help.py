"""How commands show their help: options in three sections, examples; commands in groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

GROUPS = {
    "Investigate": (
        "audit", "rows", "transactions", "events", "life", "state", "diff", "explain", "verify",
    ),
    "Repair": ("undo", "redo"),
    "Test": ("conform", "rules", "fixtures", "sample"),
    "Scale": (
        "capture", "snapshot", "index", "touched", "land", "status", "expire", "erase", "live",
    ),
}  # fmt: skip

#: By command: two lines to begin with; those of the sample log run in tests/cli/test_help.py.
EXAMPLES = {
    "audit": ("audit binlog.000001", "audit binlog.0000* --html report.html"),
    "rows": (
        "rows binlog.000001 --table shop.orders --where id=150",
        "rows binlog.000001 --op delete --format jsonl",
    ),
    "transactions": (
        "transactions binlog.000001 --table shop.orders",
        "transactions binlog.000001 --thread 106 --columns pos,rows,gtid",
    ),
    "events": ("events binlog.000001", "events binlog.000001 --start-position 75676"),
    "life": (
        "life binlog.000001 --table shop.orders --key 150",
        "life binlog.000001 --table shop.orders --key 150 --columns pos,op",
    ),
    "state": (
        "state binlog.000001 --table shop.orders --at binlog.000001:75676",
        "state binlog.000001 --table shop.orders --output orders.parquet",
    ),
    "diff": (
        "diff binlog.000001 --table shop.orders --from 2024-05-14T14:03:00",
        "diff binlog.000001 --table shop.orders --from binlog.000001:75676",
    ),
    "explain": (
        "explain binlog.000001 --at 76096",
        "explain binlog.000001 --at 76096 --html event.html",
    ),
    "verify": ("verify binlog.000001", "verify binlog.0000* --images"),
    "undo": (
        "undo binlog.000001 --at 75676 --mode merge --output undo.sql",
        "undo binlog.000001 --table shop.orders --where id=150 --commit",
    ),
    "redo": (
        "redo binlog.000001 --thread 106 --output redo.sql",
        "redo binlog.000001 --start-time 2024-05-14T14:03:00 --commit",
    ),
    "conform": (
        "conform binlog.000001",
        "conform binlog.000001 --decoded rows.json --as debezium",
    ),
    "rules": (
        "rules 'DELETE FROM t LIMIT 1'",
        "rules 'UPDATE t SET a = UUID()' --set binlog_format=MIXED",
    ),
    "sample": ("sample", "sample --out logs"),
    "capture": (
        "capture --host db1 --user audit --out logs",
        "capture --host db1 --user audit --out logs --follow",
    ),
    "snapshot": (
        "snapshot mysql://audit@db1 --out base",
        "snapshot mysql://audit@db1 --out base --table shop.orders",
    ),
    "index": ("index logs --out logs.index", "index binlog.0000* --out logs.index"),
    "touched": (
        "touched logs.index --table shop.orders",
        "touched logs.index --table shop.orders --where id=150",
    ),
    "land": (
        "land logs --out lake --table shop.orders",
        "land logs --out lake --mask shop.customers.email=drop",
    ),
    "expire": ("expire lake --days 90", "expire lake --days 90 --readers 24"),
    "erase": (
        "erase lake --row shop.customers id=42",
        "erase lake --row shop.customers id=42 --row shop.orders id=150",
    ),
    "status": ("status lake", "status lake --section sources --format jsonl"),
    "live": (
        "live logs --query totals.sql --no-wait",
        "live mysql://audit@db1 --query totals.sql --show",
    ),
}


#: The sections of a command's options after its own, which come first.
_SECTIONS = {
    "More options": frozenset({
        "exclude_table", "server_id", "source", "start_position", "stop_position", "timezone",
        "csv_raw", "base", "back_from", "base_at", "base_gtid", "chunk_rows",
        "despite_gaps", "despite_refused", "despite_triggers", "by_transaction", "made_again",
        "silence", "reconnect", "exclude", "mask_key", "compact", "matrix", "runner", "clock",
        "servers", "mysqlbinlog", "mark_each", "resume", "expected_only", "missing",
        "program", "decoder", "allow_unjudged", "write_baseline", "title", "junit", "ledger",
        "target_options",
    }),
    "How logs are read": frozenset({
        "schema", "schema_from", "keyring", "key_file", "storage_options", "storage_option",
        "charset", "suppose", "on_damage", "duplicates", "verbose", "index", "engine", "master",
    }),
    "The connection": frozenset({
        "host", "port", "socket", "user", "defaults_file", "ssl_mode", "ssl_ca", "ssl_capath",
        "ssl_cert", "ssl_key", "server_public_key_path",
    }),
}  # fmt: skip


class Command(click.Command):
    """A command whose help begins with examples and the options of most use.

    ``examples``: of a command that :data:`EXAMPLES` does not have, without the program's name.
    """

    def __init__(self, *args: Any, examples: Sequence[str] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.examples = examples or EXAMPLES.get(self.name or "", ())

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples, then the options by section."""
        _write_examples(self.examples, formatter)
        first = "Options"
        sections: dict[str, list[tuple[str, str]]] = {first: [], **{n: [] for n in _SECTIONS}}
        for parameter in self.get_params(ctx):
            named = (title for title, names in _SECTIONS.items() if parameter.name in names)
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, click.Option):
                sections[next(named, first)].append(record)
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


def _write_examples(examples: Sequence[str], formatter: click.HelpFormatter) -> None:
    if examples:
        with formatter.section("Examples"):
            for example in examples:
                formatter.write(f"{'':{formatter.current_indent}}binlogkit {example}\n")


class Group(click.Group):
    """Commands whose list has the first sentence of each one's help, by group.

    ``groups``: the names of the commands by the group's title; ``examples``: without the program's
    name.
    """

    command_class = Command

    def __init__(
        self,
        *args: Any,
        groups: Mapping[str, Sequence[str]] | None = None,
        examples: Sequence[str] = (),
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.groups, self.examples = groups or {}, examples

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples, and the list."""
        _write_examples(self.examples, formatter)
        grouped = {name: title for title, names in self.groups.items() for name in names}
        sections: dict[str, list[tuple[str, str]]] = {
            title: [] for title in [*self.groups, "Further"]
        }
        found = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        for name in sorted(found, key=[*grouped, *found].index):
            if (command := found[name]) is not None:
                summary = command.get_short_help_str(limit=_SUMMARY)
                sections[grouped.get(name, "Further")].append((name, summary))
        for title, commands in sections.items():
            if commands:
                with formatter.section(title):
                    formatter.write_dl(commands)


_SUMMARY = 200  # characters: no first sentence is longer
