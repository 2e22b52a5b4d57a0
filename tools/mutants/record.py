"""What became of each fault of a campaign, so that it goes on where it ended."""

from __future__ import annotations

import json
import random
import tomllib
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from tools.mutants.beside import TOOLKIT, room
from tools.mutants.faults import Fault, faults

#: What may survive: module, line as it is, what it becomes (any change where it is left out), why.
EXPLAINED = Path(__file__).parents[1] / "survivors.toml"
ROOMS = ("analyses", "judge", "rows", "sources")
STATES = ("tried", "noticed", "closed", "explained", "open")


@dataclass
class Trial:
    """``first``: the test that noticed a fault when it was tried first, "" for none, None before;
    ``last``: the same of the last time, "(gone)" where its lines are."""

    fault: Fault
    first: str | None = None
    last: str | None = None

    def state(self, known: list[dict[str, str]]) -> str:
        """One of :data:`STATES`; "" while it was not tried."""
        if self.first is None:
            return ""
        if self.first:
            return "noticed"
        if self.last:
            return "closed"
        return "explained" if why(self.fault, known) is not None else "open"


def planned(modules: Iterable[Path], sample: int, seed: int) -> list[Trial]:
    """``sample`` faults of each module, first one of each, then another of each."""
    rounds: list[list[Trial]] = [[] for _ in range(sample)]
    for module in modules:
        chance = random.Random(f"{seed} {module}")
        source = (TOOLKIT / module).read_text("utf-8")
        for i, fault in enumerate(faults(source, module, chance, sample)):
            rounds[i].append(Trial(fault))
    for i, some in enumerate(rounds):
        random.Random(f"{seed} {i}").shuffle(some)
    return [trial for some in rounds for trial in some]


def read(path: Path) -> list[Trial]:
    """The trials of a campaign that was begun."""
    trials = []
    for one in json.loads(path.read_text("utf-8")):
        lines = {key: tuple(one["fault"][key]) for key in ("was", "becomes")}
        trials.append(Trial(Fault(**(one["fault"] | lines)), one["first"], one["last"]))
    return trials


def write(path: Path, trials: list[Trial]) -> None:
    """Keep the trials."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".new")
    new.write_text(json.dumps([asdict(trial) for trial in trials], indent=1), "utf-8")
    new.replace(path)


def explained() -> list[dict[str, str]]:
    """The survivors that are explained."""
    listed: list[dict[str, str]] = tomllib.loads(EXPLAINED.read_text("utf-8"))["survivor"]
    return listed


def why(fault: Fault, known: list[dict[str, str]]) -> str | None:
    """Why a fault may survive, as it is explained."""
    was, becomes = ([line.strip() for line in lines] for lines in (fault.was, fault.becomes))
    for one in known:
        same = f"binlogkit/{one['module']}" == fault.module and was == [one["was"]]
        if same and becomes == [one.get("becomes", *becomes)]:
            return one["why"]
    return None


def figures(trials: list[Trial]) -> str:
    """For each room how many faults were tried, noticed at once, closed, explained, open."""
    known = explained()
    counts: dict[str, Counter[str]] = {name: Counter() for name in (*ROOMS, "all")}
    for trial in trials:
        state = trial.state(known)
        if state:
            for name in (room(trial.fault.module), "all"):
                counts[name].update(("tried", state))
    lines = [f"{'room':<10}" + "".join(f"{state:>11}" for state in STATES)]
    for name, count in counts.items():
        if count["tried"]:
            lines.append(f"{name:<10}" + "".join(f"{count[state]:>11}" for state in STATES))
    return "\n".join(lines)
