"""The facts about a group as they are told: the most telling first, each with the lines on which it
rests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from attrs import evolve, frozen

from groupcheck.traces.clients.statement import Statement
from groupcheck.traces.facts.rules import SORTS, Rule, Sort, written
from groupcheck.traces.facts.watch import Watch

MOST_TOLD = 100
"""Of each kind, with its values and lines; the rest is counted."""


@frozen
class Fact:
    """A fact about a group, whatever its cause is."""

    kind: str
    sort: Sort
    # Whom it is about: a member, a partition, a broker; empty for the group.
    subject: str
    # One sentence, without a full stop.
    text: str
    values: Mapping[str, Any]
    # The lines on which it rests, in order.
    lines: tuple[Statement, ...]
    # The group is in trouble; or nothing shows that it is calm.
    alarm: bool
    unsettles: bool
    # How many facts of this kind there are.
    count: int

    @property
    def places(self) -> tuple[str, tuple[tuple[str, int], ...]]:
        """What makes it another one than others of its kind."""
        return self.text, tuple((said.log, said.line) for said in self.lines)


def facts_told(
    rules: Mapping[str, Rule], by_kind: Mapping[str, tuple[int, Iterable[Statement]]]
) -> list[Fact]:
    """The facts among statements (kind -> how many, and those that were kept). First that of each
    kind that was found first, alarms before others; then the rest of each kind.
    """
    firsts: list[Fact] = []
    others: list[Fact] = []
    for kind, (count, some) in by_kind.items():
        rule = rules.get(kind)
        if rule is None or not rule.text:
            continue
        told = list({f.places: f for f in _told(rule, count, some)}.values())
        firsts += told[:1]
        others += told[1:MOST_TOLD]
    sorts, declared = list(SORTS), list(rules)
    firsts.sort(key=lambda f: (not f.alarm, sorts.index(f.sort), declared.index(f.kind)))
    return [*firsts, *others]


def _told(rule: Rule, count: int, some: Iterable[Statement]) -> Iterator[Fact]:
    for said in some:
        subject = said.subject or said.who
        nobody = subject in ("", said.log)  # lines without a name are said by the log
        named = ("a client" if rule.per == "process" and rule.of else "") if nobody else subject
        text = written(rule.text, {**said.fields, "subject": named})
        lines = said.rests_on or (said,)
        how = rule.alarm, rule.unsettles
        if rule.text and not text:
            continue  # it has nothing of what the sentence says
        yield Fact(rule.kind, rule.sort, subject, text, said.fields, lines, *how, count)


def in_time(statements: Iterable[Statement]) -> list[Statement]:
    """Statements of several logs in the order of their times; one without a time stands behind the
    one before it in its log.
    """
    last: dict[str, int] = {}
    timed = []
    for said in statements:
        if said.time is not None:
            last[said.log] = said.time
        timed.append((last.get(said.log, 0), said))
    return [said for _, said in sorted(timed, key=lambda one: one[0])]


def across(
    known: Mapping[str, Rule], kept: Callable[..., Iterable[Statement]]
) -> Iterator[Statement]:
    """Facts that several groups share, told for each of them. `kept`: the statements of all groups
    that are of the given kinds.
    """
    rules = [r for r in known.values() if r.per == "all groups"]
    some = in_time(kept(*{need.kind for r in rules for need in r.of}))
    for told in Watch(rules).facts(some):
        for group in dict.fromkeys(s.group for s in told.rests_on):
            yield evolve(told, group=group)
