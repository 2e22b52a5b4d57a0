"""A JSON document as a tree that prints as the server does.

Nodes: dict, list, str, bool, None, and :class:`Number`, which keeps a number as the server wrote it
(``1.50`` and ``1.5`` are different DECIMALs). Values that only MySQL has (dates, opaque bytes) are
the strings that the server prints for them.
"""

from __future__ import annotations

import json

from binlogkit._kernel.json_binary import MAX_DEPTH, quote

Node = dict[str, "Node"] | list["Node"] | str | bool | None


class Number(str):
    """A number's own text."""

    __slots__ = ()


def parse(text: str) -> Node:
    """The tree of a document's text. ValueError: it is no JSON, or nested too deep to read."""
    try:
        tree: Node = json.loads(text, parse_int=Number, parse_float=Number, parse_constant=no_json)
    except RecursionError as exc:
        raise ValueError("nested too deep to read") from exc
    return tree


def tree_text(node: Node, depth: int = MAX_DEPTH) -> str:
    """The server's text of a tree: keys in order of their length in bytes, then of their bytes.

    ValueError: more than ``depth`` containers in each other.
    """
    if isinstance(node, (dict, list)) and not depth:
        raise ValueError("nested too deep to print")
    if isinstance(node, dict):
        members = sorted(node.items(), key=_key_order)
        return "{" + ", ".join(f"{quote(k)}: {tree_text(v, depth - 1)}" for k, v in members) + "}"
    if isinstance(node, list):
        return "[" + ", ".join(tree_text(item, depth - 1) for item in node) + "]"
    if isinstance(node, Number):
        return str(node)
    if isinstance(node, str):
        return quote(node)
    return {None: "null", True: "true", False: "false"}[node]


def _key_order(member: tuple[str, Node]) -> tuple[int, bytes]:
    raw = member[0].encode("utf-8", "surrogatepass")
    return len(raw), raw


def no_json(name: str) -> Node:
    """NaN and the infinities are no JSON. ValueError."""
    raise ValueError(f"{name} is no JSON")
