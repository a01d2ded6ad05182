"""A feature of the classic group: auto.commit.interval.ms under a clock.

With `commit_style=auto` alone the interval may be over at any poll, or at none. Here a record takes
one unit of time, a poll brings one record (max.poll.records=1), and `commit_interval` says how many
units the interval has. A poll looks at the timer before it brings a record
(maybeAutoCommitOffsetsAsync): it commits if the interval is over, and not before. The timer begins
anew with each commit of that kind and when a share is taken over (onJoinComplete); behind an error
that passes, the next poll commits again.

So a crash costs no more records than an interval has, which are processed again, if its commits
arrive: each commit that is lost costs an interval more.

What it leaves out: time in which nothing is processed, which only makes a commit earlier; a poll
that has a round to join, which commits for that (`must_commit_first`) and looks at no timer;
retry.backoff.ms behind an error. Without `commit_interval` there is no clock.

Kafka: ConsumerCoordinator (poll, maybeAutoCommitOffsetsAsync, autoCommitOffsetsAsync,
onJoinComplete: nextAutoCommitTimer).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from attrs import frozen
from attrs.validators import optional

from groupcheck.model.engine import ScopeError, Spec, array, evolve
from groupcheck.model.engine.rule import Rule
from groupcheck.model.protocol.bounds import between, bound
from groupcheck.model.protocol.classic import client as members
from groupcheck.model.protocol.classic import offsets
from groupcheck.model.protocol.classic.client import NOTHING, Client, Member, can_commit
from groupcheck.model.protocol.classic.feature import CHANGE_THE_BASE, Feature
from groupcheck.model.protocol.classic.features.commit_styles import in_poll
from groupcheck.model.protocol.classic.scope import AUTO, Scope
from groupcheck.model.protocol.family import Family
from groupcheck.model.protocol.mutation import SEEDED, Mutation
from groupcheck.model.protocol.transform import rebuilt, rewritten

FAMILY = Family("commits under a clock", base="classic+commit_interval")

Values = dict[str, Any]


@frozen(slots=False)
class IntervalScope(Scope):
    """The bounds of a run in which auto-commit has an interval."""

    commit_interval: int | None = bound(
        None,
        "How many records are processed in auto.commit.interval.ms, with commit_style=auto. If not"
        " given, the interval may be over at any poll.",
        optional(between(1, 1000)),
    )

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if self.commit_interval is not None and self.commit_style != AUTO:
            raise ScopeError(
                "only members that commit by themselves have a commit_interval",
                where="scope",
                do="give commit_style=auto",
            )


@frozen
class Clock:
    """The auto-commit timer of one member."""

    # Units since it began; no more than the interval has.
    age: int = 0
    # Records that were processed since the last commit was sent, without a round to join. A ghost.
    unsent: int = 0


def must_wait(client: Client, clock: Clock, scope: IntervalScope) -> bool:
    """Does the next poll commit before it brings a record?"""
    assert scope.commit_interval is not None
    due = clock.age >= scope.commit_interval
    return due and in_poll(client, scope) and can_commit(client)


@cache
def timed(usual: Rule) -> Rule:
    """A rule of the member, with its timer."""
    slots = (*usual.slots, *(("clock",) if "clock" not in usual.slots else ()))

    def call(*given: Any) -> Iterator[Any]:
        takes = len(usual.takes)
        before = dict(zip(slots, given[takes:-1], strict=True))
        scope: IntervalScope = given[-1]
        mine = tuple(before[slot] for slot in usual.slots)
        for y in usual.call(*given[:takes], *mine, *((scope,) if usual.takes_scope else ())):
            outcome = y if isinstance(y, tuple) else (y,)
            label, outcome = (outcome[0], outcome[1:]) if usual.labels else ("", outcome)
            after = {**before, **dict(zip(usual.slots, outcome, strict=True))}
            clock = goes_on(usual.name, label, before, after["client"], scope)
            if clock is not None:
                left = tuple({**after, "clock": clock}.values())
                yield (label, *left) if label else left

    return rewritten(usual, call, *slots, takes_scope=True)


def goes_on(
    rule: str, label: str, before: Values, now: Client, scope: IntervalScope
) -> Clock | None:
    """The timer after an outcome of a rule; None if the timer keeps it from happening."""
    was: Client = before["client"]
    clock: Clock = before["clock"]
    most = scope.commit_interval or 0
    if rule == offsets.process_record.name:
        if must_wait(was, clock, scope):
            return None
        rests = was.state == Member.STABLE and in_poll(was, scope)
        return Clock(min(clock.age + 1, most), clock.unsent + rests)
    if rule == members.send_commit.name:
        return Clock() if clock.age >= most else None
    if rule == members.commit_answer.name and label == "retry":
        return Clock(most, clock.unsent)
    if now.position < 0 or (was.granted != NOTHING and now.granted == NOTHING):
        return Clock()
    sent = was.dirty and not now.dirty
    return evolve(clock, unsent=0) if sent else clock


def commit_interval(spec: Spec) -> Spec:
    """The feature: a timer for each member."""
    return rebuilt(spec, clock=array(spec.scope.members, Clock()))


def styles(spec: Spec) -> Spec:
    """What it does to the style `auto`."""
    if spec.scope.commit_interval is None:
        return spec
    return rebuilt(spec, [timed(r) for r in spec.rules if "client" in r.slots])


# -- How it can be wrong


def _restarted(rule: Rule) -> Rule:
    at = rule.slots.index("clock") if "clock" in rule.slots else -1

    def call(*given: Any) -> Iterator[Any]:
        for outcome in rule.call(*given):
            values = list(outcome)
            if at >= 0:
                values[at] = evolve(values[at], age=0)
            yield tuple(values)

    return rewritten(rule, call)


BUGS = (
    Mutation(
        id="interval_restarts_at_each_poll",
        ticket=SEEDED,
        title="The auto-commit timer begins anew at each poll, so it is never over.",
        family=FAMILY,
        invariant="repeats_one_interval",
        doc=(
            "nextAutoCommitTimer is reset when it has expired, and when a share is taken over."
            " Seeded: each record resets it. A member that is never idle never commits."
        ),
        scope={
            "members": 1,
            "generations": 1,
            "records": 2,
            "commit_style": AUTO,
            "commit_interval": 1,
        },
        twists={offsets.process_record.name: _restarted},
    ),
)

# -- The feature

FEATURE = Feature(
    name="commit_interval",
    title="auto-commit with an interval",
    doc=(
        "auto.commit.interval.ms under a clock: a record takes a unit of time, and the interval has"
        " so many (ConsumerCoordinator.maybeAutoCommitOffsetsAsync)."
    ),
    change=commit_interval,
    styles=styles,
    after=(*CHANGE_THE_BASE, "unsubscribe", "first_lookup", "heartbeats"),
    refuses={
        "offsets": "it says otherwise who commits",
        "round_count": "its members process nothing",
    },
    scope_type=IntervalScope,
    families=(FAMILY,),
    no_progress="its clock counts records, which end",
    shows=(
        {
            "members": 1,
            "generations": 1,
            "records": 2,
            "commit_style": AUTO,
            "commit_interval": 1,
            "faults": {"crash": 1},
        },
    ),
    member_generations=1,
    bugs=BUGS,
)
