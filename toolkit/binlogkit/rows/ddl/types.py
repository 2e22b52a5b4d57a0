"""Data types as DDL spells them -> base types.

Grammar: ``type`` in ``sql/sql_yacc.yy`` of 5.7 and 8.0 and the manual's "Data Types". Each entry
of ``_TYPES`` reads what follows its word; nothing here knows a table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from binlogkit.rows.ddl.keywords import words
from binlogkit.rows.ddl.modes import SqlMode
from binlogkit.rows.ddl.session import Session
from binlogkit.rows.ddl.tokens import Reader

__all__ = [
    "TEXT_CAPACITY",
    "TypeSpec",
    "accept_charset",
    "blob_for",
    "charset_attributes",
    "data_type",
]

#: Bytes that each BLOB and TEXT type holds.
TEXT_CAPACITY = {
    "tinyblob": 0xFF,
    "tinytext": 0xFF,
    "blob": 0xFFFF,
    "text": 0xFFFF,
    "mediumblob": 0xFFFFFF,
    "mediumtext": 0xFFFFFF,
    "longblob": 0xFFFFFFFF,
    "longtext": 0xFFFFFFFF,
}

_DEFAULT_VECTOR = 2048  # dimensions of VECTOR without a number (manual 9.x, "The VECTOR Type")
_FLOAT_DIGITS = 24  # FLOAT(p) is DOUBLE above (manual, "Floating-Point Types")


@dataclass(frozen=True, slots=True)
class TypeSpec:
    """A data type before the table's defaults are known.

    ``length``, ``scale``: as in ColumnDefinition, but of TEXT(n) and BLOB(n) the number given.
    ``text``: whether it has a character set; ``charset``: the one that is named, ``binary_sort``:
    the attribute BINARY. ``serial``: SERIAL, which brings NOT NULL, AUTO_INCREMENT and UNIQUE.
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


_Parse = Callable[[Reader, Session], TypeSpec]


def data_type(reader: Reader, session: Session) -> TypeSpec:
    """Read a data type with its own attributes. SchemaError: no type of MySQL."""
    parse = _TYPES.get(reader.peek().word)
    if parse is None:
        reader.fail("a data type expected")
    return parse(reader, session)


def blob_for(size: int, text: bool) -> str:
    """The smallest BLOB or TEXT type that holds ``size`` bytes (get_blob_type_from_length)."""
    kind = "text" if text else "blob"
    for prefix in ("tiny", "", "medium", "long"):
        if size <= TEXT_CAPACITY[prefix + kind]:
            return prefix + kind
    return "long" + kind


def charset_attributes(reader: Reader, spec: TypeSpec) -> TypeSpec:
    """CHARACTER SET x, ASCII, UNICODE, BYTE and BINARY behind a character type."""
    while True:
        if accept_charset(reader):
            spec = replace(spec, charset=reader.text_value())
        elif reader.accept("ASCII"):
            spec = replace(spec, charset="latin1")
        elif reader.accept("UNICODE"):
            spec = replace(spec, charset="ucs2")
        elif reader.accept("BYTE"):
            spec = replace(spec, charset="binary")
        elif reader.accept("BINARY"):
            spec = replace(spec, binary_sort=True)
        else:
            return spec


def accept_charset(reader: Reader) -> bool:
    """Move over CHARACTER SET, CHAR SET or CHARSET if it is next."""
    return (
        reader.accept("CHARSET")
        or reader.accept("CHARACTER", "SET")
        or reader.accept("CHAR", "SET")
    )


def _length(reader: Reader) -> int | None:
    """``(n)`` if it is there."""
    if not reader.accept("("):
        return None
    number = reader.number()
    reader.expect(")")
    return number


def _pair(reader: Reader) -> tuple[int | None, int | None]:
    """``(m)`` or ``(m,d)`` if it is there."""
    if not reader.accept("("):
        return None, None
    first, second = reader.number(), None
    if reader.accept(","):
        second = reader.number()
    reader.expect(")")
    return first, second


def _sign(reader: Reader) -> bool:
    """SIGNED, UNSIGNED and ZEROFILL in any order; whether the column is unsigned."""
    unsigned = False
    while word := reader.accept_any("SIGNED", "UNSIGNED", "ZEROFILL"):
        unsigned = unsigned or word != "SIGNED"
    return unsigned


