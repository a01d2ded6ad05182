"""A schedule: what is sent and waited for, so that anybody can do it again, on another broker; and
what came of it, line by line, as text and as the picture's arrows.
"""

from __future__ import annotations

from attrs import frozen

GROUP = "broker"  # the lane of the other side


@frozen
class Act:
    """One step of a schedule. The words are the model's; ids and generations are found again on
    each broker.
    """

    # "ask": a request of the model; "wait": until a timer runs out; "look": a question about the
    # group; "move": what is done to a client.
    kind: str
    # API of a request, name of a timer, name of a question, or a move (`client/moves.py`).
    name: str
    member: int = -1
    version: int = 0
    # The request's fields, as the model has them.
    fields: tuple[tuple[str, int], ...] = ()

    @property
    def api(self) -> str:
        """The API of a request or a question."""
        return self.name.partition(":")[0]


@frozen
class Line:
    """One line of what happened."""

    # "asks", "answers" or "waits".
    kind: str
    # The member's lane; empty: nobody's.
    who: str
    text: str
    # The number of the request, from 1.
    number: int = 0

    def __str__(self) -> str:
        if self.kind == "asks":
            return f"{self.number}. {self.who or 'somebody'} sends {self.text}"
        if self.kind == "answers":
            return f"   {self.number} <- {self.text}"
        return f"   {self.text}"
