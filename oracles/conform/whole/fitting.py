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
from groupcheck.model.protocol.messages import (
    NO_ID,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    OffsetCommit,
    Request,
    SyncGroup,
)
from groupcheck.oracles.conform.whole.look import (
    GroupLook,
    Look,
    MemberLook,
    RecordLook,
    RequestLook,
    SeatLook,
    Times,
)
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
    # The ms until the round stops waiting for members, and for their SyncGroups; None: that timer
    # is not armed.
    join_ms: int | None
    sync_ms: int | None
    # The ms until the leader's append times out, with all that wait for it.
    append_ms: frozenset[int]


class SeatForm(NamedTuple):
    """The coordinator's memory of one id."""

    # Is it a member? False: the id was handed out.
    member: bool
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
    # Its session timeout and its rebalance timeout.
    times: Times | None = None


class LinkForm(NamedTuple):
    """A connection, with its requests."""

    waits: RequestLook | None
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
        self._groups: dict[tuple[int, int], GroupForm] = {}
        self._seats: dict[tuple[int, bool, bool, NamesOfOne, Times], SeatForms] = {}
        self._clients: dict[tuple[int, NamesOfOne], MemberForm] = {}
        self._links: dict[tuple[int, NamesOfOne], LinkForm] = {}
        self._records: dict[Any, RecordLook | None] = {}

    def fits(self, guess: Guess, real: Form) -> bool:
        """Does a state of the model agree with what the real group shows?"""
        state = guess.state
        if self._group(guess) != real.group:
            return False
        seats = 0
        for i, of_seats, of_client, of_link in self._each:
            names = guess.names[i]
            if self._link(state[of_link], names) != real.links[i]:
                return False
            if self._client(state[of_client], names) != real.members[i]:
                return False
            mine = self._seats_of(state[of_seats], real.group.state, names, guess.times[i])
            for name, form in mine:
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
        key = numbers, guess.names, guess.times
        if key not in self._records:
            self._records[key] = self._record(guess)
        return self._records[key]

    def _record(self, guess: Guess) -> RecordLook | None:
        generation, _, _ = self.model.slot(guess, "core").durable
        members, leader = set[tuple[str, int, int, Times]](), None
        for i, (named, times) in enumerate(zip(guess.names, guess.times)):
            seats: Seats = self.model.slot(guess, "seats", i)
            names = dict(named)
            members |= {(names[id], share, claimed, times) for id, share, claimed in seats.durable}
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
        group = self._group(guess)
        seats: dict[str, SeatForm] = {}
        for i, at, _, _ in self._each:
            names, times = guess.names[i], guess.times[i]
            seats.update(self._seats_of(state[at], group.state, names, times))
        return Form(
            group,
            seats,
            tuple(self._client(state[at], guess.names[i]) for i, _, at, _ in self._each),
            tuple(self._link(state[at], guess.names[i]) for i, _, _, at in self._each),
            self._committed(guess),
            (self._logged(guess),),
        )

    def _group(self, guess: Guess) -> GroupForm:
        key = guess.state[self._core], guess.round_ms
        form = self._groups.get(key)
        if form is None or form.sync_ms is not None:
            longest = self.model.longest_ms(guess.state, guess.times)
            core = self.model.value(self._core, key[0])
            form = self._groups[key] = _group(core, guess.round_ms, longest)
        return form

    def _seats_of(self, number: int, state: str, names: NamesOfOne, times: Times) -> SeatForms:
        key = number, state == "Stable", state == "PreparingRebalance", names, times
        forms = self._seats.get(key)
        if forms is None:
            mine, known = self.model.value(self._each[0][1], number), dict(names)
            forms = self._seats[key] = tuple(
                (known[id], _seat(seat, mine.leader == id, state, times)) for id, seat in mine
            )
        return forms

    def _client(self, number: int, names: NamesOfOne) -> MemberForm:
        form = self._clients.get((number, names))
        if form is None:
            client = self.model.value(self._each[0][2], number)
            form = self._clients[number, names] = _client(client, names)
        return form

    def _link(self, number: int, names: NamesOfOne) -> LinkForm:
        form = self._links.get((number, names))
        if form is None:
            link = self.model.value(self._each[0][3], number)
            form = self._links[number, names] = _link(link, dict(names))
        return form


