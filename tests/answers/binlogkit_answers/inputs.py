"""The logs that are asked, by name: golden, other projects', carried, in series, damaged, fuzzed.

Each is a set of files with names of their own, which stand alone in the working directory when they
are read: what an answer says of a file does not depend on where the project lies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

from tests.answers.binlogkit_answers.carriers import CARRIERS
from tests.answers.binlogkit_answers.damage import KINDS, damaged, fuzzed
from tests.answers.binlogkit_answers.places import heads
from tests.answers.binlogkit_answers.series import in_files

__all__ = ["Input", "campaign", "committed"]

Files = dict[str, bytes]
Make = Callable[[str, str], Files]  # (kind, seed)

TESTS = Path(__file__).resolve().parents[2]
DATA = TESTS / "_data"
CORPUS = TESTS.parents[1] / "shared" / "corpus"
_QUERY = 2
_FUZZED = 2  # fuzzed logs of each base
_SAMPLE = 3  # of the damaged logs' bases and kinds every third pair is in the project's digests


@dataclass(frozen=True, slots=True)
class Input:
    """``files``: in the order they are read; ``beside``: files that ``options`` name.

    ``damage``: of a damaged log its number among those of its base and kind, else None.
    """

    name: str
    files: Callable[[], Files]
    beside: Mapping[str, bytes] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    damage: int | None = None


def committed() -> dict[str, Input]:
    """The inputs whose digests are in the project; without the corpus where it is not there."""
    found = [*_golden(), *_others(), *_corpus(), *_encrypted(), *_carried()]
    found += [*_series(), *_together(), *_schemas()]
    for i, (base, make, kinds) in enumerate(_makers()):
        found += [_damaged(base, make, kind, 0) for kind in kinds[i % _SAMPLE :: _SAMPLE]]
    for number in range(_FUZZED):
        found += [_fuzzed(base, files, number) for base, files in _bases()]
    return {item.name: item for item in found if _there(item.name)}


def _there(name: str) -> bool:
    """Whether an input can be made: other projects' logs may not be beside this tree."""
    return "corpus/" not in name or CORPUS.is_dir()


def campaign(each: int) -> dict[str, Input]:
    """The same and damaged logs, ``each`` of every kind of every base."""
    found = committed()
    for number in range(each):  # so that the first of them are of all bases and kinds
        for base, make, kinds in filter(lambda maker: _there(maker[0]), _makers()):
            found |= {i.name: i for i in (_damaged(base, make, kind, number) for kind in kinds)}
    return found


# ---- undamaged --------------------------------------------------------------------------


def _logs(folder: Path) -> list[Path]:
    return sorted(p for p in folder.iterdir() if p.suffix[1:].isdigit())


@cache
def _files(folder: Path) -> Files:
    return {path.name: path.read_bytes() for path in _logs(folder)}


def _alone(path: Path) -> Files:
    return {path.name: path.read_bytes()}


def _folder(name: str, folder: Path) -> Iterator[Input]:
    """All files of a folder as one log, and each alone."""
    yield Input(name, partial(_files, folder))
    logs = _logs(folder)
    if len(logs) > 1:
        yield from (Input(f"{name}/{log.name}", partial(_alone, log)) for log in logs)


def _golden() -> Iterator[Input]:
    """The golden cases that were answered before there was one reading; those made since are held
    to their expected events and rows."""
    lines = (TESTS / "answers" / "digests.txt").read_text("ascii").splitlines()
    answered = {line.partition(" ")[0] for line in lines}
    for folder in sorted(DATA.glob("*/*")):
        name = f"golden/{folder.relative_to(DATA).as_posix()}"
        if name in answered:
            yield from _folder(name, folder)


def _others() -> Iterator[Input]:
    for room in ("rows", "truth"):
        for folder in sorted((TESTS / room / "_data").iterdir()):
            yield from _folder(f"{room}/{folder.name}", folder)


def _corpus() -> Iterator[Input]:
    for path in sorted(p for p in CORPUS.glob("*/*") if p.is_file()):
        yield Input(f"corpus/{path.relative_to(CORPUS).as_posix()}", partial(_alone, path))


def _encrypted() -> Iterator[Input]:
    for folder in sorted((TESTS / "_encrypted").glob("*/*")):
        key = {"keyring": (folder / "keyring").read_bytes()}
        files, name = partial(_files, folder), f"encrypted/{folder.name}"
        yield Input(name, files, key, {"keyring": "keyring"})
        if folder.name == "keys":
            yield Input(f"{name}/without-key", files)


def _carried() -> Iterator[Input]:
    for case in ("8.0-row-full/keys", "8.0-row-compressed/transactions", "5.6-row-full/keys"):
        for carrier in CARRIERS:
            yield Input(f"carried/{case}/{carrier}", partial(_packed, case, carrier))


def _packed(case: str, carrier: str) -> Files:
    return {name: CARRIERS[carrier](data) for name, data in _files(DATA / case).items()}


_SERIES = ("8.0-row-full/keys", "5.7-row-full/keys", "8.0-row-minimal/keys", "8.0-row-full/ddl")


def _series() -> Iterator[Input]:
    for case in _SERIES:
        yield Input(f"series/{case}", partial(_in_files, case))


