"""Compares states of the model with what the real group shows: the coordinator's memory, every
member, every connection, the committed offset.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from groupcheck.model.protocol.classic.client import NOTHING, Client, Member
from groupcheck.model.protocol.classic.group import Core, Phase, Seat, Seats
from groupcheck.model.protocol.classic.offsets import Offsets
from groupcheck.model.protocol.classic.scope import Scope
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
from groupcheck.oracles.conform.whole.form import (
    Form,
    GroupForm,
    LinkForm,
    MemberForm,
    SeatForm,
    coarse,
    differing,
)
from groupcheck.oracles.conform.whole.look import RecordLook, RequestLook, Times
from groupcheck.oracles.conform.whole.model import Following, Guess, NamesOfOne, timer_ms

STATES = {
    Phase.EMPTY: "Empty",
    Phase.PREPARING: "PreparingRebalance",
    Phase.COMPLETING: "CompletingRebalance",
    Phase.STABLE: "Stable",
}


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
        self._all = model.scope.listed_by_all
        self._groups: dict[tuple[int, int], GroupForm] = {}
        self._seats: dict[tuple[int, str, str | None, NamesOfOne, Times], SeatForms] = {}
        self._clients: dict[tuple[int, NamesOfOne], MemberForm] = {}
        self._links: dict[tuple[int, NamesOfOne, bool], LinkForm] = {}
        self._records: dict[Any, RecordLook | None] = {}

    def fits(self, guess: Guess, real: Form) -> bool:
        """Does a state of the model agree with what the real group shows?"""
        state = guess.state
        if self._group(guess) != real.group:
            return False
        voted, others = self._voted(guess), self._others(guess)
        seats = len(others)
        for name, form in others.items():
            if real.seats.get(name) != form:
                return False
        for i, of_seats, of_client, of_link in self._each:
            names = guess.names[i]
            if self._link(i, state[of_link], names) != real.links[i]:
                return False
            if self._client(state[of_client], names) != real.members[i]:
                return False
            mine = self._seats_of(state[of_seats], real.group.state, voted, names, guess.times[i])
            for name, form in mine:
                seats += 1
                if real.seats.get(name) != form:
                    return False
        if seats != len(real.seats) or self._committed(guess) != real.committed:
            return False
        return self._logged(guess) in real.logged

    def _others(self, guess: Guess) -> dict[str, SeatForm]:
        """The ids that are neither members nor handed out: only a timer mentions them, or a
        SyncGroup that a static member owed before another process took its place.
        """
        found = {name: _mentioned(ms) for name, ms in guess.left_behind}
        for name in self.model.owed(guess) if self.model.scope.static else ():
            found[name] = found.get(name, _mentioned(None))._replace(due=True)
        return found

    def _committed(self, guess: Guess) -> int:
        offsets: Offsets = self.model.slot(guess, "offsets")
        return offsets.committed

    def _voted(self, guess: Guess) -> str | None:
        """The assignor that members were loaded with; None if all members list the same."""
        if not self.model.scope.lists:
            return None
        core: Core = self.model.slot(guess, "core")
        return None if core.assignor is None else self.model.scope.voted_for(core.assignor)

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
        core: Core = self.model.slot(guess, "core")
        generation, led, assignor = core.durable
        members, leader = set[tuple[str, int, int, int, Times]](), None
        for i, (named, times) in enumerate(zip(guess.names, guess.times)):
            seats: Seats = self.model.slot(guess, "seats", i)
            names = dict(named)
            members |= {(names[id], s.share, s.claimed, s.owned, times) for id, s in seats.durable}
            if seats.durable_leader is not None:
                leader = names[seats.durable_leader]
        protocol = self.model.scope.voted_for(assignor) if led else None
        return RecordLook(generation, leader, protocol, frozenset(members)) if generation else None

    def misfits(self, guess: Guess, real: Form) -> tuple[str, ...]:
        """Everything that differs, in words."""
        return differing(self._form(guess), real)

    def _form(self, guess: Guess) -> Form:
        """The form of a whole state of the model."""
        state = guess.state
        group = self._group(guess)
        seats = self._others(guess)
        for i, at, _, _ in self._each:
            names, times, voted = guess.names[i], guess.times[i], self._voted(guess)
            seats.update(self._seats_of(state[at], group.state, voted, names, times))
        return Form(
            group,
            seats,
            tuple(self._client(state[at], guess.names[i]) for i, _, at, _ in self._each),
            tuple(self._link(i, state[at], guess.names[i]) for i, _, _, at in self._each),
            self._committed(guess),
            (self._logged(guess),),
        )

    def _group(self, guess: Guess) -> GroupForm:
        key = guess.state[self._core], guess.round_ms
        form = self._groups.get(key)
        if form is None or form.sync_ms is not None:
            longest = self.model.longest_ms(guess.state, guess.times)
            core = self.model.value(self._core, key[0])
            form = self._groups[key] = _group(core, guess.round_ms, longest, self.model.scope)
        return form

    def _seats_of(
        self, number: int, state: str, voted: str | None, names: NamesOfOne, times: Times
    ) -> SeatForms:
        key = number, state, voted, names, times
        forms = self._seats.get(key)
        if forms is None:
            mine: Seats = self.model.value(self._each[0][1], number)
            known = dict(names)
            forms = self._seats[key] = tuple(
                (known[id], _seat(seat, mine, id, state, voted or self._all, times))
                for id, seat in mine
            )
        return forms

    def _client(self, number: int, names: NamesOfOne) -> MemberForm:
        form = self._clients.get((number, names))
        if form is None:
            client = self.model.value(self._each[0][2], number)
            form = self._clients[number, names] = _client(client, names)
        return form

    def _link(self, i: int, number: int, names: NamesOfOne) -> LinkForm:
        static = i < self.model.scope.static_count
        form = self._links.get((number, names, static))
        if form is None:
            link = self.model.value(self._each[0][3], number)
            form = _link(link, dict(names))
            if static:
                form = form._replace(waits=_waiting(form.waits))
            self._links[number, names, static] = form
        return form


# -- the model's side


INITIAL_DELAY_MS = 3000  # group.initial.rebalance.delay.ms; the rebalance timeouts are longer
APPEND_MS = 5000  # offsets.commit.timeout.ms


def _group(core: Core, round_ms: int, longest_ms: int, scope: Scope) -> GroupForm:
    """`longest_ms`: the longest rebalance timeout of the members. While the sync timer runs, they
    are those with which the generation began.
    """
    waits_ms = INITIAL_DELAY_MS if core.initial else round_ms
    listed = (
        zip(scope.assignors_listed, core.support)
        if core.support
        else [(scope.listed_by_all, core.members)]
    )
    return GroupForm(
        STATES[core.phase],
        core.generation,
        waits_ms if core.phase == Phase.PREPARING else None,
        longest_ms if core.deadline else None,
        frozenset([APPEND_MS] if core.appending else []),
        (core.members, core.parked, core.pending, core.due),
        core.leader_parked,
        frozenset((name, n) for name, n in listed if n),
        scope.voted_for(core.assignor) if core.phase >= Phase.COMPLETING else None,
    )


def _mentioned(ms: int | None) -> SeatForm:
    """An id that is nobody's. `ms`: until its timer is due, if there is one."""
    return SeatForm(False, False, False, False, ms)


