"""Members whose subscription and topics change (`triggers`), side by side: the model's own rules,
and Kafka's Java client.

An input is something that happens to the member: topics change and its client sees it, its
application subscribes to other topics, it is told to join again, its request is answered or its
connection breaks. Then it polls. `reached` takes every input from every memory that is reached, up
to a number of inputs; each is executed on a fresh client that the shortest schedule has led there.
Compared are the member's state, what it owns, and what it sends: the topics in JoinGroup, the plan
in SyncGroup. Commits in poll are off, but for `first`, where one is sent before JoinGroup.

What a member remembers is seen in what it sends in its next polls: every memory is polled.

Rows begin in a set of memories, all those that fit what was seen, because the member is free to
look at the topics or not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import attrs
from attrs import frozen

from groupcheck.model.engine import Spec, evolve
from groupcheck.model.engine.step import Semantics
from groupcheck.model.protocol.classic import client as members
from groupcheck.model.protocol.classic.client import Client, Member
from groupcheck.model.protocol.classic.features.triggers.planning import range_share
from groupcheck.model.protocol.classic.features.triggers.scope import TriggersScope
from groupcheck.model.protocol.classic.features.triggers.subscription import (
    Subscription,
    change_subscription,
    fresh,
    refresh_metadata,
)
from groupcheck.model.protocol.classic.plans import plans
from groupcheck.model.protocol.codes import MEMBER_ID_REQUIRED, REBALANCE_IN_PROGRESS
from groupcheck.model.protocol.link import Link
from groupcheck.model.protocol.messages import (
    FOLLOWS,
    NO_GENERATION,
    NO_ID,
    Answer,
    Heartbeat,
    JoinGroup,
    SyncGroup,
)
from groupcheck.oracles.conform.member.moves import (
    COOPERATIVE,
    EAGER,
    Observations,
    Probe,
    Standing,
)
from groupcheck.oracles.conform.topics import partitions_of, topics_of
from groupcheck.oracles.kafka.client import (
    Look,
    coordinator_found,
    failed,
    joined,
    synced,
)
from groupcheck.oracles.kafka.client_commands import (
    Advance,
    Beat,
    Command,
    Disconnect,
    Network,
    Poll,
    Reset,
    SetTopics,
    Subscribe,
)
from groupcheck.oracles.kafka.driver import Driver
from groupcheck.oracles.kafka.schedule import LostSchedule
from groupcheck.oracles.kafka.values import partitions

ME, OTHER = "m-0", "other"
BACKOFF_MS = 100
POLL, NETWORK = Poll(), Network()
BEGINS = (POLL, coordinator_found(), POLL)


@frozen
class Topics:
    """The partitions that exist from now on (bit mask); the client sees it."""

    cluster: int


@frozen
class Subscribes:
    """The application subscribes to these topics (bit mask)."""

    topics: int


@frozen
class AskedToRejoin:
    """A heartbeat is answered 27."""


@frozen
class GivenId:
    """JoinGroup is answered 79."""


@frozen
class Joined:
    """JoinGroup is answered 0: the member leads a group that subscribes to these topics (bit mask),
    or follows.
    """

    group: int = FOLLOWS


@frozen
class Synced:
    """SyncGroup is answered 0 with this share (bit mask)."""

    share: int


@frozen
class Broken:
    """The connection breaks while a JoinGroup or SyncGroup waits; a new one is made."""


Input = Topics | Subscribes | AskedToRejoin | GivenId | Joined | Synced | Broken


@frozen(cache_hash=True)
class Memory:
    """The memory of the member, and its request that waits."""

    client: Client
    subscription: Subscription
    cluster: int
    request: JoinGroup | SyncGroup | None = None


@frozen
class InputResult:
    """The result of an input and the polls after it, and the outcomes of rules on the way."""

    memory: Memory
    fired: tuple[str, ...]


Worlds = tuple[Memory, ...]  # memories of which the member has one


@frozen
class ChangingRow:
    """The memory that the member may have, what happens next, and what the model allows then."""

    # Inputs since the process started; none if it only starts.
    inputs: tuple[Input, ...]
    scope: TriggersScope
    before: Memory
    may: tuple[InputResult, ...]
    # The schedule that leads to the row, and the commands of its input.
    standing: Standing
    commands: tuple[Command, ...]
    again: bool = False

    @property
    def given(self) -> Input | None:
        """The input; None if the process starts."""
        return self.inputs[-1] if self.inputs else None

    @property
    def allowed(self) -> int:
        """How many outcomes the model allows."""
        return len(self.may)

    @property
    def probe(self) -> Probe:
        """The schedule that executes the row."""
        return Probe(self.standing, self.commands)


Place = tuple[Worlds, ChangingRow]  # what the member may remember, and the row that has led there


@frozen
class ChangingResult:
    """The result of a row: where the client may be, as far as it shows; if nowhere, what differs
    from the first outcome.
    """

    row: ChangingRow
    led: tuple[InputResult, ...]
    differs: tuple[str, ...]


class Changing:
    """The member of a spec of `triggers` with one member, mutated or not."""

    def __init__(self, spec: Spec, kind: str = "") -> None:
        self.scope: TriggersScope = spec.scope
        self.kind = kind  # see `Firing.kind`
        self.assignor = COOPERATIVE if self.scope.cooperative else EAGER
        self._see = Semantics(spec)

    def start(self) -> ChangingRow:
        """A process starts, and its first JoinGroup waits."""
        begun = Subscription(*self.scope.subscribed(0))
        memory = Memory(Client(), fresh(begun), self.scope.cluster)
        led = self._polled(memory, looks=True)
        return ChangingRow((), self.scope, memory, (led,), Standing(self.setup()), BEGINS)

    def setup(self) -> Reset:
        """The fresh client."""
        topics, pattern = self.scope.subscribed(0)
        names = topics_of(topics, self.scope)
        return Reset(
            assignors=(self.assignor,),
            topics=_layout(self.scope.cluster, self.scope),
            subscribed=None if pattern else names,
            pattern=f"{self.scope.prefix(0)}.*" if pattern else None,
            auto_commit=False,
            backoff_ms=BACKOFF_MS,
            backoff_max_ms=BACKOFF_MS,
        )

    @property
    def outcomes_named(self) -> set[str]:
        """The outcomes of the member's rules that know subscriptions, by name."""
        rules = (r for r in self._see.spec.rules if {"client", "subscription"} <= {*r.slots})
        return {name for r in rules for name in r.names}

    def tour(self, driver: Driver, most: int) -> Iterator[ChangingResult]:
        """Every row of up to so many inputs, beyond rows that differ excepted."""
        level = list(self.run([self.start()], driver))
        yield from level
        known = set()
        for _ in range(most):
            rows: list[ChangingRow] = []
            for executed in level:
                worlds = worlds_of(executed.led)
                if worlds and frozenset(worlds) not in known:
                    known.add(frozenset(worlds))
                    rows += self.beyond(worlds, executed.row)
            level = list(self.run(rows, driver))
            yield from level

    def beyond(self, worlds: Worlds, row: ChangingRow) -> Iterator[ChangingRow]:
        """The rows after one that leaves the member in one of these memories."""
        standing = row.standing.then(row.commands)
        before = worlds[0]
        first, *others = ([*self.inputs(m)] for m in worlds)
        for given in first:
            if all(given in more for more in others):
                may = tuple({led: None for m in worlds for led in self.after(m, given)})
                if may:
                    inputs, commands = (*row.inputs, given), self._commands(before, given)
                    yield ChangingRow(inputs, self.scope, before, may, standing, commands)

    def inputs(self, m: Memory) -> Iterator[Input]:
        """Everything that may happen next."""
        yield from map(Topics, self._clusters(m.cluster))
        if not m.subscription.pattern and m.subscription.joined is not None:
            others = range(1, self.scope.all_topics + 1)
            yield from (Subscribes(t) for t in others if t != m.subscription.topics)
        if m.client.state == Member.STABLE and m.request is None:
            yield AskedToRejoin()
        if m.request is not None:
            yield Broken()
        if isinstance(m.request, JoinGroup):
            if m.request.id == NO_ID:
                yield GivenId()
            elif _next(m) <= self.scope.last_generation:
                yield Joined()
                mine = m.request.topics
                groups = range(self.scope.all_topics + 1)
                yield from (Joined(g) for g in groups if g & mine == mine)
        if isinstance(m.request, SyncGroup):
            whole = [topic.mask(topic.most) for topic in self.scope.layout]
            yield from map(Synced, (0, *whole, sum(whole)))

    def _clusters(self, now: int) -> Iterator[int]:
        """One topic is created, deleted, or has one partition more."""
        for topic in self.scope.layout:
            count = (now & topic.whole).bit_count()
            for then in {0, min(count + 1, topic.most)} - {count}:
                yield now & ~topic.whole | topic.mask(then)

    def after(self, m: Memory, given: Input) -> Iterator[InputResult]:
        """The memories and requests that the model allows. A member with a pattern may look at the
        topics in any poll of a round: it asks for fresh metadata once in `retry.backoff.ms`.
        """
        looks = {isinstance(given, Topics | Subscribes)}
        if m.subscription.pattern:
            looks.add(True)
        for name, memory in self._happens(m, given):
            for look in sorted(looks):
                led = self._polled(memory, look)
                yield attrs.evolve(led, fired=(name, *led.fired) if name else led.fired)

    # -- the model

    def _happens(self, m: Memory, given: Input) -> Iterator[tuple[str, Memory]]:
        match given:
            case Topics(cluster):
                yield "", evolve(m, cluster=cluster)
            case Subscribes(topics):
                for name, after in self._fire(change_subscription.name, m):
                    if after.subscription.topics == topics:
                        yield name, after
            case AskedToRejoin():
                asked = Heartbeat(m.client.id, m.client.generation)
                answer = Answer(asked, REBALANCE_IN_PROGRESS)
                yield from self._fire(members.heartbeat_answer.name, m, answer)
            case Broken():
                prepare = members.Prepare.DONE
                yield "", evolve(m, request=None, client=evolve(m.client, prepare=prepare))
            case _:
                assert m.request is not None
                answered = evolve(m, request=None)
                answer = self._answer(m, m.request, given)
                joins = isinstance(m.request, JoinGroup)
                rule = members.join_answer if joins else members.sync_answer
                yield from self._fire(rule.name, answered, answer)

    def _answer(self, m: Memory, request: JoinGroup | SyncGroup, given: Input) -> Answer:
        match given:
            case GivenId():
                return Answer(request, MEMBER_ID_REQUIRED, 0)
            case Joined(group):
                return Answer(request, id=0, generation=_next(m), group_topics=group)
        assert isinstance(given, Synced)
        return Answer(request, id=0, generation=m.client.generation, share=given.share)

    def _polled(self, m: Memory, looks: bool) -> InputResult:
        """The actions of the member in its polls. `looks`: its client has fresh metadata."""
        fired: list[str] = []
        for rule in (members.join_complete, members.send_sync, refresh_metadata, members.send_join):
            free = m.request is None or rule in (members.join_complete, refresh_metadata)
            if free and (looks or rule is not refresh_metadata):
                for name, after in self._fire(rule.name, m):
                    fired.append(name)
                    m = after
        return InputResult(m, tuple(fired))

    def _fire(
        self, rule: str, m: Memory, answer: Answer | None = None
    ) -> Iterator[tuple[str, Memory]]:
        """The outcomes of the spec's rule of this name, each with the memory afterwards."""
        instance = self._see.instance(rule, 0)
        slots: dict[str, Any] = {
            "client": m.client,
            "subscription": m.subscription,
            "cluster": m.cluster,
            "link": Link(parked=m.request, answer=answer),
            "budget": self.scope.budget,
        }
        names = instance.rule.slots
        for name, values in self._see.call(instance, tuple(slots[slot] for slot in names)):
            after = {**slots, **dict(zip(names, values))}
            request = after["link"].request or m.request
            yield name, Memory(after["client"], after["subscription"], after["cluster"], request)

    # -- the client

    def _commands(self, m: Memory, given: Input) -> tuple[Command, ...]:
        scope = self.scope
        match given:
            case Topics(cluster):
                return (SetTopics(topics=_layout(cluster, scope)), NETWORK, POLL)
            case Subscribes(topics):
                return (Subscribe(topics=topics_of(topics, scope)), NETWORK, POLL)
            case AskedToRejoin():
                beat = (Advance(ms=3000), Beat(), NETWORK, failed("Heartbeat", 27), NETWORK)
                return (*beat, POLL)
            case GivenId():
                return (failed("JoinGroup", 79, memberId=ME), POLL, POLL)
            case Joined(group) if group == FOLLOWS:
                follows = joined(_next(m), ME, OTHER, assignor=self.assignor)
                return (follows, NETWORK, NETWORK, POLL)
            case Joined(group):
                assert isinstance(m.request, JoinGroup)
                listed = {ME: topics_of(m.request.topics, scope), OTHER: topics_of(group, scope)}
                claims = {ME: (m.request.claimed, _by_topic(m.request.owned, scope))}
                leads = joined(_next(m), ME, ME, listed, self.assignor, claims)
                return (leads, NETWORK, NETWORK, POLL)
            case Synced(share):
                return (synced(_by_topic(share, scope), self.assignor), POLL, POLL)
        found = (Advance(ms=BACKOFF_MS), POLL, coordinator_found(), POLL, POLL)
        return (Disconnect(node="coordinator"), NETWORK, *found)

    def differs(self, given: tuple[Input, ...], led: InputResult, look: Look) -> Iterator[str]:
        """The facts that the client shows and the model does not have."""
        c, scope, request = led.memory.client, self.scope, led.memory.request
        yield from _unequal("state", str(c.state), look.state)
        yield from _unequal("owned", partitions_of(c.owned, scope), look.owned)
        yield from _unequal("generation", c.generation, look.generation)
        join, sync = look.waiting("JoinGroup"), look.waiting("SyncGroup")
        sent = join or sync
        kind = type(request).__name__ if request else None
        yield from _unequal("request", kind, sent and sent.api)
        if join is not None and isinstance(request, JoinGroup):
            (protocol,) = join.data["protocols"]
            topics = topics_of(request.topics, scope)
            yield from _unequal("topics", topics, tuple(protocol["metadata"]["topics"]))
            said = partitions(protocol["metadata"]["owned"])
            yield from _unequal("claims", partitions_of(request.owned, scope), said)
        if sync is not None and isinstance(request, SyncGroup):
            may = self._plans(given, led.memory, request)
            real = _assigned(sync.data["assignments"])
            yield from _unequal("plan", real if real in may else may[0], real)

    def _plans(self, given: tuple[Input, ...], m: Memory, request: SyncGroup) -> list[Any]:
        """The plans that the leader's SyncGroup may have for the two members; an empty one if it
        follows. The other member claims nothing.
        """
        last, mine = next(one for one in reversed(given) if isinstance(one, Joined)), m.subscription
        if last.group == FOLLOWS:
            return [{}]
        assert mine.joined is not None
        both = (mine.joined, last.group)
        if self.assignor == EAGER:
            shares = [tuple(range_share(k, request.sees, both, self.scope) for k in (0, 1))]
        else:
            claims = [(m.client.generation, m.client.owned, both[0]), (NO_GENERATION, 0, both[1])]
            sticky = attrs.evolve(self.scope, assignor="sticky")
            shares = [
                (dict(chosen)[claims[0]], dict(chosen)[claims[1]])
                for chosen in plans(claims, request.sees, sticky)
            ]
        return [
            {who: partitions_of(share, self.scope) for who, share in zip((ME, OTHER), each)}
            for each in shares
        ]

    def run(self, rows: list[ChangingRow], driver: Driver) -> Iterator[ChangingResult]:
        """Executes rows, each on a fresh client."""
        for row, seen in zip(rows, driver.run_all(row.probe for row in rows)):
            found = self.fitting(row, seen)
            yield ChangingResult(row, found, () if found else self.misfits(row, seen))

    def fitting(
        self, row: ChangingRow, seen: Observations | LostSchedule
    ) -> tuple[InputResult, ...]:
        """Where the model allows the client to be, as far as it shows."""
        if isinstance(seen, LostSchedule):
            return ()
        look = seen.steps[-1][1]
        return tuple(led for led in row.may if not any(self.differs(row.inputs, led, look)))

    def misfits(self, row: ChangingRow, seen: Observations | LostSchedule) -> tuple[str, ...]:
        """The differences from the first outcome."""
        if isinstance(seen, LostSchedule):
            return (f"it cannot be carried out: {seen.reason}",)
        return tuple(self.differs(row.inputs, row.may[0], seen.steps[-1][1]))


def worlds_of(led: Iterable[InputResult]) -> Worlds:
    """The memories to which outcomes lead, each once."""
    return tuple(dict.fromkeys(one.memory for one in led))


def _next(m: Memory) -> int:
    return max(m.client.generation, 0) + 1


def _layout(cluster: int, scope: TriggersScope) -> tuple[tuple[str, int], ...]:
    counts = ((topic.name, (cluster & topic.whole).bit_count()) for topic in scope.layout)
    return tuple((name, count) for name, count in counts if count)


def _by_topic(share: int, scope: TriggersScope) -> dict[str, list[int]]:
    """A share (bit mask): topic -> its partitions in it."""
    found: dict[str, list[int]] = {}
    for topic, p in sorted(partitions_of(share, scope)):
        found.setdefault(topic, []).append(p)
    return found


def _assigned(assignments: Any) -> dict[str, Any]:
    return {
        one["memberId"]: frozenset(
            (topic, p) for topic, ps in (one["assignment"] or {}).items() for p in ps
        )
        for one in assignments
    }


def _unequal(what: str, model: Any, real: Any) -> Iterator[str]:
    if model != real:
        yield f"{what} is {real!r}, in the model {model!r}"
