"""The scopes whose rows are executed, and the comparison over them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from attrs import frozen

from groupcheck.model.engine import UserError
from groupcheck.model.engine.rule import Rule
from groupcheck.model.mutations import Mutation
from groupcheck.model.protocol.consumer.java_rules import JAVA_RULES, java_hears
from groupcheck.model.protocol.consumer.rules import spec
from groupcheck.model.protocol.consumer.scope import ConsumerScope
from groupcheck.oracles.consumer.comparing import ConsumerConformance, RowFamily, tallied
from groupcheck.oracles.consumer.member.exploring import explore
from groupcheck.oracles.consumer.member.rows import READINGS, MemberRows, known_outcomes
from groupcheck.oracles.kafka.driver import Driver

FIRST = 10_000  # rows of a family that has too many to execute all
MEMBER_RULES = (*JAVA_RULES, java_hears)


@frozen
class MemberFamily:
    """A scope."""

    name: str
    # Fields of the scope.
    fields: Mapping[str, Any]
    # Only so many rows, those of the shortest schedules first; None: all.
    most: int | None = None

    @property
    def bound(self) -> str:
        """What it is made of, in words."""
        fields = ", ".join(f"{name} {value}" for name, value in self.fields.items())
        first = f"; the first {self.most:,} rows" if self.most else ""
        return f"{self.name}: {fields}{first}"

    def scope(self, kafka: str) -> ConsumerScope:
        """Its scope, with what Kafka does where it is weak."""
        given: dict[str, Any] = {**READINGS, **self.fields}
        return ConsumerScope(members=1, java=True, wire="explicit", kafka=kafka, **given)


LISTENS, SILENT = {"callbacks": "phased"}, {"callbacks": "instant"}
EVERY: tuple[MemberFamily, ...] = (
    MemberFamily("no listener", {"partitions": 2, **SILENT}),
    MemberFamily("listener", {"partitions": 1, **LISTENS}, FIRST),
    MemberFamily("two partitions", {"partitions": 2, **LISTENS}, FIRST),
    MemberFamily("unresolved topic", {"topics": 2, "partitions": 1, **SILENT}),
    MemberFamily("listener of two topics", {"topics": 2, "partitions": 1, **LISTENS}, FIRST),
    MemberFamily("static member", {"partitions": 1, "static_members": 1, **LISTENS}, FIRST),
)


def rows_of(family: MemberFamily, kafka: str, bug: Mutation | None = None) -> MemberRows:
    """The member's rules with any answer. Raises `UserError` for a bug of the coordinator."""
    scope = family.scope(kafka)
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
    driver: Driver, kafka: str, families: tuple[MemberFamily, ...] = EVERY,
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
