"""What two models of the same protocol are compared by: coordinator memories, beliefs, rules that fired."""

from __future__ import annotations

from typing import Any

from all_states import Space

from groupcheck.model.engine import but
from groupcheck.model.protocol.group import Seats, is_member


def renumbered(core: Any, seats: tuple[Seats, ...]) -> tuple[Any, ...]:
    """The same memory with the ids of each process numbered anew, in an order that their numbers do not decide."""
    leader, new = core.leader, []
    for i, known in enumerate(seats):
        order = sorted(known, key=lambda pair: (repr(pair[1]), (i, pair[0]) == core.leader, [d[1:] for d in known.durable if d[0] == pair[0]]))
        names = {id: k for k, (id, _) in enumerate(order)}
        if core.leader is not None and core.leader[0] == i:
            leader = (i, names[core.leader[1]])
        gone = sorted(d[1:] for d in known.durable if d[0] not in names)
        durable = tuple(sorted((names[d[0]], *d[1:]) for d in known.durable if d[0] in names))
        new.append((tuple(seat for _, seat in order), durable, tuple(gone)))
    written, led_by, assignor = core.durable
    return (but(core, leader=leader, durable=(written, led_by and (led_by[0], 0), assignor)), *new)


def memories(space: Space) -> set[tuple[Any, ...]]:
    """Every (core, seats of all) at rest, whatever the numbers of ids."""
    return {renumbered(core, seats) for core, *seats in space.seen("core", "seats")}


def belief(core: Any, seats: Seats, client: Any) -> tuple[Any, ...]:
    """What a member believes of its partitions: (owned, position, is it a member, of the current generation?); nothing owned: nothing else matters."""
    if not client.owned:
        return (0, -1, False, False)
    member = is_member(seats[client.id])
    return (client.owned, client.position, member, member and client.generation == core.generation)


def beliefs(space: Space) -> set[tuple[Any, ...]]:
    """Every combination of beliefs with what is committed and processed."""
    size = space.see.spec.slots["client"].size
    assert size is not None
    found = set()
    for core, offsets, *arrays in space.seen("core", "offsets", "seats", "client"):
        own = (belief(core, arrays[2 * i], arrays[2 * i + 1]) for i in range(size))
        found.add((offsets.watched, offsets.committed, offsets.processed, *own))
    return found


def fired(space: Space) -> set[str]:
    return {name for name, n in space.fired.items() if n}


__all__ = ["belief", "beliefs", "but", "fired", "memories"]
