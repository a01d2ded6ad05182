"""An assignor that may do anything, asked: which promises of which groups, what it answers, and how
an answer breaks a promise.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from attrs import field, frozen

from groupcheck.model.assignors import Group, NoAssignment
from groupcheck.model.engine import UserError
from groupcheck.oracles.assignment.offered import (
    NO_ANSWER,
    Offered,
    TooLong,
    ended_after,
    own_traceback,
)
from groupcheck.oracles.assignment.promises import MADE, PROMISES, Case, promised
from groupcheck.oracles.assignment.rounds import restless
from groupcheck.oracles.assignment.validity import Assigned, Violation, named

PATIENCE_S = 5.0  # for an answer; after a first that did not come, a fifth of that
MOST_HUNG = 6  # answers that are waited for in vain, of one assignor
MOST_BROKEN = 25  # times that a program is started anew


@frozen
class Asked:
    """A promise by its name (`promises.PROMISES`, or one about the call itself), and the kinds of
    groups that it is asked of.

    `of_many`: it is about more answers than that to the group itself. `beyond`: it is asked
    although nobody promises it of such a group.
    """

    promise: str
    groups: tuple[str, ...]
    of_many: Callable[[Answers, Group], Iterable[Violation]] | None = None
    beyond: bool = False

    def kinds(self, like: str | None) -> tuple[str, ...]:
        """Those kinds of groups that make sense for an assignor like Kafka's of that name."""
        return tuple(kind for kind in self.groups if kind in ONLY.get(like, self.groups))


FRESH, CLAIMED = ("fresh",), ("fresh", "settled", "with_older_claims")
GROUPS: Mapping[str, tuple[str, ...]] = {
    "balanced in topics": FRESH,
    "fewest moves": ("settled", "whole_topics"),
    "handed over": ("settled", "with_older_claims"),
    "balanced at rest": ("settled",),
}
ONLY: Mapping[str | None, tuple[str, ...]] = {
    "range": FRESH,
    "roundrobin": FRESH,
    "server-range": FRESH,
    "uniform": ("fresh", "settled"),
}
"""The groups that make sense for these assignors. Three read no claims. Uniform reads the
coordinator's targets, which are all of one epoch and never overlap.
"""

ANSWERS = Asked("answers", CLAIMED)
AGAIN = Asked("the same again", CLAIMED, of_many=lambda answers, group: _another(answers, group))
SEQUENCES: Mapping[str | None, Asked] = {
    "sticky": Asked(
        "sequence", FRESH, lambda answers, group: restless(answers.of, group, cooperative=False)
    ),
    "cooperative-sticky": Asked(
        "sequence", FRESH, lambda answers, group: restless(answers.of, group, cooperative=True)
    ),
}


def asked_of(offered: Offered, *, beyond: bool = False) -> tuple[Asked, ...]:
    """All that is asked of an assignor: that it answers, and what Kafka's of that name promises
    (none: what any does).

    `beyond`: also whether more moves are made than needed where Kafka's sticky makes no promise of
    it (`promises.keeps_most`).
    """
    made = MADE[offered.like] if offered.like else ("valid", "complete")
    names = [name for name in made if not PROMISES[name].exact]
    of_groups = {
        name: (
            GROUPS.get(name, CLAIMED)
            + (("untold",) if offered.reads_told and name == "handed over" else ())
        )
        for name in names
    }
    of_sequences = [SEQUENCES[offered.like]] if offered.like in SEQUENCES else []
    asked = [
        Asked(name, of_groups[name], beyond=beyond and name == "fewest moves") for name in names
    ]
    return (ANSWERS, *asked, *of_sequences, *((AGAIN,) if offered.ask_again else ()))


class GivenUp(Exception):
    """It did not answer, or did not answer in time, too often."""


