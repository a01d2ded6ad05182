"""Compares what the real member did with what the model's member does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from groupcheck.model.engine import evolve
from groupcheck.model.protocol.classic.client import Member, Prepare, beats
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.codes import NONE
from groupcheck.model.protocol.messages import (
    NO_GENERATION,
    NO_ID,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    OffsetCommit,
    Request,
    SyncGroup,
)
from groupcheck.oracles.conform.member.driver_details import fields, reason, timers
from groupcheck.oracles.conform.member.exceptions import FENCED, Compared, commit_callbacks, thrown
from groupcheck.oracles.conform.member.member_memory import (
    Failure,
    Input,
    Memory,
    Outcome,
    answered_in_callbacks,
    callbacks,
)
from groupcheck.oracles.conform.member.moves import TOPIC, Observations, Standing, name_of
from groupcheck.oracles.conform.member.rows import Rows
from groupcheck.oracles.conform.topics import topic_mask
from groupcheck.oracles.kafka.client import Call, Look, OpenRequest

LeftOver = tuple[str, bool]


def differences(
    rows: Rows,
    before: Memory,
    given: Input,
    outcome: Outcome,
    seen: Observations,
    standing: Standing,
) -> Iterator[str]:
    """The differences, one line each: `state: STABLE, the model UNJOINED`. `standing`: the schedule
    that led to the row.
    """
    told = [
        *_sent(before, given, outcome, seen, rows.scope),
        *_application(before, given, outcome, seen),
        *thrown(before, given, outcome, seen, standing),
        *commit_callbacks(before, given, outcome, seen),
        *reason(before, given, outcome, seen, standing),
        *timers(before, given, outcome, seen),
    ]
    if outcome.after is not None:
        told += _memory(rows, outcome.after, seen.steps[-1][1])
    for what, real, model in told:
        if real != model:
            yield f"{what}: {real!r}, the model {model!r}"


def before_differs(rows: Rows, before: Memory, seen: Observations) -> list[str]:
    """The differences between the real memory before the row and the row's memory."""
    return [
        f"before, {what}: {real!r}, the model {model!r}"
        for what, real, model in _memory(rows, before, seen.before)
        if real != model
    ]


def _memory(rows: Rows, m: Memory, look: Look) -> Iterator[Compared]:
    c = m.client
    yield "state", look.state, str(c.state)
    yield "generation", look.generation, c.generation
    yield "member id", look.member, name_of(c.id if m.late_id == NO_ID else m.late_id)
    # Outside STABLE a member always has to join; the model says so by the state alone.
    yield "rejoinNeeded", look.rejoin, c.state != Member.STABLE or c.rejoin
    yield "told to join again", look.rejoin and look.state == "STABLE", c.rejoin
    yield "needsJoinPrepare", look.prepare, c.prepare in (Prepare.NEEDED, Prepare.COMMITTED)
    yield "knows its coordinator", look.coordinator, m.known
    yield "owns", _mask(look.owned), c.owned
    positions = dict(_offsets(look.positions))
    position = positions.pop(0, -1)
    yield "position", position, c.position
    if rows.scope.cooperative:
        yield "positions elsewhere", positions, {}
    yield "processed without a position", False, c.dirty
    gives = position >= 0 and (TOPIC, 0) not in look.pending_revocation
    yield "gives records to the application", gives, rows.may_process(m)
    yield "in flight", _requests(look.sent, rows.scope), [_comparable(s.request) for s in m.flight]
    yield "unsent", look.unsent, ("SyncGroup",) if c.prepare == Prepare.SYNC else ()
    waits = look.committing if look.committing in ("sent", "retriable") else "none"
    yield "commit before JoinGroup", waits, _committing(m)
    if c.state == Member.STABLE:
        over = c.prepare == Prepare.COMMITTED and _committing(m) == "none"
        yield "its result is known", look.committing in ("done", "failed"), over
    yield "is fenced", any(e.thrown == FENCED for e in look.ended), m.fenced
    if beats(c) or c.prepare == Prepare.SYNC:
        yield "heartbeat thread", look.heart, "on"


def left_over(look: Look) -> LeftOver:
    """The state that Kafka's member holds of its commit before JoinGroup, and of JoinGroup or
    SyncGroup: a row's memory says only in part whether their results are still to be used.
    """
    return look.committing, look.joining


def _committing(m: Memory) -> str:
    if m.committing_first:
        return "sent"
    return "retriable" if m.failed == Failure.COMMIT else "none"


