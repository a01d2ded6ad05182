"""The steps of a whole group: what can happen to the real group, the commands for it, and the rules
of the model that the step may be.

The model handles messages in the step that sends them, so a real step consists of the same parts: a
member polls, the coordinator reads what it sent, and all members read their answers.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any

import attrs
from attrs import field, frozen

from groupcheck.model.engine.rule import Rule
from groupcheck.model.protocol.classic import client, client_faults, failover, offsets, timers
from groupcheck.oracles.conform.whole.look import WATCHED, GroupLook, Look, MemberLook, SeatLook
from groupcheck.oracles.conform.whole.model import Chance, Plan
from groupcheck.oracles.conform.whole.real import sync_waits

# A rule of the model, or one of its outcomes.
May = Rule | tuple[Rule, str]


@frozen
class Turn:
    """One step of a schedule."""

    # The name of a kind of step.
    kind: str
    # The member that it concerns.
    member: int = 0
    # The timer that fires, or the records that a fail-over keeps.
    key: str = ""
    # What happens after the member has sent its request, before the coordinator reads it.
    meanwhile: Turn | None = None

    def __str__(self) -> str:
        at = "" if self.kind in OF_THE_GROUP else f" of member {self.member}"
        key = f" ({self.key})" if self.key else ""
        return f"{self.kind}{at}{key}" + (f", meanwhile {self.meanwhile}" if self.meanwhile else "")


OF_MEMBER = "heartbeat-g-"  # with which the key of a member's timer begins
OF_THE_GROUP = ("fire", "replicate", "fail_over")
Chances = tuple[tuple[Chance, ...], ...]


@frozen
class Kind:
    """A kind of step of one member."""

    # How often it is drawn, beside the others.
    weight: float
    # May it happen now?
    when: Callable[[MemberLook], bool]
    # Commands of the driver; `i` is added to each but `settle`.
    commands: tuple[str, ...]
    # The sequences of rules that it may be; an empty one is nothing.
    chances: tuple[tuple[May, ...], ...]
    # More fields of the commands, from the member's look.
    fields: Callable[[MemberLook], Mapping[str, Any]] = field(default=lambda member: {})


def running(m: MemberLook) -> bool:
    return not m.failed and not m.closing


def idle(m: MemberLook) -> bool:
    """None of its requests waits at the coordinator or on the connection."""
    return running(m) and m.outstanding is None and not m.unread and not m.unsent


def unread(m: MemberLook) -> bool:
    """Could the coordinator read a request, other than the SyncGroup after a JoinGroup?"""
    return bool(m.unread) and m.outstanding is None and not sync_waits(m)


def wants_to_join(m: MemberLook) -> bool:
    return idle(m) and m.rejoin and not (m.state == "STABLE" and m.joining)


def is_due(m: MemberLook) -> bool:
    """Would a poll join, or run onJoinComplete?"""
    return wants_to_join(m) or (idle(m) and m.state == "STABLE" and m.joining)


def commits_first(m: MemberLook) -> bool:
    """Will it commit before it joins?"""
    fresh = m.state == "STABLE" and m.prepare and m.committing in ("none", "retriable")
    return wants_to_join(m) and m.auto and fresh and not m.prepare_over and has_position(m)


def has_position(m: MemberLook) -> bool:
    return m.position >= 0


def can_commit(m: MemberLook) -> bool:
    stable = m.state == "STABLE" and m.prepare and m.committing == "none"
    return idle(m) and stable and not m.joining and has_position(m)


def can_fetch(m: MemberLook) -> bool:
    owned = bool(m.owned >> WATCHED & 1)
    return idle(m) and owned and not has_position(m) and m.committing == "none"


def beats(m: MemberLook) -> bool:
    return idle(m) and m.heart == "on" and not m.poll_over


def leaves(m: MemberLook) -> bool:
    """Would it send LeaveGroup, if it closed?"""
    joined = m.state != "UNJOINED" and m.id != ""
    return not m.closing and joined and m.coordinator and not m.unsent and not m.unread


def may_leave(m: MemberLook) -> bool:
    """Would it send LeaveGroup, and does it go on?"""
    return running(m) and leaves(m)


def closes(m: MemberLook) -> bool:
    settled = not has_position(m) or m.committing == "none"
    return may_leave(m) and settled and (m.outstanding is not None or idle(m))


def closes_unjoined(m: MemberLook) -> bool:
    """Has it kept its id, although it has left its generation? Then it sends no LeaveGroup."""
    return idle(m) and m.state == "UNJOINED" and m.id != ""


def times_out(m: MemberLook) -> bool:
    active = m.state in ("COMPLETING_REBALANCE", "STABLE")
    return may_leave(m) and m.heart == "on" and active and not sync_waits(m)


def started(m: MemberLook) -> bool:
    return bool(m.failed or m.closing or m.id or m.owned or m.state != "UNJOINED")


def loses(m: MemberLook) -> bool:
    """Would a poll take a cooperative member's partitions, while it waits for an answer?"""
    return m.state == "UNJOINED" and m.owned != 0


