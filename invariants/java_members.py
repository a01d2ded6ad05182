"""What Java's member of a consumer group promises: who is out of the group consumes nothing, each
thread ends what the other one waits for, and heartbeats say what the coordinator has to know.
"""

from __future__ import annotations

from typing import Any

from groupcheck.model.engine import invariant, step_invariant
from groupcheck.model.protocol.codes import NONE
from groupcheck.model.protocol.consumer import java_rules
from groupcheck.model.protocol.consumer.client import Member
from groupcheck.model.protocol.consumer.java_member import Calls, JavaMember, Phase
from groupcheck.model.protocol.consumer.memory import Seat, State
from groupcheck.model.protocol.consumer.messages import LEAVES, Kind, Link, Request, Tag, idle
from groupcheck.model.protocol.consumer.scope import ConsumerScope
from groupcheck.model.protocol.family import JAVA_MEMBERS

OUT = (Member.UNSUBSCRIBED, Member.JOINING)


def _asked(client: JavaMember, *calls: Calls) -> bool:
    """Does the application run one of these, or will it?"""
    events = (*client.waiting, client.running) if client.running else client.waiting
    return any(event.calls in calls for event in events)


@invariant(
    of=JAVA_MEMBERS,
    source="AbstractMembershipManager.clearAssignment; KAFKA-16258, KAFKA-17017",
    broken="a process that is not in the group consumes partitions",
)
def who_is_out_consumes_nothing(client: JavaMember) -> bool:
    """A process that is not in the group, or is about to join it, consumes nothing once its
    application has been told.

    Why: the coordinator may have given its partitions to others long ago.
    """
    told = not _asked(client, Calls.LOST, Calls.LEAVING, Calls.CLOSING)
    return client.state not in OUT or not client.holds or not told


@invariant(
    of=JAVA_MEMBERS,
    source="AbstractMembershipManager.transitionToFenced; KAFKA-16215, KAFKA-16178",
    broken="a member that was fenced never joins again",
)
def fenced_member_joins_again(client: JavaMember) -> bool:
    """A fenced member joins again: at once, or after onPartitionsLost has returned."""
    return client.state != Member.FENCED or _asked(client, Calls.LOST)


@invariant(
    of=JAVA_MEMBERS,
    source="AbstractMembershipManager.leaveGroup; KAFKA-16933",
    broken="a member that is to leave never leaves",
)
def leaving_member_leaves(client: JavaMember) -> bool:
    """A member that prepares to leave does leave, once onPartitionsRevoked has returned."""
    return client.state != Member.PREPARE_LEAVING or _asked(client, Calls.LEAVING)


@invariant(
    of=JAVA_MEMBERS,
    source="AbstractMembershipManager.revokeAndAssign; KAFKA-20860",
    broken="nothing ends the reconciliation, and no other one can begin",
)
def reconciliation_ends(client: JavaMember) -> bool:
    """Every reconciliation ends: the commit or the callback that it waits for is under way.

    Why: while one is under way, no other one begins.
    """
    if client.taking is None or client.taking.phase == Phase.COMMIT:
        return True
    waits = Calls.REVOKED if client.taking.phase == Phase.REVOKE else Calls.ASSIGNED
    return _asked(client, waits)


@invariant(
    of=JAVA_MEMBERS,
    source="KIP-848, topicPartitions of the request; KAFKA-16185, KAFKA-16312",
    broken="a member has given up what it should, and never says so",
)
def revocation_is_answered(seat: Seat | None, client: JavaMember, link: Link) -> bool:
    """A member that has revoked what it had to tells the coordinator in a heartbeat.

    Why: until then its epoch stands still, and the next owners wait.
    """
    quiet = idle(link) and link.late is None and link.tag == Tag.CURRENT and not client.full
    if seat is None or seat.parked or not quiet or client.state != Member.STABLE:
        return True
    return not client.said or seat.state != State.UNREVOKED


@invariant(
    of=JAVA_MEMBERS,
    source="SubscriptionState.enablePartitionsAwaitingCallback; KIP-848",
    broken="a member has acknowledged an assignment that it does not consume",
)
def acknowledged_is_consumed(client: JavaMember) -> bool:
    """A member that has taken its assignment consumes all of it."""
    settled = client.state in (Member.ACKNOWLEDGING, Member.STABLE)
    return not settled or not client.current & ~client.holds


@invariant(
    of=JAVA_MEMBERS,
    source="AsyncKafkaConsumer.unsubscribe",
    broken="the application is out of unsubscribe(), and its callback has yet to run",
)
def unsubscribe_runs_its_callback(client: JavaMember) -> bool:
    """unsubscribe() does not return before its callback has returned.

    Why: after the callback the member leaves. By then the application may have subscribed again,
    and that subscription would end.
    """
    return client.unsubscribing or not _asked(client, Calls.LEAVING)


@invariant(
    of=JAVA_MEMBERS,
    source="ConsumerMembershipManager.onHeartbeatSuccess; KAFKA-19335",
    broken="a process counts itself a member, and has the epoch of one that has left",
)
def member_has_an_epoch(client: JavaMember) -> bool:
    """A member never has the epoch of a leave (-1 or -2).

    Why: its next heartbeat would remove it from the group.
    """
    return not client.ended


