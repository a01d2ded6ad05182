"""Requests and answers of every API in every version against another library, which is generated
from the same definitions by other people, and against those of kafka-python for versions that it
does not have; and bytes that are none of these.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any
from uuid import UUID

import jar_definitions
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupcheck.traces.messages.apis import (
    APIS,
    Api,
    api,
    read_request,
    request_bytes,
    response_bytes,
    response_values,
    structure,
)
from groupcheck.traces.messages.message_bytes import Field, Fields, Malformed, Reader, encode

with warnings.catch_warnings():  # it reads its schemas in a way that Python 3.11 calls old
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka.protocol import admin as kafka_python_admin
    from kafka.protocol import consumer as kafka_python

EVERY = [(one, version) for one in APIS.values() for version in range(one.newest + 1)]
SIDES = ("request", "response")
SCALARS: Mapping[str, Any] = {
    "bool": True,
    "int8": 1,
    "uint16": 60_000,
    "uint32": 4_000_000_000,
    "float64": 0.5,
    "uuid": UUID(int=7),
    "string": "gé",
    "bytes": b"\0\xff" * 70,
    "records": None,
}
"""Kind -> a value that no definition has as a default."""


def values(fields: Fields, version: int, absent: bool) -> dict[str, Any]:
    """A value for each field of the version; `absent`: null and nothing where that is allowed."""
    return {f.name: value(f, version, absent) for f in fields if f.since <= version <= f.until}


def value(one: Field, version: int, absent: bool) -> Any:
    if absent and version >= one.nullable:
        return None
    if one.array:
        return [] if absent else [scalar(one, version, absent)] * 2
    return scalar(one, version, absent)


def scalar(one: Field, version: int, absent: bool) -> Any:
    if isinstance(one.kind, tuple):
        return values(one.kind, version, absent)
    number = 25 if one.name == "errorCode" else 3  # a number that the other library has a word for
    return SCALARS.get(one.kind, number)


def theirs(one: Api, version: int, side: str) -> type[Any]:
    """The class of the other library. Raises `ImportError` if it does not have this version."""
    snake = one.log_name.lower()
    module = import_module(f"kio.schema.{snake}.v{version}.{side}")
    return getattr(module, f"{one.name}{side.title()}")  # type: ignore[no-any-return]


def known_to_them() -> Iterator[tuple[Api, int, str]]:
    for one, version in EVERY:
        for side in SIDES:
            try:
                theirs(one, version, side)
            except ImportError:
                continue
            yield one, version, side


def test_another_library_reads_and_writes_the_same_bytes_in_every_version() -> None:
    from kio.serial import entity_reader, entity_writer

    compared = set()
    for one, version, side in known_to_them():
        fields = one.request if side == "request" else one.response
        kind = theirs(one, version, side)
        for absent in (False, True):
            given = values(fields, version, absent)
            raw = encode(fields, version, given, version >= one.flexible)
            read, used = entity_reader(kind)(raw, 0)
            assert used == len(raw), (one.name, version, side)
            again = io.BytesIO()
            entity_writer(kind)(again, read)
            assert again.getvalue() == raw, (one.name, version, side, read)
        compared.add((one.name, version))
    missing = {name for name, _ in compared} ^ {one.name for one in APIS.values()}
    assert not missing and len(compared) >= 200


@pytest.mark.parametrize("side", SIDES)
def test_what_is_written_is_read(side: str) -> None:
    for one, version in EVERY:
        for absent in (False, True):
            if side == "request":
                given = values(one.request, version, absent)
                whole = request_bytes(one, version, 77, "c", given)
                read = read_request(whole[4:])
                assert (read.api, read.version, read.number, read.client) == (one, version, 77, "c")
                assert read.values == given
            else:
                given = values(one.response, version, absent)
                whole = response_bytes(one, version, 77, given)
                assert whole[4:8] == b"\0\0\0\x4d"
                assert response_values(one, version, whole[8:]) == given
            assert len(whole) == 4 + int.from_bytes(whole[:4], "big")


def older_library(name: str) -> Any:
    """A message of kafka-python with a value in each field that Kafka 4.0 dropped."""
    commits, lists = kafka_python.OffsetCommitRequest, kafka_python.ListOffsetsRequest
    listed, configs = kafka_python.ListOffsetsResponse, kafka_python_admin.DescribeConfigsResponse
    part = commits.OffsetCommitRequestTopic.OffsetCommitRequestPartition
    asked = lists.ListOffsetsTopic.ListOffsetsPartition
    told = listed.ListOffsetsTopicResponse.ListOffsetsPartitionResponse
    config = configs.DescribeConfigsResult.DescribeConfigsResourceResult
    committed = part(
        partition_index=1, committed_offset=2**40, commit_timestamp=9, committed_metadata=""
    )
    offsets = told(partition_index=1, error_code=0, old_style_offsets=[5, 6])
    value = config(name="n", value="v", read_only=False, is_default=True, is_sensitive=False)
    return {
        "OffsetCommitRequest": lambda: commits(
            group_id="g",
            generation_id_or_member_epoch=5,
            member_id="m",
            topics=[commits.OffsetCommitRequestTopic(name="t", partitions=[committed])],
        ),
        "ListOffsetsRequest": lambda: lists(
            replica_id=-1,
            topics=[
                lists.ListOffsetsTopic(
                    name="t",
                    partitions=[asked(partition_index=1, timestamp=-1, max_num_offsets=3)],
                )
            ],
        ),
        "ListOffsetsResponse": lambda: listed(
            topics=[listed.ListOffsetsTopicResponse(name="t", partitions=[offsets])]
        ),
        "DescribeConfigsResponse": lambda: configs(
            results=[
                configs.DescribeConfigsResult(
                    error_code=0,
                    error_message=None,
                    resource_type=4,
                    resource_name="1",
                    configs=[value],
                )
            ]
        ),
    }[name]()


DROPPED: Mapping[str, tuple[int, dict[str, Any]]] = {
    "OffsetCommitRequest": (
        1,
        {"groupId": "g", "generationIdOrMemberEpoch": 5, "memberId": "m"}
        | {
            "topics": [
                {
                    "name": "t",
                    "partitions": [
                        {"partitionIndex": 1, "committedOffset": 2**40}
                        | {"commitTimestamp": 9, "committedMetadata": ""}
                    ],
                }
            ]
        },
    ),
    "ListOffsetsRequest": (
        0,
        {"replicaId": -1}
        | {
            "topics": [
                {
                    "name": "t",
                    "partitions": [{"partitionIndex": 1, "timestamp": -1} | {"maxNumOffsets": 3}],
                }
            ]
        },
    ),
    "ListOffsetsResponse": (
        0,
        {
            "topics": [
                {"name": "t", "partitions": [{"partitionIndex": 1, "oldStyleOffsets": [5, 6]}]}
            ]
        },
    ),
    "DescribeConfigsResponse": (
        0,
        {
            "results": [
                {"errorMessage": None, "resourceType": 4, "resourceName": "1"}
                | {"configs": [{"name": "n", "value": "v", "isDefault": True}]}
            ]
        },
    ),
}
"""Message -> the version that had a field that Kafka 4.0 dropped, and values for it."""


@pytest.mark.parametrize("message", DROPPED)
def test_a_field_that_kafka_4_dropped_is_written_as_an_older_library_writes_it(
    message: str,
) -> None:
    version, given = DROPPED[message]
    of = api(message.removesuffix("Request").removesuffix("Response"))
    fields = of.request if message.endswith("Request") else of.response
    made = older_library(message).encode(version=version, header=False, framed=False)
    assert encode(fields, version, given) == made


def test_every_field_that_is_added_to_the_jars_definitions_is_compared() -> None:
    assert {message for message, _ in jar_definitions.DROPPED} == DROPPED.keys()


def test_an_unknown_tagged_field_is_passed_over_and_a_known_one_may_come_behind_it() -> None:
    heartbeat = api("Heartbeat")
    body = request_bytes(heartbeat, 4, 1, None, {"groupId": "g"})[4:-1]
    assert read_request(body + b"\x02\x05\x02xy\x09\x00").values["groupId"] == "g"
    for bad in (b"\x01\x05\x7fxy", b"\xff\xff\xff\xff\x0f", b"\x02\x09\x00\x05\x00", b""):
        with pytest.raises(Malformed):
            read_request(body + bad)


def test_a_header_of_an_answer_to_api_versions_has_no_tags() -> None:
    """The client does not know the versions yet (KIP-511)."""
    answer = response_bytes(api("ApiVersions"), 3, 1, {"errorCode": 35})
    assert answer[8:10] == b"\0\x23"


def test_versions_are_those_that_first_have_a_field() -> None:
    assert api("JoinGroup").since("groupInstanceId") == 5
    assert api("LeaveGroup").since("groupInstanceId") == 3
    assert api("OffsetCommit").since("groupInstanceId") == 7
    assert structure("OffsetCommitValue").type == 1 and structure("GroupMetadataValue").type == 2
    assert api("OffsetDelete").flexible > 1000  # no version has compact lengths


@pytest.mark.parametrize("side", SIDES)
def test_a_message_that_is_cut_off_or_goes_on_is_malformed(side: str) -> None:
    for one, version in EVERY:
        fields = one.request if side == "request" else one.response
        raw = encode(fields, version, values(fields, version, False), version >= one.flexible)
        for bad in (raw[:-1], raw + b"\0") if raw else ():
            with pytest.raises(Malformed):
                Reader(bad, version >= one.flexible).whole(fields, version, "it")


@given(st.sampled_from(EVERY), st.binary(max_size=60))
def test_bytes_from_outside_are_read_or_malformed_and_nothing_else(
    which: tuple[Api, int], raw: bytes
) -> None:
    one, version = which
    for read in (lambda: response_values(one, version, raw), lambda: read_request(raw)):
        try:
            read()
        except Malformed as error:
            assert str(error)


@pytest.mark.parametrize("raw", [b"\0\0\0\0\0\0\xff\xff\xff\x7f", b"\xff\xff\xff\xff\xff\xff\xff"])
def test_a_length_that_nobody_could_hold_is_refused_before_it_is_believed(raw: bytes) -> None:
    for name, version in (("SyncGroup", 3), ("SyncGroup", 5), ("OffsetCommit", 9)):
        with pytest.raises(Malformed):
            response_values(api(name), version, raw)
