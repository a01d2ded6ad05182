"""Compares what the real group shows with a state of the model: the coordinator's memory, every
member, every connection, the committed offset.

Both sides are brought into one form, which has a field for each thing that is compared. What cannot
be compared in some situation is None there on both sides: the situation itself is compared as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from groupcheck.model.protocol.classic.client import NOTHING, Client, Member, Prepare
from groupcheck.model.protocol.classic.group import Core, Phase, Seat, Seats
from groupcheck.model.protocol.link import Link
from groupcheck.model.protocol.messages import NO_ID
from groupcheck.oracles.conform.whole.look import GroupLook, Look, MemberLook, RecordLook, SeatLook
from groupcheck.oracles.conform.whole.model import Following, Guess, NamesOfOne

STATES = {
    Phase.EMPTY: "Empty",
    Phase.PREPARING: "PreparingRebalance",
    Phase.COMPLETING: "CompletingRebalance",
    Phase.STABLE: "Stable",
}


class GroupForm(NamedTuple):
    """The coordinator's memory of the group, without its ids."""

    state: str
    generation: int
    join_timer: bool
    sync_timer: bool


class SeatForm(NamedTuple):
    """The coordinator's memory of one id."""

    # Is it a member? False: the id was handed out.
    member: bool
    leads: bool
    # Its SyncGroup is due.
    due: bool
    # Its timer is armed.
    armed: bool
    # Of a member only.
    parked_join: bool | None = None
    parked_sync: bool | None = None
    new: bool | None = None
    # Its share, in a Stable group.
    assignment: int | None = None
    # The generation in its subscription; not of one that has not joined in this round.
    claimed: int | None = None


class LinkForm(NamedTuple):
    """A connection. Requests are named by their API."""

    waits: str | None
    late: str | None
    unread: tuple[str, ...]


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


SeatForms = tuple[tuple[str, SeatForm], ...]