def _integer(name: str) -> _Parse:
    def parse(reader: Reader, _: Session) -> TypeSpec:
        reader.take()
        _length(reader)
        return TypeSpec(name, unsigned=_sign(reader))

    return parse


def _decimal(reader: Reader, _: Session) -> TypeSpec:
    reader.take()
    precision, scale = _pair(reader)
    return TypeSpec("decimal", precision or 10, scale or 0, unsigned=_sign(reader))


def _float(reader: Reader, _: Session) -> TypeSpec:
    reader.take()
    digits, scale = _pair(reader)
    wide = scale is None and digits is not None and digits > _FLOAT_DIGITS
    return TypeSpec("double" if wide else "float", unsigned=_sign(reader))


def _double(reader: Reader, session: Session) -> TypeSpec:
    word = reader.take().word
    if word == "DOUBLE":
        reader.accept("PRECISION")
    _pair(reader)
    single = word == "REAL" and session.mode & SqlMode.REAL_AS_FLOAT
    return TypeSpec("float" if single else "double", unsigned=_sign(reader))


def _bit(reader: Reader, _: Session) -> TypeSpec:
    reader.take()
    return TypeSpec("bit", _length(reader) or 1)


def _bool(reader: Reader, _: Session) -> TypeSpec:
    reader.take()
    return TypeSpec("tinyint")


def _serial(reader: Reader, _: Session) -> TypeSpec:
    reader.take()
    return TypeSpec("bigint", unsigned=True, serial=True)


def _year(reader: Reader, _: Session) -> TypeSpec:
    reader.take()
    _length(reader)
    _sign(reader)
    return TypeSpec("year")


def _fixed(name: str) -> _Parse:
    def parse(reader: Reader, _: Session) -> TypeSpec:
        reader.take()
        return TypeSpec(name)

    return parse


def _temporal(name: str) -> _Parse:
    def parse(reader: Reader, session: Session) -> TypeSpec:
        reader.take()
        scale = _length(reader) or 0
        if name == "timestamp" and session.mode & SqlMode.MAXDB and session.version < 80000:
            return TypeSpec("datetime", scale=scale)
        # A display width as 4.0 wrote it, TIMESTAMP(14), is no fraction.
        return TypeSpec(name, scale=scale if scale <= 6 else 0)

    return parse


def _character(reader: Reader, length: int | None, varying: bool, charset: str | None) -> TypeSpec:
    """CHAR or VARCHAR behind its length."""
    if varying and length is None:
        reader.fail("VARCHAR without a length")
    spec = TypeSpec(
        "varchar" if varying else "char",
        1 if length is None else length,
        text=True,
        charset=charset,
    )
    return charset_attributes(reader, spec)


def _char(reader: Reader, _: Session) -> TypeSpec:
    reader.take()
    varying = reader.accept("VARYING")
    return _character(reader, _length(reader), varying, None)


def _varchar(reader: Reader, _: Session) -> TypeSpec:
    reader.take()
    return _character(reader, _length(reader), True, None)


def _national(reader: Reader, _: Session) -> TypeSpec:
    """NATIONAL CHAR, NATIONAL VARCHAR, NCHAR, NCHAR VARYING, NCHAR VARCHAR, NVARCHAR …"""
    word = reader.take().word
    varying = word == "NVARCHAR"
    if word == "NATIONAL":
        varying = reader.take().word in ("VARCHAR", "VARCHARACTER")
    elif word == "NCHAR":
        varying = reader.accept_any("VARCHAR", "VARCHARACTER") is not None
    varying = reader.accept("VARYING") or varying
    return _character(reader, _length(reader), varying, "utf8mb3")


def _binary(name: str) -> _Parse:
    def parse(reader: Reader, _: Session) -> TypeSpec:
        reader.take()
        length = _length(reader)
        return TypeSpec(name, 1 if length is None else length, charset="binary")

    return parse


def _blob(name: str) -> _Parse:
    def parse(reader: Reader, _: Session) -> TypeSpec:
        reader.take()
        return TypeSpec(name, _length(reader), charset="binary")

    return parse


def _text(name: str) -> _Parse:
    def parse(reader: Reader, _: Session) -> TypeSpec:
        reader.take()
        return charset_attributes(reader, TypeSpec(name, _length(reader), text=True))

    return parse


