"""A coordinator driven from outside: request by request, timer by timer, without its members.

Conformance, the replay of request logs, the replay of broker logs and the tests all ask the same
coordinator in this way. A state is the engine's: one value for each place.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from operator import itemgetter
from typing import Any

import attrs
from attrs import frozen

from groupcheck.model.engine import Spec, evolve
from groupcheck.model.engine.step import State
from groupcheck.model.engine.tabled.steps import Steps
from groupcheck.model.engine.tabled.tabled import Numbers
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
        self._steps = Steps(
            attrs.evolve(spec, rules=mine, slots=slots, ends=(), invariants=(), initial=initial)
        )
        self.see = self._steps.tabled.see
        self.links = [k for (name, _), k in self.see.at.items() if name == "link"]
        rest = [k for k in range(len(self.see.places)) if k not in self.links]
        self._memory = itemgetter(*rest, rest[0])  # a tuple even of one place

    def start(self) -> State:
        """The group before anybody has joined."""
        return self._values(self._steps.start())

    def state(self, **values: Any) -> State:
        """A state from values of slots; slots that are not named have their initial value."""
        return self.see.state(values)

    def memory(self, state: State) -> tuple[Any, ...]:
        """A state without its links: what the coordinator remembers."""
        memory: tuple[Any, ...] = self._memory(state)
        return memory

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
        rule_at, numbers = self._steps.fired(rule, index), self._numbers(state)
        for name, after in rule_at.after(numbers) if rule_at.allowed(numbers) else ():
            yield (name,), self._values(after)

    def react(self, begun: Begun) -> Iterator[Reaction]:
        """The outcomes that follow once a rule has fired."""
        yield from self._reactions([begun], None)

    def settle(self, state: State) -> Iterator[Begun]:
        """All ways in which urgent rules bring a state to rest: outcomes, and the state at rest."""
        for chain, rest in self._steps.settled(self._numbers(state)):
            yield chain, self._values(rest)

    def _numbers(self, state: State) -> Numbers:
        return self._steps.numbers(state)

    def _values(self, numbers: Numbers) -> State:
        return self._steps.tabled.values(numbers)

    def _sent(self, state: State, member: int, request: Request, live: bool) -> State:
        at = self.links[member]
        return (*state[:at], evolve(state[at], request=request, live=live), *state[at + 1 :])

    def _reactions(self, begun: list[Begun], asker: int | None) -> Iterator[Reaction]:
        seen = set()
        for first, start in begun:
            for chain, numbers in self._steps.settled(self._numbers(start)):
                rest = self._values(numbers)
                answers = [(i, rest[at].answer) for i, at in enumerate(self.links)]
                own = next((a for i, a in answers if i == asker), None)
                told = tuple((i, a) for i, a in answers if a is not None and i != asker)
                key = (own, told, self.memory(numbers))
                if key not in seen:
                    seen.add(key)
                    yield Reaction((*first, *chain), own, told, rest)
