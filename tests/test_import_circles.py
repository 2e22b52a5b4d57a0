"""No module imports itself by way of others, in functions and for type checking neither; nor by way
of packages, whose ``__init__`` comes before what they hold."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from importlib.util import find_spec
from itertools import accumulate
from pathlib import Path

import grimp
import pytest

PACKAGES = ("binlogkit", "binlogkit_fixtures", "binlogkit_pytest", "pyspark_binlog")


def prepare(*packages: str) -> None:
    """CycleError, with the modules of a circle in its arguments, if there is one."""
    graph = grimp.build_graph(*packages, exclude_type_checking_imports=False, cache_dir=None)
    found = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    TopologicalSorter(found).prepare()


def test_there_is_no_circle() -> None:
    prepare(*PACKAGES)


def at_start(body: Sequence[ast.stmt]) -> Iterator[str]:
    """What a module imports as it is imported; of ``from a import b`` both ``a`` and ``a.b``."""
    for one in body:
        match one:
            case ast.If(test=ast.Name(id="TYPE_CHECKING"), orelse=others):
                yield from at_start(others)
            case ast.If() | ast.Try():
                handled = [h.body for h in getattr(one, "handlers", ())]
                for part in (one.body, one.orelse, *handled):
                    yield from at_start(part)
            case ast.Import(names=names):
                yield from (name.name for name in names)
            case ast.ImportFrom(module=str(module), names=names, level=0):
                yield from (module, *(f"{module}.{name.name}" for name in names))


def prepare_start(sources: Mapping[str, str]) -> None:
    """CycleError if a module cannot be imported first: it needs itself before it is there."""
    found = dict[str, set[str]]()
    for name, source in sources.items():
        needed = {
            package
            for one in at_start(ast.parse(source).body)
            for package in accumulate(one.split("."), "{}.{}".format)
        }
        found[name] = {
            one for one in needed & sources.keys() if not f"{name}.".startswith(f"{one}.")
        }
    TopologicalSorter(found).prepare()


def test_each_module_can_be_imported_first() -> None:
    sources = dict[str, str]()
    for package in PACKAGES:
        spec = find_spec(package)
        assert spec is not None and spec.origin is not None
        root = Path(spec.origin).parent
        for path in root.rglob("*.py"):
            parts = path.relative_to(root.parent).with_suffix("").parts
            sources[".".join(parts).removesuffix(".__init__")] = path.read_text("utf-8")
    assert len(sources) > 500
    prepare_start(sources)


def test_a_circle_by_way_of_a_package_is_found() -> None:
    sources = {"a.b": "from p.c import x", "p": "from p.d import y", "p.c": "", "p.d": "import a.b"}
    with pytest.raises(CycleError):
        prepare_start(sources)
    prepare_start(sources | {"p.d": "def f():\n    import a.b\n"})


def test_a_circle_for_type_checking_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "circular_example"
    package.mkdir()
    (package / "__init__.py").touch()
    guarded = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import circular_example.b\n"
    (package / "a.py").write_text(guarded)
    (package / "b.py").write_text("def f():\n    from circular_example import a\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    with pytest.raises(CycleError) as circle:
        prepare("circular_example")
    assert {*circle.value.args[1]} == {"circular_example.a", "circular_example.b"}
