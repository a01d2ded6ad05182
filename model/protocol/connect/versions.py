"""A feature of Connect workers: workers of several versions of Connect's protocol in one group, as
during a rolling upgrade from eager to incremental cooperative rebalancing (KIP-415, KIP-507). It
comes after `connect`.

`connect.protocol` is `eager`, `compatible` or `sessioned`. A worker lists its own version and all
older ones, and the workers of a generation vote. If one of them lists only `default` (eager), all
of them rebalance eagerly:

- The leader deals all work out anew, in turn, and takes no account of who has it (EagerAssignor).
  Its memory of incremental plans stays as it was.
- The answer to SyncGroup replaces what the worker had. It revokes nothing.
- Before the next JoinGroup the worker stops all of its share (onJoinPrepare). It still reports that
  share, if it lists a version that reports.

Which version a worker follows when it joins is that of its last answer (currentConnectProtocol),
not that of the round that begins. So where a group falls back to eager, its workers go on with
their work while they join, and the answer stops nothing: what a worker has lost then runs on
(FINDINGS 41).

`bounces` lists the versions that each worker goes through. The fault `bounce` gives a worker that
is down the next one, unless the group still remembers an id of the process.

`compatible` and `sessioned` differ only in how workers sign requests to each other.

Kafka: ConnectProtocolCompatibility, WorkerCoordinator, DistributedHerder.startWork, onRevoked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import permutations
from typing import Any, ClassVar

import attrs
from attrs import frozen

from groupcheck.model.assignors.connect import Config
from groupcheck.model.assignors.connect.eager import eager
from groupcheck.model.engine import ScopeError, Spec, evolve, rule
from groupcheck.model.engine.rule import Rule
from groupcheck.model.protocol.bounds import bound, is_a
from groupcheck.model.protocol.classic import client
from groupcheck.model.protocol.classic.client import Client, Member
from groupcheck.model.protocol.classic.group import Core, Errand, Seats, Walk, is_member
from groupcheck.model.protocol.connect.leader import Deal, deal_out, make_plan, planned
from groupcheck.model.protocol.connect.memory import Memory
from groupcheck.model.protocol.connect.plans import Claim, Planned, Share, mask_of, work_of
from groupcheck.model.protocol.connect.scope import MORE as OF_CONNECT
from groupcheck.model.protocol.connect.scope import ConnectScope
from groupcheck.model.protocol.connect.worker import (
    MISMATCHED,
    OUTDATED,
    SENDING,
    Report,
    Worker,
    lose_coordinator,
)
from groupcheck.model.protocol.faults import Budget
from groupcheck.model.protocol.messages import NO_GENERATION, JoinGroup
from groupcheck.model.protocol.transform import extended, own, rebuilt, rewritten

EAGER = ("default",)
LISTS: Mapping[str, tuple[str, ...]] = {
    "eager": EAGER,
    "compatible": ("compatible", "default"),
    "sessioned": ("sessioned", "compatible", "default"),
}
"""`connect.protocol` -> what a worker lists in JoinGroup, the most preferred first."""
MORE: Mapping[str, str] = {
    **OF_CONNECT,
    "bounce": (
        "A worker that is down, and that the group has forgotten, is configured with the next"
        " version in `bounces`."
    ),
}


@frozen
class ConnectVersionsScope(ConnectScope):
    """The bounds of a run of a group of workers of several versions."""

    MORE: ClassVar[Mapping[str, str]] = MORE

    connect_protocol: str = bound(
        "eager",
        "connect.protocol of the workers at first: one for all, or one for each, as in"
        " `eager|compatible`.",
        is_a(str, "not a text"),
    )
    bounces: str = bound(
        "eager>compatible>sessioned",
        "The versions that every worker goes through, one after each `bounce`.",
        is_a(str, "not a text"),
    )

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        for name in (*self.connect_protocol.split("|"), *self.bounces.split(">")):
            if name not in LISTS:
                raise ScopeError(
                    f"{name!r} is no connect.protocol",
                    where="scope",
                    do="one of " + ", ".join(LISTS) + ", as in eager|compatible",
                )
        if len(self.connect_protocol.split("|")) not in (1, self.members):
            raise ScopeError(
                f"connect_protocol {self.connect_protocol!r} is not one for all of the"
                f" {self.members} workers, and not one for each",
                where="scope",
            )

    @property
    def lists(self) -> tuple[tuple[str, ...], ...]:
        """The protocols that each worker lists at first."""
        names = self.connect_protocol.split("|")
        return tuple(LISTS[name] for name in (names if len(names) > 1 else names * self.members))

    @property
    def stages(self) -> tuple[tuple[str, ...], ...]:
        """The lists that a process goes through."""
        return tuple(LISTS[name] for name in self.bounces.split(">"))

    @property
    def assignors_listed(self) -> tuple[str, ...]:
        """All versions that some worker lists at any time, in alphabetical order."""
        return tuple(sorted({name for names in (*self.lists, *self.stages) for name in names}))


# -- the worker


def _stops(worker: Worker, share: int) -> Worker:
    """The worker stops its share, unless it could not start its work after the last round
    (RebalanceListener.onRevoked).
    """
    return evolve(worker, runs=worker.runs & ~share) if worker.resolved else worker


def preparing(original: Rule) -> Rule:
    """The rule with onJoinPrepare of a worker whose last round was eager, and with the report of a
    worker that lists `default` alone: how far it has read, and nothing else.
    """

    def change(
        before: Mapping[str, Any], label: str, after: dict[str, Any], scope: ConnectScope
    ) -> dict[str, Any]:
        link, worker, seats = after["link"], after["worker"], after["seats"]
        member = after["client"]
        if before["client"] == Client():
            worker = evolve(worker, eager=seats.listed == EAGER)
        for place in ("request", "late"):
            sent = getattr(link, place)
            if getattr(before["link"], place) is not None or not isinstance(sent, JoinGroup):
                continue
            had = before["client"].owned | worker.reports
            if worker.eager:
                worker = evolve(_stops(worker, had), reports=had)
                member = evolve(member, owned=0)
            sent = evolve(sent, claimed=0 if had else NO_GENERATION, owned=had)
            link = evolve(link, **{place: sent})
            if seats.listed == EAGER:
                report = Report(worker.read, 0)
                sent = evolve(sent, claimed=NO_GENERATION, owned=0, more=report)
                link = evolve(link, **{place: sent})
        return {**after, "client": member, "link": link, "worker": worker}

    return extended(original, change, "worker", "seats")


def _loses(member: Client, worker: Worker) -> tuple[Client, Worker]:
    """An eager plan has given the worker's share away. It still reports it."""
    return evolve(member, owned=0), evolve(worker, reports=worker.reports | member.owned)


