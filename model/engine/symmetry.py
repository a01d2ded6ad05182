"""Symmetry: arrays of equal slots whose elements may be exchanged without any rule noticing.

A permutation of the indexes moves the elements of several arrays together. If every rule treats all
indexes alike, a permuted state takes the permuted steps. Then one state of each orbit (the states
that permutations make of it) stands for all of them: a search stores one and counts all.

`symmetry_of` derives from a spec which arrays may be permuted, and says why others may not:

- A rule or predicate that takes an index may know it. One that reads neighbours in a ring
  (`client[me+1]`) or a whole array (`client[:]`) knows their order. A guard that takes `me` may
  know it, too, unless it belongs to an urgent rule and reads a single slot: such a rule goes from
  index to index inside a step (a *walk*, directed by the value of that slot), and the engines check
  that every order of its visits comes to the same end.
- A predicate with two index variables excludes equal indexes, so it ties their arrays together. A
  step invariant over two arrays sees their elements at one index, so it ties them, too.
- Urgent rules apply first index first. Those that touch one element alone and stand before all
  others may be applied in any order. Of each other rule, the engines check that no two indexes are
  possible at once.
- The initial states must contain every permutation of each of them.
- A rule or predicate that takes an index as an `Element` may store it. Then permutations move the
  elements in values, too (`exchange`), and only the search in plain Python and the reference engine
  use them. An opaque class keeps honest people honest, and no more: the order in which a frozenset
  gives its elements knows them. So the engines compare what rules do for all permuted arguments
  (`plain/alike`).

Predicates over the whole state may tell indexes apart: they are evaluated for every state of an
orbit.

When a walk begins, the engine runs its visits in every order (leaving out rules of one element
between them) and requires the same end states and outcomes. So no state at rest may name an index;
this is checked as well. Walks that were found to have no order are remembered by what they read.
Trusting a declaration was refused: an election that stopped its walk at the elected member made a
count depend on the order of members, and the check found it.

A stored state counts as often as its orbit has states, so all numbers are those of the whole
search, and a pinned count is a test of symmetry.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count, permutations, product
from math import factorial, prod
from operator import itemgetter
from typing import Any

from attrs import field, frozen

from groupcheck.model.engine.binding import indexing
from groupcheck.model.engine.errors import AsymmetryError, UserError
from groupcheck.model.engine.exchange import Exchange
from groupcheck.model.engine.pools import Pool
from groupcheck.model.engine.promises import Predicate, StepInvariant
from groupcheck.model.engine.rule import Rule
from groupcheck.model.engine.signature import EVERY, parted
from groupcheck.model.engine.spec import Spec
from groupcheck.model.engine.step import Semantics, State
from groupcheck.model.engine.verdict import NOT_ASKED

MOST_PERMUTATIONS = factorial(10)  # so that counts of transitions fit into 64 bits
MOST_IN_ORDER = 6  # elements whose every order of visits is tried
WITHOUT_INDEX = "take it as an Element, or write it without an index"
ONE_SIZE_OR_OWN = "give them one size, or each a promise of its own"
NO_ARRAYS = "there is no array with two elements or more"
WORTH = 6  # permutations below which symmetry is used only if it is asked for
MOST_STORED = 8  # elements that values hold
# Where values hold elements: plain Python takes some 40,000 steps a second, kernels a million.
WORTH_STORED = 120
FEW_STORED = "not worth while for fewer than five stored elements (--symmetry uses it all the same)"
FEW = "not worth while for orbits of two states (--symmetry uses it all the same)"


@frozen
class Group:
    """Arrays that are permuted together."""

    # In the order of the spec's slots.
    arrays: tuple[str, ...]
    # How many elements each has; at least two.
    size: int
    # May values hold their indexes, as elements? Then no other group is permuted.
    is_stored: bool = False


@frozen
class Symmetry:
    """Which arrays of a spec may be permuted."""

    groups: tuple[Group, ...]
    # Why others may not, in words, each with what to change; empty if all may.
    reasons: tuple[str, ...] = ()
    # Single slots whose values direct walks: guards of urgent rules read them together with `me`.
    directing: tuple[str, ...] = ()

    @property
    def is_stored(self) -> bool:
        """Do values hold indexes?"""
        return any(group.is_stored for group in self.groups)

    @property
    def permutations(self) -> int:
        """How many there are."""
        return prod(factorial(group.size) for group in self.groups)

    @property
    def arrays(self) -> tuple[str, ...]:
        return tuple(name for group in self.groups for name in group.arrays)


NO_SYMMETRY = Symmetry((), (NOT_ASKED,))
ON_PROGRESS = Symmetry(
    (),
    (
        "promises about single elements, or about what happens in fair runs, are judged among all"
        " states (choose others, or leave out --progress)",
    ),
)


def on_orbits(spec: Spec) -> bool:
    """May the promises about runs be judged on one state of each orbit?

    They may where each says that something is always possible which no permutation changes: it has
    no index, or says that it is true of all elements or of some. Each permutation of a state takes
    the permuted steps. So a path from a state to the goal is, permuted, a path from each state of
    its orbit to the goal, and a step between orbits is one from every state of the first: the graph
    of orbits is bisimilar to that of states, and AG EF of such a goal says the same in both
    (Clarke, Enders, Filkorn, Jha 1996, "Exploiting Symmetry in Temporal Logic Model Checking",
    theorem 1). This needs no fairness, so it does not matter that steps lose their indexes.

    Promises about fair runs may not. A loop among orbits leads back to a permuted state: what it
    does once for one element it does next for another, so the action that is taken in it is not the
    one that stays possible. Fairness of each element has to be followed through the permutations
    (Emerson and Sistla 1997, "Utilizing Symmetry when Model-Checking under Fairness Assumptions").
    A promise to each element by itself has to be followed in the same way.
    """
    see = Semantics(spec)
    return all(
        p.kind == "always_possible" and see.instances(p.bound) == [{}] for p in spec.progress
    )


def must_be_usable(spec: Spec, found: Symmetry, required: bool) -> None:
    """Raises `UserError` where symmetry is required and nothing can be permuted."""
    if required and not found.groups:
        why = "; ".join(found.reasons)
        raise UserError(f"cannot be used for {spec.name}: {why}", where="--symmetry")


class _Ties:
    """Arrays that belong together, and what speaks against permuting them."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.arrays = [n for n, s in spec.slots.items() if s.size is not None and s.size > 1]
        self.root = {name: name for name in self.arrays}
        self.against: dict[str, str] = {}
        # Arrays whose indexes are given to functions as elements.
        self.stored: set[str] = set()

    def find(self, name: str) -> str:
        while self.root[name] != name:
            name = self.root[name]
        return name

    def tie(self, names: Iterable[str]) -> None:
        there = [self.find(n) for n in names if n in self.root]
        for name in there[1:]:
            a, b = self.find(there[0]), self.find(name)
            if a != b:
                self.root[b] = a
                if b in self.against:
                    self.against.setdefault(a, self.against[b])

    def refuse(self, names: Iterable[str], why: str, do: str) -> None:
        """Notes why arrays may not be permuted, and what would have to be changed."""
        for name in names:
            if name in self.root:
                self.against.setdefault(self.find(name), f"{why} ({do})")

    def groups(self) -> Iterator[tuple[str, ...]]:
        yield from {
            self.find(n): tuple(m for m in self.arrays if self.find(m) == self.find(n))
            for n in self.arrays
        }.values()


