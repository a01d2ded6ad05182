"""Records that kafka-dump-log.sh printed without --offsets-decoder (--print-data-log alone): the
bytes of key and value, read as text.

Where bytes are no UTF-8, the text has a replacement character for them. What it stands for is not
known, so a field counts only if it is the same whatever these bytes were.

The fields are those of OffsetCommitKey.json, OffsetCommitValue.json, GroupMetadataKey.json and
GroupMetadataValue.json of Kafka's group coordinator.
"""

from __future__ import annotations

import re
from typing import Any

from groupcheck.traces.dumps.record_values import Fields, RecordNotUnderstood
from groupcheck.traces.messages.apis import structure
from groupcheck.traces.messages.consumer_protocol import assignment
from groupcheck.traces.messages.message_bytes import Malformed, Reader

_KEYS = {
    0: structure("LegacyOffsetCommitKey"),
    1: structure("OffsetCommitKey"),
    2: structure("GroupMetadataKey"),
}
"""Type of the key -> its fields."""
_COMMIT, _GENERATION = structure("OffsetCommitValue"), structure("GroupMetadataValue")
_KEY_SIZE = re.compile(r"\bkey[sS]ize: (\d{1,9})\b")
_VALUE_SIZE = re.compile(r"\b(?:value|payload)[sS]ize: (-?\d{1,9})\b")
_UNKNOWN = "\ufffd?"
"""The character that stands for bytes that cannot be shown; a console without UTF-8 prints question
marks.
"""
_TRIED = (0x80, 0xFF)


def fields_of(line: str, key: str, value: str) -> tuple[Fields, Fields | None]:
    """Key and value as the decoder would print them. Raises `RecordNotUnderstood` if they are not
    known, `Malformed` if they are none.
    """
    key_size, value_size = _KEY_SIZE.search(line), _VALUE_SIZE.search(line)
    if key_size is None or value_size is None:
        raise RecordNotUnderstood("its sizes are not printed")
    keys = [_key(raw) for raw in _candidates(key, int(key_size[1]))]
    if keys[0] != keys[1]:
        raise RecordNotUnderstood("some bytes of its key were lost when it was printed")
    kind = keys[0]["version"]
    if int(value_size[1]) < 0:
        return keys[0], None
    one, other = (_value(kind, raw) for raw in _candidates(value, int(value_size[1])))
    for member, same in zip(one.get("members", ()), other.get("members", ()), strict=False):
        for name in ("rebalanceTimeout", "sessionTimeout", "assignment"):
            if member.get(name) != same.get(name):
                member.pop(name, None)
                same.pop(name, None)
    if one != other:
        raise RecordNotUnderstood("some bytes of its value were lost when it was printed")
    return keys[0], {"data": one}


def _candidates(text: str, size: int) -> list[bytes]:
    """The bytes that the text may stand for."""
    found = [
        b"".join(bytes([byte]) if char in _UNKNOWN else char.encode() for char in text)
        for byte in _TRIED
    ]
    if len(found[0]) != size:
        raise RecordNotUnderstood("some bytes were lost when it was printed")
    return found


def _key(raw: bytes) -> Fields:
    reader = Reader(raw)
    kind = reader.number("int16")
    if kind not in _KEYS:
        raise RecordNotUnderstood(
            f"a key of type {kind} is read only if --offsets-decoder printed it"
        )
    return {"version": kind, "data": reader.fields(_KEYS[kind].fields, 0)}


def _value(kind: int, raw: bytes) -> Fields:
    version = Reader(raw).number("int16")
    of = _COMMIT if kind != 2 else _GENERATION
    if not 0 <= version <= of.newest:
        raise Malformed(f"version {version}")
    reader = Reader(raw[2:], version >= of.flexible)
    if kind != 2:
        return reader.beginning(of.fields[:1], version)  # the offset
    told = reader.beginning(of.fields, version)
    del told["protocolType"]
    told.pop("currentStateTimestamp", None)
    told["members"] = [_member(m) for m in told["members"]]
    return told


def _member(m: Fields) -> Fields:
    kept: Fields = {k: v for k, v in m.items() if k not in ("subscription", "clientHost")}
    kept["assignment"] = _assigned(m["assignment"])
    return kept


def _assigned(raw: bytes) -> Any:
    try:
        return {"assignedPartitions": [{"topic": t, "partitions": [n]} for t, n in assignment(raw)]}
    except Malformed:
        return None
