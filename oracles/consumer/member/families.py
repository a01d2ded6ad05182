"""The scopes whose rows are executed, and the comparison over them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from groupcheck.model.engine import UserError
from groupcheck.model.engine.rule import Rule
from groupcheck.model.mutations import Mutation
from groupcheck.model.protocol.consumer.java_rules import JAVA_RULES, java_hears
from groupcheck.model.protocol.consumer.rules import spec
from groupcheck.model.protocol.consumer.scope import ConsumerScope
from groupcheck.oracles.consumer.comparing import ConsumerConformance, RowFamily, tallied
from groupcheck.oracles.consumer.families import Family
from groupcheck.oracles.consumer.member.exploring import explore
from groupcheck.oracles.consumer.member.rows import FAULTS, READINGS, MemberRows, known_outcomes
from groupcheck.oracles.kafka.driver import Driver

FIRST = 10_000  # rows of a family that has too many to execute all
MEMBER_RULES = (*JAVA_RULES, java_hears)


def of_members(name: str, fields: Mapping[str, Any], most: int | None = None) -> Family:
    """A scope of one member."""
    return Family(name, {"partitions": 1, **fields}, FAULTS, most)


LISTENS, SILENT = {"callbacks": "phased"}, {"callbacks": "instant"}
EVERY: tuple[Family, ...] = (
    of_members("no listener", {"partitions": 2, **SILENT}),
    of_members("listener", LISTENS, FIRST),
    of_members("two partitions", {"partitions": 2, **LISTENS}, FIRST),
    of_members("unresolved topic", {"topics": 2, **SILENT}),
    of_members("listener of two topics", {"topics": 2, **LISTENS}, FIRST),
    of_members("static member", {"static_members": 1, **LISTENS}, FIRST),
)


def scope_of(family: Family, kafka: str) -> ConsumerScope:
    """Its scope, with what Kafka does where it is weak."""
    given: dict[str, Any] = {**READINGS, **family.fields}
    return ConsumerScope(members=1, java=True, wire="explicit", kafka=kafka, **given)


def rows_of(family: Family, kafka: str, bug: Mutation | None = None) -> MemberRows:
    """The member's rules with any answer. Raises `UserError` for a bug of the coordinator."""
    scope = scope_of(family, kafka)
    if bug is None:
        return MemberRows(scope, MEMBER_RULES)
    names = {rule.name for rule in MEMBER_RULES}
    if strange := [name for name in bug.rules if name not in names]:
        raise UserError(
            f"mutation {bug.id} changes the coordinator or the wire ({strange[0]}), not the member",
            do="choose one of the member's",
        )
    wrong: Iterator[Rule] = (r for r in bug.apply(spec(scope)).rules if r.name in names)
    return MemberRows(scope, tuple(wrong))


def compare(
    driver: Driver, kafka: str, families: tuple[Family, ...] = EVERY,
    bug: Mutation | None = None, **options: Any,
) -> ConsumerConformance:  # fmt: skip
    """Executes the rows of each family; `options` are those of `tallied`."""
    asked = []
    for family in families:
        rows = rows_of(family, kafka, bug)
        ask = partial(explore, rows, driver)
        asked.append(RowFamily(family.bound, known_outcomes(rows), ask, family.most))
    mutation = None if bug is None else bug.id
    return tallied(driver, asked, side="member", mutation=mutation, **options)
