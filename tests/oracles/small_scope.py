"""The scope of the small variant of `conftest.py`. It stands apart, so that it has a name by which
processes can pass it on.
"""

from __future__ import annotations

from attrs import frozen

from groupcheck.model.engine import ScopeError


@frozen
class Scope:
    members: int = 2
    polite: bool = False
    limit: int | None = None
    faults: tuple[tuple[str, int], ...] = ()
    any_faults: int | None = None
    assignor: str = "range"

    def __attrs_post_init__(self) -> None:
        if not 1 <= self.members <= 5:
            raise ScopeError(f"members is {self.members}, not a number from 1 to 5", where="scope")
