"""Rows of the rule tables: Python rules called once for each combination of their own arguments.

A row is written as small numbers only: for each outcome its label and the numbers of the new
values. Rules that cannot know their index share their calls over all indexes. The first calls of
every rule are made twice and watched: a rule must give the same outcomes again, and must not change
the values that it is given.
"""

from __future__ import annotations

import functools
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Any

from attrs import frozen

from groupcheck.model.engine.binding import Instance, call_key
from groupcheck.model.engine.errors import RuleError, UserError
from groupcheck.model.engine.functions import AnswerError, brief, outcomes
from groupcheck.model.engine.pools import Pool
from groupcheck.model.engine.rule import Rule
from groupcheck.model.engine.sameness import unending
from groupcheck.model.engine.step import MOST_OUTCOMES, Semantics, too_many
from groupcheck.model.engine.tabled.generated_calls import Caller, Checks, Listener, caller
from groupcheck.model.engine.tabled.tables import Table, Tables

WATCHED = 64  # calls of each rule that are checked for determinism and for changed input


def not_again(outcomes: list[Any]) -> str:
    """The fault, in words, of outcomes that differ when the same rule is called again."""
    if problem := unending(outcomes):
        return f"yielded a value that {problem}"
    return "gave other outcomes when called again with the same values: it is not deterministic"


class GuardValues:
    """For one guard (at one index, if it asks for it): whether it lets each value of its slot
    through.
    """

    def __init__(self, instance: Instance, pool: Pool) -> None:
        self.instance, self.pool = instance, pool
        self.open: list[bool] = []
        self.raised: set[int] = set()

    def extend(self) -> None:
        """Evaluates it for values that are new. One that raises is open: then the rule is called,
        and the error is reported with its arguments.
        """
        for number in range(len(self.open), len(self.pool.values)):
            try:
                self.open.append(self.instance.allows(self.pool.values[number]))
            except (Exception, SystemExit):
                self.open.append(True)
                self.raised.add(number)


@frozen
class CallPlan:
    """How a row of a table gets the outcomes of one rule instance."""

    member: Member
    # Which values its guard lets through; None without a guard.
    is_open: list[bool] | None
    # Which of the table's inputs the guard reads.
    guard_at: int
    # The numbers of the values for which the guard raised something.
    raised: set[int]
    # Its rows that it shares with the same rule at other indexes; None: it shares none.
    shared: dict[tuple[int, ...], Sequence[int]] | None
    # The rule's arguments from the table's inputs; None: they are in the same order.
    mine_of: Callable[[tuple[int, ...]], tuple[int, ...]] | None
    # Where each of the table's inputs stands among the rule's values; None: in the same order.
    back: list[int] | None
    # How many numbers an outcome takes.
    width: int


class Member:
    """A rule instance in a table, with what its calls need at hand."""

    def __init__(
        self,
        instance: Instance,
        table: Table,
        pools: Sequence[Pool],
        numbering: dict[str, int],
        see: Semantics,
    ) -> None:
        self.instance, self.where = instance, instance.where
        self.rule = r = instance.rule
        self.pools = [pools[k] for k in self.where]
        self.order = [
            table.inputs.index(k) for k in self.where
        ]  # where each of its slots stands among the table's inputs
        self.back = [self.where.index(k) for k in table.inputs]
        self.is_plain = self.order == list(range(len(self.order)))
        self.call = functools.partial(r.call, *instance.given) if r.takes else r.call
        if not instance.is_flat:
            self.call = functools.partial(_flat_call, see, instance, self.call)
        self.tail = (see.spec.scope,) if r.takes_scope else ()
        self.labels = {label: numbering[name] for label, name in zip(r.labels or ("",), r.names)}
        self.checks: list[Checks] = []
        # What calls the rule, made for pools that are uniform or not.
        self.caller: Caller | None = None
        self.number = 0
        self.guard: GuardValues | None = None
        self.guard_at = instance.guard_at

        self.shared: dict[tuple[int, ...], Sequence[int]] | None = (
            None  # rows of rules that cannot know their index
        )
        self.is_uniform = self.is_trusted = False

    def plan(self) -> CallPlan:
        """What its rows are made with."""
        order, back = (None, None) if self.is_plain else (itemgetter(*self.order), self.back)
        guard = None if self.guard is None else self.guard.open
        raised = set() if self.guard is None else self.guard.raised
        at = self.order[self.guard_at]
        return CallPlan(self, guard, at, raised, self.shared, order, back, len(self.where) + 1)

    def prepare(self, watched: int) -> None:
        """Before a batch: what its pools hold by now, and whether the rule has been watched long
        enough.
        """
        is_uniform = all(pool.is_uniform or pool.is_mixed for pool in self.pools)
        if is_uniform != self.is_uniform:
            self.is_uniform, self.caller = is_uniform, None
        self.is_trusted = watched >= WATCHED and all(pool.is_frozen for pool in self.pools)


