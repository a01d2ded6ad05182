"""The worlds of one group that fit what its request log has said so far.

A world is a memory of the model's coordinator with what the log adds to it: the number of the
current generation, which request of the log waits on which index, which requests are not handled
yet, and from which request the assignment is. A step is kept only if its answers are those of the
log, at the times of the log.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import Factory, define, evolve, field, frozen

from groupcheck.model.protocol.classic import coordinator, failover, timers
from groupcheck.model.protocol.classic.group import Phase
from groupcheck.model.protocol.codes import (
    COORDINATOR_LOAD_IN_PROGRESS,
    COORDINATOR_NOT_AVAILABLE,
    GROUP_MAX_SIZE_REACHED,
    ILLEGAL_GENERATION,
    MEMBER_ID_REQUIRED,
    NONE,
    NOT_COORDINATOR,
    REBALANCE_IN_PROGRESS,
    UNKNOWN_MEMBER_ID,
)
from groupcheck.traces.exchanges import (
    CommitExchange,
    Exchange,
    HeartbeatExchange,
    JoinExchange,
    LeaveExchange,
    SyncExchange,
)
from groupcheck.traces.requests.seats import Seating
from groupcheck.traces.requests.steps import Ask, Coordinator, Memory, Outcome, Told
from groupcheck.traces.requests.story import Step, Story, told_of

Judged = JoinExchange | SyncExchange | HeartbeatExchange | LeaveExchange | CommitExchange

SLACK_MS = 10.0
"""Two moments of the log that are this close may have been in the other order."""
LATENESS_MS = 100.0
"""How long an answer may take from the coordinator's step to the connection."""
PATIENT_MS = 10_000.0
"""The same, if nothing else explains the log (a broker that stood still)."""

AWAY = frozenset({COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR})
"""Answers of a broker that is not, or not yet, the group's coordinator; its memory has no part."""
OF_THE_GROUP = frozenset(
    {
        NONE,
        ILLEGAL_GENERATION,
        UNKNOWN_MEMBER_ID,
        REBALANCE_IN_PROGRESS,
        MEMBER_ID_REQUIRED,
        GROUP_MAX_SIZE_REACHED,
    }
)
"""Answers that depend on the group's memory. All others depend only on the request (sizes,
permissions, versions) and change nothing.
"""
FAILED_APPEND = frozenset({COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR, -1})
_UNSEEN = -2  # the number of a subscription that no line shows
GONE = frozenset({*AWAY, -1})


@frozen(cache_hash=True)
class World:
    """A memory of the model's coordinator, and what the log adds to it. A request is given by the
    number of its line.
    """

    memory: Memory
    # The current generation; None as long as it is not known.
    base: int | None = None
    # (index, request that is parked).
    parked: tuple[tuple[int, int], ...] = ()
    # (request that has arrived and is not handled yet, the moment by which it must be).
    waiting: tuple[tuple[int, float], ...] = ()
    # The leader's SyncGroup whose assignment is in force or being written, and the one whose
    # assignment a fail-over loads.
    plan: int | None = None
    kept_plan: int | None = None
    # Indexes whose parked JoinGroup no line shows.
    unseen: frozenset[int] = frozenset()
    # When the group was loaded last.
    reloaded: float = field(default=float("-inf"), eq=False)
    # When the phase began, at the earliest.
    since: float = field(default=float("-inf"), eq=False)
    story: Story | None = field(default=None, eq=False)

    def is_open(self, request: int) -> bool:
        """Has it arrived without having been answered?"""
        return any(r == request for _, r in self.parked) or any(
            r == request for r, _ in self.waiting
        )

    def told(self) -> str:
        generation = "" if self.base is None else f" in generation {self.base}"
        return (
            f"{self.memory.phase}{generation} with {len(self.memory.members)} members,"
            f" {len(self.memory.joining)} of them parked"
        )


