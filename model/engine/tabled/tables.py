"""The tables of a spec: which rules, views and predicates are looked up together, by which inputs.

Everything that reads the same places shares one table: one look-up a state. Tables are numbered
ordinary rules first, then urgent rules (in the order in which they apply), views, predicates over
slots, predicates over views.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from attrs import frozen

from groupcheck.model.engine.binding import Instance
from groupcheck.model.engine.promises import ALL, SOME, Predicate, StepInvariant
from groupcheck.model.engine.signature import EVERY
from groupcheck.model.engine.spec import Spec
from groupcheck.model.engine.step import Semantics

Binding = tuple[tuple[str, int], ...]  # index variables with their values
Element = tuple[str, int | None]  # a slot or view, and which element of it
Case = tuple[dict[str, int], tuple[int, ...]]  # a case, and the places that are read in it
CasedPredicate = tuple[Predicate, tuple[Case, ...]]  # a predicate with its cases
MOST_KINDS = 1 << 16
BITS = 64  # of the masks that say which urgent tables or predicates an outcome concerns

# What a parameter takes its value from: the number of a place, or from the number of places on that
# of a view instance; of a whole array all of them.
Source = int | tuple[int, ...]


@frozen
class ViewInstance:
    """A view at one index. The answer of a predicate for one choice of all its indexes counts as
    one, where the predicate asks whether it is true of some (or all) of them.
    """

    view: Predicate
    # Its index variables with their values.
    binding: Binding
    # The places that it reads in the end, ascending.
    places: tuple[int, ...]
    # Where its parameters take their values from; None for a view of other views, which is
    # evaluated from the state.
    sources: tuple[Source, ...] | None


@frozen
class Bound:
    """A predicate in one case: with values for the index variables that are quantified as usual."""

    predicate: Predicate
    case: Binding
    # How indexes are quantified that it says nothing about: "all" or "some".
    usual: str
    # Where its parameters take their values from; None where other variables are left.
    sources: tuple[Source, ...] | None
    # Each choice of values for the variables that are left, with the view instance that answers.
    answers: tuple[tuple[Binding, int], ...] = ()


@frozen
class Table:
    """The functions that are looked up together: rules, or a view, or predicates."""

    # Places of a state, or for predicates over views also places + number of a view instance;
    # ascending.
    inputs: tuple[int, ...]
    members: tuple[Instance, ...] = ()
    bound: tuple[Bound, ...] = ()
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
    ends: tuple[CasedPredicate, ...]
    constraints: tuple[CasedPredicate, ...]

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
        key = tuple(sorted(instance.where)), 0
        while apart and any(other.rule is instance.rule for other in groups.get(key, ())):
            key = key[0], key[1] + 1
        groups.setdefault(key, []).append(instance)
    return [Table(inputs, tuple(members)) for (inputs, _), members in groups.items()]


def _in_order(instances: Iterable[Instance]) -> list[Table]:
    """Urgent rules apply in a fixed order: only neighbours may share a table."""
    tables: list[Table] = []
    for instance in instances:
        inputs = tuple(sorted(instance.where))
        if tables and tables[-1].inputs == inputs:
            tables[-1] = Table(inputs, (*tables[-1].members, instance))
        else:
            tables.append(Table(inputs, (instance,)))
    return tables


class Views:
    """View instances as predicates name them, numbered in order of first use."""

    def __init__(self, see: Semantics) -> None:
        self.see = see
        self.numbers: dict[tuple[int, Binding], int] = {}
        self.instances: list[ViewInstance] = []

    def is_whole(self, p: Predicate) -> bool:
        """Does it read the whole state, itself or through a view?"""
        return p.whole or any(
            self.is_whole(self.see.views[name]) for name, _ in p.places if name in self.see.views
        )

    def elements(self, p: Predicate, binding: Mapping[str, int]) -> Iterator[list[Element]]:
        """The slots and views that each parameter of a predicate stands for, with their indexes."""
        for place in p.places:
            name, index = place[0], self.see.element(p, place, binding)
            size = self.see.size(name)
            indexes = range(size) if index is None and size is not None else [index]
            yield [(name, k) for k in indexes]

    def sources(self, p: Predicate, binding: Mapping[str, int]) -> tuple[Source, ...]:
        """Where the parameters of a predicate or view take their values from."""
        return tuple(
            tuple(self.source(*e) for e in elements)
            if place[1] == EVERY
            else self.source(*elements[0])
            for place, elements in zip(p.places, self.elements(p, binding))
        )

    def source(self, name: str, index: int | None) -> int:
        """The number of a place, or number of places + that of a view instance."""
        if name not in self.see.views:
            return self.see.at[name, index]
        view = self.see.views[name]
        variables = self.see.indexing(view).sizes if index is not None else {}
        return self.instance(view, {v: index for v in variables if index is not None})

    def instance(self, view: Predicate, binding: Mapping[str, int]) -> int:
        """Number of places + the number of a view instance, a new one at its first use."""
        key = (id(view), tuple(binding.items()))
        if key not in self.numbers:
            self.numbers[key] = len(self.instances)
            places = self.reads(view, binding)
            is_plain = not any(name in self.see.views for name, _ in view.places)
            sources = self.sources(view, binding) if is_plain else None
            self.instances.append(ViewInstance(view, key[1], places, sources))
        return len(self.see.places) + self.numbers[key]

    def reads(self, p: Predicate, binding: Mapping[str, int]) -> tuple[int, ...]:
        """The places that a predicate reads in the end, with these values of its variables."""
        if self.is_whole(p):
            return tuple(range(len(self.see.places)))
        elements = [e for some in self.elements(p, binding) for e in some]
        return tuple(sorted({k for name, index in elements for k in self.places(name, index)}))

    def places(self, name: str, index: int | None) -> tuple[int, ...]:
        """The places that a slot or view reads, those of inner views included."""
        if name not in self.see.views:
            return (self.see.at[name, index],)
        view = self.see.views[name]
        variables = self.see.indexing(view).sizes if index is not None else {}
        return self.reads(view, {v: index for v in variables if index is not None})

    def cases(self, p: Predicate, usual: str) -> Iterator[Bound]:
        """A predicate in each of its cases."""
        variables = self.see.indexing(p).sizes
        for case in self.see.cases(p, usual):
            of = tuple(case.items())
            if len(case) == len(variables):
                yield Bound(p, of, usual, self.sources(p, case))
                continue
            left = [v for _, v in self.see.quantified(p, usual) if v not in case]
            every = [*self.see.indexing(p).extended(case, left)]
            answers = tuple((tuple(b.items()), self.instance(p, b)) for b in every)
            yield Bound(p, of, usual, None, answers)


def inputs_of(bound: Bound) -> tuple[int, ...]:
    """The inputs of a predicate in one case, ascending; the first place where it reads nothing."""
    answers = tuple(number for _, number in bound.answers)
    sources = answers if bound.sources is None else bound.sources
    every = {k for s in sources for k in ((s,) if isinstance(s, int) else s)}
    return tuple(sorted(every or {0}))


def tables_of(spec: Spec) -> Tables:
    """The tables of a spec."""
    see = Semantics(spec)
    views = Views(see)
    given = [(p, ALL) for p in spec.invariants if not isinstance(p, StepInvariant)]
    given += [(g, SOME) for g in spec.goals]
    bound: dict[tuple[int, ...], list[Bound]] = {}
    constant = tuple(p for p, _ in given if not p.places or views.is_whole(p))
    for p, usual in given:
        if p not in constant:
            for case in views.cases(p, usual):
                bound.setdefault(inputs_of(case), []).append(case)
    of_predicates = [Table(inputs, bound=tuple(members)) for inputs, members in bound.items()]
    plain = [t for t in of_predicates if all(k < len(see.places) for k in t.inputs)]
    viewed = [t for t in of_predicates if t not in plain]
    ordinary, urgent = _by_inputs(see.ordinary, bool(spec.fair)), _in_order(see.urgent)
    of_views = [Table(v.places, view=v) for v in views.instances]
    to_urgent = len(ordinary) + len(urgent)
    to_views = to_urgent + len(of_views)
    every = (*ordinary, *urgent, *of_views, *plain, *viewed)
    labels = tuple(name for r in spec.rules for name in r.names)

    def asked(given: Iterable[Predicate]) -> tuple[CasedPredicate, ...]:
        return tuple((p, tuple(_reading(views, p, ALL))) for p in given)

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


def reads_of(see: Semantics) -> Callable[[Predicate, Mapping[str, int]], tuple[int, ...]]:
    """The function that tells the places that a predicate reads in the end, for one binding."""
    return Views(see).reads


def cases_of(see: Semantics, p: Predicate, usual: str) -> list[Case]:
    """The cases of a predicate, and the places that it reads in each of them."""
    return list(_reading(Views(see), p, usual))


def _reading(views: Views, p: Predicate, usual: str) -> Iterator[Case]:
    see = views.see
    return ((case, _read_in(views, p, case)) for case in see.cases(p, usual))


def _read_in(views: Views, p: Predicate, case: Mapping[str, int]) -> tuple[int, ...]:
    see = views.see
    left = [v for _, v in see.quantified(p, ALL) if v not in case]
    reads = [views.reads(p, b) for b in see.indexing(p).extended(case, left)]
    return tuple(sorted({k for places in reads for k in places}))


def group_of(number: int, total: int) -> int:
    """The bit that stands for one of `total` tables in a mask: itself, or where there are too many,
    a bit shared with its neighbours.
    """
    return number if total <= BITS else number * BITS // total


def read_by(see: Semantics, p: Predicate, binding: dict[str, int]) -> tuple[int, ...]:
    """The places that a predicate reads in the end in one case."""
    return _read_in(Views(see), p, binding)
