"""Matrices that users write: what cells they make, and what is refused with its place."""

from __future__ import annotations

import re
from itertools import combinations, product
from pathlib import Path

import pytest

from binlogkit.errors import InputError, UsageError
from binlogkit_fixtures.matrix_file import Matrix, read_matrix
from binlogkit_fixtures.servers.base import VERSIONS

WHOLE = """\
servers = ["5.6", "5.7", "8.0", "8.4", "9"]
rule = "all-pairs"

[settings]
binlog_format = ["row", "MIXED", "STATEMENT"]
binlog-row-image = ["full", "minimal"]
binlog-checksum = ["CRC32", "NONE"]
gtid-mode = true
max-allowed-packet = 33554432
binlog-transaction-compression = { values = ["OFF", "ON"], servers = ["8.0", "8.4", "9"] }
log-bin-use-v1-row-events = { values = [0, 1], servers = ["5.6", "5.7"] }

[[exclude]]
binlog-format = "STATEMENT"
binlog-row-image = "minimal"

[[exclude]]
server = ["5.6"]
binlog-checksum = "NONE"
"""


def matrix(folder: Path, text: str) -> Matrix:
    path = folder / "matrix.toml"
    path.write_text(text, "utf-8")
    return read_matrix(path)


def test_each_pair_that_can_be_stands_in_a_cell(tmp_path: Path) -> None:
    found = matrix(tmp_path, WHOLE).combinations()
    new = {"8.0", "8.4", "9"}

    def allowed(row: dict[str, str | None]) -> bool:
        """The file's own words, said once more."""
        return (
            not (row["binlog-format"] == "STATEMENT" and row["binlog-row-image"] == "minimal")
            and not (row["server"] == "5.6" and row["binlog-checksum"] == "NONE")
            and (row["server"] in new) == (row["binlog-transaction-compression"] is not None)
            and (row["server"] not in new) == (row["log-bin-use-v1-row-events"] is not None)
        )

    values: dict[str, list[str | None]] = {
        "server": [*VERSIONS],
        "binlog-format": ["ROW", "MIXED", "STATEMENT"],
        "binlog-row-image": ["full", "minimal"],
        "binlog-checksum": ["CRC32", "NONE"],
        "gtid-mode": ["ON"],
        "max-allowed-packet": ["33554432"],
        "binlog-transaction-compression": ["OFF", "ON", None],
        "log-bin-use-v1-row-events": ["0", "1", None],
    }
    rows = [dict(zip(values, chosen, strict=True)) for chosen in product(*values.values())]
    wanted = {pair for row in rows if allowed(row) for pair in combinations(row.items(), 2)}
    assert {pair for row in found for pair in combinations(row.items(), 2)} == wanted
    assert all(allowed(row) for row in found)
    assert len(found) < 30


def test_cells_are_servers(tmp_path: Path) -> None:
    cells = matrix(tmp_path, WHOLE).cells()
    names = [cell.name for cell in cells]
    assert len(set(names)) == len(names)
    assert names == [cell.name for cell in matrix(tmp_path, WHOLE).cells()]
    assert {cell.series for cell in cells} == set(VERSIONS)
    for cell in cells:
        options = cell.options
        assert options["binlog-format"] == cell.format
        assert options["binlog-row-image"] == cell.image
        assert options["gtid-mode"] == "ON"
        assert options["max-allowed-packet"] == "33554432"
        assert ("binlog-transaction-compression" in options) is (cell.series >= "8")
        assert cell.spec().version == cell.series
        assert cell.facts((8, 0, 0))["binlog-checksum"] == options["binlog-checksum"]


def test_the_other_rules(tmp_path: Path) -> None:
    three = WHOLE.replace('"8.0", "8.4", "9"', '"8.0"')
    full = matrix(tmp_path, three.replace("all-pairs", "full"))
    each = matrix(tmp_path, three.replace("all-pairs", "each"))
    # 5.7 and 8.0: formats with images 5, checksums 2, of one setting 2; 5.6 has one checksum.
    assert len(full.combinations()) == 5 * 2 * 2 * 2 + 5 * 2
    seen = {item for row in each.combinations() for item in row.items()}
    assert seen == {item for row in full.combinations() for item in row.items()}
    assert len(each.combinations()) <= 5