def _of_rule(ties: _Ties, rule: Rule) -> str | None:
    """Ties the arrays of a rule together. Returns the slot that directs its walk, if it has one."""
    touched = _tie(ties, rule, f"rule {rule.name}")
    every = touched or ties.arrays  # a rule of single slots ranges over arrays that it does not see
    takes = [v for v in rule.takes if v not in rule.elements]
    if rule.elements:
        ties.stored.update(every)
    if takes:
        ties.refuse(every, f"rule {rule.name} takes {' and '.join(takes)}", WITHOUT_INDEX)
    elif rule.urgent and rule.written and len(indexing(ties.spec, rule).sizes) > 1:
        do = "write it with one index, or let it be no urgent rule"
        ties.refuse(every, f"urgent rule {rule.name} has several indexes", do)
    elif (
        rule.guard and {*rule.guard.takes} - {*rule.elements} and touched
    ):  # else of one element, which is no choice
        slot = rule.slots[rule.named.index(rule.guard.slot)]
        if not rule.urgent:
            ties.refuse(touched, f"the guard of rule {rule.name} takes me", WITHOUT_INDEX)
        elif slot in ties.root:
            what = f"the guard of rule {rule.name} takes me together with {slot}"
            ties.refuse(touched, what, "let it read a single slot, or not take me")
        else:
            return slot
    return None


