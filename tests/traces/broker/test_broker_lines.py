"""Each line that a coordinator can print, by version, means one event."""

from __future__ import annotations

from typing import Any

import pytest

from groupcheck.model.protocol.classic.group import Phase
from groupcheck.traces.broker.grammar import convert, event_of
from groupcheck.traces.broker.grammar_java import JAVA
from groupcheck.traces.broker.grammar_scala import SCALA
from groupcheck.traces.lines.envelope import coordinator_sentence
from groupcheck.traces.story import events as e

M = "c-1-23a5cab4-de06-4358-8220-add81426c9af"
N = "c-2-33a5cab4-de06-4358-8220-add81426c9af"
P = "(__consumer_offsets-7)"
METADATA = (
    f"MemberMetadata(memberId={M}, groupInstanceId=Some(i-1), clientId=c-1, clientHost=/10.0.0.1,"
    " sessionTimeoutMs=45000, rebalanceTimeoutMs=300000, supportedProtocols=List(range,"
    " cooperative-sticky))"
)

SCALA_LINES: list[tuple[str, type[e.Event], dict[str, Any]]] = [
    (
        "Preparing to restabilize group g with old generation 4",
        e.RebalanceStarted,
        {"generation": 4, "reason": None},
    ),
    (
        f"Preparing to rebalance group g with old generation 4 {P}",
        e.RebalanceStarted,
        {"generation": 4},
    ),
    (
        "Preparing to rebalance group g in state PreparingRebalance"
        f" with old generation 4 {P} (reason: x (y))",
        e.RebalanceStarted,
        {"generation": 4},
    ),
    ("Stabilized group g generation 5", e.Stabilized, {"generation": 5, "members": None}),
    (f"Stabilized group g generation 5 {P}", e.Stabilized, {"generation": 5, "members": None}),
    (
        f"Stabilized group g generation 5 {P} with 3 members",
        e.Stabilized,
        {"generation": 5, "members": 3},
    ),
    (
        "Assignment received from leader for group g for generation 5",
        e.AssignmentReceived,
        {"generation": 5, "leader": None},
    ),
    (
        "Assignment received from leader for group g for generation 5."
        " The group has 3 members, 1 of which are static.",
        e.AssignmentReceived,
        {"members": 3, "static": 1, "leader": None},
    ),
    (
        f"Assignment received from leader {M} for group g for generation 5."
        " The group has 3 members, 1 of which are static.",
        e.AssignmentReceived,
        {"members": 3, "static": 1, "leader": M},
    ),
    ("Group g with generation 6 is now empty", e.GroupEmptied, {"generation": 6}),
    (f"Group g with generation 6 is now empty {P}", e.GroupEmptied, {"generation": 6}),
    ("Group g generation 6 is dead and removed", e.GroupDied, {"generation": 6}),
    ("Group g transitioned to Dead in generation 6", e.GroupDied, {"generation": 6}),
    ("Group g is dead, skipping rebalance stage", e.RoundSkipped, {}),
    ("Group g could not complete rebalance because no members rejoined", e.RoundStuck, {}),
    (
        "Dynamic Member with unknown member id joins group g in Empty state."
        f" Created a new member id {M} for this member and add to the group.",
        e.MemberAdded,
        {"member": M, "phase": Phase.EMPTY, "fresh": True, "instance": None},
    ),
    (
        "Static Member with unknown member id joins group g in Stable state."
        f" Created a new member id {M} for this member and add to the group.",
        e.MemberAdded,
        {"member": M, "phase": Phase.STABLE},
    ),
    (
        "Static member with groupInstanceId=i-1 and unknown member id joins group g"
        " in Stable state."
        f" Created a new member id {M} for this member and add to the group.",
        e.MemberAdded,
        {"member": M, "instance": "i-1"},
    ),
    (
        f"Dynamic member with unknown member id joins group g in PreparingRebalance state."
        f" Created a new member id {M} and request the member to rejoin with this id.",
        e.IdHandedOut,
        {"member": M, "phase": Phase.PREPARING},
    ),
    (
        f"Dynamic member with unknown member id rejoins group g in CompletingRebalance state."
        f" Created a new member id {M} and request the member to rejoin with this id.",
        e.IdHandedOut,
        {"member": M, "phase": Phase.COMPLETING},
    ),
    (
        f"Dynamic Member with specific member id {M} joins group g in Stable state."
        " Adding to the group now.",
        e.MemberAdded,
        {"member": M, "fresh": False},
    ),
    (
        f"Pending dynamic member with id {M} joins group g in Stable state."
        " Adding to the group now.",
        e.MemberAdded,
        {"member": M, "fresh": False},
    ),
    (
        "Static member with groupInstanceId=i-1 and unknown member id joins group g"
        " in Stable state."
        f" Replacing previously mapped member {M} with this groupInstanceId.",
        e.StaticReplaced,
        {"instance": "i-1", "old": M, "new": None, "phase": Phase.STABLE},
    ),
    (
        "Static member Some(i-1) of group g with unknown member id rejoins,"
        f" assigning new member id {N}, while old member id {M} will be removed.",
        e.StaticReplaced,
        {"instance": "i-1", "old": M, "new": N},
    ),
    (
        f"Member {M} in group g has left, removing it from the group",
        e.MemberLeft,
        {"member": M, "late": False},
    ),
    (
        f"Member[group.instance.id Some(i-1), member.id {M}] in group g has left,"
        " removing it from the group",
        e.MemberLeft,
        {"member": M, "instance": "i-1"},
    ),
    (
        f"Member {METADATA} has left group g through explicit `LeaveGroup`; client reason:"
        " the consumer is being closed",
        e.MemberLeft,
        {
            "member": M,
            "instance": "i-1",
            "client_reason": "the consumer is being closed",
            "timeouts": e.Timeouts(45000, 300000),
            "protocols": ("range", "cooperative-sticky"),
            "late": True,
        },
    ),
    (
        f"Member {METADATA} has left group g through explicit `LeaveGroup` request",
        e.MemberLeft,
        {"member": M, "late": True},
    ),
    (f"Pending member {M} is leaving group g.", e.MemberLeft, {"member": M, "pending": True}),
    (
        f"Pending member with memberId={M} has left group g through explicit `LeaveGroup` request",
        e.MemberLeft,
        {"member": M, "pending": True},
    ),
    (
        f"Member {M} in group g has failed, removing it from the group",
        e.MemberExpired,
        {"member": M, "pending": False},
    ),
    (
        f"Pending member {M} in group g has been removed after session timeout expiration.",
        e.MemberExpired,
        {"member": M, "pending": True},
    ),
    (
        f"Group g removed dynamic members who haven't joined: Set({M}, {N})",
        e.NotRejoined,
        {"members": (M, N)},
    ),
    (
        f"Group g remove dynamic members who haven't joined: Set({M})",
        e.NotRejoined,
        {"members": (M,)},
    ),
    (
        f"Group g removed members who haven't sent their sync request: Set({M})",
        e.NotSynced,
        {"members": (M,)},
    ),
    (
        f"Request memberId={M} for static member with groupInstanceId=i-1"
        f" is fenced by current memberId={N} during operation sync-group",
        e.Fenced,
        {"member": M, "current": N, "operation": "sync-group"},
    ),
    (
        f"Setting empty assignments for members Set({M}) of g for generation 5",
        e.EmptyAssignment,
        {"members": (M,), "generation": 5},
    ),
    (
        f"Sending empty assignment to member {M} of g for generation 5 with no errors",
        e.EmptyAssignment,
        {"members": (M,)},
    ),
    ("Failed to persist metadata for group g: The group is rebalancing", e.AppendFailed, {}),
    (
        "Loading group metadata for g with generation 5",
        e.GroupLoaded,
        {"generation": 5, "members": None},
    ),
    (
        f"Loaded member {METADATA} in group g with generation 5.",
        e.MemberLoaded,
        {"member": M, "generation": 5, "instance": "i-1"},
    ),
    (
        f"Static member {METADATA}.groupInstanceId of group g loaded"
        f" with member id {M} at generation 5.",
        e.MemberLoaded,
        {"member": M, "generation": 5},
    ),
    ("Unloading group metadata for g with generation 5", e.GroupUnloaded, {"generation": 5}),
]

