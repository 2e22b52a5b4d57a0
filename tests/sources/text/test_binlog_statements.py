"""Events in base64: real output of mysqlbinlog, documents, what people paste, what is cut."""

from __future__ import annotations

import base64
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

import binlogkit as bk
from binlogkit.errors import DamageError, NotABinlogError
from tests.sources.carried import DATA, KEYS, events, rows

ROOT = Path(__file__).parents[3]
SHARED = ROOT.parent / "shared"
VECTORS = SHARED / "corpus" / "vectors.json"
ARTICLE = Path(__file__).parent / "_data" / "article.txt"

LOG = KEYS.read_bytes()
PREVIOUS_GTIDS, GTID = LOG[126:157], LOG[157:234]
BASE64 = base64.b64encode(PREVIOUS_GTIDS).decode()
PLACES = [(126, 157)]


def places(source: str | bytes, **options: Any) -> list[tuple[object, object]]:
    data = source.encode() if isinstance(source, str) else source
    return [(e["pos"], e["end_pos"]) for e in events(data, **options)]


FORMS = {
    "a statement": f"BINLOG '\n{BASE64}\n'/*!*/;",
    "on one line": f"BINLOG '{BASE64}';",
    "carriage returns": f"BINLOG '\r\n{BASE64[:20]}\r\n{BASE64[20:]}\r\n'/*!*/;\r\n",
    "double quotes": f'binlog "{BASE64}"',
    "typographic quotes": f"BINLOG ‘{BASE64}’",
    "HTML": f"<pre>BINLOG &#39;\n{BASE64}\n&#39;</pre>",
    "inside a quoted text": rf"'BINLOG \'\n{BASE64}\n\';'",
    "JSON": json.dumps({"sql": f"BINLOG '\n{BASE64}\n'/*!*/;"}),
    "quoted in a letter": f"> BINLOG '\n> {BASE64[:20]}\n> {BASE64[20:]}\n> '/*!*/;",
    "a comment": f"# BINLOG '\n# {BASE64}\n# ';",
    "a break behind the word": f"BINLOG\n'{BASE64}'",
    "without padding": f"BINLOG '{BASE64.rstrip('=')}'",
    "amid SQL": f"insert into t values('BINLOG');\nBINLOG '\n{BASE64}\n';\nselect 1;",
    "bare": BASE64,
    "bare, amid prose": f"The event (see below) is\n\n{BASE64}\n\nand nothing else.",
    "bare, twice the same": f"{BASE64}\nx := `{BASE64}`",
    "bare, broken into lines": f"{BASE64[:28]}\n{BASE64[28:]}\n",
}


@pytest.mark.parametrize("form", FORMS)
def test_forms(form: str) -> None:
    assert places(FORMS[form]) == PLACES


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_encodings(encoding: str) -> None:
    """PowerShell's ``>`` writes UTF-16, Notepad a mark before UTF-8."""
    assert places(FORMS["carriage returns"].encode(encoding)) == PLACES


def test_several_statements_and_events() -> None:
    both = base64.b64encode(PREVIOUS_GTIDS + GTID).decode()
    own = f"{BASE64}\n{base64.b64encode(GTID).decode()}"
    for inside in (both, own):
        assert places(f"BINLOG '\n{inside}\n';") == [(126, 157), (157, 234)]
    text = "".join(f"BINLOG '\n{part}\n';\n" for part in own.split("\n"))
    assert places(text) == [(126, 157), (157, 234)]