JOINS = (client.send_join,)
COMPLETES = (client.join_complete,)
NOTHING: tuple[May, ...] = ()
READ = ("flush", "settle")
KINDS: dict[str, Kind] = {
    "poll": Kind(8, is_due, ("poll", *READ), (JOINS, COMPLETES, (*COMPLETES, *JOINS), NOTHING)),
    "poll early": Kind(
        0.3,
        lambda m: running(m) and not is_due(m) and not unread(m) and not loses(m),
        ("poll", *READ),
        ((client.send_sync,), JOINS, NOTHING),
    ),
    "sync": Kind(
        6, lambda m: running(m) and sync_waits(m), ("network", *READ), ((client.send_sync,),)
    ),
    "beat": Kind(2, beats, ("beat", *READ), ((client.send_heartbeat,), NOTHING)),
    # Its heartbeat thread is not on; then the model's member sends no heartbeat either.
    "beat while off": Kind(
        0.4,
        lambda m: idle(m) and m.heart != "on" and not m.poll_over,
        ("beat", *READ),
        ((client.send_heartbeat,), NOTHING),
    ),
    "fetch": Kind(6, can_fetch, ("fetch", "settle"), ((offsets.fetch_offset,),)),
    "process": Kind(
        2,
        lambda m: running(m) and has_position(m) and m.committing == "none",
        ("position",),
        ((offsets.process_record,),),
        lambda m: {"offset": m.position + 1},
    ),
    "commit": Kind(1.5, can_commit, ("commit", *READ), ((client.send_commit,),)),
    "read": Kind(
        6,
        unread,
        READ,
        ((timers.read_next,),),
    ),
    "late": Kind(0.4, lambda m: m.late is not None, ("late", "settle"), ((timers.late_request,),)),
    "crash": Kind(0.2, started, ("kill", "settle"), ((client_faults.crash,),)),
    "restart": Kind(1, lambda m: bool(m.failed), ("kill", "settle"), ((client_faults.crash,),)),
    "close stopped": Kind(
        4,
        lambda m: bool(m.failed) and leaves(m) and m.outstanding is None,
        ("close", *READ),
        (((client_faults.close, "heard"),),),
    ),
    "disconnect": Kind(
        0.4,
        lambda m: running(m) and m.outstanding is not None,
        ("cut", "settle"),
        ((client_faults.disconnect,), (client.request_timeout,)),
    ),
    "lose answer": Kind(
        0.4,
        wants_to_join,
        ("poll", "void", "settle"),
        ((client_faults.lose_response,), COMPLETES, NOTHING),
    ),
    "lose answer to sync": Kind(
        0.4,
        lambda m: running(m) and sync_waits(m),
        ("network", "void", "settle"),
        ((client_faults.lose_response,),),
    ),
    "lose answer to commit": Kind(
        0.5, can_commit, ("commit", "void", "settle"), ((client_faults.lose_response,),)
    ),
    "lose sync": Kind(
        0.3,
        lambda m: running(m) and sync_waits(m),
        ("network", "cut", "settle"),
        (((client_faults.lose_request, "sync"),),),
    ),
    "lose commit": Kind(
        4,
        commits_first,
        ("poll", "cut", "wait", "settle"),
        (((client_faults.lose_request, "commit"),),),
    ),
    "delay": Kind(
        0.6,
        lambda m: wants_to_join(m) and m.late is None,
        ("poll", "delay", "settle"),
        ((client_faults.delay_request,), COMPLETES, NOTHING),
    ),
    "delay sync": Kind(
        0.4,
        lambda m: running(m) and sync_waits(m) and m.late is None,
        ("network", "delay", "settle"),
        ((client_faults.delay_request,),),
    ),
    "delay commit": Kind(
        1.5,
        lambda m: can_commit(m) and m.late is None,
        ("commit", "delay", "settle"),
        ((client_faults.delay_request,),),
    ),
    "poll time-out": Kind(
        0.3, times_out, ("pollTimeout", *READ), (((client_faults.poll_timeout, "heard"),),)
    ),
    "poll time-out unheard": Kind(
        0.2,
        times_out,
        ("pollTimeout", "cut", "settle"),
        (((client_faults.poll_timeout, "unheard"),),),
    ),
    "close": Kind(
        0.3,
        closes,
        ("close", *READ),
        (
            ((client_faults.close, "heard"),),
            (client.send_commit, (client_faults.close, "heard")),
            ((client_faults.close, "behind"),),
        ),
    ),
    "close unjoined": Kind(
        1, closes_unjoined, ("close", *READ), (((client_faults.close, "unheard"),),)
    ),
    "close unheard": Kind(
        0.2, closes, ("close", "cut", "kill", "settle"), (((client_faults.close, "unheard"),),)
    ),
}


