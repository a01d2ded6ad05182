"""Which promises belong to which variant: every module of this package says so in `INVARIANTS`,
`GOALS` and `VIEWS` (variant -> predicates).
"""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType
from typing import Any

from attrs import frozen

import groupcheck.invariants
from groupcheck.model.engine.promises import Predicate, StepInvariant


@frozen
class Promises:
    """What must be true of a variant (`invariants`), what must be possible (`goals`), and the
    `views` that both name."""

    invariants: tuple[Predicate | StepInvariant, ...] = ()
    goals: tuple[Predicate, ...] = ()
    views: tuple[Predicate, ...] = ()
    ends: tuple[Predicate, ...] = ()


def _modules() -> list[ModuleType]:
    names = sorted(
        m.name for m in pkgutil.iter_modules(groupcheck.invariants.__path__) if m.name != "registry"
    )
    return [importlib.import_module(f"groupcheck.invariants.{name}") for name in names]


def for_variant(name: str) -> Promises:
    """The promises of a variant; of one that nobody has promised anything about, none."""

    def gathered(what: str) -> tuple[Any, ...]:
        return tuple(p for module in _modules() for p in getattr(module, what, {}).get(name, ()))

    return Promises(gathered("INVARIANTS"), gathered("GOALS"), gathered("VIEWS"))
