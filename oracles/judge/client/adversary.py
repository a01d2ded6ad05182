"""The coordinator that the client talks to: the model's, with an adversary in front that chooses
what happens around it.

Before a request of the client is handled, the adversary may let the group's environment take steps.
To see what the client would be answered then it asks a copy of the group; nothing is played that
the model does not give. All of it runs in the thread that serves.
"""

from __future__ import annotations

import copy
import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import repeat
from typing import Any

from attrs import define, evolve, frozen

from groupcheck.model.assignors import Partition, Partitions
from groupcheck.model.protocol.classic.group import Phase
from groupcheck.model.protocol.codes import GROUP_AUTHORIZATION_FAILED, NOT_COORDINATOR
from groupcheck.oracles.coordinator.group import Group, Id, Waiting
from groupcheck.oracles.coordinator.requests import Groups
from groupcheck.oracles.coordinator.served import REQUESTS, Coordinator, refusal
from groupcheck.oracles.coordinator.settings import Settings
from groupcheck.oracles.judge.client.beside import BESIDE, PROTOCOLS, subscription_bytes
from groupcheck.oracles.judge.client.moves import (
    BEAT,
    FIND,
    JOIN,
    OF_MEMBERS,
    OLD_VERSIONS,
    Move,
    Step,
)
from groupcheck.oracles.judge.client.record import NOTHING, Moved
from groupcheck.oracles.judge.client.watching import Watch, error_of
from groupcheck.oracles.wire.serving import Arrival, Bounds
from groupcheck.traces.messages.apis import api

GROUP, TOPIC, PARTITIONS = "g", "t", 4
NODES, LEADER = 3, 1  # node 1 leads all partitions, the group is on one of the others
FEED_S = 0.03
LOAD_MS = 300
FOR_GOOD = sys.maxsize  # answers
LATE_S = 2.0  # how long a request is held up until others have joined
HOLD_S = 1.5  # others are sent behind it meanwhile
LATE_BEATS_S = 2.0
# What changes nothing in the group.
WAITS = (Step.HOLD, Step.DELAY, Step.LATE)
# What is noted of one run, beside what the record keeps of it.
BOUNDS = Bounds(noted=1_000, noted_bytes=4 << 20)
ONE_STEP = 3  # a version of JoinGroup that gives an id and joins at once


@frozen
class Asking:
    """A request that was made up here: who takes an instance id, or joins a copy of the group."""

    version: int
    values: dict[str, Any]
    heard: Callable[[Mapping[str, Any]], None] = lambda values: None
    client: str = BESIDE

    def answer(self, values: Mapping[str, Any], version: int | None = None) -> None:
        self.heard(values)


@define(eq=False)
class Aim:
    """What the adversary waits for: the request, the code that it is to be answered, and the ways
    that may lead there.
    """

    move: Move
    ways: tuple[tuple[Step, ...], ...]
    # The state of the client's membership; empty: any.
    state: str = ""
    # The steps that were taken; None: not yet.
    taken: tuple[Step, ...] | None = None


