"""Does a `Spec` fit together? What does not, and what could never be evaluated and so would pass
for true, is a `SpecError`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from numbers import Integral
from typing import Any

from groupcheck.model.engine.errors import SpecError, shown
from groupcheck.model.engine.pools import flaw
from groupcheck.model.engine.progress import PROMISE, Fairness, Liveness
from groupcheck.model.engine.promises import Predicate, StepInvariant
from groupcheck.model.engine.refinement import Refinement
from groupcheck.model.engine.rule import Rule, Slot
from groupcheck.model.engine.verdict import DEADLOCK

PROGRESS = "@eventually, @infinitely_often, @settles, @leads_to or @always_possible"
RESERVED = ("me", "scope", "state")  # parameters with a meaning of their own


Parts = Any  # a `Spec`: its own file imports this one


def fit(spec: Parts) -> None:
    """Raises `SpecError` for what does not fit."""
    _slots(spec)
    _initial(spec)
    for r in spec.rules:
        _must_be(r, Rule, "rule", spec.name, "@rule or @urgent")
        _rule(spec, r)
    decorators = "@invariant, @goal, @end, @constraint or @view"
    for p in spec.invariants:
        _must_be(p, (Predicate, StepInvariant), "predicate", "invariants", decorators)
    for what in ("goals", "ends", "constraints", "views"):
        for p in getattr(spec, what):
            _must_be(p, Predicate, "predicate", what, decorators)
    known = {*spec.slots, *(v.name for v in spec.views), "state"}
    for f in spec.fair:
        _must_be(f, Fairness, "fairness", "fair", "weak(rule) or weak_any(rule)", "write")
        _fair(spec, f)
    for p in spec.progress:
        _must_be(p, Liveness, PROMISE, "progress", PROGRESS)
    of_runs = [p for promise in spec.progress for p in promise.predicates]
    for p in (*spec.invariants, *spec.goals, *spec.ends, *spec.constraints, *spec.views, *of_runs):
        if isinstance(p, StepInvariant):
            _step_invariant(spec, p)
            continue
        for name, _ in p.places:
            if name not in known:
                raise SpecError(
                    f"{name!r} is not a slot or view; there are {', '.join(sorted(known))}",
                    where=f"predicate {p.name}",
                )
    _views(spec)
    _refinements(spec, known)
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
        _value(slot.initial, where)


def _value(value: Any, where: str) -> None:
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
            _value(value, f"initial slot {name}")


def _rule(spec: Parts, r: Rule) -> None:
    _must_be_slots(r.slots, spec, f"rule {r.name}")
    sizes = {slot.size for slot in spec.slots.values() if slot.size is not None}
    if r.takes_me and not sizes & {spec.slots[n].size for n in r.slots} and len(sizes) != 1:
        raise SpecError("me has no array to range over", where=f"rule {r.name}")
    touched = {spec.slots[n].size for n in r.slots} - {None}
    if len(touched) > 1:
        raise SpecError("arrays of different sizes", where=f"rule {r.name}")
    if r.guard and r.guard.takes_me and not r.takes_me and not touched:
        raise SpecError(
            "its guard takes me, but the rule has no index: it touches single slots alone",
            where=f"rule {r.name}",
            do="let the rule take me, too",
        )


def _step_invariant(spec: Parts, p: StepInvariant) -> None:
    """Each rule that it names must be there and touch its slots; without names, some rule must."""
    where = f"step invariant {p.name}"
    _must_be_slots(p.slots, spec, where)
    rules = {r.name: r for r in spec.rules}
    for name in p.rules:
        if name not in rules:
            raise SpecError(f"{name!r} is not a rule; rules are {', '.join(rules)}", where=where)
        if not p.concerns(rules[name]):
            raise SpecError(
                f"rule {name} does not touch all of {', '.join(p.slots)}",
                where=where,
                do="it would never be evaluated there",
            )
    if not any(p.concerns(r) for r in spec.rules):
        raise SpecError(
            f"no rule touches all of {', '.join(p.slots)}",
            where=where,
            do="it would never be evaluated; name slots of one rule",
        )


def _fair(spec: Parts, f: Fairness) -> None:
    """Each name must be of an ordinary rule, or of one of its labels."""
    ordinary = {r.name: r for r in spec.rules if not r.urgent}
    for name in f.names:
        rule, _, label = name.partition(":")
        if rule not in ordinary:
            is_urgent = any(r.name == rule for r in spec.rules)
            raise SpecError(
                f"{shown(name)} is urgent: it happens inside other steps"
                if is_urgent
                else f"{shown(name)} is not a rule; rules are {', '.join(ordinary)}",
                where="fair",
                do="name the rules whose steps make it possible" if is_urgent else "",
            )
        if label and label not in ordinary[rule].labels:
            labels = ", ".join(ordinary[rule].labels) or "none"
            raise SpecError(
                f"rule {rule} has no label {shown(label)}, it has {labels}", where="fair"
            )


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
    of_runs = [p for promise in spec.progress for p in promise.predicates]
    for p in (*spec.views, *spec.invariants, *spec.goals, *spec.ends, *spec.constraints, *of_runs):
        if isinstance(p, Predicate):
            _indexes(spec, p)
    for promise in spec.progress:
        _sizes(f"{PROMISE} {promise.name}", _reads(spec, promise.bound))


def _refinements(spec: Parts, known: set[str]) -> None:
    for given in spec.refinements:
        _must_be(given, Refinement, "refinement", "refinements", "refines(...)")
        for p in given.mapping.values():
            for name, _ in p.places:
                if name not in known:
                    raise SpecError(
                        f"{name!r} is not a slot or view; there are {', '.join(sorted(known))}",
                        where=f"view {p.name}",
                    )
            _indexes(spec, p)


def _arrays(spec: Parts, name: str) -> dict[str, int]:
    """The arrays that a slot or view reads, with their sizes."""
    views = {v.name: v for v in spec.views}
    if name in views:
        return {n: s for inner, _ in views[name].places for n, s in _arrays(spec, inner).items()}
    size = None if name == "state" else spec.slots[name].size
    return {} if size is None else {name: size}


def _indexes(spec: Parts, p: Predicate) -> None:
    """Each index variable must stand for one element at a time, of arrays of one size."""
    is_view = p.kind == "view" or any(p is v for v in spec.views)
    where = f"{'view' if is_view else 'predicate'} {p.name}"
    reads = _reads(spec, p)
    named = set()
    for name, var in p.places:
        arrays = _arrays(spec, name)
        if var and name != "state" and not arrays:
            raise SpecError(
                f"{name!r} is single, it has no index {var!r}", where=where, do=f"write {name}"
            )
        index = (var or "i") if arrays else None
        text = f"{name}[{index}]" if arrays else name
        if text in named:
            raise SpecError(
                f"two parameters stand for {text}, so it would be compared with itself",
                where=where,
                do=f'write b: "{name}[{"j" if index == "i" else "i"}]" for another element'
                if arrays and not is_view
                else "leave one of them out",
            )
        named.add(text)
    if is_view and len(reads) > 1:
        raise SpecError(
            "has more than one index variable",
            where=where,
            do="a view is of one index: use the same letter",
        )
    _sizes(where, reads)


def _reads(spec: Parts, p: Predicate) -> dict[str, dict[str, int]]:
    """The arrays that each index variable ranges over, with their sizes."""
    reads: dict[str, dict[str, int]] = {}
    for name, var in p.places:
        if arrays := _arrays(spec, name):
            reads.setdefault(var or "i", {}).update(arrays)
    return reads


def _sizes(where: str, reads: Mapping[str, Mapping[str, int]]) -> None:
    for index, arrays in reads.items():
        if len(set(arrays.values())) > 1:
            sizes = " and ".join(f"{name} has {size}" for name, size in arrays.items())
            raise SpecError(
                f"the index {index} ranges over arrays of different sizes: {sizes} elements",
                where=where,
                do="give each array a predicate of its own, or read state, where arrays are tuples",
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
        names = [p.name for p in given]
        twice = {n for n in names if names.count(n) > 1}
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
