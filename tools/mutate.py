"""Puts small faults into the code, one at a time, and asks the tests whether they notice.

    python -m tools.mutate [--sample N] [--seed N] [--modules GLOB …]

The faults are those of cosmic-ray: an operator, a number, a condition exchanged; left out are those
that change nothing. Each is shown to the quick tests beside its module that reach its line, then to
all beside it, then to those elsewhere that reach it. Which reach it is measured once under
coverage, and again of test files that changed. A fault in a function is put into loaded code;
what only loading shows is put into a copy of ``toolkit/`` and loaded.

What became of each is kept under ``out/mutate``: the same command resumes where it ended, and asks
again about what no test noticed. Prints that, and figures for each room; status 1 if more than
``--allow`` of all are open: neither noticed nor explained in ``tools/survivors.toml``.
docs/mutation.md has figures.
"""

from __future__ import annotations

import argparse
import random
import sys
from pathlib import Path

from tools.mutants import record
from tools.mutants.beside import AREAS, ROOT, UNIT, WIDE, modules, tests_of
from tools.mutants.fresh import Fresh
from tools.mutants.judge import Judge
from tools.mutants.reach import Reach
from tools.mutants.session import Session, collected, spent

OUT = ROOT / "out" / "mutate"


def campaign(
    args: argparse.Namespace,
    trials: list[record.Trial],
    asked: list[record.Trial],
    session: Session,
) -> None:
    """Judge those of ``asked`` that are not yet, and those that are open; keep all ``trials``."""
    judge = Judge(session, Reach(OUT / "reach"), args.fresh, near=args.beside)
    known = record.explained()
    states = ("open",) if args.open else ("", "open")
    waiting = [trial for trial in asked if trial.state(known) in states]
    for trial in sorted(waiting, key=lambda trial: trial.first is not None):  # the new ones first
        if spent() > args.cpu:
            break
        name = judge.noticed(trial.fault)
        trial.first = name if trial.first is None else trial.first
        trial.last = name
        record.write(args.record, trials)
        state = trial.state(known)
        if state == "open":
            print(f"NOT NOTICED: {trial.fault.shown}", flush=True)
        elif state == "explained":
            print(f"{trial.fault.module}:{trial.fault.line}: explained", flush=True)


def main() -> None:
    """Run a campaign."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.mutate", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument(
        "--modules",
        nargs="*",
        default=list(AREAS),
        metavar="GLOB",
        help="a campaign that was begun resumes with those of its own that match",
    )
    parser.add_argument("--sample", type=int, default=3, help="faults for each module")
    parser.add_argument("--most", type=int, help="of the modules, so many by chance")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--beside", action="store_true", help="ask only the tests beside each")
    parser.add_argument("--wide", action="store_true", help="ask the rooms above, too (slow)")
    parser.add_argument("--allow", type=float, default=0.05, help="part that may be open")
    parser.add_argument("--cpu", type=float, default=1e9, help="seconds after which to stop")
    parser.add_argument("--record", type=Path, help="default: out/mutate/SEED-SAMPLE.json")
    parser.add_argument("--open", action="store_true", help="only ask again about what is open")
    parser.add_argument("--figures", action="store_true", help="only print what is in the record")
    args = parser.parse_args()
    args.record = args.record or OUT / f"{args.seed}-{args.sample}.json"
    chosen = modules(args.modules)
    if args.most is not None and args.most < len(chosen):
        chosen = sorted(random.Random(args.seed).sample(chosen, args.most))
    if args.record.exists():
        trials = record.read(args.record)
    else:
        trials = record.planned(chosen, args.sample, args.seed)
        record.write(args.record, trials)
    wanted = {module.as_posix() for module in chosen}
    asked = [trial for trial in trials if trial.fault.module in wanted]
    paths = {str(ROOT / "tests" / place) for place in UNIT}
    if args.wide:
        paths |= {str(ROOT / "tests" / place) for some in WIDE.values() for place in some}
    if args.beside:
        paths = {path for trial in asked for path in tests_of(Path(trial.fault.module))}
    if not args.figures:
        args.fresh = Fresh()
        status = collected(sorted(paths), lambda session: campaign(args, trials, asked, session))
        if status not in (0, 5):
            sys.exit(f"pytest ends with {status}")
    left = [x for x in trials if x.state(record.explained()) == "open"]
    tried = [x for x in trials if x.first is not None]
    print(record.figures(trials))
    print(f"{len(tried)} of {len(trials)} faults, {len(left)} open")
    sys.exit(len(left) > args.allow * len(tried))


if __name__ == "__main__":
    main()
