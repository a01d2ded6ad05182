"""Specs that do not factor are searched over values from some point on, with the same answers."""

from random import Random
from unittest.mock import patch

import pytest
from small_group import small_group

from groupcheck.model.engine import (
    Limits,
    RuleError,
    Spec,
    UserError,
    array,
    end,
    goal,
    invariant,
    reference,
    rule,
    single,
    step_invariant,
    view,
)
from groupcheck.model.engine.fast.explore import explore
from groupcheck.model.engine.fast.search import Search, costly
from groupcheck.model.engine.fast.untabled_predicates import UntabledPredicates
from groupcheck.model.engine.step import Semantics
from groupcheck.model.engine.tabled.tables import tables_of


@pytest.fixture
def left():
    """Of each search that goes on over values the number of states at that moment."""
    found = []
    leave = Search._leave

    def noted(search):
        found.append(search.log.states)
        return leave(search)

    with patch.object(Search, "_leave", noted):
        yield found


def walk(size=16, invariants=(), goals=(), extra=(), steps=(), views=()):
    """A walk in a cube: one rule that reads all three coordinates."""

    @rule
    def move(x, y, z):
        for dx, dy, dz in ((1, 0, 0), (0, 1, 0), (0, 0, 1), (-1, 0, 0), (0, -1, 0), (0, 0, -1)):
            if max(x + dx, y + dy, z + dz) < size and min(x + dx, y + dy, z + dz) >= 0:
                yield x + dx, y + dy, z + dz

    slots = {name: single(0) for name in "xyz"}
    rules = [move, *extra]
    return Spec(
        name="walk",
        slots=slots,
        rules=rules,
        invariants=[*invariants, *steps],
        goals=goals,
        views=views,
    )


def chain(most=3_000, **more):
    """One state a level."""

    @rule
    def tick(n):
        if n < most:
            yield n + 1

    return Spec(name="chain", slots={"n": single(0)}, rules=[tick], **more)


def same(one, other):
    fields = ("verdict", "states", "transitions", "depth", "rules", "goals", "reason")
    told = [(v.invariant, v.depth) for v in one.violations]
    assert told == [(v.invariant, v.depth) for v in other.violations]
    assert {f: getattr(one, f) for f in fields} == {f: getattr(other, f) for f in fields}


def test_a_rule_that_reads_every_slot_is_searched_over_values(left):
    @goal
    def corner(x, y, z):
        return x == y == z == 15

    spec = walk(goals=[corner])
    verdict = explore(spec)
    same(verdict, reference.explore(spec))
    assert verdict.goals == {"corner": 45}
    assert left and left[0] < verdict.states


def test_a_model_that_factors_stays_with_its_tables(left):
    verdict = explore(small_group(2, 2, 4, 2, 1))
    assert (verdict.states, verdict.rule_calls) == (114_418, 6_284)
    assert left == []


def test_a_violation_far_down_has_a_shortest_path_that_its_key_gives_again(left):
    @view
    def total(x, y, z):
        return x + y + z

    @invariant
    def below(total):
        return total < 30

    spec = walk(invariants=[below], views=[total])
    verdict = explore(spec)
    same(verdict, reference.explore(spec))
    (violation,) = verdict.violations
    path = Semantics(spec).follow(violation.key)
    assert violation.depth == len(path.steps) == 30
    assert sum(path.states[-1]) == 30
    assert left and left[0] < verdict.states


def test_levels_of_one_state_are_counted_one_by_one(left):
    @invariant
    def small(n):
        return n < 2_500

    @goal
    def half(n):
        return n == 1_500

    spec = chain(invariants=[small], goals=[half])
    verdict = explore(spec)
    same(verdict, reference.explore(spec))
    assert (verdict.depth, verdict.goals["half"]) == (2_500, 1_500)
    assert left


def test_a_state_without_successors_is_a_deadlock_there_too(left):
    @end
    def over(n):
        return n == 3_000

    same(explore(chain(2_000)), reference.explore(chain(2_000)))
    assert explore(chain(2_000)).violations[0].depth == 2_000
    assert explore(chain(ends=[over])).verdict == "holds"
    assert left