@frozen(eq=False)
class Answers:
    """An assignor's answers, each asked for once."""

    offered: Offered
    known: dict[Group, Assigned | NoAssignment] = field(factory=dict)
    violations: dict[tuple[str, Group], tuple[Violation, ...]] = field(factory=dict)
    hung: list[Group] = field(factory=list)
    broke: list[Group] = field(factory=list)

    def of(self, group: Group) -> Assigned | NoAssignment:
        """What it answers; what it raises is its answer, too. Raises `GivenUp`."""
        if group not in self.known:
            self.known[group] = self.again(group)
        return self.known[group]

    def again(self, group: Group) -> Assigned | NoAssignment:
        """What it answers now. Raises `GivenUp`."""
        if self.gave_up:
            raise GivenUp
        patience = PATIENCE_S / 5 if self.hung else PATIENCE_S
        began = time.monotonic()
        answer = answer_of(self.offered, group, patience)
        if isinstance(answer, NoAssignment) and time.monotonic() - began >= 0.7 * patience:
            self.hung.append(group)
        elif isinstance(answer, NoAssignment) and answer.thrown == NO_ANSWER:
            self.broke.append(group)
        return answer

    @property
    def silent(self) -> list[Group]:
        """Groups for which it gave no answer in time, or broke down."""
        return self.hung + self.broke

    @property
    def gave_up(self) -> bool:
        """Is it not asked any more?"""
        return len(self.hung) >= MOST_HUNG or len(self.broke) >= MOST_BROKEN

    def broken(self, asked: Asked, group: Group) -> tuple[Violation, ...]:
        """How the answer breaks the promise; no answer breaks none."""
        key = asked.promise, group
        if key not in self.violations:
            try:
                found = (
                    tuple(asked.of_many(self, group))
                    if asked.of_many
                    else breaks(asked, self.offered.like, group, self.of(group))
                )
            except GivenUp:
                return ()
            self.violations[key] = found
        return self.violations[key]


def breaks(
    asked: Asked, like: str | None, group: Group, answer: Assigned | NoAssignment
) -> tuple[Violation, ...]:
    """How one answer breaks the promise."""
    if asked is ANSWERS and isinstance(answer, NoAssignment):
        return (Violation("answers", str(answer), traceback=answer.traceback),)
    case = to_judge(asked, like, group, answer)
    return () if asked is ANSWERS or case is None else tuple(PROMISES[asked.promise].broken(case))


def to_judge(
    asked: Asked, like: str | None, group: Group, answer: Assigned | NoAssignment
) -> Case | None:
    """The answer, if it either keeps or breaks the promise: the promise is made of such a group,
    and the answer keeps those without which this one means nothing.
    """
    if isinstance(answer, NoAssignment):
        return None
    case = Case(group, answer)
    if asked.promise not in PROMISES:
        return case
    if like is not None and not asked.beyond and asked.promise not in promised(like, group):
        return None
    needed = PROMISES[asked.promise].needs
    return None if any(True for name in needed for _ in PROMISES[name].broken(case)) else case


def _another(answers: Answers, group: Group) -> Iterator[Violation]:
    """Asked again after other questions, it gives the same answer: calls leave no memory."""
    first, again = answers.of(group), answers.again(group)
    if str(first) != str(again) if isinstance(first, NoAssignment) else first != again:
        yield Violation(
            "the same again",
            f"asked again it answers {answer_shown(again)}",
            traceback=again.traceback if isinstance(again, NoAssignment) else "",
        )


def answer_of(
    offered: Offered, group: Group, patience: float = PATIENCE_S
) -> Assigned | NoAssignment:
    """One answer, of an assignor that may do anything."""
    try:
        with ended_after(patience):
            return offered.solve(group)
    except NoAssignment as none:
        return NoAssignment(none.thrown, none.why, own_traceback(none))
    except TooLong as hung:
        return NoAssignment(NO_ANSWER, f"none within {patience:g} s", own_traceback(hung))
    except UserError:
        raise
    except Exception as raised:
        return NoAssignment(type(raised).__name__, f"{raised}"[:200], own_traceback(raised))


def answer_shown(answer: Assigned | NoAssignment) -> Any:
    """As plain JSON."""
    if isinstance(answer, NoAssignment):
        return {"throws": str(answer)}
    return {member: [named(p) for p in sorted(given)] for member, given in sorted(answer.items())}