# -- the model's side


INITIAL_DELAY_MS = 3000  # group.initial.rebalance.delay.ms; the rebalance timeouts are longer
NEW_MEMBER_MS = 300_000  # group.new.member.join.timeout (fixed to five minutes)
APPEND_MS = 5000  # offsets.commit.timeout.ms


def _group(core: Core, round_ms: int, longest_ms: int) -> GroupForm:
    """`longest_ms`: the longest rebalance timeout of the members. While the sync timer runs, they
    are those with which the generation began.
    """
    waits_ms = INITIAL_DELAY_MS if core.initial else round_ms
    return GroupForm(
        STATES[core.phase],
        core.generation,
        waits_ms if core.phase == Phase.PREPARING else None,
        longest_ms if core.deadline else None,
        frozenset([APPEND_MS] if core.appending else []),
    )


def _seat(seat: Seat, leads: bool, state: str, times: Times) -> SeatForm:
    """`times`: the timeouts of the process."""
    session_ms = NEW_MEMBER_MS if seat.new and not seat.hurried else times[0]
    timer_ms = session_ms if seat.armed else None
    if not seat.member:
        return SeatForm(False, leads, seat.due, timer_ms)
    return SeatForm(
        True,
        leads,
        seat.due,
        timer_ms,
        seat.join,
        seat.sync,
        seat.new,
        seat.share if state == "Stable" else None,
        seat.claimed if seat.join or state != "PreparingRebalance" else None,
        times,
    )


def _link(link: Link, names: Mapping[int, str]) -> LinkForm:
    return LinkForm(
        _request(link.parked, names) if link.parked else None,
        _request(link.late, names) if link.late else None,
        tuple(_request(request, names) for request in link.queue),
    )


def _request(request: Request, names: Mapping[int, str]) -> RequestLook:
    match request:
        case JoinGroup(id, generation):
            offset = -1
        case SyncGroup(id, generation) | Heartbeat(id, generation):
            offset = -1
        case OffsetCommit(id, generation, offset):
            pass
        case LeaveGroup(id):
            generation = offset = -1
        case _:
            raise AssertionError(f"{request} is sent by no member")
    return RequestLook(type(request).__name__, names.get(id, ""), generation, offset)


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
    first = member.unread[0].api if member.unread else ""
    return "SyncGroup" in member.unsent or first == "SyncGroup"


def form_of(look: Look) -> Form:
    """What the real group shows, as it is compared."""
    group, seats = _real_group(look.group)
    return Form(
        group._replace(append_ms=frozenset(look.append_ms)),
        seats,
        tuple([_real_member(member) for member in look.members]),
        tuple([_real_link(member) for member in look.members]),
        max(0, look.committed),
        look.logged,
    )


@lru_cache(maxsize=1 << 12)
def _real_group(real: GroupLook) -> tuple[GroupForm, dict[str, SeatForm]]:
    """A group that does not exist is like one that is Empty and has never had a member."""
    due = dict(real.timers)
    form = GroupForm(
        real.state, real.generation, due.pop("join-g", None), due.pop("sync-g", None), frozenset()
    )
    own = {key.removeprefix("heartbeat-g-"): ms for key, ms in due.items()}
    members = dict(real.members)
    # An id that only a timer, the leader or a SyncGroup mentions is there, too. It fits nothing.
    leader = [real.leader] if real.leader is not None else []
    names = sorted({*members, *real.pending_join, *real.pending_sync, *own, *leader})
    seats = {
        name: SeatForm(False, name == real.leader, name in real.pending_sync, own.get(name))
        for name in names
    }
    for name, member in members.items():
        seats[name] = _real_seat(seats[name], member, real.state)
    return form, seats


def _real_seat(form: SeatForm, member: SeatLook, state: str) -> SeatForm:
    return form._replace(
        member=True,
        parked_join=member.awaiting_join,
        parked_sync=member.awaiting_sync,
        new=member.new,
        assignment=member.share if state == "Stable" else None,
        claimed=member.claimed if member.awaiting_join or state != "PreparingRebalance" else None,
        times=member.times,
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
    "times": "session and rebalance timeout",
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
