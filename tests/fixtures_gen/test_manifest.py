"""The manifest's file: round trip, shipped schema, names that cannot leave the folder, bombs."""

from __future__ import annotations

import json
import lzma
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from binlogkit.errors import InputError, UsageError
from binlogkit_fixtures import golden
from binlogkit_fixtures import manifest as mf
from binlogkit_fixtures.records import to_json

SHIPPED = Path(mf.__file__).with_name("manifest.schema.json")


@pytest.fixture(scope="module")
def real() -> mf.Manifest:
    """A manifest of a real capture, without most of its marks and events."""
    whole = golden.case("8.0-row-minimal", "keys").manifest
    marks = tuple(m for m in whole.marks if m.name in ("created", "inserted", "key-swapped"))
    return replace(whole, marks=marks, events=whole.events[:20])


@pytest.mark.parametrize("compress", [False, True])
def test_a_manifest_survives_its_file(real: mf.Manifest, tmp_path: Path, compress: bool) -> None:
    path = mf.write(real, tmp_path, compress=compress)
    assert path.name == ("manifest.json.xz" if compress else "manifest.json")
    assert mf.read(tmp_path) == real
    assert mf.read(path) == real


def test_the_same_manifest_gives_the_same_bytes(real: mf.Manifest, tmp_path: Path) -> None:
    first = mf.write(real, tmp_path, compress=True).read_bytes()
    assert mf.write(real, tmp_path, compress=True).read_bytes() == first


def test_the_shipped_schema_is_the_generated_one() -> None:
    assert json.loads(SHIPPED.read_text("utf-8")) == mf.schema(), (
        "the dataclasses changed: python -c "
        "'from binlogkit_fixtures import manifest; manifest.write_schema()'"
    )


def test_real_manifests_hold_to_the_schema(real: mf.Manifest) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft202012Validator(mf.schema())
    record = json.loads(json.dumps(to_json(real)))
    validator.validate(record)
    del record["marks"][0]["pos"]
    assert not validator.is_valid(record)


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "../binlog.000001", "/etc/passwd", "a/b", "a\\b", "C:x", ".hidden", "a\n",
     "a\0", "-v", "x" * 101, "binlog.000001/", "ä", "\u202egol"],
)  # fmt: skip
def test_names_cannot_leave_the_folder(name: str, real: mf.Manifest, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="does not name a file"):
        mf.file_name(name)
    for change in (_rename_log, _rename_text, _rename_scenario, _rename_cell):
        record = json.loads(json.dumps(to_json(real)))
        change(record, name)
        (tmp_path / "manifest.json").write_text(json.dumps(record), "utf-8")
        with pytest.raises(InputError, match="does not name a file"):
            mf.read(tmp_path)


def _rename_log(record: Any, name: str) -> None:
    record["binlogs"][0]["name"] = name


def _rename_text(record: Any, name: str) -> None:
    record["texts"][0]["name"] = name


def _rename_scenario(record: Any, name: str) -> None:
    record["scenario"] = name


def _rename_cell(record: Any, name: str) -> None:
    record["cell"] = name


def test_names_cannot_collide_by_case(real: mf.Manifest) -> None:
    twice = (real.binlogs[0], replace(real.binlogs[0], name=real.binlogs[0].name.upper()))
    with pytest.raises(ValueError, match="differ in case"):
        replace(real, binlogs=twice)


def test_another_format_version_is_refused(real: mf.Manifest) -> None:
    with pytest.raises(ValueError, match="format version 2"):
        replace(real, format_version=2)


@pytest.mark.parametrize(
    "data",
    [b"", b"{}", b"[]", b"\xff\xfe", b'{"format_version": 1', b"[" * 100_000, b'{"a": 1e999}'],
)
def test_what_is_no_manifest_is_refused(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_bytes(data)
    with pytest.raises(InputError, match="not a fixture manifest"):
        mf.read(tmp_path)


def test_a_folder_without_one_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no manifest\.json"):
        mf.read(tmp_path)


@pytest.mark.parametrize("data", [b"", b"not xz", lzma.compress(b"x" * 100)[:-20]])
def test_a_packed_file_that_is_damaged_is_refused(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "manifest.json.xz"
    path.write_bytes(data)
    with pytest.raises(InputError, match="unreadable"):
        mf.read(path)


def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mf, "MAX_TEXT", 1 << 16)
    path = mf.write_packed(tmp_path / "manifest.json.xz", b" " * ((1 << 16) + 1))
    with pytest.raises(InputError, match="more than 65536 bytes"):
        mf.read(path)


def test_marks_are_found_by_name(real: mf.Manifest) -> None:
    assert real.mark("key-swapped").name == "key-swapped"
    with pytest.raises(UsageError, match="has no mark 'nowhere'; it has created, inserted"):
        real.mark("nowhere")


def test_rows_have_their_names(real: mf.Manifest) -> None:
    table = real.mark("inserted").tables["keyed.unique_two"]
    assert table.records()[0] == {"a": 1, "b": 1, "c": 1, "val": 10}
    assert table.primary_key == ()


def test_nothing_of_the_machine_stands_in_a_manifest() -> None:
    for case in golden.cases(scenario="statements"):
        text = json.dumps(to_json(case.manifest))
        for word in ("/tmp", "/var/", "/root", "/home", "password' AS", "localhost:"):
            assert word not in text, f"{case}: {word}"
