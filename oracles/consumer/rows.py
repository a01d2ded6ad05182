"""Rows: an input to the coordinator in one of its memories, and all that the model may make of it.

They are made of the variant's own rules, so that a mistake in these shows. Members are not there:
each heartbeat that any client could send is an input.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs
from attrs import frozen

from groupcheck.model.engine import Spec, evolve
from groupcheck.model.engine.step import Semantics
from groupcheck.model.protocol.consumer import anybody, heartbeats, offsets, targets, timers
from groupcheck.model.protocol.consumer.commits import Offsets
from groupcheck.model.protocol.consumer.memory import Core, Seat, Timer
from groupcheck.model.protocol.consumer.messages import (
    Commit,
    Fetch,
    Kind,
    Link,
    Marker,
    Request,
    Tag,
)
from groupcheck.model.protocol.consumer.plans import NAMED, instance_of, name, place
from groupcheck.model.protocol.consumer.regexes import Regexes
from groupcheck.model.protocol.consumer.releases import RELEASES
from groupcheck.model.protocol.consumer.scope import ConsumerScope
from groupcheck.model.protocol.consumer.votes import NAMES
from groupcheck.model.protocol.migration import rounds
from groupcheck.oracles.consumer import committing, resolving
from groupcheck.oracles.consumer.committing import AHEAD, Author
from groupcheck.oracles.consumer.facts import (
    INTERVAL_MS,
    PARKED,
    Facts,
    Known,
    answer_of_kafka,
    answer_of_model,
    by_name,
    followed,
    of_kafka,
    of_model,
    topics_of,
)
from groupcheck.oracles.kafka.answers import Answer, ConsumerAnswer
from groupcheck.oracles.kafka.commands import (
    Advance,
    Command,
    ConsumerGroupHeartbeat,
    FailAppends,
    FailOver,
    Fire,
    Look,
    Reset,
    SetTopics,
)
from groupcheck.oracles.kafka.schedule import Step

REBALANCE_MS = 30_000
EVERY_TOPIC = "t.*"
LEAVING = {Kind.LEAVE: -1, Kind.PARK: PARKED}
# Rows look at the answers.
UNHEARD = (
    anybody.nobody_hears.name,
    offsets.nobody_hears_of_offsets.name,
    rounds.nobody_hears_of_rounds.name,
)
State = tuple[Any, ...]


@frozen
class Outcome:
    """One of the ways in which the model's coordinator may go on."""

    # The rules that fired, with their outcomes.
    fired: tuple[str, ...]
    facts: Facts
    # The memory after it.
    state: State


@frozen
class ConsumerRow:
    """An input in a memory."""

    before: State
    # The process that it concerns; None: all.
    me: int | None
    # What happens in words, and the request, if it is one.
    title: str
    request: Request | None
    # The append of its records fails.
    fails: bool
    outcomes: tuple[Outcome, ...]
    # The request about offsets, if it is one.
    asked: Commit | Fetch | Marker | None = None

    @property
    def leaves(self) -> int:
        """The epoch of a heartbeat that leaves, else 0."""
        return LEAVING.get(self.request.kind, 0) if self.request else 0


