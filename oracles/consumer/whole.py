"""Whole groups: real members (AsyncKafkaConsumer) on the real coordinator. The model draws a random
schedule, with faults; each of its steps is carried out on Kafka's code, and everything that both
sides show is compared after it.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from attrs import frozen

from groupcheck.model.engine import evolve
from groupcheck.model.engine.step import Semantics
from groupcheck.model.protocol.consumer import client_faults, timers
from groupcheck.model.protocol.consumer.client import answer_arrives, request_arrives
from groupcheck.model.protocol.consumer.java_rules import (
    application_unsubscribes,
    java_poll_timeout,
    waits_for_answer,
)
from groupcheck.model.protocol.consumer.plans import id_of, instance_of, name
from groupcheck.model.protocol.consumer.rules import COORDINATOR, spec
from groupcheck.model.protocol.consumer.scope import ConsumerScope
from groupcheck.oracles.consumer import facts as of_coordinator
from groupcheck.oracles.consumer.comparing import ConsumerConformance, RowFamily, tallied
from groupcheck.oracles.consumer.facts import Known, followed, unlike
from groupcheck.oracles.consumer.families import READINGS as OF_COORDINATOR
from groupcheck.oracles.consumer.member import facts as of_member
from groupcheck.oracles.consumer.member.exploring import Place
from groupcheck.oracles.consumer.member.rows import (
    CALLBACKS,
    MAX_POLL_MS,
    READINGS,
    Command,
    MemberRow,
    State,
    commands_of,
    one_at_a_time,
    part,
    returns,
)
from groupcheck.oracles.kafka.async_member import AsyncSchedule, AsyncTranscript, Told
from groupcheck.oracles.kafka.driver import Driver
from groupcheck.oracles.kafka.memory import memory
from groupcheck.oracles.kafka.schedule import LostSchedule
from groupcheck.oracles.kafka.tallied import answered

MEMBERS, PARTITIONS, ANY = 2, 2, 100
SCHEDULES, STEPS = 25, 60  # of each kind of group, and of each schedule
FAULTS = (
    "callback_failure", "fail_over", "lose_response", "poll_timeout", "rebalance_timeout",
    "session_timeout", "unsubscribe",
)  # fmt: skip
# How often a fault is drawn where there are both.
FAULT = 0.12
FAULT_RULES = frozenset(
    (client_faults.lose_answer.name, timers.session_timeout.name, timers.rebalance_timeout.name,
     timers.move_coordinator.name, java_poll_timeout.name, application_unsubscribes.name)
)  # fmt: skip
Script = tuple[tuple["Turn", ...], tuple[tuple[int, Command], ...]]
LOOK: Command = {"op": "coordinator", "do": {"op": "Look", "group": "g"}}


@frozen
class Turn:
    """A step of the model, and what carries it out."""

    title: str
    fired: tuple[str, ...]
    commands: tuple[Command, ...]
    after: State


@frozen
class WholeRow:
    """A step that was carried out, as a row."""

    # The memory before it.
    place: Place
    # What the model does; None: Kafka does something else.
    same: Turn | None
    differs: dict[str, tuple[object, object]]
    # The schedule, if it differs.
    shown: tuple[str, ...] = ()


@frozen
class Walk:
    """A schedule that was carried out."""

    turns: tuple[Turn, ...]
    # Steps that agree.
    agreeing: int
    # Fact -> its values in the model and in Kafka, after the step that differs; empty: none does.
    differs: dict[str, tuple[object, object]]


class Group:
    """The group as the model has it."""

    def __init__(self, kafka: str, *, listens: bool, static_members: int) -> None:
        given: dict[str, Any] = {**READINGS, **OF_COORDINATOR}
        self.scope = ConsumerScope(
            members=MEMBERS,
            partitions=PARTITIONS,
            java=True,
            wire="explicit",
            callbacks="phased" if listens else "instant",
            assignor="uniform",
            static_members=static_members,
            kafka=kafka,
            faults=dict.fromkeys(FAULTS, ANY),
            **given,
        )
        self._see = Semantics(spec(self.scope))
        ((_, _, self.start),) = self._see.starts()

    def part(self, state: State, slot: str, i: int | None = None) -> Any:
        """The value of a slot."""
        return state[self._see.at[slot, i]]

    @property
    def setup(self) -> Command:
        """The real group before anything has happened."""
        config = {"group.consumer.assignors": "uniform"}
        if self.scope.release.interval:
            config["group.consumer.assignment.interval.ms"] = "0"
        members: list[Command] = []
        for i in range(MEMBERS):
            static = {"instance": instance_of(i)} if i < self.scope.static_members else {}
            listener = {"listener": self.scope.listens, "maxPollMs": MAX_POLL_MS, "parts": True}
            members.append({**static, **listener})
        return {"topics": {name(0): PARTITIONS}, "config": config, "members": members}

    def turns(self, dice: random.Random, steps: int) -> Iterator[Turn]:
        """A random schedule."""
        state = self.start
        for _ in range(steps):
            found = [*self._possible(state)]
            if not found:
                return
            calm = [turn for turn in found if turn.fired[0].partition(":")[0] not in FAULT_RULES]
            faults = [turn for turn in found if turn not in calm]
            wanted = faults if faults and (not calm or dice.random() < FAULT) else calm
            turn = dice.choice(wanted)
            yield turn
            state = turn.after

    def _possible(self, state: State) -> Iterator[Turn]:
        for instance in self._see.ordinary:
            for firing, after, _ in self._see.firings(instance, state):
                me = firing.me
                for chain, rest, _ in self._see.settle(after):
                    fired = (firing.name, *(f.name for f in chain))
                    commands = self._commands(instance.rule.name, fired, me, state, rest)
                    if commands is not None:
                        title = firing.name if me is None else f"{firing.name} {me}"
                        yield Turn(title, fired, commands, rest)

    def _commands(
        self, rule: str, fired: tuple[str, ...], me: int | None, before: State, after: State
    ) -> tuple[Command, ...] | None:
        """None: such a step is not drawn."""
        if rule == timers.move_coordinator.name:
            return ({"op": "coordinator", "do": {"op": "FailOver"}},)
        assert me is not None, rule
        if rule in (timers.session_timeout.name, timers.rebalance_timeout.name):
            timer = f"{rule.replace('_', '-')}-g-{id_of(me)}"
            return ({"op": "coordinator", "do": {"op": "Fire", "timer": timer}},)
        link = self.part(before, "link", me)
        if rule == request_arrives.name:
            return ({"op": "deliver", "i": me},)
        row = MemberRow(self._alone(before, me), fired, self._alone(after, me))
        done: list[Command] = []
        if rule in (answer_arrives.name, client_faults.lose_answer.name):
            if rule == client_faults.lose_answer.name:
                if not waits_for_answer(link):
                    return None
                done.append({"op": "lose"})
            done.append(part("network"))
            if returns(row):
                done.append({"op": "look again"})
        elif rule in COORDINATOR or not one_at_a_time(row):
            return None
        else:
            done += commands_of(row, self.scope)
        return tuple({**command, "i": me} for command in done)

    def _alone(self, state: State, me: int) -> State:
        return self.part(state, "client", me), self.part(state, "link", me)

    def expected(self, state: State) -> dict[str, Any]:
        """The model as facts."""
        seats = [self.part(state, "seat", i) for i in range(MEMBERS)]
        found = of_coordinator.of_model(self.part(state, "core"), seats, self.scope)
        for i in range(MEMBERS):
            link = evolve(self.part(state, "link", i), back=None)
            mine = of_member.of_model(self.part(state, "client", i), link, self.scope)
            found |= {f"member {i}: {what}": value for what, value in mine.items()}
        return found


def commands(turns: tuple[Turn, ...]) -> Iterator[tuple[int, Command]]:
    """All commands, each with the number of its turn; the last ones of a turn look."""
    for i in range(MEMBERS):
        yield -1, {"op": "background", "i": i, "hold": CALLBACKS, "quiet": True}
    for number, turn in enumerate(turns):
        for command in turn.commands:
            yield number, {**command, "quiet": True}
        for i in range(MEMBERS):
            yield number, {"op": "look", "i": i}
        yield number, LOOK


def walk(driver: Driver, group: Group, walks: Iterable[tuple[Turn, ...]]) -> Iterator[Walk]:
    """Carries out schedules."""

    def run(inputs: Iterator[Script]) -> Iterable[AsyncTranscript | LostSchedule]:
        return driver.run_all(
            AsyncSchedule([c for _, c in told], group.setup) for _, told in inputs
        )

    drawn = ((turns, (*commands(turns),)) for turns in walks)
    for (turns, told), result in answered(run, drawn):
        yield _compared(group, turns, told, result)


def _compared(
    group: Group,
    turns: tuple[Turn, ...],
    told: tuple[tuple[int, Command], ...],
    result: AsyncTranscript | LostSchedule,
) -> Walk:
    if isinstance(result, LostSchedule):
        return Walk(turns, 0, {"driver": (None, result.reason.partition("\n")[0])})
    known = [Known(id_of(i)) for i in range(MEMBERS)]
    looks: dict[int, Told] = {}
    for (number, command), reply in zip(told, result.replies):
        if "refused" in reply:
            return Walk(turns[: number + 1], number, {"driver": (None, reply["refused"])})
        if command["op"] == "look":
            looks[command["i"]] = reply
        if command is not LOOK:
            continue
        known, found = _facts(group, turns[number].after, known, looks, reply)
        if differs := unlike(group.expected(turns[number].after), found):
            return Walk(turns[: number + 1], number, differs)
    return Walk(turns, len(turns), {})


def _facts(
    group: Group, state: State, known: list[Known], looks: dict[int, Told], reply: Told
) -> tuple[list[Known], dict[str, Any]]:
    """Kafka's group as facts, and what is known of its processes now."""
    now = memory(reply["memory"])
    known = followed(known, now)
    found = dict(of_coordinator.of_kafka(now, known, group.scope, reply["now"]))
    for i, look in looks.items():
        mine = of_member.of_kafka(look, group.part(state, "client", i), group.scope)
        found |= {f"member {i}: {what}": value for what, value in mine.items()}
    return known, found