def _tie(ties: _Ties, part: Rule | Predicate, what: str) -> list[str]:
    """Ties together the arrays into which an index leads, and refuses those that are read as a ring
    or whole, where order counts. Returns all of them.
    """
    by_index: dict[str, list[str]] = {}
    for name, index in part.places:
        arrays = _arrays(ties.spec, name)
        variable, offset = ("", 0) if index == EVERY else parted(index or part.own)
        if offset or index == EVERY:
            way = "elements by themselves or in pairs" if index == EVERY else "any other element"
            do = f"read {way}, if their order does not matter"
            ties.refuse(arrays, f"{what} reads {name}[{index}]", do)
        by_index.setdefault(variable, []).extend(arrays)
    for variable, names in by_index.items():
        if variable:
            ties.tie(names)
    return [n for names in by_index.values() for n in names if n in ties.root]


def _arrays(spec: Spec, name: str) -> list[str]:
    """The arrays that a slot or view reads."""
    view = next((v for v in spec.views if v.name == name), None)
    if view:
        return [a for inner, _ in view.places for a in _arrays(spec, inner)]
    return [] if name == "state" or spec.slots[name].size is None else [name]


def _of_predicate(ties: _Ties, p: Predicate) -> None:
    """Ties together what the index variables of a predicate range over."""
    what = f"{p.kind} {p.name}"
    names = _tie(ties, p, what)
    _together(ties, names, what)
    takes = [v for v in p.takes if v not in p.elements]
    if p.elements:
        ties.stored.update(names or ties.arrays)
    if takes:
        ties.refuse(names or ties.arrays, f"{what} takes {' and '.join(takes)}", WITHOUT_INDEX)


def _of_step_invariant(ties: _Ties, p: StepInvariant) -> None:
    """Ties together the arrays whose elements a step invariant sees at one index."""
    names = [n for n in p.slots if ties.spec.slots[n].size is not None]
    _together(ties, names, f"step invariant {p.name}")


def _together(ties: _Ties, names: Sequence[str], what: str, do: str = ONE_SIZE_OR_OWN) -> None:
    """Ties together arrays that are looked at together. Those of different sizes have no
    permutation in common.
    """
    ties.tie(names)
    if len({ties.spec.slots[n].size for n in names}) > 1:
        ties.refuse(names, f"{what} ranges over arrays of different sizes", do)


def symmetry_to_use(spec: Spec, asked: bool | None, of_runs: bool = False) -> Symmetry:
    """The symmetry to search with. `asked`: None for one where it is worth while. `of_runs`: as in
    `symmetry_of`.
    """
    found = NO_SYMMETRY if asked is False else symmetry_of(spec, of_runs)
    least, few = (WORTH_STORED, FEW_STORED) if found.is_stored else (WORTH, FEW)
    if found.groups and asked is None and found.permutations < least:
        return Symmetry((), (few,))
    return found


def symmetry_of(spec: Spec, of_runs: bool = False) -> Symmetry:
    """Which arrays of a spec may be permuted, as far as the spec itself tells. `of_runs`: its
    promises about runs are judged, too.
    """
    ties = _Ties(spec)
    directing = {
        rule.name: slot for rule in spec.rules if (slot := _of_rule(ties, rule)) is not None
    }
    goals = [p.goal for p in spec.progress] if of_runs else []
    for p in (*spec.invariants, *spec.goals, *spec.ends, *spec.views, *goals):
        if isinstance(p, StepInvariant):
            _of_step_invariant(ties, p)
        else:
            _of_predicate(ties, p)
    for p in spec.constraints:
        do = "bound the rules by guards, or paths by --max-depth"
        ties.refuse(ties.arrays, f"constraint {p.name} may tell indexes apart", do)
    for refinement in spec.refinements:
        do = "check the refinement by itself, and the promises without it"
        ties.refuse(ties.arrays, f"{refinement.name} may tell indexes apart", do)
    walked = {ties.find(n) for r in spec.rules if r.name in directing for n in r.slots
              if n in ties.root}  # fmt: skip
    if len(walked) > 1:
        do = "let urgent rules with a guard that takes me go over one of them"
        ties.refuse(walked, "walks go over several groups of arrays", do)
    for group in [g for g in ties.groups() if ties.find(g[0]) in walked]:
        size = spec.slots[group[0]].size or 0
        if size > MOST_IN_ORDER:
            what = f"walks over {size} elements have too many orders"
            ties.refuse(group, what, f"take at most {MOST_IN_ORDER} elements")
    _of_stored(ties)
    _not_too_many(ties)
    _initially(ties)
    groups = [g for g in ties.groups() if ties.find(g[0]) not in ties.against]
    reasons = dict.fromkeys(
        f"{', '.join(g)}: {ties.against[ties.find(g[0])]}"
        for g in ties.groups()
        if ties.find(g[0]) in ties.against
    )
    if not ties.arrays:
        reasons = {NO_ARRAYS: None}
    return Symmetry(
        tuple(Group(g, spec.slots[g[0]].size or 0, g[0] in ties.stored) for g in groups),
        tuple(reasons),
        tuple(dict.fromkeys(directing.values())) if walked & {ties.find(g[0]) for g in groups}
        else (),
    )  # fmt: skip