class ConsumerRows:
    """The rows of a spec of consumer groups in which anybody sends heartbeats."""

    def __init__(self, spec: Spec, seed: int = 0) -> None:
        """`seed`: of the ids of topics, and so of hash orders."""
        self.scope: Any = spec.scope  # of the group that it is
        self._seed = seed
        rules = [r for r in spec.rules if r.name not in UNHEARD]
        self._see = Semantics(attrs.evolve(spec, rules=rules, invariants=(), ends=()))
        self._budget = self._see.at["budget", None]
        self._core = self._see.at["core", None]
        self._offsets = self._see.at.get(("offsets", None))
        self._regexes = self._see.at.get(("regexes", None))
        self._links = [self._see.at["link", i] for i in range(self.scope.members)]
        self._seats = [self._see.at["seat", i] for i in range(self.scope.members)]
        places = [self._see.at.get(("place", i)) for i in range(self.scope.members)]
        self._places = [at for at in places if at is not None]
        ((_, _, self.start),) = self._see.starts()
        # Groups of other kinds have no offsets.
        self._expires = self._offsets is not None and self.scope.expiry
        # A group with patterns that age is one, too.
        self._silent = self._expires or self._regexes is not None
        self._rebalance_ms = committing.SILENT_MS if self._silent else REBALANCE_MS

    def core(self, state: State) -> Core:
        """What the model knows of the group."""
        core = state[self._core]
        assert isinstance(core, Core)
        return core

    def seats(self, state: State) -> list[Seat | None]:
        """What it knows of its members."""
        return [state[at] for at in self._seats]

    def _committed(self, state: State) -> Offsets | None:
        return None if self._offsets is None else state[self._offsets]

    def _known_regexes(self, state: State) -> Regexes | None:
        return None if self._regexes is None else state[self._regexes]

    def of(self, state: State) -> Iterator[ConsumerRow]:
        """All rows of a memory. An append that fails is an input only where there is one."""
        for instance in self._see.ordinary:
            for firing, after, _ in self._see.firings(instance, state):
                me = firing.me
                link = after[self._links[me]] if me is not None else Link()
                asked = link.asked
                fails = link.fails or firing.name == f"{instance.rule.name}:failed"
                fails = fails or (isinstance(asked, Commit) and asked.fails)
                leaves = LEAVING.get(link.request.kind, 0) if link.request else 0
                outcomes = [
                    self._outcome(state, (firing.name, *(f.name for f in chain)), rest, me, leaves)
                    for chain, rest, _ in self._see.settle(after)
                ]
                wrote = any(n.endswith(":failed") for o in outcomes for n in o.fired)
                if fails and not wrote:
                    continue
                yield ConsumerRow(
                    state, me, instance.rule.name, link.request, fails, tuple(outcomes), asked
                )

    def _outcome(
        self, before: State, fired: tuple[str, ...], rest: State, me: int | None, leaves: int
    ) -> Outcome:
        link = rest[self._links[me]] if me is not None else Link()
        after = [*rest]
        after[self._budget] = self.start[self._budget]
        for at in self._links:
            after[at] = evolve(after[at], answer=None, told=None, parked=None, tag=Tag.OLD)
        state = tuple(after)
        facts = {
            **self._answered(link, leaves),
            **self._remembered(state),
            **self._told(rest, me),
            "records written": self._wrote(before, state, fired),
        }
        return Outcome(fired, facts, state)

    def _told(self, rest: State, me: int | None) -> Facts:
        """The model's answers to requests that were parked before, as facts."""
        return {}

    def _answered(self, link: Link, leaves: int) -> Facts:
        """The model's answer as facts. `leaves`: the epoch of a heartbeat that leaves, else 0."""
        return {
            **answer_of_model(link.answer, leaves),
            **committing.answer_of_model(link.told),
        }

    def _remembered(self, state: State) -> Facts:
        """The model's memory as facts."""
        places = [state[at] for at in self._places]
        return {
            **of_model(self.core(state), self.seats(state), self.scope),
            **committing.memory_of_model(self._committed(state), places, self.scope),
            **resolving.memory_of_model(self._known_regexes(state), self.scope),
        }

    def _wrote(self, before: State, after: State, fired: tuple[str, ...]) -> bool:
        """Did the coordinator write anything? Timers are not written."""
        if any(name.endswith(":failed") for name in fired):
            return False
        parked = f"{heartbeats.leave_consumer_group.name}:parked"
        always = {targets.target_written.name, parked, *committing.WRITES, *resolving.WRITES}
        return not always.isdisjoint(fired) or self._lasting(before) != self._lasting(after)

    def _lasting(self, state: State) -> Any:
        core = evolve(self.core(state), due=True, stale=False, topics=0)
        return core, [
            seat and evolve(seat, session=True, rebalance=Timer.OFF) for seat in self.seats(state)
        ]

    # -- the same for the real coordinator

    def setup(self, kafka: str) -> Reset:
        """The real coordinator of this version before anything has happened."""
        scope = self.scope
        named = {"range": "range", NAMED: ",".join(NAMES)}
        config = {"group.consumer.assignors": named.get(scope.assignor, "uniform")}
        if RELEASES[kafka].interval:
            interval = INTERVAL_MS if scope.interval else 0
            config["group.consumer.assignment.interval.ms"] = str(interval)
        if self._silent:
            config |= committing.RETENTION
        if scope.max_size is not None:
            config["group.consumer.max.size"] = str(scope.max_size)
        topics = self._topics(scope.at_first)
        denied = resolving.denied(scope)
        return Reset(topics=topics, config=config, seed=self._seed, denied=denied)

    def begun(self) -> tuple[Command, ...]:
        """What it is told before everything else."""
        return resolving.begun(self.scope)

    def _topics(self, there: int) -> dict[str, int]:
        scope = self.scope
        sizes = {name(t): (there & scope.topic(t)).bit_count() for t in range(scope.topics)}
        return {topic: size for topic, size in sizes.items() if size}

    def commands(self, row: ConsumerRow, known: list[Known]) -> tuple[Command, ...]:
        """What the real coordinator is told."""
        failing = (FailAppends(),) if row.fails else ()
        if row.request is not None and row.me is not None:
            return *failing, self._heartbeat(row.request, row.me, row.before, known[row.me])
        if row.asked is not None and row.me is not None:
            return *failing, self._about_offsets(row.asked, row.me, _author(row, known[row.me]))
        if row.title == offsets.anybody_holds_up.name:
            return (Look(),)
        if row.title == timers.session_timeout.name and row.me is not None:
            return *failing, Fire(timer=f"session-timeout-g-{known[row.me].id}")
        if row.title == timers.rebalance_timeout.name and row.me is not None:
            return *failing, Fire(timer=f"rebalance-timeout-g-{known[row.me].id}")
        if passing := committing.passing(row.title):
            return passing
        if passing := resolving.passing(row.title, row.outcomes[0].fired[0]):
            return *failing, *passing
        if row.title == timers.interval_passes.name:
            return (Advance(ms=INTERVAL_MS),)
        if row.title == timers.move_coordinator.name:
            return (FailOver(),)
        assert row.title in (timers.add_partition.name, resolving.DELETES), row.title
        return (SetTopics(topics=self._topics(self.core(row.outcomes[0].state).topics)),)

    def _about_offsets(self, asked: Commit | Fetch | Marker, me: int, author: Author) -> Command:
        newest = self.scope.release.tells_transactions
        where = place(0, self.scope)
        return committing.told(asked, author, where, me, tells_transactions=newest)

    def read(
        self, row: ConsumerRow, before: tuple[Known, ...], given: Answer | None, last: Step
    ) -> tuple[tuple[Known, ...], Facts]:
        """The processes after a row that was executed, and what Kafka did: its answer to the last
        command, and what the last step shows.
        """
        memory = last.memory
        assert memory is not None
        answer = given if isinstance(given, ConsumerAnswer) else None
        known = [*before]
        if row.request is not None and row.me is not None and answer and not answer.error:
            known[row.me] = renamed(known[row.me], sender(row.request, row.me, known[row.me]))
        if row.me is not None and row.title == offsets.anybody_holds_up.name:
            known[row.me] = evolve(known[row.me], held=(known[row.me].id, known[row.me].epoch))
        if row.me is not None and row.title == offsets.late_commit.name:
            known[row.me] = evolve(known[row.me], held=("", 0))
        known = followed(known, memory)
        own = known[row.me].epoch if row.me is not None else 0
        facts = {
            **answer_of_kafka(answer, row.leaves, own, self.scope),
            **committing.answer_of_kafka(given),
            **of_kafka(memory, known, self.scope, last.now_ms),
            **committing.memory_of_kafka(memory, self.scope),
            **resolving.memory_of_kafka(memory, self.scope, last.now_ms),
            "records written": bool(last.records),
        }
        return tuple(known), facts

    def _heartbeat(
        self, request: Request, me: int, before: State, known: Known
    ) -> ConsumerGroupHeartbeat:
        joins = request.kind == Kind.JOIN
        scope = self.scope
        topics = None if request.subscribed is None else topics_of(request.subscribed, scope)
        return ConsumerGroupHeartbeat(
            member=sender(request, me, known),
            epoch=epoch_of(request, known),
            instance=instance_of(me) if me < scope.static_members else None,
            rebalance_timeout_ms=self._rebalance_ms if joins or request.full else -1,
            topics=topics,
            owned=None if request.owned is None else by_name(request.owned, scope),
            regex=_expression(request, scope),
            assignor=request.assignor,
            client=resolving.client(me, scope),
        )


