"""The scopes of streams groups whose rows are executed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from groupcheck.model.engine import Spec, UserError
from groupcheck.model.mutations import Mutation
from groupcheck.model.protocol.consumer.scope import AS_KAFKA
from groupcheck.model.protocol.consumer.timers import interval_passes
from groupcheck.model.protocol.streams.rules import COORDINATOR, spec
from groupcheck.model.protocol.streams.scope import VERSIONS, StreamsScope
from groupcheck.model.protocol.streams.targets import forget_former_tasks
from groupcheck.model.variants import load
from groupcheck.oracles.consumer.comparing import compare as compare_rows
from groupcheck.oracles.consumer.families import ANY, FIRST, Family, with_bug
from groupcheck.oracles.consumer.streams.rows import StreamsRows

TIMERS = ("append_failure", "fail_over", "rebalance_timeout", "session_timeout")
# What Kafka does.
READINGS: Mapping[str, Any] = dict.fromkeys(("k14", "k19", "k20", "undo", "repeats"), AS_KAFKA)
EVERY: tuple[Family, ...] = (
    Family("one member", {"members": 1, "tasks": 2}, TIMERS),
    Family("two members", {"members": 2, "processes": 2, "tasks": 2}, TIMERS, most=FIRST),
    # Three, so that a member that has revoked has to revoke more.
    Family("three members", {"members": 3, "processes": 3, "tasks": 3}, (), most=FIRST),
    Family(
        "topics",
        {"members": 1, "tasks": 1, "stateful": True},
        (*TIMERS, "metadata"),
        most=FIRST // 2,
    ),
    Family("topologies", {"members": 2, "tasks": 1, "topologies": 2}, TIMERS, most=FIRST // 2),
    Family("full group", {"members": 2, "tasks": 1, "max_size": 1}, TIMERS),
    Family("shutdown", {"members": 2, "tasks": 1}, (*TIMERS, "shutdown"), most=FIRST // 2),
    Family("standby", {"members": 2, "tasks": 1, "standbys": 1}, TIMERS, most=FIRST),
    Family("two standbys", {"members": 2, "tasks": 2, "standbys": 1}, TIMERS, most=FIRST),
    Family("offsets", {"members": 2, "tasks": 1, "offsets": True}, TIMERS, most=FIRST // 2),
    Family(
        "offsets of two tasks",
        {"members": 2, "processes": 2, "tasks": 2, "offsets": True},
        ("session_timeout",),
        most=FIRST,
    ),
    Family(
        "offsets and a standby",
        {"members": 2, "tasks": 1, "standbys": 1, "offsets": True},
        ("session_timeout",),
        most=FIRST // 2,
    ),
    Family(
        "threads of a process",
        {"members": 3, "processes": 2, "tasks": 1, "standbys": 1},
        ("append_failure", "session_timeout"),
        most=FIRST,
    ),
    Family("initial delay", {"members": 2, "tasks": 1, "delay": True}, TIMERS, most=FIRST // 2),
    Family(
        "standby after a delay",
        {"members": 2, "tasks": 1, "standbys": 1, "delay": True},
        ("append_failure", "session_timeout"),
        most=FIRST // 2,
    ),
    Family(
        "topics in a delay",
        {"members": 1, "tasks": 1, "delay": True, "stateful": True},
        ("append_failure", "session_timeout", "metadata"),
        most=FIRST // 2,
    ),
    Family("interval", {"members": 2, "tasks": 1, "interval": True}, TIMERS, most=FIRST // 2),
    Family(
        "interval and delay",
        {"members": 1, "tasks": 1, "interval": True, "delay": True},
        ("append_failure", "session_timeout"),
        most=FIRST // 2,
    ),
)


def families(kafka: str, members: int | None = None) -> Iterator[Family]:
    """The families that this version has, with no more than so many members. Raises `UserError` for
    a version in which streams groups are not production-ready.
    """
    if kafka not in VERSIONS:
        raise UserError(
            f"streams groups of Kafka {kafka} are a preview, and not modelled",
            where="--kafka",
            do="take " + ", ".join(VERSIONS),
        )
    for family in EVERY:
        there = StreamsScope(kafka=kafka).release.interval or "interval" not in family.fields
        if there and (members is None or family.fields["members"] <= members):
            yield family


def spec_of(family: Family, kafka: str, bug: Mutation | None = None, **readings: str) -> Spec:
    """The coordinator's rules with anybody as a client. `readings`: others than Kafka's. Raises
    `UserError` for a bug of members.
    """
    faults = dict.fromkeys(family.faults, ANY)
    given = {**READINGS, **readings, **family.fields}
    scope = StreamsScope(requests="anybody", kafka=kafka, faults=faults, **given)
    return with_bug(spec(scope), bug, COORDINATOR)


def _outcomes(spec: Spec) -> frozenset[str]:
    """The outcomes of its rules that its version of Kafka has."""
    rules = [r for r in spec.rules if r.name in COORDINATOR]
    lacks = set() if spec.scope.release.interval else {interval_passes.name}
    if not spec.scope.release.recalls:
        lacks.add(forget_former_tasks.name)
    return frozenset(name for r in rules for name in r.names) - lacks


compare = partial(
    compare_rows,
    rows=StreamsRows,
    outcomes=_outcomes,
    side="streams",
    bookkeeping=load("streams").bookkeeping,
)