def steps(
    driver: Driver, group: Group, seed: int, schedules: int, most: int | None
) -> Iterator[WholeRow]:
    """The steps of random schedules, up to the first one of each that differs."""
    drawn = (tuple(group.turns(random.Random(seed + k), STEPS)) for k in range(schedules))
    left = most
    for walked in walk(driver, group, drawn):
        before = group.start
        for turn in walked.turns[: walked.agreeing]:
            yield WholeRow(Place(before), turn, {})
            before = turn.after
            left = None if left is None else left - 1
            if left == 0:
                return
        if walked.differs:
            shown = tuple(turn.title for turn in walked.turns)
            yield WholeRow(Place(before), None, walked.differs, shown)


def compare(
    driver: Driver, kafka: str, *, schedules: int | None = None, seed: int = 0, **options: Any
) -> ConsumerConformance:
    """Random schedules of groups with and without a rebalance listener, and a static member."""
    asked = []
    for listens, static in ((True, 0), (False, 0), (True, 1), (False, 1)):
        group = Group(kafka, listens=listens, static_members=static)
        bound = f"{'listener' if listens else 'no listener'}: {static} static of {MEMBERS} members"
        drawn = SCHEDULES if schedules is None else schedules
        asked.append(RowFamily(bound, frozenset(), partial(steps, driver, group, seed, drawn)))
    return tallied(driver, asked, side="whole", seed=seed, **options)
