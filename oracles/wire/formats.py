"""The binary formats of five group APIs, as data: the fields of each request and answer with the
versions that have them.

Source: the message definitions of Apache Kafka (clients/src/main/resources/common/message,
JoinGroupRequest.json and so on). Bytes of an answer come from outside: what does not fit is a
`Malformed`, never another error, and nothing is allocated before it is known to be there.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

from attrs import frozen

NUMBERS = {"int8": ">b", "int16": ">h", "int32": ">i", "int64": ">q"}
Values = Mapping[str, Any]


class Malformed(Exception):
    """Bytes that are not what their API and version say."""


@frozen
class Field:
    """`kind`: a number, `string`, `nullable` (a string or None), `bytes`, or the fields of an
    array's elements. In versions `since` to `until`.
    """

    name: str
    kind: str | tuple[Field, ...]
    since: int = 0
    until: int = 99


@frozen
class Api:
    """`flexible`: the first version with compact lengths and tagged fields (KIP-482); `oldest`,
    `newest`: what is spoken here.
    """

    key: int
    name: str
    flexible: int
    oldest: int
    newest: int
    request: tuple[Field, ...]
    response: tuple[Field, ...]


_INSTANCE = "nullable"
_THROTTLE = "throttle_time_ms"

JOIN_GROUP = Api(
    key=11,
    name="JoinGroup",
    flexible=6,
    oldest=4,
    newest=9,
    request=(
        Field("group", "string"),
        Field("session_timeout_ms", "int32"),
        Field("rebalance_timeout_ms", "int32", 1),
        Field("member", "string"),
        Field("instance", _INSTANCE, 5),
        Field("protocol_type", "string"),
        Field("protocols", (Field("name", "string"), Field("metadata", "bytes"))),
        Field("reason", "nullable", 8),
    ),
    response=(
        Field(_THROTTLE, "int32", 2),
        Field("error", "int16"),
        Field("generation", "int32"),
        Field("protocol_type", "nullable", 7),
        Field("protocol", "nullable"),
        Field("leader", "string"),
        Field("skip_assignment", "int8", 9),
        Field("member", "string"),
        Field(
            "members",
            (
                Field("member", "string"),
                Field("instance", _INSTANCE, 5),
                Field("metadata", "bytes"),
            ),
        ),
    ),
)
SYNC_GROUP = Api(
    key=14,
    name="SyncGroup",
    flexible=4,
    oldest=0,
    newest=5,
    request=(
        Field("group", "string"),
        Field("generation", "int32"),
        Field("member", "string"),
        Field("instance", _INSTANCE, 3),
        Field("protocol_type", "nullable", 5),
        Field("protocol", "nullable", 5),
        Field("assignments", (Field("member", "string"), Field("assignment", "bytes"))),
    ),
    response=(
        Field(_THROTTLE, "int32", 1),
        Field("error", "int16"),
        Field("protocol_type", "nullable", 5),
        Field("protocol", "nullable", 5),
        Field("assignment", "bytes"),
    ),
)
HEARTBEAT = Api(
    key=12,
    name="Heartbeat",
    flexible=4,
    oldest=0,
    newest=4,
    request=(
        Field("group", "string"),
        Field("generation", "int32"),
        Field("member", "string"),
        Field("instance", _INSTANCE, 3),
    ),
    response=(Field(_THROTTLE, "int32", 1), Field("error", "int16")),
)
LEAVE_GROUP = Api(
    key=13,
    name="LeaveGroup",
    flexible=4,
    oldest=0,
    newest=5,
    request=(
        Field("group", "string"),
        Field("member", "string", 0, 2),
        Field(
            "members",
            (
                Field("member", "string"),
                Field("instance", _INSTANCE),
                Field("reason", "nullable", 5),
            ),
            3,
        ),
    ),
    response=(
        Field(_THROTTLE, "int32", 1),
        Field("error", "int16"),
        Field(
            "members",
            (Field("member", "string"), Field("instance", _INSTANCE), Field("error", "int16")),
            3,
        ),
    ),
)
OFFSET_COMMIT = Api(
    key=8,
    name="OffsetCommit",
    flexible=8,
    oldest=2,
    newest=9,
    request=(
        Field("group", "string"),
        Field("generation", "int32"),
        Field("member", "string"),
        Field("instance", _INSTANCE, 7),
        Field("retention_ms", "int64", 2, 4),
        Field(
            "topics",
            (
                Field("topic", "string"),
                Field(
                    "partitions",
                    (
                        Field("partition", "int32"),
                        Field("offset", "int64"),
                        Field("leader_epoch", "int32", 6),
                        Field("metadata", "nullable"),
                    ),
                ),
            ),
        ),
    ),
    response=(
        Field(_THROTTLE, "int32", 3),
        Field(
            "topics",
            (
                Field("topic", "string"),
                Field("partitions", (Field("partition", "int32"), Field("error", "int16"))),
            ),
        ),
    ),
)
APIS = (JOIN_GROUP, SYNC_GROUP, HEARTBEAT, LEAVE_GROUP, OFFSET_COMMIT)
DEFAULTS: Values = {
    "int8": 0,
    "int16": 0,
    "int32": -1,
    "int64": -1,
    "string": "",
    "nullable": None,
    "bytes": b"",
}


def request_bytes(api: Api, version: int, number: int, client: str, values: Values) -> bytes:
    """A whole request with its length, header and body; fields that are not given have defaults.
    `version` may be one that does not exist.
    """
    flexible = version >= api.flexible
    name = client.encode()
    head = (
        struct.pack(">hhih", api.key, version, number, len(name))
        + name
        + (b"\0" if flexible else b"")
    )
    body = head + _write(api.request, version, flexible, values)
    return struct.pack(">i", len(body)) + body


def response_values(api: Api, version: int, body: bytes) -> dict[str, Any]:
    """The fields of an answer, without its length and its correlation id. Raises `Malformed`."""
    reader = _Reader(body, version >= api.flexible)
    reader.tags()
    values = reader.fields(api.response, version)
    if reader.left():
        raise Malformed(
            f"{reader.left()} bytes too many in an answer to {api.name} version {version}"
        )
    return values


def _write(fields: tuple[Field, ...], version: int, flexible: bool, values: Values) -> bytes:
    out = []
    for field in fields:
        if not field.since <= version <= field.until:
            continue
        if isinstance(field.kind, tuple):
            items = values.get(field.name, ())
            out.append(_length(len(items), flexible, ">i"))
            out += [_write(field.kind, version, flexible, item) for item in items]
            continue
        value = values.get(field.name, DEFAULTS[field.kind])
        if field.kind in NUMBERS:
            out.append(struct.pack(NUMBERS[field.kind], value))
        elif value is None:
            out.append(b"\0" if flexible else b"\xff\xff")
        else:
            raw = value if field.kind == "bytes" else value.encode()
            out.append(_length(len(raw), flexible, ">i" if field.kind == "bytes" else ">h") + raw)
    return b"".join(out) + (b"\0" if flexible else b"")


def _length(count: int, flexible: bool, plain: str) -> bytes:
    return _varint(count + 1) if flexible else struct.pack(plain, count)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


class _Reader:
    def __init__(self, body: bytes, flexible: bool) -> None:
        self._body, self._at, self._flexible = body, 0, flexible

    def left(self) -> int:
        return len(self._body) - self._at

    def fields(self, fields: tuple[Field, ...], version: int) -> dict[str, Any]:
        values = {
            f.name: self._value(f.kind, version) for f in fields if f.since <= version <= f.until
        }
        self.tags()
        return values

    def tags(self) -> None:
        """Tagged fields are passed over: none is needed here."""
        if self._flexible:
            for _ in range(self._count(self._varint())):
                self._varint()
                self._take(self._varint())

    def _value(self, kind: str | tuple[Field, ...], version: int) -> Any:
        if isinstance(kind, tuple):
            return [self.fields(kind, version) for _ in range(self._count(self._size(">i")))]
        if kind in NUMBERS:
            return self._number(NUMBERS[kind])
        size = self._size(">i" if kind == "bytes" else ">h")
        if size < 0:
            if kind == "nullable":
                return None
            raise Malformed(f"a {kind} that is null")
        raw = self._take(size)
        try:
            return raw if kind == "bytes" else raw.decode()
        except UnicodeDecodeError:
            raise Malformed("a string that is no UTF-8") from None

    def _size(self, plain: str) -> int:
        return self._varint() - 1 if self._flexible else int(self._number(plain))

    def _count(self, count: int) -> int:
        if count > self.left():  # every element takes a byte or more
            raise Malformed(f"{count} elements in {self.left()} bytes")
        return max(count, 0)

    def _number(self, form: str) -> int:
        (number,) = struct.unpack(form, self._take(struct.calcsize(form)))
        return int(number)

    def _varint(self) -> int:
        value = 0
        for shift in range(0, 35, 7):
            (byte,) = self._take(1)
            value |= (byte & 127) << shift
            if byte < 128:
                return value
        raise Malformed("a length without an end")

    def _take(self, count: int) -> bytes:
        if count > self.left() or count < 0:
            raise Malformed(f"{count} bytes are expected and {self.left()} are there")
        self._at += count
        return self._body[self._at - count : self._at]
