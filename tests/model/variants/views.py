"""What two models of the same protocol are compared by: coordinator memories, beliefs, rules that
fired.
"""

from __future__ import annotations

from typing import Any

from all_states import Space

from groupcheck.model.engine import evolve
from groupcheck.model.protocol.classic.group import Core, Phase, Seat, Seats, is_member
from groupcheck.model.protocol.messages import NO_GENERATION


def renumbered(core: Core, seats: tuple[Seats, ...]) -> tuple[Any, ...]:
    """The same memory with the ids of each process numbered anew, in an order that their numbers do
    not decide.
    """
    new = []
    for known in seats:
        written = {id: rest for id, *rest in known.durable}
        order = sorted(
            known,
            key=lambda pair: (repr(pair[1]), pair[0] == known.leader, str(written.get(pair[0]))),
        )
        names = {id: k for k, (id, _) in enumerate(order)}
        durable = sorted(((names.get(id, -1), *rest) for id, rest in written.items()), key=repr)
        leaders = (
            known.leader is not None and names[known.leader],
            known.durable_leader is not None,
        )
        new.append((tuple(seat for _, seat in order), tuple(durable), leaders))
    return (core, *new)


def memories(space: Space) -> set[tuple[Any, ...]]:
    """Every (core, seats of all) at rest, whatever the numbers of ids."""
    return {renumbered(core, seats) for core, *seats in space.seen("core", "seats")}


def _alive(core: Core, seat: Seat) -> Seat:
    """A seat without what nobody will read in this phase, or only with certain faults."""
    seat = evolve(seat, new=False, due=seat.due and core.phase != Phase.STABLE)
    if core.phase in (Phase.PREPARING, Phase.COMPLETING):
        seat = evolve(seat, share=0)
    return (
        evolve(seat, claimed=NO_GENERATION)
        if core.phase == Phase.PREPARING and not seat.join
        else seat
    )


def live_memories(space: Space) -> set[tuple[Any, ...]]:
    """The same without dead values: what is remembered for a fault that cannot happen, or will be
    overwritten before it is read.
    """
    found = set()
    for core, *seats in space.seen("core", "seats"):
        bare = evolve(core, keeps=(), durable=(0, False, None), recorded=False, extended=False)
        if core.phase == Phase.STABLE:
            bare = evolve(bare, due=0, deadline=False)
        found.add(
            renumbered(
                bare,
                tuple(
                    Seats(tuple((id, _alive(core, seat)) for id, seat in known), known.leader)
                    for known in seats
                ),
            )
        )
    return found


def belief(core: Core, seats: Seats, client: Any) -> tuple[Any, ...]:
    """What a member believes of its partitions: (owned, position, is it a member, of the current
    generation?); nothing owned: nothing else matters.
    """
    if not client.owned:
        return (0, -1, False, False)
    member = is_member(seats[client.id])
    return (client.owned, client.position, member, member and client.generation == core.generation)


def beliefs(space: Space) -> set[tuple[Any, ...]]:
    """Every combination of beliefs with the watched partition, what is committed and what is
    processed.
    """
    size = space.see.spec.slots["client"].size
    assert size is not None
    found = set()
    for core, offsets, *arrays in space.seen("core", "offsets", "seats", "client"):
        own = (belief(core, arrays[2 * i], arrays[2 * i + 1]) for i in range(size))
        found.add((offsets.watched, offsets.committed, offsets.processed, *own))
    return found


def fired(space: Space) -> set[str]:
    return {name for name, n in space.fired.items() if n}