class Adversary(Coordinator):
    """A coordinator with three nodes and one topic."""

    def __init__(self, watch: Watch, max_size: int | None = None, old: bool = False) -> None:
        settings = Settings(topics={}, nodes=NODES, load_ms=LOAD_MS)
        if max_size is not None:
            settings = evolve(settings, max_size=max_size)
        super().__init__(settings, note=watch.noted)
        self.server.bounds = BOUNDS
        for name, newest in OLD_VERSIONS.items() if old else ():
            oldest, _ = self.server.offered[api(name).key]
            self.server.offered[api(name).key] = (oldest, newest)
        self.watch = watch
        self._cluster.leaders = (LEADER,)
        self._cluster.new_partitions = 0
        self._cluster.create(TOPIC, PARTITIONS)
        self.aim: Aim | None = None
        # API -> the codes of its next answers, in place of the model's.
        self._put: dict[str, Iterator[int]] = {}
        self._silent = False
        # Until when heartbeats wait for their answers.
        self._late_until = 0.0
        self._held: list[Arrival] = []
        # How others join while a request of the client is held up.
        self.round: Callable[[], None] = lambda: None
        self._due = math.inf
        self._feed()

    def _feed(self) -> None:
        """The log grows by some records a second, if the machine lets it."""
        late = time.monotonic() - self._due
        if late > FEED_S:
            self.watch.stalled(late)
        for partition in range(len(self._cluster.topics[TOPIC])):
            self._cluster.fill(TOPIC, partition, 1)
        self._due = time.monotonic() + FEED_S
        self.server.later(FEED_S, self._feed)

    # -- A handler

    def handle(self, request: Arrival) -> None:
        if request.client == BESIDE:
            super().handle(request)
        elif self._silent and request.node != LEADER:
            self._held.append(request)
        elif request.api.name == BEAT and time.monotonic() < self._late_until:
            self.server.later(self._late_until - time.monotonic(), partial(self._beats, request))
        elif (code := self._instead(request)) is not None:
            request.answer(_put(request, code))
        elif self._aims_at(request):
            self._play(request)
        else:
            super().handle(request)

    def _beats(self, request: Arrival) -> None:
        """A heartbeat has waited for its answer."""
        if not request.lost:
            self.handle(request)

    def _arrives(self, request: Arrival) -> bool:
        """Did it come to a node that answers it?"""
        return request.node == self._node or request.api.name == FIND

    def _instead(self, request: Arrival) -> int | None:
        """The code that it is answered in place of the model's answer; None: not at all."""
        codes = self._put.get(request.api.name) if self._arrives(request) else None
        return None if codes is None else next(codes, None)

    def _aims_at(self, request: Arrival) -> bool:
        aim = self.aim
        if aim is None or aim.taken is not None or request.api.name != aim.move.at:
            return False
        return self._arrives(request) and aim.state in ("", self.watch.knowledge.state)

    def _play(self, request: Arrival) -> None:
        aim = self.aim
        assert aim is not None
        if aim.move.put and aim.move.code is not None:
            self._begin(aim, ())
            # An access list concerns whatever the group is asked.
            every = (
                (*OF_MEMBERS, FIND)
                if aim.move.code == GROUP_AUTHORIZATION_FAILED
                else (aim.move.at,)
            )
            for name in every:
                self._put[name] = repeat(aim.move.code, aim.move.times or FOR_GOOD)
            request.answer(_put(request, next(self._put[aim.move.at])))
            return
        for way in aim.ways:
            if self._leads_to(way, request, aim.move.code):
                self._begin(aim, way)
                self._take(way, request)
                return
        super().handle(request)

    def _begin(self, aim: Aim, way: tuple[Step, ...]) -> None:
        aim.taken = way
        self.watch.add(Moved(self.watch.now(), "move", str(evolve(aim.move, steps=way))))

    # -- What the model would answer

    def _leads_to(self, way: Iterable[Step], request: Arrival, code: int | None) -> bool:
        """Would the model answer with that code, or not at once, after these steps?"""
        if code is None or request.api.name not in OF_MEMBERS:
            return True
        groups = _copied(self._groups)
        for step in way:
            if step == Step.MOVE:
                return code == NOT_COORDINATOR
            if step in (Step.LOSE_REQUEST, Step.LOSE_ANSWER):
                return True
            if step not in WAITS and not _happens(step, groups, request):
                return False
        told: list[int] = []
        asking = Asking(
            request.version,
            dict(request.values),
            lambda values: told.append(error_of(request.api.name, values)),
            request.client,
        )
        REQUESTS[request.api.name](groups, asking)
        return told[0] == code if told else not code

    # -- Steps

    def _take(self, way: tuple[Step, ...], request: Arrival) -> None:
        for at, step in enumerate(way):
            if step == Step.LOSE_REQUEST:
                request.cut("the request is lost")
                return
            if step == Step.LOSE_ANSWER:
                lost = Asking(
                    request.version,
                    request.values,
                    lambda values: request.cut("the answer is lost"),
                    request.client,
                )
                REQUESTS[request.api.name](self._groups, lost)
                self._wait()
                return
            if step == Step.DELAY:
                self._delayed(request)
                return
            if step == Step.ROUND:
                self.round()
                self._later(request, way[at + 1 :], time.monotonic() + LATE_S)
                return
            if step == Step.HOLD:
                self.server.later(HOLD_S, partial(self._goes_on, way[at + 1 :], request))
                return
            if step == Step.LATE:
                self._late_until = time.monotonic() + LATE_BEATS_S
            elif step == Step.MOVE:
                self.elsewhere()
            else:
                _happens(step, self._groups, request)
        super().handle(request)

    def _delayed(self, request: Arrival) -> None:
        """The request is handled now, and answered after a poll of the client is over."""

        def heard(values: Mapping[str, Any]) -> None:
            self.server.later(HOLD_S, lambda: None if request.lost else request.answer(values))

        late = Asking(request.version, request.values, heard, request.client)
        REQUESTS[request.api.name](self._groups, late)
        self._wait()

    def _later(self, request: Arrival, way: tuple[Step, ...], until: float) -> None:
        """The request is held up until others have joined."""
        group = self._groups.groups.get(GROUP)
        if group is None or group.core.phase == Phase.PREPARING or time.monotonic() > until:
            self._goes_on(way, request)
            return
        self.server.later(0.01, lambda: self._later(request, way, until))

    def _goes_on(self, way: tuple[Step, ...], request: Arrival) -> None:
        if not request.lost:
            self._take(way, request)

    def elsewhere(self) -> int:
        """The groups move to the other node."""
        return self.move(2 if self._node == 3 else 3)

    def grow(self) -> None:
        """The topic gets another partition."""
        self.server.call(lambda: self._cluster.grow(TOPIC))

    def ends(self, partitions: Partitions) -> dict[Partition, int]:
        """Where the logs end."""
        logs = self._cluster.topics[TOPIC]
        return {(topic, number): logs[number].end for topic, number in partitions}

    def silence(self, silent: bool) -> None:
        """The nodes that may have the group answer nothing. When they are there again, the
        connections with requests that were not answered are cut.
        """

        def act() -> None:
            self._silent = silent
            held, self._held = self._held, []
            for request in held:
                if not request.lost:
                    request.cut("it was silent")

        self.server.call(act)

    def aims(self, aim: Aim | None) -> None:
        def act() -> None:
            self.aim = aim

        self.server.call(act)

    def fence(self) -> bool:
        """Another process takes the client's instance id now."""

        def act() -> bool:
            group = self._groups.groups.get(GROUP)
            done = group is not None and _fence(self._groups, group, self.watch.knowledge.id)
            self._wait()
            return done

        return self.server.call(act)

    def expire(self) -> bool:
        """The client's session ends now."""

        def act() -> bool:
            id = self.watch.knowledge.id
            group = self._groups.groups.get(GROUP)
            done = group is not None and _expire(group, _id_of(group, id), self._groups.now())
            self._wait()
            return done

        return self.server.call(act)