def _new_request(before: Any, after: Any) -> Request | None:
    """The heartbeat that a step has sent."""
    request: Request | None = after.link.request
    if request is not None:
        return request
    sent = [after.link.out, *after.link.behind]
    known = [before.link.out, *before.link.behind]
    return sent[-1] if len(sent) > len(known) or known[0] is None else None


@step_invariant(
    "client",
    "link",
    rules=(java_rules.java_heartbeat.name,),
    source="ConsumerHeartbeatRequestManager.buildRequestData; KAFKA-16190",
    broken="a join lacks a field, so the coordinator refuses it for good (42)",
    of=JAVA_MEMBERS,
)
def join_carries_everything(before: Any, after: Any) -> bool:
    """A member that joins sends all fields, and owns nothing."""
    request = _new_request(before, after)
    if before.client.state != Member.JOINING or request is None:
        return True
    complete = request.full and request.owned == 0 and request.subscribed is not None
    return request.kind == Kind.JOIN and complete


@step_invariant(
    "client",
    "link",
    rules=(
        java_rules.java_callback_returns.name,
        java_rules.application_unsubscribes.name,
        java_rules.application_closes.name,
    ),
    source="AbstractMembershipManager.transitionToSendingLeaveGroup; librdkafka #4672",
    broken="a member leaves without a word, and its partitions wait for the end of its session",
    of=JAVA_MEMBERS,
)
def leave_is_sent(before: Any, after: Any) -> bool:
    """A member that leaves sends a last heartbeat, even while another one is on its way.

    Exempt is one that does not know its coordinator.
    """
    leaves = before.client.beats and after.client.state == Member.UNSUBSCRIBED
    if not leaves or not before.client.known:
        return True
    request = _new_request(before, after)
    return request is not None and request.kind in LEAVES


@step_invariant(
    "client",
    "link",
    rules=(
        java_rules.java_callback_returns.name,
        java_rules.application_unsubscribes.name,
    ),
    source="KIP-848, leaving; librdkafka #5541",
    broken="a member leaves, and its application still has partitions that others may be given",
    of=JAVA_MEMBERS,
)
def who_leaves_has_given_up(before: Any, after: Any) -> bool:
    """A member sends its leave only after its application has revoked all partitions."""
    request = _new_request(before, after)
    leaves = request is not None and request.kind in LEAVES
    return not leaves or not _asked(after.client, Calls.LEAVING)


@step_invariant(
    "client",
    "link",
    rules=(
        java_rules.java_callback_returns.name,
        java_rules.application_unsubscribes.name,
        java_rules.application_closes.name,
        java_rules.java_poll_timeout.name,
    ),
    source="KIP-848, static membership; Dekaf #1348",
    broken="a static member gives up its place, and the group is rebalanced",
    of=JAVA_MEMBERS,
)
def static_member_keeps_its_place(before: Any, after: Any) -> bool:
    """A static member leaves with epoch -2, never with -1."""
    request = _new_request(before, after)
    return not before.link.static or request is None or request.kind != Kind.LEAVE


@step_invariant(
    "client",
    "link",
    rules=(java_rules.java_hears.name,),
    source="ConsumerMembershipManager.onHeartbeatSuccess",
    broken="a process that has left becomes a member by the answer to an old heartbeat",
    of=JAVA_MEMBERS,
)
def member_joins_by_its_join(before: Any, after: Any) -> bool:
    """A process that joins becomes a member by the answer to its join, and by no older answer."""
    answer = before.link.answer
    if answer is None or answer.code != NONE or before.client.state != Member.JOINING:
        return True
    return not answer.before or after.client.state == Member.JOINING


@step_invariant(
    "client",
    rules=(java_rules.application_polls.name, java_rules.background_reconciles.name),
    source="KAFKA-20145",
    broken="a member acknowledges what it has acknowledged, so heartbeats follow without a pause",
    of=JAVA_MEMBERS,
)
def part_is_acknowledged_once(before: Any, after: Any, scope: ConsumerScope) -> bool:
    """From Kafka 4.4 on, a member that can take only a part of its assignment acknowledges it once.

    Why: an acknowledgement is sent at once, and changes nothing that the next one would wait for.
    """
    again = before.client.partial and after.client.partial
    acknowledges = after.client.state == Member.ACKNOWLEDGING
    return not (again and acknowledges and scope.java_release.acknowledges_once)


@step_invariant(
    "client",
    "link",
    rules=(java_rules.java_hears.name,),
    source="KIP-848, KIP-1082; franz-go 2f945862",
    broken="a member takes another id, and its place waits for the end of its session",
    of=JAVA_MEMBERS,
)
def member_keeps_its_id(before: Any, after: Any) -> bool:
    """A process keeps its member id for life.

    Why: with another id, its former place would stay taken until its session ends.
    """
    return not after.link.dead or before.link.dead


@step_invariant(
    "client",
    "link",
    rules=(java_rules.java_hears.name,),
    source="N6 EpochOrder",
    broken="a member goes back to an older epoch",
    of=JAVA_MEMBERS,
)
def known_epoch_grows(before: Any, after: Any) -> bool:
    """The epoch of a member never goes back, until it joins again."""
    answer = before.link.answer
    heard = answer is not None and answer.code == NONE and not answer.last
    if not heard or not before.client.beats or before.client.state == Member.JOINING:
        return True
    return bool(after.link.tag <= before.link.tag)