def late(original: Rule) -> Rule:
    """The answer to JoinGroup of a worker that joins a generation whose eager plan is made."""

    def change(
        before: Mapping[str, Any], label: str, after: dict[str, Any], scope: ConnectScope
    ) -> dict[str, Any]:
        member, seat = after["client"], after["seats"][after["client"].id]
        if label != "joined" or seat is None or seat.told is None or not seat.told.eager:
            return after
        member, worker = _loses(member, after["worker"])
        return {**after, "client": member, "worker": worker}

    return extended(original, change, "seats", "worker")


def following(original: Rule) -> Rule:
    """The answer to SyncGroup, with the version of the round (onJoinComplete, startWork)."""

    def change(
        before: Mapping[str, Any], label: str, after: dict[str, Any], scope: ConnectScope
    ) -> dict[str, Any]:
        if label not in ("assigned", MISMATCHED, OUTDATED):
            return after
        told, was, member = before["link"].answer.told, before["worker"], after["client"]
        had = before["client"].owned | was.reports
        if label == MISMATCHED:
            member = evolve(member, owned=0 if told.eager else had)
        done = label == "assigned"
        worker = evolve(after["worker"], eager=told.eager, resolved=done, reports=0)
        # What it runs without having it: nothing tells it to stop that.
        rest = was.runs if told.eager else was.runs & ~had
        if label == "assigned":
            worker = evolve(worker, runs=member.owned | rest)
        elif label == OUTDATED:
            worker = evolve(worker, runs=rest if told.eager else was.runs & member.owned | rest)
        return {**after, "client": member, "worker": worker}

    return extended(original, change, "worker")