@cache
def _in_files(case: str) -> Files:
    [data] = _files(DATA / case).values()
    return in_files(data, 3)


def _together() -> Iterator[Input]:
    """Two servers' logs read together, and a log beside a copy of itself."""
    for first, second in (
        ("8.0-row-full/keys", "8.0-row-minimal/keys"),
        ("5.7-row-full/transactions", "8.0-row-full/transactions"),
        ("8.0-row-full/transactions", "8.0-row-full/transactions"),
    ):
        name = f"together/{first}/{second}"
        yield Input(name, partial(_both, first, second))


def _both(first: str, second: str) -> Files:
    found = {f"a/{name}": data for name, data in _files(DATA / first).items()}
    return found | {f"b/{name}": data for name, data in _files(DATA / second).items()}


def _schemas() -> Iterator[Input]:
    """A log's second half with the definitions of its first as a schema file, and without."""
    for case in ("5.7-row-full/keys", "8.0-row-full/keys", "5.7-row-minimal/types"):
        files, name = partial(_second_half, case), f"schema/{case}"
        [data] = _files(DATA / case).values()
        yield Input(name, files, {"schema.sql": _definitions(data)}, {"schema": "schema.sql"})
        yield Input(f"{name}/latin1", files, options={"charset": "latin1"})


def _second_half(case: str) -> Files:
    [(name, data)] = _files(DATA / case).items()
    found = list(heads(data))
    return {name: data[: found[0].end] + data[found[len(found) // 2].pos :]}


def _definitions(data: bytes) -> bytes:
    """The CREATE TABLE statements of query events: ``… db_size:1@8 status_size:2@11``."""
    out = b""
    for head in heads(data):
        if head.code != _QUERY:
            continue
        sql = head.body[14 + head.body[8] + int.from_bytes(head.body[11:13], "little") : -4]
        if sql.upper().startswith(b"CREATE TABLE") and b"SELECT" not in sql.upper():
            out += sql + b";\n"
    return out


# ---- damaged ----------------------------------------------------------------------------

_BASES = (
    "5.6-row-full/transactions", "5.6-row-full/keys", "5.7-row-full/transactions",
    "5.7-row-full/keys", "5.7-row-minimal/transactions", "5.7-row-no-gtid/transactions",
    "5.7-row-no-checksum/keys", "5.7-row-v1-events/transactions", "5.7-row-full/ddl",
    "5.7-row-minimal/json", "5.7-mixed-full/transactions", "8.0-row-full/transactions",
    "8.0-row-full/keys", "8.0-row-full/ddl", "8.0-row-full/statements", "8.0-row-full/crash",
    "8.0-row-minimal/keys", "8.0-row-minimal/transactions", "8.0-row-noblob/transactions",
    "8.0-row-no-checksum/keys", "8.0-row-no-gtid/transactions", "8.0-row-compressed/transactions",
    "8.0-row-full-metadata/transactions", "8.0-row-minimal-partial-json/json",
    "8.0-row-rows-query/transactions", "8.0-mixed-full/transactions",
    "8.0-statement-full/transactions", "9-row-full/modern", "9-row-full/transactions",
)  # fmt: skip
_BLIND = ("zeros", "noise", "cut", "hole", "inserted")  # kinds that need no events to be seen
_OLD = ("bug33029-slave-relay-bin.000001", "binlog_old_version_4_1.000001")


def _bases() -> Iterator[tuple[str, Callable[[], Files]]]:
    for case in _BASES:
        yield case, partial(_files, DATA / case)
    for case in _SERIES[:3]:
        yield f"series/{case}", partial(_in_files, case)
    yield "relay", partial(_files, TESTS / "rows" / "_data" / "5.6.24-relay")
    for name in _OLD:
        yield f"corpus/{name}", partial(_old, name)


def _old(name: str) -> Files:
    return _alone(next(CORPUS.glob(f"*/{name}")))


def _makers() -> Iterator[tuple[str, Make, list[str]]]:
    """Bases by name, what makes a damaged log of a kind and a seed, and the kinds."""
    for base, files in _bases():
        yield base, partial(_made, files), list(KINDS)
    case = "8.0-row-full/transactions"
    for carrier in CARRIERS:
        yield f"packed/{carrier}", partial(_damaged_then_packed, case, carrier), list(KINDS)
        yield f"carrier/{carrier}", partial(_packed_then_damaged, case, carrier), list(_BLIND)


def _damaged(base: str, make: Make, kind: str, number: int) -> Input:
    name = f"damaged/{base}/{kind}/{number}"
    return Input(name, partial(make, kind, name), damage=number)


def _fuzzed(base: str, files: Callable[[], Files], number: int) -> Input:
    name = f"fuzzed/{base}/{number}"
    return Input(name, lambda: fuzzed(files(), name), damage=number)


def _made(files: Callable[[], Files], kind: str, seed: str) -> Files:
    return damaged(files(), kind, seed)


def _damaged_then_packed(case: str, carrier: str, kind: str, seed: str) -> Files:
    found = damaged(_files(DATA / case), kind, seed)
    return {name: CARRIERS[carrier](data) for name, data in found.items()}


def _packed_then_damaged(case: str, carrier: str, kind: str, seed: str) -> Files:
    return damaged(_packed(case, carrier), kind, seed)
