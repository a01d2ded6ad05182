"""The bytes of requests and answers, in every version that is spoken, against those that
kafka-python makes; and bytes that are none of these.
"""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupcheck.oracles.wire import formats
from groupcheck.oracles.wire.formats import (
    APIS,
    HEARTBEAT,
    JOIN_GROUP,
    LEAVE_GROUP,
    OFFSET_COMMIT,
    SYNC_GROUP,
    Api,
)
from groupcheck.traces.messages.message_bytes import Malformed

with warnings.catch_warnings():  # it reads its schemas in a way that Python 3.11 calls old
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka.protocol import consumer as theirs

EVERY = [(api, version) for api in APIS for version in range(api.oldest, api.newest + 1)]

VALUES: dict[str, dict[str, Any]] = {
    "JoinGroup": {
        "group": "gé",
        "session_timeout_ms": 10,
        "rebalance_timeout_ms": 20,
        "member": "m",
        "protocol_type": "consumer",
        "protocols": [
            {"name": "range", "metadata": b"x" * 200},
            {"name": "sticky", "metadata": b""},
        ],
    },
    "SyncGroup": {
        "group": "g",
        "generation": 3,
        "member": "m",
        "protocol_type": "consumer",
        "protocol": "range",
        "assignments": [{"member": "m", "assignment": b"\0\1"}],
    },
    "Heartbeat": {"group": "g", "generation": -1, "member": ""},
    "LeaveGroup": {"group": "g", "member": "m", "members": [{"member": "m"}]},
    "OffsetCommit": {
        "group": "g",
        "generation": 5,
        "member": "m",
        "topics": [
            {"topic": "t", "partitions": [{"partition": 1, "offset": 2**40, "metadata": ""}]}
        ],
    },
}


def request_of_theirs(api: Api, version: int, number: int) -> bytes:
    """The same request as kafka-python writes it."""
    made: Any = {
        "JoinGroup": lambda: theirs.JoinGroupRequest(
            group_id="gé",
            session_timeout_ms=10,
            rebalance_timeout_ms=20,
            member_id="m",
            protocol_type="consumer",
            protocols=[
                theirs.JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=b"x" * 200),
                theirs.JoinGroupRequest.JoinGroupRequestProtocol(name="sticky", metadata=b""),
            ],
        ),
        "SyncGroup": lambda: theirs.SyncGroupRequest(
            group_id="g",
            generation_id=3,
            member_id="m",
            protocol_type="consumer",
            protocol_name="range",
            assignments=[
                theirs.SyncGroupRequest.SyncGroupRequestAssignment(
                    member_id="m", assignment=b"\0\1"
                )
            ],
        ),
        "Heartbeat": lambda: theirs.HeartbeatRequest(group_id="g", generation_id=-1, member_id=""),
        "LeaveGroup": lambda: theirs.LeaveGroupRequest(
            group_id="g",
            member_id="m",
            members=[theirs.LeaveGroupRequest.MemberIdentity(member_id="m")],
        ),
        "OffsetCommit": lambda: theirs.OffsetCommitRequest(
            group_id="g",
            generation_id_or_member_epoch=5,
            member_id="m",
            retention_time_ms=-1,
            topics=[
                theirs.OffsetCommitRequest.OffsetCommitRequestTopic(
                    name="t",
                    partitions=[
                        theirs.OffsetCommitRequest.OffsetCommitRequestTopic.OffsetCommitRequestPartition(
                            partition_index=1,
                            committed_offset=2**40,
                            committed_leader_epoch=-1,
                            committed_metadata="",
                        )
                    ],
                )
            ],
        ),
    }[api.name]()
    made.with_header(correlation_id=number, client_id="c")
    return bytes(made.encode(version=version, header=True, framed=True))


@pytest.mark.parametrize(
    ("api", "version"), EVERY, ids=lambda x: x.name if isinstance(x, Api) else x
)
def test_a_request_is_written_as_another_library_writes_it(api: Api, version: int):
    assert formats.request_bytes(api, version, 77, "c", VALUES[api.name]) == request_of_theirs(
        api, version, 77
    )


