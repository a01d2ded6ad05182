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
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from attrs import fields_dict, frozen

from groupcheck.model.engine import Spec, evolve
from groupcheck.model.engine.tabled.steps import Begun, Steps
from groupcheck.model.engine.tabled.tabled import Numbers
from groupcheck.model.protocol.classic.client import Member, send_heartbeat
from groupcheck.model.protocol.classic.coordinator import join_group
from groupcheck.model.protocol.classic.failover import fail_over
from groupcheck.model.protocol.classic.group import Phase, Seat
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.classic.timers import rebalance_timeout, sync_timeout
from groupcheck.model.protocol.faults import Budget
from groupcheck.oracles.conform.whole.look import Times

MANY_FAULTS = 100  # faults; more than a schedule has
LAST_GENERATION = 1000  # generation and record; no schedule comes that far
STEPS_KEPT = 100_000  # steps of the model that are remembered
NEW_MEMBER_MS = 300_000  # group.new.member.join.timeout (fixed to five minutes)
FAIL_OVER = fail_over.name
REPLACED = ("replaced", "replaced_and_parked", "replaced_and_restarted")
SYNC_TIMEOUT = sync_timeout.name
POSTPONED = f"{rebalance_timeout.name}:postponed"
MOVE_TIMERS = {
    FAIL_OVER,
    SYNC_TIMEOUT,
    *(f"{join_group.name}:{how}" for how in ("too_many", *REPLACED)),
}


def scope_of(
    members: int,
    partitions: int,
    autocommit: bool,
    max_size: int | None = None,
    protocols: str = "",
    kind: type[Scope] = Scope,
    static_members: int | None = None,
) -> Scope:
    """The scope in which the model follows a real group: nothing is out of its bounds. `kind`: the
    variant's. `static_members`: how many are static, where some are.
    """
    more: dict[str, Any] = {"user_data": True} if "user_data" in fields_dict(kind) else {}
    if static_members is not None:
        more["static_members"] = static_members
    return kind(
        members=members,
        partitions=partitions,
        generations=LAST_GENERATION,
        records=LAST_GENERATION,
        any_faults=MANY_FAULTS,
        assignor="sticky" if kind.cooperative else "any",
        max_size=max_size,
        protocols=protocols,
        autocommit=autocommit,
        atomic_complete=False,
        **more,
    )


class Chance(NamedTuple):
    """One rule of the model that the step may have been, or nothing."""

    rule: str
    # The process that it concerns; 0 for a rule of the group.
    of: int = 0
    # The outcome's label, if only one of them comes into question.
    label: str = ""
    # Of nothing, which has no rule: the rules that must be impossible. What the model's member can
    # do when it is asked to, it must do.
    unless: tuple[str, ...] = ()


@frozen
class Plan:
    """Sequences of rules, of which a step was one, with their common beginnings only once."""

    # (the number of the beginning, the rule that follows it); the first one has the number 1, and 0
    # is the empty beginning.
    steps: tuple[tuple[int, Chance], ...]
    # The numbers of the whole sequences, in their order.
    ends: tuple[int, ...]
    # The ids whose timers fire.
    fired: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls, sequences: Iterable[tuple[Chance, ...]], fired: frozenset[str] = frozenset()
    ) -> Plan:
        numbers: dict[tuple[Chance, ...], int] = {(): 0}
        steps, ends = [], []
        for chances in sequences:
            for k, chance in enumerate(chances, 1):
                if chances[:k] not in numbers:
                    steps.append((numbers[chances[: k - 1]], chance))
                    numbers[chances[:k]] = len(steps)
            ends.append(numbers[chances])
        return cls(tuple(steps), tuple(ends), fired)


def timer_ms(seat: Seat, times: Times) -> int:
    """How long the timer of an id runs. `times`: the timeouts of its process."""
    return NEW_MEMBER_MS if seat.new and not seat.hurried else times[0]


# What the real group calls the ids of one process, and of each process: (id, name), sorted.
NamesOfOne = tuple[tuple[int, str], ...]
Names = tuple[NamesOfOne, ...]
Id = tuple[int, int]  # (process, id)


class Guess(NamedTuple):
    """A state in which the model may be, and what the real group calls its ids."""

    state: Numbers
    names: Names
    # The timeouts of each process.
    times: tuple[Times, ...]
    # Of the round that waits for members, unless it is an initial delay: the ms after which it
    # stops waiting, which were the longest rebalance timeout of its members when it began.
    round_ms: int = 0
    # Timers that Kafka leaves behind when it rejects a known id for the group's size, and when
    # another process takes the place of a static member (id, ms).
    left_behind: tuple[tuple[str, int], ...] = ()
    # The rules that fired in the last step, with their outcomes.
    rules: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[Numbers, Names, int, tuple[tuple[str, int], ...]]:
        return self.state, self.names, self.round_ms, self.left_behind


