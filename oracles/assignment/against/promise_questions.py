"""Which promises an assignor is asked for, and for which groups; its answers, whatever it does; and
how an answer breaks a promise.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from attrs import evolve, field, frozen

from groupcheck.model.assignors import Group, NoAssignment, Partitions
from groupcheck.model.engine import UserError
from groupcheck.oracles.assignment.against.offered import (
    NO_ANSWER,
    OfferedAssignor,
    TooLong,
    ended_after,
    own_traceback,
)
from groupcheck.oracles.assignment.promises import (
    ALIKE,
    BESIDE,
    MADE,
    PROMISES,
    Case,
    judged,
    subscriptions_equal,
)
from groupcheck.oracles.assignment.rounds import restless
from groupcheck.oracles.assignment.validity import Assigned, Violation, named

PATIENCE_S = 5.0  # for one answer; a fifth of that once an answer did not come
MOST_HUNG = 6  # answers of one assignor that did not come in time
MOST_BROKEN = 25  # times that a program is started anew


TIMES = 4  # that an assignor is asked about each group, if its answers vary
PROBED = 25  # groups of a kind by which that is found out
SEQUENCES = 50  # of each kind at most: one takes some twenty answers
GROUPS_FOR_A_LARGE_ONE = 4  # one of so many groups is a large one


@frozen
class PromiseQuestion:
    """A promise, and the groups for which it is asked."""

    # A name of `promises.PROMISES`, or of a promise about the call itself.
    promise: str
    # Kinds of groups (`groups.KINDS`, `crowds.DRAWS`).
    groups: tuple[str, ...]
    # How it is broken, if that takes more answers than the one for the group itself.
    of_many: Callable[[Answers, Group], Iterable[Violation]] | None = None
    # It is asked even of groups for which nobody makes it.
    beyond: bool = False
    # The most groups of a kind.
    most: int = 1_000_000

    def kinds(self, like: str | None) -> tuple[str, ...]:
        """The kinds of groups that make sense for an assignor like Kafka's of that name."""
        return tuple(kind for kind in self.groups if kind in ONLY.get(like, self.groups))

    def count(self, kind: str, examples: int) -> int:
        """How many groups of the kind are drawn."""
        return min(
            self.most, -(-examples // GROUPS_FOR_A_LARGE_ONE) if kind in CROWDS else examples
        )


CROWDS = ("crowd", "settled_crowd", "stale_crowd")
FRESH = ("fresh", "odd", "crowd")
SETTLED = (*FRESH, "settled", "odd_settled", "settled_crowd")
CLAIMED = (*SETTLED, "with_older_claims", "stale_crowd")
GROUPS: Mapping[str, tuple[str, ...]] = {
    "balanced in topics": FRESH,
    "contiguous": FRESH,
    "co-partitioned": FRESH,
    "fair shares": FRESH,
    "fewest moves": ("settled", "whole_topics"),
    "sticks": ("settled", "settled_crowd", "with_older_claims", "stale_crowd"),
    "handed over": ("settled", "odd_settled", "settled_crowd", "with_older_claims", "stale_crowd"),
    "balanced at rest": ("settled", "settled_crowd"),
}
ONLY: Mapping[str | None, tuple[str, ...]] = {
    "range": FRESH,
    "roundrobin": FRESH,
    "server-range": FRESH,
    "uniform": SETTLED,
}
"""The groups that make sense for these assignors. Three read no claims. Uniform reads the
coordinator's targets, which are all of one epoch and never overlap.
"""

OF_CALLS: Mapping[str, str] = {
    "answers": "It answers every group: no exception, in time, and partitions for each member.",
    "the same again": "Asked again, it gives the same answer: calls leave no memory, and nothing is"
    " left to chance.",
    "in any order": "If the leader lists the members in another order, everybody has the same"
    " partitions (RangeAssignor and RoundRobinAssignor sort them).",
    "static members keep": "If static members come back with other member ids, everybody has the"
    " same partitions as before (KIP-345).",
    "sequence": "While members join, leave and restart, topics grow and subscriptions change, each"
    " round is valid, the group comes to rest, at rest it is complete and balanced, and no change"
    " loses more claimed partitions than with Kafka's own assignor, or than balance needs.",
    "claims are told": "A member claims what it was assigned, with its generation.",
    "claims are one's own": "A new consumer claims nothing of another one of the same process.",
}
"""Promises about calls, and about several answers together."""


def statement(promise: str) -> str:
    """The promise in one sentence."""
    return PROMISES[promise].statement if promise in PROMISES else OF_CALLS[promise]


def _another(answers: Answers, group: Group) -> Iterator[Violation]:
    """Asked again after other questions, it gives the same answer."""
    first, again = answers.of(group), answers.again(group)
    if answer_shown(first) != answer_shown(again):
        traceback = again.traceback if isinstance(again, NoAssignment) else ""
        yield Violation(
            "the same again", f"asked again it answers {answer_shown(again)}", traceback=traceback
        )


def _restarted(answers: Answers, group: Group) -> Iterator[Violation]:
    """The change in the answer if all static members come back with other ids, in the opposite
    order.
    """
    static = sorted(m.instance for m in group.members if m.instance is not None)
    if not static:
        return
    place = {instance: len(static) - n for n, instance in enumerate(static)}
    ids = {
        m.id: m.id if m.instance is None else f"new-{place[m.instance]:02}" for m in group.members
    }
    again = evolve(group, members=[evolve(m, id=ids[m.id]) for m in group.members])
    before, after = answers.of(group), answers.of(again)
    if isinstance(before, NoAssignment) or isinstance(after, NoAssignment):
        return
    for member in group.members:
        had, has = before.get(member.id, NOTHING), after.get(ids[member.id], NOTHING)
        if had != has:
            back = (
                f"{member.id} comes back as {ids[member.id]} (group.instance.id {member.instance})"
                if member.instance
                else f"the static members come back with other ids, and {member.id}"
            )
            words = f"{back} and gets {_listed(has)} instead of {_listed(had)}"
            shown = (group, before), (again, after)
            yield Violation("static members keep", words, rounds=shown)
            return


def _turned(answers: Answers, group: Group) -> Iterator[Violation]:
    """The change in the answer if the leader lists the members in the opposite order."""
    turned = evolve(group, members=group.members[::-1])
    before, after = answers.of(group), answers.of(turned)
    if isinstance(before, NoAssignment) or isinstance(after, NoAssignment):
        return
    for member in group.members:
        had, has = before.get(member.id, NOTHING), after.get(member.id, NOTHING)
        if had != has:
            words = f"listed in the opposite order, {member.id} gets {_listed(has)} instead of"
            shown = (group, before), (turned, after)
            yield Violation("in any order", f"{words} {_listed(had)}", rounds=shown)
            return


NOTHING: Partitions = frozenset()


def _listed(partitions: Partitions) -> str:
    return ", ".join(map(named, sorted(partitions))) or "nothing"


def _in_sequence(like: str) -> PromiseQuestion:
    return PromiseQuestion(
        "sequence", FRESH, lambda answers, group: restless(answers.of, group, like), most=SEQUENCES
    )


ANSWERS = PromiseQuestion("answers", CLAIMED)
AGAIN = PromiseQuestion("the same again", CLAIMED, _another)
STATIC = PromiseQuestion("static members keep", FRESH, _restarted)
SORTED = (PromiseQuestion("in any order", FRESH, _turned), STATIC)
OF_MANY: Mapping[str | None, tuple[PromiseQuestion, ...]] = {
    "range": SORTED,
    "roundrobin": SORTED,
    "server-range": SORTED,
    "sticky": (_in_sequence("sticky"),),
    "cooperative-sticky": (_in_sequence("cooperative-sticky"),),
    "uniform": (_in_sequence("uniform"),),
}


def asked_of(offered: OfferedAssignor, *, beyond: bool = False) -> tuple[PromiseQuestion, ...]:
    """All that is asked of an assignor: that it answers, and what Kafka's assignor of that name
    promises (if it has no such name: what all promise).

    `beyond`: it is also asked whether more moves are made than needed where Kafka's sticky does not
    promise the fewest (`promises.keeps_most`).
    """
    like = offered.like
    made = (*MADE[like], *BESIDE[like]) if like else ("valid", "complete")
    asked = [ANSWERS]
    for name in made:
        if not PROMISES[name].exact:
            untold = ("untold",) if offered.reads_told and name == "handed over" else ()
            kinds = GROUPS.get(name, CLAIMED) + untold
            asked.append(PromiseQuestion(name, kinds, beyond=beyond and name == "fewest moves"))
    of_many = OF_MANY.get(like, ())
    asked += [one for one in of_many if offered.reads_instances or one is not STATIC]
    return (*asked, AGAIN) if offered.ask_again else tuple(asked)


class GivenUp(Exception):
    """The assignor gave no answer, or none in time, too often."""


Given = Assigned | NoAssignment


@frozen(eq=False)
class Answers:
    """An assignor's answers. Each group is asked about once, or `TIMES` times if answers vary."""

    offered: OfferedAssignor
    known: dict[Group, list[Given]] = field(factory=dict)
    # (promise, group) -> the first answer that breaks the promise, and how.
    violations: dict[tuple[str, Group], tuple[Given | None, tuple[Violation, ...]]] = field(
        factory=dict
    )
    # Groups for which it gave no answer in time.
    hung: list[Group] = field(factory=list)
    # Groups over which it broke down.
    broke: list[Group] = field(factory=list)
    # Groups for which it has given different answers.
    varied: list[Group] = field(factory=list)

    def of(self, group: Group) -> Given:
        """The first answer; an exception is an answer, too. Raises `GivenUp`."""
        return self.known[group][0] if group in self.known else self.again(group)

    def each(self, group: Group) -> Iterator[Given]:
        """The answers, one if they do not vary. Raises `GivenUp`."""
        yield self.of(group)
        if self.varied:
            while len(self.known[group]) < TIMES:
                self.again(group)
            yield from self.known[group][1:TIMES]

    def again(self, group: Group) -> Given:
        """The assignor's answer now. Raises `GivenUp`."""
        if self.gave_up:
            raise GivenUp
        patience = PATIENCE_S / 5 if self.hung else PATIENCE_S
        began = time.monotonic()
        answer = answer_of(self.offered, group, patience)
        if isinstance(answer, NoAssignment) and time.monotonic() - began >= 0.7 * patience:
            self.hung.append(group)
        elif isinstance(answer, NoAssignment) and answer.thrown == NO_ANSWER:
            self.broke.append(group)
        before = self.known.setdefault(group, [])
        if before and answer_shown(before[0]) != answer_shown(answer):
            self.varied.append(group)
        before.append(answer)
        return answer

    def probe(self, groups: Iterable[Group]) -> None:
        """Finds out whether answers vary: asks twice about groups, until they do or it gives up."""
        with suppress(GivenUp):
            for group in groups:
                self.of(group)
                if len(self.known[group]) < 2:
                    self.again(group)
                if self.varied:
                    return

    @property
    def silent(self) -> list[Group]:
        """Groups for which it gave no answer in time, or broke down."""
        return self.hung + self.broke

    @property
    def gave_up(self) -> bool:
        """It is not asked any more."""
        return len(self.hung) >= MOST_HUNG or len(self.broke) >= MOST_BROKEN

    def broken(self, asked: PromiseQuestion, group: Group) -> tuple[Violation, ...]:
        """How an answer breaks the promise; no answer breaks none."""
        return self.breach(asked, group)[1]

    def breach(
        self, asked: PromiseQuestion, group: Group
    ) -> tuple[Given | None, tuple[Violation, ...]]:
        """The first answer that breaks the promise, and how; None and nothing if none does."""
        key = asked.promise, group
        if key not in self.violations:
            try:
                self.violations[key] = self._breach(asked, group)
            except GivenUp:
                return None, ()
        return self.violations[key]

    def _breach(
        self, asked: PromiseQuestion, group: Group
    ) -> tuple[Given | None, tuple[Violation, ...]]:
        if asked.of_many:
            found = tuple(asked.of_many(self, group))
            return (self.of(group), found) if found else (None, ())
        for answer in self.each(group):
            found = breaks(asked, self.offered.like, group, answer)
            if found:
                return answer, found
        return None, ()


def breaks(
    asked: PromiseQuestion, like: str | None, group: Group, answer: Assigned | NoAssignment
) -> tuple[Violation, ...]:
    """How one answer breaks the promise."""
    return tuple(judgement(asked, like, group, answer) or ())


def judgement(
    asked: PromiseQuestion, like: str | None, group: Group, answer: Assigned | NoAssignment
) -> list[Violation] | None:
    """How one answer breaks the promise; None if it cannot be judged: the promise is not made for
    such a group, or the answer breaks a promise that this one needs.
    """
    if like in ALIKE and not subscriptions_equal(group):
        return None
    if isinstance(answer, NoAssignment):
        thrown = Violation("answers", str(answer), traceback=answer.traceback)
        return [thrown] if asked is ANSWERS else None
    if asked.promise not in PROMISES:
        return []
    if like is not None and not asked.beyond and not PROMISES[asked.promise].made_for(group):
        return None
    return dict(judged(Case(group, answer, like=like), [asked.promise]))[asked.promise]


def answer_of(
    offered: OfferedAssignor, group: Group, patience: float = PATIENCE_S
) -> Assigned | NoAssignment:
    """One answer, of an assignor that may do anything."""
    try:
        with ended_after(patience):
            return offered.solve(group)
    except NoAssignment as none:
        return NoAssignment(none.thrown, none.why, none.traceback or own_traceback(none))
    except TooLong as hung:
        return NoAssignment(NO_ANSWER, f"none within {patience:g} s", own_traceback(hung))
    except UserError:
        raise
    except (Exception, SystemExit) as raised:
        return NoAssignment(type(raised).__name__, str(raised)[:200], own_traceback(raised))


def answer_shown(answer: Assigned | NoAssignment) -> Any:
    """As plain JSON."""
    if isinstance(answer, NoAssignment):
        return {"throws": str(answer)}
    return {member: [named(p) for p in sorted(given)] for member, given in sorted(answer.items())}
