"""When members join, how long a round waits for them, and what makes them forget who they are."""

from __future__ import annotations

from typing import Any

from groupcheck.model.engine import step_invariant
from groupcheck.model.protocol.classic import client as members
from groupcheck.model.protocol.classic import client_faults, coordinator, walks
from groupcheck.model.protocol.classic.client import Prepare
from groupcheck.model.protocol.classic.group import Phase
from groupcheck.model.protocol.classic.rounds import Complete, Restart
from groupcheck.model.protocol.codes import ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID
from groupcheck.model.protocol.family import CLASSIC_GROUP
from groupcheck.model.protocol.messages import NO_GENERATION, Store


@step_invariant(
    "core",
    rules=(coordinator.join_group.name,),
    source="KIP-134",
    broken="the first round of the group does not wait for its initial delay",
    of=CLASSIC_GROUP,
)
def first_round_waits(before: Any, after: Any) -> bool:
    """The first round of an Empty group waits for its initial delay.

    Why: processes that start together shall form one generation, and not one after the other.
    """
    begins = before.core.phase == Phase.EMPTY != after.core.phase
    return bool(after.core.initial) or not begins


@step_invariant(
    "core",
    "walk",
    rules=(walks.end_walk.name,),
    source="ClassicGroup.hasAllMembersJoined, rebalanceTimeoutMs; KAFKA-8653",
    broken="a round completes before {core.members} members could join",
    of=CLASSIC_GROUP,
)
def rounds_wait_for_members(before: Any, after: Any) -> bool:
    """A round that has just begun completes in the same step only if all members have joined.

    Why: those that have not would be removed before they could hear of the round. Their next
    JoinGroup would remove the others.
    """
    if not isinstance(before.walk.errand, Restart):
        return True
    ends = any(isinstance(errand, Complete) for errand in after.core.errands)
    return not ends or bool(after.core.all_joined)


@step_invariant(
    "client",
    rules=(
        client_faults.disconnect.name,
        client_faults.lose_response.name,
        members.request_timeout.name,
    ),
    source="AbstractCoordinator.JoinGroupResponseHandler; KAFKA-13214",
    broken="{name} forgets its member id because its connection broke",
    of=CLASSIC_GROUP,
)
def id_survives_disconnect(before: Any, after: Any) -> bool:
    """A member whose request gets no answer keeps its id.

    Why: the coordinator knows the member by this id. Under another one it would be a second member,
    and rounds would wait for the first one until its session expires.
    """
    return bool(after.client.id == before.client.id)


@step_invariant(
    "client",
    rules=(members.send_join.name,),
    source="ConsumerCoordinator.onJoinPrepare; KAFKA-14024",
    broken="{name} has committed before it joins, and will do so again",
    of=CLASSIC_GROUP,
)
def commits_once_before_joining(before: Any, after: Any, label: str) -> bool:
    """Before it joins, a member commits once; its next request is JoinGroup.

    A commit that fails for a moment is sent again. Why: the round waits for its JoinGroup, and
    removes the member if that does not come.
    """
    return label != "committed_first" or after.client.prepare == Prepare.COMMITTED


@step_invariant(
    "client",
    "link",
    rules=(members.heartbeat_answer.name, members.sync_answer.name, members.commit_answer.name),
    source="AbstractCoordinator.resetStateAndRejoin; protocol: C2 with zombies",
    broken="{name} is told that it is out of the group, and goes on",
    of=CLASSIC_GROUP,
)
def refusal_ends_membership(before: Any, after: Any) -> bool:
    """A member that is told 22 (ILLEGAL_GENERATION) or 25 (UNKNOWN_MEMBER_ID) in answer to a
    request of its present id and generation forgets its generation.

    Why: the group goes on without it, and others may own its partitions. It joins again, and gives
    up what it owns before that.
    """
    answer, client = before.link.answer, before.client
    asked = answer.request.commit if isinstance(answer.request, Store) else answer.request
    refused = answer.code in (ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID)
    mine = (asked.id, asked.generation) == (client.id, client.generation)
    return not (refused and mine) or after.client.generation == NO_GENERATION