class Following:
    """The model at a scope, following a real group."""

    def __init__(self, spec: Callable[[Scope], Spec], scope: Scope) -> None:
        self.scope = scope
        self._rules = Steps(spec(scope))
        self.places = self._rules.places
        self._clients = [self.places["client", i] for i in range(scope.members)]
        self._seats = [self.places["seats", i] for i in range(scope.members)]
        self._budget, self._core = self.places["budget", None], self.places["core", None]
        # Number of a core -> see `_waiting`.
        self._waits: dict[int, bool | None] = {}
        self._full = self._rules.number(self._budget, Budget(any=MANY_FAULTS))
        # Number of a client -> that of the same client, whose position counts as not committed.
        self._dirty: dict[int, int] = {}
        # What a rule leads to, with all that follows in the same step.
        self._steps: dict[tuple[Chance, Numbers], list[Begun]] = {}
        # Seats of one process before and after a step -> ids made, and those known before.
        self._ids: dict[tuple[int, int], tuple[list[int], list[int]]] = {}

    def start(self, times: tuple[Times, ...]) -> Guess:
        """The group before anybody has joined. `times`: the timeouts of each process."""
        return Guess(self._rules.start(), ((),) * self.scope.members, times)

    def slot(self, guess: Guess, name: str, index: int | None = None) -> Any:
        """The value of a slot."""
        place = self.places[name, index]
        return self._rules.value(place, guess.state[place])

    def value(self, place: int, number: int) -> Any:
        """The value with a number at a place."""
        return self._rules.value(place, number)

    def after(self, guess: Guess, plan: Plan, real_names: frozenset[str]) -> Iterator[Guess]:
        """Where the model may be after one of the chances of a plan. `real_names`: the ids that the
        real coordinator knows now.
        """
        taken = [[guess._replace(rules=())]]
        for before, chance in plan.steps:
            taken.append(
                [
                    self._moved(was, more, end)
                    for was in taken[before]
                    for more, end in self._step(chance, was.state)
                ]
            )
        for k in plan.ends:
            for now in taken[k]:
                left = tuple([pair for pair in now.left_behind if pair[0] not in plan.fired])
                for names in self._named(guess, now.state, real_names):
                    yield now._replace(names=names, left_behind=left)

    def _moved(self, was: Guess, rules: tuple[str, ...], state: Numbers) -> Guess:
        """Where the model may be after a rule, with the names of before."""
        return Guess(
            state,
            was.names,
            was.times,
            self._round_ms(was, rules, state),
            self._left_behind(was, rules, state) if {*rules} & MOVE_TIMERS else was.left_behind,
            (*was.rules, *rules),
        )

    def _left_behind(
        self, was: Guess, rules: tuple[str, ...], state: Numbers
    ) -> tuple[tuple[str, int], ...]:
        """`Guess.left_behind` after a member is rejected or replaced, or after a fail-over, which
        leaves no timer.
        """
        if FAIL_OVER in rules:
            return ()
        if SYNC_TIMEOUT in rules:  # it ends the timers of all who owe a SyncGroup
            owed = self.owed(was)
            return tuple(pair for pair in was.left_behind if pair[0] not in owed)
        rejected = [
            (dict(names)[id], timer_ms(seat, times))
            for at, names, times in zip(self._seats, was.names, was.times)
            for id, seat in self._rules.value(at, was.state[at])
            if seat.armed and self._rules.value(at, state[at])[id] is None
        ]
        return (*was.left_behind, *rejected)

    def owed(self, guess: Guess) -> list[str]:
        """The ids that owe a SyncGroup although another process has taken their place."""
        return [
            dict(names)[seat.owed]
            for at, names in zip(self._seats, guess.names)
            for _, seat in self._rules.value(at, guess.state[at])
            if seat.owed is not None
        ]

    def _round_ms(self, was: Guess, rules: tuple[str, ...], now: Numbers) -> int:
        """`Guess.round_ms` after a rule. A timer that fires in vain is armed anew."""
        if self._waiting(now) is not True:
            return 0
        goes_on = self._waiting(was.state) is not None and POSTPONED not in rules
        return was.round_ms if goes_on else self.longest_ms(now, was.times)

    def _waiting(self, state: Numbers) -> bool | None:
        """Does the group wait for members? False: in an initial delay; None: it does not wait."""
        number = state[self._core]
        if number not in self._waits:
            core = self._rules.value(self._core, number)
            self._waits[number] = None if core.phase != Phase.PREPARING else not core.initial
        return self._waits[number]

    def longest_ms(self, state: Numbers, times: Sequence[Times]) -> int:
        """The longest rebalance timeout of the members (ClassicGroup.rebalanceTimeoutMs)."""
        return max(
            (
                rebalance_ms
                for at, (_, rebalance_ms) in zip(self._seats, times)
                if any(seat.member for _, seat in self._rules.value(at, state[at]))
            ),
            default=0,
        )

    def _step(self, chance: Chance, state: Numbers) -> list[Begun]:
        """All that a rule may lead to, put right."""
        if chance.unless:
            other = (Chance(rule, chance.of) for rule in chance.unless)
            return [] if any(self._step(may, state) for may in other) else [((), state)]
        if not self._rules.fired(chance.rule, chance.of).allowed(state):
            return []
        found = self._steps.get((chance, state))
        if found is None:
            if len(self._steps) >= STEPS_KEPT:
                self._steps.clear()
            taken = self._taken(chance, state)
            found = [(rules, self._put_right(end)) for rules, end in taken]
            self._steps[chance, state] = found
        return found

    def _taken(self, chance: Chance, state: Numbers) -> list[Begun]:
        if chance.rule == send_heartbeat.name:
            at = self._clients[chance.of]
            client = self._rules.value(at, state[at])
            if client.rejoin:
                return self._beats_again(chance, state, at)
        wanted = f"{chance.rule}:{chance.label}"
        return [
            ((name, *chain), end)
            for name, begun in self._rules.fired(chance.rule, chance.of).after(state)
            if not chance.label or name == wanted
            for chain, end in self._rules.settled(begun)
        ]

    def _beats_again(self, chance: Chance, state: Numbers, at: int) -> list[Begun]:
        """A member that was told to rejoin goes on with its heartbeats, which the model leaves out:
        they change nothing, unless the answer resets the member.
        """
        found = []
        for rules, end in self._step(chance, self._but(state, at, rejoin=False)):
            told = self._rules.value(at, end[at]).state == Member.STABLE
            found.append((rules, self._but(end, at, rejoin=told)))
        return found

    def _but(self, state: Numbers, at: int, **changes: Any) -> Numbers:
        """The state with some fields of the value at a place changed."""
        value = evolve(self._rules.value(at, state[at]), **changes)
        return self._rules.changed(state, {at: value})

    def _named(self, before: Guess, state: Numbers, real: frozenset[str]) -> Iterator[Names]:
        """The names after a step: an id that the model has made is one that the real coordinator
        has made, whichever it is if both made several. Nothing if they did not make equally many.
        """
        new = sorted(real.difference([name for mine in before.names for _, name in mine]))
        fresh: list[Id] = []
        known: list[Id] = []
        for i, at in enumerate(self._seats):
            if before.state[at] != state[at] or new:
                made, others = self._made(at, before.state[at], state[at])
                fresh += [(i, id) for id in made]
                known += [(i, id) for id in others]
        if len(fresh) > len(new):
            return
        if not new:
            yield before.names
            return
        # The model may have given a number again that became free in the same step.
        for given_again in itertools.combinations(known, len(new) - len(fresh)):
            for order in itertools.permutations(new):
                names = [dict(mine) for mine in before.names]
                for (i, id), name in zip((*fresh, *given_again), order):
                    names[i][id] = name
                yield tuple(tuple(sorted(mine.items())) for mine in names)

    def _made(self, at: int, before: int, after: int) -> tuple[list[int], list[int]]:
        """The ids of a process after a step: those that it made, and those that were known."""
        found = self._ids.get((before, after))
        if found is None:
            was, now = self._rules.value(at, before), self._rules.value(at, after)
            old = {id for id, _ in was} | {id for id, _ in was.durable}
            ids = [id for id, _ in now]
            found = [id for id in ids if id not in old], [id for id in ids if id in old]
            self._ids[before, after] = found
        return found

    def _put_right(self, state: Numbers) -> Numbers:
        changed = list(state)
        changed[self._budget] = self._full
        for at in self._clients:
            number = self._dirty.get(state[at])
            if number is None:
                client = self._rules.value(at, state[at])
                right = evolve(client, dirty=client.position >= 0)
                number = self._dirty[state[at]] = self._rules.number(at, right)
            changed[at] = number
        return tuple(changed)
