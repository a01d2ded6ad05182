"""The facts that the kernels need to know of a spec's tables: numbers alone, so that a process
without the spec (on another machine) can run them.

A kind of outcome is a table, a label and a set of changed inputs; it says what must be looked at
afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from attrs import frozen

from groupcheck.model.engine.errors import UserError
from groupcheck.model.engine.fast.kernels.registers import INDEXED, LOCAL, PLAIN, VISIT
from groupcheck.model.engine.fast.layout import Blocks
from groupcheck.model.engine.pools import Pool
from groupcheck.model.engine.symmetry import NO_SYMMETRY, Orbits, Symmetry
from groupcheck.model.engine.tabled.guards import Guards
from groupcheck.model.engine.tabled.rows import GuardValues, Member
from groupcheck.model.engine.tabled.tables import MOST_KINDS, Tables, group_of

CHANGE_BITS = 6  # an outcome's kind says which inputs changed, input i at bit i % 6


@frozen
class Ordered:
    """How urgent tables bear permutations (see `kernels/walks.py`)."""

    # Of each urgent table what it is, and the last table of the same rule.
    kinds: tuple[int, ...]
    siblings: tuple[int, ...]
    # The tables of walks, each with its index; and the group that they are over.
    visits: tuple[tuple[int, int], ...]
    group: int
    # The places of slots that direct walks.
    directing: tuple[int, ...]


@frozen
class Shape:
    """The facts that the kernels need to know; tables are in the order of `Tables.all`."""

    # The name of the spec.
    name: str
    # How many places a state has, and how many view instances there are.
    places: int
    views: int
    # Of every table the places that it reads; from `places` on they are view instances.
    inputs: tuple[tuple[int, ...], ...]
    # Where each kind of table ends, as in `Tables`.
    to_ordinary: int
    to_urgent: int
    to_views: int
    to_plain: int
    # How many labels there are.
    labels: int
    # The first kind of an outcome, by table and label.
    kind_bases: Sequence[Sequence[int]]
    # Of each kind its label.
    kind_labels: Sequence[int]
    # Of each kind the predicates that must be looked at afterwards, as bits.
    kind_needs: Sequence[int]
    # Of each kind the urgent tables that it may make possible, as bits.
    kind_urgent: Sequence[int]
    # Of each bit of predicates the views that they read, as bits.
    view_needs: Sequence[int]
    # For each chunk of 64 ordinary tables, and last for the urgent ones: the tables without a
    # guard, as bits, and the places that the guards of the others read.
    unguarded: tuple[int, ...]
    columns: tuple[tuple[int, ...], ...]
    # The places that the declared ends read.
    ends: tuple[int, ...]
    # Symmetry: of each group, of each index, the places that are permuted together.
    blocks: tuple[tuple[tuple[int, ...], ...], ...] = ()
    # How urgent tables bear permutations; None without symmetry.
    ordered: Ordered | None = None

    @property
    def rules(self) -> int:
        """Tables of rules."""
        return self.to_urgent

    @property
    def predicates(self) -> int:
        return len(self.inputs) - self.to_views

    @property
    def ends_of_orbits(self) -> tuple[int, ...]:
        """The places that the declared ends read in some permutation of a state."""
        alike = alike_in(self.blocks)
        return tuple(sorted({p for place in self.ends for p in (place, *alike.get(place, ()))}))

    @property
    def has_urgent(self) -> bool:
        return self.to_urgent > self.to_ordinary


class Values(Protocol):
    """The facts that are known of the values of places and views: how many there are, and which
    guards they let through.
    """

    def counts(self) -> list[int]:
        """Values so far, of each place, then of each view."""

    def refresh(self) -> None:
        """Evaluates guards for values met since."""

    def open_tables(self, column: int, first: int) -> Sequence[int]:
        """For the values from number `first` on of a guarded place, the tables that are open, as
        bits. Columns are counted over all chunks.
        """

    def directed(self, number: int, first: int) -> Sequence[int]:
        """For the values from number `first` on of a slot that directs walks: 1 if it names some
        indexes, but not all.
        """


Alike = Mapping[int, frozenset[int]]  # place -> the places that may change in its stead
NONE_ALIKE: Alike = {}


def alike_in(blocks: Blocks) -> Alike:
    """Of each place in the blocks those that permutations may put in its stead."""
    return {
        place: frozenset(block[k] for block in group)
        for group in blocks
        for of in group
        for k, place in enumerate(of)
    }


def _concerned(
    changed: int,
    inputs: tuple[int, ...],
    tables: Sequence[tuple[int, frozenset[int]]],
    alike: Alike = NONE_ALIKE,
) -> int:
    """The bits of tables that read an input of which the kind says that it changed."""
    own = {k for i, k in enumerate(inputs) if changed >> i % CHANGE_BITS & 1}
    places = own.union(*(alike.get(k, ()) for k in own))
    mask = 0
    for bit, reads in tables:
        if reads & places:
            mask |= 1 << bit
    return mask


def _kinds(t: Tables, alike: Alike) -> tuple[list[list[int]], list[int], list[int], list[int]]:
    """The four fields of a shape that are about kinds."""
    predicates = [
        (group_of(k, len(t.predicates)), t.read(table)) for k, table in enumerate(t.predicates)
    ]
    urgent = t.all[t.ordinary : t.urgent]
    possible = [
        (group_of(k, len(urgent)), frozenset(table.inputs)) for k, table in enumerate(urgent)
    ]
    numbering = {name: n for n, name in enumerate(t.labels)}
    bases = [[0] * len(t.labels) for _ in t.rules]
    needs: list[int] = []
    chains: list[int] = []
    labels: list[int] = []
    for k, table in enumerate(t.rules):
        subsets = 1 << min(CHANGE_BITS, len(table.inputs))
        concerned = [_concerned(c, table.inputs, predicates, alike) for c in range(subsets)]
        after = [_concerned(c, table.inputs, possible) for c in range(subsets)]
        for name in dict.fromkeys(n for i in table.members for n in i.rule.names):
            bases[k][numbering[name]] = len(needs)
            needs += concerned
            chains += after
            labels += [numbering[name]] * subsets
    if len(needs) >= MOST_KINDS:
        what = f"the rules have {len(needs):,} kinds of outcome, {MOST_KINDS:,} are possible"
        raise UserError(what, where=t.see.spec.name, do="use fewer labels or indexes")
    return bases, labels, needs, chains


def guarded_by(t: Tables, members: Sequence[Sequence[Member]]) -> tuple[Guards, ...]:
    """The guards of each chunk of 64 ordinary tables, and last of the urgent ones. `members`: the
    rules of each table.
    """
    n, urgent = t.ordinary, t.urgent - t.ordinary
    ordinary = [Guards(members[k : min(k + 64, n)]) for k in range(0, n, 64)]
    return *ordinary, Guards(members[n : t.urgent], lambda k: 1 << group_of(k, urgent))


def _ordered(t: Tables, symmetry: Symmetry, orbits: Orbits) -> Ordered:
    """How the urgent tables of a spec bear permutations."""
    index_of = {place: (g, i) for g, group in enumerate(orbits.blocks)
                for i, block in enumerate(group) for place in block}  # fmt: skip
    urgent = t.all[t.ordinary : t.urgent]
    first = t.ordinary
    kinds: list[int] = []
    siblings: list[int] = []
    visits: list[tuple[int, int]] = []
    group = 0
    for k, table in enumerate(urgent):
        rule = table.members[0].rule
        own = {index_of[place] for place in table.inputs if place in index_of}
        singles = [place for place in table.inputs if place not in index_of]
        is_first = all(kind == LOCAL for kind in kinds)
        if not own:
            kinds.append(PLAIN)
        elif rule.guard and rule.guard.takes:
            kinds.append(VISIT)
            (group, index), *_ = own
            visits.append((first + k, index))
        else:
            is_alone = len(own) == 1 and not singles
            kinds.append(LOCAL if is_first and is_alone else INDEXED)
        same = [n for n, other in enumerate(urgent) if other.members[0].rule is rule]
        siblings.append(first + (same[-1] if own else k))
    directing = tuple(t.see.at[name, None] for name in symmetry.directing)
    return Ordered(tuple(kinds), tuple(siblings), tuple(visits), group, directing)


def shape_of(
    t: Tables,
    guarded: Sequence[Guards],
    symmetry: Symmetry = NO_SYMMETRY,
    orbits: Orbits | None = None,
) -> Shape:
    """The shape of a spec's tables."""
    blocks = orbits.blocks if orbits is not None else ()
    alike = alike_in(blocks)
    n = len(t.see.places)
    view_needs = [0] * 64
    for k, table in enumerate(t.predicates):
        for place in table.inputs:
            if place >= n:
                view_needs[group_of(k, len(t.predicates))] |= 1 << (place - n) % 64
    ends = sorted({place for _, bindings in t.ends for _, read in bindings for place in read})
    return Shape(
        t.see.spec.name,
        n,
        len(t.instances),
        tuple(table.inputs for table in t.all),
        t.ordinary,
        t.urgent,
        t.views,
        t.plain,
        len(t.labels),
        *_kinds(t, alike),
        view_needs,
        tuple(guards.always for guards in guarded),
        tuple(tuple(guards.read) for guards in guarded),
        tuple(ends),
        blocks,
        _ordered(t, symmetry, orbits) if orbits is not None else None,
    )