def _of_stored(ties: _Ties) -> None:
    """Ties together the arrays whose indexes are stored: an element does not say of which array it
    is. Refuses what has not been thought through together with them.
    """
    if not ties.stored:
        return
    there = [n for n in ties.arrays if n in ties.stored]
    _together(ties, there, "a stored index", "give them one size")
    ties.stored = {n for n in ties.arrays if ties.find(n) in {ties.find(m) for m in ties.stored}}
    others = [n for n in ties.arrays if n not in ties.stored]
    ties.refuse(others, "indexes of other arrays are stored", "store indexes of these, too")
    for rule in ties.spec.rules:
        if rule.urgent and indexing(ties.spec, rule).sizes:
            what = f"urgent rule {rule.name} has an index, and some are stored"
            ties.refuse(ties.arrays, what, "let it be no urgent rule")
    for name in ties.arrays:
        if (ties.spec.slots[name].size or 0) > MOST_STORED:
            what = "stored indexes of so many elements have too many orders"
            ties.refuse([name], what, f"take at most {MOST_STORED} elements")


def _not_too_many(ties: _Ties) -> None:
    """Refuses the largest groups until few enough permutations are left."""
    left = sorted(ties.groups(), key=lambda g: ties.spec.slots[g[0]].size or 0)
    total = 1
    for group in left:
        if ties.find(group[0]) in ties.against:
            continue
        size = ties.spec.slots[group[0]].size or 0
        if size > 20 or total * factorial(size) > MOST_PERMUTATIONS:
            most = next(n for n in count(2) if total * factorial(n + 1) > MOST_PERMUTATIONS)
            what = f"{size} elements have too many permutations to count"
            ties.refuse(group, what, f"take at most {most} elements")
        else:
            total *= factorial(size)


def _initially(ties: _Ties) -> None:
    """Refuses arrays whose elements may not be exchanged in the initial states."""
    see = Semantics(ties.spec)
    starts = {rest for _, _, rest in see.starts()}
    for group in ties.groups():
        if ties.find(group[0]) not in ties.against:
            size = ties.spec.slots[group[0]].size or 0
            orbits = Orbits(see, (Group(group, size, group[0] in ties.stored),))
            do = "let all begin alike, or in every order: any_of(...) for each element"
            try:
                if any(swap(state) not in starts for swap in orbits.swaps for state in starts):
                    ties.refuse(group, "initial states tell their elements apart", do)
            except AsymmetryError as error:
                ties.refuse(group, str(error), "store elements in tuples, frozensets, attrs values")


Move = Callable[[State], State]


