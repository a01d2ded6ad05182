"""Finds the variants: every module of this package that holds a `VARIANT`. A new protocol is one
new file.
"""

from __future__ import annotations

import importlib
import pkgutil
from difflib import get_close_matches

from groupcheck.model.engine import UserError
from groupcheck.model.protocol.variant import Variant


def names() -> list[str]:
    """The names of all variants, in alphabetical order."""
    here = importlib.import_module("groupcheck.model.variants")
    return sorted(m.name for m in pkgutil.iter_modules(here.__path__) if m.name != "registry")


def load(name: str) -> Variant:
    """The variant of this name. Raises `UserError` for an unknown one."""
    there = names()
    if name not in there:
        near = get_close_matches(name, there, 1)
        raise UserError(
            f"there is no variant {name!r}",
            do=f"did you mean {near[0]}?" if near else "one of " + ", ".join(there),
        )
    variant = importlib.import_module(f"groupcheck.model.variants.{name}").VARIANT
    assert isinstance(variant, Variant)
    return variant