def test_names_say_what_is_not_usual(tmp_path: Path) -> None:
    text = 'servers = ["9"]\nrule = "full"\n[settings]\nbinlog-checksum = ["CRC32", "NONE"]\n'
    assert [c.name for c in matrix(tmp_path, text).cells()] == [
        "9-row-full",
        "9-row-full-checksum-none",
    ]
    text += 'sql-mode = ["", "ANSI,STRICT_ALL_TABLES"]\n'
    odd = matrix(tmp_path, text).cells()[-1]
    assert re.fullmatch(r"9-row-full-[0-9a-f]{8}", odd.name)
    assert odd.options["sql-mode"] == "ANSI,STRICT_ALL_TABLES"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("servers = [", "not TOML"),
        ("", "servers: a list of"),
        ("servers = []", "servers: a list of"),
        ('servers = ["3.23"]', "servers: '3.23' is none of 5.6"),
        ('servers = ["9", "9"]', "a server stands in it twice"),
        ('servers = ["9"]\nrule = "some"', "rule: 'some' is none of all-pairs, each, full"),
        ('servers = ["9"]\ncolour = 1', "there is no 'colour'"),
        ('servers = ["9"]\nsettings = 1', "settings: a table is wanted"),
        ('servers = ["9"]\n[settings]\na = []', "settings.a: it has no value"),
        ('servers = ["9"]\n[settings]\na = [1, "1"]', "a value stands in it twice"),
        ('servers = ["9"]\n[settings]\na = 1.5', "settings.a: '1.5' is neither text"),
        ('servers = ["9"]\n[settings]\na-b = 1\na_b = 2', "settings.a_b: given twice"),
        ('servers = ["9"]\n[settings]\nserver = 1', "settings.server: given twice, or"),
        ('servers = ["9"]\n[settings]\nbinlog-format = "RAW"', "'RAW' is none of ROW"),
        ('servers = ["9"]\n[settings]\na = {values = 1}', "settings.a.servers: a list"),
        ('servers = ["9"]\n[settings]\na = {values = 1, servers = ["8.0"]}', "'8.0' is none of 9"),
        ('servers = ["9"]\nexclude = 1', "it is written [[exclude]]"),
        ('servers = ["9"]\n[[exclude]]', "exclude 1: it names nothing"),
        ('servers = ["9"]\n[[exclude]]\na = 1', "'a' is neither server nor a setting"),
        ('servers = ["9"]\n[[exclude]]\nserver = "8.0"', "'8.0' is no value of it here"),
        ('servers = ["9"]\nsuffix = "a/b"', "suffix: 'a/b' cannot stand in a name"),
        ('[[cell]]\nserver = "9"', "cell 1.name: '' cannot name a cell"),
        ('[[cell]]\nserver = "9"\nname = "../a"', "cell 1.name: '../a' cannot name a cell"),
        ('[[cell]]\nname = "a"', "cell 1.server: 'None' is none of"),
        ('[[cell]]\nname = "a"\nserver = "9"\nb = [1, 2]', "cell 1.b: one value is wanted"),
        ('rule = "each"\n[[cell]]\nname = "a"\nserver = "9"', "servers: wanted by rule"),
        ('servers = ["9"]\n[[scenarios]]\nserver = "9"', "scenarios 1: play names the scenarios"),
        ('servers = ["9"]\n[[scenarios]]\nplay = "x"', "there is no scenario 'x'"),
        ('servers = ["9"]\nscenarios = "keys"', "scenarios: it is written [[scenarios]]"),
    ],
)
def test_what_is_no_matrix(text: str, complaint: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        matrix(tmp_path, text)
    assert complaint in str(caught.value)
    assert str(tmp_path / "matrix.toml") in str(caught.value)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('servers = ["9"]\n[[exclude]]\nserver = "9"', "excludes every cell"),
        ('servers = ["9"]\n[settings]\nport = 3306', "option port is set by the runner"),
        ('servers = ["9"]\n[settings]\n"../x" = 1', "not the name of a mysqld option"),
        (
            'servers = ["9"]\nrule = "full"\n[settings]\n'
            + "".join(f"a{n} = [1, 2]\n" for n in range(10)),
            "more than 1000 cells",
        ),
        ('servers = ["9"]\nrule = "full"\n[settings]\na = ["x", "on", "ON"]', "two cells would"),
        ('servers = ["9"]\n[[cell]]\nname = "9-row-full"\nserver = "9"', "two cells would"),
    ],
)
def test_what_makes_no_cells(text: str, complaint: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=complaint):
        matrix(tmp_path, text).cells()


NAMED = """\
servers = ["5.7", "8.0"]
suffix = "mine"

[settings]
binlog-format = ["ROW", "MIXED"]

[[cell]]
name = "8.0-caches"
server = "8.0"
binlog_cache_size = 4096
binlog-row-image = "MINIMAL"

[[scenarios]]
server = "8.0"
play = ["keys", "types"]

[[scenarios]]
binlog-cache-size = [4096, 8192]
play = ["json", "keys"]

[[scenarios]]
name = "5.7-row-full-mine"
play = "ddl"
"""


def test_cells_that_are_named_stand_beside_the_rules(tmp_path: Path) -> None:
    cells = {cell.name: cell for cell in matrix(tmp_path, NAMED).cells()}
    assert list(cells) == [
        "5.7-row-full-mine", "5.7-mixed-full-mine", "8.0-row-full-mine", "8.0-mixed-full-mine",
        "8.0-caches",
    ]  # fmt: skip
    named = cells["8.0-caches"]
    assert (named.series, named.format, named.image) == ("8.0", "ROW", "minimal")
    assert named.settings == {"binlog-cache-size": "4096"}


def test_cells_play_what_every_entry_says_that_is_true_of_them(tmp_path: Path) -> None:
    played = {cell.name: cell.scenarios for cell in matrix(tmp_path, NAMED).cells()}
    assert played == {
        "5.7-row-full-mine": ("ddl",),
        "5.7-mixed-full-mine": (),
        "8.0-row-full-mine": ("keys", "types"),
        "8.0-mixed-full-mine": ("keys", "types"),
        "8.0-caches": ("keys", "types", "json"),
    }


def test_a_matrix_may_have_named_cells_alone(tmp_path: Path) -> None:
    text = '[[cell]]\nname = "a"\nserver = "9"\n'
    assert [cell.name for cell in matrix(tmp_path, text).cells()] == ["a"]


def test_an_unreadable_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="unreadable"):
        read_matrix(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b"# \xff\n")
    with pytest.raises(InputError, match="not TOML"):
        read_matrix(tmp_path / "latin.toml")