def answer_of_theirs(api: Api, version: int) -> bytes:
    """An answer as kafka-python writes it, without length and correlation id."""
    made: Any = {
        "JoinGroup": lambda: theirs.JoinGroupResponse(
            throttle_time_ms=1,
            error_code=79,
            generation_id=3,
            protocol_type="consumer",
            protocol_name="range",
            leader="m",
            member_id="n",
            members=[
                theirs.JoinGroupResponse.JoinGroupResponseMember(member_id="m", metadata=b"x" * 300)
            ],
        ),
        "SyncGroup": lambda: theirs.SyncGroupResponse(
            throttle_time_ms=1,
            error_code=27,
            protocol_type="consumer",
            protocol_name="range",
            assignment=b"\0\1",
        ),
        "Heartbeat": lambda: theirs.HeartbeatResponse(throttle_time_ms=1, error_code=25),
        "LeaveGroup": lambda: theirs.LeaveGroupResponse(
            throttle_time_ms=1,
            error_code=0,
            members=[theirs.LeaveGroupResponse.MemberResponse(member_id="m", error_code=25)],
        ),
        "OffsetCommit": lambda: theirs.OffsetCommitResponse(
            throttle_time_ms=1,
            topics=[
                theirs.OffsetCommitResponse.OffsetCommitResponseTopic(
                    name="t",
                    partitions=[
                        theirs.OffsetCommitResponse.OffsetCommitResponseTopic.OffsetCommitResponsePartition(
                            partition_index=1, error_code=22
                        )
                    ],
                )
            ],
        ),
    }[api.name]()
    tags = b"\0" if version >= api.flexible else b""
    return tags + bytes(made.encode(version=version, header=False, framed=False))


EXPECTED: dict[str, dict[str, Any]] = {
    "JoinGroup": {"error": 79, "generation": 3, "leader": "m", "member": "n", "protocol": "range"},
    "SyncGroup": {"error": 27, "assignment": b"\0\1"},
    "Heartbeat": {"error": 25},
    "LeaveGroup": {"error": 0},
    "OffsetCommit": {"topics": [{"topic": "t", "partitions": [{"partition": 1, "error": 22}]}]},
}


@pytest.mark.parametrize(
    ("api", "version"), EVERY, ids=lambda x: x.name if isinstance(x, Api) else x
)
def test_an_answer_is_read_as_another_library_wrote_it(api: Api, version: int):
    read = formats.response_values(api, version, answer_of_theirs(api, version))
    assert {name: read[name] for name in EXPECTED[api.name]} == EXPECTED[api.name]
    if api is JOIN_GROUP:
        assert [(m["member"], m["metadata"]) for m in read["members"]] == [("m", b"x" * 300)]
    if api is LEAVE_GROUP and version >= 3:
        assert [(m["member"], m["error"]) for m in read["members"]] == [("m", 25)]


@pytest.mark.parametrize(
    ("api", "version"), EVERY, ids=lambda x: x.name if isinstance(x, Api) else x
)
def test_an_answer_that_is_cut_off_or_goes_on_is_malformed(api: Api, version: int):
    whole = answer_of_theirs(api, version)
    for bad in (whole[:-1], whole + b"\0", b""):
        with pytest.raises(Malformed):
            formats.response_values(api, version, bad)


@given(st.sampled_from(EVERY), st.binary(max_size=60))
def test_bytes_from_outside_are_read_or_malformed_and_nothing_else(
    which: tuple[Api, int], raw: bytes
):
    api, version = which
    try:
        read = formats.response_values(api, version, raw)
    except Malformed as error:
        assert str(error)
    else:
        assert set(read) <= {f.name for f in api.response}


@pytest.mark.parametrize("raw", [b"\0\0\0\0\0\0\xff\xff\xff\x7f", b"\xff\xff\xff\xff\xff\xff\xff"])
def test_a_length_that_nobody_could_hold_is_refused_before_it_is_believed(raw: bytes):
    for api, version in ((SYNC_GROUP, 3), (SYNC_GROUP, 5), (OFFSET_COMMIT, 9), (HEARTBEAT, 4)):
        with pytest.raises(Malformed):
            formats.response_values(api, version, raw)