def commands(turn: Turn, look: Look) -> list[dict[str, Any]]:
    """What the driver is told."""
    if turn.kind == "fire":
        return [{"op": "fire", "timer": turn.key}, {"op": "settle"}]
    if turn.kind == "replicate":
        return [{"op": "replicate", "on": True}, {"op": "settle"}]
    if turn.kind == "fail_over":
        return [{"op": "failOver", "keep": turn.key}, {"op": "settle"}]
    kind, member = KINDS[turn.kind], look.members[turn.member]
    more = {"i": turn.member, "partition": WATCHED, **kind.fields(member)}
    told = [{"op": op} if op == "settle" else {"op": op, **more} for op in kind.commands]
    return told[:1] + (commands(turn.meanwhile, look) if turn.meanwhile else []) + told[1:]


def plan(turn: Turn, look: Look) -> Plan:
    """What the step may be in the model."""
    return _plan(turn, len(look.members), look.group.new_member_added)


@lru_cache(maxsize=1 << 12)
def _plan(turn: Turn, members: int, new_member_added: bool) -> Plan:
    keys = [one.key for one in (turn, turn.meanwhile) if one and one.kind == "fire"]
    fired = frozenset(key.removeprefix(OF_MEMBER) for key in keys if key.startswith(OF_MEMBER))
    return Plan.of(_all_chances(turn, members, new_member_added), fired)


def _all_chances(turn: Turn, members: int, new_member_added: bool) -> Chances:
    """Sequences of rules; an empty one is nothing. The rebalance timer of a group that is left
    without members fires at once.
    """
    nobody = Chance(timers.rebalance_timeout.name, label="nobody")
    found = _chances(turn, members, new_member_added)
    found = (*found, *((*chance, nobody) for chance in found))
    if turn.meanwhile is None:
        return found
    other = _all_chances(turn.meanwhile, members, new_member_added)
    return tuple(order for a in found for b in other for order in (a + b, b + a))


def _chances(turn: Turn, members: int, new_member_added: bool) -> Chances:
    if turn.kind == "replicate":
        return ((Chance(timers.append_committed.name),),)
    if turn.kind == "fail_over":
        return ((Chance(failover.fail_over.name),),)
    if turn.kind != "fire":
        return tuple(_of_kind(KINDS[turn.kind], turn.member))
    if turn.key == "join-g":
        # The initial delay may be extended for a member of an earlier round (FINDINGS).
        left_over: Chances = ((),) if new_member_added else ()
        return (
            (Chance(timers.initial_delay.name),),
            (Chance(timers.rebalance_timeout.name),),
            *left_over,
        )
    if turn.key == "sync-g":
        return ((Chance(timers.sync_timeout.name),),)
    if turn.key.startswith("append-"):
        return ((Chance(timers.append_failed.name),),)
    # The timer of an id that was rejected finds nobody.
    rules = (timers.session_timeout, timers.new_member_timeout)
    return (*((Chance(rule.name, i),) for rule in rules for i in range(members)), ())


def _of_kind(kind: Kind, member: int) -> Iterator[tuple[Chance, ...]]:
    begin = [_chance(order[0], member) for order in kind.chances if order]
    for order in kind.chances:
        found = tuple([_chance(may, member) for may in order])
        yield found or (Chance("", member, unless=tuple(sorted({c.rule for c in begin}))),)


def _chance(may: May, member: int) -> Chance:
    rule, label = may if isinstance(may, tuple) else (may, "")
    return Chance(rule.name, member, label)


