"""Kafka's APIs as data, and whole requests and answers as bytes: the one codec of everything that
reads or speaks Kafka's protocol here.

definitions.json has the fields of all versions, with those that Kafka 4.0 dropped. It is made from
the jars of kafka-clients and kafka-group-coordinator (`pytest --rewrite
tests/traces/messages/test_definitions.py`). Values are dicts with Kafka's own names of fields, as
the request log prints them: `groupId`, `generationIdOrMemberEpoch`.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any

from attrs import field, frozen

from groupcheck.traces.messages.message_bytes import (
    NEVER,
    Field,
    Fields,
    Malformed,
    Reader,
    encode,
)

_HEADER = struct.Struct(">hhi")


@frozen
class Api:
    """One of Kafka's APIs."""

    key: int
    # As in Kafka's definitions, without Request: `JoinGroup`.
    name: str
    # The newest version that is known; all from 0 on are.
    newest: int
    # The first version with compact lengths and tagged fields (KIP-482); `NEVER` if none has them.
    flexible: int
    request: Fields = field(repr=False)
    response: Fields = field(repr=False)

    @property
    def log_name(self) -> str:
        """As the request log prints it: `JOIN_GROUP` (ApiKeys)."""
        return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", self.name).upper()

    def since(self, name: str) -> int:
        """The first version whose request has a field of this name, at any depth; `NEVER` if none
        has it.
        """
        return min((f.since for f in _every(self.request) if f.name == name), default=NEVER)


@frozen
class Structure:
    """Another message of the definitions: a part of the consumer protocol, or a record."""

    name: str
    newest: int
    flexible: int
    fields: Fields
    # Of a record of `__consumer_offsets`: the type with which its key begins
    # (CoordinatorRecordType).
    type: int | None = None


@frozen
class Request:
    """A request that was read."""

    api: Api
    version: int
    number: int
    client: str | None
    values: dict[str, Any]


def _every(fields: Fields) -> list[Field]:
    inner = (_every(f.kind) for f in fields if isinstance(f.kind, tuple))
    return [*fields, *(one for some in inner for one in some)]


_ATTRIBUTES = ("name", "kind", "since", "until", "array", "nullable", "tag", "default")


def _field(given: Mapping[str, Any]) -> Field:
    told: dict[str, Any] = {name: given[name] for name in _ATTRIBUTES if name in given}
    if "fields" in given:
        told["kind"] = tuple(map(_field, given["fields"]))
    return Field(**told)


@cache
def _definitions() -> Mapping[str, Any]:
    text = (files(__package__) / "definitions.json").read_text(encoding="utf-8")
    return MappingProxyType(json.loads(text))


def _api(given: Mapping[str, Any]) -> Api:
    request, response = (tuple(map(_field, given[part])) for part in ("request", "response"))
    return Api(given["key"], given["name"], given["newest"], _first(given), request, response)


def _structure(given: Mapping[str, Any]) -> Structure:
    fields = tuple(map(_field, given["fields"]))
    name, newest, kind = given["name"], given["newest"], given.get("type")
    return Structure(name, newest, _first(given), fields, kind)


def _first(given: Mapping[str, Any]) -> int:
    return NEVER if given["flexible"] is None else int(given["flexible"])


APIS: Mapping[int, Api] = {one["key"]: _api(one) for one in _definitions()["apis"]}
"""Key -> API."""
_BY_NAME = {one.name: one for one in APIS.values()}


def api(name: str) -> Api:
    """The API of this name, such as `JoinGroup`. Raises `KeyError` if it is not known."""
    return _BY_NAME[name]


@cache
def structure(name: str) -> Structure:
    """The structure of this name, such as `ConsumerProtocolSubscription` or `OffsetCommitValue`.
    Raises `KeyError` if it is not known.
    """
    every = (*_definitions()["structures"], *_definitions()["records"])
    return _structure({one["name"]: one for one in every}[name])


def request_bytes(
    api: Api, version: int, number: int, client: str | None, values: Mapping[str, Any]
) -> bytes:
    """A whole request with its length, header and fields; a field that has no value has its
    default. `number`: its correlation id. `version` may be one that does not exist.
    """
    flexible = version >= api.flexible
    named = encode((_CLIENT,), 0, {"clientId": client})
    body = _HEADER.pack(api.key, version, number) + named + (b"\0" if flexible else b"")
    return _framed(body + encode(api.request, version, values, flexible))


def read_request(data: bytes) -> Request:
    """A request without its length. Raises `Malformed` if it is none, or if its API or version is
    not known.
    """
    head = Reader(data)
    key, version, number = head.number("int16"), head.number("int16"), head.number("int32")
    client = head.beginning((_CLIENT,), 0)["clientId"]
    known = APIS.get(key)
    if known is None or not 0 <= version <= known.newest:
        raise Malformed(f"version {version} of API {key}, which is not known")
    reader = Reader(data[len(data) - head.remaining() :], version >= known.flexible)
    if reader.flexible:
        reader.tags()
    what = f"a request {known.name} of version {version}"
    return Request(known, version, number, client, reader.whole(known.request, version, what))


def response_bytes(api: Api, version: int, number: int, values: Mapping[str, Any]) -> bytes:
    """A whole answer with its length and correlation id; a field that has no value has its
    default.
    """
    flexible = version >= api.flexible
    tags = b"\0" if flexible and api.name != _OLD_HEADER else b""
    body = encode(api.response, version, values, flexible)
    return _framed(number.to_bytes(4, "big", signed=True) + tags + body)


def response_values(api: Api, version: int, data: bytes) -> dict[str, Any]:
    """The fields of an answer, whose bytes are those after its length and correlation id. Raises
    `Malformed`.
    """
    reader = Reader(data, version >= api.flexible)
    if reader.flexible and api.name != _OLD_HEADER:
        reader.tags()
    return reader.whole(api.response, version, f"an answer to {api.name} version {version}")


# A client reads the answer to ApiVersions before it knows which versions the broker has, so the
# header of this answer never changes (KIP-511).
_OLD_HEADER = "ApiVersions"
# In every version without a compact length (RequestHeader.json).
_CLIENT = Field("clientId", "string", nullable=0, default=None)


def _framed(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + body