def _copied(groups: Groups) -> Groups:
    """A copy whose steps nobody hears of."""
    there = copy.copy(groups)
    there.groups = {name: _copied_group(group) for name, group in groups.groups.items()}
    there.offsets = copy.copy(groups.offsets)
    there.offsets._of = {name: dict(of) for name, of in groups.offsets._of.items()}
    return there


def _copied_group(group: Group) -> Group:
    there = copy.copy(group)
    there.members, there.due = dict(group.members), dict(group.due)
    there.waiting = {at: Waiting(lambda answer, rules: None) for at in group.waiting}
    there._shares = dict(group._shares)
    return there


def _happens(step: Step, groups: Groups, request: Arrival) -> bool:
    """A step of the group's environment, if it is possible."""
    group = groups.groups.get(GROUP)
    if group is None:
        return False
    values = request.values
    if step == Step.EXPIRE:
        listed = values.get("members") or [values]
        return _expire(group, _id_of(group, listed[0].get("memberId", "")), groups.now())
    if step == Step.FENCE:
        return _fence(groups, group, values.get("memberId", ""))
    if step == Step.ROUND:  # only in a copy
        metadata = subscription_bytes(TOPIC, NOTHING)
        protocols = tuple((name, metadata) for name in PROTOCOLS)
        groups.join_group(_joining("", None, protocols, 10.0))
        return group.core.phase == Phase.PREPARING
    return False


def _fence(groups: Groups, group: Group, name: str) -> bool:
    """Another process takes the instance id of the member with that name, if it has one."""
    member = next((m for _, m in group.joined if m.name == name), None)
    if member is None or member.instance is None:
        return False
    joins = _joining("", member.instance, member.protocols, member.session_s)
    groups.join_group(joins)
    return True


def _joining(
    name: str, instance: str | None, protocols: Iterable[tuple[str, bytes]], session_s: float
) -> Asking:
    values = {
        "groupId": GROUP,
        "memberId": name,
        "groupInstanceId": instance,
        "sessionTimeoutMs": int(session_s * 1000),
        "rebalanceTimeoutMs": int(session_s * 1000),
        "protocolType": "consumer",
        "protocols": [{"name": n, "metadata": metadata} for n, metadata in protocols],
    }
    return Asking(ONE_STEP if instance is None else 5, values)


def _id_of(group: Group, name: str) -> Id | None:
    return next((id for id, member in group.members.items() if member.name == name), None)


def _expire(group: Group, id: Id | None, now: float) -> bool:
    """The session of a member ends, if the model lets it: not while it waits for an answer."""
    if id is None or id not in group.due:
        return False
    group.due[id] = now
    group.advance(now)
    return id not in group.due


def _put(request: Arrival, code: int) -> dict[str, Any]:
    if request.api.name == FIND:
        keys = request.values.get("coordinatorKeys")
        about = {"errorCode": code, "nodeId": -1, "host": "", "port": -1}
        return {"coordinators": [{"key": key, **about} for key in keys]} if keys else about
    told = refusal(request, code)
    return told | {"memberId": ""} if request.api.name == JOIN else told
