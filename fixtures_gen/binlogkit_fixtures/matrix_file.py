"""A matrix that users edit: servers, settings with their values, and the rule that makes cells.

::

    servers = ["5.7", "8.0"]
    rule = "all-pairs"

    [settings]
    gtid-mode = "ON"
    binlog-format = ["ROW", "MIXED", "STATEMENT"]
    binlog-row-image = ["full", "minimal", "noblob"]
    binlog-transaction-compression = { values = ["OFF", "ON"], servers = ["8.0"] }

    [[exclude]]
    binlog-format = "STATEMENT"
    binlog-row-image = ["minimal", "noblob"]

    [[cell]]
    name = "5.7-no-checksum"
    server = "5.7"
    binlog-checksum = "NONE"

    [[scenarios]]
    server = "8.0"
    play = ["keys", "types"]

TOML. A setting is an option of mysqld; one value is that of every cell, a list is varied, and
``servers`` says which know the option. ``all-pairs``: each pair of values (the server is one)
stands together in a cell, unless all cells with it are excluded; ``each``: each value stands in
one; ``full``: all combinations. A ``cell`` stands there by itself. ``scenarios``: what cells
that have all of these values play. The page is docs/fixtures.md.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

from binlogkit.errors import InputError, UsageError, printable
from binlogkit_fixtures import covering
from binlogkit_fixtures.matrix import FORMATS, IMAGES, Cell
from binlogkit_fixtures.scenarios import NAMES
from binlogkit_fixtures.servers.base import VERSIONS
from binlogkit_fixtures.servers.options import normalise

__all__ = ["MOST_CELLS", "RULES", "Matrix", "read_matrix"]

RULES = ("all-pairs", "each", "full")
MOST_CELLS = 1000  # what a matrix may make: more is a slip of the hand
_SERVER = "server"
_NAME, _PLAY = "name", "play"
_KEYS = {"servers", "rule", "settings", "exclude", "suffix", "cell", "scenarios"}
_OF_THE_RULE = ("rule", "settings", "exclude", "suffix")
_WITH_SERVERS = {"values", "servers"}
_LONGEST = 60  # characters of a cell's name that lists its settings
_PLAIN = re.compile(r"[a-z0-9][a-z0-9.-]*")
_UPPER = {"binlog-format": FORMATS}
_LOWER = {"binlog-row-image": IMAGES}
_Terms: TypeAlias = Mapping[str, tuple[str | None, ...]]  # the values that each parameter may have


@dataclass(frozen=True, slots=True)
class Matrix:
    """What a file says.

    ``parameters``: the server and each setting with its values, None where a server has no such
    option; ``known``: of a setting that only some servers know, those; ``excluded``: combinations
    that are not to be, by parameter; ``named``: cells that stand there one by one; ``plays``:
    scenarios, and the values of the cells that play them; ``suffix``: a word in the names of the
    rule's cells.
    """

    rule: str
    parameters: Mapping[str, tuple[str | None, ...]]
    known: Mapping[str, tuple[str, ...]]
    excluded: tuple[_Terms, ...]
    named: tuple[Cell, ...] = ()
    plays: tuple[tuple[_Terms, tuple[str, ...]], ...] = ()
    suffix: str = ""

    def refused(self, chosen: Mapping[str, str | None]) -> bool:
        """Whether a combination, whole or in part, cannot be, or is excluded."""
        server = chosen.get(_SERVER)
        if server is not None:
            for name, servers in self.known.items():
                if name in chosen and (server in servers) is (chosen[name] is None):
                    return True
        return any(
            all(name in chosen and chosen[name] in values for name, values in terms.items())
            for terms in self.excluded
        )

    def combinations(self) -> list[covering.Chosen]:
        """The settings of the rule's cells. UsageError: none, or more than MOST_CELLS."""
        if not self.parameters:
            return []
        if self.rule == "full":
            found = list(islice(covering.every(self.parameters, self.refused), MOST_CELLS + 1))
        else:
            strength = 2 if self.rule == "all-pairs" else 1
            found = covering.cover(self.parameters, strength, self.refused)
        if not found:
            raise UsageError("the matrix excludes every cell")
        if len(found) > MOST_CELLS:
            raise UsageError(f"the matrix has more than {MOST_CELLS} cells")
        return found

    def cells(self) -> list[Cell]:
        """The cells. UsageError: as of ``combinations``, or mysqld's options refuse one."""
        cells: dict[str, Cell] = {}
        for cell in (*map(self._cell, self.combinations()), *self.named):
            cell.spec()  # the options are looked at before a server starts
            if cell.name in cells:
                raise UsageError(f"two cells would be called {cell.name}")
            cells[cell.name] = replace(cell, scenarios=self._played(cell))
        return list(cells.values())

    def _played(self, cell: Cell) -> tuple[str, ...]:
        """The scenarios that the cell plays: of all entries that are true of it, in their order."""
        has = {_SERVER: cell.series, _NAME: cell.name, **cell.options}
        found = [
            name
            for terms, names in self.plays
            if all(has.get(key) in values for key, values in terms.items())
            for name in names
        ]
        return tuple(dict.fromkeys(found))

    def _cell(self, chosen: Mapping[str, str | None]) -> Cell:
        given = {name: value for name, value in chosen.items() if value is not None}
        cell = _built("", given)
        return replace(cell, name=self._name(chosen, cell.format, cell.image))

    def _name(self, chosen: Mapping[str, str | None], form: str, image: str) -> str:
        """Server, format, image, and what is not the first of its values: ``8.0-row-full``.

        Where that is long, or has odd characters, a digest of the settings stands for it.
        """
        words = [str(chosen[_SERVER]), form.lower(), image, *filter(None, [self.suffix])]
        plainest = len(words)
        for name, value in chosen.items():
            first = next(v for v in self.parameters[name] if v is not None)
            if name not in (_SERVER, *_UPPER, *_LOWER) and value not in (None, first):
                words.append(f"{name.removeprefix('binlog-')}-{value}".lower())
        plain = "-".join(words)
        if _PLAIN.fullmatch(plain) and len(plain) <= _LONGEST:
            return plain
        digest = hashlib.sha256(json.dumps(dict(chosen)).encode()).hexdigest()[:8]
        return "-".join([*words[:plainest], digest])


