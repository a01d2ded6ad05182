"""Runs of a consumer group with all that they print: the coordinator's log, the request log, the
logs of Java's members, and the truth.
"""

from __future__ import annotations

import math
import random
from functools import cache
from typing import Literal

from attrs import Factory, define, evolve, field

from groupcheck.model.engine.step import Semantics, State
from groupcheck.model.engine.verdict import Firing
from groupcheck.model.protocol.consumer import client_faults, java_rules
from groupcheck.model.protocol.consumer.rules import spec
from groupcheck.model.protocol.consumer.scope import AS_KAFKA, MENDED, ConsumerScope
from groupcheck.oracles.generate.consumer.broker import BrokerWords, Words
from groupcheck.oracles.generate.consumer.course import FREEZE, LOSSES, Course
from groupcheck.oracles.generate.consumer.happenings import Answered, Fetched, Happening, Lost
from groupcheck.oracles.generate.consumer.java import JavaWords
from groupcheck.oracles.generate.consumer.librdkafka import NativeWords
from groupcheck.oracles.generate.consumer.member_words import MemberWords
from groupcheck.oracles.generate.consumer.positions import Positions
from groupcheck.oracles.generate.consumer.records import Records
from groupcheck.oracles.generate.consumer.requests import Requests
from groupcheck.oracles.generate.consumer.truth import Truth
from groupcheck.oracles.generate.request_lines import number
from groupcheck.oracles.generate.run import Clients, Committed, Names, Process, Run, run_of
from groupcheck.oracles.generate.template import compiled

MOST_STEPS = 5000
PLAYS_MS = 90_000
"""Troubles begin in the first so many ms of a run."""
_TROUBLES = {
    FREEZE: "frozen",
    client_faults.crash.name: "killed",
    java_rules.java_poll_timeout.name: "poll_timeout",
}


Library = Literal["java", "librdkafka"]
LIBRARIES: dict[Library, type[MemberWords]] = {"java": JavaWords, "librdkafka": NativeWords}


@cache
def semantics_of(scope: ConsumerScope) -> Semantics:
    """The meaning of the rules within a scope."""
    return Semantics(spec(scope))


def scope_of(
    kafka: str,
    *,
    static: int = 0,
    library: Library = "java",
    fails: bool = False,
    patterns: bool = False,
) -> ConsumerScope:
    """The bounds of runs with a version of Kafka: Java's members as they are, with listeners. All
    members subscribe to one topic, which may grow from four partitions to five. Members of
    librdkafka do not unsubscribe, and follow no answer to what they sent before they
    left. `fails`: appends may fail; `patterns`: some
    subscribe by a regular expression.
    """
    java = library == "java"
    faults = ["crash", "close", "poll_timeout", "lose_request", "lose_response"]
    faults += ["unsubscribe"] if java else []
    failures = {"append_failure": 100} if fails else {}
    timeouts = ("session_timeout", "rebalance_timeout", "fail_over")
    bounds = ConsumerScope(
        members=3,
        static_members=static,
        partitions=5,
        kafka=kafka,
        assignor="sticky",
        patterns=patterns,
        java=True,
        auto_commit=java,
        callbacks="phased",
        faults={**dict.fromkeys((*faults, *timeouts), 100), "metadata": 1, **failures},
        k1=AS_KAFKA,
        k1_prime=AS_KAFKA,
        k3=AS_KAFKA,
        k14=AS_KAFKA,
        k16=AS_KAFKA,
        k19=AS_KAFKA,
        k20=AS_KAFKA,
        k23=AS_KAFKA if java else MENDED,
        k25=AS_KAFKA,
        kafka_20641=AS_KAFKA,
    )
    return evolve(bounds, interval=bounds.release.interval)


