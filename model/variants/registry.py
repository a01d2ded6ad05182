"""Finds the variants: the presets of the classic group and every other combination of its features,
every module of this package that holds a `VARIANT`, and those that other installed packages offer.
A new protocol is one new file.

A package offers a variant with an entry point: in its pyproject.toml,

    [project.entry-points."groupcheck.variants"]
    my_variant = "my_package.my_module:VARIANT"
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache
from importlib.metadata import EntryPoint, entry_points

import attrs

from groupcheck.model.engine import UserError
from groupcheck.model.protocol.classic.composition import every_feature
from groupcheck.model.protocol.classic.plain_group import BASE
from groupcheck.model.protocol.classic.presets import PLUS, PRESETS, named
from groupcheck.model.protocol.variant import Variant

GROUP = "groupcheck.variants"


def names() -> list[str]:
    """The names of all variants, in alphabetical order."""
    return sorted({*_shipped(), *_offered()})


def every_name() -> list[str]:
    """The names of all variants, and of each feature of the classic group that none has alone."""
    alone = {load(BASE.name + PLUS + f.name).name for f in every_feature().values() if not f.joint}
    return sorted({*names(), *alone})


def load(name: str) -> Variant:
    """The variant of this name. `classic+static+triggers` is the classic group with these features.
    Raises `UserError` for an unknown one, for features that no group has together, and for one of
    another package that cannot be imported.
    """
    if (found := named(name)) is not None:
        return found
    if name in _modules():
        variant = importlib.import_module(f"groupcheck.model.variants.{name}").VARIANT
        assert isinstance(variant, Variant)
        return variant
    if name in _offered():
        return _imported(name, _offered()[name])
    if PLUS in name and name.partition(PLUS)[0] in names():
        raise UserError(
            f"{name.partition(PLUS)[0]} takes no features: those are of the classic group",
            where="--with",
            do="one of " + ", ".join(preset.name for preset in PRESETS),
        )
    there = names()
    near = get_close_matches(name, there, 1)
    raise UserError(
        f"there is no variant {name!r}",
        do=f"did you mean {near[0]}?" if near else "one of " + ", ".join(there),
    )


@cache
def _modules() -> tuple[str, ...]:
    here = importlib.import_module("groupcheck.model.variants")
    found = (m.name for m in pkgutil.iter_modules(here.__path__))
    return tuple(name for name in found if name != "registry")


def _shipped() -> tuple[str, ...]:
    return (*(preset.name for preset in PRESETS), *_modules())


@cache
def _offered() -> Mapping[str, EntryPoint]:
    """Variants of other packages, by name. A name of our own stays ours."""
    return {e.name: e for e in entry_points(group=GROUP) if e.name not in _shipped()}


def _imported(name: str, offered: EntryPoint) -> Variant:
    where = f"variant {name}, which the entry point {offered.value} offers"
    try:
        found = offered.load()
    except (Exception, SystemExit) as error:  # whatever somebody's module raises
        raise UserError(
            f"cannot be imported: {type(error).__name__}: {error}", where=where
        ) from None
    if not isinstance(found, Variant):
        raise UserError(f"is of type {type(found).__name__}, not Variant", where=where)
    return attrs.evolve(found, name=name)
