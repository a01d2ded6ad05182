"""Products of choices, less what filters leave out."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from groupcheck.model.engine import UserError
from groupcheck.oracles.explain.unknown import one_of

MOST_PRODUCT = 100_000  # of one grid, before its filters
NOTHING = "none"
Choice = dict[str, Any]  # key of a grid -> the value chosen
Filters = Sequence[Mapping[str, Any]]


def kept(
    axes: Mapping[str, Sequence[Any]], only: Filters, without: Filters, place: str
) -> Iterator[Choice]:
    """Each choice of one value for every axis that fits one of `only`, if there are any, and none
    of `without`. Raises `UserError`.
    """
    size = math.prod(len(values) for values in axes.values())
    if size > MOST_PRODUCT:
        raise UserError(
            f"a product of {size:,} cells", where=place, do=f"at most {MOST_PRODUCT:,} are possible"
        )
    for condition in (*only, *without):
        for key in condition:
            if key not in axes:
                raise UserError(one_of("key of a filter", key, axes, None).args[0], where=place)
    for values in itertools.product(*axes.values()):
        choice = dict(zip(axes, values))
        wanted = not only or any(_fits(choice, condition) for condition in only)
        if wanted and not any(_fits(choice, condition) for condition in without):
            yield choice


def _fits(choice: Choice, condition: Mapping[str, Any]) -> bool:
    """Whether the choice has all these values, or one of each list. A table of faults asks for
    those budgets alone, the empty one for no fault.
    """
    return all(
        any(_same(choice[key], value) for value in listed(wanted))
        for key, wanted in condition.items()
    )


def _same(chosen: Any, wanted: Any) -> bool:
    if isinstance(chosen, dict):
        return (
            isinstance(wanted, dict)
            and all(chosen.get(name, 0) in listed(n) for name, n in wanted.items())
            and bool(wanted or not chosen)
        )
    if isinstance(chosen, tuple):
        return wanted in chosen
    return bool(chosen == (None if wanted == NOTHING else wanted))


def listed(value: Any) -> list[Any]:
    """A single value as a list of one."""
    return value if isinstance(value, list) else [value]
