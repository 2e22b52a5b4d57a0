"""Options: rendering, and what is refused."""

from __future__ import annotations

import pytest

from binlogkit.errors import UsageError
from binlogkit_fixtures.servers.options import RESERVED, arguments, normalise, render


def test_defaults_make_a_log_of_server_1() -> None:
    words = arguments({})
    assert {"--log-bin=binlog", "--server-id=1", "--skip-name-resolve"} <= set(words)
    assert "--performance-schema=OFF" in words


@pytest.mark.parametrize("name", ["server-id", "server_id", "SERVER_ID", "loose-server-id"])
def test_a_given_option_replaces_the_default_however_it_is_spelt(name: str) -> None:
    words = arguments({name: "7"})
    assert [word for word in words if normalise(word[2:].split("=")[0]) == "server-id"] == [
        f"--{name}=7"
    ]


def test_an_option_without_a_value() -> None:
    assert "--log-slave-updates" in arguments({"log-slave-updates": None})


def test_a_value_is_one_argument_whatever_it_holds() -> None:
    assert "--init-connect=SET NAMES 'x'; --port=1" in arguments(
        {"init-connect": "SET NAMES 'x'; --port=1"}
    )


def test_server_uuid_is_kept_but_is_no_argument() -> None:
    uuid = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
    assert render({"server-uuid": uuid})["server-uuid"] == uuid
    assert not any("uuid" in word for word in arguments({"server_uuid": uuid}))


@pytest.mark.parametrize("name", sorted(RESERVED))
def test_the_runner_sets_reserved_options(name: str) -> None:
    with pytest.raises(UsageError, match="set by the runner"):
        render({name.replace("-", "_"): "x"})


@pytest.mark.parametrize(
    "options",
    [
        {"--server-id": "1"},
        {"server id": "1"},
        {"": None},
        {"server-id": "1\n2"},
        {"server-id": "1", "server_id": "2"},
        {"log-bin": "/tmp/binlog"},
        {"log-bin": "../binlog"},
        {"log-bin": None},
        {"server-uuid": "not a uuid"},
        {"server-uuid": None},
    ],
)
def test_refused_options(options: dict[str, str | None]) -> None:
    with pytest.raises(UsageError):
        render(options)
