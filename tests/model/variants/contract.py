"""The checks of the contract that any variant can be held to, a changed copy of one included."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Callable, Container, Iterator, Mapping
from typing import Any

import attrs
import pytest

from groupcheck.invariants.registry import for_families
from groupcheck.model.engine import Limits, ScopeError, Spec
from groupcheck.model.engine.fast.explore import explore
from groupcheck.model.engine.plain.plain_search import PlainSearch
from groupcheck.model.engine.promises import StepInvariant
from groupcheck.model.engine.rule import Rule
from groupcheck.model.engine.verdict import UNKNOWN, Path, Verdict
from groupcheck.model.protocol.classic.presets import PRESETS
from groupcheck.model.protocol.consumer.words import CONSUMER
from groupcheck.model.protocol.covers import Cover
from groupcheck.model.protocol.story import Message
from groupcheck.model.protocol.variant import Variant
from groupcheck.model.variants import load

FEW = 1_200  # states: of a cover scope that is kept without being needed
MOST_STATES = 20_000  # of a cover scope: it has to be quick


def by_night(several: list[str]) -> list[Any]:
    """The same names as parameters of a test; combinations of features run at night, because
    `test_combinations.py` tries every pair.
    """
    return [pytest.param(n, marks=[pytest.mark.night] * _combines(n)) for n in several]


def _combines(name: str) -> bool:
    """Is it a group of several features, none of which needs the others?"""
    preset = next((preset for preset in PRESETS if preset.name == name), None)
    return preset is not None and len(preset.features) > 1


def promised(variant: Variant, spec: Spec) -> Spec:
    more = for_families(variant.families_at(spec.scope))
    return attrs.evolve(spec, invariants=more.invariants, goals=more.goals, views=more.views)


def explored(variant: Variant, make: Callable[[Any], Spec]) -> list[Verdict]:
    """The verdict of each cover scope."""
    scopes = [variant.scope_type(**cover.fields) for cover in variant.covers]
    return [explore(promised(variant, make(scope))) for scope in scopes]


def happened(verdict: Verdict) -> set[str]:
    every = {*verdict.rules, *verdict.goals}
    return every - {*verdict.never_fired, *verdict.goals_not_met}


def generated(variant: Variant) -> list[Cover]:
    """The cover scopes that a variant's `shows` make: each with what it is the first to reach. A
    scope that the features together refuse, or in which they have too many states to be quick, is
    left out; so are, the largest first, those of more than FEW states that reach nothing that no
    other one does. (What needs no switch is reached by a scope without.)
    """
    verdicts: dict[int, Verdict] = {}
    for at, fields in enumerate(variant.shows):
        with contextlib.suppress(ScopeError):
            spec = promised(variant, variant.spec(variant.scope_type(**fields)))
            verdict = explore(spec, Limits(states=MOST_STATES - 1))
            if verdict.verdict != UNKNOWN:
                verdicts[at] = verdict
    for at in sorted(verdicts, key=lambda at: -verdicts[at].states):
        others = (
            happened(verdict)
            for k, verdict in verdicts.items()
            if k != at and _switches(variant, k) <= _switches(variant, at)
        )
        if verdicts[at].states > FEW and happened(verdicts[at]) <= set().union(*others):
            del verdicts[at]
    found: list[Cover] = []
    for at, verdict in verdicts.items():
        before = {name for cover in found for name in cover.reaches}
        found.append(Cover(variant.shows[at], tuple(sorted(happened(verdict) - before))))
    return [cover for cover in found if cover.reaches]


def _switches(variant: Variant, at: int) -> set[str]:
    """What the scope at this place of `shows` switches on."""
    return variant.shows[at].keys() & variant.switched.keys()


def written(covers: Mapping[str, list[Cover]]) -> str:
    """`covers.json`, a line for each scope."""
    lines = []
    for name, scopes in sorted(covers.items()):
        told = [json.dumps({"fields": c.fields, "reaches": " ".join(c.reaches)}) for c in scopes]
        lines.append(f" {json.dumps(name)}: [\n  " + ",\n  ".join(told) + "\n ]")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def not_covered(variant: Variant, make: Callable[[Any], Spec]) -> set[str]:
    """What is `lost` if the variant's spec is another one."""
    return lost(variant, explored(variant, make))


