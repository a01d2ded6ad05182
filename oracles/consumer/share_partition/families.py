"""The scopes of a share partition whose rows are executed, and their comparison."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import tee
from typing import Any

from attrs import frozen

from groupcheck.model.engine import Spec
from groupcheck.model.mutations import Mutation
from groupcheck.model.protocol.share_partition.batch_rules import acknowledge_in_batches
from groupcheck.model.protocol.share_partition.rules import RULES, spec
from groupcheck.model.protocol.share_partition.scope import AS_KAFKA, FAULTS, SharePartitionScope
from groupcheck.oracles.consumer.comparing import ConsumerConformance, RowFamily, tallied
from groupcheck.oracles.consumer.facts import unlike
from groupcheck.oracles.consumer.families import ANY, FIRST, Family, with_bug
from groupcheck.oracles.consumer.levels import breadth_first
from groupcheck.oracles.consumer.share_partition.leaders import Leaders
from groupcheck.oracles.consumer.share_partition.rows import (
    LeaderRow,
    LeaderRows,
    State,
    of_kafka,
)

# The families show these where another member has finished what a request is about.
BY_TWO = frozenset(acknowledge_in_batches.by_name(passed="", broken=""))
LEADER = frozenset(rule.name for rule in RULES)
EVERY: tuple[Family, ...] = (
    Family("one record", {"members": 2, "records": 1, "max_delivery": 2}, (*FAULTS,)),
    Family("one delivery", {"members": 1, "records": 1, "max_delivery": 1}, (*FAULTS,)),
    Family(
        "two records",
        {"members": 2, "records": 2, "max_delivery": 2},
        (*FAULTS,),
        most=FIRST,
    ),
    # A gap between records whose state is known.
    Family(
        "three records",
        {"members": 1, "records": 3, "max_delivery": 2},
        ("fail_over", "session_end"),
        most=FIRST,
    ),
    Family(
        "a batch of two",
        {"members": 2, "records": 2, "batch": 2, "max_delivery": 2},
        (*FAULTS,),
        most=FIRST,
    ),
    # A request that begins before the start offset meets a leader that has nothing there.
    Family(
        "a batch, one delivery",
        {"members": 2, "records": 2, "batch": 2, "max_delivery": 1},
        ("fail_over",),
        most=FIRST,
    ),
    # The last delivery is alone, those before it are fewer.
    Family(
        "a batch delivered often",
        {"members": 1, "records": 2, "batch": 2, "max_delivery": 3},
        ("fail_over", "session_end"),
        most=FIRST // 2,
    ),
    Family(
        "a batch with a gap",
        {"members": 1, "records": 3, "batch": 3, "missing": 1, "max_delivery": 2},
        ("lose_response", "persister_failure", "fail_over", "session_end"),
        most=FIRST // 2,
    ),
    Family(
        "two batches",
        {"members": 1, "records": 3, "batch": 2, "max_delivery": 2},
        ("persister_failure", "fail_over", "session_end"),
        most=FIRST // 2,
    ),
)


@frozen
class Place:
    """A memory, and how Kafka's leader gets there."""

    state: State
    commands: tuple[str, ...] = ()


@frozen
class Compared:
    """A row that was executed."""

    place: Place
    row: LeaderRow
    differs: Mapping[str, tuple[object, object]]

    @property
    def shown(self) -> tuple[str, ...]:
        """The commands."""
        return (*self.place.commands, self.row.command)

    @property
    def same(self) -> LeaderRow | None:
        """The row, if Kafka does what the model does."""
        return None if self.differs else self.row


def families(kafka: str, members: int | None = None) -> Iterator[Family]:
    """The families with no more than so many members. All versions have the same."""
    yield from (f for f in EVERY if members is None or f.fields["members"] <= members)


def spec_of(family: Family, kafka: str, bug: Mutation | None = None) -> Spec:
    """The rules at the family's scope, perhaps with a bug. Raises `UserError` for one that is not
    the leader's.
    """
    faults = dict.fromkeys(family.faults, ANY)
    scope = SharePartitionScope(faults=faults, k33=AS_KAFKA, **family.fields)
    return with_bug(spec(scope), bug, LEADER)


def explore(rows: LeaderRows, leaders: Leaders, most: int | None = None) -> Iterator[Compared]:
    """Executes rows until there are no more, or so many were. Memories behind a row that differs
    are not looked at.
    """

    def execute(asked: Iterator[tuple[Place, LeaderRow]]) -> Iterator[Compared]:
        kept, told = tee(asked)
        lines = (";".join((rows.bounds, *p.commands, row.command)) for p, row in told)
        for (place, row), answer in zip(kept, leaders.run_all(lines)):
            yield Compared(place, row, unlike(row.facts, of_kafka(answer, bool(rows.scope.batch))))

    return breadth_first(
        Place(rows.start),
        state=lambda place: place.state,
        rows=rows.of,
        execute=execute,
        onward=lambda done: None if done.differs else Place(done.row.after, done.shown),
        most=most,
    )


def _outcomes(spec: Spec) -> frozenset[str]:
    """What its rows have to show."""
    every = frozenset(name for rule in spec.rules for name in rule.names)
    return every - BY_TWO if spec.scope.members == 1 else every


def compare(
    leaders: Leaders, asked: Iterable[tuple[Family, Spec]], **options: Any
) -> ConsumerConformance:
    """Executes the rows of each family. The `options` are those of `tallied`."""
    found = [
        RowFamily(
            family.bound, _outcomes(spec), partial(explore, LeaderRows(spec), leaders), family.most
        )
        for family, spec in asked
    ]
    return tallied(leaders, found, side="share_partition", bookkeeping=(), **options)