def cut_off(original: Rule) -> Rule:
    """A worker that does not find the coordinator stops its share."""

    def change(
        before: Mapping[str, Any], label: str, after: dict[str, Any], scope: ConnectScope
    ) -> dict[str, Any]:
        was, had = before["worker"], before["client"].owned
        left = _stops(was, had).runs if was.eager else was.runs & ~had
        return {**after, "worker": evolve(after["worker"], runs=left)}

    return extended(original, change)


@rule(when=lambda budget: budget.allows("bounce"))
def bounce(
    client: Client, seats: Seats, budget: Budget, scope: ConnectVersionsScope
) -> Iterator[tuple[Client, Seats, Budget]]:
    """A worker that is down is configured with the next version."""
    forgotten = not seats.ids and not seats.durable
    later = dict(zip(scope.stages, scope.stages[1:], strict=False)).get(seats.listed)
    if client == Client() and forgotten and later is not None:
        yield client, evolve(seats, listed=later), budget.spend("bounce")


# -- the leader


@lru_cache(maxsize=1 << 14)
def eager_plans(
    memory: Memory, settled: bool, claims: tuple[Claim, ...], configured: int, scope: ConnectScope
) -> tuple[Planned, ...]:
    """Every plan of an eager leader, each once: which worker comes first in the order of ids is
    open.
    """
    found: dict[Planned, None] = {}
    for names in permutations(range(len(claims))):
        dealt = eager(Config(0, work_of(configured, scope)), names)
        shares = [(c, Share(mask_of(dealt[names[k]], scope))) for k, c in enumerate(claims)]
        found[Planned(Memory(), tuple(sorted(shares)))] = None
    return tuple(found)


def voting(original: Rule) -> Rule:
    """The plan is made by the assignor of the version that the workers have voted for."""

    def plan(
        walk: Walk[Errand], memory: Memory, core: Core, scope: ConnectVersionsScope
    ) -> Iterator[tuple[Any, ...]]:
        if core.assignor is None or scope.assignors_listed[core.assignor] != EAGER[0]:
            for made in original.call(walk, memory, scope):
                yield (*made, core)
            return
        for label, after, _ in planned(walk, memory, scope, eager_plans):
            if isinstance(after.errand, Deal):
                after = evolve(after, errand=evolve(after.errand, eager=True))
            yield label, after, memory, core

    plan.__doc__ = original.doc
    return rewritten(original, plan, *original.slots, "core")


def dealing(original: Rule) -> Rule:
    """Shares of an eager plan change nothing in what the leader remembers of workers. Nobody has
    what he had before, whether or not he has stopped it.
    """

    def deal(
        walk: Walk[Deal], seats: Seats, worker: Worker, client: Client, scope: ConnectScope
    ) -> Iterator[tuple[Walk[Deal], Seats, Worker, Client]]:
        for after, dealt, led in original.call(walk, seats, worker, scope):
            member = client
            if walk.errand.eager:
                led = evolve(led, led=worker.led)
                # One that has not joined by itself (a late JoinGroup did) does not know of it.
                if is_member(seats[client.id]) and client.state != Member.STABLE:
                    member, led = _loses(client, led)
                for id, seat in dealt:
                    was = seats[id]
                    if seat.told is not None and was is not None:
                        known = was.told is not None and was.told.known
                        candidate = known and was.told is not None and was.told.candidate
                        told = evolve(seat.told, eager=True, known=known, candidate=candidate)
                        dealt = dealt.put(id, evolve(seat, told=told))
            yield after, dealt, led, member

    deal.__doc__ = original.doc
    return rewritten(original, deal, *original.slots, "client")


def versions(spec: Spec) -> Spec:
    """The feature: workers of several versions of the protocol."""
    spec = rebuilt(spec, [preparing(own(spec, r)) for r in SENDING])
    new = [
        late(own(spec, client.join_answer)),
        following(own(spec, client.sync_answer)),
        cut_off(own(spec, lose_coordinator)),
        voting(own(spec, make_plan)),
        dealing(own(spec, deal_out)),
    ]
    return attrs.evolve(rebuilt(spec, new, [bounce]), name="connect_versions")
