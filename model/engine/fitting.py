"""Does a `Spec` fit together? What does not, and what could never be evaluated and so would pass
for true, is a `SpecError`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from numbers import Integral, Number
from typing import Any
from weakref import WeakValueDictionary

from groupcheck.model.engine.binding import arrays_of, indexing, instances, looks
from groupcheck.model.engine.errors import SpecError, shown
from groupcheck.model.engine.functions import brief
from groupcheck.model.engine.pools import Pool, flaw
from groupcheck.model.engine.progress import PROMISE, Fairness, Liveness
from groupcheck.model.engine.promises import Predicate, StepInvariant
from groupcheck.model.engine.refinement import Refinement
from groupcheck.model.engine.rule import Rule
from groupcheck.model.engine.signature import EVERY, parted
from groupcheck.model.engine.slot import Slot, choices, type_names
from groupcheck.model.engine.verdict import DEADLOCK

PROGRESS = "@eventually, @infinitely_often, @settles, @leads_to or @always_possible"
RESERVED = ("me", "scope", "state")  # parameters with a meaning of their own
MOST_STARTS = 1_000_000  # initial states


Parts = Any  # a `Spec`: its own file imports this one

# Rules that are known to fit beside slots of these sizes and views of these names, by their `id`:
# their functions need not be hashable. Features build a spec in many steps, and most rules stay.
_FITTING: WeakValueDictionary[tuple[int, Any, Any], Rule] = WeakValueDictionary()


def fit(spec: Parts) -> None:
    """Raises `SpecError` for what does not fit."""
    _slots(spec)
    _initial(spec)
    for r in spec.rules:
        _must_be(r, Rule, "rule", spec.name, "@rule or @urgent")
    decorators = "@invariant, @goal, @end, @constraint or @view"
    for p in spec.invariants:
        _must_be(p, (Predicate, StepInvariant), "predicate", "invariants", decorators)
    for what in ("goals", "ends", "constraints", "views"):
        for p in getattr(spec, what):
            _must_be(p, Predicate, "predicate", what, decorators)
    for given in spec.refinements:
        _must_be(given, Refinement, "refinement", "refinements", "refines(smaller, {...})", "write")
    known = {*spec.slots, *(v.name for v in spec.views), "state"}
    for f in spec.fair:
        _must_be(f, Fairness, "fairness", "fair", "weak(rule) or weak_any(rule)", "write")
        _fair(spec, f)
    for p in spec.progress:
        _must_be(p, Liveness, PROMISE, "progress", PROGRESS)
    of_runs = [p for promise in spec.progress for p in promise.predicates]
    predicates = [
        p
        for p in (*spec.views, *spec.invariants, *spec.goals, *spec.ends, *spec.constraints)
        if isinstance(p, Predicate)
    ] + of_runs
    for p in predicates:
        for name, _ in p.places:
            if name not in known:
                raise SpecError(
                    f"{name!r} is not a slot or view; there are {', '.join(sorted(known))}",
                    where=f"predicate {p.name}",
                )
    _views(spec)
    sizes = tuple((name, slot.size) for name, slot in spec.slots.items())
    views = tuple(v.name for v in spec.views)
    for r in spec.rules:
        if (id(r), sizes, views) not in _FITTING:
            _rule(spec, r)
            _FITTING[id(r), sizes, views] = r
    for p in predicates:
        _predicate(spec, p)
    for promise in spec.progress:
        where = f"{PROMISE} {promise.name}"
        if len({p.own for p in promise.predicates if _reads(spec, p)}) > 1:
            raise SpecError(
                "one of its functions calls its own index me, the other i",
                where=where,
                do="use one name in both",
            )
        _sizes(where, _reads(spec, promise.bound), "use different names for their indexes")
    for p in spec.invariants:
        if isinstance(p, StepInvariant):
            _step_invariant(spec, p)
    _refinements(spec, known)
    _must_be_slots(spec.channels, spec, "channels")
    _names(spec)


def _must_be(
    p: Any, kinds: Any, what: str, where: str, made: str, do: str = "decorate the function with"
) -> None:
    if not isinstance(p, kinds):
        is_named = isinstance(p, (Rule, Predicate, StepInvariant, Liveness))
        text = f"{type(p).__name__} {p.name}" if is_named else shown(p)
        raise SpecError(f"{text} is not a {what}", where=where, do=f"{do} {made}")


def _must_be_slots(names: Iterable[str], spec: Parts, where: str) -> None:
    for name in names:
        if name not in spec.slots:
            slots = ", ".join(spec.slots)
            raise SpecError(f"{shown(name)} is not a slot; slots are {slots}", where=where)


def _slots(spec: Parts) -> None:
    if not isinstance(spec.slots, Mapping) or not spec.slots:
        raise SpecError(
            "slots are a mapping with at least one slot",
            where=f"spec {spec.name}",
            do='write {"core": single(...)}',
        )
    for name, slot in spec.slots.items():
        where = f"slot {name}"
        if not isinstance(name, str) or name in RESERVED:
            raise SpecError(
                f"{shown(name)} cannot be the name of a slot",
                where=f"spec {spec.name}",
                do="use a text that is a parameter's name",
            )
        if not isinstance(slot, Slot):
            raise SpecError(
                f"a {type(slot).__name__} is not a slot",
                where=where,
                do="write single(...) or array(size, ...)",
            )
        if slot.size is not None and (
            not isinstance(slot.size, Integral) or isinstance(slot.size, bool) or slot.size < 1
        ):
            raise SpecError(
                f"{shown(slot.size)} is not the size of an array",
                where=where,
                do="use a whole number from 1 on",
            )
        _kinds(slot, where)
        for value in choices(slot.initial):
            _value(value, where, slot)


# What is equal although its type is another one, as 1 and 1.0, or a tuple and a named tuple.
_EQUAL = (Number, str, bytes, tuple, frozenset)


def _kinds(slot: Slot, where: str) -> None:
    for alike in _EQUAL:
        same = [kind for kind in slot.kinds if issubclass(kind, alike)]
        if len(same) > 1:
            raise SpecError(
                f"may hold {type_names(same)}, whose values can be equal",
                where=where,
                do="use one of them",
            )


def _value(value: Any, where: str, slot: Slot) -> None:
    if isinstance(value, type) and not slot.kinds:
        raise SpecError(
            f"the initial value is the class {value.__name__}, not a value of it",
            where=where,
            do=f"write {value.__name__}(...)",
        )
    if slot.kinds and type(value) not in slot.kinds:
        raise SpecError(
            f"the initial value is a {type(value).__name__}, the slot holds"
            f" {type_names(slot.kinds)}",
            where=where,
        )
    if problem := flaw(value, value):
        raise SpecError(
            f"the initial value is a {type(value).__name__}, which {problem}",
            where=where,
            do="use frozen values",
        )


def _initial(spec: Parts) -> None:
    if not spec.initial:
        raise SpecError(
            "there is no initial state",
            where=f"spec {spec.name}",
            do="leave out initial, or give at least one: initial=[{}]",
        )
    for values in spec.initial:
        if not isinstance(values, Mapping):
            raise SpecError(
                f"an initial state is a mapping of slot to value, not a {type(values).__name__}",
                where=f"spec {spec.name}",
            )
        _must_be_slots(values, spec, f"initial of spec {spec.name}")
        for name, value in values.items():
            slot, where = spec.slots[name], f"initial slot {name}"
            for chosen in choices(value):
                if slot.size is not None and (
                    not isinstance(chosen, tuple) or len(chosen) != slot.size
                ):
                    raise SpecError(
                        f"the initial value of array {name!r} is a tuple of {slot.size} values",
                        where=spec.name,
                    )
                for element in chosen if slot.size is not None else (chosen,):
                    for one in choices(element):
                        _value(one, where, slot)
    for name in spec.slots:
        pool = Pool(name)
        for one in spec.initial_values(name):
            if problem := pool.flaw(one):
                what = f"the initial value {brief(one)} {problem}"
                raise SpecError(what, where=f"slot {name}")
    most = sum(
        math.prod(_ways(slot, name, values) for name, slot in spec.slots.items())
        for values in spec.initial
    )
    if most > MOST_STARTS:
        raise SpecError(
            f"there are {most:,} initial states, {MOST_STARTS:,} are possible",
            where=f"spec {spec.name}",
            do="let a rule choose, step by step",
        )


def _ways(slot: Slot, name: str, values: Mapping[str, Any]) -> int:
    """How many initial values a slot has, if an initial state gives these values."""
    if name not in values:
        return int(len(choices(slot.initial)) ** (slot.size or 1))
    if slot.size is None:
        return len(choices(values[name]))
    return sum(math.prod(len(choices(e)) for e in chosen) for chosen in choices(values[name]))


def _rule(spec: Parts, r: Rule) -> None:
    where = f"rule {r.name}"
    _must_be_slots(r.slots, spec, where)
    _own_names(spec, r, where)
    _places(spec, r, where)
    found = indexing(spec, r).sizes
    for variable in r.takes:
        if not found[variable]:
            raise SpecError(f"{variable} has no array to range over", where=where)
    for variable in r.guard.takes if r.guard else ():
        if variable not in found:
            raise SpecError(
                f"its guard takes {variable}, but the rule has no index of that name",
                where=where,
                do=f"let the rule take {variable}, too",
            )


def _own_names(spec: Parts, part: Rule | Predicate, where: str) -> None:
    """An index is not named like a slot or view."""
    variables = {*part.takes} | {
        parted(index)[0] for _, index in part.places if index is not None and index != EVERY
    }
    for name in variables & {*spec.slots, *(v.name for v in spec.views)}:
        raise SpecError(f"{name!r} is an index here, and a slot or view", where=where)


def _places(spec: Parts, part: Rule | Predicate, where: str) -> None:
    """Each parameter stands for something of its own, and each index variable for one element at a
    time, of arrays of one size.
    """
    is_rule = isinstance(part, Rule)
    named: set[str] = set()
    whole = {name for name, index in part.places if index == EVERY}
    for name, index in part.places:
        arrays = arrays_of(spec, name)
        if index and name != "state" and not arrays:
            raise SpecError(
                f"{name!r} is single, it has no index {index!r}", where=where, do=f"write {name}"
            )
        at = (index or part.own) if arrays else None
        text = f"{name}[{at}]" if arrays else name
        if text in named:
            other = "other" if is_rule else "j" if at == "i" else "i"
            raise SpecError(
                f"two parameters stand for {text}, so it would be"
                f" {'written twice' if is_rule else 'compared with itself'}",
                where=where,
                do=f'write b: "{name}[{other}]" for another element'
                if arrays and at != EVERY and not _is_view(spec, part)
                else "leave one of them out",
            )
        named.add(text)
        if is_rule and name in whole and at != EVERY:
            raise SpecError(
                f"{text} is a part of {name}[{EVERY}]",
                where=where,
                do=f"take it from {name}[{EVERY}]",
            )
    _apart(spec, part, where)
    reads = _reads(spec, part)
    if _is_view(spec, part) and len({*reads, *part.takes}) > 1:
        raise SpecError(
            "has more than one index variable",
            where=where,
            do="a view is of one index: use the same letter",
        )
    _sizes(
        where,
        reads,
        "give each array an index of its own"
        if is_rule
        else "give each array a predicate of its own, or read state, where arrays are tuples",
    )


def _apart(spec: Parts, part: Rule | Predicate, where: str) -> None:
    """Two parameters that go round the array from one index do not meet at one element: there would
    be no choice for which they differ. That a ring of one or two is too small for neighbours is no
    mistake, but a scope; the verdict has a note on it.
    """
    for (variable, m), (other, n), size in indexing(spec, part).apart:
        if variable == other and (m - n) % size == 0 and max(abs(m), abs(n)) > 1:
            at = [(name, index or part.own) for name, index in part.places if index != EVERY]
            one, two = (
                next(f"{name}[{index}]" for name, index in at if parted(index) == (variable, k))
                for k in (m, n)
            )
            raise SpecError(
                f"{one} and {two} are the same element of an array of {size}",
                where=where,
                do=f"take an array of more than {abs(m - n)}, or leave one of them out",
            )


def _reads(spec: Parts, part: Rule | Predicate) -> dict[str, dict[str, int]]:
    """The arrays that each index variable ranges over, with their sizes."""
    reads: dict[str, dict[str, int]] = {}
    for name, index in part.places:
        if index != EVERY and (arrays := arrays_of(spec, name)):
            reads.setdefault(parted(index or part.own)[0], {}).update(arrays)
    return reads


def _sizes(where: str, reads: Mapping[str, Mapping[str, int]], do: str) -> None:
    for variable, arrays in reads.items():
        if len(set(arrays.values())) > 1:
            sizes = " and ".join(f"{name} has {size}" for name, size in arrays.items())
            raise SpecError(
                f"the index {variable} ranges over arrays of different sizes: {sizes} elements",
                where=where,
                do=do,
            )


def _is_view(spec: Parts, part: Rule | Predicate) -> bool:
    mapped = [p for r in spec.refinements for p in r.mapping.values()]
    return any(part is v for v in (*spec.views, *mapped))


def _step_invariant(spec: Parts, p: StepInvariant) -> None:
    """Each rule that it names must be there and touch its slots; without names, some rule must."""
    where = f"step invariant {p.name}"
    _must_be_slots(p.slots, spec, where)
    rules = {r.name: r for r in spec.rules}
    for name in p.rules:
        if name not in rules:
            raise SpecError(f"{name!r} is not a rule; rules are {', '.join(rules)}", where=where)
        if not _is_seen(spec, p, rules[name]):
            raise SpecError(
                f"rule {name} does not touch all of {', '.join(p.slots)}",
                where=where,
                do="it would never be evaluated there",
            )
    if not any(_is_seen(spec, p, r) for r in spec.rules):
        raise SpecError(
            f"no rule touches all of {', '.join(p.slots)}",
            where=where,
            do="it would never be evaluated; name slots of one rule",
        )


def _fair(spec: Parts, f: Fairness) -> None:
    """Each name must be of an ordinary rule, or of one of its labels."""
    ordinary = {r.name: r for r in spec.rules if not r.urgent}
    for name in f.names:
        rule, colon, label = name.partition(":")
        if rule not in ordinary:
            is_urgent = any(r.name == rule for r in spec.rules)
            raise SpecError(
                f"{shown(name)} is urgent: it happens inside other steps"
                if is_urgent
                else f"{shown(name)} is not a rule; rules are {', '.join(ordinary)}",
                where="fair",
                do="name the rules whose steps make it possible" if is_urgent else "",
            )
        if colon and label not in ordinary[rule].labels:
            labels = ", ".join(ordinary[rule].labels) or "none"
            raise SpecError(
                f"rule {rule} has no label {shown(label)}, it has {labels}", where="fair"
            )


def _is_seen(spec: Parts, p: StepInvariant, r: Rule) -> bool:
    """Does a rule touch the slots of a step invariant, those of arrays at one index?"""
    if not p.concerns(r) or not r.written:
        return p.concerns(r)
    at = {place: k for k, place in enumerate(spec.places)}
    found = [*instances(spec, r, at)]
    return not found or any(any(looks(spec, p, i, at)) for i in found)


def _views(spec: Parts) -> None:
    views = {v.name: v for v in spec.views}

    def within(name: str, path: tuple[str, ...]) -> Iterator[str]:
        for inner, _ in views[name].places:
            if inner in path:
                yield inner
            elif inner in views:
                yield from within(inner, (*path, inner))

    for name in views:
        where = f"view {name}"
        if name in spec.slots or name in RESERVED:
            raise SpecError("has the name of a slot", where=where, do="give it a name of its own")
        if any(within(name, (name,))):
            raise SpecError(
                "reads itself", where=where, do="a view reads slots, and views that do not read it"
            )


def _refinements(spec: Parts, known: set[str]) -> None:
    for given in spec.refinements:
        for p in given.mapping.values():
            for name, _ in p.places:
                if name not in known:
                    raise SpecError(
                        f"{name!r} is not a slot or view; there are {', '.join(sorted(known))}",
                        where=f"view {p.name}",
                    )
            _predicate(spec, p)


def _predicate(spec: Parts, p: Predicate) -> None:
    where = f"{'view' if _is_view(spec, p) else 'predicate'} {p.name}"
    _own_names(spec, p, where)
    _places(spec, p, where)
    sizes = indexing(spec, p).sizes
    for variable in p.takes:
        if not sizes[variable]:
            raise SpecError(f"{variable} has no array to range over", where=where)
    said = [variable for _, variable in p.quantifiers]
    for variable in said:
        if variable not in sizes or said.count(variable) > 1:
            problem = "is quantified twice" if variable in sizes else "is not an index of it"
            raise SpecError(
                f"{variable!r} {problem}; its indexes are {', '.join(sizes) or 'none'}", where=where
            )


def _names(spec: Parts) -> None:
    for what, given in (
        ("rule", spec.rules),
        ("invariant", spec.invariants),
        ("goal", spec.goals),
        ("end", spec.ends),
        ("constraint", spec.constraints),
        ("view", spec.views),
        ("refinement", spec.refinements),
        (PROMISE, spec.progress),
    ):
        twice = {name for name, n in Counter(p.name for p in given).items() if n > 1}
        if twice:
            raise SpecError(f"two {what}s are called {min(twice)!r}")
    refined = {p.name for p in spec.invariants} & {r.name for r in spec.refinements}
    if refined:
        raise SpecError(f"an invariant and a refinement are called {min(refined)!r}")
    shared = {p.name for p in spec.invariants} & {p.name for p in spec.progress}
    if shared:
        raise SpecError(f"an invariant and a {PROMISE} are called {min(shared)!r}")
    for what, names in (
        ("invariant", [p.name for p in spec.invariants]),
        (PROMISE, [p.name for p in spec.progress]),
    ):
        if DEADLOCK in names:
            raise SpecError(
                f"no {what} is called {DEADLOCK!r}: states in which nothing can happen are",
                do="give it another name",
            )