@define
class Printed:
    """A run, while it is printed."""

    scope: ConsumerScope
    words: Words
    choose: random.Random
    # Which library's members write.
    library: Library = "java"
    truth: Truth = Factory(Truth)
    coordinator: list[tuple[int, str]] = Factory(list)
    # (ms since the beginning, process, what)
    troubles: list[tuple[int, Process, str]] = Factory(list)
    records: Records = field(init=False)
    positions: Positions = field(init=False)
    broker: BrokerWords = field(init=False)
    requests: Requests = field(init=False)
    members: MemberWords = field(init=False)

    def __attrs_post_init__(self) -> None:
        semantics = semantics_of(self.scope)
        self.records = Records(semantics, self.scope, self.choose, self._hears, self._lost)
        self.positions = Positions(
            semantics,
            self.scope,
            self.records,
            self.choose,
            self._hears,
            native=self.library == "librdkafka",
        )
        self.broker = BrokerWords(
            self.words, self._writes, lambda: self.records.now_ms, self.scope.partitions - 1
        )
        self.requests = Requests(
            random.Random(0),
            lambda: self.records.now,
            lambda me: self.records.lives[me],
            self.records.static,
            ids=self.library == "java",
        )
        words = LIBRARIES[self.library]
        self.members = words(semantics, self.records)

    def _writes(self, text: str) -> None:
        self.coordinator.append((self.records.now_ms, text))

    def _hears(self, happening: Happening) -> None:
        self.truth.hears(happening, self.records.now_ms)
        if isinstance(happening, Answered | Committed | Fetched):
            self.requests.hears(happening)
        if isinstance(happening, Committed | Fetched):
            self.members.hears(happening)
        if not isinstance(happening, Answered | Fetched):
            self.broker.hears(happening)

    def _lost(self, lost: Lost, since: list[Happening]) -> None:
        self.truth.lost.append((self.records.now_ms, lost))
        self.broker.lost(lost, since)

    def _fired(self, firing: Firing, before: State, after: State) -> None:
        self.members.fired(firing, before, after)
        rule = firing.name.partition(":")[0]
        if firing.me is not None and rule in _TROUBLES:
            self._troubled(firing.me, rule)
        if rule in LOSSES and firing.me is not None:
            self.requests.breaks(firing.me)

    def _troubled(self, me: int, what: str) -> None:
        if what in _TROUBLES:
            at = self.records.now_ms
            self.troubles.append((at, self.members.process(me), _TROUBLES[what]))

    def play(self) -> bool:
        """Whether the run came to its end, and each step in it is one of the library's members."""
        course = Course(
            semantics_of(self.scope),
            self.records,
            self.positions,
            self.choose,
            self._fired,
            self._troubled,
            PLAYS_MS,
            self.scope.members,
        )
        return course.play(MOST_STEPS) and not self.members.foreign


def printed(
    seed: int, scope: ConsumerScope, words: Words, library: Library = "java"
) -> Printed | None:
    """One run; None if it does not come to its end."""
    run = Printed(scope, words, random.Random(seed), library)
    return run if run.play() else None


def consumer_run(
    seed: int,
    scope: ConsumerScope,
    words: Words,
    *,
    requests: bool = False,
    clients: bool = False,
    library: Library = "java",
) -> Run:
    """The coordinator's log of one run, or its request log, perhaps with the logs of its members.
    It has no lines if the run does not come to its end.
    """
    one = printed(seed, scope, words, library)
    if one is None:
        return run_of([], (), Names(), 0)
    lines = one.coordinator
    if requests:
        sent = sorted(one.requests.lines, key=lambda line: line.given)
        number(sent)
        lines = [(math.ceil(line.given), line.text()) for line in sent]
    names, epoch = one.records.names, one.records.group_epoch - one.records.first_epoch
    run = evolve(
        run_of(lines, tuple(one.truth.rounds), names, epoch),
        had=(*one.truth.all(),),
        commits=tuple(one.truth.commits),
        offsets=tuple(one.positions.committed.values()),
        lost=tuple((at, lost.member, lost.timer or "heartbeat") for at, lost in one.truth.lost),
    )
    return evolve(run, members=_members(one)) if clients else run


def _members(one: Printed) -> Clients:
    said = tuple((at, who, compiled(text)) for at, who, text in one.members.lines)
    told = tuple((at, compiled(text)) for at, text in one.coordinator)
    return Clients(said, tuple(one.members.spans.owned), tuple(one.troubles), told)