@define
class Rules:
    """The steps of a group's worlds."""

    coordinator: Coordinator
    seating: Seating
    # Requests that are not answered yet in some world, by number.
    open: dict[int, Exchange] = Factory(dict)
    # The leaders' assignments by request: member id -> bytes.
    plans: dict[int, dict[str, bytes]] = Factory(dict)
    # A number for each set of protocols of a JoinGroup.
    claims: dict[tuple[tuple[str, bytes], ...], int] = Factory(dict)
    # When a fail-over showed last.
    interrupted: float = float("-inf")
    # How long an answer may take.
    lateness: float = LATENESS_MS

    # -- requests

    def handle(self, world: World, e: Judged, now: float) -> Iterator[World]:
        """The worlds after the coordinator has handled the request and answered (now, or later) as
        the log says.
        """
        if e.code is None or e.code not in OF_THE_GROUP:
            yield world
            if e.code not in FAILED_APPEND | AWAY or not isinstance(e, JoinExchange | SyncExchange):
                return
        if isinstance(e, LeaveExchange):
            yield from self._leave(world, e, now)
            return
        if isinstance(e, CommitExchange) and (
            e.generation < 0 or (e.code == ILLEGAL_GENERATION and not world.memory.members)
        ):
            yield world  # from outside the group, or to a group that does not exist any more
            return
        ask = self.ask(world, e)
        for outcome in self.coordinator.ask(world.memory, ask):
            after = self._after(world, outcome, now, e, ask.index)
            if after is not None:
                yield after

    def ask(self, world: World, e: Judged) -> Ask:
        """The request in the model's words."""
        if isinstance(e, JoinExchange):
            index = self.seating.index(e.member or e.told)
            full = e.code == GROUP_MAX_SIZE_REACHED
            return Ask(
                "join",
                index,
                fresh=not e.member,
                two_step=e.version >= 4,
                claimed=self._claim(e),
                full=full,
            )
        index = self.seating.index(e.member)
        if isinstance(e, LeaveExchange):
            return Ask("leave", index)
        kind = (
            "sync"
            if isinstance(e, SyncExchange)
            else "heartbeat"
            if isinstance(e, HeartbeatExchange)
            else "commit"
        )
        return Ask(kind, index, current=world.base is not None and e.generation == world.base)

    def allowed(self, world: World, e: Judged) -> set[int | None]:
        """The codes with which the coordinator may answer at once; None: it parks the request."""
        return {
            o.own.code if o.own else None
            for o in self.coordinator.ask(world.memory, self.ask(world, e))
        }

    def despite(self, world: World, e: Judged) -> Iterator[World]:
        """The worlds after a request, whatever it was answered, in which the replay goes on after
        an answer that cannot be.
        """
        for outcome in self.coordinator.ask(world.memory, self.ask(world, e)):
            if outcome.own is not None and not outcome.told:
                yield self._moved(world, outcome, dict(world.parked), world.base, e.began, None)

    def _claim(self, e: JoinExchange) -> int:
        """A number for the member's protocols; equal protocols have equal numbers."""
        if len(self.claims) > 10_000:
            self.claims.clear()
        return self.claims.setdefault(e.protocols, len(self.claims))

    def _leave(self, world: World, e: LeaveExchange, now: float) -> Iterator[World]:
        """The members of one LeaveGroup leave one after the other."""
        worlds = [world]
        for leaver in e.leavers:
            following = []
            for w in worlds:
                for outcome in self.coordinator.ask(
                    w.memory, Ask("leave", self.seating.index(leaver.member))
                ):
                    if outcome.own is not None and leaver.code in (outcome.own.code, None):
                        after = self._told(w, outcome, now, dict(w.parked))
                        if after is not None:
                            parked, base = after
                            following.append(
                                self._moved(w, outcome, parked, base, now, e, leaver.member)
                            )
            worlds = following
        yield from worlds

    # -- what the coordinator does by itself

    def fire(
        self, world: World, rule: str, index: int | None, now: float, e: Exchange
    ) -> Iterator[World]:
        """The worlds after a timer has fired or an append has ended. `index`: the member that it
        concerns; `e`: what the log shows next.
        """
        for outcome in self.coordinator.fire(world.memory, rule, index or 0):
            found = self._told(world, outcome, now, dict(world.parked))
            if found is not None:
                when = min(
                    [
                        now,
                        *(
                            self.open[r].given
                            for i, r in world.parked
                            if any(t.index == i for t in outcome.told)
                        ),
                    ]
                )
                yield self._moved(
                    world,
                    outcome,
                    *found,
                    when,
                    e,
                    "" if index is None else self.seating.name(index),
                )

    def fail_over(self, world: World, now: float) -> Iterator[World]:
        """The group is unloaded, all waiting requests are refused, and it is loaded again."""
        for _, request in world.parked:
            e = self.open[request]
            if e.code not in GONE or not now - 2 * SLACK_MS <= e.given <= now + self.lateness:
                return
        for outcome in self.coordinator.fire(world.memory, failover.fail_over.name, 0):
            base = None if world.base is None else world.base + outcome.on
            moved = self._moved(world, outcome, {}, base, now, None)
            plan = world.plan if not outcome.on else world.kept_plan
            yield evolve(moved, plan=plan, kept_plan=plan, unseen=frozenset(), reloaded=now)

    def unseen_join(self, world: World, index: int, now: float, e: Exchange) -> Iterator[World]:
        """A JoinGroup over a connection that broke while it was parked: it is never answered, and a
        later one takes its place.
        """
        for outcome in self.coordinator.unheard(world.memory, Ask("join", index, claimed=_UNSEEN)):
            if index in outcome.after.joining and index not in world.memory.joining:
                found = self._told(world, outcome, now, dict(world.parked))
                if found is not None:
                    moved = self._moved(world, outcome, *found, now, e, self.seating.name(index))
                    yield evolve(moved, unseen=world.unseen | {index}, since=world.since)

    # -- one outcome

    def _after(
        self, world: World, outcome: Outcome, now: float, e: Judged, index: int
    ) -> World | None:
        parked = dict(world.parked)
        if outcome.own is None and index in parked:
            return None  # the parked request would never be answered, but the log has its answer
        refused = (
            outcome.own is None and isinstance(e, JoinExchange) and e.code == UNKNOWN_MEMBER_ID
        )
        if refused and self.lateness < PATIENT_MS and e.given - e.began < 2 * SLACK_MS:
            # Parked, and its member removed at the same moment: only if nothing else explains it.
            return None
        found = self._told(world, outcome, now, parked, e if outcome.own is None else None, index)
        if found is None:
            return None
        parked, base = found
        if outcome.own is not None:
            if outcome.own.code != e.code:
                return None
            named = self._named(world, outcome, e, index, base)
            if named is None:
                return None
            base = named[0]
        after = self._moved(world, outcome, parked, base, now, e, self.seating.name(index))
        if outcome.rules[0].startswith(f"{coordinator.sync_group.name}:led"):
            after = evolve(after, plan=e.line)
        return evolve(after, unseen=after.unseen - {index})

    def _told(
        self,
        world: World,
        outcome: Outcome,
        now: float,
        parked: dict[int, int],
        e: Judged | None = None,
        index: int = -1,
    ) -> tuple[dict[int, int], int | None] | None:
        """Who still waits, and the generation, if every answer to a parked request is the one in
        the log; None if not.

        `e`: the request at hand on `index`, which is parked, or answered in this same step.
        """
        base = None if world.base is None else world.base + outcome.on
        if e is not None:
            parked[index] = e.line
        for told in outcome.told:
            request = parked.pop(told.index, None)
            if request is None:
                return None  # a request that no line shows would have been answered
            x = e if e is not None and request == e.line else self.open[request]
            if (
                x.given < now - 2 * SLACK_MS
                or x.given > now + self.lateness
                or not _same_code(told, x, outcome)
            ):
                return None
            named = self._named(world, outcome, x, told.index, base, anew=told is outcome.told[0])
            if named is None:
                return None
            base = named[0]
        waits = outcome.after.joining | outcome.after.syncing
        return (parked, base) if all(i in waits for i in parked) else None

    def _named(
        self,
        world: World,
        outcome: Outcome,
        e: Exchange,
        index: int,
        base: int | None,
        anew: bool = False,
    ) -> tuple[int | None] | None:
        """The generation, if the answer names what the memory holds (generation, leader, members;
        the member's share); None if it does not.
        """
        memory = outcome.after
        if isinstance(e, JoinExchange) and e.code == NONE:
            if base is None or (anew and e.to_generation == 1 and world.memory.initial):
                # Not known so far; or the group had been deleted and begins again.
                base = e.to_generation
            names = self.seating.name
            if (
                memory.leader is None
                or e.to_generation != base
                or e.told != names(index)
                or e.leader != names(memory.leader)
            ):
                return None
            expected = {names(i) for i in memory.members} if index == memory.leader else set()
            if {id for id, _ in e.members} != expected or (
                e.chosen and all(e.chosen != name for name, _ in e.protocols)
            ):
                return None
        if isinstance(e, SyncExchange) and e.code == NONE:
            plan = self.plans.get(world.plan) if world.plan is not None else None
            if plan is not None and e.share != plan.get(e.member, b""):
                return None
        return (base,)

    def _moved(
        self,
        world: World,
        outcome: Outcome,
        parked: dict[int, int],
        base: int | None,
        now: float,
        e: Exchange | None,
        who: str = "",
    ) -> World:
        after = outcome.after
        turned = outcome.on != 0 or (
            after.phase != world.memory.phase and after.phase != Phase.STABLE
        )
        settled = after.phase == Phase.STABLE and world.memory.phase != Phase.STABLE
        leader = "" if world.memory.leader is None else self.seating.name(world.memory.leader)
        story = told_of(
            world.story,
            Step(world.memory, outcome, base, now, e, who, leader),
            self.seating.names_of,
        )
        return World(
            after,
            base,
            tuple(sorted(parked.items())),
            world.waiting,
            world.plan,
            world.plan if settled else world.kept_plan,
            world.unseen & after.joining,
            world.reloaded,
            now if turned else world.since,
            story,
        )


def _same_code(told: Told, e: Exchange, outcome: Outcome) -> bool:
    if outcome.rules[0] == timers.append_failed.name and told.code == COORDINATOR_NOT_AVAILABLE:
        return e.code in FAILED_APPEND
    return told.code == e.code
