"""The rows of members whose subscription and topics change, in words."""

from __future__ import annotations

from groupcheck.model.protocol.classic.features.triggers.scope import TriggersScope
from groupcheck.model.protocol.classic.features.triggers.subscription import Subscription
from groupcheck.model.protocol.messages import FOLLOWS
from groupcheck.oracles.conform.member.changing import (
    AskedToRejoin,
    Broken,
    ChangingRow,
    GivenId,
    Joined,
    Memory,
    Subscribes,
    Synced,
    Topics,
)
from groupcheck.oracles.conform.topics import partitions_of, topics_of

KINDS = {
    Topics: "topics are created, grow or are deleted",
    Subscribes: "the application subscribes to other topics",
    AskedToRejoin: "Heartbeat",
    GivenId: "JoinGroup",
    Joined: "JoinGroup",
    Synced: "SyncGroup",
    Broken: "the connection breaks",
}
STARTS = "the process starts"


def kind_of(row: ChangingRow) -> str:
    """`SyncGroup` for an answer to a SyncGroup, else what happens."""
    return STARTS if row.given is None else KINDS[type(row.given)]


def row_shown(row: ChangingRow) -> tuple[str, str]:
    """The event, and the member's memory before it, each in a line."""
    return _input(row), _memory(row.before, row.scope)


def _input(row: ChangingRow) -> str:
    scope = row.scope
    match row.given:
        case Topics(cluster):
            return f"the topics have the partitions {_partitions(cluster, scope)}"
        case Subscribes(topics):
            return f"the application subscribes to {_topics(topics, scope)}"
        case AskedToRejoin():
            return "Heartbeat is answered 27"
        case GivenId():
            return "JoinGroup is answered 79"
        case Joined(group) if group == FOLLOWS:
            return "JoinGroup is answered 0"
        case Joined(group):
            leads = f"it leads, another member subscribes to {_topics(group, scope)}"
            return f"JoinGroup is answered 0: {leads}"
        case Synced(share):
            return f"SyncGroup is answered 0: {_partitions(share, scope)}"
        case Broken():
            return "the connection breaks"
    return STARTS


def _memory(m: Memory, scope: TriggersScope) -> str:
    c, s = m.client, m.subscription
    waits = [] if m.request is None else [f"in flight {type(m.request).__name__}"]
    owns = [f"owns {_partitions(c.owned, scope)}"] if c.owned else []
    rejoins = ["rejoins"] if c.rejoin else []
    told = [_subscription(s, scope), f"there is {_partitions(m.cluster, scope)}"]
    return ", ".join([f"{c.state}, generation {c.generation}", *rejoins, *owns, *waits, *told])


def _subscription(s: Subscription, scope: TriggersScope) -> str:
    by = " by a pattern" if s.pattern else ""
    words = [f"subscribes to {_topics(s.topics, scope)}{by}"]
    if s.joined is not None:
        words.append(f"joined with {_topics(s.joined, scope)}")
    if s.group:
        words.append(f"leads a group with {_topics(s.group, scope)}")
    for name in ("sees", "snapshot"):
        if (mask := getattr(s, name)) is not None:
            words.append(f"{name} {_partitions(mask, scope)}")
    return ", ".join(words)


def _topics(mask: int, scope: TriggersScope) -> str:
    return ",".join(topics_of(mask, scope)) or "no topic"


def _partitions(mask: int, scope: TriggersScope) -> str:
    return " ".join(f"{t}-{p}" for t, p in sorted(partitions_of(mask, scope))) or "no partition"
