"""The other details that a row shows of Kafka's member: the fields and reasons of its requests, and
its timers.

Reasons and timers are compared as changes: what was seen before the row and what happens in it
determine what must be seen after it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from groupcheck.model.protocol.classic.client import Member, Prepare
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.codes import (
    FENCED_INSTANCE_ID,
    ILLEGAL_GENERATION,
    MEMBER_ID_REQUIRED,
    NONE,
    REBALANCE_IN_PROGRESS,
    UNKNOWN_MEMBER_ID,
    name_of,
)
from groupcheck.model.protocol.messages import (
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    OffsetCommit,
    SyncGroup,
)
from groupcheck.oracles.conform.member import moves
from groupcheck.oracles.conform.member.exceptions import Compared, failure
from groupcheck.oracles.conform.member.member_memory import (
    BACKS_OFF,
    LOST,
    Does,
    During,
    Failure,
    Input,
    Memory,
    Outcome,
    answered_in_callbacks,
    callbacks,
    revokes,
    thread_runs,
)
from groupcheck.oracles.conform.member.model_rules import POLL_TIMEOUT
from groupcheck.oracles.conform.member.moves import Observations, Standing
from groupcheck.oracles.kafka.client import OpenRequest

RESETS = (ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID)
APIS = {
    JoinGroup: "JOIN_GROUP",
    SyncGroup: "SYNC_GROUP",
    Heartbeat: "HEARTBEAT",
    OffsetCommit: "OFFSET_COMMIT",
}
CLOSED = "the consumer is being closed"
UNSUBSCRIBED = "the consumer unsubscribed from all topics"
LATE = "consumer poll timeout has expired."
REVOKES = "need to revoke partitions and re-join"
VOID = "rebalance failed since the generation/state was modified by heartbeat thread"


# -- fields


def fields(
    before: Memory,
    given: Input,
    outcome: Outcome,
    new: list[OpenRequest],
    seen: Observations,
    scope: Scope,
) -> Iterator[Compared]:
    """The fields of the requests other than ids, generations, claims and offsets."""
    assignors = moves.setup_of(scope).assignors
    for sent in new:
        d: Mapping[str, Any] = sent.data
        if sent.api in ("JoinGroup", "SyncGroup", "Heartbeat", "OffsetCommit"):
            instance = moves.INSTANCE if scope.static_count else None
            yield f"{sent.api}'s instance id", d["groupInstanceId"], instance
        if sent.api == "JoinGroup":
            said = (
                d["sessionTimeoutMs"],
                d["rebalanceTimeoutMs"],
                d["protocolType"],
                [(protocol["name"], protocol["metadata"]["topics"]) for protocol in d["protocols"]],
            )
            wanted: tuple[Any, ...] = (
                moves.SESSION_MS,
                moves.POLL_MS,
                "consumer",
                [(name, [moves.TOPIC]) for name in assignors],
            )
            yield "JoinGroup's fields", said, wanted
            yield "JoinGroup's reason", d["reason"], seen.steps[-1][1].reason
        elif sent.api == "SyncGroup":
            plan = {s["memberId"]: sorted(s["assignment"][moves.TOPIC]) for s in d["assignments"]}
            leads = seen.before.leader or seen.steps[-1][1].leader
            every = [*range(scope.partition_count)]
            yield "SyncGroup's plan", plan, {d["memberId"]: every} if leads else {}
            yield (
                "SyncGroup's protocol",
                (d["protocolType"], d["protocolName"]),
                ("consumer", assignors[0]),
            )
        elif sent.api == "LeaveGroup":
            why = LATE
            if outcome.after is None:
                why = CLOSED
            elif given.does == Does.UNSUBSCRIBE and not (
                given.during == During.LASTS and thread_runs(before)
            ):
                why = UNSUBSCRIBED
            yield "LeaveGroup's reason", d["members"][0].get("reason"), why


# -- the reason of the next JoinGroup


def reason(
    before: Memory, given: Input, outcome: Outcome, seen: Observations, standing: Standing
) -> Iterator[Compared]:
    """Why the member will join again."""
    real = seen.steps[-1][1].reason
    wanted = _reason(before, given, outcome, seen.before.reason, standing)
    if wanted is not None:
        yield "reason", real[: len(VOID)] if wanted == VOID else real, wanted


def _reason(m: Memory, given: Input, outcome: Outcome, was: str, standing: Standing) -> str | None:
    after = outcome.after
    if after is None or outcome.reason is not None:
        return outcome.reason
    if outcome.installed and revokes(m.client):
        return REVOKES
    if outcome.raised:
        return was
    silent = given.does == Does.NO_POLL and f"{POLL_TIMEOUT}:silent" in outcome.rules
    if silent or any(isinstance(r, LeaveGroup) for r in outcome.sent):
        return "consumer pro-actively leaving the group"
    if given.does in (Does.POLL, Does.BREAK_POLL, Does.NO_ANSWER):
        return _noticed(m, was, standing)
    if given.does is not None:
        return was
    request, code = m.flight[0].request, given.code
    if isinstance(request, JoinGroup) and code == MEMBER_ID_REQUIRED:
        return f"need to re-join with the given member-id: {moves.name_of(given.id)}"
    if isinstance(request, SyncGroup) and code == NONE:
        return "" if after.client.state == Member.STABLE else was
    if isinstance(request, Heartbeat) and code == REBALANCE_IN_PROGRESS:
        return "group is already rebalancing" if m.client.state == Member.STABLE else was
    if isinstance(request, OffsetCommit) and code == REBALANCE_IN_PROGRESS:
        return "offset commit failed since group is already rebalancing"
    heartbeat_fenced = isinstance(request, Heartbeat) and code == FENCED_INSTANCE_ID
    if any(r.endswith(":refused") for r in outcome.rules) or (
        heartbeat_fenced and after.client.failed
    ):
        error = name_of(code).partition(" ")[2]
        return f"encountered {error} from {APIS[type(request)]} response"
    return was


def _noticed(m: Memory, was: str, standing: Standing) -> str | None:
    """A poll that notices that JoinGroup or SyncGroup has failed says so."""
    if m.failed == Failure.JOIN:
        return f"rebalance failed due to {failure(standing)}"
    unfinished = m.client.state in (Member.PREPARING, Member.COMPLETING, Member.UNJOINED)
    return None if unfinished else was


# -- timers


def timers(
    before: Memory, given: Input, outcome: Outcome, seen: Observations
) -> Iterator[Compared]:
    """Milliseconds until each timer is over."""
    if outcome.after is None:
        return
    was, now = seen.before, seen.steps[-1][1]
    passed = now.now - was.now
    yield "milliseconds passed", passed, _passed(before, given, outcome)
    after = outcome.after
    if was.heart == now.heart == "on":
        wanted = {name: max(0, ms - passed) for name, ms in was.timers.items()}
        anew = _set_anew(before, given, outcome)
        wanted |= {
            name: max(0, ms - _in_callbacks(before, given, outcome)) for name, ms in anew.items()
        }
        if given.during == During.OUTLASTS and not after.known and _beating(before):
            # A second callback lasts longer than this back-off.
            once = len(callbacks(before, outcome)) == 1
            wanted["heartbeat"] = moves.BACKOFF_MS if once else 0
        wanted |= _heard_meanwhile(before, given, outcome)
        for name in ("session", "heartbeat", "poll"):
            yield f"timer {name}", now.timers.get(name), wanted[name]
    waits = after.paused
    left = now.timers.get("joinPrepare")
    yield "timer joinPrepare runs", left is not None, waits
    started = waits and not before.paused
    if started and given.does == Does.POLL:
        yield "timer joinPrepare", left, moves.POLL_MS
    elif waits and before.paused:
        yield "timer joinPrepare", left, max(0, was.timers["joinPrepare"] - passed)


def _passed(m: Memory, given: Input, outcome: Outcome) -> int:
    return _by_itself(given) + _in_callbacks(m, given, outcome)


def _in_callbacks(m: Memory, given: Input, outcome: Outcome) -> int:
    """The time that the rebalance callbacks take."""
    each = {During.LASTS: moves.POLL_MS, During.OUTLASTS: moves.SESSION_MS}.get(given.during, 0)
    if given.during == During.COMMITS:
        each = moves.BACKOFF_MS if given.code in BACKS_OFF else 0
        return each * len(answered_in_callbacks(m, given, outcome))
    if given.during == During.BEATS:
        return moves.HEARTBEAT_MS * _sent_meanwhile(m, outcome)
    return each * len(callbacks(m, outcome))


def _sent_meanwhile(m: Memory, outcome: Outcome) -> int:
    """How many of the heartbeats that are answered in callbacks are sent in them."""
    return max(0, len(outcome.beats) - _beating(m))


def _heard_meanwhile(m: Memory, given: Input, outcome: Outcome) -> dict[str, int]:
    """The timers that the last heartbeat in a callback, and its answer, start anew: no time passes
    after it.
    """
    if not outcome.beats:
        return {}
    found = {"heartbeat": moves.HEARTBEAT_MS} if _sent_meanwhile(m, outcome) else {}
    if given.code in (NONE, REBALANCE_IN_PROGRESS):
        return {**found, "session": moves.SESSION_MS}
    return found if given.code == FENCED_INSTANCE_ID else {"heartbeat": moves.BACKOFF_MS}


def _by_itself(given: Input) -> int:
    times = {
        Does.BEAT: moves.HEARTBEAT_MS,
        Does.SILENCE: moves.SESSION_MS,
        Does.NO_POLL: moves.POLL_MS,
        Does.BREAK_LEAVING: moves.POLL_MS,
        Does.NO_ANSWER: moves.POLL_MS,
    }
    return times.get(given.does, 0) if given.does is not None else 0


def _beating(m: Memory) -> bool:
    return m.waits_for(Heartbeat)


def _set_anew(m: Memory, given: Input, outcome: Outcome) -> dict[str, int]:
    """The timers that this row starts anew."""
    found: dict[str, int] = {}
    polls = given.does in (Does.POLL, Does.NO_ANSWER, Does.BREAK_POLL)
    if given.does == Does.BREAK_POLL and m.client.prepare == Prepare.SYNC:
        polls = False  # the network is polled, not the member
    if m.fenced:
        polls = False  # every poll throws first of all
    if polls:
        found["poll"] = moves.POLL_MS
    if given.does == Does.POLL and not m.known and not m.fenced:
        found["session"] = moves.SESSION_MS
    if any(isinstance(r, Heartbeat) for r in outcome.sent):
        found["heartbeat"] = moves.HEARTBEAT_MS
    lost = [s.request for s in m.flight]
    if given.does is None:
        first, *others = lost
        lost = others if given.code in LOST and not isinstance(first, LeaveGroup) else []
        if isinstance(first, Heartbeat):
            # 22, 25 and 82 to another generation count as a good heartbeat, as 0 and 27 do.
            stale = given.code in RESETS and all(r.endswith(":ignored") for r in outcome.rules)
            if given.code in (NONE, REBALANCE_IN_PROGRESS) or stale:
                found["session"] = moves.SESSION_MS
            elif given.code != FENCED_INSTANCE_ID:
                found["heartbeat"] = moves.BACKOFF_MS
        if (
            isinstance(first, JoinGroup)
            and given.code == NONE
            and m.client.state == (Member.PREPARING)
        ):
            found = {
                "session": moves.SESSION_MS,
                "heartbeat": moves.HEARTBEAT_MS,
                "poll": moves.POLL_MS,
            }
    elif given.does not in (Does.BREAK, Does.SILENCE, Does.BREAK_LEAVING):
        lost = []
    if any(isinstance(r, Heartbeat) for r in lost):
        found["heartbeat"] = moves.BACKOFF_MS
    return found
