"""The steps of the worlds of one group that fit what its request log has said so far. A step is
kept only if its answers are those of the log, at the times of the log.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import Factory, define, evolve

from groupcheck.model.protocol.classic import coordinator, failover, timers
from groupcheck.model.protocol.classic.features import takeover
from groupcheck.model.protocol.classic.group import Phase
from groupcheck.model.protocol.codes import (
    COORDINATOR_LOAD_IN_PROGRESS,
    COORDINATOR_NOT_AVAILABLE,
    FENCED_INSTANCE_ID,
    GROUP_MAX_SIZE_REACHED,
    ILLEGAL_GENERATION,
    MEMBER_ID_REQUIRED,
    NONE,
    NOT_COORDINATOR,
    REBALANCE_IN_PROGRESS,
    UNKNOWN_MEMBER_ID,
)
from groupcheck.model.protocol.messages import NO_ID
from groupcheck.traces.exchanges.exchange import (
    CommitExchange,
    Exchange,
    HeartbeatExchange,
    JoinExchange,
    LeaveExchange,
    Leaver,
    SyncExchange,
)
from groupcheck.traces.requests.answers import LISTS_MEMBERS, Answers, KnownNames
from groupcheck.traces.requests.coordinator_steps import Ask, Coordinator, Outcome, Response
from groupcheck.traces.requests.member_indexes import (
    Ids,
    Instance,
    MemberIndexes,
    MemberTimers,
    id_at,
    id_of,
    ids_in_memory,
    with_id,
)
from groupcheck.traces.requests.story import Step, story_after
from groupcheck.traces.requests.world import GroupWorld, Plan

JudgedAssignment = JoinExchange | SyncExchange | HeartbeatExchange | LeaveExchange | CommitExchange

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
        FENCED_INSTANCE_ID,
    }
)
"""Answers that depend on the group's memory. All others depend only on the request (sizes,
permissions, versions) and change nothing.
"""
FAILED_APPEND = frozenset({COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR, -1})
CONNECTIONS_KEPT = 10_000
_UNSEEN = -2  # the number of a subscription that no line shows
GONE = frozenset({*AWAY, -1})


@define
class Rules:
    """The steps of a group's worlds."""

    coordinator: Coordinator
    indexes: MemberIndexes
    # Requests that are not answered yet in some world, by number.
    open: dict[int, Exchange] = Factory(dict)
    # The leaders' assignments by request: member id -> bytes.
    plans: dict[int, dict[str, bytes]] = Factory(dict)
    # A number for each set of protocols of a JoinGroup.
    claims: dict[tuple[tuple[str, bytes], ...], int] = Factory(dict)
    # The names of the protocols of each number.
    assignors: dict[int, tuple[str, ...]] = Factory(dict)
    # Member id -> its last request, the connection of that, and the one before.
    connections: dict[str, tuple[int, str, str]] = Factory(dict)
    # When a fail-over showed last.
    interrupted: float = float("-inf")
    # How long an answer may take.
    lateness: float = LATENESS_MS

    # -- requests

    def handle(self, world: GroupWorld, e: JudgedAssignment, now: float) -> Iterator[GroupWorld]:
        """The worlds after the coordinator has handled the request and answered (now, or later) as
        the log says.
        """
        if not self._could_send(world, e):
            return
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
        for ask in self.asks(world, e):
            for outcome in self.coordinator.ask(world.memory, ask):
                after = self._after(world, outcome, now, e, ask.index)
                if after is not None:
                    yield after

    def asks(self, world: GroupWorld, e: JudgedAssignment) -> Iterator[Ask]:
        """The request in the model's words. Several: no line shows which one it was."""
        if isinstance(e, LeaveExchange):
            yield from (ask for x in e.leavers if (ask := self._ask_leave(world, x)) is not None)
            return
        index, id = self._who(world, id_of(e), e.instance)
        named = e.instance is not None
        if isinstance(e, JoinExchange):
            ask = Ask(
                "join",
                index,
                id if e.member else NO_ID,
                named,
                two_step=e.version >= 4,
                claimed=self._claim(e),
                full=e.code == GROUP_MAX_SIZE_REACHED,
            )
            yield ask
            if not e.member and self._votes_anew(world, index, e):
                yield evolve(ask, revote=True)
            return
        kind = (
            "sync"
            if isinstance(e, SyncExchange)
            else "heartbeat"
            if isinstance(e, HeartbeatExchange)
            else "commit"
        )
        current = world.base is not None and e.generation == world.base
        yield Ask(kind, index, id, named, current=current)

    def connects(self, e: Exchange) -> None:
        """Notes over which connection a member goes on."""
        if not e.member or isinstance(e, LeaveExchange):
            return
        _, before, _ = self.connections.pop(e.member, (0, "", ""))
        if len(self.connections) >= CONNECTIONS_KEPT:
            del self.connections[next(iter(self.connections))]
        self.connections[e.member] = (e.line, e.connection, before)

    def _used(self, world: GroupWorld, member: str) -> str:
        """The connection of the member's last request that was handled."""
        request, last, before = self.connections.get(member, (0, "", ""))
        return before if world.is_open(request) else last

    def _could_send(self, world: GroupWorld, e: JudgedAssignment) -> bool:
        """Not over a connection on which a JoinGroup still waits that no line shows."""
        if isinstance(e, LeaveExchange) or not world.unseen:
            return True
        index = self.indexes.index(self.indexes.key(id_of(e), e.instance))
        return (index, e.connection) not in world.unseen

    def _who(self, world: GroupWorld, member: str, instance: str | None) -> tuple[int, int]:
        """(index, number of the member id)"""
        key = self.indexes.key(member, instance)
        index = self.indexes.index(key)
        return index, world.number(index, member) if isinstance(key, Instance) else 0

    def _ask_leave(self, world: GroupWorld, leaver: Leaver) -> Ask | None:
        """None: the request names nobody."""
        if not leaver.member and leaver.instance is None:
            return None
        index, id = self._who(world, leaver.member, leaver.instance)
        named = leaver.instance is not None
        return Ask("leave", index, id if leaver.member else NO_ID, named)

    def _votes_anew(self, world: GroupWorld, index: int, e: JoinExchange) -> bool:
        """May the group's vote for an assignor come out differently, because the static member
        takes the place of an id with other assignors? (A fail-over loads only the chosen one of
        each member. With other members the vote comes out for that again.)
        """
        was = world.memory.claimed(index)
        if was is None or world.memory.phase != Phase.STABLE:
            return False
        before = self.assignors.get(was)
        alone = len(world.memory.members) == 1 and world.reloaded > float("-inf")
        return alone or before != _names(e.protocols)

    def allowed(self, world: GroupWorld, e: JudgedAssignment) -> set[int | None]:
        """The codes with which the coordinator may answer at once; None: it parks the request."""
        return {
            o.own.code if o.own else None
            for ask in self.asks(world, e)
            for o in self.coordinator.ask(world.memory, ask)
        }

    def despite(self, world: GroupWorld, e: JudgedAssignment) -> Iterator[GroupWorld]:
        """The worlds after a request, whatever it was answered, in which the replay goes on after
        an answer that cannot be.
        """
        for ask in self.asks(world, e):
            for outcome in self.coordinator.ask(world.memory, ask):
                if outcome.own is not None and not outcome.responses:
                    parked, known = dict(world.parked), KnownNames(world.base, world.ids)
                    yield self._moved(world, outcome, parked, known, e.began, None)

    def _claim(self, e: JoinExchange) -> int:
        return self.claim(e.protocols)

    def claim(self, protocols: tuple[tuple[str, bytes], ...]) -> int:
        """A number for a member's protocols; equal protocols have equal numbers."""
        if len(self.claims) > 10_000:
            self.claims.clear()
            self.assignors.clear()
        number = self.claims.setdefault(protocols, len(self.claims))
        self.assignors[number] = _names(protocols)
        return number

    def life(self, world: GroupWorld, index: int) -> MemberTimers:
        """The timers of the member with that index."""
        return self.indexes.lives.get(world.id(index, self.indexes)) or MemberTimers()

    def _leave(self, world: GroupWorld, e: LeaveExchange, now: float) -> Iterator[GroupWorld]:
        """The members of one LeaveGroup leave one after the other."""
        worlds = [world]
        for leaver in e.leavers:
            following = []
            for w in worlds:
                ask = self._ask_leave(w, leaver)
                if ask is None:
                    following += [w] if leaver.code in (UNKNOWN_MEMBER_ID, None) else []
                    continue
                who = w.id(ask.index, self.indexes)
                for outcome in self.coordinator.ask(w.memory, ask):
                    if outcome.own is not None and leaver.code in (outcome.own.code, None):
                        after = self._after_responses(w, outcome, now, dict(w.parked))
                        if after is not None:
                            following.append(self._moved(w, outcome, *after, now, e, who))
            worlds = following
        yield from worlds

    # -- what the coordinator does by itself

    def fire(
        self, world: GroupWorld, rule: str, index: int | None, now: float, e: Exchange
    ) -> Iterator[GroupWorld]:
        """The worlds after a timer has fired or an append has ended. `index`: the member that it
        concerns; `e`: what the log shows next.
        """
        waits = dict(world.parked).get(index) if index is not None else None
        version = self.open[waits].version if waits is not None else LISTS_MEMBERS
        lists = version >= LISTS_MEMBERS
        for outcome in self.coordinator.fire(world.memory, rule, index or 0, lists):
            found = self._after_responses(world, outcome, now, dict(world.parked))
            if found is not None:
                when = min(
                    [
                        now,
                        *(
                            self.open[r].given
                            for i, r in world.parked
                            if any(t.index == i for t in outcome.responses)
                        ),
                    ]
                )
                who = "" if index is None else world.id(index, self.indexes)
                yield self._moved(world, outcome, *found, when, e, who)

    def fail_over(self, world: GroupWorld, now: float) -> Iterator[GroupWorld]:
        """The group is unloaded, all waiting requests are refused, and it is loaded again."""
        for _, request in world.parked:
            e = self.open[request]
            if e.code not in GONE or not now - 2 * SLACK_MS <= e.given <= now + self.lateness:
                return
        for outcome in self.coordinator.fire(world.memory, failover.fail_over.name, 0):
            base = None if world.base is None else world.base + outcome.on
            moved = self._moved(world, outcome, {}, KnownNames(base, world.ids), now, None)
            plan = world.plan if not outcome.on else world.kept_plan
            yield evolve(moved, plan=plan, kept_plan=plan, unseen=frozenset(), reloaded=now)

    def unseen_join(
        self, world: GroupWorld, index: int, now: float, e: Exchange
    ) -> Iterator[GroupWorld]:
        """A JoinGroup over a connection that broke while it was parked: it is never answered, and a
        later one takes its place.
        """
        id = world.memory.id(index)
        assert id is not None
        ask = Ask("join", index, id, claimed=_UNSEEN)
        for outcome in self.coordinator.unheard(world.memory, ask):
            if index in outcome.after.joining and index not in world.memory.joining:
                found = self._after_responses(world, outcome, now, dict(world.parked))
                if found is not None:
                    who = world.id(index, self.indexes)
                    moved = self._moved(world, outcome, *found, now, e, who)
                    unseen = world.unseen | {(index, self._used(world, who))}
                    yield evolve(moved, unseen=unseen, since=world.since)

    # -- one outcome

    def _after(
        self, world: GroupWorld, outcome: Outcome, now: float, e: JudgedAssignment, index: int
    ) -> GroupWorld | None:
        parked = dict(world.parked)
        sent_away = any(t.index == index for t in outcome.responses)
        if outcome.own is None and index in parked and not sent_away:
            return None  # the parked request would never be answered, but the log has its answer
        waits = outcome.own is None and isinstance(e, JoinExchange) and bool(e.member)
        if (
            waits
            and e.code == UNKNOWN_MEMBER_ID
            and self.lateness < PATIENT_MS
            and e.given - e.began < 2 * SLACK_MS
        ):
            # Parked, and its member removed at the same moment: only if nothing else explains it.
            return None
        ids = self._ids(world, outcome, e, index)
        mine = e if outcome.own is None else None
        found = self._after_responses(world, outcome, now, parked, ids, mine, index)
        if found is None:
            return None
        parked, known = found
        if outcome.own is not None:
            if outcome.own.code != e.code:
                return None
            named = self._answers(world, outcome).names_after(e, index, known)
            if named is None:
                return None
            known = named
        who = id_at(outcome.after, known.ids, index, self.indexes)
        who = who or world.id(index, self.indexes)
        after = self._moved(world, outcome, parked, known, now, e, who)
        if outcome.rules[0].startswith(f"{coordinator.sync_group.name}:led"):
            after = evolve(after, plan=Plan(e.line))
        elif outcome.rules[0] == f"{coordinator.join_group.name}:replaced":
            after = self._taken_over(world, after, e, index)
        return evolve(after, unseen=frozenset(x for x in after.unseen if x[0] != index))

    def _answers(self, world: GroupWorld, outcome: Outcome) -> Answers:
        return Answers(self.indexes, self.plans, world, outcome)

    def _ids(self, world: GroupWorld, outcome: Outcome, e: JudgedAssignment, index: int) -> Ids:
        """The ids of static members, with the one that a JoinGroup is given."""
        number = outcome.after.id(index)
        if (
            not isinstance(e, JoinExchange)
            or not isinstance(self.indexes.at(index), Instance)
            or number is None
            or number == world.memory.id(index)
        ):
            return world.ids
        return with_id(world.ids, outcome.after, index, e.response_member)

    def _taken_over(
        self, world: GroupWorld, after: GroupWorld, e: JudgedAssignment, index: int
    ) -> GroupWorld:
        """A static member takes the place of an id in a Stable group: what the memory does not hold
        of that.
        """
        old, leader = world.id(index, self.indexes), world.memory.leader
        led = "" if leader is None else world.id(leader, self.indexes)
        kept = after.kept_plan
        return evolve(
            after,
            plan=after.plan and after.plan.with_heir(index, old),
            kept_plan=kept and kept.with_heir(index, old),
            leaders=(*after.leaders, (e.line, led)),
        )

    def _after_responses(
        self,
        world: GroupWorld,
        outcome: Outcome,
        now: float,
        parked: dict[int, int],
        ids: Ids | None = None,
        e: JudgedAssignment | None = None,
        index: int = -1,
    ) -> tuple[dict[int, int], KnownNames] | None:
        """Who still waits, and what is known, if every answer to a parked request is the one in the
        log; None if not.

        `ids`: with the one that the request at hand is given; `e`: that request, if it is parked,
        which comes from the member on `index`.
        """
        base = None if world.base is None else world.base + outcome.on
        known = KnownNames(base, world.ids if ids is None else ids)
        for response in outcome.responses:
            request = parked.pop(response.index, None)
            if request is None:
                return None  # a request that no line shows would have been answered
            x = self.open[request]
            if (
                x.given < now - 2 * SLACK_MS
                or x.given > now + self.lateness
                or not _same_code(response, x, outcome)
            ):
                return None
            anew = response is outcome.responses[0]
            named = self._answers(world, outcome).names_after(x, response.index, known, anew)
            if named is None:
                return None
            known = named
        if e is not None:
            parked[index] = e.line
        waits = outcome.after.joining | outcome.after.syncing
        return (parked, known) if all(i in waits for i in parked) else None

    def _moved(
        self,
        world: GroupWorld,
        outcome: Outcome,
        parked: dict[int, int],
        known: KnownNames,
        now: float,
        e: Exchange | None,
        who: str = "",
    ) -> GroupWorld:
        after = outcome.after
        turned = outcome.on != 0 or (
            after.phase != world.memory.phase and after.phase != Phase.STABLE
        )
        settled = after.phase == Phase.STABLE and world.memory.phase != Phase.STABLE
        ids = ids_in_memory(known.ids, after)
        return GroupWorld(
            after,
            known.base,
            tuple(sorted(parked.items())),
            world.waiting,
            world.plan,
            world.plan if settled else world.kept_plan,
            frozenset(x for x in world.unseen if x[0] in after.joining),
            ids,
            tuple(x for x in world.leaders if x[0] in parked.values()),
            world.reloaded,
            now if turned else world.since,
            story_after(
                world.story,
                Step(world.memory, world.ids, outcome, known.base, now, e, who, self.indexes),
            ),
        )


def _names(protocols: tuple[tuple[str, bytes], ...]) -> tuple[str, ...]:
    return tuple(name for name, _ in protocols)


def _same_code(response: Response, e: Exchange, outcome: Outcome) -> bool:
    failed = outcome.rules[0].startswith((timers.append_failed.name, takeover.takeover_failed.name))
    if failed and response.code == COORDINATOR_NOT_AVAILABLE:
        return e.code in FAILED_APPEND
    return response.code == e.code