LEFT = "has left group through explicit `LeaveGroup` request; client reason: x"
JAVA_LINES: list[tuple[str, type[e.Event], dict[str, Any]]] = [
    (
        "Preparing to rebalance group g in state PreparingRebalance"
        " with old generation 4 (reason: x).",
        e.RebalanceStarted,
        {"generation": 4},
    ),
    (
        "Stabilized group g generation 5 with 3 members.",
        e.Stabilized,
        {"generation": 5, "members": 3},
    ),
    (
        f"Assignment received from leader {M} for group g for generation 5."
        " The group has 3 members, 0 of which are static.",
        e.AssignmentReceived,
        {"leader": M, "members": 3},
    ),
    ("Group g with generation 6 is now empty.", e.GroupEmptied, {"generation": 6}),
    ("Group g is dead, skipping rebalance stage.", e.RoundSkipped, {}),
    ("Group g could not complete rebalance because no members rejoined.", e.RoundStuck, {}),
    (
        "Cannot complete join phase of group g because not all the members have rejoined."
        " Members=3, AwaitingJoinResponses=1, PendingJoinMembers=2.",
        e.RoundOpen,
        {"members": 3, "parked": 1, "pending": 2},
    ),
    (
        "Cannot complete join phase of group g because this is an initial rebalance.",
        e.RoundOpen,
        {"initial": True},
    ),
    (
        "Cannot complete join phase of group g because the group is in Stable state.",
        e.RoundOpen,
        {"phase": Phase.STABLE},
    ),
    (
        f"Dynamic member with unknown member id joins group g in Empty state."
        f" Created a new member id {M} and requesting the member to rejoin with this id.",
        e.IdHandedOut,
        {"member": M, "phase": Phase.EMPTY},
    ),
    (
        "Dynamic member with unknown member id joins group g in state Empty."
        f" Created a new member id {M} and added the member to the group.",
        e.MemberAdded,
        {"member": M, "fresh": True},
    ),
    (
        "Static member with groupInstanceId=i-1 and unknown member id joins group g"
        " in Empty state."
        f" Created a new member id {M} for this member and added to the group.",
        e.MemberAdded,
        {"member": M, "instance": "i-1"},
    ),
    (
        f"Pending dynamic member with id {M} joins group g in Empty state."
        " Adding to the group now.",
        e.MemberAdded,
        {"fresh": False},
    ),
    (
        f"[Group g] Member {M} {LEFT}",
        e.MemberLeft,
        {"member": M, "client_reason": "x", "late": False},
    ),
    (f"[Group g] Pending member {M} {LEFT}", e.MemberLeft, {"member": M, "pending": True}),
    (
        f"Member {M} in group g has failed, removing it from the group.",
        e.MemberExpired,
        {"member": M},
    ),
    (
        f"Group g removed dynamic members who haven't joined: [{M}, {N}]",
        e.NotRejoined,
        {"members": (M, N)},
    ),
    (
        f"Group g removed members who haven't sent their sync requests: [{M}]",
        e.NotSynced,
        {"members": (M,)},
    ),
    (
        f"Failed to persist metadata for group g static member {N}"
        " with group instance id i-1 due to no."
        f" Reverting to old member id {M}.",
        e.AppendFailed,
        {"reverted_to": M},
    ),
    (
        "Loaded generic group g with 2 members.",
        e.GroupLoaded,
        {"members": 2, "protocol": "classic"},
    ),
    (
        "Loaded classic group g with 2 members.",
        e.GroupLoaded,
        {"members": 2, "protocol": "classic"},
    ),
    (
        "Loaded consumer group g with 2 members.",
        e.GroupLoaded,
        {"members": 2, "protocol": "consumer"},
    ),
    (f"Loaded member {M} in classic group g.", e.MemberLoaded, {"member": M}),
    (
        "[GroupId=g] Unloading group metadata for generation 5.",
        e.GroupUnloaded,
        {"generation": 5, "protocol": "classic"},
    ),
    (
        "[GroupId=g] Unloaded group metadata for group epoch 5.",
        e.GroupUnloaded,
        {"generation": 5, "protocol": "other"},
    ),
    ("[GroupId g] Bumped group epoch to 5.", e.OtherProtocol, {"what": "epoch", "epoch": 5}),
    (
        "[GroupId g] Bumped group epoch to 5 with metadata hash -7.",
        e.OtherProtocol,
        {"what": "epoch", "epoch": 5},
    ),
    (
        "[GroupId g] Computed a new target assignment for epoch 5 with 'uniform' assignor in 1ms.",
        e.OtherProtocol,
        {"what": "target", "epoch": 5},
    ),
    (
        "[GroupId g] Computed a new target assignment for epoch 5"
        " with 'range' assignor in 1ms: {a=b}.",
        e.OtherProtocol,
        {"what": "target"},
    ),
    (
        "[GroupId g] Computed a new target assignment for epoch 5: {a=b}.",
        e.OtherProtocol,
        {"what": "target", "epoch": 5},
    ),
    (
        "[GroupId g] Member m new assignment state: epoch=5, previousEpoch=4, state=STABLE,"
        " assignedPartitions=[] and revokedPartitions=[].",
        e.OtherProtocol,
        {"what": "assignment", "epoch": 5, "detail": "STABLE", "member": "m"},
    ),
    (
        "[GroupId g] Member m joins the consumer group using the consumer protocol.",
        e.OtherProtocol,
        {"what": "joined", "protocol": "consumer"},
    ),
    (
        "[GroupId g] Member m joins the share group using the share protocol.",
        e.OtherProtocol,
        {"what": "joined", "protocol": "share"},
    ),
    (
        "[GroupId g][MemberId m] Member joins the streams group.",
        e.OtherProtocol,
        {"what": "joined", "protocol": "streams", "member": "m"},
    ),
    (
        "[GroupId g] Member m fenced from the group because the member session expired.",
        e.OtherProtocol,
        {"what": "fenced", "member": "m"},
    ),
    ("[GroupId g] Member m left the consumer group.", e.OtherProtocol, {"what": "left"}),
    (
        "[GroupId g] Converted the classic group to a consumer group.",
        e.Converted,
        {"protocol": "consumer", "was_empty": False},
    ),
    (
        "[GroupId g] Converted the empty consumer group to a classic group.",
        e.Converted,
        {"protocol": "classic", "was_empty": True},
    ),
]