class Known:
    """The `Values` of a search's pools. `extend` evaluates guards for new values. `asking`: of each
    slot that directs walks the guards that read it, of each rule those of all indexes.
    """

    def __init__(
        self,
        guarded: Sequence[Guards],
        pools: Sequence[Pool],
        views: Sequence[Pool],
        extend: Callable[[], None],
        asking: Sequence[Sequence[Sequence[GuardValues]]] = (),
    ) -> None:
        self._asking = asking
        self.refresh = extend
        self._pools = [*pools, *views]
        self._columns = [(guards, place) for guards in guarded for place in guards.read]

    def counts(self) -> list[int]:
        return [len(pool.values) for pool in self._pools]

    def open_tables(self, column: int, first: int) -> Sequence[int]:
        guards, place = self._columns[column]
        return guards.masks(place, first)

    def directed(self, number: int, first: int) -> Sequence[int]:
        by_rule = [list(zip(*(guard.open[first:] for guard in of))) for of in self._asking[number]]
        return [int(any(any(opens) and not all(opens) for opens in each)) for each in zip(*by_rule)]


def asking(
    t: Tables, members: Sequence[Sequence[Member]], symmetry: Symmetry
) -> list[list[list[GuardValues]]]:
    """Of each slot that directs walks the guards that read it, of each rule those of all
    indexes.
    """
    out = []
    for name in symmetry.directing:
        place, by_rule = t.see.at[name, None], dict[str, list[GuardValues]]()
        for member in (m for table in members for m in table):
            guard = member.rule.guard
            if guard and guard.takes and member.where[member.guard_at] == place:
                assert member.guard is not None
                by_rule.setdefault(member.rule.name, []).append(member.guard)
        out.append(list(by_rule.values()))
    return out