def _flat_call(
    see: Semantics, instance: Instance, call: Callable[..., Iterable[Any]], *given: Any
) -> Iterator[Any]:
    """Calls a rule that touches a whole array, with one argument and one new value for each of its
    places. `given`: the arguments, and the scope if it takes that.
    """
    args, scope = given[: len(instance.where)], given[len(instance.where) :]
    label_of = dict(zip(instance.rule.names, instance.rule.labels))
    for yielded in outcomes(call(*instance.grouped(args), *scope)):
        name, values = see.outcome(instance, yielded, args)
        label = (label_of[name],) if label_of else ()
        yield (*label, *values) if label or len(values) > 1 else values[0]


class Rows:
    """Evaluates rows. `calls` counts calls of rules with different arguments, without those that
    are made only to watch.

    `origins` says for every value, in order of discovery, how to make it again: the number of the
    rule instance, how many arguments it has, their numbers, which outcome, which of its values.
    """

    def __init__(
        self, tables: Tables, pools: Sequence[Pool], broken: Callable[[str, int], None]
    ) -> None:
        self.tables, self.see, self.broken = tables, tables.see, broken
        self.calls = 0
        self.origins = array("q")
        numbering = {name: n for n, name in enumerate(tables.labels)}
        self.members = [
            [Member(instance, t, pools, numbering, tables.see) for instance in t.members]
            for t in tables.rules
        ]
        every = (*tables.see.ordinary, *tables.see.urgent)
        numbers = {(i.rule.name, *i.index): n for n, i in enumerate(every)}
        key_of = {(i.rule.name, *i.index): call_key(i, tables.see.checks(i)) for i in every}
        sharing = Counter(key_of.values())
        self._good: dict[Any, set[tuple[int, ...]]] = {}
        self._watched = {r.name: 0 for r in tables.see.spec.rules}
        # Rows of rules that cannot tell some of their indexes apart, by the numbers of their
        # arguments; of each `call_key`.
        self.shared: dict[tuple[Any, ...], dict[tuple[int, ...], Sequence[int]]] = {}
        self.guards: dict[tuple[Any, ...], GuardValues] = {}
        for member in (m for row in self.members for m in row):
            r = member.rule
            i = member.instance
            member.number = numbers[r.name, *i.index]
            member.checks = list(self._checks(member))
            known_by = key_of[r.name, *i.index]
            if sharing[known_by] > 1:
                member.shared = self.shared.setdefault(known_by, {})
            if r.guard:
                pool = member.pools[member.guard_at]
                key = (id(r.guard.call), i.guard_given, id(pool))
                member.guard = self.guards.setdefault(key, GuardValues(i, pool))
        self._plans = [[m.plan() for m in row] for row in self.members]
        self.place = 0  # of the state for which a rule was called last

    def _checks(self, member: Member) -> Iterator[Checks]:
        """The step invariants of a rule by what they look at. What was found good is shared by all
        rules with the same promises there.
        """
        every = self.tables.see.checks(member.instance)
        for slots, at, labelled in dict.fromkeys((p.slots, at, p.takes_label) for p, at in every):
            alike = (slots, at, labelled)
            promises = tuple(p for p, there in every if (p.slots, there, p.takes_label) == alike)
            shared = (
                tuple(id(member.pools[k]) for k in at),
                slots,
                tuple(p.name for p in promises),
            )
            yield Checks(promises, at, None if labelled else self._good.setdefault(shared, set()))

    def watched(self, rule: Rule) -> int:
        """Calls of a rule that were made twice, to see whether it is deterministic."""
        return self._watched[rule.name]

    def extend_guards(self) -> None:
        for guard in self.guards.values():
            guard.extend()

    def prepare(self, table: int) -> None:
        """Before a batch of rows of one table."""
        for member in self.members[table]:
            self.prepare_member(member)

    def prepare_member(self, member: Member) -> None:
        """The same for one rule at its indexes."""
        member.prepare(self._watched[member.rule.name])

    def row(self, table: int, ids: tuple[int, ...], place: int, tape: list[int]) -> int:
        """Appends the row of a table for the numbers of its inputs; `place` is the state that asked
        for it. Returns how many outcomes it has. Raises `UserError` for more outcomes than a row
        can hold.
        """
        return self.batch(table, (ids,), (place,), tape)

    def batch(
        self,
        table: int,
        rows: Sequence[tuple[int, ...]],
        places: Sequence[int],
        tape: list[int],
        pulse: Callable[[], None] = lambda: None,
    ) -> int:
        """Appends rows of a table that is prepared, as `row` does; returns the most outcomes that
        one of them has. `pulse` is called before each call of a rule. Leaves in `place` the state
        that asked for the last call.
        """
        alternative, most = table >= self.tables.ordinary, 0
        plans = self._plans[table]
        for ids, place in zip(rows, places):
            count, head = 0, len(tape) + 1
            tape += (table, 0, *ids)
            for plan in plans:
                if plan.is_open is not None and not plan.is_open[ids[plan.guard_at]]:
                    continue
                mine = ids if plan.mine_of is None else plan.mine_of(ids)
                # What a guard raised is at this index, perhaps at no other one.
                flat = None if plan.shared is None or plan.raised else plan.shared.get(mine)
                if flat is None:
                    pulse()
                    self.place = place
                    flat = self.outcomes(plan.member, mine, place)
                if not flat:
                    continue
                width, back = plan.width, plan.back
                count += len(flat) // width
                if back is None:
                    tape += flat
                else:
                    for o in range(0, len(flat), width):
                        tape.append(flat[o])
                        tape.extend([flat[o + 1 + k] for k in back])
                if alternative:
                    break
            if count:
                if count > MOST_OUTCOMES:
                    raise too_many(plans[0].member.rule.name)
                tape[head] = count
                most = max(most, count)
        return most

    def outcomes(self, member: Member, ids: tuple[int, ...], place: int) -> Sequence[int]:
        """Label and numbers of the new values for every outcome of one rule, side by side; none
        where its guard is shut. Members that share their calls share them. Raises `RuleError`.
        """
        raises = False
        if member.guard is not None:
            asked = ids[member.guard_at]
            if not member.guard.open[asked]:
                return ()
            raises = asked in member.guard.raised  # at this index, perhaps at no other one
        flat = None if member.shared is None or raises else member.shared.get(ids)
        if flat is None:
            flat = self._outcomes(member, ids, place)
            if member.shared is not None:
                member.shared[ids] = flat
        return flat

    def _outcomes(self, member: Member, ids: tuple[int, ...], place: int) -> list[int]:
        """Label and numbers of the new values for every outcome of one rule, side by side. A call
        that raises, or gives something odd, is made again under watch: that says what is wrong.
        """
        self.calls += 1
        if member.is_trusted and not (
            member.guard is not None and ids[member.guard_at] in member.guard.raised
        ):
            try:
                return self._caller(member)(ids, place)
            except UserError:
                raise
            except (Exception, SystemExit):
                pass
        return self._watched_outcomes(member, ids, place)

    def _caller(self, member: Member) -> Caller:
        """The function that calls a rule: made at its first use, and again if its pools have
        changed.
        """
        if member.caller is None:
            function = member.rule.call if member.instance.is_flat else _flat_call
            listener = Listener(
                functools.partial(self._new, member), functools.partial(self._look, member)
            )
            member.caller = caller(
                member.call,
                function,
                member.tail,
                member.pools,
                member.labels,
                member.checks,
                self.see.spec.scope,
                listener,
                member.is_uniform,
            )
        return member.caller

    def _look(
        self,
        member: Member,
        checks: Checks,
        place: int,
        label: str,
        before: Sequence[Any],
        after: Sequence[Any],
    ) -> bool:
        """Looks at an outcome again: do all promises hold?"""
        name = f"{member.rule.name}:{label}" if label else member.rule.name
        sides = self.see.sides(checks.promises[0], checks.at, before, after)
        broken = [
            p.name
            for p in checks.promises
            if not self.see.promise_holds(p, member.instance, name, before, sides)
        ]
        for promise in broken:
            self.broken(promise, place)
        return not broken

    def _new(
        self,
        member: Member,
        ids: tuple[int, ...],
        args: Sequence[Any],
        outcome: Any,
        choice: int,
        value: Any,
        position: int,
    ) -> int:
        """The number of a value that is not itself in the pool (perhaps an equal one is)."""
        r, pool = member.rule, member.pools[position]
        if type(value) is not type(args[position]):
            self._expect_fit(member, args, outcome)
        next_one = len(pool.values)
        try:
            number = pool.number(value)
        except AnswerError as error:
            problem = f"yielded {brief(value)} for {member.instance.parameters[position]}, which"
            called = member.instance.called(args)
            raise RuleError(r.name, f"{problem} {error}", called) from None
        except Exception as error:  # its hash or its comparison
            self._expect_fit(member, args, outcome)
            raise RuleError(
                r.name,
                f"yielded a {type(value).__name__} that raises {type(error).__name__} when"
                " compared",
                member.instance.called(args),
            ) from error
        if number == next_one:
            self.origins.extend((member.number, len(ids), *ids, choice, position))
        return number

    def _expect_fit(self, member: Member, args: Sequence[Any], outcome: Any) -> None:
        """Raises `RuleError` for values that do not fit their slots. Outcomes of rules over a whole
        array were looked at when they were taken apart.
        """
        if member.instance.is_flat:
            self.see.outcome(member.instance, outcome, args)

    def _watched_outcomes(self, member: Member, ids: tuple[int, ...], place: int) -> list[int]:
        """One call through the plain semantics, twice, with the arguments compared before and
        after.
        """
        r = member.rule
        args = [pool.values[i] for pool, i in zip(member.pools, ids)]
        self._watched[r.name] += 1
        member.prepare(self._watched[r.name])
        shown = member.instance.called(args)
        before = [pool.fingerprint(a) for pool, a in zip(member.pools, args)]
        first = self.see.call(member.instance, args)
        if [pool.fingerprint(a) for pool, a in zip(member.pools, args)] != before:
            raise RuleError(
                r.name,
                "changed the values that it was given (yield new ones, with `evolve`)",
                shown,
            )
        again = self.see.call(member.instance, args)
        try:
            differs = again != first
        except Exception as error:
            problem = f"yielded a value that raises {type(error).__name__} when it is compared"
            raise RuleError(r.name, problem, shown) from error
        if differs:
            raise RuleError(r.name, not_again(first), shown)
        label_of = dict(zip(r.names, r.labels))
        yielded = [
            (label_of[name], *values) if r.labels else values if len(values) > 1 else values[0]
            for name, values in first
        ]
        return self._caller(member)(ids, place, yielded)