def _sent(
    before: Memory, given: Input, outcome: Outcome, seen: Observations, scope: Scope
) -> Iterator[Compared]:
    known = {s.n for s in seen.before.sent}
    new: dict[int, OpenRequest] = {}
    for _, look, _ in seen.steps:
        new |= {s.n: s for s in look.sent if s.n not in known}
    yield (
        "sends",
        _requests([new[n] for n in sorted(new)], scope),
        [_comparable(r) for r in outcome.sent],
    )
    yield from fields(before, given, outcome, [new[n] for n in sorted(new)], seen, scope)
    asks = sum(_asks(s) for s in new.values() if s.api == "OffsetFetch")
    yield "asks for the committed offsets of", asks, outcome.asks


def _application(
    before: Memory, given: Input, outcome: Outcome, seen: Observations
) -> Iterator[Compared]:
    calls = [call for _, look, _ in seen.steps for call in look.calls]
    told = [
        (c.call, _mask(c.partitions)) for c in calls if c.call in ("revoked", "lost", "assigned")
    ]
    yield "callbacks", told, callbacks(before, outcome)
    commits = [offset for c in calls for offset in _committed(c)]
    yield "committed", commits, list(_commits(before, given, outcome))


def _commits(before: Memory, given: Input, outcome: Outcome) -> Iterator[int]:
    if given.code == NONE:
        yield from (offset for _, offset in answered_in_callbacks(before, given, outcome))
    if given.does is None and given.code == NONE:
        request = before.flight[0].request
        if isinstance(request, OffsetCommit):
            yield request.offset


def _committed(call: Call) -> Iterator[int]:
    if call.call == "committed":
        yield from (offset for p, offset in _offsets(call.offsets) if p == 0)


def _offsets(given: Any) -> Iterator[tuple[int, int]]:
    for topic, partition, offset in given:
        assert topic == TOPIC
        yield partition, offset


def _mask(partitions: Any) -> int:
    return sum(1 << number for _, number in partitions)


def _requests(sent: Any, scope: Scope) -> list[Request]:
    asked = (s for s in sent if s.to == "coordinator" and s.api != "OffsetFetch")
    return [request for s in asked for request in _request(s, scope)]


def _comparable(request: Request) -> Request:
    """A request of the model without the generation in the user data: whether the coordinator
    takes two subscriptions for the same, whole groups show.
    """
    return evolve(request, assigned=NO_GENERATION) if isinstance(request, JoinGroup) else request


def _request(sent: OpenRequest, scope: Scope) -> Iterator[Request]:
    """The request that was sent; twice, if the subscriptions to two assignors are not alike."""
    d = sent.data
    if sent.api != "JoinGroup":
        yield _asked(sent)
        return
    for said in {_subscription(protocol, scope): None for protocol in d["protocols"]}:
        yield JoinGroup(_id(d["memberId"]), *said)


def _subscription(protocol: Any, scope: Scope) -> tuple[int, int, int]:
    """The generation, the topics and the partitions in the subscription to one assignor."""
    said = protocol["metadata"]
    topics = topic_mask(said["topics"], scope)
    return said["ownedGeneration"], topics, _mask((TOPIC, p) for p in said["owned"].get(TOPIC, ()))


def _asked(sent: OpenRequest) -> Request:
    d = sent.data
    match sent.api:
        case "SyncGroup":
            return SyncGroup(_id(d["memberId"]), d["generationId"])
        case "Heartbeat":
            return Heartbeat(_id(d["memberId"]), d["generationId"])
        case "LeaveGroup":
            (member,) = d["members"]
            return LeaveGroup(_id(member["memberId"]))
        case "OffsetCommit":
            (topic,) = d["topics"]
            offsets = {p["partitionIndex"]: p["committedOffset"] for p in topic["partitions"]}
            generation = d["generationIdOrMemberEpoch"]
            return OffsetCommit(_id(d["memberId"]), generation, offsets.get(0, -1))
    raise AssertionError(sent.api)


def _asks(sent: OpenRequest) -> int:
    """The partitions whose committed offsets an OffsetFetch asks for, as a bit mask."""
    (group,) = sent.data["groups"]
    return sum(1 << p for topic in group["topics"] for p in topic["partitionIndexes"])


def _id(member: str) -> int:
    return NO_ID if not member else int(member.removeprefix("c-"))