def _long(reader: Reader, _: Session) -> TypeSpec:
    """LONG, LONG VARCHAR, LONG CHAR VARYING: MEDIUMTEXT; LONG VARBINARY: MEDIUMBLOB."""
    reader.take()
    if reader.accept("VARBINARY"):
        return TypeSpec("mediumblob", charset="binary")
    if not (reader.accept("CHAR", "VARYING") or reader.accept("CHARACTER", "VARYING")):
        reader.accept_any("VARCHAR", "VARCHARACTER")
    return charset_attributes(reader, TypeSpec("mediumtext", text=True))


def _labelled(name: str) -> _Parse:
    def parse(reader: Reader, _: Session) -> TypeSpec:
        reader.take()
        reader.expect("(")
        labels = [_label(reader)]
        while reader.accept(","):
            labels.append(_label(reader))
        reader.expect(")")
        return charset_attributes(reader, TypeSpec(name, labels=tuple(labels), text=True))

    return parse


def _label(reader: Reader) -> str | bytes:
    """A label: text, or bytes where it is written as x'…' or b'…'."""
    token = reader.peek()
    if token.kind == "string":
        return reader.take().text
    if token.kind == "hex" and all(c in "0123456789abcdefABCDEF" for c in token.text):
        digits = reader.take().text
        return bytes.fromhex(digits if len(digits) % 2 == 0 else "0" + digits)
    if token.kind == "bits" and token.text and set(token.text) <= {"0", "1"}:
        bits = reader.take().text
        return int(bits, 2).to_bytes((len(bits) + 7) // 8, "big")
    return reader.fail("a label expected")


def _vector(reader: Reader, _: Session) -> TypeSpec:
    reader.take()
    return TypeSpec("vector", _length(reader) or _DEFAULT_VECTOR)


def _collection(reader: Reader, session: Session) -> TypeSpec:
    """GEOMETRYCOLLECTION, which 8.0 calls GEOMCOLLECTION (8.0.11 release notes)."""
    reader.take()
    return TypeSpec("geomcollection" if session.version >= 80000 else "geometrycollection")


_TYPES: dict[str, _Parse] = {
    **dict.fromkeys(("TINYINT", "INT1"), _integer("tinyint")),
    **dict.fromkeys(("SMALLINT", "INT2"), _integer("smallint")),
    **dict.fromkeys(("MEDIUMINT", "INT3", "MIDDLEINT"), _integer("mediumint")),
    **dict.fromkeys(("INT", "INTEGER", "INT4"), _integer("int")),
    **dict.fromkeys(("BIGINT", "INT8"), _integer("bigint")),
    **dict.fromkeys(("BOOL", "BOOLEAN"), _bool),
    **dict.fromkeys(("DECIMAL", "DEC", "NUMERIC", "FIXED"), _decimal),
    **dict.fromkeys(("FLOAT", "FLOAT4"), _float),
    **dict.fromkeys(("DOUBLE", "FLOAT8", "REAL"), _double),
    "BIT": _bit,
    "SERIAL": _serial,
    "YEAR": _year,
    "DATE": _fixed("date"),
    "TIME": _temporal("time"),
    "DATETIME": _temporal("datetime"),
    "TIMESTAMP": _temporal("timestamp"),
    **dict.fromkeys(("CHAR", "CHARACTER"), _char),
    **dict.fromkeys(("VARCHAR", "VARCHARACTER"), _varchar),
    **dict.fromkeys(("NATIONAL", "NCHAR", "NVARCHAR"), _national),
    "BINARY": _binary("binary"),
    "VARBINARY": _binary("varbinary"),
    **{name.upper(): _blob(name) for name in TEXT_CAPACITY if name.endswith("blob")},
    **{name.upper(): _text(name) for name in TEXT_CAPACITY if name.endswith("text")},
    "LONG": _long,
    "ENUM": _labelled("enum"),
    "SET": _labelled("set"),
    "JSON": _fixed("json"),
    **{
        name.upper(): _fixed(name)
        for name in words(
            "geometry point linestring polygon multipoint multilinestring multipolygon"
        )
    },
    **dict.fromkeys(("GEOMETRYCOLLECTION", "GEOMCOLLECTION"), _collection),
    "VECTOR": _vector,
}