def read_matrix(path: Path) -> Matrix:
    """The matrix in a TOML file. InputError: unreadable, or not one; it names the place."""
    try:
        toml = tomllib.loads(path.read_text(encoding="utf-8"))
        return _matrix(toml)
    except OSError as exc:
        raise InputError(str(path), f"unreadable: {exc.strerror}") from exc
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as exc:
        raise InputError(str(path), f"not TOML: {printable(str(exc))}") from exc
    except UsageError as exc:
        raise InputError(str(path), str(exc)) from exc


def _matrix(toml: Mapping[str, Any]) -> Matrix:
    _only(toml, _KEYS, "the matrix")
    named = _named(toml.get("cell", []))
    if named and "servers" not in toml:
        if beside := [key for key in _OF_THE_RULE if key in toml]:
            raise UsageError(f"servers: wanted by {beside[0]}")
        return Matrix(RULES[0], {}, {}, (), named, _plays(toml.get("scenarios", [])))
    servers = _servers(toml.get("servers"), VERSIONS, "servers")
    rule = toml.get("rule", RULES[0])
    if rule not in RULES:
        raise UsageError(f"rule: {_shown(rule)} is none of {', '.join(RULES)}")
    parameters: dict[str, tuple[str | None, ...]] = {_SERVER: servers}
    known: dict[str, tuple[str, ...]] = {}
    for name, value in _table(toml.get("settings", {}), "settings").items():
        key, place = normalise(name), f"settings.{name}"
        if key in parameters:
            raise UsageError(f"{place}: given twice, or it is no option of mysqld")
        if isinstance(value, Mapping):
            _only(value, _WITH_SERVERS, place)
            some = _servers(value.get("servers"), servers, f"{place}.servers")
            parameters[key] = _values(key, value.get("values"), f"{place}.values")
            if set(some) != set(servers):
                known[key] = some
                parameters[key] = (*parameters[key], None)
        else:
            parameters[key] = _values(key, value, place)
    excluded = _excluded(toml.get("exclude", []), parameters)
    plays, suffix = _plays(toml.get("scenarios", [])), toml.get("suffix", "")
    if not isinstance(suffix, str) or (suffix and not _PLAIN.fullmatch(suffix)):
        raise UsageError(f"suffix: {_shown(suffix)} cannot stand in a name")
    return Matrix(rule, parameters, known, excluded, named, plays, suffix)


def _built(name: str, given: dict[str, str]) -> Cell:
    """A cell of what is given: its server, and options by their names."""
    series = given.pop(_SERVER)
    form = given.pop("binlog-format", FORMATS[0])
    image = given.pop("binlog-row-image", IMAGES[0])
    return Cell(name, series, form, image, given)


