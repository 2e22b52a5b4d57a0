"""Option files as the manual describes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from binlogkit.errors import InputError, UsageError
from binlogkit.sources.option_file import read_option_file


def written(folder: Path, text: str, name: str = "my.cnf") -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("password=secret", "secret"),
        ("  password =  two words  ", "two words"),
        ("password='a#b;c'", "a#b;c"),
        ('password="it\'s" # a comment', "it's"),
        ("password=a # a comment", "a"),
        ("password=a;b", "a;b"),
        ("password='  kept  '", "  kept  "),
        (r"password='\s\t\\n'", " \t\\n"),
        (r"password=C:\\new\dir", "C:\\new\\dir"),
        ("password", ""),
        ("password=", ""),
        ("password=a=b", "a=b"),
        ("password='", "'"),
        ("loose_password=x", "x"),
        ("password=pä55", "pä55"),
    ],
)
def test_values(tmp_path: Path, line: str, value: str) -> None:
    assert read_option_file(written(tmp_path, f"[client]\n{line}\n")) == {"password": value}


def test_groups_and_order(tmp_path: Path) -> None:
    """Other programs' groups say nothing; our own wins; a later line wins."""
    text = """
    # a comment
    ; another
    [mysqld]
    port = 1
    [binlogkit]
    user = ours
    [client]
    port = 2
    port = 3
    user = all
    ssl_mode = REQUIRED
    """
    found = read_option_file(written(tmp_path, text))
    assert found == {"port": "3", "user": "ours", "ssl-mode": "REQUIRED"}


def test_files_include_others(tmp_path: Path) -> None:
    folder = tmp_path / "conf.d"
    folder.mkdir()
    written(folder, "[client]\nuser=b\nport=2\n", "b.cnf")
    written(folder, "[client]\nuser=a\n", "a.cnf")
    written(folder, "[client]\nuser=no\n", "c.txt")
    one = written(tmp_path, "[client]\nhost=h\n", "one.cnf")
    text = f"!include {one}\n!includedir {folder}\n[client]\nport=9\n"
    found = read_option_file(written(tmp_path, text))
    assert found == {"host": "h", "user": "b", "port": "9"}
    circle = tmp_path / "circle.cnf"
    circle.write_text(f"!include {circle}\n")
    with pytest.raises(UsageError, match="too deeply"):
        read_option_file(str(circle))


@pytest.mark.parametrize("text", ["user=root\n", "[client]\n!nonsense x\n"])
def test_what_is_no_option_file(tmp_path: Path, text: str) -> None:
    with pytest.raises(UsageError):
        read_option_file(written(tmp_path, text))


def test_an_error_names_its_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="line 3: an option before any"):
        read_option_file(written(tmp_path, "# a comment\n\nport = 1\n"))


def test_who_may_write_to_it(tmp_path: Path) -> None:
    path = written(tmp_path, "[client]\npassword=x\n")
    Path(path).chmod(0o666)
    with pytest.raises(UsageError, match="anybody may write"):
        read_option_file(path)
    with pytest.raises(InputError, match="cannot be read"):
        read_option_file(str(tmp_path / "nowhere"))
    with pytest.raises(InputError, match="cannot be read"):
        read_option_file(str(tmp_path))
    with pytest.raises(InputError, match="too large"):
        read_option_file(written(tmp_path, "#" * (1 << 20) + "\n", "big.cnf"))