def test_step_invariants_are_asked_for_every_step(left):
    @step_invariant("x", "y", "z")
    def not_that(before, after):
        return (after.x, after.y, after.z) != (10, 10, 10)

    spec = walk(steps=[not_that])
    verdict = explore(spec)
    same(verdict, reference.explore(spec))
    assert verdict.violations[0].path.states[-1] == (10, 10, 10)
    assert left


def test_the_whole_state_is_looked_at_there_too(left):
    @invariant
    def not_far(state):
        return state.x + state.y + state.z < 31

    spec = walk(invariants=[not_far])
    same(explore(spec), reference.explore(spec))
    assert left


def test_limits_end_it_and_the_search_with_a_checkpoint_stays_with_tables(left, tmp_path):
    stopped = explore(chain(90_000), Limits(states=5_000))
    assert stopped.verdict == "unknown"
    assert 5_000 < stopped.states < 6_000
    assert len(left) == 1
    explore(chain(2_000), checkpoint=tmp_path)
    assert len(left) == 1


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda x, y, z: (x, y), "not one value for each"),
        (lambda x, y, z: (x, y, "z"), "which holds int"),
        (lambda x, y, z: 1 // 0, "ZeroDivisionError"),
    ],
)
def test_a_rule_at_fault_is_told_as_by_the_obvious_search(left, wrong, words):
    @rule
    def breaks(x, y, z):
        if x == y == z == 10:
            yield wrong(x, y, z)

    with pytest.raises(RuleError, match=words) as told:
        explore(walk(extra=[breaks]))
    assert len(Semantics(walk()).follow(told.value.key).steps) == 30
    assert left


def test_a_rule_without_end_is_refused(left):
    @rule
    def floods(x, y, z):
        while x == y == z == 10:
            yield x, y, z

    with pytest.raises(UserError, match="more than 65,535 outcomes"):
        explore(walk(extra=[floods]))
    assert left


def test_a_predicate_that_answers_nothing_is_told(left):
    @invariant
    def forgets(x, y, z):
        return None if x == y == z == 10 else True

    with pytest.raises(RuleError, match="gave None"):
        explore(walk(invariants=[forgets]))
    assert left


def test_a_rule_that_is_called_late_is_watched_there_too(left):
    dice = Random(1)

    @rule
    def late(x, y, z):
        if x == y == z == 10:
            yield dice.randrange(10**9), y, z

    with pytest.raises(RuleError, match="not deterministic"):
        explore(walk(extra=[late]))


def test_values_that_rules_could_change_are_never_left_unwatched(left):
    class Loose:
        def __init__(self, n):
            self.n = n

        def __eq__(self, other):
            return self.n == other.n

        def __hash__(self):
            return hash(self.n)

    @rule
    def tick(n):
        if n.n < 3_000:
            yield Loose(n.n + 1)

    explore(Spec(name="loose", slots={"n": single(Loose(0))}, rules=[tick]))
    assert left == []


def test_arrays_and_guards_mean_the_same(left):
    @rule("up", "stay", when=lambda me, cell: cell < 4 + me)
    def grow(me, cell, total):
        yield "up", cell + 1, total
        yield "stay", cell, (total + 7 * cell + me) % 997

    @invariant
    def apart(a: "cell[i]", b: "cell[j]", total):
        return a + b + total < 1_003

    slots = {"cell": array(2, 0), "total": single(0)}
    spec = Spec(name="cells", slots=slots, rules=[grow], invariants=[apart])
    with patch.object(Search, "_does_not_factor", lambda search, expanded: expanded >= 100):
        same(explore(spec), reference.explore(spec))
    assert left


def clock(most, broken_at=None, quiet_at=None):
    """Two hands of a clock: levels of one state, and few rows."""

    @rule
    def small(low, flag):
        if not flag:
            yield (low + 1, 0) if low < most - 1 else (0, 1)

    @rule
    def large(flag, high):
        if flag and high < most - 1 and high != quiet_at:
            yield 0, high + 1

    @invariant
    def whole(high):
        return high != broken_at

    @goal
    def third(high):
        return high == 3

    @end
    def over(high):
        return high == most - 1

    slots = {"low": single(0), "flag": single(0), "high": single(0)}
    promises = {"invariants": [whole], "goals": [third], "ends": [over]}
    return Spec(name="clock", slots=slots, rules=[small, large], **promises)


