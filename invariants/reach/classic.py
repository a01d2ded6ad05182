"""The classic protocol: what its options mean for the needs of outcomes and goals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from groupcheck.invariants.reach.changes import CHANGES
from groupcheck.invariants.reach.least import LEAST
from groupcheck.invariants.reach.needs import Needs, Rows


def _listed(scope: Any) -> str:
    """Do all members list the same assignors, do all have some in common, or none? Empty if the
    scope does not say.
    """
    if not scope.lists:
        return ""
    lists = [set(names) for names in scope.lists]
    return (
        "same"
        if all(names == lists[0] for names in lists)
        else "some"
        if set.intersection(*lists)
        else "none"
    )


OPTIONS: dict[str, Callable[[Any], int | None]] = {
    "one_step": lambda s: None if s.two_step else 0,
    "no_autocommit": lambda s: None if s.autocommit or not s.records else 0,
    "no_records": lambda s: None if s.records else 0,
    "two_moments": lambda s: None if s.atomic_complete else 0,
    "cap_1": lambda s: 0 if s.max_size == 1 else None,
    "cap_2": lambda s: s.max_size - 2 if s.max_size is not None and s.max_size > 1 else None,
    "more_records": lambda s: 0 if s.records > 1 else None,
    "same_listed": lambda s: 0 if _listed(s) == "same" else None,
    "in_common": lambda s: 0 if _listed(s) == "some" else None,
    "apart": lambda s: 0 if _listed(s) == "none" else None,
    "spare_sync_timeouts": lambda s: (
        0 if dict(s.faults).get("sync_timeout", 0) > s.generations else None
    ),
}
# The model forgets what it kept for a fault when the last such fault has happened. More sync
# timeouts than generations never all happen.
SPARE: Rows = {
    name: [row for row in LEAST[name] if "sync_timeout" not in row[0]]
    for name in ("close_books", "forget")
}
ALL_CHANGES: Mapping[str, Rows] = {**CHANGES, "spare_sync_timeouts": SPARE}

NEEDS = Needs(LEAST, ALL_CHANGES, OPTIONS)
CANNOT = {"classic": NEEDS.cannot}