def lost(variant: Variant, verdicts: list[Verdict]) -> set[str]:
    """The outcomes and goals that do not happen in the cover scope that lists them, or that no
    cover scope lists although the variant does not say that they are out of reach.
    """
    every = {*verdicts[0].rules, *verdicts[0].goals}
    listed = {name for cover in variant.covers for name in cover.reaches}
    missing = [
        set(cover.reaches) - happened(verdict)
        for cover, verdict in zip(variant.covers, verdicts, strict=True)
    ]
    return set().union(every - listed - set(variant.unreached), *missing)


def bases(variant: Variant) -> list[Variant]:
    """The variants that show its families: it has their features and more."""
    return [load(name) for name in sorted({f.base for f in variant.families} - {variant.name})]


def own_outcomes(variant: Variant) -> set[str]:
    """The outcomes of its cover scopes that none of its bases has by the same rule and tells in the
    same words.
    """
    own = {name for cover in variant.covers for name in cover.reaches}
    rules = _rules(variant)
    for base in bases(variant):
        usual = _rules(base)
        own -= {name for name in own if _same(name, (variant, rules), (base, usual))}
    return own


Rules = Mapping[str, Rule]


def _rules(variant: Variant) -> Rules:
    return {r.name: r for r in variant.spec(variant.scope_type()).rules}


def _same(name: str, mine: tuple[Variant, Rules], theirs: tuple[Variant, Rules]) -> bool:
    """Is the outcome that of the base? `failover_phases` makes the rules of a former
    coordinator from the usual ones, and rules that are there only with it from nothing.
    """
    (variant, rules), (base, usual) = mine, theirs
    rule = name.partition(":")[0].removeprefix("former_")
    listed = any(name in cover.reaches for cover in base.covers)
    same = listed and rules.get(rule) == usual.get(rule)
    return same and _words(name, variant) == _words(name, base)


def _words(name: str, variant: Variant) -> list[Any]:
    """What its words say of an outcome (not by which letter they name an item)."""
    words = variant.story.keywords["words"] if hasattr(variant.story, "keywords") else CONSUMER
    tables = [getattr(words, field.name) for field in attrs.fields(type(words))]
    keys = (name, name.partition(":")[0])
    told = [table.get(key) for table in tables if isinstance(table, Mapping) for key in keys]
    return [*told, *(key in getattr(words, "eventful", ()) for key in keys)]


def never_fires(rule: Any, label: str) -> StepInvariant:
    """A promise that breaks when the outcome fires, with the shortest path to it."""

    def other(before: Any, after: Any, fired: str = "") -> bool:
        return fired != label

    name = f"{rule.name}:{label}" if label else rule.name
    return StepInvariant(name, other, (), (rule.name,), bool(label), False, "It never fires.")


def paths(
    variant: Variant, make: Callable[[Any], Spec], wanted: Container[str]
) -> Iterator[tuple[str, Path]]:
    """For each outcome that is `wanted` and that a cover scope lists, the shortest path in that
    scope that ends with a step in which it fires.
    """
    for cover in variant.covers:
        spec = make(variant.scope_type(**cover.fields))
        outcomes = {name: r for r in spec.rules for name in r.names if name in cover.reaches}
        outcomes = {name: r for name, r in outcomes.items() if name in wanted}
        watched = [never_fires(r, name.partition(":")[2]) for name, r in outcomes.items()]
        search = PlainSearch(attrs.evolve(spec, invariants=watched))
        search.begin()
        # One search finds all: it goes on behind the first promise that is broken.
        while not search.findings.wrong.keys() >= outcomes.keys():
            place, end = search.open_level()
            while place < end:
                place = search.stretch(place, end, math.inf)
            goes_on, missing = search.close_level(), outcomes.keys() - search.findings.wrong.keys()
            assert goes_on or not missing, missing
        for name, _, place, kind in search.findings.in_order():
            if name in outcomes:
                yield name, search.witness(name, place, kind)


def untold(variant: Variant, make: Callable[[Any], Spec]) -> dict[str, str]:
    """The outcomes that a cover scope lists and the story cannot tell, each with the reason. Those
    that a base has and tells in the same way are tried there.
    """
    found = {}
    for name, path in paths(variant, make, own_outcomes(variant)):
        last = len(path.steps)
        try:
            told = variant.story(path)
        except Exception as error:
            found[name] = repr(error)
            continue
        drawn = [
            event
            for event in told.events
            if last in (event.step, event.until if isinstance(event, Message) else None)
        ]
        if not drawn:
            found[name] = "nothing is drawn"
        if not told.lines[-1].words.strip():
            found[name] = "nothing is said"
    return found
