"""The promises of a variant: those of its families. A promise of any module of this package says
whose it is (`@invariant(of=FAMILY)`), and whether the protocol is known to break it
(`promised=False`). A feature of another package brings its promises. A module may have `SENTENCES`,
for promises whose sentence no template makes (`sentences`).
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from types import ModuleType
from typing import Any

from attrs import frozen

import groupcheck.invariants
from groupcheck.model.engine import Liveness
from groupcheck.model.engine.promises import Predicate, StepInvariant
from groupcheck.model.protocol.classic.composition import every_feature
from groupcheck.model.protocol.family import Family


@frozen
class Promises:
    """The promises of a variant."""

    # What must be true.
    invariants: tuple[Predicate | StepInvariant, ...] = ()
    # What must be possible.
    goals: tuple[Predicate, ...] = ()
    # Derived values that invariants and goals use.
    views: tuple[Predicate, ...] = ()
    # What must happen in the end.
    progress: tuple[Liveness, ...] = ()
    # Invariants that the protocol is known to break; they are checked only if asked for by name.
    not_promised: tuple[Predicate | StepInvariant, ...] = ()
    # Where a run may end, beside the ends that the spec itself names.
    ends: tuple[Predicate, ...] = ()


@cache
def _modules() -> tuple[ModuleType, ...]:
    names = sorted(
        m.name for m in pkgutil.iter_modules(groupcheck.invariants.__path__) if m.name != "registry"
    )
    return tuple(importlib.import_module(f"groupcheck.invariants.{name}") for name in names)


def sentences() -> Mapping[str, Callable[[Any], str]]:
    """Promise -> what makes its sentence, where no template does."""
    return {
        name: make
        for module in _modules()
        for name, make in getattr(module, "SENTENCES", {}).items()
    }


def for_families(families: Iterable[Family]) -> Promises:
    """The promises of these families, in the order of the modules and of their lines. A family
    without promises has none.
    """
    return _of_families(tuple(families))


@cache  # each check asks, and there are hundreds of promises to look through
def _of_families(families: tuple[Family, ...]) -> Promises:
    places = [tuple(vars(module).values()) for module in _modules()]
    places += [feature.promises for feature in every_feature().values()]
    found = [p for place in places for f in families for p in place if _is(p, f)]
    plain = [p for p in found if isinstance(p, Predicate)]
    judged = [p for p in found if isinstance(p, StepInvariant) or p.kind == "invariant"]
    return Promises(
        invariants=tuple(p for p in judged if p.promised),
        goals=tuple(p for p in plain if p.kind == "goal"),
        views=tuple(p for p in plain if p.kind == "view"),
        progress=tuple(p for p in found if isinstance(p, Liveness)),
        not_promised=tuple(p for p in judged if not p.promised),
    )


def _is(made: Any, family: Family) -> bool:
    """Is it a promise of this family?"""
    return isinstance(made, Predicate | StepInvariant | Liveness) and made.of == family
