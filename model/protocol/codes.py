"""Kafka's error codes as they appear in answers (org.apache.kafka.common.protocol.Errors)."""

from __future__ import annotations

NONE = 0
NOT_LEADER_OR_FOLLOWER = 6
COORDINATOR_LOAD_IN_PROGRESS = 14
COORDINATOR_NOT_AVAILABLE = 15
NOT_COORDINATOR = 16
ILLEGAL_GENERATION = 22
INCONSISTENT_GROUP_PROTOCOL = 23
UNKNOWN_MEMBER_ID = 25
REBALANCE_IN_PROGRESS = 27
TOPIC_AUTHORIZATION_FAILED = 29
NON_EMPTY_GROUP = 68
GROUP_ID_NOT_FOUND = 69
MEMBER_ID_REQUIRED = 79
GROUP_MAX_SIZE_REACHED = 81
FENCED_INSTANCE_ID = 82
GROUP_SUBSCRIBED_TO_TOPIC = 86
UNSTABLE_OFFSET_COMMIT = 88
FENCED_MEMBER_EPOCH = 110
UNRELEASED_INSTANCE_ID = 111
UNSUPPORTED_ASSIGNOR = 112

NAMES = {
    code: name for name, code in list(globals().items()) if isinstance(code, int) and name.isupper()
}


def name_of(code: int) -> str:
    """`25` -> `25 UNKNOWN_MEMBER_ID`."""
    return f"{code} {NAMES[code]}" if code in NAMES else str(code)
