"""A path of the model as moves: what each member sends, what it is answered, and what becomes of
its connection. What happens inside the coordinator is not among them: only its answers are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from attrs import frozen

from groupcheck.model.engine import Spec
from groupcheck.model.engine.step import Semantics, State
from groupcheck.model.engine.verdict import Firing, Path
from groupcheck.model.protocol.classic import client, client_faults, offsets, timers
from groupcheck.model.protocol.classic.features.triggers import cluster, subscription
from groupcheck.model.protocol.link import Link
from groupcheck.model.protocol.messages import Answer, Request, Store

Kind = Literal[
    "sends",  # a request, which the coordinator reads
    "delayed",  # a request, which the coordinator does not read before the connection is gone
    "late",  # the coordinator reads such a request now
    "unanswered",  # a request, which the coordinator reads; the answer is lost with the connection
    "cut",  # the connection breaks while a request waits
    "answered",
    "processes",  # the application processes a record
    "completes",  # onJoinComplete, where that is a step of its own
    "leaves",  # the application does not poll in time, and LeaveGroup is sent
    "crashes",  # the process dies; another may start in its place
    "delay",  # the initial delay of a round is over, which no member notices by itself
    "appended",  # the leader's plan is written, which no member notices by itself
    "topics",  # the topics change, and nobody has noticed it yet
    "sees",  # the member learns of it
]
SENDS = {
    r.name for r in (client.send_join, client.send_sync, client.send_heartbeat, client.send_commit)
}
ANSWERS = {
    r.name
    for r in (client.join_answer, client.sync_answer, client.heartbeat_answer, client.commit_answer)
}
BREAKS: dict[str, Kind] = {
    client_faults.lose_response.name: "unanswered",
    client_faults.delay_request.name: "delayed",
}
PLAIN: dict[str, Kind] = {
    client_faults.disconnect.name: "cut",
    timers.late_request.name: "late",
    offsets.process_record.name: "processes",
    client.join_complete.name: "completes",
    client_faults.crash.name: "crashes",
    timers.initial_delay.name: "delay",
    timers.append_committed.name: "appended",
    client_faults.poll_timeout.name: "leaves",
    cluster.add_partitions.name: "topics",
    subscription.refresh_metadata.name: "sees",
}


@frozen
class Seat:
    """A member of the group, as the coordinator knows it."""

    process: int
    id: int
    leads: bool


@frozen
class Move:
    """One thing that a member notices or does."""

    # The number of the step, from 1.
    step: int
    kind: Kind
    # The index of the process.
    process: int
    # Of what is sent or answered.
    request: Request | None = None
    # Of what is answered.
    answer: Answer | None = None
    # The group's members at that moment.
    seats: tuple[Seat, ...] = ()
    # Partitions of the topic at that moment; 0: they never change.
    partitions: int = 0

    @property
    def api(self) -> str:
        """Kafka's name of the request's API."""
        assert self.request is not None
        return type(self.request).__name__


class Untranslatable(Exception):
    """A step that nothing here can make a real member do."""


def moves(spec: Spec, path: Path) -> tuple[Move, ...]:
    """All moves of a path, in order. Raises `Untranslatable`."""
    see = Semantics(spec)
    state, found = path.initial, list[Move]()
    for number, step in enumerate(path.steps, 1):
        for firing in (step.firing, *step.urgent):
            after = _fired(see, state, firing)
            found += _move(see, number, firing, state, after)
            state = after
    return tuple(found)


def _fired(see: Semantics, state: State, firing: Firing) -> State:
    instance = see.instance(firing.name.partition(":")[0], firing.me, firing.others)
    return next(after for made, after, _ in see.firings(instance, state) if made == firing)


def _move(see: Semantics, step: int, firing: Firing, before: State, after: State) -> Iterator[Move]:
    rule = firing.name.partition(":")[0]
    then, now = see.named(before), see.named(after)
    if firing.me is None:
        if rule in PLAIN:
            yield Move(step, PLAIN[rule], 0, partitions=_counted(now))
        return
    me = firing.me
    was, link = then["link"][me], now["link"][me]
    if rule in SENDS:
        yield Move(step, "sends", me, _sent(was, link))
    elif rule in ANSWERS:
        answer = was.answer
        request = answer.request.commit if isinstance(answer.request, Store) else answer.request
        yield Move(step, "answered", me, request, answer, _seats(then))
    elif rule in BREAKS:
        request = link.request if BREAKS[rule] == "unanswered" else link.late
        yield Move(step, BREAKS[rule], me, request)
    elif rule in PLAIN:
        sent = _sent(was, link) if PLAIN[rule] == "leaves" else was.late
        yield Move(step, PLAIN[rule], me, sent, partitions=_counted(now))
    elif rule in ("close", "lose_request", "late_commit"):
        raise Untranslatable(firing.name)


def _sent(was: Link, link: Link) -> Request:
    if link.request is not None and link.request is not was.request:
        return link.request
    return link.queue[-1]


def _seats(named: dict[str, Any]) -> tuple[Seat, ...]:
    return tuple(
        Seat(process, id, seats.leader == id)
        for process, seats in enumerate(named["seats"])
        for id, seat in seats
        if seat.member
    )


def _counted(named: dict[str, Any]) -> int:
    return int(named.get("cluster", 0)).bit_count()
