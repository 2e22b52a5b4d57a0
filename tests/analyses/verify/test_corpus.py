"""Every golden log is well, and of every log of the corpus exactly what is known of it is found."""

from __future__ import annotations

from pathlib import Path

import pytest

import binlogkit as bk

ROOT = Path(__file__).parents[3]
CORPUS = ROOT.parent / "shared" / "corpus"

_OPEN = [("note", "not_closed")]
_LIVE = [("note", "in_use"), ("note", "not_closed")]
_LATER = [("note", "begins_later")]
_PLAIN = [("note", "no_checksums")]
_RELAY = [("note", "no_checksums"), ("note", "relay_log")]
EXPECTED: dict[str, list[tuple[str, str]]] = {
    # A transaction's XID event was written with another transaction's number and not sealed anew.
    "Shannon-Data+ShannonBase/duplicate_xid.000001": [
        ("note", "in_use"),
        ("damage", "bad_checksum"),
        ("damage", "missing_events"),
        ("note", "not_closed"),
    ],
    # An XA PREPARE cut out of its log: what it prepares was left there.
    "Shannon-Data+ShannonBase/orphan_xa_prepare.000001": [
        ("note", "in_use"),
        ("warning", "position_mismatch"),
        ("warning", "no_begin"),
        ("warning", "length_mismatch"),
        ("note", "not_closed"),
        ("note", "xa_unresolved"),
    ],
    # The last statement's body was overwritten with a piece of another; no checksum tells.
    "blackbeam+rust_mysql_common/corrupt-relay-bin.000624": [
        ("damage", "malformed_event"),
        ("damage", "missing_events"),
        *_RELAY,
        ("note", "time_goes_back"),
    ],
    # BEGIN is its last event.
    "raschdiaz+mysql-4.1.21/trunc_binlog.000001": [
        ("warning", "unfinished_transaction"),
        *_OPEN,
        *_PLAIN,
    ],
    "blackbeam+rust_mysql_common/binlog_transaction_with_GTID_TAG.000001": _LATER,
    "blackbeam+rust_mysql_common/bug33029-slave-relay-bin.000001": _RELAY,
    "blackbeam+rust_mysql_common/json-opaque.binlog": [*_LIVE, ("note", "time_goes_back")],
    "blackbeam+rust_mysql_common/json.binlog.000001": _LIVE,
    "blackbeam+rust_mysql_common/mariadb-bin.000001": [
        *_LIVE,
        ("note", "foreign_log"),
        *[("note", "unknown_event")] * 4,
    ],
    "blackbeam+rust_mysql_common/transaction_compression.000001": _LATER,
    "blackbeam+rust_mysql_common/update-partial-row.binlog": _PLAIN,
    "blackbeam+rust_mysql_common/ver_5_1-wl2325_s.001": [
        ("note", "cache_positions"),
        *_PLAIN,
    ],
    "blackbeam+rust_mysql_common/ver_5_1_23.001": _PLAIN,
    "ottok+mariadb-10.3/mdev-4645-binlog_group_id.binlog": [*_OPEN, *_PLAIN],
    "rust-us+mysql-cdc-rs/17_18_load__log.bin": [],
    "stoneatom+stonedb/binlog_old_version_4_1.000001": [*_OPEN, *_PLAIN],
}


@pytest.fixture(scope="module", autouse=True)
def corpus() -> None:
    if not CORPUS.is_dir():
        pytest.skip(f"no corpus in {CORPUS}")


@pytest.mark.parametrize("name", EXPECTED)
def test_what_is_known_of_a_log_of_the_corpus_is_found(name: str) -> None:
    found = bk.verify(str(CORPUS / name), rows=True)
    assert [(str(f.grade), f.code) for f in found.findings] == EXPECTED[name]
    assert found.well == all(grade == "note" for grade, _ in EXPECTED[name])


def test_every_log_of_the_corpus_is_listed() -> None:
    there = {str(path.relative_to(CORPUS)) for path in CORPUS.glob("*/*") if path.is_file()}
    assert there == set(EXPECTED)


def test_where_the_known_damage_is() -> None:
    names = [name for name, found in EXPECTED.items() if ("damage", "missing_events") in found]
    places = {
        name.rsplit("/", 1)[-1]: (f.place.pos, f.place.end_pos, f.place.type)
        for name in names
        for f in bk.verify(str(CORPUS / name)).findings
        if f.code in ("bad_checksum", "malformed_event")
    }
    assert places == {
        "duplicate_xid.000001": (672, 703, "XID_EVENT"),
        "corrupt-relay-bin.000624": (91204, 91375, "QUERY_EVENT"),
    }
