"""Kafka's binary messages as data: the fields of a message with the versions that have them,
written and read by one pair of functions.

Source: the message definitions of Apache Kafka (clients/src/main/resources/common/message,
JoinGroupRequest.json and so on, and the README there) and KIP-482. Bytes come from outside: what
does not fit is a `Malformed`, never another error, and nothing is allocated before its bytes are
known to be there.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from attrs import define, field, frozen

NUMBERS = {
    "bool": struct.Struct(">?"),
    "int8": struct.Struct(">b"),
    "int16": struct.Struct(">h"),
    "uint16": struct.Struct(">H"),
    "int32": struct.Struct(">i"),
    "uint32": struct.Struct(">I"),
    "int64": struct.Struct(">q"),
    "float64": struct.Struct(">d"),
}
LENGTHS = {"string": "int16", "bytes": "int32", "records": "int32"}
"""Kind -> the kind of its length, where lengths are not compact."""
NEWEST = 32_767
NEVER = NEWEST + 1
ZEROS: Mapping[str, Any] = {
    **dict.fromkeys(NUMBERS, 0),
    "bool": False,
    "uuid": UUID(int=0),
    "string": "",
    "bytes": b"",
    "records": None,
}
"""Kind -> the value of a field whose definition states no default."""


class Malformed(Exception):
    """Bytes that are not what their message and version say."""


@frozen
class Field:
    """A field of a message or of a structure."""

    name: str
    # A kind of `ZEROS`, or the fields of a structure.
    kind: str | tuple[Field, ...]
    # The first and the last version that has it.
    since: int = 0
    until: int = NEWEST
    # It holds any number of values of its kind.
    array: bool = field(default=False, kw_only=True)
    # The first version in which it may be null, which is None here.
    nullable: int = field(default=NEVER, kw_only=True)
    # Its number among the tagged fields (KIP-482); None: it stands among the others.
    tag: int | None = field(default=None, kw_only=True)
    # Its value where none is given, and that of a tagged field that is absent.
    default: Any = field(kw_only=True)

    @default.default
    def _zero(self) -> Any:
        if self.array:
            return ()
        return {} if isinstance(self.kind, tuple) else ZEROS[self.kind]

    def __attrs_post_init__(self) -> None:
        assert isinstance(self.kind, tuple) or self.kind in ZEROS, f"{self.name}: {self.kind}"


Fields = tuple[Field, ...]


def encode(
    fields: Fields, version: int, values: Mapping[str, Any], flexible: bool = False
) -> bytes:
    """The fields as bytes; a field that has no value has its default, and a value of a field that
    the version does not have is left out. `flexible`: with compact lengths and tagged fields
    (KIP-482). Raises `struct.error` or `TypeError` for a value that its kind cannot hold.
    """
    out, tags = [], []
    for one in fields:
        if not one.since <= version <= one.until:
            continue
        value = values.get(one.name, one.default)
        if one.tag is None:
            out.append(_field(one, version, value, flexible))
        elif (tuple(value) if isinstance(value, list) else value) != one.default:
            tags.append((one.tag, _field(one, version, value, flexible)))
    if flexible:
        out.append(_varint(len(tags)))
        for tag, body in sorted(tags):
            out += [_varint(tag), _varint(len(body)), body]
    return b"".join(out)


def _field(one: Field, version: int, value: Any, flexible: bool) -> bytes:
    if one.array:
        if value is None:
            return _length(-1, flexible, "int32")
        items = [_value(one.kind, version, item, flexible) for item in value]
        return b"".join([_length(len(items), flexible, "int32"), *items])
    if isinstance(one.kind, tuple) and version >= one.nullable:
        if value is None:
            return b"\xff"
        return b"\1" + encode(one.kind, version, value, flexible)
    return _value(one.kind, version, value, flexible)


def _value(kind: str | Fields, version: int, value: Any, flexible: bool) -> bytes:
    if isinstance(kind, tuple):
        return encode(kind, version, value, flexible)
    if kind in NUMBERS:
        return NUMBERS[kind].pack(value)
    if kind == "uuid":
        return bytes(value.bytes)
    if value is None:
        return _length(-1, flexible, LENGTHS[kind])
    raw = value if isinstance(value, bytes) else value.encode()
    return _length(len(raw), flexible, LENGTHS[kind]) + raw


def _length(count: int, flexible: bool, plain: str) -> bytes:
    return _varint(count + 1) if flexible else NUMBERS[plain].pack(count)


def _varint(value: int) -> bytes:
    """An unsigned number of variable length."""
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


@define
class Reader:
    """Reads a message from its bytes. Every method raises `Malformed` where they do not fit."""

    data: bytes
    flexible: bool = False
    _at: int = 0

    def remaining(self) -> int:
        """The number of bytes that are not read yet."""
        return len(self.data) - self._at

    def fields(self, fields: Fields, version: int) -> dict[str, Any]:
        """The values of all fields that the version has; tagged fields that are not known are
        passed over.
        """
        values = self.beginning(fields, version)
        if self.flexible:
            self._tagged([f for f in fields if f.tag is not None], version, values)
        return values

    def beginning(self, fields: Iterable[Field], version: int) -> dict[str, Any]:
        """The values of the first fields; what follows them is not read."""
        return {
            f.name: self._field(f, version)
            for f in fields
            if f.since <= version <= f.until and f.tag is None
        }

    def whole(self, fields: Fields, version: int, what: str) -> dict[str, Any]:
        """The values of all fields, behind which nothing may follow."""
        values = self.fields(fields, version)
        if self.remaining():
            raise Malformed(f"{self.remaining()} bytes too many in {what}")
        return values

    def tags(self) -> None:
        """Passes over tagged fields of which none is known."""
        self._tagged((), 0, {})

    def _tagged(self, known: Iterable[Field], version: int, values: dict[str, Any]) -> None:
        awaited = {f.tag: f for f in known if f.since <= version <= f.until}
        values |= {f.name: [] if f.default == () else f.default for f in awaited.values()}
        last = -1
        for _ in range(self._count(self._varint())):
            tag, size = self._varint(), self._varint()
            if tag <= last:
                raise Malformed(f"tagged field {tag} stands after {last}")
            last = tag
            body = self._take(size)
            if tag in awaited:
                inner = Reader(body, flexible=True)
                values[awaited[tag].name] = inner._field(awaited[tag], version)
                if inner.remaining():
                    raise Malformed(f"{inner.remaining()} bytes too many in tagged field {tag}")

    def number(self, kind: str) -> Any:
        form = NUMBERS[kind]
        return form.unpack(self._take(form.size))[0]

    def _field(self, one: Field, version: int) -> Any:
        nullable = version >= one.nullable
        if one.array:
            count = self._size("int32")
            if nullable and count < 0:
                return None
            return [self._value(one.kind, version) for _ in range(self._count(count))]
        if nullable and isinstance(one.kind, tuple) and self.number("int8") < 0:
            return None
        return self._value(one.kind, version, nullable)

    def _value(self, kind: str | Fields, version: int, nullable: bool = False) -> Any:
        if isinstance(kind, tuple):
            return self.fields(kind, version)
        if kind in NUMBERS:
            return self.number(kind)
        if kind == "uuid":
            return UUID(bytes=self._take(16))
        size = self._size(LENGTHS[kind])
        if size < 0 and nullable:
            return None
        raw = self._take(size)
        try:
            return raw.decode() if kind == "string" else raw
        except UnicodeDecodeError:
            raise Malformed("a string that is not UTF-8") from None

    def _size(self, plain: str) -> int:
        return self._varint() - 1 if self.flexible else int(self.number(plain))

    def _count(self, count: int) -> int:
        if not 0 <= count <= self.remaining():  # every element takes at least a byte
            raise Malformed(f"{count} elements in {self.remaining()} bytes")
        return count

    def _varint(self) -> int:
        value = 0
        for shift in range(0, 35, 7):
            (byte,) = self._take(1)
            value |= (byte & 127) << shift
            if byte < 128:
                return value
        raise Malformed("a length without an end")

    def _take(self, count: int) -> bytes:
        if not 0 <= count <= self.remaining():
            raise Malformed(f"{count} bytes are expected and {self.remaining()} are there")
        self._at += count
        return self.data[self._at - count : self._at]
