"""The tables of a spec: which rules, views and predicates are looked up together, by which inputs.

Everything that reads the same places shares one table: one look-up a state. Tables are numbered
ordinary rules first, then urgent rules (in the order in which they apply), views, predicates over
slots, predicates over views.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from attrs import frozen

from groupcheck.model.engine.errors import SpecError
from groupcheck.model.engine.promises import Predicate, StepInvariant
from groupcheck.model.engine.rule import Rule
from groupcheck.model.engine.spec import Spec
from groupcheck.model.engine.step import Semantics

Instance = tuple[Rule, int, tuple[int, ...]]  # a rule, its index, its places
# A predicate with its bindings, and the places that it reads for each of them.
Asked = tuple[Predicate, tuple[tuple[dict[str, int], tuple[int, ...]], ...]]
MOST_KINDS = 1 << 16
BITS = 64  # of the masks that say which urgent tables or predicates an outcome concerns


@frozen
class ViewInstance:
    """A view at one index."""

    view: Predicate
    # None: a view of single slots.
    index: int | None
    # The places that it reads in the end, ascending.
    places: tuple[int, ...]


@frozen
class Table:
    """What is looked up together: rules, or a view, or predicates."""

    # Places of a state, or for predicates over views also places + number of a view instance;
    # ascending.
    inputs: tuple[int, ...]
    members: tuple[Instance, ...] = ()
    # Predicates with the values of their index variables.
    bound: tuple[tuple[Predicate, tuple[tuple[str, int], ...]], ...] = ()
    view: ViewInstance | None = None


@frozen
class Tables:
    """All tables of a spec."""

    see: Semantics
    all: tuple[Table, ...]
    # Where each kind of table ends in `all`: ordinary rules, urgent rules, views, predicates over
    # slots. The rest are predicates over views.
    ordinary: int
    urgent: int
    views: int
    plain: int
    # In the order of their tables.
    instances: tuple[ViewInstance, ...]
    # The names under which outcomes are counted.
    labels: tuple[str, ...]
    # Predicates of the whole state, or of nothing; they have no table.
    constant: tuple[Predicate, ...]
    ends: tuple[Asked, ...]
    constraints: tuple[Asked, ...]

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


def _by_inputs(instances: Iterable[Instance], apart: bool) -> list[Table]:
    """`apart`: instances of one rule never share a table, so that table and label tell them."""
    groups: dict[tuple[tuple[int, ...], int], list[Instance]] = {}
    for instance in instances:
        key = tuple(sorted(instance[2])), 0
        while apart and any(other[0] is instance[0] for other in groups.get(key, ())):
            key = key[0], key[1] + 1
        groups.setdefault(key, []).append(instance)
    return [Table(inputs, tuple(members)) for (inputs, _), members in groups.items()]


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

    def indexes(self, p: Predicate, binding: dict[str, int]) -> list[tuple[str, int | None]]:
        """The slots and views that a predicate names, each with its index for one binding."""
        only = next(iter(binding.values())) if len(binding) == 1 else None
        out = []
        for name, var in p.places:
            is_array = self.see.size(name) is not None
            index = binding.get(var or "i", only) if is_array else None
            if is_array and index is None:
                raise SpecError(f"the index of {name!r} is not bound", where=f"predicate {p.name}")
            out.append((name, index))
        return out

    def inputs(self, p: Predicate, binding: dict[str, int]) -> set[int]:
        """The inputs of a predicate or view for one binding: places, or places + number of a view
        instance.
        """
        return {
            len(self.see.places) + self.number(name, index)
            if name in self.see.views
            else self.see.at[name, index]
            for name, index in self.indexes(p, binding)
        }

    def reads(self, p: Predicate, binding: dict[str, int]) -> tuple[int, ...]:
        """The places that a predicate reads in the end, for one binding."""
        if self.is_whole(p):
            return tuple(range(len(self.see.places)))
        named = self.indexes(p, binding)
        return tuple(sorted({k for name, index in named for k in self.places(name, index)}))

    def number(self, name: str, index: int | None) -> int:
        """The number of a view instance, a new one at its first use."""
        if (name, index) not in self.numbers:
            self.numbers[name, index] = len(self.instances)
            places = tuple(sorted(self.places(name, index)))
            self.instances.append(ViewInstance(self.see.views[name], index, places))
        return self.numbers[name, index]

    def places(self, name: str, index: int | None) -> set[int]:
        """The places that a slot or view reads, those of inner views included."""
        at = index if self.see.size(name) is not None else None
        if name not in self.see.views:
            return {self.see.at[name, at]}
        return {k for inner, _ in self.see.views[name].places for k in self.places(inner, at)}


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
    ordinary, urgent = _by_inputs(see.ordinary, bool(spec.fair)), _in_order(see.urgent)
    of_views = [Table(v.places, view=v) for v in views.instances]
    to_urgent = len(ordinary) + len(urgent)
    to_views = to_urgent + len(of_views)
    every = (*ordinary, *urgent, *of_views, *plain, *viewed)
    labels = tuple(name for r in spec.rules for name in r.names)

    def asked(given: Iterable[Predicate]) -> tuple[Asked, ...]:
        return tuple((p, tuple((b, views.reads(p, b)) for b in see.instances(p))) for p in given)

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
        asked(spec.ends),
        asked(spec.constraints),
    )


def reads_of(see: Semantics) -> Callable[[Predicate, dict[str, int]], tuple[int, ...]]:
    """What tells the places that a predicate reads in the end, for one binding."""
    return _Views(see).reads


def group_of(number: int, total: int) -> int:
    """The bit that stands for one of `total` tables in a mask: itself, or where there are too many,
    a bit shared with its neighbours.
    """
    return number if total <= BITS else number * BITS // total


def read_by(see: Semantics, p: Predicate, binding: dict[str, int]) -> tuple[int, ...]:
    """The places that a predicate reads in the end, for one binding."""
    return _Views(see).reads(p, binding)
