"""The model's side: all states in which the model may be, given what was seen of the real group.

A step of the real group is one of a few rules of the model (`turns`). Each of these rules, with all
that follows in the same step, is applied to each state in which the model may have been; the
resulting states that fit what the real group shows are kept. While both agree, there is always one.

Two things are corrected after each step. The model counts a member's position as not committed
(`dirty`) as long as it has one: Kafka's member commits its position again before it joins, whether
or not it has changed. And the budget of faults is full again.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from attrs import frozen

from groupcheck.model.engine import Spec, but
from groupcheck.model.engine.step import State
from groupcheck.model.protocol.classic.client import Member, send_heartbeat
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.driven import Driven
from groupcheck.model.protocol.faults import Budget

MANY = 100  # faults; more than a schedule has
LAST = 1000  # generation and record; no schedule comes that far


def scope_of(members: int, partitions: int, autocommit: bool) -> Scope:
    """The scope in which the model follows a real group: nothing is out of its bounds."""
    return Scope(
        members=members,
        partitions=partitions,
        generations=LAST,
        records=LAST,
        any_faults=MANY,
        assignor="any",
        autocommit=autocommit,
        atomic_complete=False,
    )


@frozen
class Chance:
    """One rule of the model that the step may have been."""

    rule: str
    # The index that it concerns; 0 for a rule of the group.
    index: int = 0
    # The outcome's label, if only one of them comes into question.
    label: str = ""


Names = tuple[tuple[tuple[int, int], str], ...]


@frozen
class Guess:
    """A state in which the model may be, and what the real group calls its ids."""

    state: State
    # ((process, id), the driver's name of it), sorted.
    names: Names = ()
    # The rules that fired in the last step, with their outcomes.
    rules: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[State, Names]:
        return self.state, self.names


class Following:
    """The model at a scope, following a real group."""

    def __init__(self, spec: Callable[[Scope], Spec], scope: Scope) -> None:
        built = spec(scope)
        self.scope = scope
        self._model = Driven(built, {rule.name for rule in built.rules}, member="")
        self.places = {place: k for k, place in enumerate(self._model.see.places)}
        self._clients = [self.places["client", i] for i in range(scope.members)]
        self._seats = [self.places["seats", i] for i in range(scope.members)]
        self._budget = self.places["budget", None]

    def start(self) -> Guess:
        """The group before anybody has joined."""
        return Guess(self._model.start())

    def slot(self, guess: Guess, name: str, index: int | None = None) -> Any:
        """The value of a slot."""
        return guess.state[self.places[name, index]]

    def after(
        self, guess: Guess, chances: Iterable[tuple[Chance, ...]], real_names: frozenset[str]
    ) -> Iterator[Guess]:
        """Where the model may be after one of the chances, each a sequence of rules. `real_names`:
        the ids that the real coordinator knows now.
        """
        for chance in chances:
            for rules, state in self._taken(guess.state, chance):
                for names in self._named(guess, state, real_names):
                    yield Guess(self._put_right(state), names, rules)

    def _taken(
        self, state: State, chance: tuple[Chance, ...]
    ) -> Iterator[tuple[tuple[str, ...], State]]:
        if not chance:
            yield (), state
            return
        first, *rest = chance
        if first.rule == send_heartbeat.name and state[self._clients[first.index]].rejoin:
            yield from self._beats_again(state, first.index)
            return
        for (name,), begun in self._model.fired(state, first.rule, first.index):
            if first.label and name != f"{first.rule}:{first.label}":
                continue
            for chain, settled in self._model.settle(begun):
                for more, end in self._taken(self._put_right(settled), tuple(rest)):
                    yield (name, *chain, *more), end

    def _beats_again(self, state: State, index: int) -> Iterator[tuple[tuple[str, ...], State]]:
        """A member that was told to rejoin goes on with its heartbeats, which the model leaves out:
        they change nothing, unless the answer resets the member.
        """
        at = self._clients[index]
        untold = (*state[:at], but(state[at], rejoin=False), *state[at + 1 :])
        for rules, end in self._taken(untold, (Chance(send_heartbeat.name, index),)):
            told = end[at].state == Member.STABLE
            yield rules, (*end[:at], but(end[at], rejoin=told), *end[at + 1 :])

    def _named(self, before: Guess, state: State, real: frozenset[str]) -> Iterator[Names]:
        """The names after a step: an id that the model has made is one that the real coordinator
        has made, whichever it is if both made several. Nothing if they did not make equally many.
        """
        fresh: list[tuple[int, int]] = []
        known: list[tuple[int, int]] = []
        for i, at in enumerate(self._seats):
            was, now = before.state[at], state[at]
            if was is not now:
                old = {id for id, _ in was} | {id for id, _, _ in was.durable}
                for id, _ in now:
                    (known if id in old else fresh).append((i, id))
        new = sorted(real - {name for _, name in before.names})
        if len(fresh) > len(new):
            return
        # The model may have given a number again that became free in the same step.
        for given_again in itertools.combinations(known, len(new) - len(fresh)):
            for order in itertools.permutations(new):
                named = zip((*fresh, *given_again), order)
                yield tuple(sorted((dict(before.names) | dict(named)).items()))

    def _put_right(self, state: State) -> State:
        changed = list(state)
        changed[self._budget] = Budget(any=MANY)
        for at in self._clients:
            client = state[at]
            dirty = client.position >= 0
            if client.dirty != dirty:
                changed[at] = but(client, dirty=dirty)
        return tuple(changed)
