"""Stand-in until the one codec lands."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

from attrs import frozen

from groupcheck.traces.captures.apis import APIS as KNOWN
from groupcheck.traces.messages.message_bytes import Field, Malformed, Reader, encode


@frozen
class Api:
    key: int
    name: str
    oldest: int
    newest: int
    flexible: int
    request: tuple[Field, ...]
    response: tuple[Field, ...]


APIS: Mapping[int, Api] = {
    k: Api(k, o.name.title().replace("_", ""), 0, o.newest, o.flexible, o.request, o.response)
    for k, o in KNOWN.items()
}
_VERSIONS = (Field("apiKey", "int16"), Field("minVersion", "int16"), Field("maxVersion", "int16"))
APIS = {**APIS, 18: Api(18, "ApiVersions", 0, 0, 3, (), (Field("errorCode", "int16"), Field("apiKeys", _VERSIONS)))}
_HEADER = (Field("key", "int16"), Field("version", "int16"), Field("number", "int32"), Field("client", "string"))


def api(name: str) -> Api:
    return next(one for one in APIS.values() if one.name == name)


def request_bytes(api: Api, version: int, number: int, client: str, values: Mapping[str, Any]) -> bytes:
    flexible = version >= api.flexible
    head = {"key": api.key, "version": version, "number": number, "client": client}
    body = encode(_HEADER, 0, head) + (b"\0" if flexible else b"")
    body += encode(api.request, version, values, flexible)
    return struct.pack(">i", len(body)) + body


def response_values(api: Api, version: int, data: bytes) -> dict[str, Any]:
    reader = Reader(data, version >= api.flexible)
    if reader.flexible and api.key != 18:
        reader.tags()
    values = reader.fields(api.response, version)
    if reader.remaining():
        raise Malformed(f"{reader.remaining()} bytes too many in an answer to {api.name} version {version}")
    return values
