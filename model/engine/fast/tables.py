"""The tables of a spec: which rules, views and predicates are looked up together, by which inputs.

Everything that reads the same places shares one table: one look-up a state. Tables are numbered
ordinary rules first, then urgent rules (in the order in which they apply), views, predicates over
slots, predicates over views.
"""

from __future__ import annotations

from collections.abc import Iterable

from attrs import frozen

from groupcheck.model.engine.errors import SpecError
from groupcheck.model.engine.promises import Predicate, StepInvariant
from groupcheck.model.engine.rule import Rule
from groupcheck.model.engine.spec import Spec
from groupcheck.model.engine.step import Semantics

Instance = tuple[Rule, int, tuple[int, ...]]  # a rule, its index, its places
MOST_KINDS = 1 << 16
BITS = 64  # of the masks that say which urgent tables or predicates an outcome concerns


@frozen
class ViewInstance:
    """A view at one index (None: a view of single slots), and the places that it reads
    in the end.
    """

    view: Predicate
    index: int | None
    places: tuple[int, ...]


@frozen
class Table:
    """`inputs`: places of a state, or for viewed tables also places + number of a view instance;
    ascending.

    `members` are rule instances, `bound` predicates with the values of their index variables,
    `view` a view instance.
    """

    inputs: tuple[int, ...]
    members: tuple[Instance, ...] = ()
    bound: tuple[tuple[Predicate, tuple[tuple[str, int], ...]], ...] = ()
    view: ViewInstance | None = None


@frozen
class Tables:
    """All tables of a spec: `all[:ordinary]`, `all[ordinary:urgent]`, `all[urgent:views]`,
    `all[views:plain]`, `all[plain:]` (viewed predicates).
    """

    see: Semantics
    all: tuple[Table, ...]
    ordinary: int
    urgent: int
    views: int
    plain: int
    instances: tuple[ViewInstance, ...]
    labels: tuple[str, ...]
    constant: tuple[Predicate, ...]  # predicates of the whole state, or of nothing: no table
    ends: tuple[
        tuple[Predicate, tuple[tuple[dict[str, int], tuple[int, ...]], ...]], ...
    ]  # each with its bindings and the places then read

    @property
    def rules(self) -> tuple[Table, ...]:
        return self.all[: self.urgent]

    @property
    def predicates(self) -> tuple[Table, ...]:
        return self.all[self.views :]

    def read(self, table: Table) -> frozenset[int]:
        """The places that a table depends on, through views too."""
        n = len(self.see.places)
        through = (self.instances[k - n].places if k >= n else (k,) for k in table.inputs)
        return frozenset(place for places in through for place in places)


def _by_inputs(instances: Iterable[Instance]) -> list[Table]:
    groups: dict[tuple[int, ...], list[Instance]] = {}
    for instance in instances:
        groups.setdefault(tuple(sorted(instance[2])), []).append(instance)
    return [Table(inputs, tuple(members)) for inputs, members in groups.items()]


def _in_order(instances: Iterable[Instance]) -> list[Table]:
    """Urgent rules apply in a fixed order: only neighbours may share a table."""
    tables: list[Table] = []
    for instance in instances:
        inputs = tuple(sorted(instance[2]))
        if tables and tables[-1].inputs == inputs:
            tables[-1] = Table(inputs, (*tables[-1].members, instance))
        else:
            tables.append(Table(inputs, (instance,)))
    return tables


