"""The message definitions inside Kafka's jars, as definitions.json has them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from zipfile import ZipFile

RELEASE = "4.4.0"
"""The newest that is pinned: each release has the messages of all before it, back to 4.0."""
SPOKEN = """
    Produce Fetch ListOffsets Metadata OffsetCommit OffsetFetch FindCoordinator JoinGroup Heartbeat
    LeaveGroup SyncGroup DescribeGroups ListGroups SaslHandshake ApiVersions CreateTopics
    DeleteTopics InitProducerId OffsetForLeaderEpoch AddPartitionsToTxn AddOffsetsToTxn EndTxn
    TxnOffsetCommit DescribeConfigs SaslAuthenticate CreatePartitions DeleteGroups
    IncrementalAlterConfigs OffsetDelete DescribeCluster ConsumerGroupHeartbeat
    ConsumerGroupDescribe GetTelemetrySubscriptions PushTelemetry DescribeTopicPartitions
    ShareGroupHeartbeat ShareGroupDescribe StreamsGroupHeartbeat StreamsGroupDescribe
""".split()
"""The APIs that are spoken or read here."""
STRUCTURES = ("ConsumerProtocolSubscription", "ConsumerProtocolAssignment")
DROPPED: Mapping[tuple[str, str], dict[str, Any]] = {
    ("OffsetCommitRequest", "CommittedOffset"): {
        "name": "CommitTimestamp",
        "type": "int64",
        "versions": "1",
        "default": "-1",
    },
    ("ListOffsetsRequest", "Timestamp"): {
        "name": "MaxNumOffsets",
        "type": "int32",
        "versions": "0",
        "default": "1",
    },
    ("ListOffsetsResponse", "ErrorCode"): {
        "name": "OldStyleOffsets",
        "type": "[]int64",
        "versions": "0",
    },
    ("DescribeConfigsResponse", "ReadOnly"): {
        "name": "IsDefault",
        "type": "bool",
        "versions": "0",
    },
}
"""Message and the field before it -> a field that 4.0 dropped with the versions that had it. The
source is kafka-clients 3.7.1, whose definitions have all versions from 0 on.
"""
NUMBER = re.compile(r"u?int\d+|float64")


def loaded(jar: Path) -> dict[str, dict[str, Any]]:
    """Name of a message -> its definition. They are JSON with comments."""
    with ZipFile(jar) as files:
        names = [n for n in files.namelist() if re.fullmatch(r"common/message/\w+\.json", n)]
        texts = [re.sub(r"(?m)(^|\s)//.*$", "", files.read(name).decode()) for name in names]
    return {one["name"]: one for one in map(json.loads, texts)}


def definitions(clients: Path, coordinator: Path) -> str:
    """The text of definitions.json, from kafka-clients and kafka-group-coordinator of a release:
    a message a line.
    """
    known = loaded(clients)
    records = [m for m in loaded(coordinator).values() if m["type"].startswith("coordinator-")]
    records.sort(key=lambda m: (m["apiKey"], m["name"]))
    parts = {
        "apis": [_api(name, known) for name in SPOKEN],
        "structures": [_message(known[name]) for name in STRUCTURES],
        "records": [{"type": m["apiKey"], **_message(m)} for m in records],
    }
    lists = [f'"{part}": [\n' + ",\n".join(map(json.dumps, every)) for part, every in parts.items()]
    return f'{{"release": "{RELEASE}",\n' + "\n],\n".join(lists) + "\n]}\n"


def _api(name: str, known: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    request, response = _message(known[f"{name}Request"]), _message(known[f"{name}Response"])
    return {
        "key": known[f"{name}Request"]["apiKey"],
        "name": name,
        "newest": request["newest"],
        "flexible": request["flexible"],
        "request": request["fields"],
        "response": response["fields"],
    }


def _message(one: Mapping[str, Any]) -> dict[str, Any]:
    shared = {struct["name"]: struct["fields"] for struct in one.get("commonStructs", ())}
    return {
        "name": one["name"],
        "newest": _until(one["validVersions"]),
        "flexible": _since(one["flexibleVersions"]),
        "fields": [
            _field(f, one["name"], shared) for f in _with_dropped(one["name"], one["fields"])
        ],
    }


def _with_dropped(message: str, fields: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for one in fields:
        yield one
        if dropped := DROPPED.get((message, one["name"])):
            yield dropped


def _field(one: Mapping[str, Any], message: str, shared: Mapping[str, Any]) -> dict[str, Any]:
    """A field, without what is as in most fields."""
    kind = one["type"].removeprefix("[]")
    made: dict[str, Any] = {"name": one["name"][0].lower() + one["name"][1:]}
    inner = one.get("fields") or shared.get(kind)
    if inner is None:
        made["kind"] = kind
    else:
        made["fields"] = [_field(f, message, shared) for f in _with_dropped(message, inner)]
    if one["type"] != kind:
        made["array"] = True
    versions = one.get("versions", "0+")
    if since := _since(versions):
        made["since"] = since
    if (until := _until(versions)) is not None:
        made["until"] = until
    if (nullable := _since(one.get("nullableVersions", "none"))) is not None:
        made["nullable"] = nullable
    if "tag" in one:
        assert one["taggedVersions"] == versions, one
        made["tag"] = one["tag"]
    if "default" in one:
        made["default"] = _default(kind, one["default"])
    return made


def _default(kind: str, given: Any) -> Any:
    if given == "null":
        return None
    if isinstance(given, str) and kind == "bool":
        return given == "true"
    return int(given, 0) if isinstance(given, str) and NUMBER.fullmatch(kind) else given


def _since(versions: str) -> int | None:
    """The first of `0-3`, `4+`, `5`; None of `none`."""
    return None if versions == "none" else int(versions.rstrip("+").partition("-")[0])


def _until(versions: str) -> int | None:
    """The last of them; None where there is none."""
    return None if versions.endswith("+") else int(versions.rpartition("-")[2])
