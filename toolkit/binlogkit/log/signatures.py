"""Signatures that name the keywords of ``**``, for ``help()``, IPython and editors' tooltips.

Type checkers know them by ``Unpack``; :func:`inspect.signature` does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from inspect import Parameter, Signature, signature
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])


def keywords_of(function: Callable[..., Any]) -> list[Parameter]:
    """The parameters of a function that can be given by name only."""
    given = signature(function).parameters.values()
    return [one for one in given if one.kind is Parameter.KEYWORD_ONLY]


def names(keywords: type | Iterable[Parameter]) -> Callable[[_Function], _Function]:
    """Decorates a function that takes these keywords as ``**``: of a TypedDict, all of which may be
    left out, or of another function. Its signature names them."""
    if isinstance(keywords, type):
        keywords = [
            _shown(name, kind.__forward_arg__) for name, kind in keywords.__annotations__.items()
        ]
    shown = list(keywords)

    def decorate(function: _Function) -> _Function:
        own = signature(function)
        kept = [one for one in own.parameters.values() if one.kind is not Parameter.VAR_KEYWORD]
        more = [one for one in shown if one.name not in own.parameters]
        function.__signature__ = Signature(  # type: ignore[attr-defined]
            [*kept, *more], return_annotation=own.return_annotation
        )
        return function

    return decorate


def _shown(name: str, kind: str) -> Parameter:
    """An optional keyword; its default is shown only if None is allowed."""
    default = None if "None" in kind or kind.endswith(("Any", "Arg")) else ...
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def name_all(owner: type, *kinds: type) -> None:
    """Give all methods of a class that take one of these TypedDicts as ``**`` such signatures."""
    known = {f"Unpack[{kind.__name__}]": kind for kind in kinds}
    for name in dir(owner):
        method = getattr(owner, name)
        given = getattr(method, "__annotations__", {}) if callable(method) else {}
        for parameter in given.values():
            if parameter in known:
                names(known[parameter])(method)
