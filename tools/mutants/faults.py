"""The faults: cosmic-ray's, one at a time, none of which changes nothing."""

from __future__ import annotations

import ast
import difflib
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

OPERATORS = (
    "core/AddNot", "core/NumberReplacer", "core/ReplaceAndWithOr", "core/ReplaceOrWithAnd",
    "core/ReplaceBreakWithContinue", "core/ReplaceContinueWithBreak", "core/ReplaceTrueWithFalse",
    "core/ReplaceFalseWithTrue", "core/ZeroIterationForLoop", "core/ReplaceBinaryOperator_",
    "core/ReplaceComparisonOperator_", "core/ReplaceUnaryOperator_",
)  # fmt: skip


@dataclass(frozen=True)
class Fault:
    """Lines of a module, and what becomes of them.

    ``module``: below ``toolkit/``, as ``binlogkit/rows/where.py``; ``line``: 1-based, where they
    began when the fault was made.
    """

    module: str
    line: int
    operator: str
    was: tuple[str, ...]
    becomes: tuple[str, ...]

    @property
    def shown(self) -> str:
        """The place, and the lines as they are and become."""
        changed = [f"-{x}" for x in self.was] + [f"+{x}" for x in self.becomes]
        return "\n".join((f"{self.module}:{self.line}: {self.operator}", *changed))

    def place(self, source: str) -> int | None:
        """Where its lines are now (from 0): the nearest to where they were, None if gone."""
        lines, size = source.splitlines(), len(self.was)
        found = [i for i in range(len(lines)) if tuple(lines[i : i + size]) == self.was]
        return min(found, key=lambda i: abs(i + 1 - self.line), default=None)

    def put(self, source: str) -> str | None:
        """The module with the fault in it; None if its lines are gone."""
        start = self.place(source)
        if start is None:
            return None
        lines = source.splitlines()
        lines[start : start + len(self.was)] = self.becomes
        return "\n".join(lines) + "\n"


def faults(source: str, module: Path, chance: random.Random, count: int) -> Iterator[Fault]:
    """``count`` faults of a module, each at another place, every place as likely."""
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator, operator_names

    places: dict[Any, list[tuple[str, int]]] = {}
    tree = get_ast(source)
    for name in operator_names():
        if not name.startswith(OPERATORS):
            continue
        operator, number = get_operator(name)(), 0
        for node in ast_nodes(tree):
            for start, _ in operator.mutation_positions(node):
                places.setdefault(start, []).append((name, number))
                number += 1
    meaning = _meaning(source)
    order = sorted(places)
    chance.shuffle(order)
    for start in order:
        if count == 0:
            return
        name, number = chance.choice(places[start])
        code = mutate_code(source, get_operator(name)(), number)
        if code is not None and _meaning(code) not in (meaning, None):
            count -= 1
            yield _fault(module, name.removeprefix("core/"), source, code)


def _fault(module: Path, operator: str, source: str, code: str) -> Fault:
    """What differs between two texts of a module, as one piece of lines."""
    was, is_ = source.splitlines(), code.splitlines()
    same = difflib.SequenceMatcher(None, was, is_, autojunk=False).get_matching_blocks()
    head = same[0].size if same[0].a == same[0].b == 0 else 0
    tail = same[-2].size if same[-2].a + same[-2].size == len(was) else 0
    lines = tuple(was[head : len(was) - tail]), tuple(is_[head : len(is_) - tail])
    return Fault(module.as_posix(), head + 1, operator, *lines)


class _Meaning(ast.NodeTransformer):
    """Without annotations, docstrings, and the promises of dataclasses."""

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.annotation = ast.Constant(None)
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.decorator_list = []
        return self.generic_visit(node)


def _meaning(source: str) -> str | None:
    """What a module does, as text to compare; None where it is no Python."""
    try:
        return ast.dump(_Meaning().visit(ast.parse(source)))
    except SyntaxError:
        return None


def statement(source: str, line: int) -> range:
    """The lines (1-based) of the statement in which a line stands; of one with a body its head."""
    heads = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            end = body[0].lineno - 1 if body else node.end_lineno
            heads.append(range(node.lineno, max(node.lineno, end or 0) + 1))
    within = (head for head in heads if line in head)
    return max(within, key=lambda head: head.start, default=range(line, line + 1))