class Possible:
    """What can happen now, each with its weight."""

    def __init__(self, found: Sequence[tuple[float, Turn]]) -> None:
        """`found`: without what happens meanwhile."""
        self._weights = [weight for weight, _ in found]
        self._turns = [turn for _, turn in found]
        self._sums = list(accumulate(self._weights))

    def __contains__(self, turn: Turn) -> bool:
        outer, inner = attrs.evolve(turn, meanwhile=None), turn.meanwhile
        return outer in self._turns and (inner is None or inner in self._meanwhile(outer))

    def drawn(self, dice: random.Random) -> Turn:
        """One of them at random, perhaps with another one meanwhile."""
        (turn,) = dice.choices(self._turns, cum_weights=self._sums)
        if turn.kind not in SENDS or dice.random() > MEANWHILE:
            return turn
        inner = self._meanwhile(turn)
        if not inner:
            return turn
        (other,) = dice.choices([*inner], [*inner.values()])
        return attrs.evolve(turn, meanwhile=other)

    def _meanwhile(self, turn: Turn) -> dict[Turn, float]:
        """What may happen before the coordinator reads the request of that step, with weights."""
        if turn.kind not in SENDS:
            return {}
        every = zip(self._turns, self._weights)
        return {other: weight for other, weight in every if _may_be_meanwhile(turn, other)}


def possible(look: Look, faults: float = 1) -> Possible:
    """What can happen now. `faults`: how heavy faults are beside the rest."""
    kinds = tuple([_kinds(member, bool(look.appends)) for member in look.members])
    return _possible(kinds, _of_the_group(look.group, look.appends), faults)


def _may_be_meanwhile(turn: Turn, inner: Turn) -> bool:
    """May the inner step happen before the coordinator reads the request of the other?"""
    if inner.kind in OF_THE_GROUP:
        return inner.kind != "fail_over"
    begins_append = inner.kind in ("sync", "poll early", "late")
    return inner.member != turn.member and not (begins_append and turn.kind in OWED)


# Kinds of steps whose first command sends a request, and how likely it is that something else
# happens before the coordinator reads it.
SENDS = ("poll", "sync", "beat", "commit")
MEANWHILE = 0.15
CALM = (
    *("poll", "sync", "beat", "fetch", "process", "commit", "read", "replicate", "late"),
    *("beat while off", "restart", "close stopped"),
)


@lru_cache(maxsize=1 << 12)
def _possible(
    kinds: tuple[tuple[str, ...], ...], of_the_group: tuple[tuple[float, Turn], ...], faults: float
) -> Possible:
    """What can happen, if these are the kinds of steps that each member can take."""
    members = [(KINDS[name].weight, Turn(name, i)) for i, mine in enumerate(kinds) for name in mine]
    return Possible(
        [
            (weight * (1 if turn.kind in CALM or turn.key == "join-g" else faults), turn)
            for weight, turn in (*members, *of_the_group)
        ]
    )


@lru_cache(maxsize=1 << 12)
def _of_the_group(group: GroupLook, appends: tuple[str, ...]) -> tuple[tuple[float, Turn], ...]:
    """What the coordinator can do by itself, and what can happen to it."""
    return tuple(_by_itself(group, appends))


def _by_itself(group: GroupLook, appends: tuple[str, ...]) -> Iterator[tuple[float, Turn]]:
    members = dict(group.members)
    for key, _ in group.timers:
        if key == "join-g":
            joined = not group.pending_join and all(m.awaiting_join for m in members.values())
            yield 4 if joined else 0.7, Turn("fire", key=key)
        elif key == "sync-g":
            yield 0.3, Turn("fire", key=key)
        elif _fires(members.get(key.removeprefix(OF_MEMBER))):
            yield 0.2, Turn("fire", key=key)
    if appends:
        yield 6, Turn("replicate")
        yield 0.6, Turn("fire", key=appends[0])
    if group.exists:
        yield 0.2, Turn("fail_over", key="committed")
        if appends:
            yield 0.4, Turn("fail_over", key="all")


@lru_cache(maxsize=1 << 14)
def _kinds(member: MemberLook, appending: bool) -> tuple[str, ...]:
    """The kinds of steps that a member can take."""
    return tuple(
        name
        for name, kind in KINDS.items()
        if kind.when(member) and not (appending and _is_owed(name, member))
    )


def _is_owed(kind: str, member: MemberLook) -> bool:
    """Would an answer wait for an append that was begun before? Such steps are not drawn: the rows
    of the coordinator have them.
    """
    waits = ("LeaveGroup", "OffsetCommit", "Heartbeat")
    if kind == "read":
        return member.unread[0].api in waits
    if kind == "late":
        return member.late is not None and member.late.api in waits
    return kind in OWED


OWED = (
    "beat",
    "commit",
    "lose answer to commit",
    "poll time-out",
    "close",
    "close stopped",
)


def _fires(member: SeatLook | None) -> bool:
    """Does a session timer remove somebody? A parked request keeps a member that is not new."""
    if member is None:
        return True
    parked = member.awaiting_join or member.awaiting_sync
    return not parked or (member.new and member.awaiting_join)