class Fitting:
    """Compares looks with states of one model."""

    def __init__(self, model: Following) -> None:
        self.model = model
        count = model.scope.members
        self._core, self._offsets = model.places["core", None], model.places["offsets", None]
        self._each = [
            (i, *(model.places[name, i] for name in ("seats", "client", "link")))
            for i in range(count)
        ]
        # The forms of numbered values of the model.
        self._groups: dict[int, GroupForm] = {}
        self._seats: dict[tuple[int, bool, bool, NamesOfOne], SeatForms] = {}
        self._clients: dict[tuple[int, NamesOfOne], MemberForm] = {}
        self._links: dict[int, LinkForm] = {}
        self._records: dict[Any, RecordLook | None] = {}

    def fits(self, guess: Guess, real: Form) -> bool:
        """Does a state of the model agree with what the real group shows?"""
        state = guess.state
        if self._group(state[self._core]) != real.group:
            return False
        seats = 0
        for i, of_seats, of_client, of_link in self._each:
            names = guess.names[i]
            if self._link(state[of_link]) != real.links[i]:
                return False
            if self._client(state[of_client], names) != real.members[i]:
                return False
            for name, form in self._seats_of(state[of_seats], real.group.state, names):
                seats += 1
                if real.seats.get(name) != form:
                    return False
        if seats != len(real.seats) or self._committed(guess) != real.committed:
            return False
        return self._logged(guess) in real.logged

    def _committed(self, guess: Guess) -> int:
        return self.model.slot(guess, "offsets").committed  # type: ignore[no-any-return]

    def _logged(self, guess: Guess) -> RecordLook | None:
        """The record that a fail-over would load."""
        numbers = (
            guess.state[self._core],
            *[guess.state[of_seats] for _, of_seats, *_ in self._each],
        )
        key = numbers, guess.names
        if key not in self._records:
            self._records[key] = self._record(guess)
        return self._records[key]

    def _record(self, guess: Guess) -> RecordLook | None:
        generation, _, _ = self.model.slot(guess, "core").durable
        members, leader = set[tuple[str, int, int]](), None
        for i, named in enumerate(guess.names):
            seats: Seats = self.model.slot(guess, "seats", i)
            names = dict(named)
            members |= {(names[id], share, claimed) for id, share, claimed in seats.durable}
            if seats.durable_leader is not None:
                leader = names[seats.durable_leader]
        return RecordLook(generation, leader, frozenset(members)) if generation else None

    def misfits(self, guess: Guess, real: Form) -> tuple[str, ...]:
        """Everything that differs, in words."""
        pairs = _pairs(self._form(guess), real)
        return tuple(
            f"{what} is {_text(seen)}, in the model {_text(expected)}"
            for what, expected, seen in pairs
            if expected != seen
        )

    def _form(self, guess: Guess) -> Form:
        """The form of a whole state of the model."""
        state = guess.state
        group = self._group(state[self._core])
        seats: dict[str, SeatForm] = {}
        for i, of_seats, _, _ in self._each:
            seats.update(self._seats_of(state[of_seats], group.state, guess.names[i]))
        return Form(
            group,
            seats,
            tuple(self._client(state[at], guess.names[i]) for i, _, at, _ in self._each),
            tuple(self._link(state[at]) for _, _, _, at in self._each),
            self._committed(guess),
            (self._logged(guess),),
        )

    def _group(self, number: int) -> GroupForm:
        form = self._groups.get(number)
        if form is None:
            form = self._groups[number] = _group(self.model.value(self._core, number))
        return form

    def _seats_of(self, number: int, state: str, names: NamesOfOne) -> SeatForms:
        key = number, state == "Stable", state == "PreparingRebalance", names
        forms = self._seats.get(key)
        if forms is None:
            mine, known = self.model.value(self._each[0][1], number), dict(names)
            forms = self._seats[key] = tuple(
                (known[id], _seat(seat, mine.leader == id, state)) for id, seat in mine
            )
        return forms

    def _client(self, number: int, names: NamesOfOne) -> MemberForm:
        form = self._clients.get((number, names))
        if form is None:
            client = self.model.value(self._each[0][2], number)
            form = self._clients[number, names] = _client(client, names)
        return form

    def _link(self, number: int) -> LinkForm:
        form = self._links.get(number)
        if form is None:
            form = self._links[number] = _link(self.model.value(self._each[0][3], number))
        return form


# -- the model's side


def _group(core: Core) -> GroupForm:
    preparing = core.phase == Phase.PREPARING
    return GroupForm(STATES[core.phase], core.generation, preparing, core.deadline)


def _seat(seat: Seat, leads: bool, state: str) -> SeatForm:
    if not seat.member:
        return SeatForm(False, leads, seat.due, seat.armed)
    return SeatForm(
        True,
        leads,
        seat.due,
        seat.armed,
        seat.join,
        seat.sync,
        seat.new,
        seat.share if state == "Stable" else None,
        seat.claimed if seat.join or state != "PreparingRebalance" else None,
    )


def _link(link: Link) -> LinkForm:
    return LinkForm(
        type(link.parked).__name__ if link.parked else None,
        type(link.late).__name__ if link.late else None,
        tuple(type(request).__name__ for request in link.queue),
    )


def _client(client: Client, names: NamesOfOne) -> MemberForm:
    if client.closing or client.failed:
        return MemberForm(client.closing, bool(client.failed))
    waits = client.granted != NOTHING
    state = str(client.state)
    return MemberForm(
        False,
        False,
        state,
        client.generation,
        "" if client.id == NO_ID else dict(names).get(client.id),
        client.owned,
        client.position,
        client.rejoin if client.state == Member.STABLE else None,
        waits,
        None if waits else _coarse(state, client.owned, client.prepare),
    )


# -- the real side


def sync_waits(member: MemberLook) -> bool:
    """Is SyncGroup the next thing that the coordinator reads of the member?"""
    if member.outstanding is not None:
        return False
    return "SyncGroup" in member.unsent or member.unread[:1] == ("SyncGroup",)


