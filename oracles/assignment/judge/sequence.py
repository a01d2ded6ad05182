"""A sequence of rebalances, read from JSON and judged round by round: who joins, leaves, subscribes
anew, which topics grow (docs/assignment.md).
"""

from __future__ import annotations

import time
from typing import Any, Literal

from attrs import evolve, field, frozen

from groupcheck.model.assignors import Group, NoAssignment
from groupcheck.model.assignors.connect.partitions import believed
from groupcheck.model.assignors.connect.values import DEFAULT_MAX_DELAY_MS
from groupcheck.model.engine import UserError
from groupcheck.oracles.assignment.judge import assign_types
from groupcheck.oracles.assignment.judge.judging import (
    RIGHT,
    WRONG,
    JudgedAssignment,
    Progress,
    judge,
)
from groupcheck.oracles.assignment.judge.question import (
    Document,
    GivenMember,
    Question,
    assigned,
    weights,
    within_bounds,
)
from groupcheck.oracles.assignment.promises import (
    ASSIGNORS,
    COOPERATIVE,
    answer,
    promised,
    statement,
)
from groupcheck.oracles.assignment.reading import (
    Milliseconds,
    Name,
    PartitionSet,
    Size,
    name_shown,
    structured,
)
from groupcheck.oracles.assignment.rounds import Change, Leader, Step, follow
from groupcheck.oracles.assignment.validity import Violation
from groupcheck.oracles.show.json_schemas import document

SCHEMA = "groupcheck.assign-sequence/1"
MOST_WORK = 2_000_000  # members and partitions, added up over all changes
MOST_ROUNDS = 20  # that a file gives of one change
NAMED = 5  # members of the first step
CONNECT = "connect"


@frozen
class GivenChange:
    """A change in the file. It may be empty: a rebalance in which nothing changes."""

    leaves: list[Name] = field(factory=list)
    joins: dict[Name, GivenMember] = field(factory=dict)
    # Member -> its new topics.
    subscribes: dict[Name, list[Name]] = field(factory=dict)
    # Topic -> its new number of partitions.
    grows: dict[Name, Size] = field(factory=dict)
    # How long after the change before it comes, in ms; None: once the group is at rest.
    after_ms: Milliseconds | None = None
    # What each round of the change gave.
    assignments: list[dict[Name, PartitionSet]] | None = None


@frozen(kw_only=True)
class Changing(Document):
    """A file that asks about a sequence."""

    changes: list[GivenChange]
    # scheduled.rebalance.max.delay.ms of a Connect cluster.
    delay_ms: Milliseconds | None = None


@frozen
class Sequence:
    """A sequence to be judged. Under cooperation (KIP-429) rounds follow each other until one is at
    rest.
    """

    # The group before the first step, with its claims, and by what each round is judged.
    question: Question
    steps: tuple[Step, ...]
    delay_ms: int = DEFAULT_MAX_DELAY_MS

    @property
    def cooperative(self) -> bool:
        """Do members keep what they have while they join?"""
        return cooperative(self.question)


def cooperative(asked: Question) -> bool:
    """Do the members of the sequence keep what they have while they join?"""
    return asked.assignor in COOPERATIVE or "handed over" in (asked.promises or ())


def sequence(value: Any) -> Sequence:
    """From the JSON value of a file. Raises `UserError` that names the place."""
    given = structured(value, Changing)
    group, weighed = given.group(), weights(given.members)
    if given.assignor is None and given.promises is None:
        raise UserError(
            "neither an assignor nor promises to judge by", do='give "assignor", "promises" or both'
        )
    timed = [
        f"changes[{k}].after_ms" for k, c in enumerate(given.changes) if c.after_ms is not None
    ]
    if given.delay_ms is not None:
        timed.append("delay_ms")
    if timed and given.assignor != CONNECT:
        raise UserError(
            "only a leader of Connect delays rounds",
            where=timed[0],
            do='leave it out, or give "assignor": "connect"',
        )
    if not given.changes:
        raise UserError("no changes", where="changes", do='give [{"leaves": ["c1"]}]')
    names = [member.id for member in group.members]
    more = " ..." if len(names) > NAMED else ""
    steps = [Step(f"at first {', '.join(names[:NAMED])}{more}", group)]
    work = 0
    for number, change in enumerate(given.changes):
        where = f"changes[{number}]"
        steps.append(_step(change, steps[-1].group, where))
        if steps[-1].given is None and given.assignor is None:
            raise UserError(
                "nothing says who gets what",
                where=where,
                do='give its "assignments", or an "assignor" for the whole',
            )
        weighed |= weights(change.joins)
        work += len(steps[-1].group.members) + sum(size for _, size in steps[-1].group.topics)
        if work > MOST_WORK:
            raise UserError(
                f"members and partitions of all changes are more than {MOST_WORK:,}",
                where="changes",
            )
    claims = [partition for member in group.members for partition in member.owned]
    if len(set(claims)) < len(claims):
        raise UserError(
            "a partition is claimed twice; what went before a sequence is one assignment",
            where="members",
        )
    # With claims the group is settled: its first rebalance is that of the first change.
    settled = bool(claims) or given.assignor is None
    return Sequence(
        Question(group, given.assignor, None, given.names(), (), weighed, given.about),
        tuple(steps[1:] if settled else steps),
        DEFAULT_MAX_DELAY_MS if given.delay_ms is None else given.delay_ms,
    )


