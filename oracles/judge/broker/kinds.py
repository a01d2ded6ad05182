"""Kinds of rows: what a memory and an input are to the eye, so that rows which a mistake makes
alike are one. A broker that answers one of them wrongly will answer the others so, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from attrs import frozen

from groupcheck.model.protocol import messages
from groupcheck.model.protocol.classic.group import Phase
from groupcheck.model.protocol.classic.timers import rebalance_timeout
from groupcheck.oracles.conform.row import CHANGED, Asks, Fires, Memory, Outcome

ANY_GROUP = "any group"  # in place of a phase: the request is about a group that nobody uses


@frozen(order=True)
class Kind:
    """The group's phase, the name of the input, and who sends what, in words."""

    phase: str
    name: str
    about: str = ""

    def __str__(self) -> str:
        return f"{self.phase}: {self.name}{f' ({self.about})' if self.about else ''}"


@frozen
class Edge:
    """An input of a memory, and its kind."""

    given: Asks | Fires
    kind: Kind


Way = tuple[Memory, Edge]  # one step of a way


def phase_of(memory: Memory) -> str:
    """The phase, and what is special about it."""
    core = memory.core
    never = core.phase == Phase.EMPTY and not core.generation
    return f"{core.phase}{', new' if never else ''}{', an id is out' if core.pending else ''}"


def _left_behind(memory: Memory, given: Fires) -> Iterator[str]:
    """Whom a timer finds: the one that was silent, or those that a round goes on without."""
    if given.member is not None and given.id is not None:
        seat = memory.seats[given.member][given.id]
        if seat is not None:
            yield "a member" if seat.member else "an id that was only handed out"
        return
    every = [(seats, seat) for seats in memory.seats for _, seat in seats if seat.member]
    if given.rule == rebalance_timeout.name:
        absent = {seats.static for seats, seat in every if not seat.join}
        if every and not any(seat.join for _, seat in every):
            yield "nobody has joined"
        if False in absent:
            yield "a member has not joined"
        if True in absent:
            yield "a static member has not joined"


def may_change(memory: Memory, given: Asks | Fires) -> bool:
    """May the group be another one afterwards? Not by what must be refused, or only says that its
    member lives.
    """
    if isinstance(given, Fires):
        return True
    request = given.request
    if isinstance(request, messages.Heartbeat | messages.OffsetCommit | messages.Store):
        return False
    known = request.id == messages.NO_ID or memory.seats[given.member][request.id] is not None
    return known and getattr(request, "generation", 0) in (0, memory.core.generation)


def what_of(outcomes: Iterable[Outcome]) -> str:
    """What the model allows in a row, in short: the code of the answer, or that it waits, the codes
    for those that waited, and the phase behind it.
    """
    found = set()
    for outcome in outcomes:
        own = [str(told.answer.code) for told in outcome.told if not told.parked] or ["waits"]
        others = sorted(f"({told.answer.code})" for told in outcome.told if told.parked)
        found.add(" ".join([*own, *others, str(outcome.after.core.phase)]))
    return " or ".join(sorted(found))


def kind_of(memory: Memory, given: Asks | Fires) -> Kind:
    """The kind of a row."""
    if isinstance(given, Fires):
        return Kind(phase_of(memory), given.rule, ", ".join(_left_behind(memory, given)))
    request, core, seats = given.request, memory.core, memory.seats[given.member]
    assert not isinstance(request, messages.Store)
    seat = seats[request.id]
    if request.id == messages.NO_ID:
        who = "no id"
    elif seat is None:
        who = "an unknown id"
    elif not seat.member:
        who = "an id that was only handed out"
    else:
        who = "the leader" if seats.leader == request.id else "a member"
    about = [who if not seats.static else f"{who}, static"]
    generation = getattr(request, "generation", None)
    if generation is not None and seat is not None:
        about.append("the generation" if generation == core.generation else "an old generation")
    if isinstance(request, messages.JoinGroup) and seat is not None and seat.member:
        changed = request.claimed == CHANGED
        about.append("other subscription" if changed else "same subscription")
        about += ["claims a partition"] if request.owned else []
    if seats.static and request.id == messages.NO_ID:  # it may take the place of the one there
        seat = next((one for _, one in seats), None)
    if seat is not None and seat.join:
        about.append("its JoinGroup waits")
    if seat is not None and seat.sync:
        about.append("its SyncGroup waits")
    return Kind(phase_of(memory), type(request).__name__, ", ".join(about))
