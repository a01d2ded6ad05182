"""Compares what the real group shows with a state of the model: the coordinator's memory, every
member, every connection, the committed offset.

The same parts meet the same parts again and again, so what differs between two of them is kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from groupcheck.model.protocol.classic.client import NOTHING, Client, Member, Prepare
from groupcheck.model.protocol.classic.group import Core, Phase, Seat, Seats
from groupcheck.model.protocol.link import Link
from groupcheck.model.protocol.messages import NO_ID
from groupcheck.oracles.conform.whole.look import GroupLook, Look, MemberLook, SeatLook
from groupcheck.oracles.conform.whole.model import Following, Guess, Id

KEPT = 200_000  # comparisons that are remembered
Pairs = Iterator[tuple[str, Any, Any]]  # what, in the model, in the real group
Wrong = tuple[str, ...]


def sync_waits(member: MemberLook) -> bool:
    """Is SyncGroup the next thing that the coordinator reads of the member?"""
    if member.outstanding is not None:
        return False
    return "SyncGroup" in member.unsent or member.unread[:1] == ("SyncGroup",)


class Fitting:
    """Compares looks with states of one model."""

    def __init__(self, model: Following) -> None:
        self.model = model
        count = model.scope.members
        self._core = model.places["core", None]
        self._seats = [model.places["seats", i] for i in range(count)]
        self._clients = [model.places["client", i] for i in range(count)]
        self._links = [model.places["link", i] for i in range(count)]
        # Part of a look -> its number.
        self._numbers: dict[GroupLook | MemberLook, int] = {}
        self._known: dict[Any, Wrong] = {}

    def numbered(self, look: Look) -> list[int]:
        """Numbers for the parts of a look: the group, then each member."""
        if len(self._known) >= KEPT:
            self._known.clear()
            self._numbers.clear()
        numbers = self._numbers
        return [numbers.setdefault(part, len(numbers)) for part in (look.group, *look.members)]

    def misfits(self, guess: Guess, look: Look, numbers: list[int]) -> Wrong:
        """Everything that differs from the state of the model. `numbers`: those of the look."""
        state, names = guess.state, guess.names
        key = (numbers[0], state[self._core], *[state[k] for k in self._seats], names)
        wrong = self._known.get(key)
        if wrong is None:
            wrong = self._known[key] = _shown(self._group(guess, look.group))
        for i, (client, link) in enumerate(zip(self._clients, self._links)):
            mine = (i, numbers[i + 1], state[client], state[link], names)
            found = self._known.get(mine)
            if found is None:
                pairs = self._member(guess, i, look.members[i])
                found = self._known[mine] = _shown(pairs)
            wrong += found
        committed = self.model.slot(guess, "offsets").committed
        if committed != max(0, look.committed):
            wrong += _shown(iter([("committed offset", committed, max(0, look.committed))]))
        return wrong

    def _group(self, guess: Guess, real: GroupLook) -> Pairs:
        core = self.model.slot(guess, "core")
        seats = [self.model.slot(guess, "seats", i) for i in range(len(self._seats))]
        return _group(core, seats, real, dict(guess.names))

    def _member(self, guess: Guess, i: int, real: MemberLook) -> Pairs:
        client = self.model.slot(guess, "client", i)
        link = self.model.slot(guess, "link", i)
        for what, expected, seen in _member(i, client, link, real, dict(guess.names)):
            yield f"member {i}: {what}", expected, seen


def _shown(pairs: Pairs) -> Wrong:
    return tuple(
        f"{what} is {_text(seen)}, in the model {_text(expected)}"
        for what, expected, seen in pairs
        if expected != seen
    )


def _text(value: Any) -> str:
    if isinstance(value, (set, frozenset)):
        return "{" + ", ".join(sorted(map(str, value))) + "}"
    return str(value)


def _group(core: Core, seats: list[Seats], real: GroupLook, names: Mapping[Id, str]) -> Pairs:
    known = {names[i, id]: seat for i, mine in enumerate(seats) for id, seat in mine}
    if not real.exists:
        yield "group", (Phase.EMPTY, 0, {}), (core.phase, core.generation, known)
        return
    yield "state", STATES[core.phase], real.state
    yield "generation", core.generation, real.generation
    leader = next((names[i, s.leader] for i, s in enumerate(seats) if s.leader is not None), None)
    yield "leader", leader, real.leader
    pending = {name for name, seat in known.items() if not seat.member}
    yield "ids handed out", pending, real.pending_join
    yield "members", set(known) - pending, {name for name, _ in real.members}
    due = {name for name, seat in known.items() if seat.due}
    yield "pending SyncGroups", due, real.pending_sync
    for name, there in real.members:
        if seat := known.get(name):
            for what, expected, seen in _seat(core, seat, there):
                yield f"{what} of {name}", expected, seen
    yield "timers", _timers(core, known), set(real.timers)


STATES = {
    Phase.EMPTY: "Empty",
    Phase.PREPARING: "PreparingRebalance",
    Phase.COMPLETING: "CompletingRebalance",
    Phase.STABLE: "Stable",
}


def _seat(core: Core, seat: Seat, real: SeatLook) -> Pairs:
    yield "parked JoinGroup", seat.join, real.awaiting_join
    yield "parked SyncGroup", seat.sync, real.awaiting_sync
    yield "newness", seat.new, real.new
    if core.phase == Phase.STABLE:
        yield "assignment", seat.share, real.share
    if seat.join or core.phase != Phase.PREPARING:
        yield "claimed generation", seat.claimed, real.claimed


def _timers(core: Core, known: Mapping[str, Seat]) -> set[str]:
    timers = {f"heartbeat-g-{name}" for name, seat in known.items() if seat.armed}
    if core.phase == Phase.PREPARING:
        timers.add("join-g")
    if core.deadline:
        timers.add("sync-g")
    return timers


def _member(
    i: int, client: Client, link: Link, real: MemberLook, names: Mapping[Id, str]
) -> Pairs:
    yield "closing", client.closing, real.closing
    yield "stopped", bool(client.failed), bool(real.failed)
    waits = link.parked and type(link.parked).__name__
    yield "request that waits", waits, real.outstanding
    late = link.late and type(link.late).__name__
    yield "late request", late, real.late
    syncs = sync_waits(real)
    unread = real.unread[syncs and "SyncGroup" not in real.unsent :]
    yield "requests not read", [type(r).__name__ for r in link.queue], list(unread)
    if client.closing or client.failed:
        return
    yield "state", str(client.state), real.state
    yield "generation", client.generation, real.generation
    yield "id", "" if client.id == NO_ID else names.get((i, client.id)), real.id
    yield "partitions", client.owned, real.owned
    yield "position", client.position, real.position
    if client.state == Member.STABLE:
        yield "told to rejoin", client.rejoin, real.rejoin
    waiting = client.granted != NOTHING
    yield "onJoinComplete waits", waiting, real.state == "STABLE" and real.joining
    if not waiting:
        yield "prepare", _coarse(client, client.prepare), _coarse(client, _prepare(real, syncs))


def _coarse(client: Client, prepare: Prepare) -> Prepare:
    """A commit before joining counts only while the member is STABLE. A member that has left, owns
    nothing and waits for an answer has nothing to prepare: Kafka's runs onJoinPrepare all the same.
    """
    if client.state == Member.STABLE:
        return prepare
    gone = client.state == Member.UNJOINED and not client.owned
    return Prepare.NEEDED if prepare == Prepare.COMMITTED or gone else prepare


def _prepare(real: MemberLook, syncs: bool) -> Prepare:
    """How far the poll thread has come in a round."""
    if syncs:
        return Prepare.SYNC
    if not real.prepare:
        return Prepare.DONE
    if real.committing in ("done", "failed") or (real.prepare_over and real.committing != "none"):
        return Prepare.COMMITTED
    return Prepare.NEEDED
