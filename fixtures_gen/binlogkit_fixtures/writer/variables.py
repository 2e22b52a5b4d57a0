"""Writes INTVAR, RAND and USER_VAR (layouts: ``binlogkit.events.variables``)."""

from __future__ import annotations

from enum import IntEnum

from binlogkit.constants import EventType
from binlogkit.events.variables import Intvar, IntvarType, Rand, UserVar, UserVarType
from binlogkit_fixtures.writer.base import Target, writes
from binlogkit_fixtures.writer.packer import Packer

__all__: list[str] = []

_UNSIGNED = 1


def _code(packer: Packer, kind: type[IntEnum], name: str, field: str) -> int:
    """The number of a name; a number that has none stands as text."""
    if name in kind.__members__:
        return int(kind[name])
    if name.isdecimal():
        return int(name)
    raise packer.fail(field, f"'{name}' is not known")


@writes(Intvar, EventType.INTVAR_EVENT)
def _intvar(packer: Packer, body: Intvar, target: Target) -> None:
    packer.end_post_header()
    packer.uint(1, _code(packer, IntvarType, body.intvar_type, "intvar_type"), "intvar_type")
    packer.uint(8, body.value, "value")


@writes(Rand, EventType.RAND_EVENT)
def _rand(packer: Packer, body: Rand, target: Target) -> None:
    packer.end_post_header()
    packer.uint(8, body.seed1, "seed1")
    packer.uint(8, body.seed2, "seed2")


@writes(UserVar, EventType.USER_VAR_EVENT)
def _user_var(packer: Packer, body: UserVar, target: Target) -> None:
    packer.end_post_header()
    packer.sized(4, packer.text(body.name), "name")
    packer.flag(body.is_null, "is_null")
    if body.is_null:
        if body != UserVar(body.name, True):
            raise packer.fail("is_null", "a variable that is NULL has a name and nothing else")
        return
    if body.var_type is None or body.collation is None or body.value is None:
        raise packer.fail("value", "a variable that is not NULL has a type, a collation, a value")
    packer.uint(1, _code(packer, UserVarType, body.var_type, "var_type"), "var_type")
    packer.uint(4, body.collation, "collation")
    packer.sized(4, body.value, "value")
    if body.flags is not None:
        packer.uint(1, body.flags, "flags")
    if bool((body.flags or 0) & _UNSIGNED) is not body.unsigned:
        raise packer.fail("unsigned", "bit 0 of flags (5.5.3+) says otherwise")