def read(line: str) -> e.Event:
    """The event of a whole line."""
    sentence = coordinator_sentence(line)
    assert sentence is not None, line
    found = (JAVA if sentence.java else SCALA).find(sentence.text)
    assert found is not None, sentence.text
    row, fields = found
    place = {"line": 1, "time": sentence.time, "broker": sentence.broker}
    return event_of(row, convert(row.template.kinds, fields), place)


def check(event: e.Event, kind: type[e.Event], fields: dict[str, Any]) -> None:
    assert type(event) is kind
    assert event.group == (None if kind is e.Fenced else "g")  # that line names no group
    for name, value in fields.items():
        assert getattr(event, name) == value, name


@pytest.mark.parametrize(
    ("sentence", "kind", "fields"), SCALA_LINES, ids=lambda x: x[:60] if isinstance(x, str) else ""
)
def test_a_line_of_the_old_coordinator(
    sentence: str, kind: type[e.Event], fields: dict[str, Any]
) -> None:
    line = (
        f"[2024-10-25 17:25:16,582] INFO [GroupCoordinator 3]: {sentence}"
        " (kafka.coordinator.group.GroupCoordinator)"
    )
    event = read(line)
    check(event, kind, fields)
    assert (event.broker, event.time) == (3, 1729877116582)


