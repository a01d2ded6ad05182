"""The scopes whose rows are executed."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from typing import Any

from attrs import frozen

from groupcheck.model.engine import Spec, UserError
from groupcheck.model.mutations import Mutation
from groupcheck.model.protocol.consumer.rules import COORDINATOR, spec
from groupcheck.model.protocol.consumer.scope import AS_KAFKA, ConsumerScope

ANY = 99  # a fault that may happen may happen any number of times
TIMERS = ("append_failure", "fail_over", "rebalance_timeout", "session_timeout")
# What Kafka does.
READINGS: Mapping[str, Any] = dict.fromkeys(
    (
        *("k3", "k14", "k19", "k20", "k22", "k24", "k26", "k27", "k32", "k34", "k35"),
        "kafka_20641",
    ),
    AS_KAFKA,
)
FIRST = 6_000  # rows of a family that has too many to execute all


@frozen
class Family:
    """A scope."""

    name: str
    # Fields of the scope.
    fields: Mapping[str, Any]
    faults: tuple[str, ...] = TIMERS
    # Only so many rows, those of the shortest schedules first; None: all.
    most: int | None = None

    @property
    def bound(self) -> str:
        """What it is made of, in words."""
        fields = ", ".join(f"{name} {value}" for name, value in self.fields.items())
        first = f"; the first {self.most:,} rows" if self.most else ""
        return f"{self.name}: {fields}; {', '.join(self.faults)}{first}"


EVERY: tuple[Family, ...] = (
    Family("one member", {"members": 1, "topics": 2, "partitions": 1}),
    Family("new partition", {"members": 1, "partitions": 2}, (*TIMERS, "metadata")),
    Family("static member", {"members": 2, "partitions": 1, "static_members": 1}),
    Family("full group", {"members": 2, "partitions": 1, "static_members": 2, "max_size": 1}),
    Family(
        "two members",
        {"members": 2, "partitions": 2, "static_members": 1, "assignment_epochs": True},
        most=FIRST,
    ),
    Family("wide member", {"members": 1, "topics": 2, "partitions": 2}, most=FIRST // 2),
    Family(
        "range",
        {"members": 2, "topics": 2, "partitions": 2, "assignor": "range"},
        ("session_timeout",),
        most=FIRST // 2,
    ),
    Family("uniform", {"members": 2, "partitions": 2, "assignor": "uniform"}, most=FIRST // 3),
    Family(
        "patterns",
        {"members": 2, "topics": 2, "partitions": 1, "static_members": 1, "patterns": True},
        ("session_timeout", "fail_over"),
        most=FIRST,
    ),
    Family(
        "expressions",
        {"members": 1, "topics": 2, "partitions": 1, "regexes": 2},
        ("append_failure", "fail_over", "metadata", "session_timeout"),
        most=FIRST,
    ),
    Family(
        "expressions of two members",
        {
            "members": 2,
            "topics": 2,
            "partitions": 1,
            "static_members": 1,
            "regexes": 1,
            "restricted": True,
        },
        ("fail_over", "metadata", "session_timeout"),
        most=FIRST,
    ),
    Family(
        "expressions of one topic",
        {"members": 2, "partitions": 2, "regexes": 2},
        ("metadata",),
        most=FIRST // 2,
    ),
    Family(
        "expressions over a load",
        {"members": 1, "partitions": 2, "regexes": 1},
        ("fail_over", "metadata"),
        most=FIRST,
    ),
    Family(
        "named assignors",
        {"members": 2, "partitions": 2, "static_members": 1, "assignor": "named"},
        ("session_timeout",),
        most=FIRST // 2,
    ),
    Family(
        "offsets",
        {"members": 2, "partitions": 1, "static_members": 1, "offsets": True},
        ("append_failure", "fail_over", "session_timeout"),
        most=FIRST,
    ),
    Family(
        "offsets of one member",
        {"members": 1, "topics": 2, "partitions": 1, "static_members": 1, "offsets": True},
        (),
        most=FIRST // 2,
    ),
    Family(
        "late commits",
        {"members": 1, "partitions": 1, "static_members": 1, "offsets": True},
        ("append_failure",),
    ),
    Family(
        "commits late by epochs", {"members": 1, "partitions": 2, "offsets": True}, ("metadata",)
    ),
    Family(
        "transactions",
        {
            "members": 2,
            "partitions": 1,
            "static_members": 1,
            "offsets": True,
            "transactions": True,
        },
        ("append_failure", "fail_over", "session_timeout"),
        most=FIRST,
    ),
    Family(
        "two transactions",
        {
            "members": 2,
            "partitions": 1,
            "max_size": 1,
            "offsets": True,
            "transactions": True,
        },
        (),
        most=FIRST // 2,
    ),
    Family(
        "transactions late by epochs",
        {"members": 1, "partitions": 2, "offsets": True, "transactions": True},
        ("metadata",),
        most=FIRST // 3,
    ),
    Family(
        "expiry",
        {"members": 1, "topics": 2, "partitions": 1, "offsets": True, "expiry": True},
        ("session_timeout",),
        most=FIRST,
    ),
    Family(
        "expiry beside transactions",
        {
            "members": 1,
            "partitions": 1,
            "offsets": True,
            "transactions": True,
            "expiry": True,
        },
        (),
        most=FIRST,
    ),
    Family(
        "expiry and a static member",
        {"members": 1, "partitions": 1, "static_members": 1, "offsets": True, "expiry": True},
        ("fail_over",),
        most=FIRST // 2,
    ),
    Family("interval", {"members": 2, "partitions": 1, "interval": True}, most=FIRST // 2),
    Family(
        "topics in an interval",
        {"members": 1, "topics": 2, "partitions": 1, "interval": True},
        most=FIRST // 3,
    ),
)


def with_bug(spec: Spec, bug: Mutation | None, coordinator: Container[str]) -> Spec:
    """The spec with a bug of its coordinator, which has these rules. Raises `UserError` for one of
    members.
    """
    if bug is None:
        return spec
    if strange := [name for name in bug.rules if name not in coordinator]:
        raise UserError(
            f"mutation {bug.id} changes the member ({strange[0]}), not the coordinator",
            do="choose one of the coordinator's",
        )
    return bug.apply(spec)


def families(kafka: str, members: int | None = None) -> Iterator[Family]:
    """The families that this version has, with no more than so many members."""
    for family in EVERY:
        there = ConsumerScope(kafka=kafka).release.interval or "interval" not in family.fields
        if there and (members is None or family.fields["members"] <= members):
            yield family


def spec_of(family: Family, kafka: str, bug: Mutation | None = None) -> Spec:
    """The coordinator's rules with anybody as a client. Raises `UserError` for a bug of members."""
    faults = dict.fromkeys(family.faults, ANY)
    scope = ConsumerScope(
        requests="anybody", kafka=kafka, faults=faults, **READINGS, **family.fields
    )
    return with_bug(spec(scope), bug, COORDINATOR)