def _step(change: GivenChange, group: Group, where: str) -> Step:
    """The group after a change. Raises `UserError` where the change does not fit."""
    words: list[str] = []
    members = {member.id: member for member in group.members}

    def there(name: str, key: str) -> str:
        if name not in members:
            raise UserError(f"unknown member {name_shown(name)}", where=f"{where}.{key}")
        return name

    for name in change.leaves:
        del members[there(name, "leaves")]
        words.append(f"{name} leaves")
    for name, joining in change.joins.items():
        if name in members or joining.claims:
            why = (
                "is a member already"
                if name in members
                else "claims something: what it owns follows from the sequence"
            )
            raise UserError(f"{name_shown(name)} {why}", where=f"{where}.joins")
        members[name] = joining.member(name)
        words.append(f"{name} joins")
    for name, topics in change.subscribes.items():
        members[name] = evolve(members[there(name, "subscribes")], topics=topics)
        words.append(f"{name} subscribes to {', '.join(sorted(set(topics))) or 'nothing'}")
    sizes = dict(group.topics)
    for topic, size in change.grows.items():
        if size <= sizes.get(topic, 0):
            raise UserError(
                f"{size} is not more than the {sizes.get(topic, 0)} partitions before",
                where=f"{where}.grows.{topic}",
            )
        sizes[topic] = size
        words.append(f"{topic} grows to {size} partitions")
    now = evolve(group, topics=sizes, members=members.values())
    within_bounds(now, f"{where}.grows", where)
    rounds = change.assignments
    if rounds is not None and not 0 < len(rounds) <= MOST_ROUNDS:
        raise UserError(
            f"{len(rounds)} rounds are not from 1 to {MOST_ROUNDS}", where=f"{where}.assignments"
        )
    given = (assigned(one, now, f"{where}.assignments[{n}]") for n, one in enumerate(rounds or ()))
    if change.after_ms is not None:
        words = [f"after {change.after_ms / 1000:g} s {', '.join(words) or 'nothing changes'}"]
    return Step(", ".join(words) or "nothing changes", now, tuple(given) or None, change.after_ms)


@frozen
class JudgedChange:
    """One change, and the verdict on it."""

    happened: Change
    # Each round is judged by itself.
    rounds: tuple[JudgedAssignment, ...]

    @property
    def violations(self) -> tuple[tuple[str, Violation], ...]:
        """Each broken promise, with its place (`c2 joins, round 1`)."""
        found = [
            (f"{self.happened.words}, round {n}", v)
            for n, one in enumerate(self.rounds, 1)
            for v in one.violations
        ]
        if not self.happened.at_rest and self.rounds[-1].assigned is not None:
            rounds = f"{len(self.rounds)} round{'s' * (len(self.rounds) > 1)}"
            found.append((self.happened.words, Violation("at rest", f"not at rest after {rounds}")))
        return tuple(found)

    def shown(self) -> assign_types.Change:
        """The change as the document has it."""
        return assign_types.Change(
            words=self.happened.words,
            at_rest=self.happened.at_rest,
            moves=self.happened.moves,
            fewest=self.happened.fewest,
            rounds=[
                evolve(one.round_shown(), waits_ms=round_.waits_ms)
                for one, round_ in zip(self.rounds, self.happened.rounds)
            ],
        )


@frozen
class JudgedSequence:
    """All changes, and the verdict on them."""

    question: Question
    changes: tuple[JudgedChange, ...]
    # Of wall clock.
    seconds: float

    @property
    def violations(self) -> tuple[tuple[str, Violation], ...]:
        """The broken promises of all changes, in order, with their places."""
        return tuple(found for change in self.changes for found in change.violations)

    @property
    def verdict(self) -> Literal["right", "wrong"]:
        """`right` or `wrong`."""
        return WRONG if self.violations else RIGHT

    @property
    def promises(self) -> tuple[str, ...]:
        """The promises that were asked of some round, and under cooperation that each change comes
        to rest.
        """
        rounds = (one for change in self.changes for one in change.rounds)
        names = dict.fromkeys(name for one in rounds for name in one.promises)
        return (*names, "at rest") if cooperative(self.question) else tuple(names)

    def document(self) -> dict[str, Any]:
        """All that `groupcheck assign --json` prints."""
        found = assign_types.AssignSequenceDocument(
            verdict=self.verdict,
            about=self.question.about,
            assignor=self.question.assignor,
            promises={name: statement(name) for name in self.promises},
            violations=[
                assign_types.SequenceViolation(where=where, promise=v.promise, words=v.words)
                for where, v in self.violations
            ],
            moves=sum(change.happened.moves for change in self.changes),
            fewest=sum(change.happened.fewest for change in self.changes),
            changes=[change.shown() for change in self.changes],
            seconds=round(self.seconds, 3),
        )
        return document(SCHEMA, found)


def judge_sequence(asked: Sequence, progress: Progress = lambda words: None) -> JudgedSequence:
    """Judges every round: what the file gives, or what the assignor answers. Ends if the assignor
    throws.
    """
    began, question = time.perf_counter(), asked.question

    leader = None
    if question.assignor == CONNECT:
        leader = Leader(believed(question.group.members), asked.delay_ms)

    def given(group: Group) -> Any:
        return answer(leader or ASSIGNORS[str(question.assignor)], group)

    changes: list[JudgedChange] = []
    for change in follow(
        given, asked.steps, cooperative=asked.cooperative, before=question.group, leader=leader
    ):
        rounds = []
        progress(f"change {len(changes) + 1} of {len(asked.steps)}")
        for one in change.rounds:
            got = None if isinstance(one.given, NoAssignment) else one.given
            names = question.promises
            if leader and names is None and one.waits_ms:
                # What nobody runs waits for the delay.
                names = tuple(n for n in promised(CONNECT, one.group) if n != "complete later")
            rounds.append(judge(evolve(question, group=one.group, assigned=got, promises=names)))
        changes.append(JudgedChange(change, tuple(rounds)))
    return JudgedSequence(question, tuple(changes), time.perf_counter() - began)
