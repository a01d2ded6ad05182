"""Kafka's binary messages as data: the fields of a message with the versions that have them,
written and read by one pair of functions.

Source: the message definitions of Apache Kafka (clients/src/main/resources/common/message,
JoinGroupRequest.json and so on) and KIP-482. Bytes come from outside: what does not fit is a
`Malformed`, never another error, and nothing is allocated before its bytes are known to be there.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from attrs import define, frozen

NUMBERS = {
    "int8": struct.Struct(">b"),
    "int16": struct.Struct(">h"),
    "int32": struct.Struct(">i"),
    "int64": struct.Struct(">q"),
}
NEWEST = 32_767
DEFAULTS: Mapping[str, Any] = {
    "int8": 0,
    "int16": 0,
    "int32": -1,
    "int64": -1,
    "string": "",
    "bytes": b"",
}


class Malformed(Exception):
    """Bytes that are not what their message and version say."""


@frozen
class Field:
    name: str
    # A number of `NUMBERS`; `string`, `bytes`, `nullable_string`, `nullable_bytes` or `uuid`; an
    # array of one of them, such as `[]string`; or, for an array of structures, the fields of a
    # structure.
    kind: str | tuple[Field, ...]
    # The first and the last version that has it.
    since: int = 0
    until: int = NEWEST
    # An array that may be missing: it is read as None.
    nullable: bool = False


def encode(
    fields: tuple[Field, ...], version: int, values: Mapping[str, Any], flexible: bool = False
) -> bytes:
    """The fields as bytes; a field that has no value has its default. `flexible`: with compact
    lengths and tagged fields (KIP-482).
    """
    out = []
    for field in fields:
        if not field.since <= version <= field.until:
            continue
        if isinstance(field.kind, tuple):
            items = values.get(field.name, ())
            out.append(_length(len(items), flexible, "int32"))
            out += [encode(field.kind, version, item, flexible) for item in items]
        elif field.kind.startswith("[]"):
            items = values.get(field.name, ())
            out.append(_length(len(items), flexible, "int32"))
            out += [_value(field.kind.removeprefix("[]"), item, flexible) for item in items]
        else:
            value = values.get(field.name, DEFAULTS.get(field.kind))
            out.append(_value(field.kind, value, flexible))
    return b"".join(out) + (b"\0" if flexible else b"")


def _value(kind: str, value: Any, flexible: bool) -> bytes:
    if kind in NUMBERS:
        return NUMBERS[kind].pack(value)
    plain = "int32" if kind.endswith("bytes") else "int16"
    if value is None:
        return _length(-1, flexible, plain)
    raw = value if isinstance(value, bytes) else value.encode()
    return _length(len(raw), flexible, plain) + raw


def _length(count: int, flexible: bool, plain: str) -> bytes:
    if not flexible:
        return NUMBERS[plain].pack(count)
    value, out = count + 1, bytearray()
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

    def fields(self, fields: tuple[Field, ...], version: int) -> dict[str, Any]:
        """The values of all fields that the version has."""
        values = self.beginning(fields, version)
        if self.flexible:
            self.tags()
        return values

    def beginning(self, fields: tuple[Field, ...], version: int) -> dict[str, Any]:
        """The values of the first fields; what follows them is not read."""
        return {
            f.name: self._value(f.kind, version, f.nullable)
            for f in fields
            if f.since <= version <= f.until
        }

    def tags(self) -> None:
        """Passes over the tagged fields of a flexible message: none is needed here."""
        for _ in range(self._count(self._varint())):
            self._varint()
            self._take(self._varint())

    def number(self, kind: str) -> int:
        form = NUMBERS[kind]
        (number,) = form.unpack(self._take(form.size))
        return int(number)

    def _value(self, kind: str | tuple[Field, ...], version: int, nullable: bool = False) -> Any:
        if isinstance(kind, tuple) or kind.startswith("[]"):
            count = self._size("int32")
            if nullable and count == -1:
                return None
            items = range(self._count(count))
            if isinstance(kind, tuple):
                return [self.fields(kind, version) for _ in items]
            return [self._value(kind.removeprefix("[]"), version) for _ in items]
        if kind in NUMBERS:
            return self.number(kind)
        if kind == "uuid":
            return UUID(bytes=self._take(16))
        size = self._size("int32" if kind.endswith("bytes") else "int16")
        if size < 0 and kind.startswith("nullable"):
            return None
        raw = self._take(size)
        try:
            return raw if kind.endswith("bytes") else raw.decode()
        except UnicodeDecodeError:
            raise Malformed("a string that is not UTF-8") from None

    def _size(self, plain: str) -> int:
        return self._varint() - 1 if self.flexible else self.number(plain)

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
