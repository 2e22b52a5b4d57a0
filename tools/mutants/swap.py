"""Put a fault into modules that are loaded already: functions get other code.

So tests are collected once, and each fault costs a fork and the tests that it is shown to.
"""

from __future__ import annotations

import gc
import warnings
from collections.abc import Iterator
from types import CodeType, FunctionType

_FUNCTION = 1  # CO_OPTIMIZED: the body of a function, not of a module or class
_Key = tuple[str, int]


def changed(path: str, source: str, code: str) -> dict[_Key, CodeType] | None:
    """The functions (qualified name, first line) that a fault changes, as they are to be.

    None if it changes what runs when the module is loaded, or lines move: such a fault must be
    loaded. Functions within functions come with those around them.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # "is" with a number
        was, becomes = (_bodies(compile(text, path, "exec")) for text in (source, code))
    if was.keys() != becomes.keys():
        return None
    other = [key for key in was if _plain(was[key]) != _plain(becomes[key])]
    if any(not was[key].co_flags & _FUNCTION for key in other):
        return None
    return {key: body for key, body in becomes.items() if body.co_flags & _FUNCTION}


def put(path: str, bodies: dict[_Key, CodeType]) -> bool:
    """Give the loaded functions of a file their code; False if one cannot take it."""
    try:
        for one in gc.get_objects():
            if type(one) is FunctionType and one.__code__.co_filename == path:
                body = bodies.get((one.__code__.co_qualname, one.__code__.co_firstlineno))
                if body is not None:
                    one.__code__ = body
    except ValueError:  # other variables of the function around it
        return False
    return True


def _bodies(code: CodeType) -> dict[_Key, CodeType]:
    return {(one.co_qualname, one.co_firstlineno): one for one in _within(code)}


def _within(code: CodeType) -> Iterator[CodeType]:
    yield code
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from _within(one)


def _plain(code: CodeType) -> tuple[object, ...]:
    """What a body does, but for the functions in it."""
    numbers = tuple(
        (type(x).__name__, repr(x)) for x in code.co_consts if not isinstance(x, CodeType)
    )
    return code.co_code, numbers, code.co_names, code.co_freevars