@pytest.mark.parametrize(
    ("sentence", "kind", "fields"), JAVA_LINES, ids=lambda x: x[:60] if isinstance(x, str) else ""
)
def test_a_line_of_the_new_coordinator(
    sentence: str, kind: type[e.Event], fields: dict[str, Any]
) -> None:
    before = (
        "[2024-10-25 17:25:16,582] DEBUG [GroupCoordinator id=3 topic=__consumer_offsets"
        " partition=7] "
    )
    event = read(f"{before}{sentence} (org.apache.kafka.coordinator.group.GroupMetadataManager)")
    check(event, kind, fields)
    assert (event.broker, event.time) == (3, 1729877116582)


def test_the_life_of_a_coordinator_is_told_without_a_group() -> None:
    assert isinstance(
        read("[GroupCoordinator 1]: Starting up. (kafka.coordinator.group.GroupCoordinator)"),
        e.CoordinatorStarted,
    )
    assert isinstance(read("[GroupCoordinator id=1] Shutting down."), e.CoordinatorStopped)
    taken = read(
        "[GroupMetadataManager brokerId=1] Scheduling loading of offsets and group metadata from"
        " __consumer_offsets-9 for epoch 3"
    )
    assert isinstance(taken, e.PartitionTaken) and taken.partition == 9
    deleted = read(
        "[GroupCoordinator id=1 topic=__consumer_offsets partition=9] The following groups were"
        " deleted: a, b. A total of 4 offsets were removed."
    )
    assert isinstance(deleted, e.GroupsDeleted) and deleted.groups == ("a", "b")
