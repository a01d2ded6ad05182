"""What a judge found out: the rules that were tried with their verdicts, the rows that differ, and
what was not reached; for brokers and for clients.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from attrs import evolve, field, frozen

from groupcheck.oracles.judge.report.schedules import Act, Line

# keeps: tried, and never broken. breaks: broken each time that it was tried again, or what was
# judged was gone then. unsteady: broken some of these times. not_judged: never tried. known: broken
# only in ways that the user knows. informs: a row that differs and breaks no rule.
Became = Literal["keeps", "breaks", "unsteady", "not_judged", "known", "informs"]
Verdict = Literal["keeps", "breaks", "unknown"]
EXIT_CODES: Mapping[Verdict, int] = {"keeps": 0, "breaks": 1, "unknown": 3}


@frozen
class Rule:
    """A promise, and where it is made."""

    name: str
    # What must be true, as a sentence.
    sentence: str
    # KIP, class of Kafka's, or page.
    source: str


@frozen
class Remark:
    """A way in which a rule was broken, or a row that differs, with the shortest schedule."""

    # What it is about, such as "Stable: Heartbeat (a member, an old generation)".
    row: str
    # What is the same in all rows with the same cause, as far as can be told.
    root: str
    # The names of the rules that it breaks.
    rules: tuple[str, ...]
    allowed: tuple[str, ...]
    got: str
    detail: str
    # The profile, or the scenario.
    profile: str
    acts: tuple[Act, ...]
    lines: tuple[Line, ...]
    times: int
    # How often it was tried again, and how often it showed again.
    repeated: int
    again: int
    # Why the user accepts it; empty: it is not known.
    known: str = ""
    # Kafka's own side did so, too, under the same load.
    excused: bool = False
    # It was shown on Apache Kafka itself.
    confirmed: bool = False
    # What was judged was gone then, so nothing could be tried again.
    is_final: bool = False
    # If it was not tried again itself: the one of its root that was, in its place.
    stand_in: Remark | None = None

    @property
    def became(self) -> Became:
        """Its verdict."""
        if self.known:
            return "known"
        if not self.rules:
            return "informs"
        tried = self.stand_in or self
        sure = tried.repeated and tried.again == tried.repeated and not self.excused
        return "breaks" if sure or self.confirmed or self.is_final else "unsteady"

    @property
    def passes(self) -> bool:
        """Was it tried again, or the one in its place, and did it never show?"""
        tried = self.stand_in or self
        return tried.repeated > 0 and not tried.again and not self.known

    @property
    def met(self) -> str:
        """How often it was met, and what was tried again in its place, in words."""
        instead = f"; not tried again, but {self.stand_in.row} was" if self.stand_in else ""
        if self.is_final:
            instead = "; not tried again, because nothing answered any more"
        return f"{self.times} {'time' if self.times == 1 else 'times'}{instead}"

    @property
    def asks(self) -> int:
        """How many requests its schedule has."""
        return sum(act.kind != "wait" for act in self.acts)


@frozen
class RuleVerdict:
    rule: Rule
    became: Became
    # How often it was tried.
    tried: int
    remarks: tuple[Remark, ...] = ()


@frozen
class NotReached:
    """A row that nobody came to, with the shortest way of the model."""

    profile: str
    row: str
    way: tuple[str, ...]


@frozen(kw_only=True)
class Judgement:
    """Everything that a judge says."""

    # What was judged: an address, a library.
    subject: str
    rules: tuple[RuleVerdict, ...]
    remarks: tuple[Remark, ...]
    not_reached: tuple[NotReached, ...]
    # (name, text) of figures.
    facts: tuple[tuple[str, str], ...]
    # What was slow, each in a sentence.
    slow: tuple[str, ...] = ()
    # Why the run ended early; empty: it did not.
    reason: str = ""
    seconds: float = 0.0
    # What was seen once, and never when it was tried again at leisure: a sentence each.
    passing: tuple[str, ...] = field(default=())

    @property
    def verdict(self) -> Verdict:
        """`breaks` if a rule is broken, `unknown` if that is not clear, else `keeps`."""
        became = {one.became for one in self.rules}
        if "breaks" in became:
            return "breaks"
        return "unknown" if self.reason or "unsteady" in became else "keeps"

    @property
    def exit_code(self) -> int:
        """0 no rule broken, 1 a rule broken, 3 not decided."""
        return EXIT_CODES[self.verdict]


def judged(
    rules: Iterable[Rule], tried: Mapping[str, int], remarks: Iterable[Remark]
) -> tuple[RuleVerdict, ...]:
    """The verdict on each rule."""
    every = list(remarks)
    found = []
    for rule in rules:
        own = tuple(one for one in every if rule.name in one.rules)
        became = {one.became for one in own}
        order: tuple[Became, ...] = ("breaks", "unsteady", "known")
        usual: Became = "keeps" if tried.get(rule.name) else "not_judged"
        verdict = next((one for one in order if one in became), usual)
        found.append(RuleVerdict(rule, verdict, tried.get(rule.name, 0), own))
    return tuple(found)


def by_root(remarks: Iterable[Remark]) -> dict[str, list[Remark]]:
    """The remarks with each root: first those that showed most often when they were tried again,
    and of these the ones with the shortest schedules.
    """
    found: dict[str, list[Remark]] = {}
    for one in sorted(remarks, key=lambda r: (-r.again, r.asks, r.row)):
        found.setdefault(one.root, []).append(one)
    return found


def with_stand_ins(remarks: Iterable[Remark]) -> list[Remark]:
    """The remarks by root. One that was not tried again names the first of its root that was."""
    found = []
    for some in by_root(remarks).values():
        tried = next((one for one in some if one.repeated), None)
        found += [one if one.repeated else evolve(one, stand_in=tried) for one in some]
    return found
