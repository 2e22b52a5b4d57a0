"""Data types as DDL spells them -> base types.

Grammar: ``type`` in ``sql/sql_yacc.yy`` of 5.7 and 8.0 and the manual's "Data Types". Each entry
of ``_TYPES`` reads what follows its word; nothing here knows a table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from string import hexdigits

from binlogkit.rows.ddl.lexemes import Lexeme
from binlogkit.rows.ddl.session import SqlMode
from binlogkit.rows.ddl.tokens import Reader

#: Bytes that each BLOB and TEXT type holds.
TEXT_CAPACITY = {
    size + kind: (1 << 8 * width) - 1
    for width, size in enumerate(("tiny", "", "medium", "long"), 1)
    for kind in ("blob", "text")
}

_DEFAULT_VECTOR = 2048  # dimensions of VECTOR without a number (manual 9.x, "The VECTOR Type")
#: Digits of a value that ZEROFILL fills without a number (manual, "Numeric Type Attributes").
_DIGITS = {
    "tinyint": 3, "smallint": 5, "mediumint": 8, "int": 10, "bigint": 20, "float": 12, "double": 22,
}  # fmt: skip
_FLOAT_DIGITS = 24  # FLOAT(p) is DOUBLE above (manual, "Floating-Point Types")
_FRACTION_DIGITS = 6


@dataclass(frozen=True, slots=True)
class TypeSpec:
    """A data type before the table's defaults are known.

    ``length``, ``scale``: as in ColumnDefinition, but of TEXT(n) and BLOB(n) the number given.
    ``text``: whether it has a character set; ``charset``: the one that is named, ``binary_sort``:
    the attribute BINARY. ``serial``: SERIAL, which brings NOT NULL, AUTO_INCREMENT and UNIQUE.
    ``zerofill``: how many digits ZEROFILL makes of a value, 0 without it.
    """

    type: str
    length: int | None = None
    scale: int | None = None
    unsigned: bool = False
    text: bool = False
    charset: str | None = None
    binary_sort: bool = False
    labels: tuple[str | bytes, ...] = ()
    serial: bool = False
    zerofill: int = 0


_Parse = Callable[[Reader], TypeSpec]


def data_type(reader: Reader) -> TypeSpec:
    """Read a data type with its own attributes. SchemaError: no type of MySQL."""
    parse = _TYPES.get(reader.peek().word)
    if parse is None:
        reader.fail("a data type expected")
    reader.take()
    return parse(reader)


def blob_for(size: int, text: bool) -> str:
    """The smallest BLOB or TEXT type that holds ``size`` bytes (get_blob_type_from_length)."""
    kinds = [kind for kind in TEXT_CAPACITY if kind.endswith("text" if text else "blob")]
    return next((kind for kind in kinds if size <= TEXT_CAPACITY[kind]), kinds[-1])


_CHARSET_WORDS = {"ASCII": "latin1", "UNICODE": "ucs2", "BYTE": "binary"}


def _with_charset(reader: Reader, spec: TypeSpec) -> TypeSpec:
    """CHARACTER SET x, ASCII, UNICODE, BYTE and BINARY after a character type."""
    while True:
        if accept_charset(reader):
            spec = replace(spec, charset=reader.text_value())
        elif word := reader.accept_any(*_CHARSET_WORDS):
            spec = replace(spec, charset=_CHARSET_WORDS[word])
        elif reader.accept("BINARY"):
            spec = replace(spec, binary_sort=True)
        else:
            return spec


def accept_charset(reader: Reader) -> bool:
    """Move over CHARACTER SET, CHAR SET or CHARSET if it is next."""
    names = (("CHARSET",), ("CHARACTER", "SET"), ("CHAR", "SET"))
    return any(reader.accept(*name) for name in names)


def _numbers(reader: Reader, most: int = 1) -> list[int]:
    """The numbers in ``(m)`` or ``(m,d)``, none where it is not there."""
    found = []
    if reader.accept("("):
        found.append(reader.number())
        while len(found) < most and reader.accept(","):
            found.append(reader.number())
        reader.expect(")")
    return found


def _length(reader: Reader) -> int | None:
    """``(n)`` if it is there."""
    return next(iter(_numbers(reader)), None)


def _signed(reader: Reader, spec: TypeSpec, digits: int) -> TypeSpec:
    """A type with SIGNED, UNSIGNED and ZEROFILL in any order; ``digits``: of a value."""
    while word := reader.accept_any("SIGNED", "UNSIGNED", "ZEROFILL"):
        if word != "SIGNED":
            zerofill = digits if word == "ZEROFILL" else spec.zerofill
            spec = replace(spec, unsigned=True, zerofill=zerofill)
    return spec


def _fixed(spec: TypeSpec) -> _Parse:
    return lambda _: spec


def _integer(name: str) -> _Parse:
    def parse(reader: Reader) -> TypeSpec:
        digits, *_ = [*_numbers(reader), _DIGITS[name]]
        return _signed(reader, TypeSpec(name), digits)

    return parse


def _year(reader: Reader) -> TypeSpec:
    _numbers(reader)
    _signed(reader, TypeSpec("year"), 0)
    return TypeSpec("year")


def _decimal(reader: Reader) -> TypeSpec:
    precision, scale, *_ = [*_numbers(reader, 2), 0, 0]
    return _signed(reader, TypeSpec("decimal", precision or 10, scale), precision or 10)


def _float(reader: Reader) -> TypeSpec:
    numbers = _numbers(reader, 2)
    wide = len(numbers) == 1 and numbers[0] > _FLOAT_DIGITS
    return _inexact(reader, "double" if wide else "float", numbers)


def _inexact(reader: Reader, name: str, numbers: list[int]) -> TypeSpec:
    """FLOAT or DOUBLE; (m,d): with the digits that they round to."""
    digits, scale = numbers if len(numbers) > 1 else (_DIGITS[name], None)
    return _signed(reader, TypeSpec(name, scale=scale), digits)


def _double(reader: Reader, name: str = "double") -> TypeSpec:
    reader.accept("PRECISION")
    return _inexact(reader, name, _numbers(reader, 2))


def _real(reader: Reader) -> TypeSpec:
    return _double(reader, "float" if reader.session.mode & SqlMode.REAL_AS_FLOAT else "double")


def _temporal(name: str) -> _Parse:
    def parse(reader: Reader) -> TypeSpec:
        scale, session = _length(reader) or 0, reader.session
        if name == "timestamp" and session.mode & SqlMode.MAXDB and session.version < 80000:
            return TypeSpec("datetime", scale=scale)
        # A display width as 4.0 wrote it, TIMESTAMP(14), is no fraction.
        return TypeSpec(name, scale=scale if scale <= _FRACTION_DIGITS else 0)

    return parse


def _character(reader: Reader, varying: bool = False, charset: str | None = None) -> TypeSpec:
    """CHAR, VARCHAR and their like after their words."""
    varying = reader.accept("VARYING") or varying
    length = _length(reader)
    if varying and length is None:
        reader.fail("VARCHAR without a length")
    name, length = "varchar" if varying else "char", 1 if length is None else length
    return _with_charset(reader, TypeSpec(name, length, text=True, charset=charset))


def _national(reader: Reader) -> TypeSpec:
    """NATIONAL CHAR, NATIONAL VARCHAR, NATIONAL CHAR VARYING …"""
    varying = reader.take().word in ("VARCHAR", "VARCHARACTER")
    return _character(reader, varying, "utf8mb3")


def _nchar(reader: Reader) -> TypeSpec:
    """NCHAR, NCHAR VARYING, NCHAR VARCHAR …"""
    return _character(reader, bool(reader.accept_any("VARCHAR", "VARCHARACTER")), "utf8mb3")


def _binary(name: str) -> _Parse:
    def parse(reader: Reader) -> TypeSpec:
        return TypeSpec(name, [*_numbers(reader), 1][0], charset="binary")

    return parse


def _blob(name: str) -> _Parse:
    return lambda reader: TypeSpec(name, _length(reader), charset="binary")


def _text(name: str) -> _Parse:
    return lambda reader: _with_charset(reader, TypeSpec(name, _length(reader), text=True))


def _long(reader: Reader) -> TypeSpec:
    """LONG, LONG VARCHAR, LONG CHAR VARYING: MEDIUMTEXT; LONG VARBINARY: MEDIUMBLOB."""
    if reader.accept("VARBINARY"):
        return TypeSpec("mediumblob", charset="binary")
    if not (reader.accept("CHAR", "VARYING") or reader.accept("CHARACTER", "VARYING")):
        reader.accept_any("VARCHAR", "VARCHARACTER")
    return _with_charset(reader, TypeSpec("mediumtext", text=True))


def _labelled(name: str) -> _Parse:
    def parse(reader: Reader) -> TypeSpec:
        labels = tuple(reader.listed(_label))
        return _with_charset(reader, TypeSpec(name, labels=labels, text=True))

    return parse


def _label(reader: Reader) -> str | bytes:
    """A label: text, or bytes where it is written as x'…' or b'…'."""
    token = reader.peek()
    label = token.text if token.kind == "string" else literal_bytes(token)
    if label is None:
        reader.fail("a label expected")
    reader.take()
    return label


def literal_bytes(token: Lexeme) -> bytes | None:
    """The bytes of x'…' or b'…', None for another token."""
    bits, digits = {"hex": (4, hexdigits), "bits": (1, "01")}.get(token.kind, (0, ""))
    if not bits or not set(token.text) <= set(digits):
        return None
    return int(token.text or "0", 1 << bits).to_bytes((len(token.text) * bits + 7) // 8, "big")


def _collection(reader: Reader) -> TypeSpec:
    """GEOMETRYCOLLECTION, which 8.0 calls GEOMCOLLECTION (8.0.11 release notes)."""
    return TypeSpec("geomcollection" if reader.session.version >= 80000 else "geometrycollection")


#: The spatial types but for the collection of any, which has two names.
SPATIAL = (
    "geometry", "point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon",
)  # fmt: skip

_TYPES: dict[str, _Parse] = {
    **dict.fromkeys(("TINYINT", "INT1"), _integer("tinyint")),
    **dict.fromkeys(("SMALLINT", "INT2"), _integer("smallint")),
    **dict.fromkeys(("MEDIUMINT", "INT3", "MIDDLEINT"), _integer("mediumint")),
    **dict.fromkeys(("INT", "INTEGER", "INT4"), _integer("int")),
    **dict.fromkeys(("BIGINT", "INT8"), _integer("bigint")),
    **dict.fromkeys(("BOOL", "BOOLEAN"), _fixed(TypeSpec("tinyint"))),
    **dict.fromkeys(("DECIMAL", "DEC", "NUMERIC", "FIXED"), _decimal),
    **dict.fromkeys(("FLOAT", "FLOAT4"), _float),
    **dict.fromkeys(("DOUBLE", "FLOAT8"), _double),
    "REAL": _real,
    "BIT": lambda reader: TypeSpec("bit", _length(reader) or 1),
    "SERIAL": _fixed(TypeSpec("bigint", unsigned=True, serial=True)),
    "YEAR": _year,
    **{name.upper(): _temporal(name) for name in ("time", "datetime", "timestamp")},
    **dict.fromkeys(("CHAR", "CHARACTER"), _character),
    **dict.fromkeys(("VARCHAR", "VARCHARACTER"), lambda reader: _character(reader, True)),
    "NATIONAL": _national,
    "NCHAR": _nchar,
    "NVARCHAR": lambda reader: _character(reader, True, "utf8mb3"),
    "BINARY": _binary("binary"),
    "VARBINARY": _binary("varbinary"),
    **{n.upper(): (_blob if n.endswith("blob") else _text)(n) for n in TEXT_CAPACITY},
    "LONG": _long,
    "ENUM": _labelled("enum"),
    "SET": _labelled("set"),
    **{name.upper(): _fixed(TypeSpec(name)) for name in ("date", "json", *SPATIAL)},
    **dict.fromkeys(("GEOMETRYCOLLECTION", "GEOMCOLLECTION"), _collection),
    "VECTOR": lambda reader: TypeSpec("vector", _length(reader) or _DEFAULT_VECTOR),
}
