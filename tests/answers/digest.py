"""Digests of answers to keep, and to compare later ones with.

    python tests/answers/digest.py make FILE [--each N] [--only PATTERN] [--sample N] [--full DIR]
    python tests/answers/digest.py compare FILE [--only PATTERN] [--sample N] [--full DIR] [--show]

``make`` writes the digests of all inputs; ``--each N``: also N damaged logs of every kind of every
base; ``--full DIR``: keep the answers themselves there. ``compare`` asks the inputs in FILE again
and lists what differs, decided differences (differences.toml) only as a number, or all with
``--all``; with ``--full DIR`` of ``make`` and ``--show`` as diffs. What code answers is what Python
imports: set PYTHONPATH to ask another checkout's. Status 1: something differs and is not listed.
"""

from __future__ import annotations

import argparse
import difflib
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from fnmatch import fnmatchcase
from functools import lru_cache, partial
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))

import binlogkit as bk  # noqa: E402
from tests.answers.binlogkit_answers.asking import COLUMNS, FIRST, Answers, answers_of, expanded  # noqa: E402
from tests.answers.binlogkit_answers.differences import (  # noqa: E402
    Difference,
    by_column,
    differences,
    listed,
    undecided,
)
from tests.answers.binlogkit_answers.inputs import Input, campaign  # noqa: E402
from tests.answers.binlogkit_answers.store import Digests, keep, kept, read, written  # noqa: E402

DIFFERENCES = HERE / "differences.toml"
DIGESTS = HERE / "digests.txt"
_SLOW = 60  # seconds that are reported


def chosen(names: Sequence[str], only: Sequence[str], sample: int) -> list[str]:
    """The names that match a pattern; of them ``sample`` evenly spread ones, 0 for all."""
    found = [name for name in names if not only or any(fnmatchcase(name, p) for p in only)]
    if not sample or sample >= len(found):
        return found
    return [found[i * len(found) // sample] for i in range(sample)]


@lru_cache
def _inputs(each: int) -> dict[str, Input]:
    """All inputs: those of a process cannot be sent to another."""
    return campaign(each)


def _ask(
    name: str, each: int, full: Path | None, show: bool
) -> tuple[str, Digests, Answers | None]:
    item = _inputs(each)[name]
    began = time.perf_counter()
    answers = answers_of(item)
    took = time.perf_counter() - began
    if took > _SLOW:
        print(f"{item.name}: {took:.0f} s", file=sys.stderr, flush=True)
    if full is not None:
        keep(full, item.name, answers)
    return item.name, Digests(answers.key, answers.digests()), answers if show else None


def _asked(
    names: Sequence[str], each: int, jobs: int, *, full: Path | None = None, show: bool = False
) -> Iterator[tuple[str, Digests, Answers | None]]:
    ask = partial(_ask, each=each, full=full, show=show)
    if jobs == 1:
        yield from map(ask, names)
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(ask, names)


def make(options: argparse.Namespace) -> int:
    names = chosen(list(_inputs(options.each)), options.only, options.sample)
    with options.file.open("w", encoding="ascii") as out:
        out.write(" ".join(COLUMNS) + "\n")
        for name, digests, _ in _asked(names, options.each, options.jobs, full=options.full):
            out.write(written(name, digests))
            out.flush()
    print(f"{len(names)} inputs", file=sys.stderr)
    return 0


def compare(options: argparse.Namespace) -> int:
    old = read(options.file)
    numbers = [int(n.rsplit("/", 1)[1]) for n in old if n.startswith("damaged/")]
    each = max(numbers, default=-1) + 1
    known = [name for name in old if name in _inputs(each)]
    names = chosen(known, options.only, options.sample)
    decided = listed(DIFFERENCES)
    found: list[Difference] = []
    for name, digests, answers in _asked(names, each, options.jobs, show=options.show):
        own = differences(name, old[name], digests)
        found += own
        for difference in own:
            if options.all or not any(entry.holds(difference) for entry in decided):
                print(difference, flush=True)
                if options.show and options.full is not None and answers is not None:
                    _show(difference, kept(options.full, name), answers, options.lines)
    asked = names if options.file.resolve() == DIGESTS else ()
    wrong = undecided(found, decided, set(read(DIGESTS)).difference(asked))
    print(f"{len(names)} inputs, {len(found)} answers differ")
    for column, count in by_column(found).items():
        print(f"  {column}: {count}")
    entries = [text for text in wrong if not text.endswith("not listed")]
    print("\n".join([f"{len(wrong) - len(entries)} are not listed", *entries]))
    return int(bool(wrong))


def _show(difference: Difference, old: Answers | None, new: Answers, lines: int) -> None:
    if old is None:
        print("  (no full answers were kept)")
        return
    variant, column = difference.variant, difference.column
    if variant not in (FIRST, *old.texts, *new.texts):
        return
    was, now = (expanded(a.texts, variant, column, "").splitlines() for a in (old, new))
    diff = list(difflib.unified_diff(was, now, "before", "now", lineterm="", n=1))
    print("\n".join(f"  {text[:400]}" for text in diff[:lines]))
    if len(diff) > lines:
        print(f"  … {len(diff) - lines} more lines")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("action", choices=("make", "compare"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--each", type=int, default=0, help="damaged logs of each kind and base")
    parser.add_argument("--only", action="append", default=[], metavar="PATTERN")
    parser.add_argument("--sample", type=int, default=0, help="so many inputs, evenly spread")
    parser.add_argument("--full", type=Path, help="folder of full answers")
    parser.add_argument("--show", action="store_true", help="diffs, from the full answers")
    parser.add_argument("--lines", type=int, default=40, help="of each diff")
    parser.add_argument("--all", action="store_true", help="decided differences too")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    print(f"asking {Path(bk.__file__).parent}", file=sys.stderr)
    return make(options) if options.action == "make" else compare(options)


if __name__ == "__main__":
    sys.exit(main())
