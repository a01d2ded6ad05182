"""Answers that no world of the model gives, and groups that cannot be followed any more."""

from __future__ import annotations

from attrs import define

from groupcheck.traces.requests.worlds import Judged


@define
class Refused:
    """An answer that no world gives. `allowed`: the codes that it could have been at once, None: it
    had to wait. `due`: it waited, and no world answers it now. `generations` that fit.
    """

    e: Judged
    possible: str
    due: bool
    allowed: frozenset[int | None] = frozenset()
    generations: frozenset[int] = frozenset()


class Lost(Exception):
    """The group cannot be followed from here; the text says why."""
