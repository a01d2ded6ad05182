"""Fires the rules of the spec for a member alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from groupcheck.model.engine import Spec, evolve
from groupcheck.model.engine.rule import Rule
from groupcheck.model.engine.step import Semantics
from groupcheck.model.protocol.classic.client import Client
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.link import Link
from groupcheck.model.protocol.messages import Answer
from groupcheck.oracles.conform.member.member_memory import Memory, Outcome, RequestInFlight


class Firing:
    """The rules of a variant's member at a scope, perhaps with a mutation applied."""

    def __init__(self, scope: Scope, spec: Spec, kind: str = "") -> None:
        """`spec`: the variant's, mutated or not; `scope` says how many generations, partitions and
        records there are. The rows are those of the first member.
        """
        self.scope: Scope = scope.of_member(0)
        self.spec = spec
        # Which of the variant's kinds of members it is, in words; empty if there is only one.
        self.kind = kind
        self._see = Semantics(spec)
        # What only some variants have stays as it is at the beginning.
        self.others = _at_first(self._see)
        self._rules = {r.name: r for r in spec.rules if "client" in r.slots}

    @property
    def outcomes_named(self) -> set[str]:
        """The outcomes of the member's rules, by name."""
        return {name for r in self._rules.values() for name in r.names}

    def _plain(self, m: Memory, rule: Rule, offset: int = 0) -> Iterator[Outcome]:
        for name, now in self._fire(rule, m, offset):
            yield Outcome((name,), evolve(m, client=clean(now["client"])))

    def _sends(self, rules: tuple[str, ...], m: Memory, now: Mapping[str, Any]) -> Outcome:
        request = now["link"].request
        flight = (*m.flight, RequestInFlight(request))
        return Outcome(rules, evolve(m, client=clean(now["client"]), flight=flight), (request,))

    def _fire(
        self,
        rule: Rule,
        m: Memory,
        offset: int = 0,
        *,
        answer: Answer | None = None,
        parked: Any = None,
        orphaned: bool = False,
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        """The outcomes of the spec's rule of this name, each with the slots afterwards."""
        slots = {
            "client": dirty(m.client),
            "link": Link(parked=parked, orphaned=orphaned, answer=answer),
            "offsets": evolve(self.others["offsets"], committed=offset),
        }
        yield from self.fires(rule, slots)

    def fires(self, rule: Rule, given: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
        """The outcomes of the spec's rule of this name, each with the slots afterwards. `given`:
        the slots that are not as at the beginning.
        """
        mine = self._rules[rule.name]
        slots = {**self.others, "budget": self.scope.budget, **given}
        for name, values in self._see.call(
            self._see.instance(mine.name, 0), tuple(slots[s] for s in mine.slots)
        ):
            yield name, {**slots, **dict(zip(mine.slots, values))}


def _at_first(see: Semantics) -> dict[str, Any]:
    """Every slot of the first member as it is at the beginning."""
    (_, _, state), *_ = see.starts()
    return {name: state[at] for (name, index), at in see.at.items() if index in (None, 0)}


def dirty(client: Client) -> Client:
    """Kafka's member commits every position that it has."""
    return evolve(client, dirty=client.position >= 0)


def clean(client: Client) -> Client:
    """Without `dirty`, unless it is wrong: nothing is processed without a position."""
    return evolve(client, dirty=client.dirty and client.position < 0)
