"""The types of what is given to `check`, `follow` and their like."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from groupcheck.model.engine import Predicate, Refinement, Spec, StepInvariant, UserError
from groupcheck.oracles.printable import printable


def must_fit(
    what: object,
    mutation: object,
    invariants: object,
    goals: object,
    constraints: object,
    deadlock: object,
    smaller: object,
    progress: object,
    faults: object,
    settings: object,
) -> None:
    """Raises `UserError` for an argument of the wrong type."""
    named = faults is None or (isinstance(faults, Mapping) and _texts(faults))
    told = settings is None or (
        isinstance(settings, Mapping) and _texts(settings) and _texts(settings.values())
    )
    for name, value, fits, kind in (
        ("what is checked", what, isinstance(what, str | Spec), "the name of a variant or a Spec"),
        (
            "mutation",
            mutation,
            mutation is None or isinstance(mutation, str),
            "the id of a mutation",
        ),
        (
            "invariants",
            invariants,
            _all_of(invariants, str | Predicate | StepInvariant),
            'a list of names or invariants, as in ["one_owner"]',
        ),
        (
            "goals",
            goals,
            _all_of(goals, str | Predicate),
            'a list of names or goals, as in ["zombie_owner"]',
        ),
        (
            "constraints",
            constraints,
            _all_of(constraints, str | Predicate),
            "a list of constraints, as in [small]",
        ),
        ("deadlock", deadlock, isinstance(deadlock, bool), "True or False"),
        ("refines", smaller, _all_of(smaller, Refinement), "refines(smaller, {...})"),
        ("progress", progress, isinstance(progress, bool), "True or False"),
        ("faults", faults, named, 'a mapping of names to numbers, as in {"crash": 1}'),
        ("settings", settings, told, "a mapping of names to texts"),
    ):
        if not fits:
            raise UserError(f"{name} is {printable(repr(value))[:60]}, not {kind}")


def _texts(value: object) -> bool:
    return _all_of(value, str)


def _all_of(value: object, kinds: Any) -> bool:
    return (
        isinstance(value, Collection)
        and not isinstance(value, str | bytes)
        and all(isinstance(one, kinds) for one in value)
    )