class _Views:
    """View instances as predicates name them, numbered in order of first use."""

    def __init__(self, see: Semantics) -> None:
        self.see = see
        self.numbers: dict[tuple[str, int | None], int] = {}
        self.instances: list[ViewInstance] = []

    def is_whole(self, p: Predicate) -> bool:
        """Does it read the whole state, itself or through a view?"""
        return p.whole or any(
            self.is_whole(self.see.views[name]) for name, _ in p.places if name in self.see.views
        )

    def size(self, name: str) -> int | None:
        if name in self.see.views:
            return next(
                (s for n, _ in self.see.views[name].places if (s := self.size(n)) is not None), None
            )
        return self.see.spec.slots[name].size

    def inputs(self, p: Predicate, binding: dict[str, int]) -> set[int]:
        """The inputs of a predicate or view for one binding: places, or places + number of a view
        instance.
        """
        only = next(iter(binding.values())) if len(binding) == 1 else None
        out = set()
        for name, var in p.places:
            index = binding.get(var or "i", only) if self.size(name) is not None else None
            if self.size(name) is not None and index is None:
                raise SpecError(f"the index of {name!r} is not bound", where=f"predicate {p.name}")
            out.add(
                len(self.see.places) + self.number(name, index)
                if name in self.see.views
                else self.see.at[name, index]
            )
        return out

    def reads(self, p: Predicate, binding: dict[str, int]) -> tuple[int, ...]:
        """The places that a predicate reads in the end, for one binding."""
        if self.is_whole(p):
            return tuple(range(len(self.see.places)))
        found: set[int] = set()
        only = next(iter(binding.values())) if len(binding) == 1 else None
        for name, var in p.places:
            index = binding.get(var or "i", only) if self.size(name) is not None else None
            found.update(
                self.places(self.see.views[name], index)
                if name in self.see.views
                else [self.see.at[name, index]]
            )
        return tuple(sorted(found))

    def number(self, name: str, index: int | None) -> int:
        key = (name, index)
        if key not in self.numbers:
            view = self.see.views[name]
            places = self.places(view, index)
            self.numbers[key] = len(self.instances)
            self.instances.append(ViewInstance(view, index, places))
        return self.numbers[key]

    def places(self, view: Predicate, index: int | None) -> tuple[int, ...]:
        """The places that a view reads, those of inner views included."""
        found: set[int] = set()
        for name, _ in view.places:
            at = index if self.size(name) is not None else None
            found.update(
                self.places(self.see.views[name], at)
                if name in self.see.views
                else [self.see.at[name, at]]
            )
        return tuple(sorted(found))


def tables_of(spec: Spec) -> Tables:
    """The tables of a spec."""
    see = Semantics(spec)
    views = _Views(see)
    predicates = [p for p in (*spec.invariants, *spec.goals) if not isinstance(p, StepInvariant)]
    bound: dict[tuple[int, ...], list[tuple[Predicate, tuple[tuple[str, int], ...]]]] = {}
    constant = tuple(p for p in predicates if not p.places or views.is_whole(p))
    for p in predicates:
        if p not in constant:
            for binding in see.instances(p):
                bound.setdefault(tuple(sorted(views.inputs(p, binding))), []).append(
                    (p, tuple(binding.items()))
                )
    of_predicates = [Table(inputs, bound=tuple(members)) for inputs, members in bound.items()]
    plain = [t for t in of_predicates if all(k < len(see.places) for k in t.inputs)]
    viewed = [t for t in of_predicates if t not in plain]
    ordinary, urgent = _by_inputs(see.ordinary), _in_order(see.urgent)
    of_views = [Table(v.places, view=v) for v in views.instances]
    to_urgent = len(ordinary) + len(urgent)
    to_views = to_urgent + len(of_views)
    every = (*ordinary, *urgent, *of_views, *plain, *viewed)
    labels = tuple(name for r in spec.rules for name in r.names)
    resting = tuple((e, tuple((b, views.reads(e, b)) for b in see.instances(e))) for e in spec.ends)
    return Tables(
        see,
        every,
        len(ordinary),
        to_urgent,
        to_views,
        to_views + len(plain),
        tuple(views.instances),
        labels,
        constant,
        resting,
    )


def group_of(number: int, total: int) -> int:
    """The bit that stands for one of `total` tables in a mask: itself, or where there are too many,
    a bit shared with its neighbours.
    """
    return number if total <= BITS else number * BITS // total