@frozen
class Orbits:
    """The orbits of the states of a spec under permutations of some groups of arrays."""

    see: Semantics
    groups: tuple[Group, ...]
    # Of each group the places of each index; and the places of all else.
    blocks: tuple[tuple[tuple[int, ...], ...], ...] = field(init=False)
    others: tuple[int, ...] = field(init=False)
    # Where values hold indexes: the permutations of states of numbers, and the pools of these.
    exchange: Exchange | None = field(init=False, default=None)
    pools: tuple[Pool, ...] = field(init=False, default=())

    def __attrs_post_init__(self) -> None:
        blocks = tuple(
            tuple(tuple(self.see.at[name, i] for name in g.arrays) for i in range(g.size))
            for g in self.groups
        )
        moving = {k for group in blocks for block in group for k in block}
        others = tuple(k for k in range(len(self.see.places)) if k not in moving)
        object.__setattr__(self, "blocks", blocks)
        object.__setattr__(self, "others", others)
        if any(g.is_stored for g in self.groups):
            by_name = {name: Pool(name) for name in self.see.spec.slots}
            pools = tuple(by_name[name] for name, _ in self.see.places)
            object.__setattr__(self, "pools", pools)
            object.__setattr__(self, "exchange", Exchange(blocks[0], pools))

    def _numbers(self, state: State) -> tuple[int, ...]:
        return tuple([pool.number(value) for pool, value in zip(self.pools, state)])

    def _values(self, numbers: tuple[int, ...]) -> State:
        return tuple([pool.values[n] for pool, n in zip(self.pools, numbers)])

    def _move(self, orders: Sequence[Sequence[int]]) -> Move:
        """The permutation that puts at index i of group g the element orders[g][i]."""
        if (exchange := self.exchange) is not None:
            (one,) = map(tuple, orders)
            return lambda state: self._values(exchange.image(self._numbers(state), one))
        source = list(range(len(self.see.places)))
        for blocks, order in zip(self.blocks, orders, strict=True):
            for i, j in enumerate(order):
                for to, at in zip(blocks[i], blocks[j], strict=True):
                    source[to] = at
        return itemgetter(*source) if len(source) > 1 else lambda state: state

    @property
    def moves(self) -> Iterator[Move]:
        """All permutations, the one that changes nothing first."""
        for orders in product(*(permutations(range(g.size)) for g in self.groups)):
            yield self._move(orders)

    @property
    def swaps(self) -> Iterator[Move]:
        """Exchanges of neighbours: every permutation is a sequence of these."""
        for k, group in enumerate(self.groups):
            for i in range(group.size - 1):
                orders = [list(range(g.size)) for g in self.groups]
                orders[k][i], orders[k][i + 1] = i + 1, i
                yield self._move(orders)

    def _counted(self, state: State) -> Iterator[Counter[tuple[Any, ...]]]:
        for blocks in self.blocks:
            yield Counter(tuple(state[k] for k in block) for block in blocks)

    def key(self, state: State) -> Any:
        """Equal for two states if and only if they are in one orbit."""
        if self.exchange is not None:
            return self.exchange.least(self._numbers(state))[0]
        alike = tuple(frozenset(counted.items()) for counted in self._counted(state))
        return tuple(state[k] for k in self.others), alike

    def size(self, state: State) -> int:
        """How many states there are in the orbit of a state."""
        if self.exchange is not None:
            return self.exchange.least(self._numbers(state))[1]
        return prod(
            factorial(group.size) // prod(factorial(n) for n in counted.values())
            for group, counted in zip(self.groups, self._counted(state), strict=True)
        )

    def images(self, state: State) -> tuple[State, ...]:
        """The states of an orbit, this one first."""
        if self.exchange is not None:
            return tuple(map(self._values, self.exchange.images(self._numbers(state))))
        return tuple(dict.fromkeys(move(state) for move in self.moves))


def takes_permuted_steps(orbits: Orbits, state: State) -> None:
    """Raises `AsymmetryError` unless each permutation of a state takes the permuted steps of the
    state, with the same outcomes of rules, and breaks the same step invariants: what symmetry
    means.
    """
    Taken = tuple[State, tuple[tuple[str, int], ...], frozenset[str]]

    def steps(of: State, move: Move) -> Counter[Taken]:
        found: Counter[Taken] = Counter()
        for step, broken in orbits.see.steps(of):
            fired = Counter(f.name for f in (step.firing, *step.urgent))
            names = frozenset(p.name for p in broken)
            found[move(step.state), tuple(sorted(fired.items())), names] += 1
        return found

    for move in orbits.moves:
        here, there = steps(state, move), steps(move(state), lambda after: after)
        if here != there:
            (_, fired, _), *_ = (here - there) or (there - here)
            names = ", ".join(name for name, _ in fired)
            do = "let these rules treat all elements alike"
            raise AsymmetryError(f"a permuted state takes other steps: {names} ({do})")
