"""Pages of reference made from the code: the commands from their help, Python from docstrings."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from textwrap import indent
from types import ModuleType

import click

import binlogkit
from binlogkit.cli import cli

_CLASS = re.compile(r"\b[A-Z]\w+")
#: What a Log has for the rooms beside it, and no document names.
_INNER = (
    "reading", "reading_of", "read_batches", "batches_to_damage", "one_history", "knowing",
    "begin_of", "wanted", "statement_table", "boundary_table",
)  # fmt: skip

#: What the pages are called, by the document after which they stand in the navigation.
PAGES = {
    "docs/command-line": ("commands",),
    "docs/python": ("functions", "log", "results", "analyses"),
}


def pages() -> Iterator[tuple[str, str]]:
    """Each page's name and text."""
    front = {name: getattr(binlogkit, name) for name in binlogkit.__all__}
    modules = [one for one in front.values() if isinstance(one, ModuleType)]
    classes = [name for name, one in front.items() if isinstance(one, type)]
    functions = [name for name, one in front.items() if callable(one) and name not in classes]
    others = [f"binlogkit.{name}" for name in classes if name != "Log"]
    analyses = sorted([*(module.__name__ for module in modules), "binlogkit.analyses.audit"])
    yield "commands", "# Every command and option\n\n" + "".join(_commands(cli, "binlogkit"))
    yield "functions", _page("Python: functions", map(_function, functions))
    yield "log", _page("Python: Log", [_class("binlogkit.Log")])
    yield "results", _page("Python: other classes", map(_class, [*others, *results()]))
    yield "analyses", _page("Python: analyses and errors", map(_module, analyses))


class _Markdown(click.HelpFormatter):
    """Takes a command's help as Markdown, with a table for each section."""

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        self.write(f"```text\n{prog} {args}\n```\n\n")

    def write_text(self, text: str) -> None:
        self.write(re.sub(r"(?<!\n)\n(?!\n)", " ", text) + "\n\n")

    def write_dl(
        self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2
    ) -> None:
        self.write("| | |\n|---|---|\n")
        for name, meaning in rows:
            self.write(f"| `{_cell(name)}` | {_cell(_quoted(meaning))} |\n")
        self.write("\n")

    @contextmanager
    def section(self, name: str) -> Iterator[None]:
        self.write(f"**{name}**\n\n")
        self.current_indent = 4  # examples become a block
        yield
        self.current_indent = 0
        self.write("\n")

    @contextmanager
    def indentation(self) -> Iterator[None]:
        yield


def _commands(
    command: click.Command, name: str, above: click.Context | None = None
) -> Iterator[str]:
    """The help of a command and of those below it."""
    context = click.Context(command, above, name, **command.context_settings)
    formatter = _Markdown()
    command.format_help(context, formatter)
    depth = context.command_path.count(" ") or 1
    yield f"{'#' * (depth + 1)} {context.command_path}\n\n{formatter.getvalue()}"
    if isinstance(command, click.Group):
        for each in command.list_commands(context):
            below = command.get_command(context, each)
            assert below is not None
            yield from _commands(below, each, context)


def _quoted(text: str) -> str:
    """Text with what Markdown would take for its own marks escaped."""
    return re.sub(r"([\\`*_<>\[\]])", r"\\\1", text)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def results() -> list[str]:
    """The classes of ours that methods of a Log and functions of the front door give."""
    front = [getattr(binlogkit, name) for name in binlogkit.__all__]
    given = [*vars(binlogkit.Log).values(), *front]
    own = {one for one in front if isinstance(one, type)}
    found: dict[str, None] = {}
    for function in given:
        if inspect.isfunction(function) and not function.__name__.startswith("_"):
            module = importlib.import_module(function.__module__)
            for name in _CLASS.findall(str(function.__annotations__.get("return", ""))):
                one = _named(module, name)
                if (
                    isinstance(one, type)
                    and one.__module__.startswith("binlogkit.")
                    and one not in own
                ):
                    found[f"{one.__module__}.{one.__qualname__}"] = None
    return [*found]


def _named(module: ModuleType, name: str) -> object:
    """What a name of a module's annotations stands for; imports for type checkers count."""
    if hasattr(module, name):
        return getattr(module, name)
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.ImportFrom) and any(a.name == name for a in node.names):
            return getattr(importlib.import_module(str(node.module)), name)
    return None


def _page(title: str, parts: Iterable[str]) -> str:
    return f"# {title}\n\n" + "".join(parts)


def _directive(text: str) -> str:
    return f"```{{eval-rst}}\n{text}```\n\n"


def _function(name: str) -> str:
    one = getattr(binlogkit, name)
    if inspect.isfunction(one):
        return _directive(f".. autofunction:: binlogkit.{name}\n")
    called = indent(inspect.getdoc(type(one).__call__) or "", "   ")
    return _directive(f".. autodata:: binlogkit.{name}\n   :no-value:\n\n{called}\n")


def _class(name: str) -> str:
    options = "   :members:\n   :inherited-members: object\n"
    options += f"   :exclude-members: {', '.join(_INNER)}\n" if name == "binlogkit.Log" else ""
    return _directive(f".. autoclass:: {name}\n{options}")


def _module(name: str) -> str:
    return f"## {name}\n\n" + _directive(f".. automodule:: {name}\n   :members:\n")
