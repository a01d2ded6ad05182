"""A coordinator driven from outside: request by request, timer by timer, without its members.

Conformance, the replay of request logs, the replay of broker logs and the tests all ask the same
coordinator in this way. A state is the engine's: one value for each place.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import attrs
from attrs import frozen

from groupcheck.model.engine import Spec, but
from groupcheck.model.engine.step import Semantics, State
from groupcheck.model.protocol.link import Link
from groupcheck.model.protocol.messages import Answer, Request

Begun = tuple[tuple[str, ...], State]  # rules that have fired, and the state they left


@frozen
class Reaction:
    """One way in which the coordinator may react to a request, a timer or the end of an append."""

    # The rules that fired, with their outcomes (`rule` or `rule:label`), in order.
    rules: tuple[str, ...]
    # The answer to the request at hand; None if it is parked, or if there is none.
    own: Answer | None
    # The answers to requests that waited: (member, answer).
    told: tuple[tuple[int, Answer], ...]
    # The state at rest; the answers still stand on their links.
    state: State
    # The connection of the process that asks on which an earlier request of it waited.
    beside: Link | None = None


class Driven:
    """The coordinator's rules of a spec, applied by hand.

    Where the coordinator is free to choose, every method yields all that it may do.
    """

    def __init__(self, spec: Spec, rules: Collection[str], member: str = "client") -> None:
        """`rules`: the names of the coordinator's rules. `member`: the slot of the members' own
        memory, which no coordinator reads.
        """
        slots = {name: slot for name, slot in spec.slots.items() if name != member}
        mine = [r for r in spec.rules if r.name in rules]
        initial = [{n: value for n, value in spec.initial[0].items() if n in slots}]
        self.see = Semantics(
            attrs.evolve(spec, rules=mine, slots=slots, ends=(), invariants=(), initial=initial)
        )
        self.links = [k for (name, _), k in self.see.at.items() if name == "link"]
        self._urgent = []
        for instance in self.see.urgent:
            guard = instance.rule.guard
            assert guard is not None, f"{instance.rule.name} has no guard"
            at = instance.where[instance.guard_at]
            self._urgent.append((instance, guard.call, instance.guard_given, at))

    def start(self) -> State:
        """The group before anybody has joined."""
        ((_, _, state),) = self.see.starts()
        return state

    def state(self, **values: Any) -> State:
        """A state from values of slots; slots that are not named have their initial value."""
        return self.see.state(values)

    def memory(self, state: State) -> tuple[Any, ...]:
        """A state without its links: what the coordinator remembers."""
        return tuple(value for k, value in enumerate(state) if k not in self.links)

    def ask(self, state: State, member: int, request: Request) -> Iterator[Reaction]:
        """A request arrives over a connection of its own, whoever else of the process waits."""
        reactions = self._reactions([((), self._sent(state, member, request, live=True))], member)
        if state[self.links[member]].idle:
            yield from reactions
            return
        # A link shows one answer. So the request comes twice: over a living connection, which
        # shows its own answer, and over a dead one, which shows the answer to the parked request.
        unheard = list(self.unheard(state, member, request))
        late = {self.memory(r.state): r for r in unheard}
        for r in reactions:
            beside = late.get(self.memory(r.state))
            if beside is None:  # it joined, and an id that nobody hears of has another number
                beside = next(u for u in unheard if u.rules == r.rules)
            # Where its own request is parked, the answer is that to the one that waited.
            parked = state[self.links[member]].parked
            waited = r.own is not None and r.own.request == parked != request
            own = None if waited else r.own
            link = beside.state[self.links[member]]
            yield attrs.evolve(r, own=own, told=beside.told, beside=link)

    def unheard(self, state: State, member: int, request: Request) -> Iterator[Reaction]:
        """A request arrives over a connection that is gone: it is handled, nobody is answered."""
        yield from self._reactions([((), self._sent(state, member, request, live=False))], None)

    def fire(self, state: State, rule: str, index: int = 0) -> Iterator[Reaction]:
        """A timer fires or an append ends: the rule, and the index that it concerns."""
        yield from self._reactions(list(self.fired(state, rule, index)), None)

    def fired(self, state: State, rule: str, index: int = 0) -> Iterator[Begun]:
        """Like `fire`, before the urgent rules follow."""
        for firing, after, _ in self.see.firings(self.see.instance(rule, index), state):
            yield (firing.name,), after

    def react(self, begun: Begun) -> Iterator[Reaction]:
        """The outcomes that follow once a rule has fired."""
        yield from self._reactions([begun], None)

    def settle(self, state: State) -> Iterator[Begun]:
        """`Semantics.settle` without step invariants, with the guards asked first."""
        stack: list[Begun] = [((), state)]
        # For each urgent rule, the value for which its guard was shut when it was asked last.
        shut: list[object] = [self] * len(self._urgent)
        while stack:
            chain, now = stack.pop()
            for k, (instance, guard, given, at) in enumerate(self._urgent):
                value = now[at]
                if shut[k] is value:
                    continue
                if not guard(*given, value):
                    shut[k] = value
                    continue
                outcomes = list(self.see.firings(instance, now))
                if outcomes:
                    stack += [((*chain, f.name), after) for f, after, _ in reversed(outcomes)]
                    break
            else:
                yield chain, now

    def _sent(self, state: State, member: int, request: Request, live: bool) -> State:
        at = self.links[member]
        return (*state[:at], but(state[at], request=request, live=live), *state[at + 1 :])

    def _reactions(self, begun: list[Begun], asker: int | None) -> Iterator[Reaction]:
        seen = set()
        for first, start in begun:
            for chain, rest in self.settle(start):
                answers = [(i, rest[at].answer) for i, at in enumerate(self.links)]
                own = next((a for i, a in answers if i == asker), None)
                told = tuple((i, a) for i, a in answers if a is not None and i != asker)
                key = (own, told, self.memory(rest))
                if key not in seen:
                    seen.add(key)
                    yield Reaction((*first, *chain), own, told, rest)
