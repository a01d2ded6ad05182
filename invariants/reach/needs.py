"""What an outcome or a goal needs before it can happen: faults, members, generations; and what a
scope therefore leaves no room for.

More faults or members only add behaviour, so the smallest needs say everything about a scope of the
same options. More generations add behaviour too, with one exception: after the last generation a
round that is full waits for ever, where otherwise it completes at once; what only that waiting
makes possible has an upper bound. What options change is listed as a difference. Where several
options each change the needs of one name, all of their needs must be met.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import frozen

# Faults (words, with repetitions), members, generations, and perhaps the most generations with
# which it suffices.
Row = tuple[str, int, int] | tuple[str, int, int, int]
Rows = Mapping[str, Sequence[Row]]


@frozen
class Needs:
    """`least`: name -> its smallest needs (none: nothing explored so far reaches it), `changes`:
    option -> the names whose needs it changes.

    `options`: option -> None for a scope without it, otherwise the members by which its needs are
    larger (a higher cap needs more of them).
    """

    least: Rows
    changes: Mapping[str, Rows]
    options: Mapping[str, Callable[[Any], int | None]]

    def possible(self, name: str, scope: Any) -> bool:
        """Does the scope leave room for it?"""
        return all(any(_met(row, scope) for row in rows) for rows in self._relevant(name, scope))

    def _relevant(self, name: str, scope: Any) -> list[list[Row]]:
        changed = []
        for option, rows in self.changes.items():
            more = self.options[option](scope) if name in rows else None
            if more is not None:
                changed.append([(row[0], row[1] + more, *row[2:]) for row in rows[name]])
        return changed or [list(self.least[name])]

    def cannot(self, scope: Any) -> dict[str, str]:
        """Every name for which the scope leaves no room -> what it would need."""
        return {
            name: self._reason(name, scope) for name in self.least if not self.possible(name, scope)
        }

    def _reason(self, name: str, scope: Any) -> str:
        missing = next(
            rows
            for rows in self._relevant(name, scope)
            if not any(_met(row, scope) for row in rows)
        )
        if not missing:
            return "no scope with these options that was ever explored reaches it"
        few = [words(row) for row in missing[:3]]
        return (
            "needs "
            + ", or ".join(few)
            + (f", or one of {len(missing) - 3} other combinations" if len(missing) > 3 else "")
        )


def _met(row: Row, scope: Any) -> bool:
    faults, members, generations = row[:3]
    if (
        scope.members < members
        or scope.generations < generations
        or (len(row) > 3 and scope.generations > row[3])
    ):
        return False
    wanted = Counter(faults.split())
    if scope.any_faults is not None:
        return bool(sum(wanted.values()) <= scope.any_faults)
    return not wanted - Counter(dict(scope.faults))


def words(row: Row) -> str:
    """A need in words: `crash and 2 session_timeout with 2 members`."""
    faults, members, generations = row[:3]
    counted = Counter(faults.split())
    parts = [f"{n} {fault}" if n > 1 else fault for fault, n in sorted(counted.items())]
    sizes = [f"{members} members"] * (members > 1) + [f"{generations} generations"] * (
        generations > 1
    )
    sizes += [f"at most {row[3]} generations"] if len(row) > 3 else []
    listed = " and ".join(parts)
    return " with ".join(part for part in (listed, " and ".join(sizes)) if part) or "other options"