def form_of(look: Look) -> Form:
    """What the real group shows, as it is compared."""
    group, seats = _real_group(look.group)
    return Form(
        group,
        seats,
        tuple([_real_member(member) for member in look.members]),
        tuple([_real_link(member) for member in look.members]),
        max(0, look.committed),
        look.logged,
    )


@lru_cache(maxsize=1 << 12)
def _real_group(real: GroupLook) -> tuple[GroupForm, dict[str, SeatForm]]:
    """A group that does not exist is like one that is Empty and has never had a member."""
    own = {key.removeprefix("heartbeat-g-") for key in real.timers} - {"join-g", "sync-g"}
    form = GroupForm(real.state, real.generation, "join-g" in real.timers, "sync-g" in real.timers)
    members = dict(real.members)
    # An id that only a timer, the leader or a SyncGroup mentions is there, too. It fits nothing.
    leader = [real.leader] if real.leader is not None else []
    names = sorted({*members, *real.pending_join, *real.pending_sync, *own, *leader})
    return form, {
        name: _real_seat(
            members.get(name), real, name == real.leader, name in real.pending_sync, name in own
        )
        for name in names
    }


def _real_seat(
    member: SeatLook | None, real: GroupLook, leads: bool, due: bool, armed: bool
) -> SeatForm:
    if member is None:
        return SeatForm(False, leads, due, armed)
    stable, preparing = real.state == "Stable", real.state == "PreparingRebalance"
    return SeatForm(
        True,
        leads,
        due,
        armed,
        member.awaiting_join,
        member.awaiting_sync,
        member.new,
        member.share if stable else None,
        member.claimed if member.awaiting_join or not preparing else None,
    )


@lru_cache(maxsize=1 << 14)
def _real_link(real: MemberLook) -> LinkForm:
    unread = real.unread[sync_waits(real) and "SyncGroup" not in real.unsent :]
    return LinkForm(real.outstanding, real.late, unread)


@lru_cache(maxsize=1 << 14)
def _real_member(real: MemberLook) -> MemberForm:
    if real.closing or real.failed:
        return MemberForm(real.closing, bool(real.failed))
    waits = real.state == "STABLE" and real.joining
    return MemberForm(
        False,
        False,
        real.state,
        real.generation,
        real.id,
        real.owned,
        real.position,
        real.rejoin if real.state == "STABLE" else None,
        waits,
        None if waits else _coarse(real.state, real.owned, _prepare(real)),
    )


def _prepare(real: MemberLook) -> Prepare:
    """How far the poll thread has come in a round."""
    if sync_waits(real):
        return Prepare.SYNC
    if not real.prepare:
        return Prepare.DONE
    if real.committing in ("done", "failed") or (real.prepare_over and real.committing != "none"):
        return Prepare.COMMITTED
    return Prepare.NEEDED


def _coarse(state: str, owned: int, prepare: Prepare) -> Prepare:
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
    "ids handed out": lambda seat: not seat.member,
    "members": lambda seat: seat.member,
    "pending SyncGroups": lambda seat: seat.due,
}
OF_SEAT = {
    "parked_join": "parked JoinGroup",
    "parked_sync": "parked SyncGroup",
    "new": "newness",
    "assignment": "assignment",
    "claimed": "claimed generation",
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
    "late": "late request",
    "unread": "requests not read",
}
Pairs = Iterator[tuple[str, Any, Any]]  # what, in the model, in the real group


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
    group = {"join-g": form.group.join_timer, "sync-g": form.group.sync_timer}
    own = {f"heartbeat-g-{name}" for name, seat in form.seats.items() if seat.armed}
    return own | {key for key, armed in group.items() if armed}


def _record(form: Form) -> set[str]:
    return {str(record and tuple(record)) for record in form.logged}


def _text(value: Any) -> str:
    if isinstance(value, (set, frozenset)):
        return "{" + ", ".join(sorted(map(str, value))) + "}"
    return str(list(value) if isinstance(value, tuple) else value)