@pytest.mark.parametrize("settings", [{}, {"broken_at": 40}, {"quiet_at": 40}])
def test_narrow_levels_that_ask_for_nothing_pass_in_the_kernel(left, settings):
    spec, calls = clock(60, **settings), 0
    run = Search.stretch

    def counted(*given):
        nonlocal calls
        calls += 1
        return run(*given)

    with patch.object(Search, "stretch", counted):
        verdict = explore(spec)
    same(verdict, reference.explore(spec))
    assert verdict.goals == {"third": 3 * 61}
    assert calls < verdict.depth / 5
    assert left == []


def test_a_limit_of_states_holds_in_narrow_levels():
    stopped = explore(clock(100), Limits(states=7_000))
    assert stopped.verdict == "unknown"
    assert 7_000 < stopped.states < 7_300
    assert stopped.depth in (stopped.states - 1, stopped.states)
    assert explore(clock(100), Limits(depth=5_000)).depth == 5_000


# -- predicates that read nearly all of a state, over rules that do not


def counters(limit=99, odd=lambda values: True):
    """Six counters, each with a rule of its own; all predicates read all of them."""
    names = [f"c{k}" for k in range(6)]

    def up(k):
        found = {}
        exec(f"def up{k}(c{k}):\n    yield (c{k} + 1) % 4\n", found)
        return rule(found[f"up{k}"])

    @view
    def three(c0, c1, c2):
        return c0, c1, c2

    @invariant
    def below(three, c3, c4, c5):
        return sum(three) + c3 + c4 + c5 < limit

    @invariant
    def fine(c0, c1, c2, c3, c4, c5):
        return odd((c0, c1, c2, c3, c4, c5))

    @goal
    def full(c0, c1, c2, c3, c4, c5):
        return c0 == c1 == c2 == c3 == c4 == c5 == 3

    return Spec(
        name="counters",
        slots={name: single(0) for name in names},
        rules=[up(k) for k in range(6)],
        invariants=[below, fine],
        goals=[full],
        views=[three],
    )


@pytest.fixture
def aside():
    """The names of predicates that leave their tables."""
    found = []
    take = UntabledPredicates.take

    def noted(self, taken):
        found.extend(p.name for p in taken)
        take(self, taken)

    with patch.object(UntabledPredicates, "take", noted):
        yield found


@pytest.mark.parametrize("limit", [99, 15])
def test_predicates_that_nearly_every_state_asks_anew_leave_their_tables(aside, left, limit):
    spec = counters(limit)
    verdict = explore(spec)
    same(verdict, reference.explore(spec))
    assert verdict.violations == () or sum(verdict.violations[0].path.states[-1]) == limit
    assert sorted(set(aside)) == ["below", "fine", "full"]
    assert left == []


def test_a_predicate_without_a_table_that_is_at_fault_is_told_with_its_state(aside):
    with pytest.raises(RuleError, match="ZeroDivisionError") as told:
        explore(counters(odd=lambda values: values != (2,) * 6 or 1 // 0))
    spec = counters()
    assert Semantics(spec).follow(told.value.key).states[-1] == (2,) * 6
    assert aside


def test_predicates_of_few_values_keep_their_tables(aside):
    assert explore(small_group(2, 2, 4, 2, 1)).verdict == "holds"
    assert aside == []


# -- what the user is told


def test_rules_and_promises_that_every_state_asks_anew_are_named():
    assert any("asked move anew" in note for note in explore(walk()).notes)
    assert any("asked fine" in note for note in explore(counters()).notes)
    assert explore(small_group(2, 2, 2, 1, 0)).notes == ()


def test_what_needs_many_rows_is_told_by_name_number_and_share_of_time():
    tables = tables_of(counters())
    rows = [0] * len(tables.all)
    rows[3] = 40_000
    (told,) = costly(tables, rows, {3: 2.0}, 100_000, 8.0)
    assert told.startswith("rule up3 needed 40,000 rows for 100,000 states, 25% of the time")
    assert list(costly(tables, rows, {3: 2.0}, 200_000, 8.0)) == []
    assert list(costly(tables, [10_000] * len(rows), {}, 20_000, 8.0)) == []