@pytest.mark.parametrize("padding", [0, 1, 200, 1 << 18, (1 << 18) + 7])
def test_any_amount_of_text_around(padding: int) -> None:
    """A statement that crosses the border of what is read at a time is found all the same."""
    for shift in range(0, 60, 7):
        filling = "-- x\n" * (padding // 5) + "-" * shift
        text = f"{filling}\nBINLOG '\n{BASE64}\n'/*!*/;\n{filling}"
        assert places(text) == PLACES


DAMAGE = [
    (f"BINLOG '{BASE64[:-6]}'", 8 + 38, "line 1, column 47 of the text: .* 28 bytes into a"),
    (f"BINLOG '{BASE64[:-6]}", 8 + 38, "28 bytes into a PREVIOUS_GTIDS_LOG_EVENT of 31"),
    (f"BINLOG '\n{BASE64[:10]}?{BASE64[10:]}\n'", 19, "line 2, column 11 .*: '\\?' is no base64"),
    (f"BINLOG '\n{'/' * 40}\n'", 9, "no event begins with the bytes ff ff"),
    (f"BINLOG '\n{BASE64}\n", 54, "the text ends inside a BINLOG statement"),
    (f"see {BASE64[:-8]} there", 40, "27 bytes into a PREVIOUS_GTIDS_LOG_EVENT of 31"),
]


@pytest.mark.parametrize(("text", "offset", "reason"), DAMAGE)
def test_damage_is_told_with_its_place_in_the_text(text: str, offset: int, reason: str) -> None:
    with pytest.raises(DamageError, match=reason) as caught:
        places(text)
    assert caught.value.offset == offset


@pytest.mark.parametrize("broken", [f"{BASE64[:12]}!{BASE64[12:]}", BASE64[:-8] + "=="])
@pytest.mark.parametrize("joint", ["\n", "\n';\nBINLOG '\n"])
def test_reading_goes_on_behind_damage(broken: str, joint: str) -> None:
    text = f"BINLOG '\n{broken}{joint}{base64.b64encode(GTID).decode()}\n';"
    log = bk.open(text.encode(), on_damage="report")
    assert [e["pos"] for e in log.event_records()] == [157]
    assert len(log.damages) == 1


def test_a_wrong_checksum() -> None:
    wrong = bytearray(PREVIOUS_GTIDS)
    wrong[20] ^= 1
    text = "".join(f"BINLOG '{base64.b64encode(e).decode()}';\n" for e in (bytes(wrong), GTID))
    with pytest.raises(bk.errors.ChecksumError, match="at 126 in field checksum"):
        places(text)
    log = bk.open(text.encode(), on_damage="report")
    assert [e["checksum"] for e in log.event_records()] == ["bad", "ok"]


@pytest.mark.parametrize(
    "text",
    [
        "hello world\n" * 50,
        "How to use BINLOG 'base64 text' to replay events.",
        "YW55IG9sZCBiYXNlNjQgdGhhdCBpcyBubyBldmVudCBhdCBhbGwsIHJlYWxseQ==",
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  empty",
    ],
)
def test_other_text_is_no_binlog(text: str) -> None:
    with pytest.raises(NotABinlogError, match="a text without BINLOG statements"):
        places(text)


def test_decoded_text_of_mysqlbinlog_is_called_so() -> None:
    text = "DELIMITER /*!*/;\n# at 4\n### INSERT INTO `a`.`b`\n### SET\n###   @1=1\n"
    with pytest.raises(NotABinlogError, match="--base64-output=decode-rows"):
        places(text)


def _vectors() -> list[dict[str, Any]]:
    if not VECTORS.is_file():
        return []
    return [v for v in json.loads(VECTORS.read_text("utf-8")) if v["kind"] == "binlog_statement"]


def test_the_vectors_are_there() -> None:
    if not VECTORS.is_file():
        pytest.skip("the corpus is not beside this tree")
    assert len(_vectors()) == 13


@pytest.mark.parametrize("form", ["statement", "bytes", "hex", "bare base64"])
@pytest.mark.parametrize("vector", _vectors(), ids=lambda v: v["source"] + v["name"])
def test_vectors(vector: dict[str, Any], form: str) -> None:
    data = bytes.fromhex(vector["hex"])
    source = {
        "statement": b"BINLOG '\n" + base64.encodebytes(data) + b"'/*!*/;",
        "bytes": data,
        "hex": data.hex(" ").encode(),
        "bare base64": base64.encodebytes(data),
    }[form]
    log = bk.open(source)
    found = list(log.event_records())
    params = vector["params"]
    assert [e["code"] for e in found] == params["event_types"]
    assert {e["checksum"] for e in found} == {"ok" if params["checksum"] == "CRC32" else "none"}
    assert all(e["end_pos"] == e["fields"]["log_pos"] for e in found)
    if vector["expected"] is not None:
        assert [cell for row in log.row_records() for cell in _cells(row)] == [
            (f"@{number}", text.strip("'")) for number, text in vector["expected"]["values"]
        ]


def _cells(row: dict[str, Any]) -> list[tuple[str, str]]:
    images = [row[i] for i in ("before", "after") if row[i] is not None]
    return [(name, str(value)) for image in images for name, value in image.items()]


def test_an_article_with_bare_base64() -> None:
    log = bk.open(ARTICLE)
    found = [(e["pos"], e["end_pos"], e["type"], e["checksum"]) for e in log.event_records()]
    assert found == [
        (99033, 99087, "TABLE_MAP_EVENT", "ok"),
        (99087, 99171, "UPDATE_ROWS_EVENT", "ok"),
    ]
    row = next(iter(log.row_records()))
    before = {"@1": 2, "@2": "Jerry", "@3": "Hollywood", "@4": "1940-02-10"}
    assert (row["before"], row["after"]) == (before, {**before, "@4": "1940-02-11"})


REAL = [
    "5.6-row-full/keys",
    "5.7-row-no-checksum/keys",
    "5.7-row-full/transactions",
    "8.0-row-full-metadata/transactions",
    "8.0-row-compressed/transactions",
    "8.0-row-compressed/json",
    "9-row-full/keys",
]


@pytest.mark.oracle
@pytest.mark.parametrize("verbose", [[], ["-vv"]], ids=["plain", "verbose"])
@pytest.mark.parametrize("case", REAL)
@pytest.mark.gate(3)
def test_mysqlbinlogs_output(case: str, verbose: list[str]) -> None:
    """Of each log: the events that mysqlbinlog prints so, with the same positions and fields."""
    from binlogkit_fixtures.servers.mysqlbinlog import ensure

    log = DATA / case / "binlog.000001"
    argv = [*ensure().argv, "--no-defaults", *verbose, str(log)]
    printed = subprocess.run(argv, capture_output=True, check=True).stdout
    kinds = (
        "FORMAT_DESCRIPTION",
        "TABLE_MAP",
        "WRITE_ROWS",
        "UPDATE_ROWS",
        "DELETE_ROWS",
        "PARTIAL",
    )
    expected = [e for e in events(log) if str(e["type"]).startswith(kinds)]
    found = events(printed)
    assert [_address(e) for e in found] == [_address(e) for e in expected]
    assert [_fields(e) for e in found] == [_fields(e) for e in expected]
    images = [(r["pos"], r["inner"], r["row"], r["op"]) for r in rows(log)]
    assert [(r["pos"], r["inner"], r["row"], r["op"]) for r in rows(printed)] == images


def _address(event: dict[str, object]) -> tuple[object, ...]:
    return event["pos"], event["end_pos"], event["inner"], event["type"], event["timestamp"]


def _fields(event: dict[str, Any]) -> dict[str, object]:
    return {k: v for k, v in event["fields"].items() if k != "log_pos"}
