"""The parts of a whole group that are compared, in one form for the real group and for a state of
the model, and what differs between two such forms, in words.

The form has a field for each thing that is compared. What cannot be compared in some situation is
None there on both sides: the situation itself is compared as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from groupcheck.model.protocol.classic.client import Prepare
from groupcheck.oracles.conform.whole.look import RecordLook, RequestLook, Times


class GroupForm(NamedTuple):
    """The coordinator's memory of the group, without its ids."""

    state: str
    generation: int
    # The ms until the round stops waiting for members, and for their SyncGroups; None: that timer
    # is not armed.
    join_ms: int | None
    sync_ms: int | None
    # The ms until the leader's append times out, with all that wait for it.
    append_ms: frozenset[int]
    # The members, those whose JoinGroup is parked, the ids handed out, and the members that owe
    # SyncGroup, as the coordinator counts them.
    counts: tuple[int, int, int, int]
    # In PreparingRebalance: is the leader's JoinGroup parked? Else False.
    leader_parked: bool
    # (assignor, how many members list it).
    support: frozenset[tuple[str, int]]
    # The assignor of the generation; None while there is none.
    protocol: str | None


class SeatForm(NamedTuple):
    """The coordinator's memory of one id."""

    # Is it a member, or was the id handed out? Neither: only a timer knows it.
    member: bool
    pending: bool
    leads: bool
    # Its SyncGroup is due.
    due: bool
    # The ms until its timer is due; None: it is not armed.
    timer_ms: int | None
    # Of a member only.
    parked_join: bool | None = None
    parked_sync: bool | None = None
    new: bool | None = None
    # Its share, in a Stable group.
    assignment: int | None = None
    # The generation in its subscription; not of one that has not joined in this round.
    claimed: int | None = None
    # The partitions in it; likewise.
    claims: int | None = None
    # Its session timeout and its rebalance timeout.
    times: Times | None = None
    # The assignors that it lists.
    protocols: tuple[str, ...] | None = None


class LinkForm(NamedTuple):
    """A connection, with its requests."""

    waits: RequestLook | None
    # The request that waits is never answered.
    orphaned: bool
    late: RequestLook | None
    unread: tuple[RequestLook, ...]


class MemberForm(NamedTuple):
    """A member."""

    closing: bool
    stopped: bool
    # Of a running member only.
    state: str | None = None
    generation: int | None = None
    id: str | None = None
    partitions: int | None = None
    position: int | None = None
    # Of a STABLE member only.
    rejoin: bool | None = None
    # Is onJoinComplete still to run?
    granted: bool | None = None
    # Not while onJoinComplete is still to run.
    prepare: Prepare | None = None


class Form(NamedTuple):
    """All that is compared."""

    group: GroupForm
    seats: dict[str, SeatForm]
    members: tuple[MemberForm, ...]
    links: tuple[LinkForm, ...]
    committed: int
    # The records that a fail-over may load: of the model one, of the real group one for each
    # fail-over that could happen now.
    logged: tuple[RecordLook | None, ...]


def coarse(state: str, owned: int, prepare: Prepare) -> Prepare:
    """A commit before joining counts only while the member is STABLE. A member that has left, owns
    nothing and waits for an answer has nothing to prepare: Kafka's runs onJoinPrepare all the same.
    """
    if state == "STABLE":
        return prepare
    gone = state == "UNJOINED" and not owned
    return Prepare.NEEDED if prepare == Prepare.COMMITTED or gone else prepare


# -- in words

# What is a set of ids -> which ids are in it.
OF_IDS: Mapping[str, Callable[[SeatForm], bool]] = {
    "leader": lambda seat: seat.leads,
    "ids handed out": lambda seat: seat.pending,
    "ids that only a timer knows": lambda seat: not seat.pending and not seat.member,
    "members": lambda seat: seat.member,
    "pending SyncGroups": lambda seat: seat.due,
}
OF_SEAT = {
    "parked_join": "parked JoinGroup",
    "parked_sync": "parked SyncGroup",
    "new": "newness",
    "assignment": "assignment",
    "claimed": "claimed generation",
    "claims": "claimed partitions",
    "times": "session and rebalance timeout",
    "protocols": "list of assignors",
}
OF_GROUP = {
    "counts": "number of members, parked JoinGroups, ids handed out, pending SyncGroups",
    "leader_parked": "parked JoinGroup of the leader",
    "support": "members that list each assignor",
    "protocol": "assignor",
}
OF_MEMBER = {
    "closing": "closing",
    "stopped": "stopped",
    "state": "state",
    "generation": "generation",
    "id": "id",
    "partitions": "partitions",
    "position": "position",
    "rejoin": "told to rejoin",
    "granted": "onJoinComplete waits",
    "prepare": "prepare",
}
OF_LINK = {
    "waits": "request that waits",
    "orphaned": "request that waits in vain",
    "late": "late request",
    "unread": "requests not read",
}
Pairs = Iterator[tuple[str, Any, Any]]  # what, in the model, in the real group


def differing(model: Form, real: Form) -> tuple[str, ...]:
    """Everything that differs, in words."""
    return tuple(
        f"{what} is {_text(seen)}, in the model {_text(expected)}"
        for what, expected, seen in _pairs(model, real)
        if expected != seen
    )


def _pairs(model: Form, real: Form) -> Pairs:
    yield "state", model.group.state, real.group.state
    yield "generation", model.group.generation, real.group.generation
    ours, theirs = model.seats, real.seats
    for what, named in OF_IDS.items():
        mine, their = [{name for name, seat in x.items() if named(seat)} for x in (ours, theirs)]
        yield what, mine, their
    for name in sorted(n for n in ours.keys() & theirs.keys() if theirs[n].member):
        if ours[name].member:
            yield from _fields(OF_SEAT, ours[name], theirs[name], f" of {name}")
    for what, field in OF_GROUP.items():
        yield field, getattr(model.group, what), getattr(real.group, what)
    yield "timers", _timers(model), _timers(real)
    for i, member in enumerate(model.members):
        link = _fields(OF_LINK, model.links[i], real.links[i])
        for what, expected, seen in (*link, *_fields(OF_MEMBER, member, real.members[i])):
            yield f"member {i}: {what}", expected, seen
    yield "committed offset", model.committed, real.committed
    if model.logged[0] not in real.logged:
        yield "record that a fail-over loads", _record(model), _record(real)


def _fields(names: Mapping[str, str], mine: Any, their: Any, of: str = "") -> Pairs:
    """The fields of two forms, without those that only one side has."""
    for field, what in names.items():
        expected, seen = getattr(mine, field), getattr(their, field)
        if None not in (expected, seen) or field in OF_LINK:
            yield what + of, expected, seen


def _timers(form: Form) -> set[str]:
    group = {"join-g": form.group.join_ms, "sync-g": form.group.sync_ms}
    own = {f"heartbeat-g-{name}": seat.timer_ms for name, seat in form.seats.items()}
    armed = {f"{key} in {ms} ms" for key, ms in (own | group).items() if ms is not None}
    return armed | {f"append in {ms} ms" for ms in form.group.append_ms}


def _record(form: Form) -> set[str]:
    return {str(record and tuple(record)) for record in form.logged}


def _text(value: Any) -> str:
    if isinstance(value, (set, frozenset)):
        return "{" + ", ".join(sorted(map(str, value))) + "}"
    return str(list(value) if isinstance(value, tuple) else value)
