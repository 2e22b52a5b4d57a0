"""Where columns stand, as an index keeps it: what the logs say, whatever became of the file."""

from __future__ import annotations

from pathlib import Path

import binlogkit as bk
from binlogkit.log.index.joined import Joined
from binlogkit.log.index.kept import Index
from binlogkit.log.index.places import kept_places, places_of
from binlogkit_fixtures import golden

KEYS = golden.case("8.0-row-full", "keys").binlogs
DDL = golden.case("8.0-row-full", "ddl").binlogs


def test_places_are_kept_until_the_index_changes(tmp_path: Path) -> None:
    folder, file = tmp_path / "index", tmp_path / "index" / "columns.json"
    for logs in (KEYS, [*KEYS, *DDL]):
        bk.index([*map(str, logs)], folder)
        said = places_of(Joined(Index(folder).besides(())).schemas)
        assert kept_places(Index(folder)) == said and said
        text = file.read_text()
        assert kept_places(Index(folder)) == said  # from the file
        assert file.read_text() == text
    assert ("evolve", "item") in said
    for broken in ("", "{}", '{"mark": 1}', text.replace('"tables": [', '"tables": [1, ')):
        file.write_text(broken)
        assert kept_places(Index(folder)) == said
        assert file.read_text() == text
    assert {path.suffix for path in folder.iterdir() if path.is_file()} == {".json", ".lock"}


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    bk.index([*map(str, KEYS)], tmp_path)
    (tmp_path / "columns.json").mkdir()
    assert kept_places(Index(tmp_path)) == places_of(Joined(Index(tmp_path).besides(())).schemas)
