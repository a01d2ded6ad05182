"""The member ids of static members in one world: which of them the model's numbers mean."""

from __future__ import annotations

from groupcheck.traces.requests.seats import Instance, Seating
from groupcheck.traces.requests.steps import Memory

Ids = tuple[tuple[int, int, str], ...]
"""(index, number of the model, member id) of static members; the member id is empty if no answer
has told it.
"""


def id_at(memory: Memory, ids: Ids, index: int, seating: Seating) -> str:
    """The member id that an index has in a memory; empty if that is not known."""
    key = seating.at(index)
    if not isinstance(key, Instance):
        return key
    number = memory.id(index)
    return next((id for i, n, id in ids if (i, n) == (index, number)), "")


def remembered(ids: Ids, memory: Memory) -> Ids:
    """The ids that the memory still knows."""
    return tuple((i, n, id) for i, n, id in ids if n in memory.ids(i))


def renamed(ids: Ids, memory: Memory, index: int, member: str) -> Ids:
    """The ids once it is known which one an index has."""
    number = memory.id(index)
    if number is None:
        return ids
    others = tuple(x for x in ids if x[:2] != (index, number))
    return tuple(sorted((*others, (index, number, member))))