def _expression(request: Request, scope: ConsumerScope) -> str | None:
    if request.regex is not None:
        return resolving.expression(request.regex, scope)
    return None if request.pattern is None else EVERY_TOPIC if request.pattern else ""


def renamed(known: Known, id: str) -> Known:
    """The process after a request of this member id was accepted."""
    return known if known.id == id else Known(id, known.ids + 1, held=known.held)


def sender(request: Request, me: int, known: Known) -> str:
    """The member id that a heartbeat comes from."""
    return _another(me, known) if request.other else known.id


def _author(row: ConsumerRow, known: Known) -> Author:
    """Who sends a request about offsets: one that was held up has the epoch that it had then."""
    if row.title == offsets.late_commit.name:
        # Whatever its tag has become.
        return Author(known.held[0], known.held[1], known.held[1])
    other = isinstance(row.asked, Commit | Fetch) and row.asked.other
    return Author(_another(row.me or 0, known) if other else known.id, known.epoch, known.previous)


def _another(me: int, known: Known) -> str:
    """The next member id of a process."""
    return f"a{me}-{known.ids}"


def epoch_of(request: Request, known: Known) -> int:
    """The epoch of a heartbeat from a process."""
    if request.kind == Kind.JOIN:
        return 0
    if request.kind in LEAVING:
        return LEAVING[request.kind]
    if request.tag == Tag.PREVIOUS:
        return known.previous
    return max(known.epoch, 1) + (AHEAD if request.tag == Tag.AHEAD else 0)
