"""The assignors that members name: the coordinator takes the one that most of them name.

Two names may be named equally often. Then Kafka takes the first in the order of a map: of a
TimelineHashMap, which lists `NAMES` in this order, or of a HashMap, in which a name that is counted
anew comes first.
"""

from __future__ import annotations

# The first one is also the one of a group that names none.
NAMES = ("uniform", "range")
# How many members name each.
Votes = tuple[int, ...]
NONE: Votes = (0,) * len(NAMES)


def moved(votes: Votes, before: str, after: str) -> Votes:
    """A member names another assignor; empty: none."""
    return tuple(n - (name == before) + (name == after) for name, n in zip(NAMES, votes))


def preferred(votes: Votes) -> str:
    """The one that most name (ConsumerGroup.preferredServerAssignor)."""
    return NAMES[votes.index(max(votes))]


def preferred_with(votes: Votes, before: str, after: str) -> str:
    """The one that most name once a member has named `after` in place of `before`, as Kafka counts
    them in a copy (computePreferredServerAssignor).
    """
    counts = moved(votes, before, after)
    counted_anew = after and not moved(votes, before, "")[NAMES.index(after)]
    if counted_anew and counts[NAMES.index(after)] == max(counts):
        return after
    return preferred(counts)
