"""The types of the documents that `assign FILE --json` and `assign --lines FILE` print."""

from __future__ import annotations

from typing import Annotated, Literal

from attrs import frozen

from groupcheck.oracles.show.json_schemas import Amount, Count, Positive

Assignor = Annotated[
    str | None, "The assignor whose promises are checked; null if the file names none."
]
JudgedAssignment = Annotated[
    dict[str, dict[str, list[Count]]] | None,
    "The assignment that is judged: member -> topic -> partitions; null if the assignor"
    " answers nothing (Kafka's class throws).",
]
RightAssignment = Annotated[
    dict[str, dict[str, list[Count]]] | None,
    "An assignment that breaks nothing: member -> topic -> partitions; null if none was found.",
]
BrokenPromise = Annotated[
    str,
    "The promise; `constraint` for one of the file's, `answers` if the assignor answers nothing.",
]


@frozen(kw_only=True)
class Violation:
    """A promise or constraint that is broken."""

    promise: BrokenPromise
    words: Annotated[str, "What is wrong."]


@frozen(kw_only=True)
class Move:
    """A partition that changes hands."""

    partition: Annotated[str, "The partition, such as `orders-0`."]
    from_: Annotated[str, "The member that claimed it."]
    to: Annotated[str | None, "The member that gets it; null if it waits for the next round."]


Moves = Annotated[
    list[Move] | None,
    "Partitions that change hands; null if partitions are assigned wrongly or not at all.",
]


@frozen(kw_only=True)
class Optimum:
    """The best balanced assignment."""

    moves: Annotated[Count, "Fewest partitions that must change hands."]
    least: Annotated[Count, "Fewest partitions of a member."]
    most: Annotated[Count, "Most partitions of a member."]
    sizes: Annotated[dict[str, Count], "Member -> number of partitions."]


@frozen(kw_only=True)
class PriceItem:
    """What one soft constraint costs."""

    constraint: Annotated[str, "The constraint in words, with its price."]
    judged: Annotated[Amount | None, "What it costs in the assignment judged."]
    right: Annotated[Amount | None, "What it costs in the right assignment."]
    words: Annotated[list[str], "How the assignment judged breaks it."]


@frozen(kw_only=True)
class Price:
    """What the soft constraints cost."""

    judged: Annotated[Amount | None, "The sum in the assignment judged; null if nothing is judged."]
    right: Annotated[Amount | None, "The sum in the right assignment; null if none is known."]
    of: Annotated[list[PriceItem], "Each soft constraint."]


@frozen(kw_only=True)
class AssignDocument:
    """What `groupcheck assign FILE --json` prints for one assignment."""

    verdict: Annotated[Literal["right", "wrong"], "Whether anything is wrong."]
    about: Annotated[str, "What the file says about itself; empty if nothing."]
    assignor: Assignor
    judged: JudgedAssignment
    promises: Annotated[dict[str, str], "What was checked: name of the promise -> statement."]
    constraints: Annotated[list[str], "The constraints of the file, in words."]
    violations: Annotated[list[Violation], "What is wrong; at most 1,000 for each promise."]
    moves: Moves
    optimum: Optimum
    right: RightAssignment
    origin: Annotated[str, "Where `right` comes from."]
    core: Annotated[
        list[str],
        "Promises and constraints that exclude each other; empty unless there is no right"
        " assignment.",
    ]
    because: Annotated[
        list[str], "Sums that show why the core excludes each other; empty if none is found."
    ]
    price: Price
    notes: Annotated[list[str], "What was not judged, and why."]
    seconds: Annotated[Amount, "Seconds of wall clock, without the start of Python."]


@frozen(kw_only=True)
class SequenceViolation:
    """A promise that is broken."""

    where: Annotated[str, "The change and the round."]
    promise: BrokenPromise
    words: Annotated[str, "What is wrong."]


@frozen(kw_only=True)
class Round:
    """One round of the protocol."""

    claims: Annotated[
        dict[str, dict[str, list[Count]]],
        "What each member owns before the round: member -> topic -> partitions.",
    ]
    judged: JudgedAssignment
    violations: Annotated[list[Violation], "What is wrong in the round."]
    moves: Moves
    right: RightAssignment
    origin: Annotated[str, "Where `right` comes from."]
    notes: Annotated[list[str], "What was not judged, and why."]
    waits_ms: Annotated[
        Count,
        "In how many ms all join again because a leader of Connect delays something; 0: it does"
        " not.",
    ] = 0


@frozen(kw_only=True)
class Change:
    """One change of the group."""

    words: Annotated[str, "What changed."]
    at_rest: Annotated[bool, "Whether the group came to rest after the change."]
    moves: Annotated[Count, "Partitions that changed hands."]
    fewest: Annotated[Count, "Fewest that had to."]
    rounds: Annotated[list[Round], "The rounds, in order."]


@frozen(kw_only=True)
class AssignSequenceDocument:
    """What `groupcheck assign FILE --json` prints for a sequence of assignments."""

    verdict: Annotated[Literal["right", "wrong"], "Whether anything is wrong."]
    about: Annotated[str, "What the file says about itself; empty if nothing."]
    assignor: Assignor
    promises: Annotated[dict[str, str], "What was checked: name of the promise -> statement."]
    violations: Annotated[list[SequenceViolation], "What is wrong in any round."]
    moves: Annotated[Count, "Partitions that changed hands, in all."]
    fewest: Annotated[Count, "Fewest partitions that had to change hands, in all."]
    changes: Annotated[list[Change], "One object for each change of the group."]
    seconds: Annotated[Amount, "Seconds of wall clock, without the start of Python."]


@frozen(kw_only=True)
class LineError:
    """Why the line could not be read; null if it could."""

    what: Annotated[str, "What is wrong."]
    where: Annotated[str, "The place in the document."]
    do: Annotated[str, "What to do; empty if that is clear."]


@frozen(kw_only=True)
class AssignLineDocument:
    """What `groupcheck assign --lines FILE` prints for each line."""

    line: Annotated[Positive, "Number of the line in the file; the first is 1."]
    verdict: Annotated[
        Literal["right", "wrong", "unreadable"],
        "Whether anything is wrong, or the line could not be read.",
    ]
    about: Annotated[str, "What the document says about itself; empty if nothing."]
    assignor: Annotated[
        str | None, "The assignor whose promises are checked; null if the document names none."
    ]
    promises: Annotated[list[str], "Names of the promises that were asked."]
    not_judged: Annotated[
        list[str], "Promises that could not be judged, because one that they need is broken."
    ]
    violations: Annotated[list[Violation], "What is wrong; in a sequence also where."]
    moves: Annotated[
        Count | None, "Partitions that move; null if partitions are assigned wrongly or not at all."
    ]
    fewest: Annotated[
        Count | None,
        "The fewest moves of a balanced assignment; null if the line could not be read.",
    ]
    error: LineError | None