def _seat(seat: Seat, seats: Seats, id: int, state: str, voted: str, times: Times) -> SeatForm:
    """The seat of an id among `seats`. `voted`: the assignor that loaded members list, or all
    members. `times`: the timeouts of the process.
    """
    leads = seats.leader == id
    armed_ms = timer_ms(seat, times) if seat.armed else None
    if not seat.member:
        return SeatForm(False, True, leads, seat.due, armed_ms)
    claims = seat.join or state != "PreparingRebalance"
    return SeatForm(
        True,
        False,
        leads,
        seat.due,
        armed_ms,
        seat.join,
        seat.sync,
        seat.new,
        seat.share if state == "Stable" else None,
        seat.claimed if claims else None,
        seat.owned if claims else None,
        times,
        (voted,) if seat.loaded or not seats.listed else seats.listed,
    )


def _link(link: Link, names: Mapping[int, str]) -> LinkForm:
    return LinkForm(
        _request(link.parked, names) if link.parked else None,
        link.orphaned,
        _request(link.late, names) if link.late else None,
        tuple(_request(request, names) for request in link.queue),
    )


def _waiting(waits: RequestLook | None) -> RequestLook | None:
    """A JoinGroup of a static member that waits: without an id it gets one at once, and the model
    notes that in the request.
    """
    joins = waits is not None and waits.api == "JoinGroup"
    return waits._replace(id="") if waits is not None and joins else waits


def _request(request: Request, names: Mapping[int, str]) -> RequestLook:
    claims = 0
    match request:
        case JoinGroup(id, generation, _, claims):
            offset = -1
        case SyncGroup(id, generation) | Heartbeat(id, generation):
            offset = -1
        case OffsetCommit(id, generation, offset):
            pass
        case LeaveGroup(id):
            generation = offset = -1
        case _:
            raise AssertionError(f"{request} is sent by no member")
    return RequestLook(type(request).__name__, names.get(id, ""), generation, offset, claims)


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
        None if waits else coarse(state, client.owned, client.prepare),
    )