def _named(toml: Any) -> tuple[Cell, ...]:
    found = []
    for place, entry in _entries("cell", toml):
        given: dict[str, str] = {}
        for name, value in entry.items():
            if isinstance(value, list):
                raise UsageError(f"{place}.{name}: one value is wanted")
            given[normalise(name)] = _word(normalise(name), value, f"{place}.{name}")
        name = given.pop(_NAME, "")
        if not _PLAIN.fullmatch(name) or len(name) > _LONGEST:
            raise UsageError(f"{place}.name: {_shown(name)} cannot name a cell")
        _servers([given.get(_SERVER)], VERSIONS, f"{place}.server")
        found.append(_built(name, given))
    return tuple(found)


def _plays(toml: Any) -> tuple[tuple[_Terms, tuple[str, ...]], ...]:
    found = []
    for place, entry in _entries("scenarios", toml):
        terms = {normalise(k): _values(normalise(k), v, f"{place}.{k}") for k, v in entry.items()}
        names = terms.pop(_PLAY, ())
        if unknown := [name for name in names if name not in NAMES]:
            raise UsageError(f"{place}.play: there is no scenario {_shown(unknown[0])}")
        if not names:
            raise UsageError(f"{place}: play names the scenarios")
        found.append((terms, tuple(map(str, names))))
    return tuple(found)


def _entries(key: str, toml: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Each table of an array, with its place. UsageError: it is no such array."""
    if not isinstance(toml, list):
        raise UsageError(f"{key}: it is written [[{key}]]")
    for number, entry in enumerate(toml, 1):
        yield f"{key} {number}", _table(entry, f"{key} {number}")


def _excluded(toml: Any, parameters: Mapping[str, tuple[str | None, ...]]) -> tuple[_Terms, ...]:
    found = []
    for place, terms in _entries("exclude", toml):
        read: dict[str, tuple[str | None, ...]] = {}
        for name, value in terms.items():
            key = normalise(name)
            if key not in parameters:
                raise UsageError(f"{place}: {_shown(name)} is neither server nor a setting here")
            read[key] = _values(key, value, f"{place}.{name}")
            unknown = [v for v in read[key] if v not in parameters[key]]
            if unknown:
                raise UsageError(f"{place}.{name}: {_shown(unknown[0])} is no value of it here")
        if not read:
            raise UsageError(f"{place}: it names nothing, and would exclude all")
        found.append(read)
    return tuple(found)


def _values(key: str, toml: Any, place: str) -> tuple[str | None, ...]:
    """One value or a list of different ones, as mysqld's words."""
    found = [_word(key, value, place) for value in (toml if isinstance(toml, list) else [toml])]
    if not found:
        raise UsageError(f"{place}: it has no value")
    if len(set(found)) != len(found):
        raise UsageError(f"{place}: a value stands in it twice")
    return tuple(found)


def _word(key: str, value: Any, place: str) -> str:
    if isinstance(value, bool):
        return "ON" if value else "OFF"
    if not isinstance(value, str | int):
        raise UsageError(f"{place}: {_shown(value)} is neither text, a whole number nor a boolean")
    word = str(value)
    for table, cased in ((_UPPER, word.upper()), (_LOWER, word.lower())):
        if key in table:
            if cased not in table[key]:
                raise UsageError(f"{place}: {_shown(word)} is none of {', '.join(table[key])}")
            return cased
    return word


def _servers(toml: Any, among: Sequence[str], place: str) -> tuple[str, ...]:
    if not isinstance(toml, list) or not toml:
        raise UsageError(f"{place}: a list of {', '.join(among)} is wanted")
    for server in toml:
        if server not in among:
            raise UsageError(f"{place}: {_shown(server)} is none of {', '.join(among)}")
    if len(set(toml)) != len(toml):
        raise UsageError(f"{place}: a server stands in it twice")
    return tuple(toml)


def _table(toml: Any, place: str) -> Mapping[str, Any]:
    if not isinstance(toml, Mapping):
        raise UsageError(f"{place}: a table is wanted")
    return toml


def _only(toml: Mapping[str, Any], keys: set[str], place: str) -> None:
    unknown = sorted(toml.keys() - keys)
    if unknown:
        raise UsageError(f"{place}: there is no {_shown(unknown[0])}; {', '.join(sorted(keys))}")


def _shown(value: Any) -> str:
    return f"'{printable(str(value)[:60])}'"
