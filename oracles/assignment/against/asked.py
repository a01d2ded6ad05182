"""Asks an assignor that may do anything: which promises, of which groups, what it answers, and how
an answer breaks a promise.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from attrs import field, frozen

from groupcheck.model.assignors import Group, NoAssignment
from groupcheck.model.engine import UserError
from groupcheck.oracles.assignment.against.offered import (
    NO_ANSWER,
    Offered,
    TooLong,
    ended_after,
    own_traceback,
)
from groupcheck.oracles.assignment.promises import MADE, PROMISES, Case, judged
from groupcheck.oracles.assignment.rounds import restless
from groupcheck.oracles.assignment.validity import Assigned, Violation, named

PATIENCE_S = 5.0  # for one answer; a fifth of that once an answer did not come
MOST_HUNG = 6  # answers of one assignor that did not come in time
MOST_BROKEN = 25  # times that a program is started anew


@frozen
class Asked:
    """A promise, and of which groups it is asked."""

    # A name of `promises.PROMISES`, or of a promise about the call itself.
    promise: str
    # Kinds of groups (`groups.KINDS`).
    groups: tuple[str, ...]
    # How it is broken, if that takes more answers than the one for the group itself.
    of_many: Callable[[Answers, Group], Iterable[Violation]] | None = None
    # It is asked even of groups for which nobody makes it.
    beyond: bool = False

    def kinds(self, like: str | None) -> tuple[str, ...]:
        """The kinds of groups that make sense for an assignor like Kafka's of that name."""
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
    "sticky": Asked("sequence", FRESH, lambda answers, group: restless(answers.of, group)),
    "cooperative-sticky": Asked(
        "sequence", FRESH, lambda answers, group: restless(answers.of, group, cooperative=True)
    ),
}


def asked_of(offered: Offered, *, beyond: bool = False) -> tuple[Asked, ...]:
    """All that is asked of an assignor: that it answers, and what Kafka's assignor of that name
    promises (if it has no such name: what all promise).

    `beyond`: it is also asked whether more moves are made than needed where Kafka's sticky does not
    promise the fewest (`promises.keeps_most`).
    """
    made = MADE[offered.like] if offered.like else ("valid", "complete")
    asked = [ANSWERS]
    for name in made:
        if not PROMISES[name].exact:
            untold = ("untold",) if offered.reads_told and name == "handed over" else ()
            kinds = GROUPS.get(name, CLAIMED) + untold
            asked.append(Asked(name, kinds, beyond=beyond and name == "fewest moves"))
    if offered.like in SEQUENCES:
        asked.append(SEQUENCES[offered.like])
    return (*asked, AGAIN) if offered.ask_again else tuple(asked)


class GivenUp(Exception):
    """The assignor gave no answer, or none in time, too often."""


@frozen(eq=False)
class Answers:
    """An assignor's answers. Each is asked for once."""

    offered: Offered
    known: dict[Group, Assigned | NoAssignment] = field(factory=dict)
    # (promise, group) -> how the answer breaks the promise.
    violations: dict[tuple[str, Group], tuple[Violation, ...]] = field(factory=dict)
    # Groups for which it gave no answer in time.
    hung: list[Group] = field(factory=list)
    # Groups over which it broke down.
    broke: list[Group] = field(factory=list)

    def of(self, group: Group) -> Assigned | NoAssignment:
        """What it answers; an exception is an answer, too. Raises `GivenUp`."""
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
        """It is not asked any more."""
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
    return tuple(judgement(asked, like, group, answer) or ())


def judgement(
    asked: Asked, like: str | None, group: Group, answer: Assigned | NoAssignment
) -> list[Violation] | None:
    """How one answer breaks the promise; None if it cannot be judged: the promise is not made for
    such a group, or the answer breaks a promise that this one needs.
    """
    if isinstance(answer, NoAssignment):
        thrown = Violation("answers", str(answer), traceback=answer.traceback)
        return [thrown] if asked is ANSWERS else None
    if asked.promise not in PROMISES:
        return []
    if like is not None and not asked.beyond and not PROMISES[asked.promise].made_for(group):
        return None
    return dict(judged(Case(group, answer), [asked.promise]))[asked.promise]


def _another(answers: Answers, group: Group) -> Iterator[Violation]:
    """Asked again after other questions, it gives the same answer: calls leave no memory."""
    first, again = answers.of(group), answers.again(group)
    if answer_shown(first) != answer_shown(again):
        traceback = again.traceback if isinstance(again, NoAssignment) else ""
        yield Violation(
            "the same again", f"asked again it answers {answer_shown(again)}", traceback=traceback
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
        return NoAssignment(type(raised).__name__, str(raised)[:200], own_traceback(raised))


def answer_shown(answer: Assigned | NoAssignment) -> Any:
    """As plain JSON."""
    if isinstance(answer, NoAssignment):
        return {"throws": str(answer)}
    return {member: [named(p) for p in sorted(given)] for member, given in sorted(answer.items())}
