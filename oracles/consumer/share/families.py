"""The scopes of share groups whose rows are executed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from groupcheck.model.engine import Spec, UserError
from groupcheck.model.mutations import Mutation
from groupcheck.model.protocol.consumer.scope import AS_KAFKA
from groupcheck.model.protocol.consumer.timers import interval_passes
from groupcheck.model.protocol.share.rules import COORDINATOR, spec
from groupcheck.model.protocol.share.scope import VERSIONS, ShareScope
from groupcheck.model.variants import load
from groupcheck.oracles.consumer.comparing import compare as compare_rows
from groupcheck.oracles.consumer.families import ANY, FIRST, Family, with_bug
from groupcheck.oracles.consumer.share.rows import ShareRows

TIMERS = ("append_failure", "fail_over", "initialization_failure", "session_timeout")
# What Kafka does.
READINGS: Mapping[str, Any] = {"k14": AS_KAFKA}
EVERY: tuple[Family, ...] = (
    Family("one member", {"members": 1, "topics": 2, "partitions": 1}, TIMERS, most=FIRST // 2),
    Family("new partition", {"members": 1, "partitions": 2}, (*TIMERS, "metadata")),
    Family("full group", {"members": 2, "partitions": 1, "max_size": 1}, TIMERS),
    Family("two members", {"members": 2, "partitions": 2}, TIMERS, most=FIRST // 2),
    Family(
        "two topics",
        {"members": 2, "topics": 2, "partitions": 1},
        ("session_timeout",),
        most=FIRST // 2,
    ),
    Family(
        "simple assignor",
        {"members": 3, "partitions": 2, "assignor": "simple"},
        ("session_timeout",),
        most=FIRST // 2,
    ),
    Family("interval", {"members": 2, "partitions": 1, "interval": True}, TIMERS, most=FIRST // 2),
)


def families(kafka: str, members: int | None = None) -> Iterator[Family]:
    """The families that this version has, with no more than so many members. Raises `UserError` for
    a version in which share groups are not production-ready.
    """
    if kafka not in VERSIONS:
        raise UserError(
            f"share groups of Kafka {kafka} are a preview, and not modelled",
            where="--kafka",
            do="take " + ", ".join(VERSIONS),
        )
    for family in EVERY:
        there = ShareScope(kafka=kafka).release.interval or "interval" not in family.fields
        if there and (members is None or family.fields["members"] <= members):
            yield family


def spec_of(family: Family, kafka: str, bug: Mutation | None = None) -> Spec:
    """The coordinator's rules with anybody as a client. Raises `UserError` for a bug of members."""
    faults = dict.fromkeys(family.faults, ANY)
    scope = ShareScope(requests="anybody", kafka=kafka, faults=faults, **READINGS, **family.fields)
    return with_bug(spec(scope), bug, COORDINATOR)


def _outcomes(spec: Spec) -> frozenset[str]:
    """The outcomes of its rules that its version of Kafka has."""
    rules = [r for r in spec.rules if r.name in COORDINATOR]
    lacks = set() if spec.scope.release.interval else {interval_passes.name}
    return frozenset(name for r in rules for name in r.names) - lacks


compare = partial(
    compare_rows,
    rows=ShareRows,
    outcomes=_outcomes,
    side="share",
    bookkeeping=load("share").bookkeeping,
)
