"""The promises of a variant. Every module of this package lists those of a family in `INVARIANTS`,
`GOALS`, `VIEWS` and `PROGRESS` (family -> predicates), and in `NOT_PROMISED` what does not hold.
A module may have `SENTENCES`, too, for promises whose sentence no template makes (`sentences`).
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
    """The promises of these families, in the order of the modules. A family that no module lists
    has none.
    """

    def gathered(what: str) -> tuple[Any, ...]:
        return tuple(
            p
            for module in _modules()
            for family in families
            for p in getattr(module, what, {}).get(family, ())
        )

    return Promises(
        gathered("INVARIANTS"),
        gathered("GOALS"),
        gathered("VIEWS"),
        gathered("PROGRESS"),
        gathered("NOT_PROMISED"),
    )
