"""What each of Kafka's assignors promises, asked of every answer of its class."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from attrs import define, evolve, field, frozen

from groupcheck.model.assignors import Group, NoAssignment
from groupcheck.oracles.assignment import (
    Violation,
    balanced_in_topics,
    complete,
    handed_over,
    level,
    locally_balanced,
    valid,
)
from groupcheck.oracles.assignment.conform_inputs import size
from groupcheck.oracles.assignment.validity import Assigned

Promise = Callable[[Group, Assigned], Iterable[Violation]]


def _level_if_equal(group: Group, assigned: Assigned) -> Iterable[Violation]:
    return level(group, assigned) if len({member.topics for member in group.members}) == 1 else ()


def _complete_later(group: Group, assigned: Assigned) -> Iterable[Violation]:
    return complete(group, assigned, may_wait=True)


PROMISED: Mapping[str, tuple[Promise, ...]] = {
    "range": (complete, balanced_in_topics),
    "roundrobin": (complete, _level_if_equal),
    "sticky": (complete, locally_balanced),
    "cooperative-sticky": (_complete_later, handed_over),
    "uniform": (complete, _level_if_equal),
    "server-range": (complete, balanced_in_topics),
}
"""Besides `valid`, which all promise. Balance is asked only of valid answers. A cooperative sticky
answer need not be balanced: the round after it is.
"""


def broken(assignor: str, group: Group, answer: Assigned) -> Iterator[Violation]:
    """The promises that an answer breaks."""
    invalid = list(valid(group, answer))
    yield from invalid
    for promise in PROMISED[assignor]:
        if not invalid or promise not in (locally_balanced, balanced_in_topics, _level_if_equal):
            yield from promise(group, answer)


def circumstances(group: Group) -> frozenset[str]:
    """What is unusual about an input: it tells findings of one cause from those of another."""
    sizes = dict(group.topics)
    newest = max((member.generation for member in group.members), default=0)
    claims = [partition for member in group.members for partition in member.owned]
    strange = {
        "a member subscribes to nothing": any(not member.topics for member in group.members),
        "subscriptions differ": (
            len({member.topics for member in group.members if member.topics}) > 1
        ),
        "a claim is of an older generation": any(
            member.owned and member.generation < newest for member in group.members
        ),
        "a claimed topic is not subscribed to": any(
            topic not in member.topics for member in group.members for topic, _ in member.owned
        ),
        "a partition is claimed twice": len(claims) > len(set(claims)),
        "a claimed partition does not exist": any(
            number >= sizes.get(topic, 0) for topic, number in claims
        ),
        "a generation is told that is not the claim's": any(
            m.told not in (None, m.generation) for m in group.members
        ),
        "members have racks": any(member.rack for member in group.members),
    }
    return frozenset(name for name, here in strange.items() if here)


@frozen
class Found:
    """How often a promise was broken under the same circumstances, and the smallest input with its
    answer.
    """

    answers: int
    size: tuple[int, ...]
    group: Group
    answer: Assigned | NoAssignment
    words: str


@define
class Asked:
    """What an assignor's class was asked, and how its answers broke a promise."""

    assignor: str
    answers: int = 0
    found: dict[tuple[str, frozenset[str]], Found] = field(factory=dict)

    def ask(self, group: Group, answer: Assigned | NoAssignment) -> None:
        """Of one answer; what is thrown breaks the promise to answer."""
        self.answers += 1
        if isinstance(answer, NoAssignment):
            self._note("answers", f"throws {answer}", group, answer)
            return
        noted: set[str] = set()
        for violation in broken(self.assignor, group, answer):
            if violation.promise not in noted:
                self._note(violation.promise, violation.words, group, answer)
                noted.add(violation.promise)

    def _note(
        self, promise: str, words: str, group: Group, answer: Assigned | NoAssignment
    ) -> None:
        key = promise, circumstances(group)
        before, here = self.found.get(key), size(group)
        if before is None or here < before.size:
            self.found[key] = Found(before.answers + 1 if before else 1, here, group, answer, words)
        else:
            self.found[key] = evolve(before, answers=before.answers + 1)

    def least(self) -> list[tuple[str, frozenset[str], Found]]:
        """The findings whose circumstances are least: what also happens with less is no finding of
        its own.
        """
        return [
            (promise, why, found)
            for (promise, why), found in sorted(
                self.found.items(), key=lambda item: (item[0][0], item[1].size)
            )
            if not any(other == promise and fewer < why for other, fewer in self.found)
        ]
