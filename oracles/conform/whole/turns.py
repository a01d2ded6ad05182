"""The steps of a whole group: what can happen to the real group, the commands for it, and the rules
of the model that the step may be.

The model handles messages in the step that sends them, so a real step consists of the same parts: a
member polls, the coordinator reads what it sent, and all members read their answers.

Something else may happen in the real group while a request is on its way; the model may then take
it before or after the request. Time is virtual and belongs to one process at a time: a member's
clock is set forward to make one of its own timers fire, and a timer of the coordinator fires by
name. So every order of timers is possible, and no schedule has to wait. A schedule has either many
faults or few, because members process and commit only if nothing disturbs them for some steps.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any

import attrs
from attrs import frozen

from groupcheck.model.protocol.classic import failover, timers
from groupcheck.model.protocol.classic.features.takeover import takeover_committed
from groupcheck.oracles.conform.whole.kinds import KINDS, Kind, May
from groupcheck.oracles.conform.whole.look import WATCHED, GroupLook, Look, MemberLook, SeatLook
from groupcheck.oracles.conform.whole.model import Chance, Plan


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


def commands(turn: Turn, look: Look) -> list[dict[str, Any]]:
    """The commands for the driver."""
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
    """The steps of the model that this step may be."""
    static = tuple([member.static for member in look.members])
    return _plan(turn, look.group.new_member_added, static)


@lru_cache(maxsize=1 << 12)
def _plan(turn: Turn, new_member_added: bool, static: tuple[bool, ...]) -> Plan:
    keys = [one.key for one in (turn, turn.meanwhile) if one and one.kind == "fire"]
    fired = frozenset(key.removeprefix(OF_MEMBER) for key in keys if key.startswith(OF_MEMBER))
    return Plan.of(_all_chances(turn, new_member_added, static), fired)


def _all_chances(turn: Turn, new_member_added: bool, static: tuple[bool, ...]) -> Chances:
    """Sequences of rules; an empty one is nothing. The rebalance timer of a group that is left
    without members fires at once, and the record of a takeover is replicated at once. `static`: of
    each member.
    """
    nobody = Chance(timers.rebalance_timeout.name, label="nobody")
    found = _chances(turn, len(static), new_member_added)
    if static[turn.member] and turn.kind not in OF_THE_GROUP:
        replicated = Chance(takeover_committed.name, turn.member)
        found = (*found, *((*chance, replicated) for chance in found if chance))
    found = (*found, *((*chance, nobody) for chance in found))
    if turn.meanwhile is None:
        return found
    other = _all_chances(turn.meanwhile, new_member_added, static)
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
    """The steps that can happen now, each with its weight."""

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
        """The steps that may happen before the coordinator reads the request of that step, with
        weights.
        """
        if turn.kind not in SENDS:
            return {}
        every = zip(self._turns, self._weights)
        return {other: weight for other, weight in every if _may_be_meanwhile(turn, other)}


def possible(look: Look, faults: float = 1, most: int | None = None) -> Possible:
    """The steps that can happen now. `faults`: how heavy faults are beside the rest. `most`: the
    members that a group may have. Static members may exceed that, and the model leaves out the
    round that a coordinator begins when it loads such a group.
    """
    kinds = tuple([_kinds(member, bool(look.appends)) for member in look.members])
    loads = most is None or all(len(r.members) <= most for r in look.logged if r)
    return _possible(kinds, _of_the_group(look.group, look.appends, loads), faults)


def _may_be_meanwhile(turn: Turn, inner: Turn) -> bool:
    """May the inner step happen before the coordinator reads the request of the other?"""
    if inner.kind in OF_THE_GROUP:
        return inner.kind != "fail_over"
    begins_append = inner.kind in ("sync", "poll early", "late", "lose answer to sync")
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
    """The steps that can happen, if these are the kinds of steps that each member can take."""
    members = [(KINDS[name].weight, Turn(name, i)) for i, mine in enumerate(kinds) for name in mine]
    return Possible(
        [
            (weight * (1 if turn.kind in CALM or turn.key == "join-g" else faults), turn)
            for weight, turn in (*members, *of_the_group)
        ]
    )


@lru_cache(maxsize=1 << 12)
def _of_the_group(
    group: GroupLook, appends: tuple[str, ...], loads: bool
) -> tuple[tuple[float, Turn], ...]:
    """The steps that the coordinator can take by itself, and the events that can happen to it.
    `loads`: may another one load the group?
    """
    return (*_by_itself(group, appends), *(_fail_overs(group, appends) if loads else ()))


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


def _fail_overs(group: GroupLook, appends: tuple[str, ...]) -> Iterator[tuple[float, Turn]]:
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
        if kind.static in (None, member.static) and kind.when(member)
        if not (appending and _is_owed(name, member))
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
    "close silently",
    "removed by an administrator",
)


def _fires(member: SeatLook | None) -> bool:
    """Does a session timer remove somebody? A parked request keeps a member that is not new."""
    if member is None:
        return True
    parked = member.awaiting_join or member.awaiting_sync
    return not parked or (member.new and member.awaiting_join)
